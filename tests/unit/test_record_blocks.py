"""Blocks of delimited files: together they are the file, cell by cell, wherever they were cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.io.formats.delimited import read_block
from tablecloak.io.record_blocks import look_at, punctuation_of, record_blocks, stretches
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame

CELLS = ["a", "", '"b"', '"x,y"', '"line\nbreak"', '"\r\n"', '"say ""no"""', '""', "'=1", "Ünï", '"\n\n"', "1.5"]
TYPES = dict.fromkeys(("one", "two", "three"), ColumnType.TEXT)


def blocks_of(source: Source, most: int) -> list[tuple[int, int]]:
    punctuation = punctuation_of(source, sniff(source))
    assert punctuation is not None
    n_bytes = source.path.stat().st_size
    return record_blocks([look_at(source.path, s, punctuation) for s in stretches(n_bytes, most)], n_bytes)


def written(folder: Path, text: str) -> Source:
    (folder / "table.csv").write_bytes(text.encode())
    return Source(folder / "table.csv", delimiter=",", header=True, types=TYPES)


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
@pytest.mark.parametrize("most", [7, 16, 61, 400])
def test_blocks_put_together_are_the_file(eol: str, most: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(most)
    rows = [",".join(draw.choice(CELLS, 3).tolist()) for _ in range(150)]
    for place in draw.integers(1, 150, 5).tolist():
        rows.insert(place, "")
    source = written(tmp_path, "\ufeff" * (most == 16) + eol.join(["one,two,three", *rows, ""]))
    blocks = blocks_of(source, most)
    layout, names = sniff(source), list(TYPES)
    parts = [read_block(source, layout, names, block) for block in blocks]
    assert len(blocks) > 3
    assert all(part.height for part in parts[1:])  # the first may hold the header only
    assert pl.concat(parts).equals(read_frame(source, columns=names))


def test_one_column_keeps_its_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("one\n" + "".join(["a\n", "\n", "\n", "bc\n", "d\n"] * 9))
    source = Source(path, delimiter=",", header=True, types={"one": ColumnType.TEXT})
    parts = [read_block(source, sniff(source), ["one"], block) for block in blocks_of(source, 10)]
    assert len(parts) > 3
    assert pl.concat(parts).equals(read_frame(source))


@pytest.mark.parametrize("odd", ['5" pipe', '"a"b', '"open'])
def test_a_file_with_odd_quotes_is_one_block(odd: str, tmp_path: Path) -> None:
    source = written(tmp_path, "one,two,three\n" + "a,b,c\n" * 30 + f"{odd},b,c\n" + "a,b,c\n" * 30)
    assert blocks_of(source, 50) == [(0, source.path.stat().st_size)]


def test_text_that_is_not_utf8_is_one_block(tmp_path: Path) -> None:
    source = replace(written(tmp_path, "one,two,three\n" + "a,é,c\n" * 60), encoding="utf-8")
    assert len(blocks_of(source, 50)) > 3
    content = source.path.read_bytes()
    source.path.write_bytes(content[:-20] + b"\xff" + content[-20:])
    assert blocks_of(source, 50) == [(0, len(content) + 1)]


def test_what_is_compressed_is_read_in_one_piece(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    pl.DataFrame({"one": ["a"], "two": ["b"]}).write_csv(path, compression="gzip")
    source = Source(path)
    assert punctuation_of(source, sniff(source)) is None


def test_a_row_that_is_too_long_is_found_in_its_block(tmp_path: Path) -> None:
    source = written(tmp_path, "one,two,three\n" + "a,b,c\n" * 30 + "a,b,c,d\n" + "a,b,c\n" * 30)
    block = next(b for b in blocks_of(source, 50) if b[0] <= source.path.read_bytes().index(b",d") < b[1])
    with pytest.raises(DataError, match=r"has 4 fields, expected 3 \(rows and lines counted from byte \d+ of"):
        read_block(source, sniff(source), list(TYPES), block)
