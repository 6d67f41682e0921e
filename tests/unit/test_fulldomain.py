"""Searches of the lattice against a slow count of every node."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lattice_tables as slow
import oracle
from lattice_tables import QUASI, coded
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain import _rollup
from tablecloak.algorithms.fulldomain._lattice import Lattice
from tablecloak.algorithms.fulldomain._searched_lattice import SAFE, UNKNOWN
from tablecloak.algorithms.fulldomain.best_first import BestFirst
from tablecloak.algorithms.fulldomain.datafly import Datafly
from tablecloak.algorithms.fulldomain.flash import Flash
from tablecloak.algorithms.fulldomain.incognito import Incognito
from tablecloak.algorithms.fulldomain.mingen import MinGen
from tablecloak.algorithms.fulldomain.ola import Ola
from tablecloak.algorithms.fulldomain.optimal import Optimal
from tablecloak.algorithms.fulldomain.samarati import Samarati
from tablecloak.algorithms.topdown.tds import TopDownSpecialization
from tablecloak.errors import IncompatibleChoice, Infeasible
from tablecloak.models import Goal, Monotone
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent

a_row = st.fixed_dictionaries(
    {
        "a": st.sampled_from(["a1", "a2", "a3", "a4"]),
        "b": st.sampled_from(["b1", "b2", "b3"]),
        "c": st.sampled_from(["1", "2", "3", "4", "5", "6"]),
        "s": st.sampled_from(["x", "y", "z"]),
    }
)
a_table = st.lists(a_row, min_size=1, max_size=12)
often = settings(max_examples=25, deadline=None, derandomize=True)
EXACT = [Incognito, Flash, Ola, Optimal]
LOSSES = ["gcp", "discernibility", "precision", "height"]


def brute_force(rows, k, l, budget, loss):  # noqa: E741
    """{node: (is safe, suppressed, loss)} of the whole lattice."""
    passes = slow.k_and_l(k, l)
    return {n: slow.judge(rows, QUASI, n, passes, budget, loss) for n in slow.nodes_of(QUASI)}


def problem_of(rows, *models):
    return Problem(coded(rows, QUASI, ["s"]), Goal(models))


@often
@given(a_table, st.integers(2, 4), st.integers(1, 3), st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from(LOSSES))
def test_searches_find_what_counting_every_node_finds(rows, k, l, limit, loss):  # noqa: E741
    budget = int(limit * len(rows))
    expected = brute_force(rows, k, l, budget, loss)
    safe = {n: value for n, (ok, _, value) in expected.items() if ok}
    models = [KAnonymity(k=k)] if l == 1 else [KAnonymity(k=k), LDiversity(l=l)]
    problem = problem_of(rows, *models)
    for kind in EXACT:
        search = kind(loss=loss, suppression_limit=limit)
        if not safe:
            with pytest.raises(Infeasible):
                search.explore(problem, silent)
            continue
        known = search.explore(problem, silent)
        assert known.best.loss == pytest.approx(float(min(safe.values())))
        assert known.best.loss == pytest.approx(float(safe[known.best.node]))
        for node, found in known.verdicts.items():
            ok, suppressed, value = expected[node]
            assert found.is_safe == ok
            assert found.n_suppressed == suppressed
            assert found.loss == pytest.approx(float(value))
        if kind is not Optimal:
            assert {tuple(n) for n in np.argwhere(known.tags == SAFE).tolist()} == set(safe)
            assert not (known.tags == UNKNOWN).any()


def chosen(search, problem):
    """The view of a search, the level of its node, and what that loses; None where there is none."""
    try:
        view = search.view(problem, silent)
    except Infeasible:
        return None
    return view, view.best, next(n.loss for n in view.nodes if n.levels == view.best)


@often
@given(a_table, st.integers(2, 4), st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from(LOSSES))
def test_mingen_publishes_the_best_of_the_minimal_nodes(rows, k, limit, loss):
    expected = brute_force(rows, k, 2, int(limit * len(rows)), loss)
    safe = {n for n, (ok, _, _) in expected.items() if ok}
    minimal = {n for n in safe if not any(m != n and all(a <= b for a, b in zip(m, n, strict=True)) for m in safe)}
    found = chosen(MinGen(loss=loss, suppression_limit=limit), problem_of(rows, KAnonymity(k=k), LDiversity(l=2)))
    if not safe:
        assert found is None
        return
    view, node, value = found
    assert node in minimal == set(view.minimal)
    assert value == pytest.approx(float(min(expected[n][2] for n in minimal)))
    assert view.bound <= float(min(expected[n][2] for n in safe)) + 1e-9


@often
@given(
    a_table, st.integers(2, 4), st.sampled_from([0.0, 0.2, 0.5]), st.sampled_from(["loss", "classes", "suppression"])
)
def test_samarati_publishes_a_node_of_least_height_by_preference(rows, k, limit, prefer):
    expected = brute_force(rows, k, 1, int(limit * len(rows)), "gcp")
    lowest = [n for n, (ok, _, _) in expected.items() if ok]
    lowest = [n for n in lowest if sum(n) == min(map(sum, lowest))]
    found = chosen(Samarati(prefer=prefer, suppression_limit=limit), problem_of(rows, KAnonymity(k=k)))
    if not lowest:
        assert found is None
        return
    view, node, _ = found
    assert node in lowest

    def rank(n):
        n_classes = sum(len(group) >= k for group in slow.classes_at(rows, QUASI, n).values())
        return {"loss": float(expected[n][2]), "classes": -n_classes, "suppression": expected[n][1]}[prefer]

    assert rank(node) == pytest.approx(min(map(rank, lowest)))
    assert view.bound <= float(min(value for ok, _, value in expected.values() if ok)) + 1e-9


def test_samarati_counts_fewer_rows_than_the_lattice_has():
    """Of seven rows a node of the fourth, one of the second and the lowest are enough."""
    rows = [{"a": "a1", "b": "b1", "c": "1", "s": "x"}] * 2 + [{"a": "a2", "b": "b1", "c": "1", "s": "x"}] * 2
    view = Samarati().view(problem_of(rows, KAnonymity(k=2)), silent)
    assert view.best == (0, 0, 0)
    assert view.checks == 3


@often
@given(a_table, st.integers(2, 4), st.sampled_from([0.0, 0.3]), st.sampled_from(["gcp", "discernibility"]))
def test_best_first_is_exact_given_time_and_honest_without(rows, k, limit, loss):
    expected = brute_force(rows, k, 1, int(limit * len(rows)), loss)
    safe = [value for ok, _, value in expected.values() if ok]
    problem = problem_of(rows, KAnonymity(k=k))
    if not safe:
        return
    _, found = BestFirst(loss=loss, suppression_limit=limit).find(problem, silent)
    assert found.is_optimal
    assert found.verdict.loss == pytest.approx(float(min(safe)))
    _, hasty = BestFirst(loss=loss, suppression_limit=limit, checks=1).find(problem, silent)
    assert hasty.bound - 1e-9 <= float(min(safe)) <= hasty.verdict.loss + 1e-9


@often
@given(a_table, st.sampled_from(slow.nodes_of(QUASI)), st.sampled_from(slow.nodes_of(QUASI)))
def test_rolling_up_equals_counting_rows(rows, first, second):
    problem = problem_of(rows, KAnonymity(k=2), LDiversity(l=2))
    rollups = Flash().judge(problem).rollups
    rollups.at(first)  # kept, and perhaps the source of the second
    for node in (second, tuple(max(a, b) for a, b in zip(first, second, strict=True))):
        groups = rollups.at(node)
        expected = slow.classes_at(rows, QUASI, node).values()
        found = sorted(zip(groups.stats.size.tolist(), groups.stats.hist["s"].distinct().tolist(), strict=True))
        assert found == sorted((len(g), len({r["s"] for r in g})) for g in expected)


def test_groups_that_are_kept_take_no_more_than_they_may_with_all_their_counts(monkeypatch):
    rows = [{"a": f"a{i % 4 + 1}", "b": f"b{i % 3 + 1}", "c": str(i % 6 + 1), "s": "xyz"[i % 3]} for i in range(12)]
    judge = Flash().judge(problem_of(rows, KAnonymity(k=2), LDiversity(l=2, sensitive="s")))
    most = judge.rollups.bottom.n_bytes
    monkeypatch.setattr(_rollup, "KEPT_BYTES", most)
    for node in slow.nodes_of(QUASI):
        judge.verdict(node)
    assert 0 < sum(groups.n_bytes for groups in judge.rollups._kept) <= most


@often
@given(a_table, st.integers(2, 3), st.sampled_from([0.1, 0.3, 0.6]), st.sampled_from([0.0, 0.25, 0.5]))
def test_goals_that_compare_with_the_table_hold_for_what_remains(rows, k, t, limit):
    """t-closeness is judged against the published records, in every search that takes it."""
    problem = problem_of(rows, KAnonymity(k=k), TCloseness(t=t))
    goal = problem.goal
    for search in [Optimal(suppression_limit=limit), BestFirst(suppression_limit=limit), Flash(), Datafly()]:
        try:
            solution = search.solve(problem, silent)
        except Infeasible:
            assert len(rows) < k
            continue
        assert goal.admits(solution.stats(problem.table)).all()
        kept = int(solution.stats(problem.table).size.sum())
        allowed = k if isinstance(search, Datafly) else int(search.suppression_limit * len(rows))
        assert len(rows) - kept <= allowed


@often
@given(a_table, st.sampled_from([1.5, 2, 2.5]), st.sampled_from([0.2, 0.5]), st.sampled_from(["gcp", "discernibility"]))
def test_goals_that_may_suppress_more_when_coarser_are_not_pruned_wrongly(rows, l, limit, loss):  # noqa: E741
    def passes(group):
        return len(group) >= 2 and oracle.entropy_holds(Counter(r["s"] for r in group), l)

    budget = int(limit * len(rows))
    expected = {n: slow.judge(rows, QUASI, n, passes, budget, loss) for n in slow.nodes_of(QUASI)}
    safe = [value for ok, _, value in expected.values() if ok]
    problem = problem_of(rows, KAnonymity(k=2), LDiversity(variant="entropy", l=l))
    for search in (Optimal(loss=loss, suppression_limit=limit), BestFirst(loss=loss, suppression_limit=limit)):
        if safe:
            found = search.view(problem, silent)
            best = next(n for n in found.nodes if n.levels == found.best)
            assert best.loss == pytest.approx(float(min(safe)))
        else:
            with pytest.raises(Infeasible):
                search.view(problem, silent)


@often
@given(a_table, st.integers(2, 4))
def test_suppressing_cells_never_loses_more_than_suppressing_records(rows, k):
    problem = problem_of(rows, KAnonymity(k=k))
    table = problem.table
    try:
        records = Optimal(suppression_limit=0.6).solve(problem, silent)
    except Infeasible:
        return
    cells = Optimal(suppression_limit=0.6, suppress="cells").solve(problem, silent)

    def loss(solution):
        size = solution.stats(table).size
        return size @ solution.losses(table.domains).sum(axis=1) + 3 * (len(rows) - size.sum())

    assert loss(cells) <= loss(records) + 1e-9
    assert problem.goal.admits(cells.stats(table)).all()


def test_cells_of_failing_records_only():
    """Two lone records share their `b` and `c`: hiding `a` is enough for both, and nobody else changes."""
    rows = [{"a": "a1", "b": "b1", "c": "1", "s": "x"}] * 3
    rows += [{"a": a, "b": "b2", "c": "5", "s": "x"} for a in ("a2", "a4")]
    problem = problem_of(rows, KAnonymity(k=2))
    judge = Optimal(suppression_limit=0.5).judge(problem)
    from tablecloak.algorithms.fulldomain._judge import publish

    assert (publish(judge, (0, 0, 0)).class_of_row(problem.table) >= 0).tolist() == [True] * 3 + [False] * 2
    solution = publish(judge, (0, 0, 0), cells=True)
    classes = solution.class_of_row(problem.table)
    tree = problem.table.domains[0].hierarchy
    assert [tree.labels[solution.nodes[c, 0]] for c in classes] == ["a1"] * 3 + ["*"] * 2
    assert [int(solution.hi[c, 2] - solution.lo[c, 2]) for c in classes] == [0] * 5


class EvenClasses(KAnonymity):
    """Classes must hold an even number of records: no monotone model, for uniting and parting both can break it."""

    @property
    def monotone(self):
        return Monotone.NEITHER

    @property
    def size_decides(self):
        return False

    def levels(self, stats):
        return np.where(stats.size % 2 == 0, stats.size, 0).astype(float)


@often
@given(a_table)
def test_goals_that_are_not_monotone_are_searched_without_wrong_pruning(rows):
    def passes(group):
        return len(group) % 2 == 0

    expected = {n: slow.judge(rows, QUASI, n, passes, 0, "gcp") for n in slow.nodes_of(QUASI)}
    safe = [value for ok, _, value in expected.values() if ok]
    problem = problem_of(rows, EvenClasses(k=2))
    for search in (Optimal(), BestFirst()):
        if safe:
            found = search.view(problem, silent)
            best = next(n for n in found.nodes if n.levels == found.best)
            assert best.loss == pytest.approx(float(min(safe)))
        else:
            with pytest.raises(Infeasible):
                search.view(problem, silent)


def test_refusals_say_why():
    closeness = Goal((KAnonymity(k=2), TCloseness(t=0.2)))
    assert Flash().refuses(closeness) is None
    for kind in (Flash, Ola, Incognito, Samarati, MinGen):
        assert "t-closeness" in kind(suppression_limit=0.1).refuses(closeness)
        assert "k-anonymity" in kind().refuses(Goal((EvenClasses(k=2),)))
    assert Optimal(suppression_limit=0.1).refuses(closeness) is None
    assert "k-anonymity" in TopDownSpecialization().refuses(Goal((EvenClasses(k=2),)))


def test_a_lattice_too_large_to_tag_is_refused_and_best_first_searches_it():
    names = [f"q{i}" for i in range(16)]
    rows = [{n: "a1" if (i >> (d % 4)) & 1 else "a3" for d, n in enumerate(names)} for i in range(16)]
    problem = Problem(coded(rows, dict.fromkeys(names, slow.A)), Goal((KAnonymity(k=2),)))
    with pytest.raises(IncompatibleChoice, match="nodes"):
        Flash().solve(problem, silent)
    _, found = BestFirst(checks=200).find(problem, silent)
    assert found.verdict.is_safe
    assert 0 <= found.bound <= found.verdict.loss
    assert BestFirst(checks=20).solve(problem, silent).notes[0].startswith("best of ")


def test_row_sizes_are_those_of_counting():
    lattice = Lattice((2, 1, 3))
    rows = [list(lattice.row(i)) for i in range(lattice.n_rows)]
    assert [len(r) for r in rows] == lattice.row_sizes()
    assert sorted(n for r in rows for n in r) == list(lattice.nodes())
    assert math.prod(lattice.shape) == sum(lattice.row_sizes()) == lattice.size
    for node in lattice.nodes():
        assert all(node in lattice.predecessors(up) for up in lattice.successors(node))


def test_specialising_stops_at_the_finest_allowed_cut():
    """Two of a1, one each of a3 and a4: the left branch can be opened to the leaf, the right one cannot."""
    rows = [{"a": a, "s": "x"} for a in ("a1", "a1", "a3", "a4")]
    problem = Problem(coded(rows, {"a": slow.A}, ["s"]), Goal((KAnonymity(k=2),)))
    solution = TopDownSpecialization().solve(problem, silent)
    tree = problem.table.domains[0].hierarchy
    labels = [tree.labels[solution.nodes[c, 0]] for c in solution.class_of_row(problem.table)]
    assert labels == ["a1", "a1", "A2", "A2"]


def test_specialising_for_a_class_prefers_what_predicts_it():
    """`b` predicts s and `a` does not, but only one of both may be opened: without a class `a` saves more loss."""
    rows = [{"a": a, "b": b, "s": "x" if b == "b1" else "y"} for a in ("a1", "a3") for b in ("b1", "b2")]
    problem = Problem(coded(rows, {"a": slow.A, "b": slow.B}, ["s"]), Goal((KAnonymity(k=2),)))
    domains = problem.table.domains

    def opened(search):
        solution = search.solve(problem, silent)
        return [d.name for i, d in enumerate(domains) if len(set(solution.nodes[:, i].tolist())) > 1]

    assert opened(TopDownSpecialization(class_column="s")) == ["b"]
    with pytest.raises(IncompatibleChoice, match="nothing"):
        TopDownSpecialization(class_column="nothing").solve(problem, silent)


def test_a_value_is_plain_data():
    problem = problem_of([{"a": "a1", "b": "b1", "c": "1", "s": "x"}] * 3, KAnonymity(k=3))
    view = Flash().view(problem, silent).to_dict()
    assert view["size"] == len(view["nodes"]) == 24
    assert view["best"] == [0, 0, 0]
    assert view["minimal"] == [[0, 0, 0]]
    assert {n["tag"] for n in view["nodes"]} == {"safe"}
    assert sum(n["how"] == "checked" for n in view["nodes"]) == view["checks"]


def test_the_limit_is_part_of_the_value():
    assert replace(Flash(), suppression_limit=0.5).suppression_limit == 0.5
    with pytest.raises(ValueError, match="suppression_limit"):
        Flash(suppression_limit=1.0)
