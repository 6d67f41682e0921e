"""A release in classes beside its original: every row needs an original of its own, which it covers or equals.

Where rows are in memory they are looked at together. Where they are not, the classes of the release are cut apart at
values that no label reaches across and, where that is not enough, by the cells that must be equal: a row and its
original then lie in the same part, and parts are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import CutTree, Publishes
from tablecloak.arrays import IntArray
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Domain, distinct_of
from tablecloak.data.row_origins import (
    CoveredOriginals,
    Equal,
    Generalized,
    Origins,
    TooManyPairsError,
    assigned,
    candidates_of,
    classes_in_order,
    is_same_for_all,
)
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.base import Coding, Engine, Recount, Table
from tablecloak.engines.disk.external_sort import Parts
from tablecloak.engines.equal_rows import Hidden, KeyArray
from tablecloak.engines.local.engine import LocalTable
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.cells import parsed
from tablecloak.io.notation import Notation
from tablecloak.io.sources import Source
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import Missing
from tablecloak.release.finished import FinishedRelease, texts_of
from tablecloak.release.plan import Plan
from tablecloak.release.prepare import settle_persons
from tablecloak.release.recount import (
    CENTERS_NOTE,
    ROWS_NAMED,
    Failure,
    Originals,
    Verification,
    recount_beside,
    verify,
)
from tablecloak.stats.classes import Counted, Evidence

NOT_COVERED = "cells that do not cover their original"
NOT_EQUAL = "cells that are not those of the original"
NO_ORIGINAL = "rows that fit no original, or none that another row does not need"
TOO_MANY = "labels overlap so much that not every pair of row and original can be looked at"
TOO_LARGE = "labels overlap so much that the rows to be looked at together do not fit the memory"
ON_WORKERS = "the engine spark keeps rows on its workers; --engine duckdb holds them against it"
UNCERTAIN = "several originals fit the same published rows"
OUT_OF_CORE = "the engine {} does not keep whose every row is; --engine local does"
# What a row and its original take while they are looked at, besides each of their cells.
BYTES_PER_PAIR = 500
BYTES_PER_CELL = 60
# A part may have so many times the rows that parts should have.
MUCH = 4
ROW = "__tablecloak_row__"
PartOf = Callable[[IntArray, pl.DataFrame], IntArray]  # codes (n_dims, n_rows), and the rows


class TooLargeError(Exception):
    """A part of a release must be looked at together and does not fit memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Original:
    """The original of a release: rows that the policy does not leave out for empty cells."""

    source: Source
    table: Table  # quasi-identifiers, sensitive columns, persons and what they guard, as a run reads them
    types: Mapping[str, ColumnType]  # of all columns
    drops: tuple[str, ...]  # rows with an empty cell here were left out
    n_dropped: int
    notations: Mapping[str, Notation] = field(default_factory=dict)  # how columns are written

    @classmethod
    def read(cls, engine: Engine, source: Source, policy: Policy, plan: Plan) -> Original:
        """What is needed of a file, a table of a database or a frame."""
        layout = engine.layout(source)
        types, source = dict(layout.types), source.settled(layout)
        others = [*plan.sensitive, *policy.columns_with(Role.PERSON), *plan.goal.guard_columns]
        columns = list(dict.fromkeys([*plan.quasi, *(n for n in others if n in types)]))
        table = engine.read(Source.of(source), columns=columns, categorical=[*plan.quasi, *plan.sensitive])
        droppable = policy.columns_with(Role.QUASI, Role.SENSITIVE)
        drops = tuple(n for n in droppable if n in table.types and policy.missing_of(n) is Missing.DROP)
        rows = engine.select(table, columns, without_missing=drops) if drops else table
        return cls(source, rows, types, drops, table.n_rows - rows.n_rows, source.notations)

    def texts(self, engine: Engine, columns: Sequence[str]) -> Table:
        """Some columns of the same rows, letter by letter."""
        if not self.drops:
            return texts_of(engine, self.source, columns)
        if engine.room is None:  # a cell may be empty by its type and show something, such as nan
            whole = engine.frame(engine.read(Source.of(self.source), columns=list(self.drops), categorical=()))
            rows = np.flatnonzero(~whole.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy())
            texts = texts_of(engine, self.source, columns)
            assert isinstance(texts, LocalTable)
            return replace(texts, frame=texts.frame[rows])
        needed = list(dict.fromkeys([*columns, *self.drops]))
        texts = engine.select(texts_of(engine, self.source, needed), list(columns), without_missing=self.drops)
        if texts.n_rows != self.table.n_rows:
            raise IncompatibleChoice(
                f"columns with empty cells show something there, as nan, which the engine {engine.name} does not leave "
                "out alike",
                hint="--engine local",
            )
        return texts


