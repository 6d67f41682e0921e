"""Finished releases, whoever made them: recount a file or a frame, alone or beside its original.

Nothing is taken for granted, not even the order of rows. Columns are held against the policy, classes are recounted,
and with the original every published row must have an original of its own, which its cells cover or equal. What could
not be looked at is said, and is no yes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import Publishes
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.domain import ANYTHING
from tablecloak.data.group_origins import BlockRows, dealt, kept_links
from tablecloak.data.row_origins import Equal
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.choose import Demand, choose_memory, working_engine
from tablecloak.engines.equal_rows import Hidden
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.cells import infer_type, parsed
from tablecloak.io.sources import Source
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed
from tablecloak.release.finished import FinishedRelease, bytes_of, source_of_original, source_of_release, texts_of
from tablecloak.release.handover import appraise_finished
from tablecloak.release.match_originals import (
    NOT_EQUAL,
    Original,
    beside_in_memory,
    beside_in_parts,
    counted_beside,
    equal_cells,
    with_failures,
    without_persons,
)
from tablecloak.release.plan import PUBLISHED, Plan, make_plan, side_path, starred_of
from tablecloak.release.recount import ROWS_NAMED, Failure, Originals, Verification, verify
from tablecloak.release.remade import Remade
from tablecloak.release.shapes.groups import COUNT, GROUP, Separated, read_separated, unexchanged, verify_separated
from tablecloak.stats.classes import Evidence, number_rows

# Why a column that a policy names has no place in a release.
UNPUBLISHED = {
    Role.IDENTIFIER: "an identifier, which is not published",
    Role.PERSON: "the key of persons, which is never published",
    Role.DROP: "the policy drops it",
}
SHOWN_IDENTIFIER = "an identifier that must be *, and shows something else"
NOT_TOGETHER = "a group whose columns do not come from the same records of the original"
NO_GROUPS = "the records of the original cannot be dealt out so that every group shows what its records hold"
GROUPS_OPEN = (
    "groups could not be held against the original: too many records fit several groups to tell whether each group "
    "shows what its records hold"
)
OTHER_BLOCKS = (
    "columns could be held against the original only one by one: others stay together in this release than the "
    "algorithm keeps together, or their links are not those of the original"
)
UNSEEN_EXCHANGE = (
    "whether rows were exchanged inside groups, on which every goal rests here, cannot be seen without the original: "
    "--original FILE"
)
SAME_TABLE = "the distribution of the whole table was taken from the release; --original FILE gives that of all records"


# Verbs ----------------------------------------------------------------------------------------------------------------


def verify_release(
    release: Any, policy: Policy, *, original: Any, side: Any, progress: Progress, demand: Demand
) -> Verification:
    """Recount a finished release, whoever made it; with the original, also hold every published cell against it."""
    timed = Timed(progress)
    source = source_of_release(release, policy)
    before = None if original is None else source_of_original(original, policy)
    if policy.algorithm.publishes.is_bucketing:
        choice = choose_memory(demand, bytes_of(source, before), verb="verify of a release in groups")
        made = Remade.of(LocalEngine(), before, policy, timed)
        verification = _read_groups(source, side, made, timed)
    else:
        with working_engine(demand, bytes_of(source, before)) as (engine, choice):
            made = Remade.of(engine, before, policy, timed)
            with timed.phase("read"):
                plan = _plan_of(source, made.policy, engine.layout(source).names)
                finished = FinishedRelease.read(engine, source, labelled=plan.quasi)
            verification = _verified(finished, plan, made, timed)
    return verification if source.is_frame else replace(verification, choice=choice)


def _plan_of(source: Source, policy: Policy, names: Sequence[str]) -> Plan:
    """The plan of a finished release: only the columns that a recount looks at."""
    counts_weights = any(Evidence.WEIGHTS in goal.evidence for goal in policy.goals)
    weights = [n for n in policy.columns_with(Role.WEIGHT) if counts_weights and n in names]
    judged = [*policy.columns_with(Role.QUASI, Role.SENSITIVE), *weights]
    policy = policy.model_copy(update={"columns": {n: policy.columns[n] for n in judged}, "others": "drop"})
    return make_plan(policy, names, location=None if source.is_frame else source.location)


def code_originals(engine: Engine, table: Table, plan: Plan, rows: IntArray | None = None) -> Originals:
    """What a recount needs of the originals of a release, coded again; `rows` are those that were published."""
    counted = plan.sensitive_columns(table) if plan.judged_before else plan.guard_columns(table)
    coding = engine.contingency(table, plan.quasi_columns(table), counted, by_row=True)
    return Originals(coding, rows, unpublished=coding.table.unpublished())


# Columns --------------------------------------------------------------------------------------------------------------


def published_columns(policy: Policy, names: Sequence[str]) -> list[str]:
    """The columns of a release that a policy publishes, quasi-identifiers included."""
    named = {*policy.columns_with(*PUBLISHED, Role.ITEMS), *starred_of(policy)}
    return [n for n in names if n in named or (policy.others == "keep" and n not in policy.columns)]


def wrong_columns(policy: Policy, columns: Sequence[str], *, own: Collection[str] = ()) -> list[Failure]:
    """Columns of a release that the policy does not publish, and those that it publishes and that are not there.

    Args:
        own: what an algorithm adds of its own, such as the number of a group.
    """
    stars = starred_of(policy)
    failures = []
    for name in columns:
        spec = policy.columns.get(name)
        if spec is None and policy.others == "drop" and name not in own:
            failures.append(Failure("the policy does not name it, so it is not published", name))
        if spec is not None and spec.role in UNPUBLISHED and name not in stars:
            failures.append(Failure(UNPUBLISHED[spec.role], name))
    missing = [n for n in [*policy.columns_with(*PUBLISHED, Role.ITEMS), *stars] if n not in columns]
    return [*failures, *(Failure("the policy publishes it, and it is not there", name) for name in missing)]


def unstarred_cells(frame: pl.DataFrame, policy: Policy) -> list[Failure]:
    """Identifiers that the policy replaces by `*` and that show something else."""
    failures = []
    for name in starred_of(policy):
        if name in frame.columns:
            is_star = (frame[name].cast(pl.String) == ANYTHING).fill_null(value=False).to_numpy()
            failures += _of_rows(SHOWN_IDENTIFIER, name, ~is_star)
    return failures


def _of_rows(what: str, column: str | None, is_wrong: BoolArray) -> list[Failure]:
    """A failure of some rows, or none."""
    rows = np.flatnonzero(is_wrong)
    return [Failure(what, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()))] if len(rows) else []


# Releases in classes --------------------------------------------------------------------------------------------------


def _verified(release: FinishedRelease, plan: Plan, made: Remade, timed: Timed) -> Verification:
    """The recount, and what the whole published table says."""
    engine, policy, original = release.engine, made.policy, made.original
    if engine.room is not None and policy.population is not None and Evidence.POPULATION in plan.goal.evidence:
        raise IncompatibleChoice(
            f"classes are held against a population in memory, which the engine {engine.name} does not do",
            hint="--engine local",
        )
    before = None
    if original is not None:
        with timed.phase("original"):
            before = Original.read(engine, original, policy, plan)
    with timed.phase("verify"):
        verification = made.judged(_verify(release, plan, policy, before, made.unknown), plan.goal)
        verification = with_failures(verification, made.faults(engine, release.table))
        handover = appraise_finished(engine, release.table, made.asked, verification.evidence)
    return verification.with_handover(handover)


def _verify(
    release: FinishedRelease, plan: Plan, policy: Policy, before: Original | None, unknown: Collection[str]
) -> Verification:
    engine = release.engine
    published = published_columns(policy, release.names)
    equal = [n for n in published if n not in plan.quasi and n not in starred_of(policy) and n not in unknown]
    failures = [*wrong_columns(policy, release.names), *_unstarred(release, policy)]
    # where nothing else is published, rows of * are a class
    hidden = Hidden(tuple(plan.quasi), tuple(n for n in published if n not in plan.quasi))
    shown, n_hidden = release.shown(hidden)
    plan = replace(plan, publication=replace(plan.publication, keeps_suppressed=False))
    judged = _judged_table(release, shown, hidden, plan, before.table.types if before else {})
    numbers = None
    if engine.room is None:
        frame = engine.frame(release.table)
        numbers = np.flatnonzero(~hidden.rows(frame)) if n_hidden else np.arange(frame.height)
    if before is None:
        verification = verify(engine, judged, plan)
        verification = without_persons(verification, policy, "which only the original can tell")
        if Evidence.TABLE in plan.goal.evidence:
            verification = replace(verification, notes=(*verification.notes, SAME_TABLE))
    else:
        there = [n for n in equal if n in before.types]
        failures += [Failure("the original has no such column", n) for n in equal if n not in there]
        if numbers is None:
            verification = beside_in_parts(release, judged, hidden, plan, policy, before, there)
        else:
            verification = beside_in_memory(release, judged, numbers, plan, policy, before, there)
    verification = _unknowable(verification, plan.goal)
    if n_hidden:
        note = f"{n_hidden:,} rows show nothing, as suppressed records do, and were counted as such"
        notes, n_suppressed = (*verification.notes, note), max(verification.n_suppressed, n_hidden)
        verification = replace(verification, notes=notes, n_suppressed=n_suppressed)
    if numbers is not None:
        verification = _as_in_file(verification, numbers, release.table.n_rows)
    return with_failures(verification, failures)


def _as_in_file(verification: Verification, numbers: IntArray, n_rows: int) -> Verification:
    """Rows and persons counted as the file has them, with rows that show nothing."""
    evidence = verification.evidence
    if evidence.persons is not None:
        whose = np.full(n_rows, -1)
        whose[numbers] = evidence.persons
        evidence = replace(evidence, persons=whose)
    moved = (replace(f, rows=tuple(int(numbers[row - 1]) + 1 for row in f.rows)) for f in verification.failures)
    return replace(verification, evidence=evidence, failures=tuple(moved))


def _unstarred(release: FinishedRelease, policy: Policy) -> list[Failure]:
    """Identifiers that the policy replaces by `*` and that show something else."""
    starred = [n for n in starred_of(policy) if n in release.names]
    if release.engine.room is None:
        return unstarred_cells(release.engine.frame(release.table, starred), policy)
    failures = []
    for name in starred:
        recount = release.engine.class_stats(release.table, [name], (), stars_are_suppressed=False)
        is_other = (recount.labels[name].cast(pl.String) != ANYTHING).fill_null(value=True).to_numpy()
        n_rows = sum(int(part.size[is_other[(part.labels or {})[name]]].sum()) for part in recount.parts)
        if n_rows:
            failures.append(Failure(SHOWN_IDENTIFIER, name, n_rows))
    return failures


def _judged_table(
    release: FinishedRelease, shown: Table, hidden: Hidden, plan: Plan, types: Mapping[str, ColumnType]
) -> Table:
    """What a recount looks at: quasi-identifiers as texts, sensitive columns with their types.

    Args:
        shown: the release without hidden rows.
        types: those of the original, where they are known.
    """
    engine, counted = release.engine, [*plan.counted, *plan.weights]
    columns = [*plan.quasi, *counted]
    has_hidden = shown.n_rows < release.table.n_rows
    column_types = {}
    for name in counted:
        spec = plan.policy.columns[name]
        column_types[name] = types.get(name) or spec.type or shown.types[name]
        if column_types[name] is ColumnType.TEXT and has_hidden and name not in types and spec.type is None:
            # stars among numbers made it text
            values = engine.class_stats(shown, [name], (), stars_are_suppressed=False).labels[name]
            column_types[name] = infer_type(values.drop_nulls().cast(pl.String).to_list())
    others = {name: type_ for name, type_ in column_types.items() if type_ is not shown.types[name]}
    if not others:
        return engine.select(shown, columns)
    if engine.room is None:
        frame, texts = engine.frame(shown, columns), engine.frame(release.texts(list(others)))
        texts = texts.filter(~hidden.rows(engine.frame(release.table))) if has_hidden else texts
        series = [parsed(texts[name].cast(pl.String), type_) for name, type_ in others.items()]
        return table_of(
            frame.with_columns(s.cast(pl.Categorical) if s.dtype == pl.String else s for s in series), shown.name
        )
    if has_hidden or release.source.is_frame:
        raise IncompatibleChoice(
            f"column '{next(iter(others))}' is not shown as its type, which the engine {engine.name} does not mend",
            hint="--engine local",
        )
    read_types = {**dict.fromkeys(plan.quasi, ColumnType.TEXT), **others}
    return engine.read(replace(release.source, types=read_types), columns=columns, categorical=columns)


def _unknowable(verification: Verification, goal: Goal) -> Verification:
    """Without a yes to what no finished release can show."""
    verdicts = [
        replace(v, holds=False, unchecked=model.asks_of_search) if model.asks_of_search and v.holds else v
        for v, model in zip(verification.verdicts, goal.models, strict=True)
    ]
    return replace(verification, verdicts=verdicts)


# Releases in groups ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """A release in groups as it was read, and its cells letter by letter."""

    release: Separated
    main: pl.DataFrame
    side: pl.DataFrame | None

    @property
    def names(self) -> list[str]:
        return [*self.main.columns, *(() if self.side is None else self.side.columns)]

    def texts(self, column: str) -> pl.Series:
        """The cells of a column."""
        return self.main[column] if self.side is None or column in self.main.columns else self.side[column]


def _texts(source: Source) -> pl.DataFrame:
    engine = LocalEngine()
    return engine.frame(texts_of(engine, source, engine.layout(source).names))


def _read_groups(source: Source, side: Any, made: Remade, timed: Timed) -> Verification:
    """Recount the groups of a finished release and, where there is one, of the table beside it."""
    engine, policy, original = LocalEngine(), made.policy, made.original
    with timed.phase("read"):
        if not source.is_frame:
            source = replace(source, expected=source.expected | {GROUP})
            side = _file_beside(source) if policy.algorithm.publishes is Publishes.SEPARATED else None
        beside = None if side is None else source_of_release(side, policy, expected=[GROUP])
        main, apart = _texts(source), None if beside is None else _texts(beside)
        plan = _plan_of(source, policy, [*main.columns, *(() if apart is None else apart.columns)])
        grouped = _Grouped(read_separated(engine, source, beside, plan), main, apart)
    before = None
    if original is not None:
        with timed.phase("original"):
            before = Original.read(engine, original, policy, plan)
    with timed.phase("verify"):
        verification = made.judged(_verify_groups(engine, grouped, plan, policy, before), plan.goal)
        whole = FinishedRelease.read(engine, source, labelled=plan.quasi)
        verification = with_failures(verification, made.faults(engine, whole.table))
        handover = appraise_finished(engine, whole.table, made.asked, verification.evidence)
    return verification.with_handover(handover)


def _verify_groups(
    engine: LocalEngine, grouped: _Grouped, plan: Plan, policy: Policy, before: Original | None
) -> Verification:
    verification = _unknowable(verify_separated(engine, grouped.release, plan), plan.goal)
    if before is None or not _is_one_each(before.table, policy):
        verification = without_persons(verification, policy, "groups count records, and a person may have several")
    failures = _wrong_group_columns(grouped.release, policy, plan)
    if before is None and grouped.side is None:
        verification = replace(verification, unchecked=(*verification.unchecked, UNSEEN_EXCHANGE))
    if before is None or verification.covers is False:
        return with_failures(verification, failures)
    columns = _group_columns(grouped, policy)
    absent = [Failure("the original has no such column", n) for n in columns if n not in before.types]
    held = _held_in_groups(verification, engine, grouped, plan, policy, before)
    return with_failures(counted_beside(held, before.table.n_rows, plan, before), [*failures, *absent])


def _is_one_each(original: Table, policy: Policy) -> bool:
    """Whether no person has several records."""
    keys = [n for n in policy.columns_with(Role.PERSON) if n in original.types]
    return bool(keys) and LocalEngine().frame(original)[keys[0]].n_unique() == original.n_rows


def _group_columns(grouped: _Grouped, policy: Policy) -> list[str]:
    """Columns that show what the original shows."""
    others = {*starred_of(policy), policy.algorithm.group_column, GROUP, COUNT}
    return [n for n in dict.fromkeys(published_columns(policy, grouped.names)) if n not in others]


def _held_in_groups(
    verification: Verification, engine: LocalEngine, grouped: _Grouped, plan: Plan, policy: Policy, before: Original
) -> Verification:
    """With what the original says of groups: each must show what some records hold, and no record is in two."""
    columns = [n for n in _group_columns(grouped, policy) if n in before.types]
    originals = engine.frame(before.texts(engine, columns)) if columns else pl.DataFrame()
    equal = {
        name: equal_cells(grouped.texts(name), originals[name], before.types[name], before.notations.get(name))
        for name in columns
    }
    foreign = _foreign_values(grouped, equal)
    if foreign:
        return with_failures(replace(verification, covers=False), foreign)
    fixed, moving = _linked_columns(engine, grouped, plan, before.table, columns)
    blocks = [*fixed, *moving]

    def shown(block: Sequence[str]) -> BlockRows:
        return _shown(grouped, block, equal)

    uncut = unexchanged(grouped.release, blocks, plan, shown)
    answer = dealt([shown(block) for block in blocks])
    if answer.is_possible is None:
        return with_failures(replace(verification, unchecked=(*verification.unchecked, GROUPS_OPEN)), uncut)
    if answer.is_possible:
        return with_failures(replace(verification, covers=True), uncut)
    alone = [*fixed, *([n] for block in moving for n in block)]
    is_chosen = plan.algorithm.chooses_blocks and not any(_stays_together(b, shown) for b in moving)
    if is_chosen and dealt([shown(b) for b in alone]).is_possible:
        return with_failures(replace(verification, unchecked=(*verification.unchecked, OTHER_BLOCKS)), uncut)
    failures = [_wrong_group(grouped, group, blocks[block]) for group, block in answer.wrong[:ROWS_NAMED]]
    return with_failures(replace(verification, covers=False), failures or [Failure(NO_GROUPS)])


def _foreign_values(grouped: _Grouped, equal: Mapping[str, Equal]) -> list[Failure]:
    """Rows whose value no original has, or not so often."""
    failures = []
    for name, column in equal.items():
        n_codes = 1 + int(max(column.published.max(initial=0), column.originals.max(initial=0)))
        shown = np.bincount(grouped.release.repeated(name, column.published), minlength=n_codes)
        too_often = shown > np.bincount(column.originals, minlength=n_codes)
        failures += _of_rows(NOT_EQUAL, name, too_often[column.published])
    return failures


def _linked_columns(
    engine: LocalEngine, grouped: _Grouped, plan: Plan, original: Table, columns: Sequence[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Columns whose cells belong to the same record where they stand in the same row: those of rows that stay whole,
    for each table, and those that are moved together."""
    coding = engine.contingency(original, plan.quasi_columns(original), plan.sensitive_columns(original), by_row=True)
    moving = [[n for n in block if n in columns] for block in plan.algorithm.moving(coding.table)]
    rest = [n for n in columns if not any(n in block for block in moving)]
    main = [n for n in rest if n in grouped.main.columns]
    fixed = [main, [n for n in rest if n not in main]]
    return [block for block in fixed if block], [block for block in moving if block]


