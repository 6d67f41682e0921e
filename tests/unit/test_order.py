"""Sorting rows by their content, in memory and beyond it, against a plain sort."""

import datetime as dt
from random import Random

import numpy as np
import polars as pl
import pytest

from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.table import Order
from tablecloak.engines import row_order
from tablecloak.engines.disk.external_sort import KEY, RANK, Ranks, Sorter
from tablecloak.engines.row_order import content_order, plain_text, random_order
from tablecloak.engines.run_folder import RunFolder
from tablecloak.rng import Secret

SECRET = Secret.of(b"a secret of tests")


def table(seed, n=300):
    r = Random(seed)
    cells = {
        "whole": lambda: r.choice([-(2**63), 2**63 - 1, 0, 7, None]),
        "decimal": lambda: r.choice([0.0, -0.0, 1e300, -1e300, float("inf"), 2.5, None]),
        "text": lambda: r.choice(["", "a", "b", "aa", "ä", "日本", "a\n", "Z", None]),
        "day": lambda: r.choice([dt.date(1900, 1, 1), dt.date(2020, 2, 29), None]),
        "truth": lambda: r.choice([True, False, None]),
        "empty": lambda: None,
    }
    types = {"whole": pl.Int64, "decimal": pl.Float64, "text": pl.String, "day": pl.Date, "truth": pl.Boolean}
    return pl.DataFrame(
        {name: [cell() for _ in range(n)] for name, cell in cells.items()}, schema={**types, "empty": pl.String}
    )


def key(row):
    return [
        (c is not None, (c, np.signbit(c) == 0) if isinstance(c, float) else c if c is not None else 0) for c in row
    ]


def texts(rows):
    return [[repr(cell) for cell in row] for row in rows]  # -0.0 is not 0.0


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_sorted_as_python_sorts_them(seed):
    frame = table(seed)
    for form in (frame, frame.with_columns(pl.col("text").cast(pl.Categorical))):
        found = frame[content_order(form)].rows()
        assert texts(found) == texts(sorted(frame.rows(), key=key))


@pytest.mark.parametrize("few_ties", [0.0, 1.1])
@pytest.mark.parametrize("seed", range(6))
def test_rows_that_tie_in_their_first_letters_are_sorted_as_python_sorts_them(seed, few_ties, monkeypatch):
    monkeypatch.setattr(row_order, "MANY_TEXTS", 4)
    monkeypatch.setattr(row_order, "FEW_TIES", few_ties)
    r = Random(seed)
    frame = pl.DataFrame(
        {
            "text": ["alphabet" + "".join(r.choices("xyz", k=r.randrange(9))) for _ in range(300)],
            "whole": [r.choice([None, r.randrange(-(2**62), 2**62)]) for _ in range(300)],
            "other": [r.choice([None, "a", "b"]) for _ in range(300)],
        }
    )
    for some in (frame, pl.concat([frame, frame.head(20)]), frame.head(8)):
        assert texts(some[content_order(some)].rows()) == texts(sorted(some.rows(), key=key))


@pytest.mark.parametrize("letters", ["ab", "a\0", "aé€😀", "0123456789."])
def test_many_short_texts_are_sorted_as_python_sorts_them(letters, monkeypatch):
    monkeypatch.setattr(row_order, "MANY_TEXTS", 4)
    for seed in range(60):
        r = Random(seed)
        texts = ["".join(r.choices(letters, k=r.randrange(r.choice([3, 9, 17])))) for _ in range(r.randrange(4, 50))]
        group = [r.randrange(2) for _ in texts]
        texts = [None if r.random() < 0.1 else text for text in texts]
        frame = pl.DataFrame({"group": group, "text": texts}, schema={"group": pl.Int64, "text": pl.String})
        wanted = sorted(zip(group, texts, strict=True), key=lambda row: (row[0], row[1] is not None, row[1] or ""))
        assert frame[content_order(frame)].rows() == wanted


