"""The search of cuts, held against every cut there is and against plain counting."""

from __future__ import annotations

import random

import pytest

import oracle_sets
from tablecloak.algorithms.items.cut_search import Cut, ItemProblem, NoCutError, find_cut
from tablecloak.data.coded_baskets import Baskets
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.progress import Silent, silent

TREE = {"*": ["X", "Y", "z"], "X": ["P", "q", "r"], "P": ["p1", "p2"], "Y": ["y1", "y2", "y3"]}
PATHS = [["p1", "P", "X", "*"], ["p2", "P", "X", "*"], ["q", "X", "*"], ["r", "X", "*"], ["y1", "Y", "*"],
         ["y2", "Y", "*"], ["y3", "Y", "*"], ["z", "*"]]  # fmt: skip
HIERARCHY = Hierarchy.from_paths(PATHS)
LEAVES = [path[0] for path in PATHS]
EVERY_CUT = list(oracle_sets.cuts(TREE, "*"))


def random_sets(rng):
    return [[rng.choice(LEAVES) for _ in range(rng.randrange(5))] for _ in range(rng.randrange(3, 14))]


def solve(sets, k, m, *, multiset=False, left_out=0, progress=silent):
    codes = [[HIERARCHY.code(item) for item in items] for items in sets]
    baskets = Baskets.from_lists(codes, len(LEAVES), copies=multiset).distinct()[0]
    cut = find_cut(ItemProblem(baskets, HIERARCHY, KmAnonymity(k=k, m=m, multiset=multiset), left_out), progress)
    named = {leaf: HIERARCHY.labels[n] for leaf, n in zip(HIERARCHY.leaf_labels, cut.node_of, strict=True) if n >= 0}
    return cut, named, baskets


def best_loss(sets, k, m, *, multiset=False):
    """The least loss of all cuts that satisfy the goal; None if none does."""
    safe = [
        c
        for c in EVERY_CUT
        if oracle_sets.is_km_anonymous(oracle_sets.published(sets, c, multiset=multiset), k, m, multiset=multiset)
    ]
    return min((oracle_sets.loss(sets, c, TREE, "*", multiset=multiset) for c in safe), default=None)  # fmt: skip


@pytest.mark.parametrize("multiset", [False, True])
def test_every_cut_found_is_safe_and_not_better_than_the_best_of_all(multiset):
    rng, gaps, n_best = random.Random(11), [], 0
    for _ in range(30):
        sets, k, m = random_sets(rng), rng.randrange(2, 4), rng.randrange(1, 4)
        best = best_loss(sets, k, m, multiset=multiset)
        if best is None:
            with pytest.raises(NoCutError):
                solve(sets, k, m, multiset=multiset)
            continue
        cut, named, baskets = solve(sets, k, m, multiset=multiset)
        shown = oracle_sets.published(sets, named, multiset=multiset)
        assert oracle_sets.is_km_anonymous(shown, k, m, multiset=multiset)
        assert oracle_sets.covers(sets, shown, TREE)
        loss = oracle_sets.loss(sets, named, TREE, "*", multiset=multiset)
        assert cut.loss(baskets.occurrences()) == pytest.approx(loss)
        assert loss >= best - 1e-12
        gaps.append(loss - best)
        n_best += loss <= best + 1e-12
    assert n_best > len(gaps) / 2  # greedy, but mostly as good as the best


def test_no_node_of_a_cut_can_be_opened():
    rng = random.Random(5)
    for _ in range(30):
        sets = random_sets(rng)
        if best_loss(sets, 2, 2) is None:
            continue
        cut, _, _ = solve(sets, 2, 2)
        for node in cut.nodes.tolist():
            if node < HIERARCHY.n_leaves:
                continue
            lower = cut.lowered(node)
            named = {HIERARCHY.labels[i]: HIERARCHY.labels[n] for i, n in enumerate(lower.node_of.tolist())}
            used = {item for items in sets for item in items}
            is_same = all(lower.node_of[HIERARCHY.code(i)] == cut.node_of[HIERARCHY.code(i)] for i in used)
            assert is_same or not oracle_sets.is_km_anonymous(oracle_sets.published(sets, named), 2, 2)


@pytest.mark.parametrize("limit", [0.1, 0.3, 1.0])
def test_what_is_left_out_is_left_out_everywhere_and_within_the_limit(limit):
    rng = random.Random(23)
    for _ in range(20):
        sets, k = random_sets(rng), rng.randrange(2, 5)
        total = sum(len(set(items)) for items in sets)
        try:
            _, named, _ = solve(sets, k, 2, left_out=int(limit * total))
        except NoCutError:
            assert best_loss(sets, k, 2) is None
            assert limit < 1
            continue
        shown = oracle_sets.published(sets, named)
        dropped = set(LEAVES) - set(named)
        assert oracle_sets.is_km_anonymous(shown, k, 2)
        assert oracle_sets.covers(sets, shown, TREE, may_drop=dropped)
        assert sum(item in dropped for items in sets for item in set(items)) <= limit * total
        without = best_loss(sets, k, 2)
        assert without is None or oracle_sets.loss(sets, named, TREE, "*") <= 1


def test_leaving_out_a_rare_item_can_spare_many():
    sets = [["p1"]] * 50 + [["q"]] * 50 + [["r"]]
    _, kept, _ = solve(sets, 5, 1)
    assert kept["p1"] == "X"
    _, named, _ = solve(sets, 5, 1, left_out=1)
    assert (named["p1"], named["q"], "r" in named) == ("p1", "q", False)


def test_nothing_to_do_keeps_every_item():
    cut, named, _ = solve([["p1", "q"]] * 3, 3, 2)
    assert named == {leaf: leaf for leaf in LEAVES}
    assert (cut.node_of == Cut.identity(HIERARCHY).node_of).all()


def test_fewer_records_than_k_have_no_cut():
    with pytest.raises(NoCutError):
        solve([["p1"], ["q"]], 3, 1)


def test_stopping_keeps_the_safe_cut():
    class Stopped(Silent):
        def stopping(self):
            return True

    sets = random_sets(random.Random(2)) * 2
    _, named, _ = solve(sets, 2, 2, progress=Stopped())
    assert oracle_sets.is_km_anonymous(oracle_sets.published(sets, named), 2, 2)
