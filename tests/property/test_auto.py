"""auto: releases the oracle accepts, near the optimum on tiny tables, the same on any number of threads."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest

import oracle
from random_tables import coded_table, frame_of
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.merge_classes import renumbered
from tablecloak.algorithms.topdown.auto import Auto, _losses, share_out
from tablecloak.algorithms.topdown.mondrian import Mondrian
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent
from tablecloak.release.recoding.classes import read_recoding

pytestmark = pytest.mark.slow
QUASI = ("age", "income", "job", "town", "colour")
GOALS = {
    "k": [{"model": "k-anonymity", "k": 4}],
    "distinct": [{"model": "k-anonymity", "k": 3}, {"model": "l-diversity", "l": 3}],
    "entropy": [{"model": "l-diversity", "l": 2.2, "variant": "entropy"}],
    "recursive": [{"model": "l-diversity", "l": 2, "variant": "recursive", "c": 1.5}],
    "t": [{"model": "k-anonymity", "k": 2}, {"model": "t-closeness", "t": 0.35}],
    "npd": [
        {"model": "l-diversity", "l": 2, "variant": "npd-recursive", "c": 3, "c2": 0.05, "forbidden": ("i1",)},
        {"model": "k-anonymity", "k": 3},
    ],
}
MODELS = {"k-anonymity": KAnonymity, "l-diversity": LDiversity, "t-closeness": TCloseness}


def goal_of(name):
    return Goal(tuple(MODELS[g["model"]](**{k: v for k, v in g.items() if k != "model"}) for g in GOALS[name]))


def published(table, solution, frame):
    """Released rows as dictionaries, with the originals they stand for."""
    labels = solution.published(table.domains)
    classes = solution.class_of_row(table)
    columns = {q: labels[q].publish(q, classes).cast(pl.String) for q in QUASI}
    rows = frame.with_columns(**columns).rows(named=True)
    return [r for r, c in zip(rows, classes, strict=True) if c >= 0]


def loss_of(table, classes):
    return _losses(table, classes, np.zeros(5, bool)).sum()


def tree(n):
    child_to_parent = {f"v{i}": f"g{i // 3}" for i in range(n)}
    return child_to_parent | {f"g{i}": f"h{i // 3}" for i in range((n + 2) // 3)} | {
        f"h{i}": "*" for i in range((n + 8) // 9)
    }  # fmt: skip


@pytest.mark.parametrize("labels", ["hierarchy", "set"])
@pytest.mark.parametrize("name", GOALS)
def test_the_oracle_accepts_the_release(name, labels):
    table, frame = coded_table(np.random.default_rng(3), 150), frame_of(np.random.default_rng(3), 150)
    solution = Auto(labels=labels, effort="fast").solve(Problem(table, goal_of(name)), silent)
    rows = published(table, solution, frame)
    assert all(holds for holds, _ in oracle.check(rows, QUASI, GOALS[name], sensitive=("illness",)))
    trees = {"job": tree(12), "town": tree(400)}
    for released, original in zip(rows, frame.rows(named=True), strict=True):
        assert all(oracle.covers(released[q], original[q], tree=trees.get(q)) for q in QUASI)


@pytest.mark.parametrize("labels", ["hierarchy", "set"])
def test_neither_the_order_of_tuples_nor_tuples_apart_change_the_release(labels):
    table = coded_table(np.random.default_rng(6), 40)
    weights = np.random.default_rng(7).integers(1, 3, table.n_tuples)
    apart = np.random.default_rng(8).permutation(np.repeat(np.arange(table.n_tuples), weights))
    goal = goal_of("k")
    whole = Auto(labels=labels).solve(Problem(replace(table, weights=weights, tuple_of_row=None), goal), silent)
    rows = replace(table, keys=table.keys[:, apart], weights=np.zeros(0, np.int64), tuple_of_row=None)
    mixed = Auto(labels=labels).solve(Problem(rows, goal), silent)
    assert len(apart) > table.n_tuples
    assert mixed.class_of_tuple.tolist() == whole.class_of_tuple[apart].tolist()
    assert (mixed.lo == whole.lo).all()
    assert (mixed.hi == whole.hi).all()


@pytest.mark.parametrize("name", GOALS)
def test_loses_no_more_than_its_start(name):
    table = coded_table(np.random.default_rng(4), 150)
    problem = Problem(table, goal_of(name))
    start = Mondrian().solve(problem, silent)
    refined = Auto(effort="fast").solve(problem, silent)
    lost, before = (loss_of(table, s.class_of_tuple) for s in (refined, start))
    assert lost < before if name != "npd" else lost <= before


def test_sets_lose_less_than_hierarchy_nodes():
    table = coded_table(np.random.default_rng(5), 200)
    problem = Problem(table, goal_of("k"))
    nodes, sets = (Auto(labels=labels).solve(problem, silent) for labels in ("hierarchy", "set"))
    assert sets.losses(table.domains).mean() < nodes.losses(table.domains).mean()


def test_threads_do_not_change_the_result(monkeypatch):
    from tablecloak.algorithms.topdown import auto
    from tablecloak.kernels import dispatch

    monkeypatch.setattr(dispatch, "COMPILED_FROM", 1)
    monkeypatch.setitem(
        auto.EFFORTS,
        "fast",
        auto._Effort(rounds=3, sweeps=2, pairs=1, fewest=10, merges=100, all_merges=10**9, most_tuples=10**9),
    )
    table = coded_table(np.random.default_rng(6), 3000)
    one, two = (Auto(effort="fast").solve(Problem(table, goal_of("k"), threads), silent) for threads in (1, 2))
    assert one.class_of_tuple.tolist() == two.class_of_tuple.tolist()
    assert one.n_classes > 100


def test_an_expired_time_limit_still_gives_a_valid_release():
    table = coded_table(np.random.default_rng(7), 300)
    goal = goal_of("distinct")
    solution = Auto(effort="best", time_limit=1e-9).solve(Problem(table, goal), silent)
    assert goal.admits(solution.stats(table)).all()
    assert (solution.class_of_tuple >= 0).all()


class Impatient:
    """Asks to stop as soon as refining begins."""

    def __init__(self):
        self.phase = ""

    def start(self, phase, total=None):
        self.phase = phase

    def advance(self, done):
        pass

    def finish(self, note=""):
        pass

    def stopping(self):
        return self.phase == "refine"


@pytest.mark.parametrize("name", ["k", "entropy"])
def test_asked_to_stop_it_keeps_a_valid_release_no_worse_than_its_start(name):
    table, goal = coded_table(np.random.default_rng(7), 300), goal_of(name)
    solution = Auto().solve(Problem(table, goal), Impatient())
    assert goal.admits(solution.stats(table)).all()
    start = Mondrian().solve(Problem(table, goal), silent)
    assert loss_of(table, solution.class_of_tuple) <= loss_of(table, start.class_of_tuple)


@pytest.mark.parametrize(
    ("effort", "time_limit", "seconds"), [(3, None, 3), (3.5, 2, 2), ("best", 7, 7), ("fast", None, np.inf)]
)
def test_the_shorter_of_both_limits_counts(effort, time_limit, seconds):
    assert Auto(effort=effort, time_limit=time_limit).seconds == seconds


def test_shares_of_a_class_hold_its_sensitive_values_in_its_proportions():
    table = coded_table(np.random.default_rng(12), 400)
    problem = Problem(table, goal_of("t"))
    shared = share_out(problem, np.zeros(table.n_tuples, np.int64), [0], 120)
    values = table.sensitive_codes(0)
    n_parts = shared.max() + 1
    assert n_parts == -(-table.n_tuples // 120)
    for v in np.unique(values):
        in_parts = np.bincount(shared[values == v], minlength=n_parts)
        assert in_parts.max() - in_parts.min() <= 1


@pytest.mark.parametrize("name", ["k", "distinct", "t"])
def test_suppression_stays_within_its_limit_and_lowers_no_protection(name):
    table, goal = coded_table(np.random.default_rng(8), 300), goal_of(name)
    solution = Auto(effort="fast", suppression_limit=0.05).solve(Problem(table, goal), silent)
    assert (solution.class_of_row(table) < 0).sum() <= 15
    assert goal.admits(solution.stats(table)).all()


def test_progress_reports_the_loss_of_every_round():
    class Notes:
        found: list[str] = []  # noqa: RUF012

        def start(self, phase, total=None):
            pass

        def advance(self, done):
            pass

        def finish(self, note=""):
            self.found.append(note)

        def stopping(self):
            return False

    notes = Notes()
    Auto(effort="balanced").solve(Problem(coded_table(np.random.default_rng(9), 45), goal_of("k")), notes)
    losses = [float(note.removeprefix("loss ")) for note in notes.found]
    assert len(losses) >= 2
    assert losses == sorted(losses, reverse=True)


@cache
def partitions(n, least):
    """All partitions of range(n) into parts of at least `least`, as class numbers."""
    return [p for p in _numberings(n) if min(np.bincount(p)) >= least]


def _numberings(n):
    found = [[0]]
    for _ in range(n - 1):
        found = [[*p, c] for p in found for c in range(max(p) + 2)]
    return [np.array(p) for p in found]


@pytest.mark.parametrize("k", [2, 3])
def test_within_a_tenth_of_the_optimum_on_tiny_tables(k):
    ratios = []
    for seed in range(25):
        table = coded_table(np.random.default_rng(100 + seed), 8)
        problem = Problem(table, Goal((KAnonymity(k=k),)))
        best = min(loss_of(table, p) for p in partitions(table.n_tuples, k))
        ratios.append(loss_of(table, Auto().solve(problem, silent).class_of_tuple) / best)
    assert min(ratios) >= 1 - 1e-9
    assert np.mean(ratios) <= 1.1


def test_compact_keeps_classes_and_closes_gaps():
    assert renumbered(np.array([7, 3, 7, 9]))[0].tolist() == [1, 0, 1, 2]


def test_a_release_of_sets_is_verified_and_its_recoding_publishes_the_same_again(tmp_path):
    import tablecloak

    frame = frame_of(np.random.default_rng(11), 120)
    policy = tablecloak.Policy.model_validate(
        {
            "columns": {"age": "quasi", "job": "quasi", "colour": "quasi", "illness": "sensitive"},
            "goals": [{"model": "k-anonymity", "k": 4}],
            "algorithm": {"kind": "auto", "labels": "set"},
        }
    )
    release = tablecloak.anonymize(frame.select("age", "job", "colour", "illness"), policy)
    assert any("{" in label for label in release.recoding.labels()["job"].names)
    stored = tmp_path / "recoding.json"
    stored.write_text(release.recoding.to_json(tmp_path), encoding="utf-8")
    again = read_recoding(stored)
    classes = again.classes_of(frame)
    assert (classes >= 0).all()
    for name in ("age", "job", "colour"):
        cells = again.labels()[name].publish(name, classes).cast(pl.String).to_list()
        assert all(oracle.covers(cell, value) for cell, value in zip(cells, frame[name].to_list(), strict=True))
