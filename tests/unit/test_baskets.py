"""Sets as codes, and counting what is in them."""

from __future__ import annotations

import random

import numpy as np
import polars as pl
import pytest

import oracle_sets
from tablecloak.data.coded_baskets import Baskets, join_items, split_items
from tablecloak.data.itemsets import (
    candidates_of,
    cost_of,
    count_itemsets,
    itemset_risks,
    rare_itemsets,
    require_countable,
)
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels import itemset_walk as itemsets
from tablecloak.models.km_anonymity import KmAnonymity


def random_sets(rng, *, n=12, n_items=6, longest=6):
    return [[rng.randrange(n_items) for _ in range(rng.randrange(longest + 1))] for _ in range(rng.randrange(n + 1))]


def walked(baskets, m, **more):
    merged = baskets.distinct()[0]
    found = {}
    for level in itemsets.walk(merged.items, merged.offsets, merged.weights, merged.n_items, size=m, **more):
        for itemset, support in zip(level.itemsets.tolist(), level.supports.tolist(), strict=True):
            assert tuple(itemset) not in found
            found[tuple(itemset)] = support
    return found


@pytest.mark.parametrize("multiset", [False, True])
@pytest.mark.parametrize("batch", [1, 5, itemsets.BATCH])
@pytest.mark.parametrize("dense", [0, itemsets.DENSE])
def test_supports_are_those_of_all_combinations(monkeypatch, batch, dense, multiset):
    monkeypatch.setattr(itemsets, "BATCH", batch)
    monkeypatch.setattr(itemsets, "DENSE", dense)
    rng = random.Random(7)
    for _ in range(25):
        sets, m = random_sets(rng), rng.randrange(1, 5)
        baskets = Baskets.from_lists(sets, 6, copies=multiset)
        assert walked(baskets, m) == oracle_sets.supports(sets, m, multiset=multiset)


def test_roots_restrict_the_first_item():
    baskets = Baskets.from_lists([[0, 1, 2], [1, 2], [2]], 3)
    assert walked(baskets, 2, n_roots=2) == {(0,): 1, (1,): 2, (0, 1): 1, (0, 2): 1, (1, 2): 2}


@pytest.mark.parametrize("multiset", [False, True])
@pytest.mark.parametrize("batch", [1, itemsets.BATCH])
def test_candidates_are_the_records_that_hold_the_rarest_items_of_each(monkeypatch, batch, multiset):
    monkeypatch.setattr(itemsets, "BATCH", batch)
    rng = random.Random(5)
    for _ in range(30):
        sets, m = random_sets(rng), rng.randrange(1, 5)
        baskets = Baskets.from_lists(sets, 6, copies=multiset)
        expected = oracle_sets.candidates(sets, m, multiset=multiset)
        assert candidates_of(baskets, m).tolist() == expected
        risks = itemset_risks(candidates_of(baskets, m), k=3)
        assert [(r.least, r.n_unique, r.n_below) for r in risks] == [
            (min(row, default=1), row.count(1), sum(n < 3 for n in row)) for row in expected
        ]
        for risk, row in zip(risks, expected, strict=True):
            assert risk.average == pytest.approx(sum(1 / n for n in row) / max(1, len(row)))
            assert risk.candidates == pytest.approx(sum(row) / max(1, len(row)))


def test_candidates_among_other_records():
    people, records = Baskets.from_lists([[0, 1], [2], [0, 3], []], 4), Baskets.from_lists([[0, 1], [0], [1, 2]], 4)
    assert candidates_of(people, 2, among=records).tolist() == [[2, 1, 2, 3], [1, 1, 2, 3]]
    risk = itemset_risks(candidates_of(people, 2, among=records))[1]
    assert risk.average == pytest.approx((1 + 1 + 1 / 2 + 1 / 3) / 4)


def test_rare_itemsets_do_not_begin_with_another():
    rng = random.Random(3)
    for _ in range(40):
        sets = random_sets(rng)
        counted = oracle_sets.supports(sets, 3)
        rare = {s for s, n in counted.items() if n < 2}
        first = {s for s in rare if not any(s[:size] in rare for size in range(1, len(s)))}
        found = rare_itemsets(Baskets.from_lists(sets, 6).distinct()[0], 3, 2)
        assert sorted(found) == sorted(first)


def test_stats_by_size():
    stats = count_itemsets(Baskets.from_lists([[0, 1], [0, 1], [0, 2], []], 3), 3, k=2)
    assert (stats.n_records, stats.n_itemsets, stats.lowest, stats.n_rare) == (4, (3, 2, 0), (1, 1, 0), (1, 1, 0))
    assert stats.rarest == 1


def test_no_items_at_all_satisfy_every_goal():
    model = KmAnonymity(k=5, m=2)
    stats = count_itemsets(Baskets.from_lists([[], []], 1), 2, k=5)
    assert model.check(stats)
    assert model.measure(stats) is None
    assert model.verdict(stats).to_dict()["achieved"] is None


def test_equal_baskets_are_merged():
    baskets = Baskets.from_lists([[2, 0], [], [0, 2], [1], [0, 2], [0], []], 3)
    merged, group = baskets.distinct()
    assert merged.n_baskets == 4
    assert merged.n_records == 7
    assert [merged.lists()[g] for g in group] == baskets.lists()
    assert sorted(zip(map(tuple, merged.lists()), merged.weights.tolist(), strict=True)) == [
        ((), 2), ((0,), 1), ((0, 2), 3), ((1,), 1)]  # fmt: skip


def test_recoding_leaves_out_and_merges():
    baskets = Baskets.from_lists([[0, 1, 2], [2]], 3)
    code_of = np.array([0, 0, -1])
    assert baskets.recoded(code_of, 1).lists() == [[0], []]
    assert baskets.recoded(code_of, 1, copies=True).lists() == [[0, 0], []]


def test_cells_are_split_and_joined():
    rows, items = split_items(pl.Series(["b; a ;b", "", None, " ; ", "é;日本 語"]), ";")
    assert rows.tolist() == [0, 0, 0, 4, 4]
    assert items.to_list() == ["b", "a", "b", "é", "日本 語"]
    baskets = Baskets.from_lists([[1, 0], []], 2)
    assert join_items(baskets, ["x", "y"], "|").to_list() == ["x|y", ""]


def test_separators_are_taken_literally():
    rows, items = split_items(pl.Series(["a||b||c.d"]), "||")
    assert rows.tolist() == [0, 0, 0]
    assert items.to_list() == ["a", "b", "c.d"]


def test_cost_counts_combinations():
    # 4 + 6 of the first, 2 + 1 of the second
    assert cost_of(Baskets.from_lists([[0, 1, 2, 3], [0, 1], []], 4), 2) == 13


def test_too_many_combinations_are_refused_with_what_fits():
    baskets = Baskets.from_lists([range(400)], 400)
    require_countable(baskets, 3)
    with pytest.raises(IncompatibleChoice, match="up to 400 items") as error:
        require_countable(baskets, 5)
    assert "m: 3" in str(error.value.hint)


def test_astronomic_costs_are_rounded():
    with pytest.raises(IncompatibleChoice, match=r"about 10\^\d\d itemsets"):
        require_countable(Baskets.from_lists([range(3000)], 3000), 8)
