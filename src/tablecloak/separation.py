"""Releases that keep exact values and cut columns apart inside groups: how they are made, read back and recounted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Bucketing, Publishes, Solution
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import ANYTHING
from tablecloak.data.grouping import Shown, dealt, kept_links
from tablecloak.data.origins import numbered
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
from tablecloak.verification import Failure, Originals, Verification, evidence_of

__all__ = [
    "GROUP",
    "Separated",
    "counts_of",
    "facts_of_groups",
    "in_groups",
    "read_separated",
    "refuse_persons",
    "refuse_recoding",
    "separate",
    "side_path",
    "unexchanged",
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


def in_groups(
    table: LocalTable, solution: Solution, coded: CodedTable, blocks: tuple[tuple[str, ...], ...]
) -> Separated:
    """The records that a release was made from, in its groups, before anything moved."""
    groups = pl.Series(GROUP, solution.class_of_row(coded) + 1)
    return Separated(table_of(table.frame.with_columns(groups), table.name), None, blocks)


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
    original: Separated | None = None,
) -> Verification:
    """Recount the groups of a separated release from its own cells.

    Args:
        intended: the release that was to be written; every block of every group must hold the same rows.
        original: the records it was made from, in their groups; the same, and rows must have been exchanged.
    """
    judged = _judged(found, plan)
    recount = _recount(engine, judged, plan)
    agrees = _groups_agree(found, judged)
    for known in (intended, original):
        agrees = agrees and (known is None or _holds_the_same(found, known))
    failures = []
    if agrees and original is not None:
        failures = unexchanged(found, original.blocks, plan, lambda block: _shown(found, original, block))
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
        failures=tuple(failures),
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


def _holds_the_same(found: Separated, known: Separated) -> bool:
    """Whether every group has the same rows of every block, in any order."""
    return all(dealt([_shown(found, known, b)], _groups(known, b)).is_possible for b in known.blocks)


def _holder(separated: Separated, block: Sequence[str]) -> LocalTable:
    is_main = separated.side is None or block[0] in separated.main.frame.columns
    return separated.main if is_main or separated.side is None else separated.side


def _repeats(separated: Separated, block: Sequence[str]) -> IntArray:
    """The rows that show a block, one for every record: a table may list equal rows once."""
    table = _holder(separated, block)
    rows = np.arange(table.n_rows)
    return np.repeat(rows, counts_of(table)) if table is separated.side and COUNT in table.types else rows


def _groups(separated: Separated, block: Sequence[str]) -> IntArray:
    groups: IntArray = _holder(separated, block).frame[GROUP].cast(pl.Int64).to_numpy()
    return groups[_repeats(separated, block)]


def _shown(found: Separated, known: Separated, block: Sequence[str]) -> Shown:
    """The rows of a block in a release, beside those that are known to be right."""
    sides = [_holder(separated, block).frame for separated in (found, known)]
    codes = []
    for name in block:
        texts = pl.concat([side[name].cast(pl.String) for side in sides]).cast(pl.Categorical)
        codes.append(texts.to_physical().cast(pl.Int64).fill_null(texts.len()).to_numpy())
    numbers = np.unique(numbered(codes), return_inverse=True)[1].reshape(-1).astype(np.int64)
    n_shown = sides[0].height
    return Shown(
        _groups(found, block),
        numbers[:n_shown][_repeats(found, block)],
        numbers[n_shown:][_repeats(known, block)],
    )


# What must be exchanged -----------------------------------------------------------------------------------------------


def unexchanged(
    found: Separated, blocks: Sequence[Sequence[str]], plan: Plan, shown: Callable[[Sequence[str]], Shown]
) -> list[Failure]:
    """Blocks of the main table that should have been exchanged and are linked as in the original.

    Goals depend on the links of sensitive columns; where these have a table of their own, all others were exchanged.
    """
    here = [block for block in blocks if block[0] in found.main.frame.columns]
    is_free, shown = _is_free(found.main.frame, plan), cache(shown)
    return [
        Failure(f"{said} as the original does: they were not exchanged inside groups")
        for one, other in combinations(here, 2)
        if found.side is not None or {*one, *other}.intersection(plan.sensitive)
        if (said := _linked(one, other, shown, is_free))
    ]


def _linked(
    one: Sequence[str],
    other: Sequence[str],
    shown: Callable[[Sequence[str]], Shown],
    is_free: NDArray[np.bool_] | None,
) -> str | None:
    """Which columns of two blocks, all or two of them, nobody exchanged."""
    for left, right in dict.fromkeys(
        [(tuple(one), tuple(other)), *product(((n,) for n in one), ((n,) for n in other))]
    ):
        links = kept_links(shown(left), shown(right), is_free)
        if links.are_kept:
            return f"{links.n_kept:,} of {links.n_rows:,} rows link {' + '.join(left)} with {' + '.join(right)}"
    return None


def _is_free(main: pl.DataFrame, plan: Plan) -> NDArray[np.bool_] | None:
    """Rows of groups that could be exchanged in every way, which forbidden combinations do not allow; None: all."""
    rules: Sequence[Mapping[str, str]] = getattr(plan.algorithm, "forbidden", ())
    ruled = []
    for rule in rules:
        parts = [[n for n in rule if n in plan.quasi], [n for n in rule if n not in plan.quasi]]
        holds = [
            pl.all_horizontal(pl.lit(value=True), *(pl.col(n).cast(pl.String) == rule[n] for n in p)) for p in parts
        ]
        ruled.append(pl.all_horizontal(holds[0].any().over(GROUP), holds[1].any().over(GROUP)))
    return main.select(~pl.any_horizontal(ruled)).to_series().to_numpy() if ruled else None
