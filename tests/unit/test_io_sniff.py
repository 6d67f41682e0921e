"""The layout of a file is found from a sample."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tablecloak.data.table import ColumnType
from tablecloak.io.cells import infer_type
from tablecloak.io.formats._text import HEAD_BYTES
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source


def layout_of(tmp_path: Path, data: bytes, name: str = "data.csv", **declared: object) -> Layout:
    path = tmp_path / name
    path.write_bytes(data)
    return sniff(Source(path, **declared))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "-5", "0"], "integer"),
        (["1", "01234"], "text"),
        (["1", "+5"], "text"),
        (["9223372036854775807", "-9223372036854775808"], "integer"),
        (["9223372036854775808", "1"], "text"),
        (["1", "2.5", "1e-3", ".5"], "float"),
        (["1.5", "007"], "text"),
        (["1.5", "99999999999999999999"], "text"),
        (["NaN", "inf", "-inf", "1"], "float"),
        (["true", "false"], "boolean"),
        (["True", "False"], "text"),
        (["2020-01-31", "1999-12-01"], "date"),
        (["2020-02-30"], "text"),
        (["2020-01-31", "2020-01-31T10:00:00"], "text"),
        (["2020-01-31T10:00:00", "2020-01-31 10:00:00.5"], "datetime"),
        (["2020-01-31T10:00:00Z"], "text"),
        ([" 1"], "text"),
        ([], "text"),
    ],
)
def test_type_loses_nothing_when_written_again(cells: list[str], expected: str) -> None:
    assert infer_type(set(cells)) == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    rows = [["name", "note", "n"], ["x", '"a,b;c|d"', "1"], ["y", '""', "2"]]
    data = "\n".join(delimiter.join(row) for row in rows).encode()
    found = layout_of(tmp_path, data)
    assert (found.delimiter, found.names) == (delimiter, ("name", "note", "n"))


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "utf-8-sig"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("cp1252", "cp1252"),
    ],
)
def test_encoding_is_found(tmp_path: Path, encoding: str, expected: str) -> None:
    found = layout_of(tmp_path, "città,n\nForlì,1\n".encode(encoding))
    assert (found.encoding, found.names) == (expected, ("città", "n"))


def test_bytes_that_cp1252_lacks_are_latin1(tmp_path: Path) -> None:
    assert layout_of(tmp_path, b"a,b\n\x81,1\n").encoding == "latin-1"


def test_first_row_of_data_is_not_a_header(tmp_path: Path) -> None:
    found = layout_of(tmp_path, b"39,x,2.5\n50,y,3\n")
    assert not found.header
    assert [(c.name, c.type.value) for c in found.columns] == [
        ("column_1", "integer"),
        ("column_2", "text"),
        ("column_3", "float"),
    ]


def test_declared_header_wins(tmp_path: Path) -> None:
    assert layout_of(tmp_path, b"2019,2020\n1,2\n", header=True).names == ("2019", "2020")


def test_text_only_file_has_a_header(tmp_path: Path) -> None:
    assert layout_of(tmp_path, b"a,b\nx,y\n").header


def test_compression_is_found_by_content(tmp_path: Path) -> None:
    found = layout_of(tmp_path, gzip.compress(b"a,b\n1,2\n"))
    assert (found.compression, found.names) == ("gz", ("a", "b"))


def test_types_after_the_head_are_seen(tmp_path: Path) -> None:
    line = b"1,x\n"
    tail = b"oops,x\n" * (HEAD_BYTES // 7)
    found = layout_of(tmp_path, b"a,b\n" + line * (HEAD_BYTES // 4) + tail)
    assert found.type_of("a") is ColumnType.TEXT


def test_row_estimate_is_close(tmp_path: Path) -> None:
    n = 300_000
    found = layout_of(tmp_path, b"a,b\n" + b"12,xy\n" * n)
    assert found.n_rows_hint == pytest.approx(n, rel=0.01)


def test_declared_type_wins(tmp_path: Path) -> None:
    assert layout_of(tmp_path, b"a,b\n1,2\n", types={"a": ColumnType.TEXT}).type_of("a") is ColumnType.TEXT