def test_columns_that_come_first_are_compared_first():
    frame = pl.DataFrame({"a": [1, 2, 3], "b": ["y", "x", "x"]})
    assert content_order(frame, ["b"]).tolist() == [1, 2, 0]


def test_nothing_to_sort():
    assert content_order(pl.DataFrame({"a": pl.Series([], dtype=pl.Int64)})).tolist() == []
    assert sorted(content_order(pl.DataFrame({"a": [1, 1]})).tolist()) == [0, 1]


def test_random_orders_are_permutations_that_only_the_secret_gives():
    orders = [random_order(70_000, secret) for secret in (SECRET, SECRET, Secret.of(b"another one"))]
    assert np.array_equal(np.sort(orders[0]), np.arange(70_000))
    assert np.array_equal(orders[0], orders[1])
    assert (orders[0] == orders[2]).mean() < 0.01


def test_categories_are_those_that_occur():
    series = pl.Series("a", ["b", "a", "b"], dtype=pl.Enum(["z", "b", "a"])).head(2)
    assert plain_text(series).dtype == pl.Enum(["a", "b"])
    assert plain_text(series).to_list() == ["b", "a"]


def test_classes_with_the_same_labels_share_a_place():
    age = ClassLabels(("[3, 4]", "[1, 2]"), np.array([0, 1, 1, 2], np.uint32))  # the last is missing
    town = ClassLabels(("b", "a"), np.array([0, 1, 1, 0], np.uint32))
    ranks = Ranks.of([age, town], 5)
    assert ranks.of_class.tolist() == [3, 2, 2, 0, 1]  # missing, suppressed (*), [1, 2] a, [3, 4] b
    assert ranks.sizes(np.array([5, 1, 2, 7, 4])).tolist() == [7, 4, 3, 5]


def test_suppressed_rows_share_no_place_with_means_that_are_missing():
    means = ClassLabels(("1.5", "10.0"), np.array([1, 2, 0], np.uint32), are_numbers=True)  # the second is missing
    ranks = Ranks.of([means], 4)
    assert ranks.of_class.tolist() == [2, 0, 1, 3]
    assert ranks.classes.tolist() == [1, 2, 0, 3]


N_ROWS = 200


@pytest.mark.parametrize("order", [Order.CONTENT, Order.RANDOM])
@pytest.mark.parametrize("most_bytes", [400, 3_000, 10**9])
def test_beyond_memory_rows_are_sorted_the_same_way(order, most_bytes):
    frame = table(1, N_ROWS).with_columns(pl.Series(RANK, np.random.default_rng(2).integers(0, 3, N_ROWS), pl.UInt32))
    frame = frame.select(RANK, pl.exclude(RANK))
    folder = RunFolder.temporary()
    sizes = np.bincount(frame[RANK].to_numpy(), minlength=3)
    keyed = frame.with_columns(pl.Series(f"{KEY}0", np.arange(N_ROWS, dtype=np.uint64)))
    sorter = Sorter(folder, sizes, most_bytes, order, SECRET, lambda _: None)
    found = sorter.sort(keyed.iter_slices(64), frame.columns[1:], 1)
    rows = pl.concat([part.with_columns(pl.Series(RANK, ranks)).select(frame.columns)
                      for part, ranks in found.frames(frame.columns[1:])])  # fmt: skip
    expected = frame[content_order(frame)]
    expected = expected if order is Order.CONTENT else expected[random_order(N_ROWS, SECRET)]
    assert texts(rows.rows()) == texts(expected.rows())
    originals = found.keys.load()[0].astype(np.int64)
    assert sorted(originals) == list(range(N_ROWS))
    assert texts(frame[originals].rows()) == texts(expected.rows())
    if most_bytes < 10**9:
        again = Sorter(folder, sizes, most_bytes, order, SECRET, lambda _: None).sort(iter(()), frame.columns[1:], 1)
        assert again.parts == found.parts
    folder.discard()
