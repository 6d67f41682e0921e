"""Ugly files: what must be read from each is read, at once and in batches."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))  # benchmarks are not part of the installed package

from benchmarks.ugly import FILES, Asked, measured, ours, right_columns

from tablecloak.engines.disk.stream import stream_source
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_must_be_read_is_read(tmp_path, file):
    path = tmp_path / f"table.{file.suffix}"
    path.write_bytes(file.content)
    columns = ours(path)
    assert list(columns) == list(file.columns)
    for name, wanted in file.columns.items():
        if isinstance(wanted, Asked):
            assert columns[name].texts == wanted.texts
        else:
            assert columns[name] == wanted
            assert [type(value) for value in columns[name]] == [type(value) for value in wanted]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_batches_hold_what_the_whole_holds(tmp_path, file):
    path = tmp_path / f"table.{file.suffix}"
    path.write_bytes(file.content)
    source = Source(path, repair=True)
    names = sniff(source).names
    batches = list(stream_source(source, names, {}, 2))
    whole = read_frame(source)
    assert [row for batch in batches for row in batch.iter_rows()] == list(whole.iter_rows())


def test_there_are_enough_of_them_under_names_of_their_own():
    assert len(FILES) >= 20
    assert len({file.name for file in FILES}) == len(FILES)


def test_a_column_that_is_read_otherwise_is_not_called_right():
    file = next(f for f in FILES if f.name == "dates, day first")
    days = file.columns["born"]
    assert right_columns(file, {"born": days, "sex": file.columns["sex"]}) == 2
    assert right_columns(file, {"born": [str(day) for day in days], "sex": file.columns["sex"]}) == 1
    asked = next(f for f in FILES if f.name == "dates, day or month first")
    assert right_columns(asked, {"seen": asked.columns["seen"].texts, "sex": asked.columns["sex"]}) == 1


@pytest.mark.slow
def test_the_benchmark_finds_every_column_right_and_the_sniffer_alone_not(tmp_path):
    pytest.importorskip("duckdb", reason="the extra duckdb is not installed")
    figures = measured(tmp_path)
    assert all(n == right for _, n, _, right in figures)
    assert 0 < sum(theirs for _, _, theirs, _ in figures) < sum(n for _, n, _, _ in figures)
