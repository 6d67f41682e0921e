"""Releases that keep exact values and cut columns apart inside groups: how they are made, read back and recounted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Bucketing, Publishes, Solution
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Recount
from tablecloak.engines.local import LocalEngine, LocalTable, table_of
from tablecloak.engines.order import plain_text, published_order
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.plan import Plan
from tablecloak.policy.schema import Policy
from tablecloak.report.facts import Before, Facts, collect_groups
from tablecloak.verification import Originals, Verification, evidence_of

__all__ = [
    "GROUP",
    "Separated",
    "counts_of",
    "facts_of_groups",
    "read_separated",
    "refuse_persons",
    "refuse_recoding",
    "separate",
    "side_path",
    "verify_separated",
]

IntArray = NDArray[np.int64]
GROUP = "group_id"
COUNT = "count"
NOTE = "exact values are published: whoever knows a person's quasi-identifiers sees that the person is in the table"


@dataclass(frozen=True, slots=True, eq=False)
class Separated:
    """A release in groups: the main table and, where sensitive columns stand apart, the table beside it."""

    main: LocalTable
    side: LocalTable | None
    blocks: tuple[tuple[str, ...], ...] = ()  # columns whose rows belong together, as far as known


def side_output_path(policy: Policy) -> Path | None:
    """The file of the sensitive columns that a policy asks for, where they have a table of their own."""
    place = policy.output_place
    if policy.algorithm.publishes is not Publishes.SEPARATED or place is None:
        return None
    if not isinstance(place, Path) or (policy.output and policy.output.is_folder):
        raise IncompatibleChoice(f"{policy.algorithm.name} writes two files", hint="name one file as output")
    return side_path(place)


def side_path(path: Path) -> Path:
    """The file beside a release that holds its sensitive columns: `release.csv` has `release.st.csv`."""
    suffixes = path.suffixes[-2:] if path.suffix in (".gz", ".zst") else path.suffixes[-1:]
    suffix = "".join(suffixes)
    return path.with_name(f"{path.name.removesuffix(suffix)}.st{suffix}")


def refuse_recoding(plan: Plan, recoding: Path | None) -> None:
    """Groups of exact values cannot be applied to new rows."""
    if recoding is not None and plan.algorithm.publishes.is_bucketing:
        raise IncompatibleChoice(
            f"{plan.algorithm.name} makes groups of these rows, which new rows cannot join", hint="no recoding"
        )


def refuse_persons(plan: Plan) -> None:
    """A person with several records in a group would be counted as several."""
    if plan.algorithm.publishes.is_bucketing and plan.goal.counts_persons:
        raise IncompatibleChoice(
            f"persons have several records, and the groups of {plan.algorithm.name} count records",
            hint="keep one record per person, or use an algorithm that generalises",
        )


def separate(table: LocalTable, solution: Solution, coded: CodedTable, plan: Plan) -> Separated:
    """The release of a solution whose classes are groups; groups are numbered from 1."""
    bucketing = solution.bucketing
    assert bucketing is not None
    for name in (GROUP, COUNT):
        if name in plan.publication.columns:
            raise IncompatibleChoice(f"a column is called '{name}' already", hint="rename it, or give it role: drop")
    groups = pl.Series(GROUP, solution.class_of_row(coded) + 1)
    moved = _moved(table.frame, bucketing)
    shown = [c for c in plan.publication.columns if c not in bucketing.side and c != plan.algorithm.group_column]
    cells = [_cells(moved, name, plan) for name in shown]
    main = pl.DataFrame([*cells, groups])
    order = published_order(main, plan.publication.order, plan.secret)
    main = main if order is None else main[order]
    side = _side(moved, groups, bucketing) if bucketing.side else None
    return Separated(
        table_of(main, "the release"),
        None if side is None else table_of(side, "the table beside the release"),
        _blocks(shown, bucketing, plan),
    )


def _moved(frame: pl.DataFrame, bucketing: Bucketing) -> pl.DataFrame:
    """The table after each block was carried to other rows of its group."""
    return frame.with_columns(
        frame[column].gather(block.source) for block in bucketing.blocks for column in block.columns
    )


def _cells(frame: pl.DataFrame, name: str, plan: Plan) -> pl.Series:
    if name in plan.publication.starred:
        return pl.repeat(ANYTHING, frame.height, eager=True).alias(name)
    return plain_text(frame[name])


def _side(frame: pl.DataFrame, groups: pl.Series, bucketing: Bucketing) -> pl.DataFrame:
    side = pl.DataFrame([groups, *(plain_text(frame[name]) for name in bucketing.side)])
    by = [GROUP, *bucketing.side]
    if bucketing.is_counted:
        return side.group_by(by).len(COUNT).with_columns(pl.col(COUNT).cast(pl.Int64)).sort(by, nulls_last=True)
    return side.sort(by, nulls_last=True)


def _blocks(shown: Sequence[str], bucketing: Bucketing, plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Columns that stayed together, per table: those that moved as one block, and those that did not move."""
    moved = {name for block in bucketing.blocks for name in block.columns}
    fixed = tuple(n for n in shown if n not in moved and n not in plan.publication.starred)
    fixed_side = tuple(n for n in bucketing.side if n not in moved)
    return tuple(b for b in (fixed, fixed_side, *(block.columns for block in bucketing.blocks)) if b)


def read_separated(
    engine: LocalEngine, main: Place, side: Path | None, plan: Plan, written: Separated | None = None
) -> Separated:
    """A separated release as it stands in its files; types are those it was written with, where they are known."""
    tables = [_read(engine, main, plan, written.main if written else None)]
    if side is not None:
        tables.append(_read(engine, side, plan, written.side if written else None))
    blocks = written.blocks if written else tuple((name,) for name in [*plan.quasi, *plan.sensitive])
    return Separated(tables[0], tables[1] if side is not None else None, blocks)


