"""Frames of other libraries become polars frames."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys

import polars as pl
import pytest

from tablecloak.errors import DataError
from tablecloak.io.frames import from_frame

pandas = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS = {"n": [1, 2, 3], "x": [0.5, None, 2.0], "t": ["a", None, "c"]}


@pytest.mark.parametrize(
    "make",
    [
        pl.DataFrame,
        pl.LazyFrame,
        pyarrow.table,
        pyarrow.RecordBatch.from_pydict,
        pandas.DataFrame,
        lambda columns: pandas.DataFrame(columns).astype({"t": "object"}),
    ],
    ids=["polars", "lazy", "arrow", "batch", "pandas", "pandas-object"],
)
def test_every_kind_gives_the_same(make: object) -> None:
    frame = from_frame(make(COLUMNS))  # type: ignore[operator]
    assert frame.to_dict(as_series=False) == COLUMNS
    assert frame.schema == {"n": pl.Int64(), "x": pl.Float64(), "t": pl.String()}


def test_nan_and_empty_text_are_missing() -> None:
    frame = from_frame(pl.DataFrame({"x": [float("nan"), 1.0], "t": ["", "a"]}))
    assert frame.rows() == [(None, None), (1.0, "a")]


def test_numbers_are_widened_and_times_are_naive_utc() -> None:
    at = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    frame = from_frame(pl.DataFrame({"n": pl.Series([1], dtype=pl.Int8), "at": [at]}))
    assert frame.schema == {"n": pl.Int64(), "at": pl.Datetime("us")}
    assert frame["at"].to_list() == [dt.datetime(2020, 1, 1, 10)]


def test_huge_unsigned_integers_become_text() -> None:
    column = pl.Series("n", [2**64 - 1], dtype=pl.UInt64)
    assert from_frame(column.to_frame())["n"].to_list() == [str(2**64 - 1)]


def test_mixed_pandas_objects_become_text() -> None:
    frame = from_frame(pandas.DataFrame({"m": pandas.Series([1, "a", None], dtype=object)}))
    assert frame["m"].to_list() == ["1", "a", None]


def test_pandas_categories_and_dates() -> None:
    source = pandas.DataFrame({"c": pandas.Categorical(["a", "b", None]), "d": pandas.to_datetime(["2020-01-01"] * 3)})
    frame = from_frame(source)
    assert frame["c"].cast(pl.String).to_list() == ["a", "b", None]
    assert frame["d"].to_list() == [dt.datetime(2020, 1, 1)] * 3


def test_duplicate_names_are_refused() -> None:
    twice = pandas.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match="duplicate column names: 'a'"):
        from_frame(twice)
    with pytest.raises(DataError, match="duplicate column names: 'a'"):
        from_frame(pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"]))


def test_nested_columns_are_refused() -> None:
    with pytest.raises(DataError, match="column 'a' has the unsupported type"):
        from_frame(pl.DataFrame({"a": [[1]]}))


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataError, match="object of type dict"):
        from_frame({"a": [1]})


@pytest.mark.slow
def test_core_does_not_import_pandas_or_pyarrow() -> None:
    code = "import sys, tablecloak.io.tabular, tablecloak.io.frames, tablecloak.sample as s; s.patients(10);"
    code += "print([m for m in ('pandas', 'pyarrow', 'numba') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
