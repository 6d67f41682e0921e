"""k-Optimize against the count of every set of cuts, in plain Python."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattice_tables as slow
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown.k_optimize import Enumeration, KOptimize
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent

TREE = [["a1", "A1", "*"], ["a2", "A1", "*"], ["a3", "A2", "*"], ["a4", "A2", "*"], ["a5", "a5", "*"]]
QUASI = {"a": TREE, "n": None}
a_row = st.fixed_dictionaries(
    {"a": st.sampled_from([p[0] for p in TREE]), "n": st.sampled_from([1, 2, 4, 8]), "s": st.sampled_from("xyz")}
)
a_table = st.lists(a_row, min_size=2, max_size=14)
often = settings(max_examples=30, deadline=None, derandomize=True)
LOSSES = st.sampled_from(["discernibility", "ncp"])
LIMITS = st.sampled_from([0.0, 0.2, 0.6, 0.95])


def cuts_of_tree():
    """All cuts through the tree as value -> (label, loss)."""
    below = {"A1": ["a1", "a2"], "A2": ["a3", "a4"]}
    yield {path[0]: ("*", Fraction(1)) for path in TREE}
    for kept in itertools.chain.from_iterable(itertools.combinations(below, n) for n in range(3)):
        cut = {path[0]: (path[0], Fraction(0)) for path in TREE}
        for label in kept:
            cut |= {leaf: (label, Fraction(2, 5)) for leaf in below[label]}
        yield cut


def cuts_of_numbers(values):
    """All ways to part numbers in their order, as value -> (ends, loss)."""
    values = sorted(values)
    for n in range(len(values)):
        for starts in itertools.combinations(range(1, len(values)), n):
            bounds = [0, *starts, len(values)]
            pieces = [values[a:b] for a, b in itertools.pairwise(bounds)]
            span = max(values) - min(values)
            yield {v: ((p[0], p[-1]), Fraction(p[-1] - p[0], span) if span else Fraction(0)) for p in pieces for v in p}


def losses(rows, passes, limit):
    """The losses of all sets of cuts that leave out no more records than allowed."""
    for tree, numbers in itertools.product(cuts_of_tree(), cuts_of_numbers({r["n"] for r in rows})):
        classes = defaultdict(list)
        for row in rows:
            classes[tree[row["a"]][0], numbers[row["n"]][0]].append(row)
        out = sum(len(c) for c in classes.values() if not passes(c))
        if out <= int(limit * len(rows) + 1e-9):
            kept = [row for c in classes.values() if passes(c) for row in c]
            yield {
                "discernibility": sum(len(c) ** 2 for c in classes.values() if passes(c)) + out * len(rows),
                "ncp": sum(tree[r["a"]][1] + numbers[r["n"]][1] for r in kept) + 2 * out,
            }


def problem_of(rows, *models):
    return Problem(slow.coded(rows, QUASI, ["s"]), Goal(models))


def loss_of(solution, problem, loss):
    size = solution.stats(problem.table).size
    out = problem.table.n_rows - int(size.sum())
    if loss == "discernibility":
        return int((size**2).sum()) + out * problem.table.n_rows
    return float(size @ solution.losses(problem.table.domains).sum(axis=1)) + 2 * out


@often
@given(a_table, st.integers(2, 4), st.booleans(), LIMITS, LOSSES)
def test_it_finds_what_counting_every_set_of_cuts_finds(rows, k, is_diverse, limit, loss):
    models = [KAnonymity(k=k), *([LDiversity(l=2)] if is_diverse else [])]
    problem = problem_of(rows, *models)
    if not problem.goal.admits(problem.table.whole()).all():
        return
    solution = KOptimize(loss=loss, suppression_limit=limit).solve(problem, silent)
    best = min(found[loss] for found in losses(rows, slow.k_and_l(k, 2 if is_diverse else 1), limit))
    assert loss_of(solution, problem, loss) == pytest.approx(float(best))
    assert problem.goal.admits(solution.stats(problem.table)).all()
    assert solution.notes == ()


@often
@given(a_table, st.integers(2, 3), LIMITS, LOSSES, st.integers(1, 12))
def test_without_time_it_says_how_much_better_others_could_be(rows, k, limit, loss, checks):
    problem = problem_of(rows, KAnonymity(k=k))
    if len(rows) < k:
        return
    search = Enumeration(problem, loss, int(limit * len(rows) + 1e-9), 30)
    search.run(checks, silent)
    best = float(min(found[loss] for found in losses(rows, slow.k_and_l(k, 1), limit)))
    assert search.bound - 1e-9 <= best <= search.best.loss + 1e-9
    assert loss_of(search.solution(), problem, loss) == pytest.approx(search.best.loss)
    assert not search.is_optimal or search.best.loss == pytest.approx(best)


def test_a_hasty_search_says_so_in_a_note():
    draw = np.random.default_rng(1)
    rows = [{"a": f"a{draw.integers(1, 6)}", "n": int(draw.integers(30)), "s": "x"} for _ in range(60)]
    (note,) = KOptimize(checks=1).solve(problem_of(rows, KAnonymity(k=3)), silent).notes
    assert note.startswith("best of ")


def test_columns_of_many_values_are_cut_at_quantiles():
    rows = [{"a": "a1", "n": n, "s": "x"} for n in range(100)]
    solution = KOptimize(cuts=3, loss="ncp").solve(problem_of(rows, KAnonymity(k=10)), silent)
    assert sorted(solution.stats(problem_of(rows).table).size.tolist()) == [25, 25, 25, 25]


def test_goals_that_cuts_may_mend_are_refused():
    closeness = Goal((KAnonymity(k=2), TCloseness(t=0.2)))
    assert KOptimize().refuses(closeness) is None
    assert "t-closeness" in KOptimize(suppression_limit=0.1).refuses(closeness)


def test_what_is_remembered_of_every_cut_takes_one_bit_for_each_cell():
    rows = [{"a": path[0], "n": n, "s": "xyz"[n % 3]} for path in TREE for n in (1, 2, 4, 8)]
    search = Enumeration(Problem(slow.coded(rows, QUASI), Goal((KAnonymity(k=2),))), "ncp", 0, 30)
    n_cells = search.codes.shape[1]
    assert n_cells == 20
    tried = search._tried(search.best, [v for v in range(len(search.parents)) if search.parents[v] < 0], silent)
    assert len(tried) > 2
    for each in tried.values():
        sizes = [getattr(each, name).nbytes for name in ("chosen", "packed_fails")]
        assert sizes == [len(search.parents) + 1, 3]
