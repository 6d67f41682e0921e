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
from numpy.typing import NDArray

from tablecloak.algorithms.base import Publishes
from tablecloak.data.coverage import coverage_of
from tablecloak.data.domain import ANYTHING, distinct_of
from tablecloak.data.grouping import Shown, dealt, kept_links
from tablecloak.data.origins import (
    Candidates,
    Equal,
    Generalized,
    Origins,
    TooManyPairsError,
    assigned,
    candidates_of,
    classes_in_order,
    is_same_for_all,
    numbered,
)
from tablecloak.data.table import ColumnType, Role
from tablecloak.documents import Certified, certified_policy, check_certificate
from tablecloak.engines.base import Coding, Engine, Table
from tablecloak.engines.local import LocalEngine, LocalTable, table_of
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.cells import infer_type
from tablecloak.io.delimited import parsed
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.plan import PUBLISHED, Plan, guards_of, make_plan, settle_persons, source_of, starred_of
from tablecloak.policy.schema import Missing, Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.separation import (
    COUNT,
    GROUP,
    Separated,
    counts_of,
    read_separated,
    side_path,
    unexchanged,
    verify_separated,
)
from tablecloak.stats.classes import Counted
from tablecloak.values import format_value
from tablecloak.verification import CENTERS_NOTE, ROWS_NAMED, Failure, Originals, Verification, verify

__all__ = [
    "NOT_EQUAL",
    "NO_ORIGINAL",
    "code_originals",
    "equal_cells",
    "published_columns",
    "unstarred_cells",
    "verify_certificate",
    "verify_file",
    "verify_frame",
    "wrong_columns",
]

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
# Why a column that a policy names has no place in a release.
UNPUBLISHED = {
    Role.IDENTIFIER: "an identifier, which is not published",
    Role.PERSON: "the key of persons, which is never published",
    Role.DROP: "the policy drops it",
}
# Models that compare classes with the whole table.
COMPARING = {"t-closeness", "beta-likeness", "delta-disclosure"}
NOT_COVERED = "cells that do not cover their original"
NOT_EQUAL = "cells that are not those of the original"
NO_ORIGINAL = "rows that fit no original, or none that another row does not need"
TOO_MANY = "labels overlap so much that not every pair of row and original can be looked at"
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
# Algorithms that choose, by the data, which columns stay together.
CHOOSING_BLOCKS = {"slicing", "v-cold"}
UNCERTAIN = "several originals fit the same published rows"
SAME_TABLE = "the distribution of the whole table was taken from the release; --original FILE gives that of all records"


# From the release and the original to what is compared ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The cells of a table as texts, and the types that its columns have."""

    texts: pl.DataFrame
    types: Mapping[str, ColumnType]
    names: Sequence[str]  # of all columns, read or not
    location: str

    @classmethod
    def of_place(cls, source: Source, wanted: Collection[str] | None, location: str) -> _Cells:
        """Some columns of a file or a table of a database; None: all."""
        layout = sniff(source)
        columns = [n for n in layout.names if wanted is None or n in wanted]
        as_text = replace(source, types=dict.fromkeys(columns, ColumnType.TEXT), date_formats={})
        frame = LocalEngine().read(as_text, columns=columns, categorical=columns).frame
        return cls(frame, layout.types, layout.names, location)

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, wanted: Collection[str] | None = None) -> _Cells:
        types = {n: column_type(n, dtype) for n, dtype in frame.schema.items()}
        texts = frame.select(pl.col(n).cast(pl.String) for n in frame.columns if wanted is None or n in wanted)
        return cls(texts, types, frame.columns, "the table")


def published_columns(policy: Policy, names: Sequence[str]) -> list[str]:
    """The columns of a release that a policy publishes, quasi-identifiers included."""
    named = {*policy.columns_with(*PUBLISHED, Role.ITEMS), *starred_of(policy)}
    return [n for n in names if n in named or (policy.others == "keep" and n not in policy.columns)]


@dataclass(frozen=True, slots=True, eq=False)
class _Original:
    """The original of a release: rows that the policy does not leave out for empty cells."""

    table: LocalTable  # quasi-identifiers, sensitive columns, persons and what they guard, as a run reads them
    cells: _Cells  # what must be equal in the release
    n_dropped: int