def _shown(grouped: _Grouped, block: Sequence[str], equal: Mapping[str, Equal]) -> BlockRows:
    """A block as rows with numbers."""
    release, first = grouped.release, block[0]
    groups = release.groups(first)
    n_rows = len(groups)
    columns = [np.concatenate([equal[n].published, equal[n].originals]) for n in block]
    codes, _ = number_rows(columns, len(columns[0]))
    return BlockRows(release.repeated(first, groups), release.repeated(first, codes[:n_rows]), codes[n_rows:])


def _stays_together(block: Sequence[str], shown: Callable[[Sequence[str]], BlockRows]) -> bool:
    """Whether the columns of a block were moved together, though some of their links may be wrong."""
    pairs = [kept_links(shown([one]), shown([other])) for one, other in pairwise(block)]
    return bool(pairs) and all(links.are_kept for links in pairs)


def _wrong_group(grouped: _Grouped, group: int, block: Sequence[str]) -> Failure:
    rows = np.flatnonzero(grouped.release.groups(block[0]) == group)
    column = block[0] if len(block) == 1 else None
    return Failure(NOT_TOGETHER, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()), group)


def _wrong_group_columns(separated: Separated, policy: Policy, plan: Plan) -> list[Failure]:
    """Columns that must not be there, or not in this table: what stands on both sides of a cut undoes it."""
    main, side = separated.main.frame.columns, [] if separated.side is None else separated.side.frame.columns
    beside = [n for n in side if n not in (GROUP, COUNT)]
    names = [*main, *(n for n in beside if n not in main)]
    group_column = policy.algorithm.group_column
    wrong = [f for f in wrong_columns(policy, names, own={GROUP}) if f.column != group_column]
    if group_column is not None and group_column in names:
        wrong.append(Failure("it names the groups, whose numbers stand for it", group_column))
    wrong += [Failure("it stands in both tables, which links them", n) for n in beside if n in main]
    wrong += [
        Failure("it stands beside the sensitive columns, which must be apart from it", n)
        for n in beside
        if n not in plan.sensitive and n not in {f.column for f in wrong}
    ]
    return [*wrong, *unstarred_cells(separated.main.frame, policy)]


def _file_beside(release: Source) -> Path:
    """The file of the sensitive columns."""
    if release.table is None:
        return side_path(release.path)
    raise IncompatibleChoice("such a release is two files, and this is a table of a database", hint="name its file")
