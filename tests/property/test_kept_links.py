"""Bounds on how many links of originals stay after groups are shuffled, beside counting every shuffle."""

import math
from itertools import permutations, product

import numpy as np
import pytest

from tablecloak.data.group_origins import BlockRows, dealt, kept_links


def shown(groups, published, originals):
    return BlockRows(np.array(groups), np.array(published), np.array(originals))


def every_shuffle(groups, values):
    """The same values in all orders inside groups."""
    places = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    for orders in product(*(permutations(values[p].tolist()) for p in places)):
        moved = np.empty(len(values), np.int64)
        moved[np.concatenate(places)] = np.concatenate([np.array(order) for order in orders])
        yield moved


@pytest.mark.parametrize("seed", range(6))
def test_no_number_of_links_is_likelier_than_its_bound(seed):
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, 3, 7))
    left, right = rng.integers(0, rng.integers(2, 7), 7), rng.integers(0, rng.integers(2, 7), 7)
    before = shown(groups, left, left)
    shuffles = every_shuffle(groups, right)
    chances = np.array([kept_links(before, shown(groups, moved, right)).chance for moved in shuffles])
    for bound in np.unique(chances):
        assert math.log((chances <= bound).mean()) <= bound + 1e-9


def test_pairs_that_all_stay_are_as_likely_as_coins_that_all_fall_alike():
    groups, values = np.arange(60) // 2, np.arange(60)
    links = kept_links(shown(groups, values, values), shown(groups, values, values))
    assert (links.n_rows, links.n_kept) == (60, 60)
    assert links.chance == pytest.approx(-30 * math.log(2))
    assert links.are_kept


def test_one_exchange_in_every_large_group_hides_nobody():
    groups, values = np.arange(200) // 10, np.arange(200)
    moved = values.copy()
    moved[::10], moved[1::10] = values[1::10], values[::10]
    links = kept_links(shown(groups, values, values), shown(groups, moved, values))
    assert links.n_kept == 160
    assert links.are_kept


def test_links_that_every_shuffle_leaves_say_nothing():
    groups, left, right = np.arange(400) // 4, np.arange(400) % 2, np.arange(400) // 2 % 2
    assert kept_links(shown(groups, left, left), shown(groups, right, right)).chance == 0


def test_groups_whose_originals_are_known_are_compared():
    home, values = np.array([1, 1, 2, 2]), np.array([5, 6, 7, 8])
    right = shown([2, 1, 2, 1], [8, 6, 7, 5], values)
    assert dealt([right], home).is_possible
    wrong = shown([2, 1, 1, 2], [8, 6, 7, 5], values)
    assert dealt([wrong], home).wrong == ((1, 0), (2, 0))
