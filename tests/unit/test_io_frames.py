"""Frames of other libraries become polars frames, and polars frames become theirs."""

from __future__ import annotations

import datetime as dt
import inspect
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.errors import DataError
from tablecloak.io.frames import from_frame, kind_of_frame

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


def test_relations_of_duckdb_come_in() -> None:
    assert from_frame(duckdb.sql("SELECT 1 AS n, 'a' AS t")).rows() == [(1, "a")]


def test_frames_that_narwhals_wraps_come_in() -> None:
    narwhals = pytest.importorskip("narwhals")
    wrapped = narwhals.from_native(pandas.DataFrame(COLUMNS))
    assert from_frame(wrapped).to_dict(as_series=False) == COLUMNS
    assert isinstance(kind_of_frame(wrapped).native(pl.DataFrame(COLUMNS)), pandas.DataFrame)


@pytest.mark.parametrize("by", [["t"], ["n", "x"]])
def test_an_index_that_says_something_is_left_out_with_a_warning(by: list[str]) -> None:
    with pytest.warns(UserWarning, match="the index of the frame is left out") as warned:
        frame = from_frame(pandas.DataFrame(COLUMNS).set_index(by))
    assert not set(by) & set(frame.columns)
    assert warned[0].filename == __file__


def test_row_numbers_in_an_index_are_left_out_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_frame(pandas.DataFrame(COLUMNS)[lambda d: d.n != 2]).height == 2


# Out ---------------------------------------------------------------------------------------------------------------


def release_of(data: Any) -> tc.VerifiedRelease:
    policy = tc.Policy(
        columns=tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["diagnosis"], drop=["name"]),
        goals=[tc.KAnonymity(k=5)],
    )
    release = tc.anonymize(data, policy)
    assert isinstance(release, tc.VerifiedRelease)
    return release


PATIENTS = tc.sample.patients(300).select("birth_date", "sex", "zip", "diagnosis", "name")


@pytest.mark.parametrize(
    ("convert", "kind"),
    [
        (lambda frame: frame, pl.DataFrame),
        (lambda frame: frame.lazy(), pl.DataFrame),
        (lambda frame: frame.to_pandas(), pandas.DataFrame),
        (lambda frame: frame.to_arrow(), pyarrow.Table),
        (lambda frame: frame.to_arrow().to_batches()[0], pyarrow.Table),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "batch"],
)
def test_a_release_is_of_the_library_that_the_data_came_from(convert: Any, kind: type) -> None:
    release = release_of(convert(PATIENTS))
    assert type(release.frame) is kind
    assert release.frame is release.frame
    published = release._main.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    assert from_frame(release.frame).with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String)).equals(published)


def test_the_side_table_is_of_the_same_library() -> None:
    columns = tc.roles(quasi=["sex", "zip"], sensitive=["diagnosis"])
    goals = [{"model": "l-diversity", "l": 2}]
    policy = tc.Policy.model_validate({"columns": columns, "goals": goals, "algorithm": {"kind": "anatomy"}})
    release = tc.anonymize(PATIENTS.to_pandas(), policy)
    assert type(release.frame) is type(release.side) is pandas.DataFrame


def test_sets_are_of_the_same_library() -> None:
    policy = tc.Policy.model_validate(
        {
            "columns": {"items": {"role": "items", "separator": ";"}},
            "goals": [{"model": "km-anonymity", "k": 2, "m": 1}],
        }
    )
    release = tc.anonymize(pandas.DataFrame({"items": ["a;b", "a;b", "a", "b"]}), policy)
    assert type(release.frame) is pandas.DataFrame


def zoo() -> Any:
    return pandas.DataFrame(
        {
            "whole": [1, 2, 3],
            "decimal": [1.5, None, 2.0],
            "text": ["a", None, "c"],
            "object": pandas.Series(["a", None, "c"], dtype=object),
            "category": pandas.Categorical(["a", "b", None]),
            "time": pandas.to_datetime(["2020-01-01", None, "2020-01-02"]),
            "day": [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)],
            "nullable": pandas.array([1, None, 2], dtype="Int64"),
            "flag": [True, False, True],
            "nullable flag": pandas.array([True, None, False], dtype="boolean"),
            "string": pandas.array(["x", None, "y"], dtype="string"),
            5: [7, 8, 9],
        }
    )


