"""Coding batches: the same codes as a dictionary gives, however many texts there are."""

import pickle

import numpy as np
import polars as pl
import pytest

from tablecloak.data.coder import MANY, Coder, Values
from tablecloak.errors import DataError

TEXTS = [f"[{i}, {i * 7919 % 10_007}]" for i in range(2 * MANY)]


def coded(n_texts, has_missing=True, seed=0):
    """A coder of some texts, the code of each, and rows that show them."""
    random = np.random.default_rng(seed)
    known = [*TEXTS[:n_texts], *([None] if has_missing else [])]
    codes = random.permutation(len(known))
    rows = [known[i] for i in random.integers(0, len(known), 3 * MANY)]
    return Coder("town", pl.Series("town", known, dtype=pl.String), codes), dict(zip(known, codes, strict=True)), rows


@pytest.mark.parametrize("n_texts", [3, MANY - 1, MANY, 2 * MANY])
@pytest.mark.parametrize("has_missing", [True, False])
def test_codes_are_those_of_a_dictionary(n_texts, has_missing):
    coder, known, rows = coded(n_texts, has_missing)
    for _ in range(2):
        assert coder.codes(pl.Series("town", rows, dtype=pl.String)).tolist() == [known[row] for row in rows]
        coder = pickle.loads(pickle.dumps(coder))
    assert coder.codes(pl.Series("town", [], dtype=pl.String)).tolist() == []


@pytest.mark.parametrize("n_texts", [3, 2 * MANY])
def test_a_text_that_was_not_there_is_refused_and_not_shown(n_texts):
    coder, _, rows = coded(n_texts)
    with pytest.raises(DataError, match="were not there when it was read first") as failure:
        coder.codes(pl.Series("town", [*rows, "secret"]))
    assert "secret" not in str(failure.value)


def test_texts_of_equal_hash_are_told_apart(monkeypatch):
    hashed = pl.Series.hash
    monkeypatch.setattr(pl.Series, "hash", lambda self: hashed(self) // 2**52 * 2**52)
    coder, known, rows = coded(2 * MANY)
    assert coder.codes(pl.Series("town", rows)).tolist() == [known[row] for row in rows]


def test_values_of_batches_are_their_union_in_order():
    _, _, rows = coded(2 * MANY)
    values = Values("town")
    for begin in range(0, len(rows), 2 * MANY):
        values.add(pl.Series("town", rows[begin : begin + 2 * MANY]))
    seen = set(rows)
    assert values.series().to_list() == [*sorted(seen - {None}), None]
    assert len(values) == len(seen)


BATCHES = {
    "categories": (pl.Enum(["red", "green", "blue", "grey"]), [["blue", None], ["red", "blue"], []]),
    "numbers": (pl.Int64, [[7, 7, 3], [None, -900], [5]]),
    "small numbers": (pl.UInt8, [[0, 255], [17, None]]),
    "numbers far apart": (pl.Int64, [[1], [-(2**63)], [2**63 - 1], [2]]),
    "unsigned": (pl.UInt64, [[2**64 - 1, 0], [5]]),
    "wide": (pl.Int128, [[2**100, 0], [5, None]]),
    "nothing": (pl.Int32, [[None], [], [None]]),
    "truth": (pl.Boolean, [[True], [None, False]]),
}


@pytest.mark.parametrize(("dtype", "batches"), BATCHES.values(), ids=BATCHES)
def test_values_of_batches_are_those_of_a_set(dtype, batches):
    values = Values("c")
    for batch in batches:
        values.add(pl.Series("c", batch, dtype=dtype))
    seen = {value for batch in batches for value in batch}
    assert values.series().to_list() == [*sorted(seen - {None}), *([None] if None in seen else [])]
    assert values.series().dtype == (pl.String if isinstance(dtype, pl.Enum) else dtype)
    assert len(values) == len(seen)


def test_days_and_categories_that_change_between_batches():
    days, shades = Values("day"), Values("shade")
    for begin in ("2020-02-28", "1870-01-01", "2020-03-01"):
        days.add(pl.Series([begin]).str.to_date())
    for categories in (["a", "b"], ["b", "c"], ["a", "b"]):
        shades.add(pl.Series(["b", categories[1]], dtype=pl.Enum(categories)))
    assert days.series().cast(pl.String).to_list() == ["1870-01-01", "2020-02-28", "2020-03-01"]
    assert shades.series().to_list() == ["b", "c"]


@pytest.mark.parametrize("n", [50, 13_000])
@pytest.mark.parametrize("dtype", [pl.String, pl.Enum(TEXTS[:300])])
def test_codes_are_added_to_words_as_they_are_looked_up(n, dtype):
    coder, known, rows = coded(200, has_missing=n < 100)
    for shift, add in ((0, None), (9, None), (9, "secret"), (0, TEXTS[250])):
        series = pl.Series("town", (rows * 2)[:n], dtype=dtype)
        words = np.full(n, 2**40, np.uint64)
        if add is None:
            coder.add_codes(words, series, np.uint64(shift))
            assert words.tolist() == [2**40 + (int(known[row]) << shift) for row in (rows * 2)[:n]]
        elif dtype == pl.String or add in TEXTS:
            with pytest.raises(DataError, match="were not there when it was read first"):
                coder.add_codes(words, pl.Series("town", [*series.to_list()[1:], add], dtype=dtype), np.uint64(shift))


def test_numbers_are_added_to_words_as_they_are_looked_up():
    values = pl.Series("age", [-7, 3, 5, 900], dtype=pl.Int64)
    coder = Coder("age", values, np.array([2, 0, 3, 1]))
    words = np.zeros(5, np.uint64)
    coder.add_codes(words, pl.Series("age", [3, 900, -7, 5, 3]), np.uint64(4))
    assert words.tolist() == [0, 1 << 4, 2 << 4, 3 << 4, 0]
    for odd in (4, -8, 901):
        with pytest.raises(DataError, match="were not there when it was read first"):
            coder.add_codes(words, pl.Series("age", [3, 900, -7, 5, odd]), np.uint64(4))