def _rows_with_values(table: LocalTable, policy: Policy) -> IntArray:
    """The rows of an original that the policy does not leave out for empty cells."""
    drops = [n for n in policy.columns_with(Role.QUASI, Role.SENSITIVE) if policy.missing_of(n) is Missing.DROP]
    is_empty = np.zeros(table.n_rows, bool)
    for name in drops:
        if name in table.types:
            is_empty |= table.frame[name].is_null().to_numpy()
    return np.flatnonzero(~is_empty)


def _original(table: LocalTable, cells: _Cells, policy: Policy) -> _Original:
    rows = _rows_with_values(table, policy)
    return _Original(
        LocalTable(table.frame[rows], table.types, table.name),
        replace(cells, texts=cells.texts[rows] if cells.texts.width else cells.texts),
        table.n_rows - len(rows),
    )


def _read_original(engine: LocalEngine, place: Place, policy: Policy, plan: Plan, equal: Sequence[str]) -> _Original:
    source = source_of(policy.with_files(source=place))
    known = sniff(source).names
    others = [*plan.sensitive, *policy.columns_with(Role.PERSON), *guards_of(plan.goal)]
    wanted = list(dict.fromkeys([*plan.quasi, *(n for n in others if n in known)]))
    table = engine.read(source, columns=wanted, categorical=[*plan.quasi, *plan.sensitive])
    return _original(table, _Cells.of_place(source, equal, str(place)), policy)


# Verbs ----------------------------------------------------------------------------------------------------------------


def verify_file(
    release: Place, policy: Policy, *, original: Place | None = None, progress: Progress = silent
) -> Verification:
    """Recount a finished file, whoever made it; with the original, also hold every published cell against it."""
    timed, engine = Timed(progress), LocalEngine()
    if policy.algorithm.publishes.is_bucketing:
        return _read_groups(engine, release, policy, original, timed)
    kind = policy.output.format if policy.output else None
    with timed.phase("read"):
        source = Source.of(release, format=kind, expected=frozenset(policy.columns))
        names = sniff(source).names
        plan = make_plan(_published_part(policy), names, location=str(release))
        cells = _Cells.of_place(source, published_columns(policy, names), str(release))
        refuse_empty(cells.texts.height, str(release))
    before = None
    if original is not None:
        with timed.phase("original"):
            before = _read_original(engine, original, policy, plan, _equal_columns(cells, policy))
    with timed.phase("verify"):
        return _verify(engine, cells, plan, policy, before)


def verify_frame(release: Any, policy: Policy, *, original: Any = None, side: Any = None) -> Verification:
    """Recount a finished frame, whoever made it; with the original, also hold every published cell against it.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
    """
    engine = LocalEngine()
    frame = from_frame(release)
    if policy.algorithm.publishes.is_bucketing:
        beside = None if side is None else from_frame(side)
        plan = make_plan(_published_part(policy), [*frame.columns, *(() if beside is None else beside.columns)])
        grouped = _Grouped(
            Separated(table_of(frame), None if beside is None else table_of(beside)),
            _Cells.of_frame(frame), None if beside is None else _Cells.of_frame(beside),
        )  # fmt: skip
        before = None
        if original is not None:
            whole = from_frame(original)
            before = _original(table_of(whole), _Cells.of_frame(whole, _group_columns(grouped, policy)), policy)
        return _verify_groups(engine, grouped, plan, policy, before)
    plan = make_plan(_published_part(policy), frame.columns)
    cells = _Cells.of_frame(frame, published_columns(policy, frame.columns))
    before = None
    if original is not None:
        whole = from_frame(original)
        before = _original(table_of(whole), _Cells.of_frame(whole, _equal_columns(cells, policy)), policy)
    return _verify(engine, cells, plan, policy, before)


def verify_certificate(
    release: Place,
    certificate: Path,
    *,
    original: Place | None = None,
    recoding: Path | None = None,
    progress: Progress = silent,
    recount: Callable[..., Verification] = verify_file,
) -> Certified:
    """Hold a finished file against its certificate: hashes and a recount; the original adds what only it can show."""
    policy, certified, missing = certified_policy(certificate)
    verification = recount(release, policy, original=original, progress=progress)
    is_apart = policy.algorithm.publishes is Publishes.SEPARATED
    side = side_path(release) if is_apart and isinstance(release, Path) else None
    checks = check_certificate(certified, policy, verification, release, original, side, recoding=recoding)
    return Certified(verification, [*checks, *missing])