def test_pandas_types_go_in_and_come_out() -> None:
    there = zoo()
    back = kind_of_frame(there).native(from_frame(there))
    expected = there.astype({"object": "str"})
    pandas.testing.assert_frame_equal(back, expected)


def test_categories_that_nobody_published_do_not_come_out() -> None:
    there = pandas.DataFrame({"c": pandas.Categorical(["a", "b"])})
    back = kind_of_frame(there).native(pl.DataFrame({"c": ["*", "*"]}))
    assert list(back["c"].cat.categories) == ["*"]


def test_labels_in_place_of_numbers_are_text() -> None:
    there = zoo()
    back = kind_of_frame(there).native(pl.DataFrame({"nullable": ["[1..2]"], "time": ["2020"]}))
    assert back.to_dict("list") == {"nullable": ["[1..2]"], "time": ["2020"]}


def test_missing_whole_numbers_of_numpy_become_decimals() -> None:
    there = pandas.DataFrame({"n": [1, 2]})
    back = kind_of_frame(there).native(pl.DataFrame({"n": [1, None]}))
    assert str(back["n"].dtype) == "float64"
    assert back["n"].isna().tolist() == [False, True]


def test_arrow_text_has_the_type_it_came_with() -> None:
    there = pyarrow.table({"s": ["a"], "large": pyarrow.array(["b"], pyarrow.large_string())})
    back = kind_of_frame(there).native(from_frame(there).with_columns(new=pl.lit("c").cast(pl.Categorical)))
    assert [str(t) for t in back.schema.types] == ["string", "large_string", "string"]


WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, {folder!r})
import tablecloak as tc
"""


def run_without(*absent: str, code: str) -> str:
    """What a program prints in a Python that lacks some packages."""
    folder = str(Path(__file__).parent)
    program = WITHOUT.format(absent=set(absent), folder=folder) + code
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


POLICY = (
    "policy = tc.Policy(columns=tc.roles(quasi=['sex', 'zip'], sensitive=['diagnosis']), goals=[tc.KAnonymity(k=5)])\n"
)


@pytest.mark.slow
def test_pandas_goes_in_and_comes_out_without_pyarrow() -> None:
    code = f"""
import datetime as dt
import inspect
import pandas
from tablecloak.io.frames import from_frame, kind_of_frame
{inspect.getsource(zoo).replace("-> Any", "")}
there = zoo()
frame = from_frame(there)
pandas.testing.assert_frame_equal(kind_of_frame(there).native(frame), there.astype({{"object": "str"}}))
there["zone"] = pandas.to_datetime(["2020-01-01"] * 3).tz_localize("Europe/Paris")
there["numbers"] = pandas.Categorical([3, 4, None])
print([str(dtype) for dtype in from_frame(there).dtypes])
patients = tc.sample.patients(300).select("sex", "zip", "diagnosis")
data = pandas.DataFrame(patients.to_dict(as_series=False))
{POLICY}
release = tc.anonymize(data, policy)
assert type(release.frame) is pandas.DataFrame
assert tc.verify(release.frame, policy).holds
tc.compare(data, release.frame, policy=policy), tc.risk(data, policy), tc.inspect(data)
assert tc.is_valid_generalisation(data, data, policy)
"""
    printed = run_without("pyarrow", code=code)
    there = zoo()
    there["zone"] = pandas.to_datetime(["2020-01-01"] * 3).tz_localize("Europe/Paris")
    there["numbers"] = pandas.Categorical([3, 4, None])
    assert printed == str([str(dtype) for dtype in from_frame(there).dtypes])


@pytest.mark.slow
def test_the_package_works_without_pandas_and_pyarrow() -> None:
    code = f"""
{POLICY}
release = tc.anonymize(tc.sample.patients(300).select("sex", "zip", "diagnosis"), policy)
print(type(release.frame).__module__, "narwhals" in sys.modules)
"""
    assert run_without("pandas", "pyarrow", code=code) == "polars.dataframe.frame False"


@pytest.mark.slow
def test_core_does_not_import_pandas_or_pyarrow() -> None:
    code = "import sys, tablecloak.io.tabular, tablecloak.io.frames, tablecloak.sample as s; s.patients(10);"
    code += "print([m for m in ('pandas', 'pyarrow', 'numba') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
