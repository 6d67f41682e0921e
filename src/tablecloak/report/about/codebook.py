"""What a codebook says: every column of a release with its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from tablecloak.report.blocks import Block, Document, Heading, Paragraph, Section, TerminalOnly, table

HEADS = ("value", "meaning", "low", "high", "middle", "members", "records", "share")


def codebook_of(codebook: pl.DataFrame, name: str) -> Document:
    """The codebook of a release as a page."""
    return Document(f"Codebook of {name}", tuple(_blocks(codebook, name)))


def _blocks(codebook: pl.DataFrame, name: str) -> Iterator[Block]:
    columns = codebook.partition_by("column", maintain_order=True)
    words = f"{len(columns):,} columns as they are published; records are those that show a value."
    yield Section(f"Codebook of {name}", (Paragraph(words),))
    for column in columns:
        kind = column["type"][0]
        used = [head for head in HEADS if column[head].null_count() < column.height]
        rows = [[_shown(head, row[head]) for head in used] for row in column.iter_rows(named=True)]
        right = tuple(i for i, head in enumerate(used) if head in ("records", "share"))
        title = f"{column['column'][0]} ({kind})"
        yield Section(title, (TerminalOnly((Heading(title),)), table(used, rows, right=right)))


def _shown(head: str, value: Any) -> str:
    if value is None:
        return ""
    return f"{value:,}" if head == "records" else f"{value:.1%}" if head == "share" else str(value)
