"""auto on large tables: outliers of the classes that lose most are put elsewhere, and nothing depends on the order."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.algorithms import secret_order
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown import _large, auto
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.algorithms.topdown.mondrian import Mondrian
from tablecloak.engines.base import SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.policy.load import parse_policy
from tablecloak.progress import silent
from tablecloak.release.plan import make_plan

K = 5
POLICY = """version: 1
input: x.csv
columns: {age: quasi, education: quasi, sex: quasi, disease: sensitive}
goals: [{model: k-anonymity, k: 5}]
output: y.csv
"""


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    for module in (auto, _large):
        monkeypatch.setattr(module, "LARGE", 100)


def coded(frame):
    table = table_of(frame.select("age", "education", "sex", "disease"))
    plan = make_plan(parse_policy(POLICY, name="large", base=Path()), table.frame.columns)
    return LocalEngine().contingency(table, plan.quasi_columns(table), [SensitiveColumn("disease")], by_row=False).table


BY_SIZE = Goal((KAnonymity(k=K),))


def solved(table, goal=BY_SIZE, threads=1):
    return secret_order.solve(Auto(), Problem(table, goal, threads), silent)


def loss(table, solution):
    return float((solution.sizes(table) * (solution.losses(table.domains) @ table.space.weight)).sum())


@pytest.fixture(scope="module")
def people():
    return tc.sample.census(1500)


def test_a_large_table_loses_less_than_its_cuts_and_keeps_the_goal(people):
    table = coded(people)
    cuts = secret_order.solve(Mondrian(), Problem(table, BY_SIZE), silent)
    trimmed = solved(table)
    assert loss(table, trimmed) < 0.995 * loss(table, cuts)
    assert trimmed.sizes(table).min() >= K


def test_boxes_are_those_of_the_tuples_of_a_class(people):
    table = coded(people)
    solution = solved(table)
    for dim in range(3):
        codes = table.quasi_codes(dim)
        for number in range(0, solution.n_classes, 7):
            own = codes[solution.class_of_tuple == number]
            assert (solution.lo[number, dim], solution.hi[number, dim]) == (own.min(), own.max())


def test_neither_order_of_rows_nor_threads_decide(people):
    table = coded(people)
    one = solved(table)
    order = np.random.default_rng(0).permutation(table.n_tuples)
    other = solved(table.reordered(order), threads=3)
    assert np.array_equal(one.class_of_tuple[order], other.class_of_tuple)


def test_equal_tuples_are_one_whether_they_were_united_or_not(people):
    table = coded(people)
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    apart = np.repeat(np.arange(table.n_tuples), weights)
    by_row = replace(table.reordered(apart), weights=np.zeros(0, np.int64))
    assert np.array_equal(solved(by_row).class_of_tuple, solved(table).class_of_tuple[apart])


def test_goals_of_values_hold_after_the_changes(people):
    table, goal = coded(people), Goal((KAnonymity(k=K), LDiversity(l=3)))
    solution = solved(table, goal)
    assert goal.admits(solution.stats(table)).all()
    for number in range(0, solution.n_classes, 5):
        assert len(np.unique(table.sensitive_codes(0)[solution.class_of_tuple == number])) >= 3


def test_a_budget_of_no_tuples_leaves_the_cuts(people, monkeypatch):
    monkeypatch.setattr(_large, "BUDGET", 0)
    table = coded(people)
    cuts = secret_order.solve(Mondrian(), Problem(table, BY_SIZE), silent)
    assert loss(table, solved(table)) == loss(table, cuts)
