"""Labels that cover no original are taken for the nearest value; those that say nothing, for every value."""

from __future__ import annotations

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.coverage import read_labels
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType


def read(values, labels, kind=ColumnType.INTEGER):
    domain, _ = fit_domain(pl.Series("x", values), kind)
    found = read_labels(pl.Series(labels, dtype=pl.String), domain)
    return list(zip(found.coverage.lo.tolist(), found.coverage.hi.tolist(), strict=True)), found.is_unread.tolist()


def test_numbers_between_values_are_taken_for_the_nearest():
    cells, is_unread = read([10, 20, 40], ["10", "16.2", "33", "[21, 39]", "[10, 20]", "*", "green", "999"])
    assert cells == [(0, 0), (1, 1), (2, 2), (1, 1), (0, 1), (0, 2), (0, 2), (2, 2)]
    assert is_unread == [False] * 6 + [True, False]


def test_the_missing_value_keeps_its_place():
    cells, _ = read([None, 10, 20], [None, "14"])
    assert cells == [(0, 0), (1, 1)]


def test_means_answer_queries_like_the_values_they_are_close_to():
    ages = [20, 22, 40, 42] * 10
    original = pl.DataFrame({"age": ages})
    means = pl.DataFrame({"age": [21.0, 21.0, 41.0, 41.0] * 10})
    found = {m.name: m.value for m in tc.compare(original, means, quasi=["age"]).metrics}
    # every mean is as near to one value as to the other, and the first is taken: half of the records move by one value
    assert found["query-error"] == pytest.approx(1.0)
