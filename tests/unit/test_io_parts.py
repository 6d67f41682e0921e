"""Folders, patterns and key=value folders of files."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.parts import parts_of
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_folder_is_read_file_after_file(tmp_path: Path) -> None:
    _write(tmp_path / "b.csv", "age,city\n3,Rome\n")
    _write(tmp_path / "a.csv", "age,city\n1,Milan\n2,Rome\n")
    frame = read_frame(tmp_path)
    assert frame.rows() == [(1, "Milan"), (2, "Rome"), (3, "Rome")]


def test_columns_are_matched_by_name(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1], "city": ["Rome"]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"city": ["Milan"], "age": [2]}).write_parquet(tmp_path / "2.parquet")
    assert read_frame(tmp_path).to_dict(as_series=False) == {"age": [1, 2], "city": ["Rome", "Milan"]}


def test_hidden_files_and_those_of_other_tools_are_left_out(tmp_path: Path) -> None:
    _write(tmp_path / "part-0.csv", "a\n1\n")
    for name in ("_SUCCESS", ".part-0.csv.crc", "_metadata/part-1.csv", ".tmp/part-2.csv"):
        _write(tmp_path / name, "b\nx\n")
    assert [part.path.name for part in parts_of(tmp_path)] == ["part-0.csv"]


def test_a_pattern_names_files(tmp_path: Path) -> None:
    for name, value in (("2020/x.csv", 1), ("2021/x.csv", 2), ("2021/y.csv", 3), ("2021/z.txt", 4)):
        _write(tmp_path / name, f"a\n{value}\n")
    assert read_frame(tmp_path / "*" / "x.csv")["a"].to_list() == [1, 2]
    assert read_frame(tmp_path / "**" / "*.csv")["a"].to_list() == [1, 2, 3]


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path: Path) -> None:
    _write(tmp_path / "a[1].csv", "a\n7\n")
    _write(tmp_path / "a1.csv", "a\n8\n")
    assert read_frame(tmp_path / "a[1].csv")["a"].to_list() == [7]


def test_folders_named_key_value_are_columns(tmp_path: Path) -> None:
    _write(tmp_path / "year=2020/place=Rome%2FEast/a.csv", "age\n1\n2\n")
    _write(tmp_path / "year=2021/place=__HIVE_DEFAULT_PARTITION__/a.csv", "age\n3\n")
    frame = read_frame(tmp_path)
    assert frame.columns == ["age", "year", "place"]
    assert frame.rows() == [(1, 2020, "Rome/East"), (2, 2020, "Rome/East"), (3, 2021, None)]
    assert read_frame(tmp_path, columns=["year"])["year"].to_list() == [2020, 2020, 2021]


def test_keys_of_folders_have_declared_types(tmp_path: Path) -> None:
    _write(tmp_path / "day=2020-01-02/a.csv", "age\n1\n")
    assert read_frame(tmp_path)["day"].to_list() == [dt.date(2020, 1, 2)]
    text = Source(tmp_path, types={"day": ColumnType.TEXT})
    assert read_frame(text)["day"].to_list() == ["2020-01-02"]


def test_a_key_that_the_files_have_too_is_read_from_them(tmp_path: Path) -> None:
    _write(tmp_path / "year=2020/a.csv", "age,year\n1,2020\n")
    frame = read_frame(tmp_path)
    assert frame.columns == ["age", "year"]
    assert frame.rows() == [(1, 2020)]


def test_what_polars_partitions_is_read_back(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "sex": ["F", "M", "F"]})
    for (sex,), rows in frame.group_by("sex"):
        (tmp_path / f"sex={sex}").mkdir()
        rows.drop("sex").write_parquet(tmp_path / f"sex={sex}" / "0.parquet")
    assert sorted(read_frame(tmp_path, categorical=["sex"]).rows()) == sorted(frame.rows())


def test_whole_and_decimal_numbers_unite(tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", "x\n1\n")
    _write(tmp_path / "b.csv", "x\n1.5\n")
    assert read_frame(tmp_path)["x"].to_list() == [1.0, 1.5]


def test_a_file_without_cells_does_not_decide_a_type(tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", "x,y\n,1\n")
    _write(tmp_path / "b.csv", "x,y\n5,2\n")
    assert sniff(Source(tmp_path)).types == {"x": ColumnType.INTEGER, "y": ColumnType.INTEGER}
    assert read_frame(tmp_path)["x"].to_list() == [None, 5]


def test_guessed_types_that_differ_make_text(tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", "x\n1\n")
    _write(tmp_path / "b.csv", "x\none\n")
    assert read_frame(tmp_path)["x"].to_list() == ["1", "one"]


@pytest.mark.slow
def test_a_late_cell_that_breaks_the_guess_makes_text_of_all_files(tmp_path: Path) -> None:
    _write(tmp_path / "a.csv", "x\n1\n")
    _write(tmp_path / "b.csv", "x\n" + "1\n" * 300_000 + "n/a\n" + "2\n" * 5)
    found = read_frame(tmp_path)["x"]
    assert found.dtype == pl.String
    assert found.len() == 300_007


def test_a_column_of_different_types_is_refused(tmp_path: Path) -> None:
    pl.DataFrame({"age": [1]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"age": ["secretvalue"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"column 'age' is text here and integer in 1\.parquet") as caught:
        sniff(Source(tmp_path))
    assert "secretvalue" not in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "2.parquet"))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("1,2\n", None),
        ("b\n1\n", "there is no column 'a' in 2.csv"),
        ("a,c\n1,2\n", "there is no column 'c' in 1.csv"),
    ],
)
def test_files_with_other_columns_are_refused(tmp_path: Path, second: str, message: str | None) -> None:
    _write(tmp_path / "1.csv", "a\nx\n")
    _write(tmp_path / "2.csv", second)
    with pytest.raises(DataError, match=message):
        sniff(Source(tmp_path))


def test_mixed_formats_are_refused(tmp_path: Path) -> None:
    _write(tmp_path / "1.csv", "a\nx\n")
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"this is a parquet file, and 1\.csv is csv"):
        sniff(Source(tmp_path))


def test_different_keys_are_refused(tmp_path: Path) -> None:
    _write(tmp_path / "year=2020/a.csv", "a\nx\n")
    _write(tmp_path / "b.csv", "a\nx\n")
    with pytest.raises(DataError, match="folders of different keys"):
        sniff(Source(tmp_path))


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "1.parquet")
    (tmp_path / "2.parquet").write_bytes((tmp_path / "1.parquet").read_bytes()[:-30])
    with pytest.raises(DataError, match="damaged or cut off") as caught:
        read_frame(tmp_path)
    assert caught.value.location == str(tmp_path / "2.parquet")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no data files"):
        sniff(Source(tmp_path))
    with pytest.raises(DataError, match="no data files"):
        sniff(Source(tmp_path / "*.csv"))


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_folder_is_written_in_files_of_some_rows(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"a": list(range(5)), "b": ["=x", "y", "z", None, "w"]})
    write_frame(frame, tmp_path, format=kind, rows_per_file=2)
    assert [p.path.name for p in parts_of(tmp_path)] == [f"part-0000{i}.{kind}" for i in range(3)]
    assert read_frame(tmp_path).equals(frame)
