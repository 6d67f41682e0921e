"""What a release is still good for is measured on every engine, on a sample where rows are not in memory together."""

import numpy as np
import pytest

from engine_tables import K, L, people, policy_of
from random_tables import coded_table
from tablecloak import pipeline
from tablecloak.algorithms.base import Solution
from tablecloak.data.coded import tuples_of
from tablecloak.engines import row_samples
from tablecloak.engines.base import Answer, Coding
from tablecloak.engines.shards import CutJudge, codes_in, cut_apart, shard_of_rows
from tablecloak.measure import compare as comparison
from tablecloak.metrics import ambiguity_data
from tablecloak.policy.load import parse_policy
from tablecloak.release import outcome

pytestmark = pytest.mark.slow
ROWS = 900
PAIRS = ["contingency-error", "association-error", "correlation-error"]
DISTRIBUTIONS = ["hellinger", "lp-norm", "kl", "emd"]
TARGETS = ["classification", "hce-tdr", "igpl"]


def run_in_shards(folder, algorithm, *, engine="duckdb"):
    people(ROWS).write_csv(folder / "people.csv")
    text = policy_of(algorithm, [K, L], extra=", report: report.html")
    policy = parse_policy(text, name="p", base=folder)
    return policy, {m.name: m for m in pipeline.run(policy, engine=engine, memory="1GB").measurements}


def of_files(policy):
    """The same, measured on the files alone."""
    found = comparison.compare(policy.input_path, policy.output_path, policy=policy)
    return {m.name: m for m in found.metrics}


@pytest.mark.parametrize(
    "algorithm", ["mondrian", "{kind: auto, effort: fast}", "{kind: mondrian, suppression_limit: 0.05}"]
)
def test_shards_report_the_utility_of_their_files(algorithm, tiny, tmp_path):
    policy, found = run_in_shards(tmp_path, algorithm, engine=tiny)
    expected = of_files(policy)
    for name in [*PAIRS, *DISTRIBUTIONS, *TARGETS, "query-error", "gcp"]:
        assert found[name].value == pytest.approx(expected[name].value, abs=1e-9), name
        assert found[name].note is None


def test_a_sample_says_what_it_is_and_how_far_it_may_be_off(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(row_samples, "MOST", 450)
    policy, found = run_in_shards(tmp_path, "mondrian", engine=tiny)
    expected = of_files(policy)
    for name in PAIRS:
        measured = found[name]
        assert f"of {ROWS}" in measured.note
        assert 0 < measured.error < 0.1
        assert abs(measured.value - expected[name].value) < 5 * measured.error
    for name in DISTRIBUTIONS:  # counts of columns are exact however many rows there are
        assert found[name].value == pytest.approx(expected[name].value, abs=1e-9)


def test_what_records_may_stand_for_is_estimated_where_counting_is_too_dear(tiny, tmp_path, monkeypatch):
    policy, _ = run_in_shards(tmp_path, "mondrian", engine=tiny)
    exact = of_files(policy)["ambiguity-data"].value
    monkeypatch.setattr(ambiguity_data, "MOST_PAIRS", 1)
    assert of_files(policy)["ambiguity-data"].value == pytest.approx(exact)  # all rows against all
    monkeypatch.setattr(ambiguity_data, "SAMPLED", 300)
    sampled = of_files(policy)["ambiguity-data"]
    assert sampled.note == f"300 of {ROWS} records against 300 originals"
    assert 0 < sampled.error < exact / 2
    assert abs(sampled.value - exact) < 5 * sampled.error


def test_what_records_may_stand_for_is_estimated_in_shards(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(outcome, "REPORTED", ("ambiguity-data",))
    whole = run_in_shards(tmp_path, "mondrian", engine=tiny)[1]["ambiguity-data"]
    assert whole.note is None
    monkeypatch.setattr(row_samples, "MOST", 450)
    (tmp_path / "again").mkdir()
    sampled = run_in_shards(tmp_path / "again", "mondrian", engine=tiny)[1]["ambiguity-data"]
    assert 0 < sampled.error < whole.value / 2
    assert abs(sampled.value - whole.value) < 5 * sampled.error


def test_rows_are_drawn_as_if_by_lot():
    """Of numbers from 0 on, about as many as wanted are drawn, in every stretch of them."""
    chosen = row_samples._scrambled(0, 100_000) <= np.uint64(2**64 // 10)
    by_stretch = chosen.reshape(10, -1).sum(axis=1)
    spread = np.sqrt(10_000 * 0.1 * 0.9)
    assert np.abs(by_stretch - 1000).max() < 5 * spread
    assert np.array_equal(row_samples._scrambled(500, 10), row_samples._scrambled(0, 510)[500:])


def test_rows_of_shards_elsewhere_are_drawn_in_proportion(monkeypatch):
    """Where only cuts say which class a row is in, every shard gives its share of the sample."""
    monkeypatch.setattr(row_samples, "MOST", 500)
    table = coded_table(np.random.default_rng(8), 3000)
    keys = np.repeat(table.keys, table.weights, axis=1) if len(table.weights) else table.keys
    count = codes_in(lambda: iter([keys]), table.space, table.sensitive)
    judge = CutJudge(table.space, table.sensitive, table.totals, 700, lambda stats: np.ones(stats.n_classes, bool))
    tree, sizes = cut_apart(count, judge)
    shard = shard_of_rows(keys, table.space, tree)
    parts = [
        tuples_of(np.ascontiguousarray(keys[:, shard == i]), table.space, table.domains, table.sensitive, table.totals)
        for i in range(len(sizes))
    ]
    box = np.zeros((len(sizes), table.space.n_dims), np.int64)
    answer = Answer(Solution(np.zeros(0, np.int64), box, box, tree), np.array(sizes))
    coding = Coding(table.domains, table.sensitive, 3000, table.n_tuples, table.totals, parts, tree)
    drawn, classes = row_samples.sample_of(coding, answer)
    assert np.abs(np.bincount(classes, minlength=len(sizes)) - np.array(sizes) / 6).max() <= 0.5
    assert np.array_equal(shard_of_rows(drawn.keys, table.space, tree), classes)
    assert {tuple(row) for row in drawn.keys.T.tolist()} <= {tuple(row) for row in keys.T.tolist()}
