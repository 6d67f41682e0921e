"""Histograms of numbers: values in ascending order, and records inside windows of values."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, Self, TypeVar

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.stats.classes import Histogram, SensitiveDomain

# Differences of floats carry rounding of about this much of the numbers themselves.
ROUNDING = 1e-12


class Coded(Protocol):
    """Counts of the values of a domain."""

    @property
    def domain(self) -> SensitiveDomain: ...
    def recoded(self, codes: IntArray, domain: SensitiveDomain) -> Self: ...


C = TypeVar("C", bound=Coded)


def by_number(hist: C) -> C:
    """The counts with codes in the order of their numbers; the missing value, if any, comes last."""
    numbers = hist.domain.numbers
    assert numbers is not None
    order = np.argsort(numbers, kind="stable")  # NaN, the missing value, goes last
    if np.array_equal(order, np.arange(len(order))):
        return hist
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    labels = tuple(hist.domain.labels[i] for i in order)
    domain = replace(hist.domain, labels=labels, numbers=numbers[order], hierarchy=None, is_ordered=True)
    return hist.recoded(rank, domain)


def neighbors(numbers: FloatArray, distance: FloatArray) -> tuple[IntArray, IntArray]:
    """First and last code within a distance of every value, both (n_values,); numbers ascend."""
    return _codes_between(numbers, numbers - distance, numbers + distance, distance)


def windows(numbers: FloatArray, width: float) -> tuple[IntArray, IntArray]:
    """First and last code of the window of a width that begins at every value; numbers ascend."""
    with np.errstate(over="ignore"):  # a window may reach beyond the largest number
        return _codes_between(numbers, numbers, numbers + width, np.full(len(numbers), width))


def _codes_between(
    numbers: FloatArray, low: FloatArray, high: FloatArray, scale: FloatArray
) -> tuple[IntArray, IntArray]:
    own = np.arange(len(numbers))
    is_number = ~np.isnan(numbers)
    present = numbers[is_number]
    slack = ROUNDING * np.maximum(np.abs(numbers), scale)
    first = np.searchsorted(present, low - slack, side="left")
    last = np.searchsorted(present, high + slack, side="right") - 1
    return np.where(is_number, first, own), np.where(is_number, last, own)  # a missing value is near no number


def records_between(hist: Histogram, first: IntArray, last: IntArray) -> IntArray:
    """Records of the same class whose code lies in `first[c]..last[c]`, c the code of an entry, (n_entries,)."""
    base = hist.entry_class() * hist.domain.n_values
    keys = base + hist.codes  # ascends, because codes ascend inside a class
    begin = np.searchsorted(keys, base + first[hist.codes], side="left")
    end = np.searchsorted(keys, base + last[hist.codes], side="right")
    running = np.concatenate([[0], np.cumsum(hist.counts)])
    counted: IntArray = running[end] - running[begin]
    return counted
