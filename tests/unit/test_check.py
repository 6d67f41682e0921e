"""A check of a large table: feasibility by all rows, the loss estimated from some of them, and nothing searched."""

from __future__ import annotations

import math
from collections import Counter

import polars as pl
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.errors import Infeasible
from tablecloak.kernels import dispatch
from tablecloak.policy.load import parse_policy
from tablecloak.registry import known
from tablecloak.release.shapes import classes
from tablecloak.sample import census_policy, census_to_file

N = 8_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("check")
    census_to_file(path / "census.csv", N)
    return path


@pytest.fixture
def large(monkeypatch):
    """What is here is too large to be searched."""
    monkeypatch.setattr(classes, "INSTANT_TUPLES", 0)


def policy(folder, *, goals=None, algorithm="mondrian"):
    given = parse_policy(census_policy(), name="census.yaml", base=folder)
    changed = given.model_dump(by_alias=True, exclude_unset=True) | {"algorithm": {"kind": algorithm}}
    return tc.Policy.model_validate(changed | ({"goals": goals} if goals else {})).at(folder)


def k(k):
    return [{"model": "k-anonymity", "k": k}]


GOALS = {
    "k=3": k(3),
    "k=10": k(10),
    "k=200": k(200),
    "l=4": [{"model": "l-diversity", "l": 4, "sensitive": "disease"}],
    "t=0.3": [{"model": "t-closeness", "t": 0.3, "sensitive": "disease"}],
}


@pytest.mark.slow
@pytest.mark.parametrize("goals", GOALS.values(), ids=GOALS)
def test_the_estimate_is_near_what_a_search_comes_to(folder, large, goals):
    asked = policy(folder, goals=goals)
    estimated, exact = pipeline.check(asked), pipeline.check(asked, exact=True)
    assert estimated.feasible
    assert exact.feasible
    assert 0 < estimated.sampled_rows <= N
    assert exact.sampled_rows is None
    assert estimated.loss == pytest.approx(exact.loss, rel=0.25)


def test_nothing_is_searched_where_the_table_is_large(folder, large, monkeypatch):
    monkeypatch.setattr(pipeline, "search", lambda *_: pytest.fail("a search"))
    assert pipeline.check(policy(folder)).feasible
    assert pipeline.check(policy(folder, algorithm="auto")).loss is not None


def test_small_tables_are_searched(folder, monkeypatch):
    monkeypatch.setattr(classes, "INSTANT_TUPLES", N)
    assert pipeline.check(policy(folder)).sampled_rows is None


@pytest.mark.parametrize("n", [1, 7, N])
def test_feasible_is_said_exactly_where_all_records_together_satisfy_the_goal(folder, large, n):
    diseases = Counter(pl.read_csv(folder / "census.csv")["disease"].to_list())
    most_diverse = math.exp(-sum(c / N * math.log(c / N) for c in diseases.values()))
    goal = {"model": "l-diversity", "variant": "entropy", "sensitive": "disease"}
    below, above = ({**goal, "l": most_diverse * factor} for factor in (0.999, 1.001))
    size = {"model": "k-anonymity", "k": max(2, n)}
    assert pipeline.check(policy(folder, goals=[size, below])).feasible
    with pytest.raises(Infeasible):
        pipeline.check(policy(folder, goals=[size, above]))
    with pytest.raises(Infeasible):
        pipeline.check(policy(folder, goals=k(N + 1)))


def test_an_algorithm_that_may_fail_is_not_called_feasible(folder, large):
    goals = [{"model": "l-diversity", "l": 3, "sensitive": "disease"}]
    report = pipeline.check(policy(folder, goals=goals, algorithm="anatomy"))
    assert report.feasible is None
    assert "anatomy may find no release" in report.not_shown
    assert report.to_dict()["not_shown"] == report.not_shown
    assert not known("algorithms")["anatomy"].reaches_whole


def test_every_engine_says_the_same(folder, large):
    told = [pipeline.check(policy(folder), engine=engine) for engine in ("local", "duckdb")]
    assert [(r.feasible, r.rows, r.tuples, r.sampled_rows) for r in told[:1]] == [
        (r.feasible, r.rows, r.tuples, r.sampled_rows) for r in told[1:]
    ]
    assert told[0].loss == pytest.approx(told[1].loss)


def test_a_quick_answer_waits_for_no_compiler():
    with dispatch.compiled_from(100_000):
        assert not dispatch.pays(99_999)
        assert dispatch.pays(100_000) == dispatch.has_compiler()
    assert dispatch.pays(dispatch.COMPILED_FROM) == dispatch.has_compiler()
    assert not dispatch.pays(dispatch.COMPILED_FROM - 1)
