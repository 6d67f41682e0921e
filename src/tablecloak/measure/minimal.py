"""Minimality: could a release say more about its records, and its goals would still hold?"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain._judge import Judge
from tablecloak.algorithms.fulldomain._lattice import Ladder, Node, Rung
from tablecloak.arrays import IntArray
from tablecloak.attacks.case import Quasi, Sensitive
from tablecloak.attacks.row_owners import whose_rows
from tablecloak.data.coded import CodedTable
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import Order
from tablecloak.engines.base import SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.sources import Source
from tablecloak.measure.attack.columns import attribute_of
from tablecloak.measure.attack.order import in_order
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.release.finished import original_frame, release_frame
from tablecloak.release.plan import make_plan
from tablecloak.release.prepare import settle_persons, without_missing
from tablecloak.release.verified import VerifiedRelease
from tablecloak.stats.classes import ClassStats, Evidence

Scope = Literal["ec", "full_domain"]
# What classes alone do not tell.
ELSEWHERE = (Evidence.PAIRS, Evidence.POPULATION, Evidence.ITEMS)


def is_minimal(original: Any, release: Any, policy: Policy, *, scope: Scope = "ec") -> bool | None:
    """Whether no quasi-identifier could be published in more detail with the goals still held; None: cannot be told.

    It cannot where somebody may be in one class or another, unless the policy has `order: keep` or the release is the
    one that `tc.anonymize` gave, which knows.

    Args:
        original, release: a polars, pandas or Arrow frame, or a place, such as a file; or the release itself.
        scope: `ec`: one column of one class at a time, at any lower level of its hierarchy or, without one, cut in two
            between its values. `full_domain`: whole columns at lower levels, with no more records left out.

    Reference: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
    """
    if scope not in ("ec", "full_domain"):
        raise IncompatibleChoice(f"there is no scope '{scope}'", hint="ec or full_domain")
    published = _read(original, release, policy)
    if scope == "full_domain":
        return next(lower_nodes(published), None) is None
    matched = published.matched()
    return None if matched is None else next(specialisations(matched), None) is None


@dataclass(frozen=True, slots=True, eq=False)
class Specialisation:
    """A column of a class that could say more."""

    class_number: int
    column: str
    rows: IntArray  # of the release
    part: IntArray  # (n_rows,) which of the new cells each of them shows


@dataclass(frozen=True, slots=True, eq=False)
class PublishedBeside:
    """A release beside its original, in codes."""

    goal: Goal
    originals: CodedTable  # by row
    columns: tuple[Quasi, ...]
    values: tuple[Sensitive, ...]  # what is published beside them as it was, and the goals look at
    classes: IntArray  # (n_rows,) of the release
    keeps_order: bool  # its rows come in the order of the original
    row_of: IntArray | None = None  # (n_rows,) their originals, where the run told

    @property
    def members(self) -> list[IntArray]:
        """The rows of every class."""
        order = np.argsort(self.classes, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.classes[order])) + 1)

    def matched(self) -> PublishedBeside | None:
        """The same with the originals of the published rows, in their order; None if there are several ways."""
        row_of = self.row_of if self.row_of is not None else self._owners()
        if row_of is None:
            return None
        rows = self.originals.reordered(row_of)
        totals = {
            s.name: np.bincount(rows.sensitive_codes(i), minlength=s.n_values).astype(np.int64)
            for i, s in enumerate(rows.sensitive)
        }
        return replace(self, originals=replace(rows, totals=totals))

    def _owners(self) -> IntArray | None:
        n_rows, n_originals = len(self.classes), self.originals.n_tuples
        whose = whose_rows(self.columns, self.values, n_rows, n_originals)
        if whose is not None and (whose.row_of < 0).any():
            raise DataError("a published row covers no row of the original", hint="tc.verify says which")
        if whose is not None and whose.is_certain:
            return whose.row_of
        return in_order(self.columns, self.values, n_rows, n_originals) if self.keeps_order else None

    def stats(self, rows: IntArray, classes: IntArray) -> ClassStats:
        """Statistics of some rows of a matched release as classes, compared with the whole release."""
        return self.originals.reordered(rows).class_stats(classes, int(classes.max()) + 1)


def _read(original: Any, release: Any, policy: Policy) -> PublishedBeside:
    engine, before = LocalEngine(), original_frame(original, policy)
    plan = make_plan(policy, before.columns)
    if plan.algorithm.publishes.is_bucketing or any(kind in plan.goal.evidence for kind in ELSEWHERE):
        raise IncompatibleChoice("only classes, and goals that are counted in them alone, can be minimal")
    own = release.origins if isinstance(release, VerifiedRelease) else None
    after = release_frame(Source.of(release.frame if isinstance(release, VerifiedRelease) else release), plan.quasi)
    table, _ = without_missing(engine, table_of(before.select(plan.read_columns)), plan)
    table, plan = settle_persons(engine, table, plan)
    counted = plan.sensitive_columns(table)
    if own is not None and {s.name for s in counted} <= {s.name for s in own.coding.table.sensitive}:
        originals = _by_row(own.coding.table)
    else:
        own, originals = None, engine.contingency(table, plan.quasi_columns(table), counted, by_row=True).table
    shown = [name for name in plan.sensitive if name in after.columns]
    recount = engine.class_stats(
        table_of(after), plan.quasi, [SensitiveColumn(n) for n in shown], stars_are_suppressed=plan.stars_are_suppressed
    )
    rows = after if recount.is_suppressed is None else after.filter(~pl.Series(recount.is_suppressed))
    values = tuple(attribute_of(name, plan, rows, engine.frame(table), None).column for name in shown)
    columns = []
    for d, domain in enumerate(originals.domains):
        cells = recount.cells[domain.name]
        texts = tuple(cells.values.cast(pl.String).to_list())
        coverage = coverage_of(cells.values, domain)
        columns.append(
            Quasi(domain.name, cells.index.astype(np.int64), texts, domain, coverage, originals.quasi_codes(d))
        )
    assert recount.classes is not None
    row_of = None if own is None else own.row_of
    if row_of is not None and recount.is_suppressed is not None:
        row_of = row_of[~recount.is_suppressed]
    return PublishedBeside(
        plan.goal, originals, tuple(columns), values, recount.classes.astype(np.int64),
        keeps_order=plan.publication.order is Order.KEEP, row_of=row_of,
    )  # fmt: skip


def _by_row(table: CodedTable) -> CodedTable:
    """The same with every row a tuple of its own."""
    if table.tuple_of_row is None:
        return table
    return replace(table.reordered(table.tuple_of_row.astype(np.int64)), weights=np.zeros(0, np.int64))


# One class at a time -------------------------------------------------------------------------------------------------


def specialisations(release: PublishedBeside) -> Iterator[Specialisation]:
    """Every column of every class of a matched release that could say more, one way for each."""
    members = release.members
    shown = [tuple(_cell(column, int(column.labels[rows[0]])) for column in release.columns) for rows in members]
    class_of = {cells: number for number, cells in enumerate(shown)}
    for number, rows in enumerate(members):
        for d, column in enumerate(release.columns):
            assert column.domain is not None
            codes = release.originals.quasi_codes(d)[rows]
            for part, cells in _finer(column.domain, shown[number][d], codes):
                # whoever then shows the same as another class is in that class
                others = [class_of.get((*shown[number][:d], cell, *shown[number][d + 1 :])) for cell in cells]
                joined = [members[c] for c in others if c is not None]
                to = [np.full(len(members[c]), i) for i, c in enumerate(others) if c is not None]
                after = np.concatenate([part, *to])
                if _still_holds(release, np.concatenate([rows, *joined]), after):
                    yield Specialisation(number, column.name, rows, part)
                    break


def _cell(column: Quasi, label: int) -> Hashable:
    """What a label stands for: a node of a hierarchy by its text, or the ends of an interval of codes, or their set."""
    coverage, domain = column.coverage, column.domain
    assert isinstance(coverage, Coverage)
    assert domain is not None
    lo, hi = int(coverage.lo[label]), int(coverage.hi[label])
    tree = domain.hierarchy
    if tree is not None:
        node = tree.find(column.texts[label])
        return tree.shown[tree.lca_range(lo, hi) if node is None else node]
    if domain.kind is DomainKind.SET:
        return coverage.sets.get(label, frozenset(range(lo, hi + 1)))
    return lo, hi


def _finer(domain: Domain, cell: Hashable, codes: IntArray) -> Iterator[tuple[IntArray, list[Hashable]]]:
    """Ways to say more than a cell of some records: the part of each record, and the cell of each part."""
    tree = domain.hierarchy
    if tree is None:
        for last in np.unique(codes)[:-1].tolist():
            part = (codes > last).astype(np.int64)
            sides = [codes[part == side] for side in (0, 1)]
            is_set = domain.kind is DomainKind.SET
            yield part, [frozenset(s.tolist()) if is_set else (int(s.min()), int(s.max())) for s in sides]
        return
    above = tree.ancestors_by_depth()[codes]  # (n, depth) root first
    texts: list[Hashable] = [tree.shown[node] for node in above[0].tolist()]
    begin = texts.index(cell) + 1 if cell in texts else 0
    for depth in range(begin, len(texts)):
        nodes, part = np.unique(above[:, depth], return_inverse=True)
        cells: list[Hashable] = [tree.shown[node] for node in nodes.tolist()]
        if cells != [cell]:
            yield part.reshape(-1), cells


def _still_holds(release: PublishedBeside, rows: IntArray, after: IntArray) -> bool:
    """Whether the goals hold once these rows are in these classes, and all others where they were."""
    goal = release.goal
    if all(m.in_search is m for m in goal.models):  # asked of every class alone
        is_large = (np.bincount(after)[np.unique(after)] >= goal.min_size).all()
        return bool(is_large and goal.admits(release.stats(rows, after)).all())
    everybody = release.classes.copy()
    everybody[rows] = after + release.classes.max() + 1
    numbers = np.unique(everybody, return_inverse=True)[1].reshape(-1)
    return all(verdict.holds for verdict in goal.verdicts(release.stats(np.arange(len(numbers)), numbers)))


# Whole columns -------------------------------------------------------------------------------------------------------


def lower_nodes(release: PublishedBeside) -> Iterator[Node]:
    """Lower nodes of the lattice that satisfy the goals and leave no more records out."""
    n_originals = release.originals.n_rows
    limit = (n_originals - len(release.classes)) / n_originals
    judge = Judge(Problem(release.originals, release.goal), "gcp", limit)
    node = tuple(_level(column, ladder) for column, ladder in zip(release.columns, judge.ladders, strict=True))
    lower: Iterable[Node] = judge.lattice.predecessors(node)
    if not judge.prunes:  # a node further down may hold though those between do not
        lower = itertools.product(*(range(level + 1) for level in node))
    return (n for n in lower if n != node and judge.verdict(n).is_safe)


def _level(column: Quasi, ladder: Ladder) -> int:
    """The lowest level at which all labels of a column stand."""
    shown = {_cell(column, label) for label in np.unique(column.labels).tolist()}
    for level, rung in enumerate(ladder.rungs):
        if shown <= _cells_of(ladder.domain, rung):
            return level
    raise IncompatibleChoice(
        f"column '{column.name}' is not at one level of its hierarchy everywhere", hint="scope='ec' asks class by class"
    )


def _cells_of(domain: Domain, rung: Rung) -> set[Hashable]:
    """What the cells of a level stand for."""
    tree = domain.hierarchy
    if tree is not None:
        return {tree.shown[node] for node in rung.node.tolist()}
    ends = zip(rung.lo.tolist(), rung.hi.tolist(), strict=True)
    return {frozenset(range(lo, hi + 1)) if domain.kind is DomainKind.SET else (lo, hi) for lo, hi in ends}
