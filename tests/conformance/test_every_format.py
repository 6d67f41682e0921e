"""What every registered format promises: what is written is read again, and broken files are refused quietly."""

from __future__ import annotations

import polars as pl
import pytest
from checks_kinds import check_bad_bytes, check_format, odd_table

from tablecloak.io.formats import formats
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame

SETS = pl.DataFrame({"items": ["milk,bread", "beer", "milk,beer,日本"]})
PLAIN = ("csv", "tsv", "sets")  # any text is a table of one column


@pytest.mark.parametrize("entry", [f for f in formats() if f.write and f.is_table], ids=lambda f: f.name)
def test_what_is_written_is_read(entry, tmp_path):
    check_format(entry, tmp_path, odd_table())


@pytest.mark.parametrize("entry", [f for f in formats() if f.name not in PLAIN], ids=lambda f: f.name)
def test_bytes_that_are_no_table_are_refused(entry, tmp_path):
    if entry.write is None:
        pytest.importorskip("pyreadstat")
    check_bad_bytes(entry, tmp_path)


@pytest.mark.parametrize("entry", [f for f in formats() if f.write and not f.is_table], ids=lambda f: f.name)
def test_sets_are_read_as_they_were_written(entry, tmp_path):
    path = tmp_path / "first.txt"
    write_frame(SETS, path, format=entry.name)
    check_format(entry, tmp_path, read_frame(Source(path, format=entry.name)))
