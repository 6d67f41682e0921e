"""Headers are repaired where that is asked for, and every repair says why without showing a cell."""

from __future__ import annotations

import codecs
from datetime import date

import polars as pl
import pytest

from tablecloak.engines.disk.stream import stream_source
from tablecloak.errors import DataError
from tablecloak.io.header import LONGEST_NAME, repaired_names
from tablecloak.io.sniff import proposed_header, sniff
from tablecloak.io.sources import HeaderUnclear, Source
from tablecloak.io.tabular import read_frame


def written(folder, content, name="table.csv"):
    data = content if isinstance(content, bytes) else content.encode()
    (folder / name).write_bytes(data)
    return Source(folder / name, repair=True)


def test_names_that_occur_twice_get_numbers():
    header = repaired_names(["age", "sex", "age", "age"])
    assert header.names == ("age", "sex", "age_2", "age_3")
    assert [(r.column, r.reason) for r in header.repairs] == [
        (3, "the same name as column 1"),
        (4, "the same name as column 1"),
    ]


def test_a_new_name_never_takes_one_that_is_there():
    assert repaired_names(["a", "a_2", "a", "a_2", "column_6", ""]).names == (
        "a", "a_2", "a_3", "a_2_2", "column_6", "column_6_2",
    )  # fmt: skip


@pytest.mark.parametrize("name", ["x" * 200, '"age"', "'age'", "“age”", "age\nin years", " age ", "", '""', "a\0b"])
def test_spoilt_names_become_short_plain_ones_and_say_why(name):
    header = repaired_names([name, "sex"])
    new = header.names[0]
    assert 0 < len(new) <= LONGEST_NAME
    assert not set(new) & set("\"'“”\n\0")
    assert new == new.strip()
    assert [r.column for r in header.repairs] == [1]
    assert header.repairs[0].reason


def test_good_names_stay_as_they_are():
    names = ["age", "Date of birth", "größe", "a/b (%)", "x" * LONGEST_NAME]
    assert repaired_names(names).names == tuple(names)
    assert repaired_names(names).repairs == ()


def test_names_cut_to_the_same_start_still_differ():
    names = repaired_names(["x" * 100 + "1", "x" * 100 + "2", "x" * 100 + "3"]).names
    assert len(set(names)) == 3
    assert all(len(name) <= LONGEST_NAME for name in names)


def test_a_table_with_doubled_and_empty_names_is_read_with_its_repaired_ones(tmp_path):
    source = written(tmp_path, "age,age,,sex\n30,1,2,m\n31,2,2,f\n")
    frame = read_frame(source)
    assert frame.to_dict(as_series=False) == {
        "age": [30, 31], "age_2": [1, 2], "column_3": [2, 2], "sex": ["m", "f"],
    }  # fmt: skip


def test_without_the_request_nothing_is_repaired_and_the_error_says_how_to_ask(tmp_path):
    source = written(tmp_path, "age,age\n30,1\n31,2\n")
    with pytest.raises(DataError, match="duplicate column names") as refused:
        sniff(Source(source.path))
    assert "input.repair: true" in str(refused.value.hint)


def test_a_row_that_may_be_a_record_is_taken_for_one_and_not_shown(tmp_path):
    source = written(tmp_path, "Anna Keller,nurse\nPeter Moser,cook\nMaria Luca,smith\nAli Demir,clerk\n")
    with pytest.raises(HeaderUnclear) as question:
        sniff(Source(source.path))
    assert "input.repair: true" in str(question.value.hint)
    layout = sniff(source)
    assert layout.names == ("column_1", "column_2")
    assert read_frame(source).height == 4
    assert not any("Keller" in repair.reason or "nurse" in repair.reason for repair in layout.repairs)


def test_a_repaired_name_that_the_policy_knows_tells_that_there_is_a_header(tmp_path):
    source = written(tmp_path, "'who',what\nPeter Moser,cook\nMaria Luca,smith\nAli Demir,clerk\n")
    layout = sniff(Source(source.path, repair=True, expected=frozenset(["who"])))
    assert layout.names == ("who", "what")


