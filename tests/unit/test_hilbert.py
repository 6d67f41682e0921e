"""The Hilbert curve, and the runs along it against all ways to cut the line, in plain Python."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattice_tables as slow
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.clustering.base import points_of
from tablecloak.algorithms.clustering.hilbert import Hilbert, along_curve, hilbert_numbers, latest_begins
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent

often = settings(max_examples=40, deadline=None, derandomize=True)
CITIES = [["a", "north", "*"], ["b", "north", "*"], ["c", "south", "*"], ["d", "south", "*"]]
QUASI = {"n": None, "city": CITIES}
a_row = st.fixed_dictionaries(
    {"n": st.integers(0, 9), "city": st.sampled_from("abcd"), "s": st.sampled_from(["x", "x", "y", "z"])}
)
a_table = st.lists(a_row, min_size=2, max_size=11)


@pytest.mark.parametrize(("n_dims", "bits"), [(1, 4), (2, 1), (2, 3), (2, 5), (3, 2), (3, 3), (5, 2)])
def test_the_curve_visits_every_cell_once_and_always_goes_to_a_neighbour(n_dims, bits):
    cells = np.array(list(itertools.product(range(1 << bits), repeat=n_dims)), np.uint64).T
    (numbers,) = hilbert_numbers(cells, bits)
    assert sorted(numbers.tolist()) == list(range(1 << bits * n_dims))
    walk = cells[:, np.argsort(numbers)].astype(int)
    assert (np.abs(np.diff(walk, axis=1)).sum(axis=0) == 1).all()


def test_long_numbers_are_compared_word_by_word():
    cells = np.random.default_rng(1).integers(0, 1 << 16, (7, 50)).astype(np.uint64)
    words = hilbert_numbers(cells, 16)
    coarse = hilbert_numbers(cells >> np.uint64(12), 4)
    order = np.lexsort(words[::-1])
    assert len(words) == 2
    assert (np.diff(coarse[0][order].astype(np.int64)) >= 0).all()  # the curve refines its coarser forms


def problem_of(rows, *models):
    return Problem(slow.coded(rows, QUASI, ["s"], by_row=True), Goal(models))


def lost(rows, span):
    """What some records lose as one class: their share of the range of numbers, and of the cities."""
    numbers, cities = [r["n"] for r in rows], {r["city"] for r in rows}
    side = 0 if len(cities) == 1 else 0.5 if cities <= set("ab") or cities <= set("cd") else 1
    return len(rows) * ((max(numbers) - min(numbers)) / span + side)


@often
@given(a_table, st.integers(2, 4), st.booleans())
def test_runs_are_the_best_of_all_cuts_of_the_line(rows, k, is_diverse):
    models = [KAnonymity(k=k), *([LDiversity(l=2)] if is_diverse else [])]
    problem, passes = problem_of(rows, *models), slow.k_and_l(k, 2 if is_diverse else 1)
    if not passes(rows):
        return
    span = max(1, max(r["n"] for r in rows) - min(r["n"] for r in rows))
    line = [rows[i] for i in along_curve(problem.table.domains, points_of(problem.table)).tolist()]
    every = range(1, len(rows))
    cut = [[0, *c, len(rows)] for n in range(len(rows)) for c in itertools.combinations(every, n)]
    runs = [[line[a:b] for a, b in itertools.pairwise(bounds)] for bounds in cut]
    best = min(sum(lost(part, span) for part in parts) for parts in runs if all(map(passes, parts)))
    solution = Hilbert().solve(problem, silent)
    stats = solution.stats(problem.table)
    assert problem.goal.admits(stats).all()
    found = stats.size @ solution.losses(problem.table.domains).sum(axis=1)
    assert found == pytest.approx(best)


@often
@given(a_table, st.integers(1, 3), st.integers(2, 3))
def test_the_shortest_run_that_satisfies_the_goal_is_found(rows, k, l):  # noqa: E741
    problem = problem_of(rows, KAnonymity(k=max(k, 2)), LDiversity(l=l))
    begins = latest_begins(problem.table, problem.goal, problem.goal.min_size)
    passes = slow.k_and_l(max(k, 2), l)
    for end in range(len(rows) + 1):
        assert begins[end] == max((b for b in range(end) if passes(rows[b:end])), default=-1)


def test_models_that_larger_classes_can_break_are_reached_by_uniting():
    draw = np.random.default_rng(2)
    rows = [{"n": int(draw.integers(10)), "city": "abcd"[draw.integers(4)], "s": "xyz"[i % 3]} for i in range(40)]
    problem = problem_of(rows, KAnonymity(k=3), TCloseness(t=0.3))
    solution = Hilbert().solve(problem, silent)
    assert problem.goal.admits(solution.stats(problem.table)).all()
    assert solution.n_classes > 1


def test_numbers_of_many_cells_take_no_array_for_every_bit():
    cells = np.random.default_rng(2).integers(0, 1 << 16, (8, 20_000)).astype(np.uint64)
    tracemalloc.start()
    try:
        hilbert_numbers(cells, 16)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * cells.nbytes  # 128 bits of eight columns held together would be sixteen times