def _published_part(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the columns that a recount looks at."""
    judged = policy.columns_with(Role.QUASI, Role.SENSITIVE)
    return policy.model_copy(update={"columns": {n: policy.columns[n] for n in judged}, "others": "drop"})


def code_originals(engine: Engine, table: Table, plan: Plan, rows: IntArray | None = None) -> Originals:
    """What a recount needs of the originals of a release, coded again; `rows` are those that were published."""
    coding = engine.contingency(table, plan.quasi_columns(table), plan.guard_columns(table), by_row=True)
    return Originals(coding, rows, unpublished=coding.table.unpublished())


# Columns --------------------------------------------------------------------------------------------------------------


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
            failures += _of_rows("an identifier that must be *, and shows something else", name, ~is_star)
    return failures


def _of_rows(what: str, column: str | None, is_wrong: BoolArray) -> list[Failure]:
    """A failure of some rows, or none."""
    rows = np.flatnonzero(is_wrong)
    return [Failure(what, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()))] if len(rows) else []


def _with_failures(verification: Verification, failures: Sequence[Failure]) -> Verification:
    return replace(verification, failures=(*failures, *verification.failures))


# Releases in classes --------------------------------------------------------------------------------------------------


def _verify(engine: LocalEngine, cells: _Cells, plan: Plan, policy: Policy, before: _Original | None) -> Verification:
    failures = [*wrong_columns(policy, cells.names), *unstarred_cells(cells.texts, policy)]
    is_hidden = _hidden_rows(cells.texts, plan)
    numbers = np.flatnonzero(~is_hidden)
    published = replace(cells, texts=cells.texts[numbers]) if is_hidden.any() else cells
    plan = _as_rows_are(plan)
    if before is None:
        table = _judged_table(published, plan, {}, has_hidden=bool(is_hidden.any()))
        found = verify(engine, table, plan)
        found = _without_persons(found, policy, "which only the original can tell")
        if COMPARING.intersection(m.name for m in plan.goal.models):
            found = replace(found, notes=(*found.notes, SAME_TABLE))
    else:
        found = _beside(engine, published, plan, policy, before)
        absent = [n for n in _equal_columns(published, policy) if n not in before.cells.texts.columns]
        failures += [Failure("the original has no such column", n) for n in absent]
    found = _unknowable(found)
    n_hidden = int(is_hidden.sum())
    if n_hidden:
        note = f"{n_hidden:,} rows show nothing, as suppressed records do, and were counted as such"
        found = replace(found, notes=(*found.notes, note), n_suppressed=max(found.n_suppressed, n_hidden))
    if found.evidence.persons is not None:
        whose = np.full(cells.texts.height, -1)
        whose[numbers] = found.evidence.persons
        found = replace(found, evidence=replace(found.evidence, persons=whose))
    moved = [replace(f, rows=tuple(int(numbers[row - 1]) + 1 for row in f.rows)) for f in found.failures]
    return _with_failures(replace(found, failures=tuple(moved)), failures)


def _as_rows_are(plan: Plan) -> Plan:
    """The plan for rows among which hidden ones are no more."""
    return replace(plan, publication=replace(plan.publication, keeps_suppressed=False))


def _hidden_rows(texts: pl.DataFrame, plan: Plan) -> BoolArray:
    """Suppressed rows, as we and others write them: `*` in every quasi-identifier, `*` or nothing in all other cells.

    Where nothing else is published, they are a class.
    """
    is_star = [(pl.col(n).cast(pl.String) == ANYTHING).fill_null(value=False) for n in plan.quasi]
    others = [c for c in texts.columns if c not in plan.quasi]
    shows_nothing = [(pl.col(n).cast(pl.String) == ANYTHING).fill_null(value=True) for n in others]
    is_hidden = texts.select(pl.all_horizontal(*is_star, *shows_nothing)).to_series().to_numpy()
    return np.zeros(len(is_hidden), bool) if is_hidden.all() else is_hidden


def _judged_table(
    cells: _Cells, plan: Plan, types: Mapping[str, ColumnType], *, has_hidden: bool = False
) -> LocalTable:
    """What a recount looks at: quasi-identifiers as texts, sensitive columns with their types.

    Args:
        types: those of the original, where they are known.
    """
    series = [cells.texts[n] for n in plan.quasi]
    for name in plan.counted:
        text = cells.texts[name].cast(pl.String)
        spec = plan.policy.columns[name]
        type_ = types.get(name) or spec.type or cells.types[name]
        if type_ is ColumnType.TEXT and has_hidden and name not in types and spec.type is None:
            type_ = infer_type(text.drop_nulls().unique().to_list())  # stars among numbers made it text
        series.append(parsed(text, type_).cast(pl.Categorical) if type_ is ColumnType.TEXT else parsed(text, type_))
    return table_of(pl.DataFrame(series), cells.location)


def _equal_columns(cells: _Cells, policy: Policy) -> list[str]:
    """Published columns that show what the original shows."""
    others = {*policy.columns_with(Role.QUASI), *starred_of(policy)}
    return [n for n in cells.texts.columns if n not in others]


def _beside(engine: LocalEngine, published: _Cells, plan: Plan, policy: Policy, before: _Original) -> Verification:
    """The recount beside the original: every row needs an original of its own."""
    original, plan = settle_persons(engine, before.table, _with_persons(plan, policy, before.table))
    there = {n: c for n, c in plan.policy.columns.items() if n in original.types}
    known = replace(plan, policy=plan.policy.model_copy(update={"columns": there}))
    coding = engine.contingency(original, known.quasi_columns(original), known.sensitive_columns(original), by_row=True)
    table = _judged_table(published, plan, original.types)
    equal = [
        equal_cells(published.texts[n], before.cells.texts[n], before.cells.types[n], policy.columns.get(n))
        for n in _equal_columns(published, policy)
        if n in before.cells.texts.columns
    ]
    if plan.algorithm.publishes is Publishes.CENTERS:
        generalized = []
    else:
        generalized = [_generalized(published.texts[d.name], coding, d.name) for d in coding.domains]
    try:
        candidates = candidates_of(generalized, published.texts.height, coding.n_rows)
        origins = assigned(candidates, equal)
    except TooManyPairsError:
        found = _without_persons(verify(engine, table, plan), policy, TOO_MANY)
        return replace(found, unchecked=(*found.unchecked, f"cells could not be held against the original: {TOO_MANY}"))
    if len(origins.without):
        failures = _blamed(generalized, equal, candidates, origins)
        found = replace(verify(engine, table, plan), covers=False)
        return _counted_beside(_with_failures(found, failures), coding.n_rows, plan, before)
    unpublished = tuple(
        (domain, codes)
        for domain, codes in coding.table.unpublished()
        if origins.is_certain or is_same_for_all(candidates, equal, codes)
    )
    found = verify(engine, table, plan, Originals(coding, origins.row_of, unpublished=unpublished))
    if len(unpublished) < len(coding.table.unpublished()):
        found = _without_guards(found, {domain.name for domain, _ in unpublished})
    if plan.algorithm.publishes is Publishes.CENTERS:
        found = replace(found, unchecked=(*found.unchecked, CENTERS_NOTE), notes=())
    codes = next((codes for domain, codes in unpublished if domain.kind is Counted.PERSON), None)
    if plan.goal.counts_persons and codes is None:
        found = _without_persons(found, policy, UNCERTAIN)
    if codes is not None:
        found = replace(found, evidence=replace(found.evidence, persons=codes[origins.row_of]))
    return _counted_beside(found, coding.n_rows, plan, before)


def _with_persons(plan: Plan, policy: Policy, original: LocalTable) -> Plan:
    """The plan with the key of persons, where the original has it."""
    persons = {n: policy.columns[n] for n in policy.columns_with(Role.PERSON) if n in original.types}
    known = plan.policy.model_copy(update={"columns": {**plan.policy.columns, **persons}})
    return replace(plan, policy=known, goal=replace(plan.goal, counts_persons=bool(persons)))


def _generalized(texts: pl.Series, coding: Coding, name: str) -> Generalized:
    domain = next(d for d in coding.domains if d.name == name)
    labels = distinct_of(texts if texts.dtype == pl.Categorical else texts.cast(pl.Categorical))
    return Generalized(
        name, coverage_of(labels.values, domain), labels.index.astype(np.int64), coding.codes[name].astype(np.int64)
    )


def equal_cells(published: pl.Series, original: pl.Series, type_: ColumnType, spec: Any) -> Equal:
    """The cells of a column as numbers that are equal where the cells mean the same value."""
    sides = [distinct_of(s if s.dtype == pl.Categorical else s.cast(pl.Categorical)) for s in (published, original)]
    formats = None if spec is None else spec.format
    texts = [_canonical(side.values.cast(pl.String), type_, formats) for side in sides]
    known = {text: code for code, text in enumerate(dict.fromkeys([*texts[1], *texts[0]]))}
    codes = [np.array([known[t] for t in of_side], np.int64) for of_side in texts]
    return Equal(published.name, sides[0].recoded(codes[0]), sides[1].recoded(codes[1]))


def _canonical(texts: pl.Series, type_: ColumnType, date_format: str | None) -> list[str | None]:
    """Texts as we would write the values that they stand for; what is no value of the type stays as it is."""
    values = parsed(texts, type_).to_list()
    if date_format is not None and type_ in (ColumnType.DATE, ColumnType.DATETIME):
        other = parsed(texts, type_, date_format).to_list()
        values = [a if a is not None else b for a, b in zip(values, other, strict=True)]
    raw = texts.to_list()
    return [text if value is None else format_value(value) for text, value in zip(raw, values, strict=True)]


def _blamed(
    generalized: Sequence[Generalized], equal: Sequence[Equal], candidates: Candidates, origins: Origins
) -> list[Failure]:
    """Which columns keep rows from having an original: those that do so alone, beside the classes."""
    number = classes_in_order(candidates.class_of_row)

    def failure(what: str, column: str | None, rows: IntArray) -> Failure:
        return Failure(what, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()), int(number[rows[0]]))

    failures = []
    for side in generalized:
        covers_nothing = np.flatnonzero((side.coverage.hi < side.coverage.lo)[side.labels])
        if len(covers_nothing):
            failures.append(failure(NOT_COVERED, side.name, covers_nothing))
    try:
        by_class = assigned(candidates, []).without
        if len(by_class) and not failures:
            failures += [failure(NOT_COVERED, n, by_class) for n in _alone_to_blame(generalized, equal, origins)]
        for column in equal:
            rows = assigned(candidates, [column]).without
            if len(rows) > len(by_class):
                failures.append(failure(NOT_EQUAL, column.name, rows[~np.isin(rows, by_class)]))
    except TooManyPairsError:
        pass
    return failures or [failure(NO_ORIGINAL, None, origins.without)]


def _alone_to_blame(generalized: Sequence[Generalized], equal: Sequence[Equal], origins: Origins) -> list[str]:
    """The column without which every row has an original, if there is just one."""
    found = []
    for side in generalized:
        rest = [g for g in generalized if g is not side]
        candidates = candidates_of(rest, len(origins.row_of), len(side.codes))
        if not len(assigned(candidates, equal).without):
            found.append(side.name)
    return found if len(found) == 1 else []


def _counted_beside(found: Verification, n_originals: int, plan: Plan, before: _Original) -> Verification:
    """With how many originals are left out, and whether the policy lets so many be."""
    n_left_out = max(0, n_originals - found.n_rows)
    most = plan.most_left_out(n_originals)
    failures = []
    # who names no algorithm says nothing about how many records may be left out
    if n_left_out > most and "algorithm" in plan.policy.model_fields_set:
        failures.append(Failure(f"{n_left_out:,} records of the original are left out, and {most:,} may be"))
    notes = (
        (f"{before.n_dropped:,} records of the original have empty cells and are left out",) if before.n_dropped else ()
    )
    return replace(found, n_suppressed=n_left_out, notes=(*found.notes, *notes), failures=(*found.failures, *failures))


def _without_persons(verification: Verification, policy: Policy, why: str) -> Verification:
    """Without knowing whose rows are whose, nothing holds of persons; too few rows are too few persons all the same."""
    if not policy.columns_with(Role.PERSON):
        return verification
    reason = f"persons could not be counted: {why}"
    verdicts = [
        v if v.unchecked or (v.model == "k-anonymity" and not v.holds) else replace(v, holds=False, unchecked=reason)
        for v in verification.verdicts
    ]
    unknown = {v.model for v in verdicts if v.unchecked}
    failures = tuple(f for f in verification.failures if f.model not in unknown)
    return replace(verification, verdicts=verdicts, failures=failures, notes=(*verification.notes, reason))


def _without_guards(verification: Verification, known: Collection[str]) -> Verification:
    """With the reason why what people guard is not known, though the original is here."""
    why = f"what people guard could not be counted: {UNCERTAIN}"
    verdicts = [
        replace(v, unchecked=why) if v.unchecked and v.params.get("guard") not in (None, *known) else v
        for v in verification.verdicts
    ]
    notes = tuple(n for n in verification.notes if "says what people guard" not in n)
    return replace(verification, verdicts=verdicts, notes=notes)


def _unknowable(verification: Verification) -> Verification:
    """Without a yes to what no finished release can show."""
    why = "a release does not show whether classes were formed without looking at sensitive values"
    verdicts = [
        replace(v, holds=False, unchecked=why) if v.model == "m-confidentiality" and v.holds else v
        for v in verification.verdicts
    ]
    return replace(verification, verdicts=verdicts)


# Releases in groups ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Grouped:
    """A release in groups as it was read, and its cells as texts."""

    release: Separated
    main: _Cells
    side: _Cells | None

    def holder(self, column: str) -> tuple[_Cells, IntArray]:
        """The table that shows a column, and the group of each of its rows."""
        is_main = column in self.main.texts.columns
        cells, table = (self.main, self.release.main) if is_main else (self.side, self.release.side)
        assert cells is not None
        assert table is not None
        return cells, table.frame[GROUP].cast(pl.Int64).to_numpy()

    def repeated(self, column: str, values: IntArray) -> IntArray:
        """Values of the rows that show a column, one for every record: a table may list equal rows once."""
        side = self.release.side
        is_counted = column not in self.main.texts.columns and side is not None and COUNT in side.types
        return np.repeat(values, counts_of(side)) if is_counted and side is not None else values


def _read_groups(
    engine: LocalEngine, release: Place, policy: Policy, original: Place | None, timed: Timed
) -> Verification:
    """Recount the groups of a finished file and, where there is one, of the table beside it."""
    with timed.phase("read"):
        is_apart = policy.algorithm.publishes is Publishes.SEPARATED
        side = side_path(_as_path(release)) if is_apart else None
        expected = frozenset([*policy.columns, GROUP])
        kind = policy.output.format if policy.output else None
        main = _Cells.of_place(Source.of(release, format=kind, expected=expected), None, str(release))
        beside = _Cells.of_place(Source.of(side, format=kind, expected=expected), None, str(side)) if side else None
        plan = make_plan(
            _published_part(policy), [*main.names, *(beside.names if beside else ())], location=str(release)
        )
        grouped = _Grouped(read_separated(engine, release, side, plan), main, beside)
    before = None
    if original is not None:
        with timed.phase("original"):
            before = _read_original(engine, original, policy, plan, _group_columns(grouped, policy))
    with timed.phase("verify"):
        return _verify_groups(engine, grouped, plan, policy, before)


def _verify_groups(
    engine: LocalEngine, grouped: _Grouped, plan: Plan, policy: Policy, before: _Original | None
) -> Verification:
    found = _unknowable(verify_separated(engine, grouped.release, plan))
    if before is None or not _is_one_each(before.table, policy):
        found = _without_persons(found, policy, "groups count records, and a person may have several")
    failures = _wrong_group_columns(grouped.release, policy, plan)
    if before is None and grouped.side is None:
        found = replace(found, unchecked=(*found.unchecked, UNSEEN_EXCHANGE))
    if before is None or found.covers is False:
        return _with_failures(found, failures)
    columns = _group_columns(grouped, policy)
    absent = [Failure("the original has no such column", n) for n in columns if n not in before.cells.texts.columns]
    held = _held_in_groups(engine, grouped, plan, policy, before)
    return _with_failures(_counted_beside(held(found), before.table.n_rows, plan, before), [*failures, *absent])


def _is_one_each(original: LocalTable, policy: Policy) -> bool:
    """Whether no person has several records."""
    keys = [n for n in policy.columns_with(Role.PERSON) if n in original.types]
    return bool(keys) and original.frame[keys[0]].n_unique() == original.n_rows


def _group_columns(grouped: _Grouped, policy: Policy) -> list[str]:
    """Columns that show what the original shows."""
    names = [*grouped.main.names, *(grouped.side.names if grouped.side else ())]
    others = {*starred_of(policy), policy.algorithm.group_column}
    return [n for n in dict.fromkeys(published_columns(policy, names)) if n not in others and n not in (GROUP, COUNT)]


def _held_in_groups(
    engine: LocalEngine, grouped: _Grouped, plan: Plan, policy: Policy, before: _Original
) -> Callable[[Verification], Verification]:
    """What the original says of groups: every group must show what some records hold, and no record is in two."""
    columns = [n for n in _group_columns(grouped, policy) if n in before.cells.texts.columns]
    equal = {}
    for name in columns:
        cells, _ = grouped.holder(name)
        equal[name] = equal_cells(
            cells.texts[name], before.cells.texts[name], before.cells.types[name], policy.columns.get(name)
        )
    foreign = _foreign_values(grouped, equal)
    if foreign:
        return lambda found: _with_failures(replace(found, covers=False), foreign)
    fixed, moving = _linked_columns(engine, grouped, plan, before.table, columns)
    blocks = [*fixed, *moving]

    def shown(block: Sequence[str]) -> Shown:
        return _shown(grouped, block, equal)

    uncut = unexchanged(grouped.release, blocks, plan, shown)
    answer = dealt([shown(block) for block in blocks])
    if answer.is_possible is None:
        return lambda found: _with_failures(replace(found, unchecked=(*found.unchecked, GROUPS_OPEN)), uncut)
    if answer.is_possible:
        return lambda found: _with_failures(replace(found, covers=True), uncut)
    alone = [*fixed, *([n] for block in moving for n in block)]
    is_chosen = plan.algorithm.name in CHOOSING_BLOCKS and not any(_stays_together(b, shown) for b in moving)
    if is_chosen and dealt([shown(b) for b in alone]).is_possible:
        return lambda found: _with_failures(replace(found, unchecked=(*found.unchecked, OTHER_BLOCKS)), uncut)
    failures = [_wrong_group(grouped, group, blocks[block]) for group, block in answer.wrong[:ROWS_NAMED]]
    return lambda found: _with_failures(replace(found, covers=False), failures or [Failure(NO_GROUPS)])


def _foreign_values(grouped: _Grouped, equal: Mapping[str, Equal]) -> list[Failure]:
    """Rows whose value no original has, or not so often."""
    failures = []
    for name, column in equal.items():
        n_codes = 1 + int(max(column.published.max(initial=0), column.originals.max(initial=0)))
        shown = np.bincount(grouped.repeated(name, column.published), minlength=n_codes)
        too_often = shown > np.bincount(column.originals, minlength=n_codes)
        failures += _of_rows(NOT_EQUAL, name, too_often[column.published])
    return failures


def _linked_columns(
    engine: LocalEngine, grouped: _Grouped, plan: Plan, original: LocalTable, columns: Sequence[str]
) -> tuple[list[list[str]], list[list[str]]]:
    """Columns whose cells belong to the same record where they stand in the same row: those of rows that stay whole,
    for each table, and those that are moved together."""
    coding = engine.contingency(original, plan.quasi_columns(original), plan.sensitive_columns(original), by_row=True)
    moving = [[n for n in block if n in columns] for block in plan.algorithm.moving(coding.table)]
    rest = [n for n in columns if not any(n in block for block in moving)]
    main = [n for n in rest if n in grouped.main.texts.columns]
    fixed = [main, [n for n in rest if n not in main]]
    return [block for block in fixed if block], [block for block in moving if block]


def _shown(grouped: _Grouped, block: Sequence[str], equal: Mapping[str, Equal]) -> Shown:
    """A block as rows with numbers."""
    _, groups = grouped.holder(block[0])
    n_rows = len(groups)
    numbers = numbered([np.concatenate([equal[n].published, equal[n].originals]) for n in block])
    codes = np.unique(numbers, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Shown(grouped.repeated(block[0], groups), grouped.repeated(block[0], codes[:n_rows]), codes[n_rows:])


def _stays_together(block: Sequence[str], shown: Callable[[Sequence[str]], Shown]) -> bool:
    """Whether the columns of a block were moved together, though some of their links may be wrong."""
    pairs = [kept_links(shown([one]), shown([other])) for one, other in pairwise(block)]
    return bool(pairs) and all(links.are_kept for links in pairs)


def _wrong_group(grouped: _Grouped, group: int, block: Sequence[str]) -> Failure:
    _, groups = grouped.holder(block[0])
    rows = np.flatnonzero(groups == group)
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


def _as_path(place: Place) -> Path:
    if isinstance(place, Path):
        return place
    raise IncompatibleChoice("such a release is two files, and this is a table of a database", hint="name its file")
