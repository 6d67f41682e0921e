"""A memory limit is planned for before a search begins: what it will hold decides how large shards are."""

import numpy as np
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.algorithms import Auto, Mondrian
from tablecloak.engines.disk.coding import CodingLimits, Needs
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.policy.load import load_policy
from tablecloak.stats.classes import SensitiveDomain

LIMITS = CodingLimits(memory=1_000_000_000, work=550_000_000, resident=450_000_000, threads=2)
BY_SIZE, BY_VALUES = Goal((KAnonymity(k=10),)), Goal((KAnonymity(k=10), LDiversity(l=3)))


def column(n_values):
    return SensitiveDomain("value", (None,) * n_values)


def test_shards_are_smaller_where_a_search_declares_more_bytes():
    few, many = Needs(LIMITS, 100), Needs(LIMITS, 400)
    assert few.tuples_at_once == 4 * many.tuples_at_once


@pytest.mark.parametrize("algorithm", [Mondrian(), Auto()])
def test_nearly_unique_values_are_declared_and_few_values_cost_next_to_nothing(algorithm):
    plain, few, unique = (algorithm.bytes_per_tuple(BY_VALUES, [column(n)]) for n in (1, 30, 1_000_000))
    assert few < 1.01 * plain < 2 * plain < unique


def test_a_goal_of_sizes_counts_no_values():
    nothing = Mondrian().bytes_per_tuple(BY_SIZE, [])
    assert Mondrian().bytes_per_tuple(BY_SIZE, [column(1_000_000)]) == nothing


def people(n):
    random = np.random.default_rng(1)
    return tc.sample.census(n).with_columns(salary=random.permutation(n).astype(float))


def policy_of(folder, goals, algorithm="auto"):
    people(3000).write_parquet(folder / "people.parquet")
    path = folder / "policy.yaml"
    path.write_text(f"""version: 1
input: people.parquet
columns: {{age: quasi, zip: {{role: quasi, type: text}}, sex: quasi, salary: sensitive}}
goals: [{", ".join(goals)}]
algorithm: {algorithm}
output: release.parquet
""")
    return load_policy(path)


K = "{model: k-anonymity, k: 5}"
L = "{model: l-diversity, l: 3, variant: distinct, sensitive: salary}"
T = "{model: t-closeness, t: 0.002, distance: ordered, sensitive: salary}"


def test_a_tiny_limit_makes_shards_and_the_release_holds(tmp_path, monkeypatch):
    monkeypatch.setattr(Needs, "tuples_at_once", 1000)
    report = pipeline.run(policy_of(tmp_path, [K, L]), engine="duckdb", memory="1GB")
    assert report.verification.holds
    assert report.verification.covers


def test_a_shard_that_cannot_be_cut_is_refused_before_the_search(tmp_path, monkeypatch):
    monkeypatch.setattr(Needs, "tuples_at_once", 100)
    with pytest.raises(IncompatibleChoice, match="cannot be cut apart"):
        pipeline.run(policy_of(tmp_path, [K, T]), engine="duckdb", memory="1GB")
    assert not (tmp_path / "release.parquet").exists()


def test_rows_that_one_search_needs_together_are_refused_with_the_memory_they_would_take(tmp_path, monkeypatch):
    monkeypatch.setattr(Needs, "tuples_at_once", 100)
    with pytest.raises(IncompatibleChoice, match="all of them at once") as refused:
        pipeline.run(policy_of(tmp_path, [K], "datafly"), engine="duckdb", memory="1GB")
    assert "--memory" in refused.value.hint
