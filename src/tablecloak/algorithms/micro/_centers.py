"""What a cluster publishes: means of numbers and dates, the mode or tree median of categories, tied columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from tablecloak.algorithms.micro._points import is_number, numbers_of, records_of
from tablecloak.algorithms.micro._tie import Tie
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain
from tablecloak.data.table import ColumnType
from tablecloak.errors import IncompatibleChoice, did_you_mean
from tablecloak.values.cell_grammar import format_value


def centers_of(table: CodedTable, classes: IntArray, n_classes: int, ties: Sequence[Tie]) -> dict[str, ClassLabels]:
    """The center of every class, by column. Records without a value do not move the mean of their class."""
    means = {
        d.name: _means(numbers_of(d)[table.quasi_codes(dim)], classes, n_classes)
        for dim, d in enumerate(table.domains)
        if is_number(d)
    }
    for tie in ties:
        means[tie.target] = tie(means)
    labels = {}
    for dim, domain in enumerate(table.domains):
        if domain.name in means:
            labels[domain.name] = _labels(_texts(domain, means[domain.name]))
        else:
            labels[domain.name] = _category_labels(table, dim, classes, n_classes)
    return labels


def _means(values: FloatArray, classes: IntArray, n_classes: int) -> FloatArray:
    is_known = ~np.isnan(values)
    count = np.bincount(classes[is_known], minlength=n_classes)
    total = np.bincount(classes[is_known], weights=values[is_known], minlength=n_classes)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _texts(domain: Domain, means: FloatArray) -> list[str | None]:
    if domain.type in (ColumnType.DATE, ColumnType.DATETIME):
        whole = pl.Series(np.round(means)).fill_nan(None)
        physical = pl.Int32 if domain.values.dtype == pl.Date else pl.Int64
        return [format_value(value) for value in whole.cast(physical).cast(domain.values.dtype).to_list()]
    return [None if np.isnan(mean) else format_value(mean) for mean in means.tolist()]


def _category_labels(table: CodedTable, dim: int, classes: IntArray, n_classes: int) -> ClassLabels:
    domain = table.domains[dim]
    others = {d.name for d in table.domains} - {domain.name}
    (category,) = records_of(table, standardize=False, without=others).categories
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(1, n_classes))
    parts = np.split(category.codes[order], starts)
    codes = np.array([category.center(np.bincount(part, minlength=len(category.levels))) for part in parts])
    return _labels(domain.labels(codes, codes))


def _labels(texts: Sequence[str | None]) -> ClassLabels:
    names = tuple(dict.fromkeys(text for text in texts if text is not None))
    place = {name: i for i, name in enumerate(names)}
    return ClassLabels(names, np.array([len(names) if t is None else place[t] for t in texts], np.uint32))


def check_ties(table: CodedTable, ties: Sequence[Tie]) -> tuple[str, ...]:
    """Refuse ties of columns that are no numeric quasi-identifiers; say in how many records each holds."""
    numeric = {d.name: i for i, d in enumerate(table.domains) if is_number(d)}
    for tie in ties:
        for name in sorted({tie.target, *tie.columns} - set(numeric)):
            raise IncompatibleChoice(
                f"the tie of '{tie.target}' speaks of '{name}', which is no numeric quasi-identifier",
                hint=did_you_mean(name, numeric)
                or "role: quasi and no hierarchy; type: integer if it looks like codes",
            )
    return tuple(_remark(table, tie, numeric) for tie in ties)


def _remark(table: CodedTable, tie: Tie, numeric: Mapping[str, int]) -> str:
    columns = {n: numbers_of(table.domains[i])[table.quasi_codes(i)] for n, i in numeric.items()}
    n_holding = int(np.isclose(tie(columns), columns[tie.target], equal_nan=True).sum())
    return f"'{tie.target}' is computed from its tie, which held in {n_holding:,} of {table.n_rows:,} records"


def spread_within(points: FloatArray, classes: IntArray) -> float:
    """SSE / SST: the part of the squared distances from the overall mean that lies inside classes, 0 to 1."""
    n_classes = int(classes.max(initial=-1)) + 1
    total = float(((points - points.mean(axis=0)) ** 2).sum()) if len(points) else 0.0
    if total == 0:
        return 0.0
    means = np.stack([_means(axis, classes, n_classes) for axis in points.T], axis=1)
    return float(((points - means[classes]) ** 2).sum()) / total
