"""Sets of items as workers see them: which columns hold sets, the items of a column, what a run found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.baskets.plan import SEPARATOR, has_sets, release_format
from tablecloak.data.baskets import split_items
from tablecloak.data.table import ColumnType, Role
from tablecloak.io.frames import DTYPES
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress
from tablecloak.server.frames import frame_of

__all__ = ["columns_of_sets", "items_of", "kind_of_file", "release_of_sets", "risks_of"]

MARKS = ("|", ";", ",", "/", "+", " ")
MOST_LOOKED_AT = 2_000
# A column looks like sets if so many of its cells hold the mark, and its items occur so often on average.
MANY_CELLS, MANY_TIMES = 0.3, 3.0
# A file looks like sets if fewer lines than this share have the usual number of items; a table has them all.
USUAL, FEW_LINES = 0.9, 5
HEAD_BYTES = 1 << 18


def columns_of_sets(arguments: Mapping[str, Any], _progress: Progress) -> list[dict[str, Any]]:
    """Text columns whose cells look like sets, the likeliest first, each with what separates its items."""
    source = Source(Path(arguments["path"]), **arguments.get("options", {}))
    frame = frame_of(source)
    text = [c.name for c in sniff(source).columns if c.type is ColumnType.TEXT]
    found = [guess for name in text if (guess := _guess(frame[name].cast(pl.String).drop_nulls()))]
    return sorted(found, key=lambda guess: -guess["share"])


def _guess(cells: pl.Series) -> dict[str, Any] | None:
    cells = cells.head(MOST_LOOKED_AT)
    for mark in MARKS if len(cells) else ():
        share = int(cells.str.contains(mark, literal=True).sum()) / len(cells)
        items = split_items(cells, mark)[1]
        if share >= MANY_CELLS and len(items) >= MANY_TIMES * items.n_unique():
            return {"column": cells.name, "separator": mark, "share": share}
    return None


def kind_of_file(arguments: Mapping[str, Any], _progress: Progress) -> dict[str, Any]:
    """What separates items if a file is read as one of sets, and whether its lines look like sets."""
    path = Path(arguments["path"])
    layout = sniff(Source(path, format="sets"))
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    is_text = layout.compression is None and head[:2] != b"PK" and b"\0" not in head
    lines = head.decode(layout.encoding, "replace").splitlines()[:MOST_LOOKED_AT] if is_text else []
    return {"delimiter": layout.delimiter, "looks_like_sets": _look_like_sets(lines, layout.delimiter)}


def _look_like_sets(lines: list[str], delimiter: str) -> bool:
    """Lines of different lengths whose items come again; lines of a table have as many cells as each other."""
    if len(lines) < FEW_LINES or any('"' in line for line in lines):
        return False
    lengths = Counter(line.count(delimiter) for line in lines)
    items = Counter(item.strip() for line in lines for item in line.split(delimiter))
    return lengths.most_common(1)[0][1] < USUAL * len(lines) and len(items) * MANY_TIMES <= items.total()


def items_of(policy: Policy, column: str, cells: pl.Series) -> pl.Series | None:
    """The items of all cells, where the column holds sets; None where it does not."""
    spec = policy.columns[column]
    if spec.role is not Role.ITEMS:
        return None
    delimiter = policy.input.delimiter if policy.input and policy.input.format == "sets" else None
    items = split_items(cells, spec.separator or delimiter or SEPARATOR)[1].alias(column)
    return items if spec.type is None else items.cast(DTYPES[spec.type], strict=False).drop_nulls()


def release_of_sets(policy: Policy, path: Path) -> Source | None:
    """A release that is a file of sets; None if it is a table."""
    is_of_sets = bool(policy.input and policy.input.format == "sets")
    if not has_sets(policy) or release_format(policy, path, is_of_sets=is_of_sets) != "sets":
        return None
    assert policy.input is not None
    said = policy.output.delimiter if policy.output else None
    return Source(path, format="sets", delimiter=said or policy.input.delimiter)


def risks_of(report: Mapping[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The chance to pick the right one of the records that hold a combination, at its highest: before and after."""
    counted = report["itemsets"]
    return tuple(_risk(counted[key], report["rows"]) for key in ("before", "after"))  # type: ignore[return-value]


def _risk(counts: Mapping[str, Any] | None, n_records: int) -> dict[str, Any] | None:
    lowest = [low for low in (counts or {}).get("lowest", ()) if low]
    return {"records": n_records, "highest": 1 / min(lowest)} if lowest else None