# One column -----------------------------------------------------------------------------------------------------------


def equal_cells(published: pl.Series, original: pl.Series, type_: ColumnType, notation: Notation | None) -> Equal:
    """The cells of a column as numbers that are equal where the cells mean the same value."""
    words = np.concatenate([_words(series, type_, notation) for series in (published, original)])
    codes = np.unique(words, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Equal(published.name, codes[: len(published)], codes[len(published) :])


def _words(texts: pl.Series, type_: ColumnType, notation: Notation | None) -> KeyArray:
    """A number for every cell that looks like chance, the same for texts that stand for the same value of a type."""
    distinct = distinct_of(texts if texts.dtype == pl.Categorical else texts.cast(pl.Categorical))
    plain = distinct.values.cast(pl.String)
    values = parsed(plain, type_, notation)
    if notation is not None:  # a release that is no text file writes values as usual
        values = values.fill_null(parsed(plain, type_))
    # what is no value of the type stands for itself
    words = np.where(values.is_not_null().to_numpy(), values.hash(seed=0).to_numpy(), plain.hash(seed=1).to_numpy())
    return distinct.recoded(words.astype(np.uint64))


def _labels_of(texts: pl.Series, coverage_in: Domain) -> tuple[Coverage, IntArray]:
    labels = distinct_of(texts if texts.dtype == pl.Categorical else texts.cast(pl.Categorical))
    return coverage_of(labels.values, coverage_in), labels.index.astype(np.int64)


# Rows in memory -------------------------------------------------------------------------------------------------------


def with_persons(plan: Plan, policy: Policy, original: Table) -> Plan:
    """The plan with the key of persons, where the original has it."""
    persons = {n: policy.columns[n] for n in policy.columns_with(Role.PERSON) if n in original.types}
    policy_with_persons = plan.policy.model_copy(update={"columns": {**plan.policy.columns, **persons}})
    return replace(plan, policy=policy_with_persons, goal=replace(plan.goal, counts_persons=bool(persons)))


def coded_original(engine: Engine, plan: Plan, policy: Policy, before: Original) -> tuple[Coding, Plan]:
    """The original as codes, and the plan with persons where they have several records."""
    plan = plan if before.source.is_frame else replace(plan, source=before.source)
    original, plan = settle_persons(engine, before.table, with_persons(plan, policy, before.table))
    there = {n: c for n, c in plan.policy.columns.items() if n in original.types}
    plan_of_original = replace(plan, policy=plan.policy.model_copy(update={"columns": there}))
    quasi, counted = plan_of_original.quasi_columns(original), plan_of_original.sensitive_columns(original)
    # an engine that holds rows on disk keeps them there only as rows
    return engine.contingency(original, quasi, counted, by_row=engine.tells_rows_apart), plan


def beside_in_memory(
    release: FinishedRelease, judged: Table, numbers: IntArray, plan: Plan, policy: Policy, before: Original,
    equal: Sequence[str],
) -> Verification:  # fmt: skip
    """The recount beside the original, row by row.

    Args:
        judged: what the recount looks at.
        numbers: which rows of the release these are.
        equal: published columns that show what the original shows.
    """
    engine = release.engine
    coding, plan = coded_original(engine, plan, policy, before)
    same = []
    if equal:
        after, then = engine.frame(release.texts(equal))[numbers], engine.frame(before.texts(engine, equal))
        same = [equal_cells(after[n], then[n], before.types[n], before.notations.get(n)) for n in equal]
    labels = engine.frame(judged)
    generalized = []
    if plan.algorithm.publishes is not Publishes.CENTERS:
        for domain in coding.domains:
            sides = _labels_of(labels[domain.name], domain)
            generalized.append(Generalized(domain.name, *sides, coding.codes[domain.name].astype(np.int64)))
    try:
        candidates = candidates_of(generalized, len(numbers), coding.n_rows)
        origins = assigned(candidates, same)
    except TooManyPairsError:
        alone = without_persons(verify(engine, judged, plan), policy, TOO_MANY)
        return replace(alone, unchecked=(*alone.unchecked, f"cells could not be held against the original: {TOO_MANY}"))
    if len(origins.without):
        failures = _blamed(generalized, same, candidates, origins)
        alone = replace(verify(engine, judged, plan), covers=False)
        return counted_beside(with_failures(alone, failures), coding.n_rows, plan, before)
    unpublished = tuple(
        (domain, codes)
        for domain, codes in coding.table.unpublished()
        if origins.is_certain or is_same_for_all(candidates, same, codes)
    )
    verification = verify(engine, judged, plan, Originals(coding, origins.row_of, unpublished=unpublished))
    if len(unpublished) < len(coding.table.unpublished()):
        verification = _without_guards(verification, plan.goal, {d.name for d, _ in unpublished}, UNCERTAIN)
    if plan.algorithm.publishes is Publishes.CENTERS:
        verification = replace(verification, unchecked=(*verification.unchecked, CENTERS_NOTE), notes=())
    codes = next((codes for domain, codes in unpublished if domain.kind is Counted.PERSON), None)
    if plan.goal.counts_persons and codes is None:
        verification = without_persons(verification, policy, UNCERTAIN)
    if codes is not None:
        evidence = replace(verification.evidence, persons=codes[origins.row_of])
        verification = replace(verification, evidence=evidence)
    return counted_beside(verification, coding.n_rows, plan, before)


def _blamed(
    generalized: Sequence[Generalized], equal: Sequence[Equal], candidates: CoveredOriginals, origins: Origins
) -> list[Failure]:
    """Which columns keep rows from having an original: those that do so alone, beside the classes."""
    number = classes_in_order(candidates.class_of_row)

    def failure(what: str, column: str | None, rows: IntArray) -> Failure:
        return Failure(what, column, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()), int(number[rows[0]]))

    failures = []
    for side in generalized:
        covers_nothing = np.flatnonzero(side.coverage.is_empty[side.labels])
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
    blamed = []
    for side in generalized:
        rest = [g for g in generalized if g is not side]
        candidates = candidates_of(rest, len(origins.row_of), len(side.codes))
        if not len(assigned(candidates, equal).without):
            blamed.append(side.name)
    return blamed if len(blamed) == 1 else []


