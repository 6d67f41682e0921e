"""Published labels of classes, one column at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.domain import ANYTHING, Domain, distinct_intervals


@dataclass(frozen=True, slots=True, eq=False)
class ClassLabels:
    """The label every class publishes in one column; a class number of -1 stands for suppressed records."""

    names: tuple[str, ...]  # distinct labels
    of_class: NDArray[np.uint32]  # (n_classes,) index into names; len(names) is the missing cell
    are_numbers: bool = False  # published as such

    @property
    def texts(self) -> list[str]:
        """Every text a cell may show, sorted: their order must not tell in which one classes were found."""
        return sorted({*self.names, ANYTHING})

    @property
    def places(self) -> NDArray[np.uint32]:
        """(n_classes + 1,) index into texts; len(texts) is the missing cell, class -1 finds the last."""
        texts = self.texts
        place = {text: i for i, text in enumerate(texts)}
        of_name = np.array([*(place[name] for name in self.names), len(texts)], np.uint32)
        return np.append(of_name[self.of_class], np.uint32(place[ANYTHING]))

    def publish(self, name: str, classes: IntArray) -> pl.Series:
        """The cells of rows given by class number."""
        texts, places = self.texts, self.places
        missing = len(texts)
        cells = pl.Series(name, places[classes])
        if (places == missing).any():
            cells = cells.to_frame().select(pl.col(name).replace({missing: None})).to_series()
        shown = cells.cat.to(pl.Enum(texts))
        return shown.cast(pl.String).cast(pl.Float64) if self.are_numbers else shown


def labels_of_column(
    domain: Domain, lo: IntArray, hi: IntArray, nodes: IntArray | None, sets: CodeSets | None
) -> ClassLabels:
    """Labels of classes given as intervals of codes, or as hierarchy nodes or sets of codes where there are any."""
    if sets is not None:
        return _listed(domain, sets)
    if nodes is not None and domain.hierarchy is not None:
        return _named(domain, nodes)
    return _labels_of(domain, lo, hi)


def _listed(domain: Domain, sets: CodeSets) -> ClassLabels:
    distinct, of_class = sets.distinct()
    return united_labels(domain.set_labels(distinct), of_class)


def _named(domain: Domain, nodes: IntArray) -> ClassLabels:
    assert domain.hierarchy is not None
    distinct, of_class = np.unique(nodes, return_inverse=True)
    return united_labels([domain.hierarchy.shown[node] for node in distinct.tolist()], of_class)


def _labels_of(domain: Domain, lo: IntArray, hi: IntArray) -> ClassLabels:
    # few classes differ in one column, so texts are made once for every different interval
    first, last, of_class = distinct_intervals(lo, hi, domain.n_codes)
    if domain.hierarchy is None:
        return united_labels(domain.labels(first, last), of_class)
    nodes, place = _in_order(domain.nodes(first, last))  # many intervals share few nodes
    labels = united_labels([domain.hierarchy.shown[node] for node in nodes.tolist()], place)
    return replace(labels, of_class=labels.of_class[of_class])


def _in_order(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Different numbers in the order in which they first occur, and which of them every one is."""
    distinct, firsts, place = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return distinct[order], rank[place]


def united_labels(labels: Sequence[str | None], of_class: NDArray[np.integer[Any]]) -> ClassLabels:
    """Different nodes may carry one label; a reader of the release cannot tell them apart."""
    names = tuple(dict.fromkeys(label for label in labels if label is not None))
    place = {name: i for i, name in enumerate(names)}
    numbers = np.array([len(names) if label is None else place[label] for label in labels], np.uint32)
    return ClassLabels(names, numbers[of_class])
