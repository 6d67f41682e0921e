"""The auction: classes keep their size, and what it says it saves is saved."""

from __future__ import annotations

import numpy as np
import pytest

from effort import often
from kernel_forms import compiled, plain
from random_tables import coded_table
from tablecloak.kernels.auction import AuctionSteps
from tablecloak.kernels.box_search import make_levels
from tablecloak.kernels.prices import cell_prices, make_prices

STEPS = AuctionSteps(listing=200_000, work=60_000)
LEAST = 4


def table_with_classes(seed, n=160):
    """Codes, weights, classes of neighbours that are large enough, prices and levels."""
    random = np.random.default_rng(seed)
    table = coded_table(random, n)
    codes = np.stack([table.quasi_codes(d) for d in range(len(table.domains))], axis=1).astype(np.int64)
    weights = random.integers(1, 3, len(codes))
    classes = np.empty(len(codes), np.int64)
    classes[np.lexsort(codes.T)] = np.minimum(np.arange(len(codes)) // 5, max(0, len(codes) // 5 - 1))
    prices = make_prices(table.space, np.zeros(codes.shape[1], bool))
    levels = make_levels(table.space, prices, np.arange(codes.shape[1]), None, has_windows=False)
    return codes, weights, classes, prices, levels


def price_of(codes, weights, classes, prices):
    """Total price by looking at every class on its own."""
    total = 0
    for c in set(classes.tolist()):
        part, records = codes[classes == c], int(weights[classes == c].sum())
        for d in range(codes.shape[1]):
            lo, hi = np.array([part[:, d].min()]), np.array([part[:, d].max()])
            total += records * int(cell_prices(prices, d, lo, hi)[0])
    return total


def sold(form, case, steps=STEPS, *, stopped=0):
    codes, weights, classes, prices, levels = case
    after = classes.copy()
    stop = np.full(1, stopped, np.int64)
    saved = form.auction(codes, weights, after, prices, LEAST, levels=levels, steps=steps, seed=3, stop=stop)
    return after, saved


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 10 + often(10)))
def test_what_is_saved_is_the_difference_of_prices_and_classes_stay_large_enough(seed):
    case = table_with_classes(seed, n=400)
    codes, weights, before, prices, _ = case
    after, saved = sold(compiled, case, AuctionSteps(listing=10_000_000, work=3_000_000))
    assert price_of(codes, weights, before, prices) - price_of(codes, weights, after, prices) == saved
    assert np.bincount(after, weights=weights)[np.unique(after)].min() >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_tries_that_may_cost_more_lead_to_nothing_worse(seed):
    case = table_with_classes(seed, n=200)
    codes, weights, before, prices, _ = case
    after, saved = sold(compiled, case, AuctionSteps(listing=10_000_000, work=300_000, slack=3.0))
    assert saved >= 0
    assert price_of(codes, weights, before, prices) - price_of(codes, weights, after, prices) == saved


@pytest.mark.slow
def test_an_auction_finds_classes_that_cost_less():
    assert sum(sold(compiled, table_with_classes(seed, n=300))[1] for seed in range(4)) > 0


def test_nothing_changes_once_asked_to_stop():
    case = table_with_classes(1, n=40)
    after, saved = sold(plain, case, stopped=1)
    assert saved == 0
    assert after.tolist() == case[2].tolist()
