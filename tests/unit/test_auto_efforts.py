"""auto: an effort is the same search at every size, what it spends is counted, and no clock decides."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from kernel_forms import plain
from notes import Notes
from random_tables import coded_table
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown import auto
from tablecloak.algorithms.topdown.auto import EFFORTS, Auto
from tablecloak.kernels import dispatch, refining
from tablecloak.kernels.auction import AuctionSteps
from tablecloak.kernels.box_search import make_levels
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.refining import Steps
from tablecloak.kernels.rules import only_size
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.lkc_privacy import LKCPrivacy
from tablecloak.progress import silent

K = Goal((KAnonymity(k=4),))
ENOUGH = dispatch.REFINED_FROM


@pytest.mark.parametrize("effort", [*EFFORTS, 2.5])
def test_every_effort_takes_compiled_kernels_from_the_same_size_on(monkeypatch, effort):
    monkeypatch.setattr(dispatch, "has_compiler", lambda: True)
    assert Auto(effort=effort).kernels(ENOUGH, K)
    assert not Auto(effort=effort).kernels(ENOUGH - 1, K)


def test_an_effort_begins_with_the_auctions_of_the_one_before():
    fast, balanced, best = (EFFORTS[name].auctions for name in ("fast", "balanced", "best"))
    assert balanced[: len(fast)] == fast
    assert best[: len(balanced)] == balanced


@pytest.mark.parametrize("effort", [*EFFORTS, 2.5])
def test_quick_looks_wait_for_no_compiler(effort):
    with dispatch.compiled_from(10_000):
        assert not Auto(effort=effort).kernels(ENOUGH, K)


@pytest.mark.parametrize(("seconds", "is_refined"), [(9.0, True), (11.0, False)])
def test_one_limit_of_time_holds_for_all_searches_together(monkeypatch, seconds, is_refined):
    clock, calls, refine = [0.0], [], auto.Refinery.refine

    def cells(*_):
        clock[0] += seconds

    def refined(*given):
        calls.append(1)
        return refine(*given)

    monkeypatch.setattr(auto, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(auto, "by_few_columns", cells)
    monkeypatch.setattr(auto.Refinery, "refine", refined)
    table = coded_table(np.random.default_rng(3), ENOUGH - 5)
    solution = Auto(time_limit=10).solve(Problem(table, Goal((LKCPrivacy(l=1, k=4, c=1.0),)), 1), silent)
    assert bool(calls) == is_refined
    assert solution.sizes(table).min() >= 4


def test_a_run_without_a_compiler_says_so(monkeypatch):
    monkeypatch.setattr(auto, "has_compiler", lambda: False)
    (said,) = Auto().remarks(ENOUGH)
    assert said.startswith("numba is not installed")
    assert not Auto().remarks(ENOUGH - 1)


def test_a_run_with_a_compiler_says_nothing_about_it(monkeypatch):
    monkeypatch.setattr(auto, "has_compiler", lambda: True)
    assert not Auto().remarks(ENOUGH)


def test_no_clock_decides_where_the_effort_is_a_name(monkeypatch):
    problem = Problem(coded_table(np.random.default_rng(1), 60), K)
    usual = Auto().solve(problem, silent)
    hours = itertools.count(step=3600.0)
    monkeypatch.setattr(auto.time, "monotonic", lambda: next(hours))
    assert Auto().solve(problem, silent).class_of_tuple.tolist() == usual.class_of_tuple.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("effort", ["fast", "balanced"])
def test_a_small_table_gets_the_box_search_and_the_auction(effort):
    pytest.importorskip("numba")
    seen = Notes()
    Auto(effort=effort).solve(Problem(coded_table(np.random.default_rng(2), 800), K), seen)
    assert {"search boxes", "auction"} <= {str(getattr(p, "name", p)) for p in [*seen.notes, seen.phase]}


# Budgets: kernels stop when they have looked at so many tuples.


def block(n=60):
    table = coded_table(np.random.default_rng(3), n)
    codes = np.stack([table.quasi_codes(d) for d in range(len(table.domains))], axis=1).astype(np.int64)
    prices = make_prices(table.space, np.zeros(codes.shape[1], bool))
    return table, codes, np.ones(len(codes), np.int64), np.arange(len(codes)) // 6, prices


def pairs_pooled(monkeypatch, most):
    """Pairs of tuples in all pools that a refinement builds anew."""
    pooled = []
    rows = refining._rows
    monkeypatch.setattr(refining, "_rows", lambda state, members: pooled.append(members.size) or rows(state, members))
    _, codes, weights, classes, prices = block()
    steps, stop = Steps(sweeps=1, pools=most), np.zeros(1, np.int64)
    values = np.zeros((len(codes), 0), np.int64)
    plain.refine(codes, weights, values, classes.copy(), prices, only_size(3), steps=steps, seed=1, stop=stop)
    return pooled


def test_pools_are_built_until_the_budget_is_spent(monkeypatch):
    every = pairs_pooled(monkeypatch, 1 << 40)
    few = pairs_pooled(monkeypatch, 300)
    assert 0 < len(few) < len(every)
    assert not pairs_pooled(monkeypatch, 0)


def test_an_auction_without_a_budget_changes_nothing():
    table, codes, weights, classes, prices = block()
    levels = make_levels(table.space, prices, np.arange(codes.shape[1]), None, has_windows=False)
    after = classes.copy()
    steps = AuctionSteps(listing=10_000, work=0)
    stop = np.zeros(1, np.int64)
    assert plain.auction(codes, weights, after, prices, 3, levels=levels, steps=steps, seed=1, stop=stop) == 0
    assert after.tolist() == classes.tolist()
