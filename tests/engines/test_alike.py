"""Every engine counts who stands alone as a plain loop does, and looks at whole keys."""

from collections import Counter

import polars as pl
import pytest

import clusters
from engine_tables import people
from tablecloak.engines.disk.engine import DuckEngine
from tablecloak.engines.equal_rows import Alike, words_of
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.sources import Source

SETS = [("age",), ("age", "town"), ("age", "town", "born", "weight"), ("id",), ("town", "note")]


@pytest.fixture(params=["local", "duckdb", pytest.param("spark", marks=clusters.ON_SPARK)])
def any_engine(request):
    if request.param == "spark":
        return request.getfixturevalue("spark")
    return LocalEngine() if request.param == "local" else DuckEngine(memory=1 << 30)


@pytest.fixture
def table(any_engine, tmp_path):
    frame = people()
    frame.write_parquet(tmp_path / "people.parquet")
    return frame, any_engine.read(Source(tmp_path / "people.parquet"), columns=frame.columns, categorical=["town"])


def test_records_that_stand_alone_are_those_of_a_plain_loop(any_engine, table):
    frame, read = table
    expected = []
    for columns in SETS:
        sizes = Counter(frame.select(columns).rows())
        alone = sum(size == 1 for size in sizes.values())
        expected.append(Alike(frame.height, alone, len(sizes), min(sizes.values())))
    assert any_engine.alike(read, SETS) == expected


def test_persons_who_stand_alone_are_those_of_a_plain_loop(any_engine, table):
    frame, read = table
    expected = []
    for columns in SETS[:3]:
        persons = {}
        for row, person in zip(frame.select(columns).rows(), frame["note"].to_list(), strict=True):
            persons.setdefault(row, set()).add(person)
        alone = {person for of_row in persons.values() if len(of_row) == 1 for person in of_row}
        sizes = [len(of_row) for of_row in persons.values()]
        n_persons = frame["note"].n_unique()
        expected.append(Alike(frame.height, len(alone), len(sizes), min(sizes), n_persons, sum(sizes)))
    assert any_engine.alike(read, SETS[:3], person="note") == expected
    if isinstance(any_engine, DuckEngine):  # in parts
        any_engine.work = 20_000
        assert any_engine.alike(read, SETS[:3], person="note") == expected


def test_some_rows_are_whole_keys(any_engine, table):
    frame, read = table
    some = any_engine.some_rows(read, ["age", "town"], most=frame.height // 3, together="age")
    assert 0 < some.height < frame.height
    of_all = frame.group_by("age").len()
    joined = some.group_by("age").len().join(of_all, on="age", nulls_equal=True)
    assert (joined["len"] == joined["len_right"]).all()
    assert joined.height == some["age"].n_unique()


def test_rows_of_stars_are_left_out(any_engine, tmp_path):
    pl.DataFrame({"a": ["x", "*", "y", "*"], "n": [1, None, 2, 3]}).write_parquet(tmp_path / "a.parquet")
    read = any_engine.read(Source(tmp_path / "a.parquet"), columns=["a", "n"], categorical=[])
    assert any_engine.alike(read, [("a", "n")], stars=("a", "n")) == [Alike(3, 3, 3, 1)]


def test_a_text_has_the_same_word_however_it_is_stored():
    """Batches of one release may list other categories, and workers hold plain text."""
    texts = pl.Series("town", ["Bern", None, "Thun", "Bern"])
    words = words_of(texts)
    assert (words_of(texts.cast(pl.Enum(["Thun", "Biel", "Bern"]))) == words).all()
    assert (words_of(texts.cast(pl.Categorical)) == words).all()
    assert len(set(words.tolist())) == 3
