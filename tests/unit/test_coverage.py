"""Labels read as sets of codes."""

import numpy as np
import polars as pl
import pytest

from tablecloak.data import coverage
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.values.cell_grammar import format_interval, format_value

COLUMNS = {
    ColumnType.INTEGER: pl.Series("x", [-7, 3, 5, None, 10**17, -(10**17)]),
    ColumnType.FLOAT: pl.Series("x", [-0.5, 2.25, None, 1e300, 3.0]),
    ColumnType.DATE: pl.Series("x", ["1950-01-01", "2020-02-29", None, "1999-12-31"]).str.to_date(),
    ColumnType.DATETIME: pl.Series("x", ["2020-02-29T10:00:00.5", "1999-12-31T00:00:00", None]).str.to_datetime(),
}


@pytest.mark.parametrize("column", COLUMNS)
def test_intervals_read_at_once_are_those_read_one_by_one(column, monkeypatch):
    series = COLUMNS[column]
    domain, _ = fit_domain(series, column)
    values = domain.values.to_list()
    texts = [format_interval(a, b) for a in values for b in values if a < b]
    texts += [format_interval(values[-1], values[0]), "*", None, "[1, 2)", "(1, 2]", "[a, b]", "[,]", "{1, 2}", ">=3"]
    texts += [format_value(v) for v in values]
    labels = pl.Series("x", texts)
    one_by_one = coverage.coverage_of(labels, domain)
    monkeypatch.setattr(coverage, "VECTORS_FROM", 0)
    at_once = coverage.coverage_of(labels, domain)
    assert np.array_equal(one_by_one.lo, at_once.lo)
    assert np.array_equal(one_by_one.hi, at_once.hi)
    assert one_by_one.sets == at_once.sets
