"""Bad files end in an error that says what, where and what next, and never shows a cell."""

from __future__ import annotations

import gzip
import os
import traceback
from pathlib import Path

import polars as pl
import pytest

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows, write_frame

SECRET = b"Zebulon"


def failure(tmp_path: Path, data: bytes, name: str = "data.csv", **declared: object) -> DataError:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataError) as caught:
        read_frame(Source(path, **declared))  # type: ignore[arg-type]
    assert caught.value.location == str(path)
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"a,b,c\n1,2,3\nZebulon,5\n", "row 2 (line 3) has 2 fields, expected 3"),
        (b"a,b,c\n1,2,3\nZebulon,5,6,7\n", "row 2 (line 3) has 4 fields, expected 3"),
        (b'a,b\n1,"Zebulon\n2,y\n', "the quotes in row 1 (ending at line 3) do not match"),
        (b"a,a,b,b\n1,2,3,4\n", "duplicate column names: 'a', 'b'"),
        (b"a,b\n1,x\n2,Zeb\0ulon\n", "row 2 contains a NUL character"),
    ],
)
def test_broken_csv(tmp_path: Path, data: bytes, message: str) -> None:
    error = failure(tmp_path, data)
    assert error.message == message
    assert SECRET.decode() not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize(
    "data",
    [
        b"a,b,c\n1,2,3\n4,5\n",
        b"a,b,c\n1,2,3\n4,5,6,7\n",
        b"a,b,c\n1,2,3\n4,5,6,7\n8,9\n",
        b'a,b,c\n1,"2",3\n4,x"5,6"y,7\n',
    ],
)
def test_ragged_rows_are_seen_when_few_columns_are_read(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "t.csv").write_bytes(data)
    with pytest.raises(DataError, match="row 2"):
        read_frame(tmp_path / "t.csv", columns=["a"])


def test_late_nul_names_column_and_row(tmp_path: Path) -> None:
    error = failure(tmp_path, b"a,b\n" + b"1,x\n" * 400_000 + b"2,\0\n")
    assert error.message == "column 'b', row 400001 contains a NUL character"


def test_declared_encoding_that_is_wrong(tmp_path: Path) -> None:
    error = failure(tmp_path, b"a,b\n1,x\n2,\xff\n", encoding="utf-8")
    assert error.message == "not utf-8 text: byte 10 (row 2) cannot be decoded"


def test_unknown_encoding(tmp_path: Path) -> None:
    assert failure(tmp_path, b"a,b\n1,x\n", encoding="utf-9").message == "unknown encoding 'utf-9'"


def test_declared_type_that_does_not_fit(tmp_path: Path) -> None:
    error = failure(tmp_path, b"a,b\n1,x\nZebulon,y\n", types={"a": ColumnType.INTEGER})
    assert error.message == "column 'a' is declared integer, but 1 cells are not, the first in row 2"
    assert error.__cause__ is None
    assert error.__context__ is None


def test_declaration_about_an_unknown_column(tmp_path: Path) -> None:
    error = failure(tmp_path, b"age,b\n1,x\n", types={"aeg": ColumnType.INTEGER})
    assert (error.message, error.hint) == ("there is no column 'aeg'", "did you mean 'age'?")


def test_unknown_wanted_column(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"age,b\n1,x\n")
    with pytest.raises(DataError, match="there is no column 'aeg'"):
        read_frame(tmp_path / "t.csv", columns=["aeg"])


def test_header_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n")
    frame = read_frame(path)
    assert frame.shape == (0, 2)
    with pytest.raises(DataError, match="has a header but no rows"):
        require_rows(frame, path)


def test_missing_file_suggests_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_bytes(b"a\n1\n")
    with pytest.raises(DataError) as caught:
        read_frame(tmp_path / "patient.csv")
    assert (caught.value.message, caught.value.hint) == ("file not found", "did you mean 'patients.csv'?")


def test_a_folder_without_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no data files"):
        read_frame(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_permission_denied(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")
    path.chmod(0)
    with pytest.raises(DataError, match="permission denied"):
        read_frame(path)


def test_permission_denied_whoever_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a\n1\n")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(DataError, match="permission denied"):
        read_frame(path)


def test_unknown_extension(tmp_path: Path) -> None:
    error = failure(tmp_path, b"a\n1\n", name="t.cvs")
    assert error.message == "unknown file type of 't.cvs'"
    known = "csv, tsv, parquet, jsonl, arrow, xlsx, sets, sas7bdat, sav, dta"
    assert error.hint == f"did you mean 'csv'?; known formats: {known}"


def test_truncated_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"a": range(1000)}).write_parquet(tmp_path / "whole.parquet")
    data = (tmp_path / "whole.parquet").read_bytes()
    assert failure(tmp_path, data[:-50], name="t.parquet").message == "the Parquet data is damaged or cut off"


@pytest.mark.parametrize("n_rows", [1000, 1_000_000])
def test_truncated_gzip(tmp_path: Path, n_rows: int) -> None:
    data = gzip.compress(b"a,b\n" + b"".join(b"%d,x\n" % i for i in range(n_rows)), 1)
    assert failure(tmp_path, data[:-20], name="t.csv.gz").message == "the gzip data is damaged or cut off"


def test_truncated_zstd(tmp_path: Path) -> None:
    write_frame(pl.DataFrame({"a": range(100_000), "b": "x"}), tmp_path / "whole.csv.zst")
    data = (tmp_path / "whole.csv.zst").read_bytes()
    assert failure(tmp_path, data[:-20], name="t.csv.zst").message == "the zstd data is damaged or cut off"


@pytest.mark.parametrize("data", [b'{"a": 1}\n{"a": \n', b'["Zebulon"]\n', b"Zebulon"])
def test_broken_json_lines(tmp_path: Path, data: bytes) -> None:
    error = failure(tmp_path, data, name="t.jsonl")
    assert error.message == "not valid JSON lines"
    assert error.__cause__ is None


def test_nested_json(tmp_path: Path) -> None:
    error = failure(tmp_path, b'{"a": [1, 2]}\n', name="t.jsonl")
    assert error.message == "column 'a' has the unsupported type List(Int64)"


def test_infinity_cannot_be_json(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="column 'a'"):
        write_frame(pl.DataFrame({"a": [float("inf")]}), tmp_path / "t.jsonl")
