"""Excel, SPSS and Stata files, and what happens without the packages that read them."""

from __future__ import annotations

import sys
from datetime import date, datetime
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tablecloak.errors import DataError, MissingExtra
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame

FRAME = pl.DataFrame(
    {
        "id": [1, 2, None, 4],
        "share": [0.25, None, 3.0, -1.5],
        "zip": ["00501", "=1+1", "https://example.org", None],
        "day": [date(2020, 2, 29), None, date(1950, 1, 1), date(2001, 12, 31)],
    }
)


def test_excel_gives_back_what_was_written(tmp_path: Path) -> None:
    write_frame(FRAME, tmp_path / "a.xlsx")
    assert_frame_equal(read_frame(tmp_path / "a.xlsx"), FRAME)


def test_excel_reads_some_columns(tmp_path: Path) -> None:
    write_frame(FRAME, tmp_path / "a.xlsx")
    assert read_frame(tmp_path / "a.xlsx", columns=["zip", "id"]).columns == ["zip", "id"]
    assert sniff(Source(tmp_path / "a.xlsx")).n_rows_hint == 4


def test_excel_writes_labels(tmp_path: Path) -> None:
    labels = pl.DataFrame({"age": pl.Series(["[20, 29]", "*"], dtype=pl.Enum(["*", "[20, 29]"]))})
    write_frame(labels, tmp_path / "a.xlsx")
    assert read_frame(tmp_path / "a.xlsx")["age"].to_list() == ["[20, 29]", "*"]


def test_a_damaged_workbook_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 no workbook")
    with pytest.raises(DataError, match="not a readable Excel workbook"):
        read_frame(tmp_path / "a.xlsx")


@pytest.mark.parametrize("kind", ["sav", "dta"])
def test_files_of_statistics_packages(tmp_path: Path, kind: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pl.DataFrame({"age": [30, 41, 52], "cost": [1.5, 2.0, 3.25], "sex": ["f", "m", "f"]})
    getattr(pyreadstat, f"write_{kind}")(frame.to_pandas(), str(tmp_path / f"a.{kind}"))
    assert_frame_equal(read_frame(tmp_path / f"a.{kind}"), frame)


def test_times_of_statistics_packages(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    times = [datetime(2020, 1, 2, 3, 4, 5), datetime(1999, 12, 31)]
    pyreadstat.write_sav(pl.DataFrame({"seen": times}).to_pandas(), str(tmp_path / "a.sav"))
    assert read_frame(tmp_path / "a.sav")["seen"].to_list() == times


def test_a_damaged_file_of_a_statistics_package(tmp_path: Path) -> None:
    (tmp_path / "a.sas7bdat").write_bytes(b"no data")
    with pytest.raises(DataError, match=r"not a readable \.sas7bdat file"):
        read_frame(tmp_path / "a.sas7bdat")


def test_formats_that_are_only_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="can be read, not written"):
        write_frame(FRAME, tmp_path / "a.sas7bdat")


@pytest.mark.parametrize(
    ("package", "name", "extra"),
    [("fastexcel", "a.xlsx", "excel"), ("pyreadstat", "a.sav", "stats-files"), ("pyreadstat", "a.dta", "stats-files")],
)
def test_a_missing_package_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(MissingExtra) as caught:
        read_frame(tmp_path / name)
    assert caught.value.hint == f"pip install 'tablecloak[{extra}]'"


def test_a_missing_writer_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtra, match="xlsxwriter"):
        write_frame(FRAME, tmp_path / "a.xlsx")
