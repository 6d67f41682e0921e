"""Releases that keep exact values and cut columns apart inside groups: how they are made, read back and recounted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

import numpy as np
import polars as pl

from tablecloak.algorithms.base import Bucketing, Solution
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import ANYTHING
from tablecloak.data.group_origins import BlockRows, dealt, kept_links
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Engine, Recount, Table
from tablecloak.engines.local.engine import LocalEngine, LocalTable, table_of
from tablecloak.engines.row_order import plain_text, published_order
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.release.documents import Documents
from tablecloak.release.facts.collect import Before, Facts, collect_groups
from tablecloak.release.plan import Plan
from tablecloak.release.recoding.classes import Recoding
from tablecloak.release.recount import Failure, Originals, Verification, evidence_of
from tablecloak.release.search import Solved
from tablecloak.release.shapes.base import RecountResult, Release
from tablecloak.release.shapes.classes import Classes, originals_of
from tablecloak.stats.classes import number_rows

GROUP = "group_id"
COUNT = "count"
NOTE = "exact values are published: whoever knows a person's quasi-identifiers sees that the person is in the table"


@dataclass(frozen=True, slots=True, eq=False)
class Separated:
    """A release in groups: the main table and, where sensitive columns stand apart, the table beside it."""

    main: LocalTable
    side: LocalTable | None
    blocks: tuple[tuple[str, ...], ...] = ()  # columns whose rows belong together, as far as known

    def holder(self, column: str) -> LocalTable:
        """The table that shows a column."""
        return self.main if self.side is None or column in self.main.frame.columns else self.side

    def groups(self, column: str) -> IntArray:
        """The group of every row that shows a column."""
        return self.holder(column).frame[GROUP].cast(pl.Int64).to_numpy()

    def repeated(self, column: str, values: IntArray) -> IntArray:
        """Values of the rows that show a column, one for every record: a table may list equal rows once."""
        table = self.holder(column)
        return np.repeat(values, counts_of(table)) if table is self.side and COUNT in table.types else values


@dataclass(frozen=True, slots=True, eq=False)
class GroupOriginals:
    """The records that a release in groups was made from."""

    rows: Originals  # as codes
    grouped: Separated  # in their groups, before anything moved


class Groups(Classes):
    """Exact values in groups, inside of which columns are cut apart."""

    name = "groups"

    def speaks_of(self, policy: Policy) -> bool:
        return bool(policy.algorithm.publishes.is_bucketing)

    def refuse(self, plan: Plan) -> None:
        """A person with several records in a group would be counted as several."""
        if plan.goal.counts_persons:
            raise IncompatibleChoice(
                f"persons have several records, and the groups of {plan.algorithm.name} count records",
                hint="keep one record per person, or use an algorithm that generalises",
            )

    def publish(self, solved: Solved, timed: Timed) -> Release:
        table, coded = solved.prepared.table, solved.coding.table
        assert isinstance(table, LocalTable)
        with timed.phase("recode", table.n_rows):
            separated = separate(table, solved.solution, coded, solved.plan)
            before = in_groups(table, solved.solution, coded, separated.blocks)
        originals = GroupOriginals(originals_of(solved, None), before)
        return Release(separated.main, originals, separated.side, separated.blocks)

    def spelling(self, engine: Engine, plan: Plan) -> Spelling:
        return Spelling()

    def read_back(self, engine: Engine, files: Documents, plan: Plan, written: Release, spelling: Spelling) -> Release:
        main, side = (None if p is None else Source.of(p, format=files.kind) for p in (files.release, files.side))
        assert main is not None
        there = read_separated(_memory(engine), main, side, plan, _separated(written))
        return replace(written, main=there.main, side=there.side)

    def recount(self, engine: Engine, release: Release, plan: Plan, *, with_facts: bool) -> RecountResult:
        there, originals = _separated(release), release.originals
        verification = verify_separated(_memory(engine), there, plan, original=originals.grouped)
        facts = facts_of_groups(_memory(engine), there, plan, originals.rows) if with_facts else None
        return RecountResult(verification, facts)

    def whose(self, engine: Engine, release: Release) -> Table | None:
        originals: Originals = release.originals.rows
        return engine.with_persons(release.main, originals.coding, originals.row_of)

    def recoding(self, solved: Solved) -> Recoding | None:
        return None

    def refuse_recoding(self, plan: Plan) -> None:
        raise IncompatibleChoice(
            f"{plan.algorithm.name} makes groups of these rows, which new rows cannot join", hint="no recoding"
        )


SHAPE = Groups()


def _memory(engine: Engine) -> LocalEngine:
    """Groups are made of rows in memory."""
    assert isinstance(engine, LocalEngine)
    return engine


def _separated(release: Release) -> Separated:
    main, side = release.main, release.side
    assert isinstance(main, LocalTable)
    assert side is None or isinstance(side, LocalTable)
    return Separated(main, side, release.blocks)


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
    engine: LocalEngine, main: Source, side: Source | None, plan: Plan, written: Separated | None = None
) -> Separated:
    """A separated release as it stands in its files; types are those it was written with, where they are known."""
    tables = [_read(engine, main, plan, written.main if written else None)]
    if side is not None:
        tables.append(_read(engine, side, plan, written.side if written else None))
    blocks = written.blocks if written else tuple((name,) for name in [*plan.quasi, *plan.sensitive])
    return Separated(tables[0], tables[1] if side is not None else None, blocks)


def _read(engine: LocalEngine, source: Source, plan: Plan, written: LocalTable | None) -> LocalTable:
    chosen = {name: c.type for name, c in plan.policy.columns.items() if c.type is not None}
    source = replace(source, expected=frozenset([*plan.policy.columns, GROUP]))
    names = engine.layout(source).names
    types = {**(dict(written.types) if written else chosen), GROUP: ColumnType.INTEGER}
    here = {name: type_ for name, type_ in types.items() if name in names or name == GROUP}
    return engine.read(replace(source, types=here), columns=None, categorical=())


def verify_separated(
    engine: LocalEngine,
    release: Separated,
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
    judged = _judged(release, plan)
    recount = _recount(engine, judged, plan)
    agrees = _groups_agree(release, judged)
    for reference in (intended, original):
        agrees = agrees and (reference is None or _holds_the_same(release, reference))
    failures = []
    if agrees and original is not None:
        failures = unexchanged(release, original.blocks, plan, lambda block: _shown(release, original, block))
    is_known = intended is not None or original is not None
    return Verification(
        verdicts=plan.goal.verdicts(recount.stats),
        n_classes=recount.stats.n_classes,
        n_rows=release.main.n_rows,
        n_suppressed=0,
        covers=agrees if is_known or not agrees else None,
        notes=(NOTE,),
        is_grouped=True,
        evidence=evidence_of(recount, plan.goal),
        failures=tuple(failures),
    )


def facts_of_groups(engine: LocalEngine, release: Separated, plan: Plan, originals: Originals) -> Facts:
    """What a report shows of a separated release, counted from its own cells."""
    judged = _judged(release, plan)
    quasi = release.main.frame.select(plan.quasi)
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


def _judged(release: Separated, plan: Plan) -> LocalTable:
    """One row per record with its group and sensitive values."""
    table = release.side or release.main
    frame = table.frame
    for name in [GROUP, *plan.counted]:
        if name not in frame.columns:
            raise DataError(f"there is no column '{name}'", location=table.name)
    if frame[GROUP].null_count():
        raise DataError("there are records without a group", location=table.name)
    if release.side is not None and COUNT in frame.columns:
        frame = frame[np.repeat(np.arange(frame.height), counts_of(table))]
    return LocalTable(frame.select(GROUP, *plan.counted), table.types, table.name)


def counts_of(side: LocalTable) -> IntArray:
    """How many records every row of a counted table stands for."""
    counts = side.frame[COUNT]
    if not counts.dtype.is_integer() or counts.null_count() or (counts < 0).any():
        raise DataError(f"column '{COUNT}' does not say how many records a row stands for", location=side.name)
    return counts.cast(pl.Int64).to_numpy()


def _groups_agree(release: Separated, judged: LocalTable) -> bool:
    """Whether every group has as many records in the main table as values beside it."""
    sizes = [t.frame.group_by(GROUP).len().sort(GROUP) for t in (release.main, judged)]
    return sizes[0].equals(sizes[1])


def _holds_the_same(release: Separated, reference: Separated) -> bool:
    """Whether every group has the same rows of every block, in any order."""
    return all(
        dealt([_shown(release, reference, block)], reference.repeated(block[0], reference.groups(block[0]))).is_possible
        for block in reference.blocks
    )


def _shown(release: Separated, reference: Separated, block: Sequence[str]) -> BlockRows:
    """The rows of a block in a release, beside those that are known to be right."""
    first = block[0]
    sides = [separated.holder(first).frame for separated in (release, reference)]
    codes = []
    for name in block:
        texts = pl.concat([side[name].cast(pl.String) for side in sides]).cast(pl.Categorical)
        codes.append(texts.to_physical().cast(pl.Int64).fill_null(texts.len()).to_numpy())
    numbers, _ = number_rows(codes, len(codes[0]))
    n_shown = sides[0].height
    return BlockRows(
        release.repeated(first, release.groups(first)),
        release.repeated(first, numbers[:n_shown]),
        reference.repeated(first, numbers[n_shown:]),
    )


# What must be exchanged -----------------------------------------------------------------------------------------------


def unexchanged(
    release: Separated, blocks: Sequence[Sequence[str]], plan: Plan, shown: Callable[[Sequence[str]], BlockRows]
) -> list[Failure]:
    """Blocks of the main table that should have been exchanged and are linked as in the original.

    Goals depend on the links of sensitive columns; where these have a table of their own, all others were exchanged.
    """
    here = [block for block in blocks if block[0] in release.main.frame.columns]
    is_free, shown = _is_free(release.main.frame, plan), cache(shown)
    return [
        Failure(f"{text} as the original does: they were not exchanged inside groups")
        for one, other in combinations(here, 2)
        if release.side is not None or {*one, *other}.intersection(plan.sensitive)
        if (text := _linked(one, other, shown, is_free))
    ]


def _linked(
    one: Sequence[str], other: Sequence[str], shown: Callable[[Sequence[str]], BlockRows], is_free: BoolArray | None
) -> str | None:
    """Which columns of two blocks, all or two of them, nobody exchanged."""
    for left, right in dict.fromkeys(
        [(tuple(one), tuple(other)), *product(((n,) for n in one), ((n,) for n in other))]
    ):
        links = kept_links(shown(left), shown(right), is_free)
        if links.are_kept:
            return f"{links.n_kept:,} of {links.n_rows:,} rows link {' + '.join(left)} with {' + '.join(right)}"
    return None


def _is_free(main: pl.DataFrame, plan: Plan) -> BoolArray | None:
    """Rows of groups that could be exchanged in every way, which forbidden combinations do not allow; None: all."""
    ruled = []
    for rule in plan.algorithm.forbidden:
        parts = [[n for n in rule if n in plan.quasi], [n for n in rule if n not in plan.quasi]]
        holds = [
            pl.all_horizontal(pl.lit(value=True), *(pl.col(n).cast(pl.String) == rule[n] for n in p)) for p in parts
        ]
        ruled.append(pl.all_horizontal(holds[0].any().over(GROUP), holds[1].any().over(GROUP)))
    return main.select(~pl.any_horizontal(ruled)).to_series().to_numpy() if ruled else None
