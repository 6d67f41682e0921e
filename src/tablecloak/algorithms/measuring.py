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
from tablecloak.metrics.records import RecordColumn, Records, exact_cells, smallest_codes, unit_line
from tablecloak.registry import find
from tablecloak.stats.classes import Counted

__all__ = ["best_by", "counts", "counts_of"]


def counts_of(table: CodedTable, solution: Solution, k: int) -> ReleaseCounts:
    """The counts of a solution; `k` is the class size asked for."""
    return counts(table.domains, solution, solution.stats(table).size, table.n_rows, k, lambda: table)


def counts(
    domains: Sequence[Domain],
    solution: Solution,
    sizes: NDArray[np.int64],
    n_rows: int,
    k: int,
    table: Callable[[], CodedTable] | None,
) -> ReleaseCounts:
    """The counts of classes of the given sizes; what looks closer needs the table."""
    is_released = sizes > 0
    return ReleaseCounts(
        sizes=sizes[is_released],
        losses=solution.losses(domains)[is_released],
        columns=tuple(d.name for d in domains),
        n_suppressed=n_rows - int(sizes.sum()),
        k=k,
        weights=tuple(d.weight for d in domains),
        # where groups keep their own values, the boxes looked at here are not what is published
        look_closer=None if solution.bucketing or table is None else lambda: _details(table(), solution, is_released),
    )


def _details(table: CodedTable, solution: Solution, is_released: NDArray[np.bool_]) -> Details:
    """What only some metrics ask for."""
    lo, hi = solution.lo[is_released], solution.hi[is_released]
    nodes = None if solution.nodes is None else solution.nodes[is_released]
    sets = None if solution.sets is None else solution.sets[is_released]

    def column(i: int, d: Domain) -> ColumnDetails:
        if sets is not None and sets[:, i].any():
            return column_of_sets(d, sets[:, i], table.originals(i))
        return column_of_boxes(d, lo[:, i], hi[:, i], table.originals(i), None if nodes is None else nodes[:, i])

    columns = tuple(column(i, d) for i, d in enumerate(table.domains))
    shown = tuple(_as_published(c, d, solution, is_released) for c, d in zip(columns, table.domains, strict=True))
    number = np.cumsum(is_released) - 1
    classes = np.where(solution.class_of_tuple < 0, -1, number[solution.class_of_tuple])
    published = table.class_stats(classes, len(lo), own_totals=True).hist_of(Counted.SENSITIVE)
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


def _records(table: CodedTable, columns: tuple[ColumnDetails, ...], classes: NDArray[np.int64]) -> Records:
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


def best_by(metric: str, problem: Problem, solutions: Iterable[Solution], target: str | None) -> Solution:
    """The solution with the best value of a metric, the first of several."""

    def lost(solution: Solution) -> float:
        counts = counts_of(problem.table, solution, problem.goal.min_size)
        found: Measurement = find("metrics", metric)(counts, **({"target": target} if metric in TARGET_LOSSES else {}))
        return -found.value if found.higher_is_better else found.value

    return min(solutions, key=lost)