def _read(engine: LocalEngine, place: Place, plan: Plan, written: LocalTable | None) -> LocalTable:
    chosen = {name: c.type for name, c in plan.policy.columns.items() if c.type is not None}
    kind = plan.policy.output.format if plan.policy.output else None
    source = Source.of(place, format=kind, expected=frozenset([*plan.policy.columns, GROUP]))
    names = engine.layout(source).names
    types = {**(dict(written.types) if written else chosen), GROUP: ColumnType.INTEGER}
    here = {name: type_ for name, type_ in types.items() if name in names or name == GROUP}
    return engine.read(replace(source, types=here), columns=None, categorical=())


def verify_separated(
    engine: LocalEngine,
    found: Separated,
    plan: Plan,
    *,
    intended: Separated | None = None,
    original: LocalTable | None = None,
) -> Verification:
    """Recount the groups of a separated release from its own cells.

    Args:
        intended: the release that was to be written; every block of every group must hold the same rows.
        original: the table it was made from; every column must hold the same values.
    """
    judged = _judged(found, plan)
    recount = _recount(engine, judged, plan)
    agrees = _groups_agree(found, judged)
    if intended is not None:
        agrees = agrees and _holds_the_same(found, intended)
    if original is not None:
        agrees = agrees and _keeps_values(found, original, plan)
    is_known = intended is not None or original is not None
    return Verification(
        verdicts=plan.goal.verdicts(recount.stats),
        n_classes=recount.stats.n_classes,
        n_rows=found.main.n_rows,
        n_suppressed=0,
        covers=agrees if is_known or not agrees else None,
        notes=(NOTE,),
        is_grouped=True,
        evidence=evidence_of(recount, plan.goal),
    )


def facts_of_groups(engine: LocalEngine, found: Separated, plan: Plan, originals: Originals) -> Facts:
    """What a report shows of a separated release, counted from its own cells."""
    judged = _judged(found, plan)
    quasi = found.main.frame.select(plan.quasi)
    return collect_groups(
        _recount(engine, judged, plan).stats,
        {name: quasi[name].n_unique() for name in quasi.columns},
        quasi.group_by(quasi.columns).len()["len"].cast(pl.Int64).to_numpy(),
        Before.of(originals.coding),
        models=plan.goal.models,
        types=judged.types,
    )


def _recount(engine: LocalEngine, judged: LocalTable, plan: Plan) -> Recount:
    return engine.class_stats(judged, [GROUP], plan.sensitive_columns(judged), stars_are_suppressed=False)


def _judged(found: Separated, plan: Plan) -> LocalTable:
    """One row per record with its group and sensitive values."""
    table = found.side or found.main
    frame = table.frame
    for name in [GROUP, *plan.counted]:
        if name not in frame.columns:
            raise DataError(f"there is no column '{name}'", location=table.name)
    if frame[GROUP].null_count():
        raise DataError("there are records without a group", location=table.name)
    if found.side is not None and COUNT in frame.columns:
        frame = frame[np.repeat(np.arange(frame.height), counts_of(table))]
    return LocalTable(frame.select(GROUP, *plan.counted), table.types, table.name)


def counts_of(side: LocalTable) -> IntArray:
    """How many records every row of a counted table stands for."""
    counts = side.frame[COUNT]
    if not counts.dtype.is_integer() or counts.null_count() or (counts < 0).any():
        raise DataError(f"column '{COUNT}' does not say how many records a row stands for", location=side.name)
    return counts.cast(pl.Int64).to_numpy()


def _groups_agree(found: Separated, judged: LocalTable) -> bool:
    """Whether every group has as many records in the main table as values beside it."""
    sizes = [t.frame.group_by(GROUP).len().sort(GROUP) for t in (found.main, judged)]
    return sizes[0].equals(sizes[1])


def _holds_the_same(found: Separated, intended: Separated) -> bool:
    """Whether both releases have the same rows of every block in every group, in any order."""
    return all(_rows_of(found, block).equals(_rows_of(intended, block)) for block in intended.blocks)


def _rows_of(separated: Separated, block: Sequence[str]) -> pl.DataFrame:
    table = separated.main if block[0] in separated.main.frame.columns else separated.side
    assert table is not None
    counted = [COUNT] if separated.side is table and COUNT in table.frame.columns else []
    return _sorted(table.frame.select(GROUP, *block, *counted))


def _keeps_values(found: Separated, original: LocalTable, plan: Plan) -> bool:
    """Whether every column holds the values of the original, each as often."""
    return all(_column(found, name).equals(_sorted(original.frame.select(name))) for name in _published(plan))


def _published(plan: Plan) -> list[str]:
    return [*plan.quasi, *plan.sensitive]


def _column(found: Separated, name: str) -> pl.DataFrame:
    table = found.main if name in found.main.frame.columns else found.side
    assert table is not None
    frame = table.frame
    if found.side is table and COUNT in frame.columns:
        frame = frame[np.repeat(np.arange(frame.height), counts_of(table))]
    return _sorted(frame.select(name))


def _sorted(frame: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order of their texts, so that equal contents are equal frames whatever holds them."""
    texts = frame.select(
        pl.col(name).cast(pl.Int64) if dtype.is_integer() else pl.col(name).cast(pl.String)
        if dtype in (pl.Categorical, pl.Enum) else pl.col(name)
        for name, dtype in frame.schema.items()
    )  # fmt: skip
    return texts.sort(texts.columns, nulls_last=True)
