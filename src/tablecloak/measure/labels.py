"""Published columns, read as sets of values of the original, and what metrics measure of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.row_classes import classes_of
from tablecloak.data.coverage import Coverage, coverage_of, read_labels
from tablecloak.data.domain import Codes, Distinct, Domain, DomainKind, distinct_of, fit_domain, fit_sensitive
from tablecloak.engines.base import QuasiColumn, Recount
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.io.frames import column_type
from tablecloak.metrics.base import ReleaseCounts
from tablecloak.metrics.compared_records import ComparedRecords, RecordColumn, smallest_codes, unit_line
from tablecloak.metrics.release_details import ColumnDetails, Details, OriginalTuples, Target, Weighed
from tablecloak.release.outcome import weights_in
from tablecloak.stats.classes import Histogram
from tablecloak.values.cell_grammar import bounds, parse


@dataclass(frozen=True, slots=True, eq=False)
class PublishedColumn:
    """A quasi-identifier of the release, read as sets of values of the original."""

    way: QuasiColumn
    domain: Domain
    codes: Codes  # of the original
    labels: Distinct
    coverage: Coverage
    losses: FloatArray  # (n_labels,)
    n_distinct: int  # in the original

    @classmethod
    def of(cls, before: pl.Series, way: QuasiColumn, labels: Distinct) -> PublishedColumn:
        """Read the labels of a column."""
        type_ = column_type(way.name, before.dtype)
        domain, codes = fit_domain(before, type_, make_hierarchy=way.make_hierarchy, may_be_codes=way.may_be_codes)
        coverage = coverage_of(labels.values, domain)
        losses = _losses(labels.values, coverage, domain)
        return cls(way, domain, codes, labels, coverage, losses, before.n_unique())


def _losses(labels: pl.Series, coverage: Coverage, domain: Domain) -> FloatArray:
    """Certainty penalty of every label; one that covers nothing loses 1."""
    texts = labels.cast(pl.String).to_list()
    sizes = coverage.sizes()
    losses = np.where(sizes == 1, 0.0, np.minimum(1.0, sizes / max(1, len(domain.values))))
    if domain.hierarchy is not None:
        label_losses = _node_losses(texts, domain.hierarchy)
    else:
        label_losses = (
            _interval_losses(texts, domain) if domain.kind is DomainKind.ORDERED else np.full(len(texts), np.nan)
        )
    losses = np.where(np.isnan(label_losses), losses, label_losses)
    is_any = (sizes == domain.n_codes) & (sizes > 1)
    return np.where((sizes == 0) | is_any, 1.0, losses)


def _node_losses(texts: Sequence[str | None], hierarchy: Hierarchy) -> FloatArray:
    """Losses of labels that are nodes of a hierarchy, NaN for others."""
    nodes = [None if text is None else hierarchy.find(text) for text in texts]
    return np.array([np.nan if node is None else hierarchy.losses[node] for node in nodes])


def _interval_losses(texts: Sequence[str | None], domain: Domain) -> FloatArray:
    """Widths of numbers, dates and intervals over the width of the original column, at most 1; NaN for other labels."""
    line = domain.values.to_physical()
    first, last = (line[0], line[-1]) if len(line) else (0, 0)

    def loss(text: str | None) -> float:
        cell = None if text is None else parse(text, domain.type.value)
        if cell is None or bounds(cell, domain.type.value) is None:
            return np.nan
        lo = first if cell.lo == -math.inf else cell.lo
        hi = last if cell.hi == math.inf else cell.hi
        return _share(lo, hi, first, last) if last > first else 0.0

    return np.array([loss(text) for text in texts])


def _share(lo: float, hi: float, first: float, last: float) -> float:
    """The width of an interval over that of the column."""
    if math.isinf(last - first):  # the distance of the two largest floats is no float
        return _share(lo / 4, hi / 4, first / 4, last / 4)
    return float(min(1.0, max(0, hi - lo) / (last - first)))


def counts_of_labels(
    read: Sequence[PublishedColumn],
    recount: Recount,
    before: pl.DataFrame,
    n_suppressed: int,
    k: int | None,
    records: Callable[[], ComparedRecords] | None = None,
    weigh: Callable[[], Weighed] | None = None,
) -> ReleaseCounts:
    """What metrics measure of a release that is only known by its labels."""
    labels = recount.stats.labels
    assert labels is not None
    losses = np.stack([column.losses[labels[column.way.name]] for column in read], axis=1)
    return ReleaseCounts(
        sizes=recount.stats.size,
        losses=losses,
        columns=tuple(column.way.name for column in read),
        n_suppressed=n_suppressed,
        k=k,
        weights=tuple(column.way.weight for column in read),
        look_closer=lambda: Details(
            tuple(_details(column, labels[column.way.name]) for column in read),
            {n: _target(before[n], h) for n, h in recount.stats.hist.items()},
            lambda: OriginalTuples(tuple(c.codes.astype(np.int64) for c in read), np.ones(before.height, np.int64)),
            records,
        ),
        weigh=weigh,
    )


def weighed_by(
    column: str, before: pl.DataFrame, rows: pl.DataFrame, quasi: Sequence[str], recount: Recount
) -> Weighed:
    """What the weights of a survey say of a release, as it shows them, and of its original.

    Args:
        rows: the published records that were counted; suppressed ones are not among them.
    """
    originals, published = weights_in(before, column), weights_in(rows, column)
    assert recount.classes is not None
    combinations, _ = classes_of([distinct_of(before[name]).index for name in quasi], before.height)
    nobody = np.full(before.height, -1, np.int64)  # whose record each is, nobody need know
    of_original = Weighed.of_rows(nobody, 0, originals, combinations, None)
    people = np.bincount(recount.classes, weights=published, minlength=recount.stats.n_classes)
    return replace(of_original, people=people.astype(np.float64))


def _details(read: PublishedColumn, cell: IntArray) -> ColumnDetails:
    """A label that covers nothing counts as one that covers everything."""
    domain, is_unread = read.domain, read.coverage.hi < read.coverage.lo
    lo, hi = np.where(is_unread, 0, read.coverage.lo), np.where(is_unread, domain.n_codes - 1, read.coverage.hi)
    tree = domain.hierarchy
    return ColumnDetails(
        read.way.name, cell, Coverage(lo, hi, read.coverage.sets), read.losses,
        np.bincount(read.codes, minlength=domain.n_codes), domain.has_missing, domain.type.is_ordered,
        None if tree is None else _levels(read.labels.values, tree, lo, hi), tree.height if tree else 0, domain.line(),
    )  # fmt: skip


def _levels(labels: pl.Series, tree: Hierarchy, lo: IntArray, hi: IntArray) -> IntArray:
    """Steps up the hierarchy of labels; one that is no node of it is as high as the lowest node that holds it."""
    label_nodes = [tree.find(text) for text in labels.cast(pl.String).to_list()]
    ranges = zip(label_nodes, lo.tolist(), hi.tolist(), strict=True)
    nodes = [tree.lca_range(a, b) if node is None else node for node, a, b in ranges]
    return tree.heights[np.array(nodes, np.int64)]


def _target(before: pl.Series, hist: Histogram) -> Target:
    """A sensitive column of the release, with the counts of the original for the values that are published."""
    domain, codes = fit_sensitive(before, column_type(before.name, before.dtype))
    return Target.matched([hist], hist.domain, domain, np.bincount(codes, minlength=domain.n_values))


def records_of_frames(
    read: Sequence[PublishedColumn], others: Sequence[str], before: pl.DataFrame, after: pl.DataFrame
) -> ComparedRecords:
    """Originals and published records, row by row, over quasi-identifiers and other columns.

    Args:
        after: the published rows that `read` has labels of; suppressed ones are not among them.
    """
    columns = [_record_column(c.way.name, c.domain, c.codes, c.labels, is_quasi=True) for c in read]
    for name in others:
        domain, codes = fit_domain(before[name], column_type(name, before[name].dtype))
        labels = distinct_of(after[name].cast(pl.String).cast(pl.Categorical))
        columns.append(_record_column(name, domain, codes, labels, is_quasi=False))
    return ComparedRecords(tuple(columns), np.ones(before.height, np.int64), np.ones(after.height, np.int64))


def _record_column(name: str, domain: Domain, codes: Codes, labels: Distinct, *, is_quasi: bool) -> RecordColumn:
    coverage = read_labels(labels.values, domain).coverage
    before = smallest_codes(codes, domain.n_codes)
    cells = labels.index.astype(np.int64)
    return RecordColumn(name, before, cells, coverage, domain.n_codes, unit_line(domain.line()), is_quasi)
