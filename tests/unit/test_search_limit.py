"""Searches that compare records with each other say how long they will take, and refuse above a limit."""

import numpy as np
import polars as pl
import pytest

import tablecloak.release.search as searching
from tablecloak import anonymize
from tablecloak.errors import IncompatibleChoice
from tablecloak.policy.load import parse_policy
from tablecloak.registry import find

QUADRATIC = ["k-member", "disk-clustering", "mdav"]


def table(n):
    random = np.random.default_rng(1)
    return pl.DataFrame({name: random.integers(0, 500, n) for name in ("a", "b", "c")})


def policy(tmp_path, algorithm, more=""):
    text = f"columns: {{a: quasi, b: quasi, c: quasi}}\ngoals: [{{model: k-anonymity, k: 5}}]\nalgorithm: {algorithm}\n"
    return parse_policy(text + more, name="policy", base=tmp_path)


@pytest.mark.parametrize("algorithm", QUADRATIC)
def test_a_search_of_hours_is_refused_before_it_begins(tmp_path, algorithm):
    with pytest.raises(IncompatibleChoice, match=r"will take about .* more than the 0.001 s") as caught:
        anonymize(table(60_000), policy(tmp_path, algorithm, "search_limit: 0.001\n"))
    assert "auto" in caught.value.hint
    assert "--set search_limit=" in caught.value.hint


def test_a_search_begins_where_the_policy_allows_its_time(tmp_path, monkeypatch):
    monkeypatch.setattr(searching, "BEGINS_AT_ONCE", 4000)
    release = anonymize(table(5000), policy(tmp_path, "mdav", "search_limit: 1e9\n"))
    assert "estimate" in release.report.seconds


@pytest.mark.parametrize("algorithm", [*QUADRATIC, "mondrian"])
def test_small_tables_and_fast_methods_are_not_estimated(tmp_path, algorithm):
    release = anonymize(table(500), policy(tmp_path, algorithm, "search_limit: 0.001\n"))
    assert "estimate" not in release.report.seconds


def test_microaggregation_along_a_line_has_no_comparisons_to_wait_for():
    assert find("algorithms", "univariate")().comparisons(10**6, 5) is None
    assert find("algorithms", "mdav")().comparisons(1000, 5) == 200_000