@pytest.mark.parametrize("header", [True, False])
def test_what_is_said_about_the_header_is_kept(tmp_path, header):
    source = written(tmp_path, "a,b\nc,d\ne,f\n")
    layout = sniff(Source(source.path, repair=True, header=header))
    assert layout.names == (("a", "b") if header else ("column_1", "column_2"))


def test_a_mark_of_utf8_on_another_encoding_is_left_out(tmp_path):
    source = written(tmp_path, codecs.BOM_UTF8 + "age,city\n30,Zürich\n31,Genève\n".encode("cp1252"))
    with pytest.raises(DataError) as refused:
        read_frame(Source(source.path))
    assert "input.repair: true" in str(refused.value.hint)
    assert read_frame(source).to_dict(as_series=False) == {"age": [30, 31], "city": ["Zürich", "Genève"]}
    assert "cp1252" in sniff(source).repairs[0].reason


def test_a_mark_of_utf8_is_no_part_of_a_name_where_the_encoding_is_given(tmp_path):
    source = written(tmp_path, codecs.BOM_UTF8 + "city,age\nZürich,30\n".encode("cp1252"))
    assert sniff(Source(source.path, encoding="cp1252")).names == ("city", "age")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_lines_above_the_table_are_left_out(tmp_path, encoding):
    text = 'Report\n"made, by\nhand"\n\nage;sex;city\n30;m;Zürich\n31;f;Thun\n32;m;Olten\n33;m;Chur\n'
    source = written(tmp_path, text.encode(encoding))
    frame = read_frame(source)
    assert frame.columns == ["age", "sex", "city"]
    assert frame["age"].to_list() == [30, 31, 32, 33]
    assert frame["city"][0] == "Zürich"


def test_a_header_without_a_name_for_row_names_is_repaired(tmp_path):
    source = written(tmp_path, '"age","sex"\n"1",30,"m"\n"2",31,"f"\n"3",32,"m"\n')
    frame = read_frame(source)
    assert frame.columns == ["column_1", "age", "sex"]
    assert frame["age"].to_list() == [30, 31, 32]


def test_rows_that_end_in_a_delimiter_get_an_empty_last_column(tmp_path):
    source = written(tmp_path, "age,sex\n30,m,\n31,f,\n32,m,\n")
    frame = read_frame(source)
    assert frame.columns == ["age", "sex", "column_3"]
    assert frame["column_3"].null_count() == 3


def test_empty_names_beyond_the_columns_are_left_out(tmp_path):
    source = written(tmp_path, "age,sex,,\n30,m\n31,f\n32,m\n")
    assert read_frame(source).to_dict(as_series=False) == {"age": [30, 31, 32], "sex": ["m", "f", "m"]}


def test_a_proposal_is_made_from_text_alone():
    header = proposed_header("age,age,\n30,1,2\n31,2,2\n")
    assert header.names == ("age", "age_2", "column_3")
    assert [r.column for r in header.repairs] == [2, 3]


# Formats with typed columns ------------------------------------------------------------------------------------------


def sheet(path, rows):
    """A workbook as somebody types it in: cells one by one, None left out."""
    workbooks = pytest.importorskip("xlsxwriter")
    with workbooks.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as workbook:
        table = workbook.add_worksheet()
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                if cell is not None:
                    table.write(at, column, cell)
    return path


RECORDS = [[30 + i, i, "fm"[i % 2], date(2020, 1, 1 + i)] for i in range(9)]


def test_a_sheet_with_doubled_empty_and_overlong_names_is_refused_as_a_text_file_is(tmp_path):
    path = sheet(tmp_path / "a.xlsx", [["age", "age", None, "x" * 99], *RECORDS])
    with pytest.raises(DataError, match="duplicate column names: 'age'") as refused:
        sniff(Source(path))
    assert "input.repair: true" in str(refused.value.hint)
    header = proposed_header(Source(path))
    assert header.names == ("age", "age_2", "column_3", "x" * LONGEST_NAME)
    assert [(r.column, r.reason) for r in header.repairs] == [
        (2, "the same name as column 1"), (3, "no name"), (4, f"longer than {LONGEST_NAME} characters"),
    ]  # fmt: skip
    frame = read_frame(Source(path, repair=True))
    assert frame.columns == list(header.names)
    assert frame.rows() == [tuple(row) for row in RECORDS]


