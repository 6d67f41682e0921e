"""Texts of values that are written when they are asked for are those that are kept, and are found among others."""

import pickle
from datetime import date, timedelta

import polars as pl
import pytest

from tablecloak.data.domain import sensitive_of
from tablecloak.data.table import ColumnType
from tablecloak.stats import value_labels
from tablecloak.stats.value_labels import ValueLabels, labels_of

NUMBERS = [0.5 * i - 7 for i in range(40)]
DAYS = [date(2020, 2, 20) + timedelta(days=3 * i) for i in range(40)]
CASES = {
    "numbers": (NUMBERS, ColumnType.FLOAT, [repr(v) for v in NUMBERS]),
    "whole numbers": (list(range(-5, 35)), ColumnType.INTEGER, [str(v) for v in range(-5, 35)]),
    "days": (DAYS, ColumnType.DATE, [f"{d.year}-{d.month:02}-{d.day:02}" for d in DAYS]),
}


@pytest.fixture
def written(monkeypatch):
    monkeypatch.setattr(value_labels, "KEPT_UP_TO", 10)
    monkeypatch.setattr(value_labels, "WRITTEN_AT_ONCE", 7)


def domain(values, column_type, *, has_missing):
    series = pl.Series("value", [*values, *([None] if has_missing else [])])
    return sensitive_of(series, column_type)[0]


@pytest.mark.parametrize("has_missing", [False, True])
@pytest.mark.parametrize(("values", "column_type", "texts"), CASES.values(), ids=CASES)
@pytest.mark.usefixtures("written")
def test_written_texts_are_those_of_the_values_in_their_order(values, column_type, texts, has_missing):
    labels = domain(values, column_type, has_missing=has_missing).labels
    expected = [None, *texts] if has_missing else texts
    assert isinstance(labels, ValueLabels)
    assert list(labels) == expected
    assert len(labels) == len(expected)
    assert [labels[i] for i in range(len(expected))] == expected
    assert labels[:3] == tuple(expected[:3])
    assert labels[-1] == expected[-1]
    assert all(text in labels for text in expected)
    assert (None in labels) == has_missing
    assert "nobody" not in labels
    assert list(pickle.loads(pickle.dumps(labels))) == expected


@pytest.mark.parametrize("own_missing", [False, True])
@pytest.mark.parametrize("other_missing", [False, True])
@pytest.mark.parametrize("n_own", [5, 40])  # few are kept as texts
@pytest.mark.usefixtures("written")
def test_values_are_found_among_others_of_their_column(n_own, own_missing, other_missing):
    own = domain([0.25, *NUMBERS[3:n_own], 99.0], ColumnType.FLOAT, has_missing=own_missing)
    other = domain(NUMBERS[:35], ColumnType.FLOAT, has_missing=other_missing)
    place = {text: i for i, text in enumerate([*([None] if other_missing else []), *map(repr, NUMBERS[:35])])}
    texts = [*([None] if own_missing else []), *map(repr, sorted([0.25, *NUMBERS[3:n_own], 99.0]))]
    assert own.codes_in(other).tolist() == [place.get(text, -1) for text in texts]


@pytest.mark.parametrize("own_missing", [False, True])
@pytest.mark.parametrize("other_missing", [False, True])
@pytest.mark.usefixtures("written")
def test_the_same_values_are_found_in_their_order(own_missing, other_missing):
    own, other = (domain(DAYS, ColumnType.DATE, has_missing=missing) for missing in (own_missing, other_missing))
    nothing = [0 if other_missing else -1] if own_missing else []
    assert own.codes_in(other).tolist() == [*nothing, *range(int(other_missing), 40 + int(other_missing))]


def test_texts_of_few_values_and_of_categories_are_kept(monkeypatch):
    assert labels_of(pl.Series([1.5, 2.5]), has_missing=True) == (None, "1.5", "2.5")
    monkeypatch.setattr(value_labels, "KEPT_UP_TO", 1)
    assert labels_of(pl.Series(["a", "b"]), has_missing=False) == ("a", "b")