# Rows on disk ---------------------------------------------------------------------------------------------------------


def beside_in_parts(
    release: FinishedRelease, judged: Table, hidden: Hidden, plan: Plan, policy: Policy, before: Original,
    equal: Sequence[str],
) -> Verification:  # fmt: skip
    """The same where rows are not in memory: what cannot be looked at part by part is said, and is no yes."""
    engine = release.engine
    coding, plan = coded_original(engine, plan, policy, before)
    verification, recount, coverage = recount_beside(engine, judged, plan, coding)
    whose = OUT_OF_CORE.format(engine.name)
    if plan.algorithm.publishes is Publishes.CENTERS:
        verification = replace(verification, unchecked=(*verification.unchecked, CENTERS_NOTE), notes=())
    else:
        try:
            parts = _Parts(release, before, hidden, coding, coverage, tuple(equal), policy)
            failures = _united(parts.failures(recount))
            if failures:
                alone = replace(verify(engine, judged, plan), covers=False)
                return counted_beside(with_failures(alone, failures), coding.n_rows, plan, before)
            verification = replace(verification, covers=True)
        except (TooLargeError, TooManyPairsError) as error:
            reason = f"cells could not be held against the original: {error or TOO_MANY}"
            verification = replace(verification, covers=None, unchecked=(*verification.unchecked, reason))
    if plan.goal.counts_persons:
        verification = without_persons(verification, policy, whose)
    return counted_beside(_without_guards(verification, plan.goal, (), whose), coding.n_rows, plan, before)


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """A release and its original, cut apart alike."""

    release: FinishedRelease
    before: Original
    hidden: Hidden
    coding: Coding
    coverage: Mapping[str, Coverage]
    equal: tuple[str, ...]
    policy: Policy

    @property
    def domains(self) -> tuple[Domain, ...]:
        return self.coding.domains

    def failures(self, recount: Recount) -> Iterator[Failure]:
        """Where rows have no original, part by part.

        Raises: TooLargeError, TooManyPairsError.
        """
        engine = self.release.engine
        assert engine.room is not None
        if engine.scratch is None:
            raise TooLargeError(ON_WORKERS)
        n_cells = len(self.domains) + len(self.equal)
        most = max(1, engine.room // (2 * (BYTES_PER_PAIR + BYTES_PER_CELL * n_cells)))
        tree, n_rows = self._tree(recount, most)
        if not self.equal and n_rows.max(initial=0) > MUCH * most:
            raise TooLargeError(TOO_LARGE)
        n_hashed = -(-n_rows // most) if self.equal else np.ones(len(n_rows), np.int64)
        first, n_parts = np.cumsum(n_hashed) - n_hashed, int(n_hashed.sum())

        def part_of(codes: IntArray, rows: pl.DataFrame) -> IntArray:
            leaf = tree.classes_of(codes)
            return leaf if not self.equal else first[leaf] + self._hashed(rows) % n_hashed[leaf]

        published, originals = (
            Parts(engine.scratch, name, n_parts, engine.room // 16) for name in ("beside-release", "beside-original")
        )
        for rows, of_row in self._published(recount, part_of):
            published.add(rows, of_row)
        for before, of_row in self._originals(part_of):
            originals.add(before, of_row)
            nothing = before.clear()
        is_whole = np.repeat(n_hashed == 1, n_hashed)
        for part in np.flatnonzero(published.n_rows).tolist():
            if published.n_rows[part] + originals.n_rows[part] > 2 * MUCH * most:
                raise TooLargeError(TOO_LARGE)
            rows, there = pl.concat(published.pieces(part)), pl.concat([nothing, *originals.pieces(part)])
            yield from self._failures_of(rows, there, is_whole=bool(is_whole[part]))
            published.forget(part)
            originals.forget(part)

    def _tree(self, recount: Recount, most: int) -> tuple[CutTree, IntArray]:
        """Cuts between classes until no part has more than `most` rows, as far as there are any; rows of every part."""
        names = [d.name for d in self.domains]
        labels = np.concatenate([np.stack([(p.labels or {})[n] for n in names]) for p in recount.parts], axis=1)
        sizes = np.concatenate([part.size for part in recount.parts])
        sides = [self.coverage[name] for name in names]
        is_read = np.ones(labels.shape[1], bool)
        for side, of_class in zip(sides, labels, strict=True):
            is_read &= ~side.is_empty[of_class]
        return cuts_between(labels[:, is_read], sides, sizes[is_read], most)

    def _published(self, recount: Recount, part_of: PartOf) -> Iterator[tuple[pl.DataFrame, IntArray]]:
        """Number, labels and equal cells of every row, and its part."""
        engine, names = self.release.engine, [d.name for d in self.domains]
        index = {name: pl.Enum(recount.labels[name].cast(pl.String).drop_nulls()) for name in names}
        missing = {name: len(index[name].categories) for name in names}
        places = {name: _places(recount.labels[name]) for name in names}
        texts = engine.batches(self.release.texts(self.equal), self.equal) if self.equal else None
        read_columns = list(dict.fromkeys([*names, *self.hidden.columns]))
        n_rows = 0
        for whole, beside in _in_step(engine.batches(self.release.table, read_columns), texts):
            is_shown = ~self.hidden.rows(whole)
            batch = whole.filter(is_shown)
            columns: dict[str, Any] = {ROW: n_rows + np.flatnonzero(is_shown)}
            for name in names:
                codes = batch[name].cast(pl.String).cast(index[name]).to_physical().cast(pl.UInt32)
                columns[name] = places[name][codes.fill_null(missing[name]).to_numpy()]
            columns |= self._equal_words(None if beside is None else beside.filter(is_shown))
            n_rows += whole.height
            begins = np.stack([np.maximum(self.coverage[n].lo[columns[n]], 0) for n in names])
            rows = pl.DataFrame(columns)
            yield rows, part_of(begins, rows)

    def _originals(self, part_of: PartOf) -> Iterator[tuple[pl.DataFrame, IntArray]]:
        """Codes and equal cells of every original, and its part."""
        engine, names = self.release.engine, [d.name for d in self.domains]
        texts = engine.batches(self.before.texts(engine, self.equal), self.equal) if self.equal else None
        for batch, beside in _in_step(engine.batches(self.before.table, names), texts):
            codes = np.stack([d.codes(distinct_of(batch[d.name])).astype(np.int64) for d in self.domains])
            columns = dict(zip(names, codes.astype(np.uint32), strict=True))
            rows = pl.DataFrame({**columns, **self._equal_words(beside)})
            yield rows, part_of(codes, rows)

    def _equal_words(self, texts: pl.DataFrame | None) -> dict[str, KeyArray]:
        """The cells that must be equal, under names that no quasi-identifier has."""
        if texts is None:
            return {}
        types, notations = self.before.types, self.before.notations
        return {_cell(n): _words(texts[n], types[n], notations.get(n)) for n in self.equal}

    def _hashed(self, rows: pl.DataFrame) -> IntArray:
        """A number that rows share where all cells that must be equal are, (n_rows,)."""
        words = rows.select(_cell(n) for n in self.equal).hash_rows(seed=0)
        return (words.to_numpy() >> np.uint64(1)).astype(np.int64)

    def _failures_of(self, rows: pl.DataFrame, originals: pl.DataFrame, *, is_whole: bool) -> Iterator[Failure]:
        """Where rows of a part have no original.

        Args:
            is_whole: no row or original with other equal cells lies elsewhere, so that columns can be blamed.
        """
        generalized = [
            Generalized(d.name, self.coverage[d.name], _whole(rows[d.name]), _whole(originals[d.name]))
            for d in self.domains
        ]
        equal = []
        for name in self.equal:
            both = np.concatenate([rows[_cell(name)].to_numpy(), originals[_cell(name)].to_numpy()])
            codes = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)
            equal.append(Equal(name, codes[: rows.height], codes[rows.height :]))
        candidates = candidates_of(generalized, rows.height, originals.height)
        origins = assigned(candidates, equal)
        if not len(origins.without):
            return
        numbers = rows[ROW].to_numpy()
        if not is_whole:
            lost = np.sort(numbers[origins.without]) + 1
            yield Failure(NO_ORIGINAL, None, len(lost), tuple(lost[:ROWS_NAMED].tolist()))
            return
        for failure in _blamed(generalized, equal, candidates, origins):
            at = tuple(int(numbers[row - 1]) + 1 for row in failure.rows)
            yield replace(failure, rows=at, class_number=None)  # classes are numbered in the order of all rows


def _places(labels: pl.Series) -> IntArray:
    """Where each text of the labels stands among them, and last the missing one."""
    is_missing = labels.is_null().to_numpy()
    return np.concatenate([np.flatnonzero(~is_missing), np.flatnonzero(is_missing)[:1]]).astype(np.int64)


def _cell(name: str) -> str:
    return f"={name}"


def _whole(series: pl.Series) -> IntArray:
    return series.to_numpy().astype(np.int64)


def cuts_between(
    labels: IntArray, coverage: Sequence[Coverage], sizes: IntArray, most: int
) -> tuple[CutTree, IntArray]:
    """Cuts that no class reaches across, until no part has more than `most` rows or has none; the rows of every part.

    Args:
        labels: (n_dims, n_classes)
        sizes: (n_classes,)
    """
    cuts: list[list[int]] = []  # dim, cut, left, right
    n_rows: list[int] = []
    stack = [(np.arange(labels.shape[1]), -1, 0)]
    while stack:
        classes, above, side = stack.pop()
        total = int(sizes[classes].sum())
        gap = None if total <= most else _best_gap(labels, coverage, sizes, classes)
        if gap is None:
            child = ~len(n_rows)
            n_rows.append(total)
        else:
            dim, cut, order, n_left = gap
            child = len(cuts)
            cuts.append([dim, cut, 0, 0])
            stack += [(classes[order[:n_left]], child, 2), (classes[order[n_left:]], child, 3)]
        if above >= 0:
            cuts[above][side] = child
    columns = np.array(cuts, np.int64).reshape(-1, 4).T
    return CutTree(*columns), np.array(n_rows, np.int64)


def _best_gap(
    labels: IntArray, coverage: Sequence[Coverage], sizes: IntArray, classes: IntArray
) -> tuple[int, int, IntArray, int] | None:
    """The gap between classes that comes nearest to halving the rows: column, last code before it, the order of classes
    there, and how many lie before it; None: there is none."""
    total = int(sizes[classes].sum())
    best: tuple[int, int, IntArray, int] | None = None
    least = float(total)
    for dim, side in enumerate(coverage):
        of_class = labels[dim, classes]
        order = np.argsort(side.lo[of_class], kind="stable")
        begins, ends = side.lo[of_class[order]], np.maximum.accumulate(side.hi[of_class[order]])
        gaps = np.flatnonzero(begins[1:] > ends[:-1])
        if not len(gaps):
            continue
        uneven = np.abs(2 * np.cumsum(sizes[classes[order]])[gaps] - total)
        at = int(np.argmin(uneven))
        if uneven[at] < least:
            best, least = (dim, int(ends[gaps[at]]), order, int(gaps[at]) + 1), float(uneven[at])
    return best


def _in_step(
    batches: Iterator[pl.DataFrame], others: Iterator[pl.DataFrame] | None
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame | None]]:
    """Batches of two streams of the same rows, cut alike."""
    if others is None:
        for batch in batches:
            yield batch, None
        return
    left: pl.DataFrame | None = None
    for batch in batches:
        parts = [] if left is None else [left]
        while sum(part.height for part in parts) < batch.height:
            parts.append(next(others))
        beside = parts[0] if len(parts) == 1 else pl.concat([p.cast(pl.String) for p in parts])
        left = beside[batch.height :]
        yield batch, beside[: batch.height]


def _united(failures: Iterator[Failure]) -> list[Failure]:
    """Failures of all parts, those of one kind together."""
    kinds: dict[tuple[str, str | None], Failure] = {}
    for failure in failures:
        kind = failure.what, failure.column
        earlier = kinds.get(kind)
        rows = sorted([*(earlier.rows if earlier else ()), *failure.rows])[:ROWS_NAMED]
        kinds[kind] = replace(failure, count=failure.count + (earlier.count if earlier else 0), rows=tuple(rows))
    return list(kinds.values())


# What the original adds to a recount ----------------------------------------------------------------------------------


def with_failures(verification: Verification, failures: Sequence[Failure]) -> Verification:
    """The same with failures before its own."""
    return replace(verification, failures=(*failures, *verification.failures))


def counted_beside(verification: Verification, n_originals: int, plan: Plan, before: Original) -> Verification:
    """With how many originals are left out, and whether the policy lets so many be."""
    n_left_out = max(0, n_originals - verification.n_rows)
    most = plan.most_left_out(n_originals)
    failures = []
    # who names no algorithm says nothing about how many records may be left out
    if n_left_out > most and "algorithm" in plan.policy.model_fields_set:
        failures.append(Failure(f"{n_left_out:,} records of the original are left out, and {most:,} may be"))
    notes = (
        (f"{before.n_dropped:,} records of the original have empty cells and are left out",) if before.n_dropped else ()
    )
    return replace(
        verification,
        n_suppressed=n_left_out,
        notes=(*verification.notes, *notes),
        failures=(*verification.failures, *failures),
    )


def without_persons(verification: Verification, policy: Policy, why: str) -> Verification:
    """Without knowing whose rows are whose, nothing holds of persons; too few rows are too few persons all the same."""
    if not policy.columns_with(Role.PERSON):
        return verification
    reason = f"persons could not be counted: {why}"
    verdicts = [
        v
        if v.unchecked or (not v.holds and model.size_decides and model.evidence is Evidence.SIZE)
        else replace(v, holds=False, unchecked=reason)
        for v, model in zip(verification.verdicts, policy.goals, strict=True)
    ]
    unknown = {v.model for v in verdicts if v.unchecked}
    failures = tuple(f for f in verification.failures if f.model not in unknown)
    return replace(verification, verdicts=verdicts, failures=failures, notes=(*verification.notes, reason))


def _without_guards(verification: Verification, goal: Goal, counted: Collection[str], why: str) -> Verification:
    """With the reason why what people guard is not known, though the original is here."""
    reason = f"what people guard could not be counted: {why}"
    verdicts = [
        replace(v, unchecked=reason) if v.unchecked and not set(model.guard_columns) <= set(counted) else v
        for v, model in zip(verification.verdicts, goal.models, strict=True)
    ]
    if verdicts == verification.verdicts:
        return verification
    notes = tuple(n for n in verification.notes if "says what people guard" not in n)
    return replace(verification, verdicts=verdicts, notes=notes)
