"""The box search: prices only fall, the goal is kept, and boxes are found that small changes miss."""

from __future__ import annotations

import numpy as np
import pytest
from test_refine_kernels import RULES, block, holds, price_of

from effort import often
from kernel_forms import compiled
from random_tables import coded_table
from tablecloak.kernels.box_search import make_levels
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.refining import Steps
from tablecloak.kernels.rules import only_size

pytestmark = pytest.mark.slow
BOXES = Steps(sweeps=0, boxes=3, plain=1, work=10_000_000)


def searched(codes, weights, values, classes, prices, rules, levels, *, stop=0):
    found = classes.copy()
    told = compiled.search_boxes(
        codes, weights, values, found, prices, rules, steps=BOXES, seed=1, stop=np.full(1, stop), levels=levels
    )
    return told, found


def levels_of(seed, prices, n, *, mixes=False):
    """Levels of the block of the same seed."""
    table = coded_table(np.random.default_rng(seed), n)
    dims = np.arange(table.space.n_dims)
    return make_levels(table.space, prices, dims, np.random.default_rng(seed) if mixes else None)


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(20, 20 + often(2)))
def test_boxes_lower_the_price_and_keep_the_goal(seed, name, sets):
    codes, weights, values, classes, prices, rules = block(seed, name, sets=sets, n=240)
    levels = levels_of(seed, prices, 240, mixes=bool(seed % 2))
    (before, after), found = searched(codes, weights, values, classes, prices, rules, levels)
    assert before == price_of(codes, weights, classes, prices)
    assert after == price_of(codes, weights, found, prices)
    assert after < before
    for c in np.unique(found):
        part = found == c
        assert weights[part].sum() >= rules.min_size
        assert len(rules.kind) == 0 or holds(rules, values[:, 0], weights, part)


def test_nothing_is_searched_once_asked_to_stop():
    given = block(3, "size", n=240)
    (before, after), found = searched(*given, levels_of(3, given[4], 240), stop=1)
    assert before == after
    assert found.tolist() == given[3].tolist()


def two_codes(*, is_set):
    """One column with two values: (space, prices, how the kernel has a code)."""
    table = coded_table(np.random.default_rng(0), 30)
    space = table.space._replace(
        n_dims=1, kind=np.zeros(1, np.int64), has_missing=np.zeros(1, np.bool_), n_codes=np.full(1, 2),
        weight=np.ones(1), start=np.zeros(1, np.int64), tree_start=np.zeros(1, np.int64),
        lower=np.array([0.0, 1.0]), upper=np.array([0.0, 1.0]),
    )  # fmt: skip
    prices = make_prices(space, np.full(1, is_set))
    return space, prices, (lambda codes: np.left_shift(1, codes)) if is_set else np.array


@pytest.mark.parametrize("is_set", [False, True])
def test_two_mixed_classes_become_two_pure_ones(is_set):
    space, prices, coded = two_codes(is_set=is_set)
    codes = coded([[0], [0], [1], [1], [0], [0], [1], [1]])
    classes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    none = np.zeros((8, 0), np.int64)
    levels = make_levels(space, prices, np.zeros(1, np.int64), None)
    # no single record can leave for a cheaper class, and every record costs the whole domain
    (before, after), found = searched(codes, np.ones(8, np.int64), none, classes, prices, only_size(3), levels)
    assert before == 8 << 20
    assert after == 0
    assert all(len(set(codes[found == c, 0])) == 1 for c in found)


@pytest.mark.parametrize("is_set", [False, True])
def test_a_class_short_of_records_is_completed_from_one_that_can_spare_some(is_set):
    space, prices, coded = two_codes(is_set=is_set)
    codes = coded([[0]] * 5 + [[0]] * 2 + [[1]] * 4)
    classes = np.array([0] * 5 + [1] * 6)
    none = np.zeros((11, 0), np.int64)
    levels = make_levels(space, prices, np.zeros(1, np.int64), None)
    (_, after), found = searched(codes, np.ones(11, np.int64), none, classes, prices, only_size(4), levels)
    assert after == 0
    assert np.bincount(found).max() <= 7


def test_a_value_joins_a_set_where_another_can_then_be_left_out():
    """Two columns, k = 4: no class of either box alone is cheaper, one that takes a value and leaves one is."""
    table = coded_table(np.random.default_rng(0), 30)
    space = table.space._replace(
        n_dims=2, kind=np.zeros(2, np.int64), has_missing=np.zeros(2, np.bool_), n_codes=np.full(2, 8),
        weight=np.ones(2), start=np.array([0, 8]), lower=np.tile(np.arange(8.0), 2),
        upper=np.tile(np.arange(8.0), 2), tree_start=np.zeros(2, np.int64),
    )  # fmt: skip
    prices = make_prices(space, np.ones(2, np.bool_))
    pairs = [(0, 0), (0, 0), (1, 1), (1, 2), (0, 3), (0, 3), (4, 4), (5, 5), (1, 1), (1, 2), (4, 4), (5, 5)]
    codes = np.left_shift(1, np.array(pairs))
    classes = np.repeat(np.arange(3), 4)
    levels = make_levels(space, prices, np.arange(2), None)
    none = np.zeros((12, 0), np.int64)
    (before, after), found = searched(codes, np.ones(12, np.int64), none, classes, prices, only_size(4), levels)
    # classes now publish 2 + 3, 3 + 3 and 3 + 4 values; those of equal left sides publish 1 + 2, 1 + 2 and 2 + 2
    unit = before // (4 * (5 + 6 + 7))
    assert after <= 4 * (3 + 3 + 4) * unit
    assert {frozenset(np.flatnonzero(found == c).tolist()) for c in found} == {
        frozenset({0, 1, 4, 5}), frozenset({2, 3, 8, 9}), frozenset({6, 7, 10, 11}),
    }  # fmt: skip


@pytest.mark.parametrize("sets", [False, True])
def test_levels_begin_with_exact_codes_and_are_priced_by_what_they_span(sets):
    table = coded_table(np.random.default_rng(5), 200)
    is_set = np.array([sets and d.n_codes <= 64 and not d.type.is_ordered for d in table.domains])
    prices = make_prices(table.space, is_set)
    dims = np.arange(table.space.n_dims)[::-1].copy()
    levels = make_levels(table.space, prices, dims, None)
    assert levels.line in range(table.space.n_dims)
    assert sorted([*levels.order.tolist(), levels.line]) == list(range(table.space.n_dims))
    for place, d in enumerate(dims.tolist()):
        n = int(table.space.n_codes[d])
        own = range(int(levels.first[place]), int(levels.first[place + 1]))
        assert (len(own) == 0) == (place == levels.line)
        for rank, level in enumerate(own):
            begin = int(levels.start[level])
            groups, priced = levels.group[begin : begin + n], levels.price[begin : begin + n]
            assert (len(set(groups.tolist())) == n) == (rank == 0)
            for g in set(groups.tolist()):
                codes = np.flatnonzero(groups == g)
                cells = (np.left_shift(1, codes) if is_set[d] else codes)[:, None]
                others = prices.in_order(np.array([d]))
                whole = price_of(cells, np.ones(len(codes), np.int64), np.zeros(len(codes)), others)
                assert (priced[codes] * len(codes) == whole).all()
