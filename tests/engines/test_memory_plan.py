"""A memory limit is planned for before a search begins: what it will hold decides how large shards are."""

import numpy as np
import pytest

import tablecloak as tc
from random_tables import coded_table
from tablecloak import pipeline
from tablecloak.algorithms import Auto, Mondrian
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown import auto
from tablecloak.engines.disk import coding
from tablecloak.engines.disk.coding import CodingLimits, Needs, bytes_of_values
from tablecloak.engines.shards import CutJudge, codes_in, cut_apart
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.policy.load import load_policy
from tablecloak.progress import silent
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


def test_values_take_their_room_from_the_tuples():
    held = bytes_of_values([column(1_000_000), column(30)])
    plain, beside = Needs(LIMITS, 400), Needs(LIMITS, 400, held)
    assert plain.tuples_at_once - beside.tuples_at_once == pytest.approx(held / 400, abs=1)
    assert 24_000_000 <= held <= 60_000_000  # a value, its place on a line and its count at least


def test_values_that_leave_no_room_are_refused_with_the_memory_that_they_would_take():
    needs = Needs(LIMITS, 400, bytes_of_values([column(20_000_000)]))
    with pytest.raises(IncompatibleChoice, match="values of sensitive columns") as refused:
        needs.require_room()
    asked = float(refused.value.hint.split()[1].removesuffix("GB,")) * 1e9
    limits = CodingLimits(int(asked), int(asked) - LIMITS.resident, LIMITS.resident, 2)
    Needs(limits, 400, needs.value_bytes).require_room()


def test_a_column_of_too_many_values_is_refused_before_the_table_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(coding, "VALUE_BYTES", 200_000)
    with pytest.raises(IncompatibleChoice, match="values of sensitive columns"):
        pipeline.run(policy_of(tmp_path, [K, L]), engine="duckdb", memory="1GB")
    assert not (tmp_path / "release.parquet").exists()


def test_a_table_is_cut_alike_however_few_counts_are_held_at_once():
    table = coded_table(np.random.default_rng(8), 3000)
    keys = np.repeat(table.keys, table.weights, axis=1) if len(table.weights) else table.keys
    count = codes_in(lambda: iter(np.array_split(keys, 3, axis=1)), table.space, table.sensitive)
    judge = CutJudge(table.space, table.sensitive, table.totals, 200, lambda stats: stats.size >= 50)
    asked = []

    def counted(tree, shards):
        asked.append(len(shards))
        return count(tree, shards)

    tree, sizes = cut_apart(counted, judge)
    assert max(asked) > 2
    asked.clear()
    few, sizes_of_few = cut_apart(counted, judge, at_once=1)
    assert set(asked) == {1, 2}
    assert sizes == sizes_of_few
    assert all(np.array_equal(getattr(tree, n), getattr(few, n)) for n in ("dim", "cut", "left", "right"))


def test_parts_of_a_large_table_are_searched_as_it_would_be(monkeypatch):
    monkeypatch.setattr(auto, "has_compiler", lambda: True)
    table = coded_table(np.random.default_rng(9), 600)
    trimmed = []
    search = Auto._trimmed
    monkeypatch.setattr(Auto, "_trimmed", lambda *given: trimmed.append(given[1].whole) or search(*given))
    part = Problem(table, BY_VALUES, whole=auto.LARGE)
    classes = Auto().solve(part, silent).class_of_tuple
    assert trimmed == [auto.LARGE]
    illness = table.sensitive_codes(0)
    weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
    held = {}
    for own, value, weight in zip(classes.tolist(), illness.tolist(), weights.tolist(), strict=True):
        held.setdefault(own, []).extend([value] * weight)
    assert all(len(values) >= 10 and len(set(values)) >= 3 for values in held.values())
    Auto().solve(Problem(table, BY_VALUES), silent)
    Auto().solve(Problem(table, BY_VALUES, whole=auto.LARGE - 1), silent)
    assert len(trimmed) == 1


def test_a_search_knows_how_large_the_table_of_a_shard_is(tmp_path, monkeypatch):
    monkeypatch.setattr(Needs, "tuples_at_once", 1000)
    wholes, search = set(), Auto.solve
    monkeypatch.setattr(
        Auto, "solve", lambda self, problem, progress: wholes.add(problem.whole) or search(self, problem, progress)
    )
    pipeline.run(policy_of(tmp_path, [K]), engine="duckdb", memory="1GB")
    assert wholes == {people(3000).select("age", "zip", "sex").n_unique()}
    wholes.clear()
    pipeline.run(policy_of(tmp_path, [K]), engine="local", force=True)
    assert wholes == {0}


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
