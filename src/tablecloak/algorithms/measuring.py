"""What metrics measure of a solution, for reports and for searches that choose between solutions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.target import TARGET_LOSSES
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.data.reading import read_labels
from tablecloak.metrics import Details, Measurement, ReleaseCounts
from tablecloak.metrics.details import ColumnDetails, Target, Tuples, column_of_boxes, column_of_sets
from tablecloak.metrics.records import RecordColumn, Records, exact_cells, smallest_codes, unit_line, with_star
from tablecloak.registry import find
from tablecloak.stats.classes import Counted

__all__ = ["Drawn", "Look", "best_by", "counts", "counts_of", "of_sample", "of_table"]

IntArray = NDArray[np.int64]
Drawn = tuple[CodedTable, IntArray]  # rows, each a tuple, and the class of each (-1: suppressed)
# What only some metrics ask for, of a solution and of those of its classes that are published.
Look = Callable[[Solution, NDArray[np.bool_]], Details]


def counts_of(table: CodedTable, solution: Solution, k: int) -> ReleaseCounts:
    """The counts of a solution; `k` is the class size asked for."""
    return counts(table.domains, solution, solution.stats(table).size, table.n_rows, k, of_table(lambda: table))


def counts(
    domains: Sequence[Domain],
    solution: Solution,
    sizes: IntArray,
    n_rows: int,
    k: int,
    look: Look | None,
) -> ReleaseCounts:
    """The counts of classes of the given sizes; what looks closer needs rows."""
    is_released = sizes > 0
    return ReleaseCounts(
        sizes=sizes[is_released],
        losses=solution.losses(domains)[is_released],
        columns=tuple(d.name for d in domains),
        n_suppressed=n_rows - int(sizes.sum()),
        k=k,
        weights=tuple(d.weight for d in domains),
        # where groups keep their own values, the boxes looked at here are not what is published
        look_closer=None if solution.bucketing or look is None else lambda: look(solution, is_released),
    )


def of_table(table: Callable[[], CodedTable]) -> Look:
    """A closer look at all tuples."""
    return lambda solution, is_released: _details(table(), solution, is_released)


def of_sample(
    draw: Callable[[], Drawn | None], domains: Sequence[Domain], n_rows: int, originals: Callable[[], list[IntArray]]
) -> Look:
    """A closer look at the counts of every column, and at rows drawn from all."""

    def look(solution: Solution, is_released: NDArray[np.bool_]) -> Details:
        columns = _columns(domains, originals(), solution, is_released)
        drawn = draw()
        if drawn is None:
            return Details(columns, None)
        table, classes = drawn
        shown = tuple(_as_published(c, d, solution, is_released) for c, d in zip(columns, domains, strict=True))
        return Details(columns, None, None, lambda: _paired(table, shown, _numbered(classes, is_released), n_rows))

    return look


def _columns(
    domains: Sequence[Domain], originals: Sequence[IntArray], solution: Solution, is_released: NDArray[np.bool_]
) -> tuple[ColumnDetails, ...]:
    lo, hi = (ends[is_released].astype(np.int64) for ends in (solution.lo, solution.hi))
    nodes = None if solution.nodes is None else solution.nodes[is_released]
    sets = None if solution.sets is None else solution.sets[is_released]

    def column(i: int, d: Domain) -> ColumnDetails:
        if sets is not None and sets[:, i].any():
            return column_of_sets(d, sets[:, i], originals[i])
        return column_of_boxes(d, lo[:, i], hi[:, i], originals[i], None if nodes is None else nodes[:, i])

    return tuple(column(i, d) for i, d in enumerate(domains))


def _numbered(classes: IntArray, is_released: NDArray[np.bool_]) -> IntArray:
    """Classes numbered through among those that are published, -1 for the others."""
    number = np.cumsum(is_released) - 1
    return np.where(classes < 0, -1, number[classes])


def _details(table: CodedTable, solution: Solution, is_released: NDArray[np.bool_]) -> Details:
    """What only some metrics ask for."""
    originals = [table.originals(dim) for dim in range(table.space.n_dims)]
    columns = _columns(table.domains, originals, solution, is_released)
    shown = tuple(_as_published(c, d, solution, is_released) for c, d in zip(columns, table.domains, strict=True))
    classes = _numbered(solution.class_of_tuple, is_released)
    published = table.class_stats(classes, int(is_released.sum()), own_totals=True).hist_of(Counted.SENSITIVE)
    targets = {name: Target(name, hist, table.totals[name]) for name, hist in published.items()}
    return Details(columns, targets, lambda: _tuples(table), lambda: _records(table, shown, classes))


def _as_published(
    column: ColumnDetails, domain: Domain, solution: Solution, is_released: NDArray[np.bool_]
) -> ColumnDetails:
    """The column with what its readers see: a center is taken for the value nearest to it."""
    labels = (solution.centers or {}).get(domain.name)
    if labels is None:
        return column
    reading = read_labels(pl.Series([*labels.names, None], dtype=pl.String), domain)
    return replace(column, cell=labels.of_class[is_released].astype(np.int64), coverage=reading.coverage)


def _tuples(table: CodedTable) -> Tuples:
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    return Tuples(tuple(table.quasi_codes(i) for i in range(table.space.n_dims)), weights)


def _records(table: CodedTable, columns: tuple[ColumnDetails, ...], classes: IntArray) -> Records:
    """Originals and published records over quasi-identifiers and sensitive columns."""
    kept = np.flatnonzero(classes >= 0)
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    found = [
        RecordColumn(
            column.name, smallest_codes(table.quasi_codes(i), column.n_codes), column.cell[classes[kept]],
            column.coverage, column.n_codes, column.places,
        )
        for i, column in enumerate(columns)
    ]  # fmt: skip
    for domain, codes in table.attributes():
        before = smallest_codes(codes, domain.n_values)
        cells = exact_cells(domain.n_values)
        places = unit_line(domain.numbers)
        found.append(RecordColumn(domain.name, before, codes[kept], cells, domain.n_values, places, is_quasi=False))
    return Records(tuple(found), weights, weights[kept])


def _paired(table: CodedTable, columns: tuple[ColumnDetails, ...], classes: IntArray, n_rows: int) -> Records:
    """The same of rows drawn from so many, each beside what was published of it; of a suppressed one, nothing."""
    is_left_out = classes < 0
    found = [
        RecordColumn(
            column.name, smallest_codes(table.quasi_codes(i), column.n_codes),
            np.where(is_left_out, len(column.coverage.lo), column.cell[classes]),
            with_star(column.coverage, column.n_codes), column.n_codes, column.places,
        )
        for i, column in enumerate(columns)
    ]  # fmt: skip
    for domain, codes in table.attributes():
        n = domain.n_values
        cells = np.where(is_left_out, n, codes)
        exact = with_star(exact_cells(n), n)
        found.append(
            RecordColumn(domain.name, smallest_codes(codes, n), cells, exact, n, unit_line(domain.numbers), False)
        )
    ones = np.ones(len(classes), np.int64)
    return Records(tuple(found), ones, ones, n_rows if n_rows > len(classes) else None, is_paired=True)


def best_by(metric: str, problem: Problem, solutions: Iterable[Solution], target: str | None) -> Solution:
    """The solution with the best value of a metric, the first of several."""

    def lost(solution: Solution) -> float:
        counts = counts_of(problem.table, solution, problem.goal.min_size)
        found: Measurement = find("metrics", metric)(counts, **({"target": target} if metric in TARGET_LOSSES else {}))
        return -found.value if found.higher_is_better else found.value

    return min(solutions, key=lost)
