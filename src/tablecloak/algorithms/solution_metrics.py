"""What metrics measure of a solution, for reports and for searches that choose between solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.loss_target import TARGET_LOSSES
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.coverage import read_labels
from tablecloak.data.domain import Domain, distinct_intervals
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import Keys, pack, plan_layout
from tablecloak.metrics import Details, Measurement, ReleaseCounts
from tablecloak.metrics.compared_records import (
    ComparedRecords,
    RecordColumn,
    exact_cells,
    smallest_codes,
    unit_line,
    with_star,
)
from tablecloak.metrics.release_details import (
    ColumnDetails,
    OriginalTuples,
    Target,
    Weighed,
    column_of_boxes,
    column_of_sets,
)
from tablecloak.registry import find
from tablecloak.rng import child
from tablecloak.stats.classes import Counted
from tablecloak.stats.spread import spread

Drawn = tuple[CodedTable, IntArray]  # rows, each a tuple, and the class of each (-1: suppressed)


@dataclass(frozen=True, slots=True, eq=False)
class United:
    """Classes as readers see them: those that publish the same are one, those without records are none."""

    number: IntArray  # (n_classes,) class of the release, -1: none
    firsts: IntArray  # (n_united,) a class of the solution for each

    def of(self, classes: IntArray) -> IntArray:
        """Classes of the release by classes of the solution (-1: suppressed)."""
        return np.where(classes < 0, -1, self.number[classes])


# What only some metrics ask for, of a solution and its classes.
Look = Callable[[Solution, United], Details]
# What weights of a survey say of a solution and its classes.
Weigh = Callable[[Solution, United], Weighed]


def counts_of(table: CodedTable, solution: Solution, k: int) -> ReleaseCounts:
    """The counts of a solution; `k` is the class size asked for."""
    return counts(table.domains, solution, solution.stats(table).size, table.n_rows, k, of_table(lambda: table))


def counts(
    domains: Sequence[Domain], solution: Solution, sizes: IntArray, n_rows: int, k: int, look: Look | None,
    weigh: Weigh | None = None,
) -> ReleaseCounts:  # fmt: skip
    """The counts of classes of the given sizes; what looks closer needs rows."""
    united = _united(solution, domains, sizes)
    published = np.flatnonzero(united.number >= 0)
    n_united = len(united.firsts)
    return ReleaseCounts(
        sizes=np.bincount(united.number[published], weights=sizes[published], minlength=n_united).astype(np.int64),
        losses=solution.losses(domains, united.firsts),
        columns=tuple(d.name for d in domains),
        n_suppressed=n_rows - int(sizes.sum()),
        k=k,
        weights=tuple(d.weight for d in domains),
        look_closer=None if look is None else lambda: look(solution, united),
        weigh=None if weigh is None else lambda: weigh(solution, united),
    )


def united_by_labels(table: CodedTable, solution: Solution) -> Solution:
    """The classes as readers see them."""
    united = _united(solution, table.domains, solution.sizes(table))
    firsts = united.firsts
    return replace(
        solution,
        class_of_tuple=united.of(solution.class_of_tuple),
        lo=solution.lo[firsts],
        hi=solution.hi[firsts],
        tree=None,
        nodes=None if solution.nodes is None else solution.nodes[firsts],
        sets={dim: sets.of_classes(firsts) for dim, sets in solution.sets.items()},
    )


def _united(solution: Solution, domains: Sequence[Domain], sizes: IntArray) -> United:
    released = np.flatnonzero(sizes > 0)
    number = np.full(len(sizes), -1, np.int64)
    if solution.bucketing is not None or not len(released):  # groups have numbers of their own
        number[released] = np.arange(len(released))
        return United(number, released)
    firsts, group = group_keys.sized(len(released))(_label_keys(solution, domains, released))
    is_first = np.zeros(len(released), np.bool_)
    is_first[firsts] = True
    # so that millions of classes are walked through once
    in_order = np.cumsum(is_first, dtype=np.uint32) - np.uint32(1)
    number[released] = in_order[firsts][group]
    return United(number, released[is_first])


def _label_keys(solution: Solution, domains: Sequence[Domain], classes: IntArray) -> Keys:
    """What classes publish, packed; equal keys look the same to readers."""
    columns, n_labels = [], []
    for i, domain in enumerate(domains):
        n, of_class = _label_numbers(solution, i, domain)
        n_labels.append(n + 1)
        columns.append(of_class[classes].astype(np.min_scalar_type(n)))
    return pack(columns, plan_layout(n_labels))


def _label_numbers(solution: Solution, i: int, domain: Domain) -> tuple[int, NDArray[np.integer[Any]]]:
    """How many labels a column has, and the number of that of every class; texts are made only where they matter."""
    has_boxes = i not in solution.sets and domain.name not in (solution.centers or {})
    if has_boxes and domain.tells_intervals_apart:
        covered = domain.covered(solution.lo[:, i], solution.hi[:, i])
        lo, _, place = distinct_intervals(*covered, domain.n_codes)
        return len(lo), place
    labels = solution.published_in(i, domain)
    return len(labels.names), labels.of_class


def of_table(table: Callable[[], CodedTable]) -> Look:
    """A closer look at all tuples."""
    return lambda solution, united: (_grouped if solution.bucketing else _details)(table(), solution, united)


def of_sample(
    draw: Callable[[], Drawn | None], domains: Sequence[Domain], n_rows: int, originals: Callable[[], list[IntArray]]
) -> Look:
    """A closer look at the counts of every column, and at rows drawn from all."""

    def look(solution: Solution, united: United) -> Details:
        columns = _columns(domains, originals(), solution, united)
        drawn = draw()
        if drawn is None:
            return Details(columns, None)
        table, classes = drawn
        shown = tuple(_as_published(c, d, solution, united) for c, d in zip(columns, domains, strict=True))
        paired = _paired(table, shown, united.of(classes), n_rows)
        return Details(columns, None, lambda: _tuples(table), lambda: paired, paired.spread)

    return look


def _columns(
    domains: Sequence[Domain], originals: Sequence[IntArray], solution: Solution, united: United
) -> tuple[ColumnDetails, ...]:
    lo, hi = (ends[united.firsts].astype(np.int64) for ends in (solution.lo, solution.hi))
    nodes = None if solution.nodes is None else solution.nodes[united.firsts]

    def column(i: int, d: Domain) -> ColumnDetails:
        if i in solution.sets:
            return column_of_sets(d, solution.sets[i].of_classes(united.firsts), originals[i])
        return column_of_boxes(d, lo[:, i], hi[:, i], originals[i], None if nodes is None else nodes[:, i])

    return tuple(column(i, d) for i, d in enumerate(domains))


def _details(table: CodedTable, solution: Solution, united: United) -> Details:
    """What only some metrics ask for."""
    originals = [table.originals(dim) for dim in range(table.space.n_dims)]
    columns = _columns(table.domains, originals, solution, united)
    shown = tuple(_as_published(c, d, solution, united) for c, d in zip(columns, table.domains, strict=True))
    classes = united.of(solution.class_of_tuple)
    published = table.class_stats(classes, len(united.firsts), own_totals=True).hist_of(Counted.SENSITIVE)
    targets = {name: Target(name, [hist], table.totals[name]) for name, hist in published.items()}

    def rows(n: int) -> ComparedRecords:
        chosen = spread_rows(table, n)
        return _paired(_chosen(table, chosen), shown, classes[chosen], table.n_rows)

    return Details(columns, targets, lambda: _tuples(table), lambda: _records(table, shown, classes), rows)


def _grouped(table: CodedTable, solution: Solution, united: United) -> Details:
    """The same of a release in groups, whose readers link the cells of a group at random."""
    classes = solution.class_of_tuple
    hist = table.class_stats(classes, len(united.number), own_totals=True).hist_of(Counted.SENSITIVE)
    targets = {name: Target(name, [histogram], table.totals[name]) for name, histogram in hist.items()}
    rebuilt = _linked_at_random(table, solution)
    return Details((), targets, None, lambda: rebuilt, rebuilt.spread, are_exact=True)


def _linked_at_random(table: CodedTable, solution: Solution) -> ComparedRecords:
    """Records as someone rebuilds them who gives each one any row of the blocks that stand apart, in its group."""
    assert solution.bucketing is not None
    groups = solution.class_of_tuple
    source = {name: block.source for block in solution.bucketing.blocks for name in block.columns}
    partner = np.empty(len(groups), np.int64)
    partner[np.lexsort([np.arange(len(groups)), groups])] = np.lexsort([child(0, "links").random(len(groups)), groups])
    apart = set(solution.bucketing.side)
    columns = [(d.name, table.quasi_codes(i), d.n_codes, d.line(), True) for i, d in enumerate(table.domains)]
    columns += [(d.name, codes, d.n_values, d.numbers, False) for d, codes in table.attributes()]

    def column(name: str, codes: IntArray, n: int, line: FloatArray | None, is_quasi: bool) -> RecordColumn:
        shown = codes[source[name]] if name in source else codes
        shown = shown[partner] if name in apart else shown
        return RecordColumn(name, smallest_codes(codes, n), shown, exact_cells(n), n, unit_line(line), is_quasi)

    ones = np.ones(len(groups), np.int64)
    record_columns = tuple(column(*about) for about in columns)
    return ComparedRecords(record_columns, ones, ones, is_paired=True)


def spread_rows(table: CodedTable, n: int) -> IntArray:
    """The tuples of at most so many rows at equal distances in the order of tuples; a frequent tuple comes again."""
    if not len(table.weights):
        return np.linspace(0, table.n_tuples - 1, min(n, table.n_tuples)).astype(np.int64)
    return spread(table.weights, n)


def _chosen(table: CodedTable, tuples: IntArray) -> CodedTable:
    keys = np.ascontiguousarray(table.keys[:, tuples])
    return replace(table, keys=keys, weights=np.zeros(0, np.int64), tuple_of_row=None)


def _as_published(column: ColumnDetails, domain: Domain, solution: Solution, united: United) -> ColumnDetails:
    """The column with what its readers see: a center is taken for the value nearest to it."""
    labels = (solution.centers or {}).get(domain.name)
    if labels is None:
        return column
    reading = read_labels(pl.Series([*labels.names, None], dtype=pl.String), domain)
    return replace(column, cell=labels.of_class[united.firsts].astype(np.int64), coverage=reading.coverage)


def _tuples(table: CodedTable) -> OriginalTuples:
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    return OriginalTuples(tuple(table.quasi_codes(i) for i in range(table.space.n_dims)), weights)


def _record_columns(
    table: CodedTable, columns: tuple[ColumnDetails, ...], classes: IntArray, shown: IntArray | slice
) -> list[RecordColumn]:
    """Originals, and what is shown of some of them, over quasi-identifiers and sensitive columns."""
    quasi = [
        RecordColumn(
            column.name, smallest_codes(table.quasi_codes(i), column.n_codes), column.cell[classes[shown]],
            column.coverage, column.n_codes, column.places,
        )
        for i, column in enumerate(columns)
    ]  # fmt: skip
    sensitive = [
        RecordColumn(
            domain.name, smallest_codes(codes, domain.n_values), codes[shown], exact_cells(domain.n_values),
            domain.n_values, unit_line(domain.numbers), is_quasi=False,
        )
        for domain, codes in table.attributes()
    ]  # fmt: skip
    return [*quasi, *sensitive]


def _records(table: CodedTable, columns: tuple[ColumnDetails, ...], classes: IntArray) -> ComparedRecords:
    """Originals and published records."""
    published = np.flatnonzero(classes >= 0)
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    return ComparedRecords(tuple(_record_columns(table, columns, classes, published)), weights, weights[published])


def _paired(table: CodedTable, columns: tuple[ColumnDetails, ...], classes: IntArray, n_rows: int) -> ComparedRecords:
    """The same of rows drawn from so many, each beside what was published of it; of a suppressed one, nothing."""
    starred = tuple(
        replace(c, cells=np.where(classes < 0, len(c.coverage.lo), c.cells), coverage=with_star(c.coverage, c.n_codes))
        for c in _record_columns(table, columns, classes, slice(None))
    )
    ones = np.ones(len(classes), np.int64)
    return ComparedRecords(starred, ones, ones, n_rows if n_rows > len(classes) else None, is_paired=True)


def best_by(metric: str, problem: Problem, solutions: Iterable[Solution], target: str | None) -> Solution:
    """The solution with the best value of a metric, the first of several."""

    def lost(solution: Solution) -> float:
        counts = counts_of(problem.table, solution, problem.goal.min_size)
        measurement: Measurement = find("metrics", metric)(
            counts, **({"target": target} if metric in TARGET_LOSSES else {})
        )
        return -measurement.value if measurement.higher_is_better else measurement.value

    return min(solutions, key=lost)
