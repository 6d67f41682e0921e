"""Rows to look at: pages of a table, raw lines of a file, original and release in step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType, Order, Role
from tablecloak.io.sources import Source
from tablecloak.plan import source_of
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress
from tablecloak.recoding import read_recoding
from tablecloak.server.frames import frame_of
from tablecloak.server.large import is_large, page_of
from tablecloak.server.set_tasks import release_of_sets
from tablecloak.values import format_value

__all__ = ["beside", "lines", "release_source", "rows"]

Arguments = Mapping[str, Any]
HEAD = 4_000
LONGEST_CELL = 80


def rows(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """One page of a table as texts."""
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    source = source_of(policy)
    if is_large(source, arguments):
        part = page_of(source, arguments["offset"], arguments["limit"])
    else:
        part = frame_of(source).slice(arguments["offset"], arguments["limit"])
    return {"columns": part.columns, "rows": _texts(part)}


def lines(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """The first lines of a text file as they are written."""
    with Path(arguments["path"]).open("rb") as file:
        head = file.read(HEAD)
    if b"\x00" in head or head[:2] in (b"\x1f\x8b", b"PK"):
        return {"lines": []}
    whole = head.decode(arguments.get("encoding") or "utf-8", "replace").splitlines()
    return {"lines": whole[:6]}


def release_source(policy: Policy, path: Path) -> Source:
    """A release as text where labels may stand, so that `1305*` and `13053` are of one kind."""
    of_sets = release_of_sets(policy, path)
    if of_sets is not None:
        return of_sets
    labelled = policy.columns_with(Role.QUASI, Role.ITEMS)
    types = dict.fromkeys(labelled, ColumnType.TEXT)
    types |= {n: c.type for n, c in policy.columns.items() if c.type is not None and n not in labelled}
    from tablecloak.io.sniff import sniff

    known = sniff(Source(path)).names
    return Source(path, types={name: type_ for name, type_ in types.items() if name in known})


def beside(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Records before and after: one page of originals, and what the release shows of each.

    A release is not in the order of its originals, so what became of one is told by the recoding. `in_step` is False
    where there is none; the release is then shown as it is.
    """
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    release = Path(arguments["release"])
    offset, limit = arguments["offset"], arguments["limit"]
    large = is_large(source_of(policy), arguments)
    if large:
        before = page_of(source_of(policy), offset, limit)
        after = page_of(release_source(policy, release), offset, limit)
    else:
        before, after = frame_of(source_of(policy)), frame_of(release_source(policy, release))
    left_out = arguments["left_out"] if large else before.height - after.height
    shown = [c for c in after.columns if c in policy.columns]
    became = _became(policy, before, after.columns, release.parent)
    is_kept = policy.output is not None and policy.output.order is Order.KEEP and not left_out
    if became is not None:
        before, after = became
    pages = (before, after) if large else (before.slice(offset, limit), after.slice(offset, limit))
    return {
        "columns": [c for c in before.columns if c in shown],
        "after_columns": after.columns,
        "before": _texts(pages[0].select([c for c in before.columns if c in shown])),
        "after": _texts(pages[1]),
        "in_step": became is not None or is_kept,
        "left_out": left_out,
    }


def _became(
    policy: Policy, before: pl.DataFrame, columns: list[str], folder: Path
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Originals that were published, and the cells of each; None where no recoding tells."""
    recoding = folder / "recoding.json"
    if not recoding.exists() or policy.columns_with(Role.ITEMS):
        return None
    stored = read_recoding(recoding)
    classes = stored.classes_of(before)
    kept = np.flatnonzero(classes >= 0)
    before, labels = before[kept], stored.labels()
    cells = [
        labels[name].publish(name, classes[kept]) if name in labels
        else before[name] if name not in policy.columns_with(Role.IDENTIFIER)
        else pl.repeat(ANYTHING, len(kept), eager=True).alias(name)
        for name in columns
        if name in before.columns
    ]  # fmt: skip
    return before, pl.DataFrame(cells)


def _texts(frame: pl.DataFrame) -> list[list[str | None]]:
    return [[_text(cell) for cell in row] for row in frame.rows()]


def _text(cell: Any) -> str | None:
    text = format_value(cell)
    return text if text is None or len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