def test_a_sheet_without_a_header_is_read_as_a_text_file_without_one(tmp_path):
    path = sheet(tmp_path / "a.xlsx", RECORDS)
    for source in (Source(path), Source(path, header=False), Source(path, repair=True)):
        assert sniff(source).header is False
        assert read_frame(source).rows() == [tuple(row) for row in RECORDS]
        assert read_frame(source).columns == ["column_1", "column_2", "column_3", "column_4"]


def test_a_first_row_of_a_sheet_that_may_be_a_record_is_asked_about_and_taken_for_one_in_repairs(tmp_path):
    rows = [["Anna Keller", "nurse"], ["Peter Moser", "cook"], ["Maria Luca", "smith"], ["Ali Demir", "clerk"]]
    path = sheet(tmp_path / "a.xlsx", rows)
    with pytest.raises(HeaderUnclear) as question:
        sniff(Source(path))
    assert "input.repair: true" in str(question.value.hint)
    assert "Keller" not in str(question.value)
    layout = sniff(Source(path, repair=True))
    assert layout.names == ("column_1", "column_2")
    assert not any("Keller" in repair.reason for repair in layout.repairs)
    assert read_frame(Source(path, repair=True)).height == 4


@pytest.mark.parametrize("above", [[["Report 2020"]], [["Report 2020"], []], [[], ["Report"], ["by hand"], []]])
def test_rows_above_the_table_of_a_sheet_are_left_out_in_repairs(tmp_path, above):
    path = sheet(tmp_path / "a.xlsx", [*above, ["age", "n", "sex", "day"], *RECORDS])
    with pytest.raises(DataError) as refused:
        sniff(Source(path))
    assert "input.repair: true" in str(refused.value.hint)
    frame = read_frame(Source(path, repair=True))
    assert frame.columns == ["age", "n", "sex", "day"]
    assert frame.rows() == [tuple(row) for row in RECORDS]
    assert "above the table" in sniff(Source(path, repair=True)).repairs[0].reason


def test_a_table_that_begins_somewhere_in_the_sheet_is_read_as_it_is(tmp_path):
    path = sheet(tmp_path / "a.xlsx", [[], [], [None, "age", "n", "sex", "day"], *([None, *row] for row in RECORDS)])
    frame = read_frame(Source(path))
    assert frame.columns == ["age", "n", "sex", "day"]
    assert frame.rows() == [tuple(row) for row in RECORDS]


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "arrow"])
def test_names_of_typed_files_are_repaired_where_that_is_asked_for(tmp_path, kind):
    frame = pl.DataFrame({"it's": [1, 2], "": ["a", "b"], "x" * 99: [0.5, 1.5], "its": [3, 4]})
    write = {"parquet": frame.write_parquet, "jsonl": frame.write_ndjson, "arrow": frame.write_ipc}[kind]
    write(tmp_path / f"a.{kind}")
    source = Source(tmp_path / f"a.{kind}", repair=True)
    names = ("its_2", "column_2", "x" * LONGEST_NAME, "its")
    assert sniff(source).names == names
    assert [r.column for r in sniff(source).repairs] == [1, 2, 3]
    assert read_frame(source).rows() == frame.rows()
    assert read_frame(source, columns=["its"])["its"].to_list() == [3, 4]
    assert sniff(Source(source.path)).names == tuple(frame.columns)


def test_every_file_of_a_folder_is_repaired_by_its_own_names(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    pl.DataFrame({"a'ge": [1, 2], "sex": ["f", "m"]}).write_parquet(folder / "1.parquet")
    pl.DataFrame({"sex": ["m", "m"], "age": [3, 4]}).write_parquet(folder / "2.parquet")
    source = Source(folder, repair=True)
    assert read_frame(source).to_dict(as_series=False) == {"age": [1, 2, 3, 4], "sex": ["f", "m", "m", "m"]}
    batches = list(stream_source(source, ["age"], {}, 1))
    assert [age for batch in batches for age in batch["age"]] == [1, 2, 3, 4]


def test_a_parquet_file_with_two_columns_of_one_name_says_so(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table([[1], [2]], names=["age", "age"]), tmp_path / "a.parquet")
    with pytest.raises(DataError, match="two columns of the file have the same name"):
        sniff(Source(tmp_path / "a.parquet", repair=True))
