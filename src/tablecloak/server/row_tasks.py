"""Rows to look at: pages of a table, raw lines of a file, original and release in step."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.table import ColumnType, Role
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
    """The same records before and after: one page of both tables in step.

    `in_step` is False where rows were shuffled, or where it is not known which ones were left out.
    """
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    release, folder = Path(arguments["release"]), Path(arguments["release"]).parent
    if is_large(source_of(policy), arguments):
        return _pages_beside(policy, release, arguments)
    after = frame_of(release_source(policy, release))
    before = frame_of(source_of(policy)).select([c for c in after.columns if c in policy.columns])
    kept, in_step = _kept_rows(policy, before, after, folder)
    offset, limit = arguments["offset"], arguments["limit"]
    part = before[kept[offset : offset + limit]] if kept is not None else before.slice(offset, limit)
    published = after.slice(offset, limit)
    return {
        "columns": before.columns,
        "after_columns": after.columns,
        "before": _texts(part),
        "after": _texts(published),
        "in_step": in_step,
        "left_out": before.height - after.height,
    }


def _pages_beside(policy: Policy, release: Path, arguments: Arguments) -> dict[str, Any]:
    """The same of a table that is large for the memory: in step where every record was published, in order."""
    offset, limit = arguments["offset"], arguments["limit"]
    after = page_of(release_source(policy, release), offset, limit)
    before = page_of(source_of(policy), offset, limit)
    before = before.select([c for c in after.columns if c in policy.columns])
    is_shuffled = policy.output is not None and policy.output.shuffle
    left_out = arguments["left_out"]
    return {
        "columns": before.columns,
        "after_columns": after.columns,
        "before": _texts(before),
        "after": _texts(after),
        "in_step": not is_shuffled and not left_out,
        "left_out": left_out,
    }


def _kept_rows(
    policy: Policy, before: pl.DataFrame, after: pl.DataFrame, folder: Path
) -> tuple[np.ndarray[Any, Any] | None, bool]:
    """Which originals the published rows are, in order; None: all, or it cannot be known."""
    if policy.output is not None and policy.output.shuffle:
        return None, False
    if before.height == after.height:
        return None, True
    recoding = folder / "recoding.json"
    if not recoding.exists():
        return None, False
    kept = np.flatnonzero(read_recoding(recoding).classes_of(before) >= 0)
    return (kept, True) if len(kept) == after.height else (None, False)


def _texts(frame: pl.DataFrame) -> list[list[str | None]]:
    return [[_text(cell) for cell in row] for row in frame.rows()]


def _text(cell: Any) -> str | None:
    text = format_value(cell)
    return text if text is None or len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
