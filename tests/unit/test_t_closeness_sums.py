"""Running sums of a table are kept for its next classes, as long as its counts are, and never used for others."""

import gc

import numpy as np
import pytest

from tablecloak.models import t_closeness
from tablecloak.models.t_closeness import ordered_distance
from tablecloak.stats.classes import Histogram, SensitiveDomain


def slow_distance(counts, totals):
    """The mean difference of cumulative shares, value by value."""
    n, m, far = sum(counts), sum(totals), 0.0
    for i in range(len(totals) - 1):
        far += abs(sum(counts[: i + 1]) / n - sum(totals[: i + 1]) / m)
    return far / (len(totals) - 1)


def distance(counts, totals):
    domain = SensitiveDomain("s", tuple(map(str, range(len(totals)))), is_ordered=True)
    codes = np.flatnonzero(counts)
    hist = Histogram(domain, np.array([0, len(codes)]), codes, np.array(counts)[codes], totals)
    return ordered_distance(hist)[0]


@pytest.fixture
def remembers(monkeypatch):
    monkeypatch.setattr(t_closeness, "REMEMBERED_FROM", 3)
    return t_closeness._latest


def test_classes_of_two_tables_are_each_held_against_their_own(remembers):
    random = np.random.default_rng(4)
    tables = [random.integers(1, 9, 12) for _ in range(2)]
    for _ in range(5):
        for totals in tables:
            counts = [int(random.integers(0, n + 1)) for n in totals] or [1]
            counts[3] += sum(counts) == 0
            assert distance(counts, totals) == pytest.approx(slow_distance(counts, totals.tolist()), abs=1e-12)
    assert {id(totals) for totals in tables} <= set(remembers)


def test_sums_go_with_the_counts(remembers):
    totals = np.array([2, 3, 4, 1])
    distance([1, 0, 2, 0], totals)
    place = id(totals)
    assert place in remembers
    del totals
    gc.collect()
    assert place not in remembers


@pytest.mark.usefixtures("remembers")
def test_counts_that_are_remembered_cannot_be_changed():
    totals = np.array([2, 3, 4, 1])
    distance([1, 0, 2, 0], totals)
    with pytest.raises(ValueError, match="read-only"):
        totals[0] += 1
