"""What transforms do to means, deviations and correlations, and the risk before them: the same on every engine."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tablecloak import pipeline
from tablecloak.policy.load import parse_policy

POLICY = """
columns:
  age: {role: quasi, transform: {kind: round, base: 5}}
  cost: {role: keep, transform: {kind: top-code, at: 300, label: false}}
  since: {role: keep, transform: {kind: top-code, at: 2020-06-01, label: false}}
  stay: keep
goals: [{model: k-anonymity, k: 5}]
input: people.csv
output: out.csv
"""


def test_every_engine_tells_the_same_moments_and_the_same_risk_before(engine, tmp_path):
    draw = np.random.default_rng(3)
    n = 600
    days = np.datetime64("2020-01-01") + draw.integers(0, 300, n).astype("timedelta64[D]")
    frame = pl.DataFrame({
        "age": draw.integers(20, 60, n), "cost": draw.uniform(0, 400, n).round(2), "since": days,
        "stay": [None if x == 3 else x for x in draw.integers(1, 4, n).tolist()],
    })  # fmt: skip
    frame.write_csv(tmp_path / "people.csv")
    policy = parse_policy(POLICY, name="policy.yaml", base=tmp_path)
    one, other = (pipeline.run(policy, engine=name, force=True).to_dict() for name in ("local", engine))
    assert other["risk"] == one["risk"]
    counts = frame["age"].value_counts()["count"].to_list()
    assert one["risk"]["quasi"]["before"]["classes"] == len(counts)
    assert [c["column"] for c in one["moments"]["columns"]] == ["age", "cost", "since"]
    for key in ("columns", "correlations"):
        for told, expected in zip(other["moments"][key], one["moments"][key], strict=True):
            assert _numbers(told) == pytest.approx(_numbers(expected), rel=1e-9, abs=1e-9)
            assert _rest(told) == _rest(expected)
    (cost,) = [c for c in one["moments"]["columns"] if c["column"] == "cost"]
    assert cost["after"]["total"] == pytest.approx(sum(min(300, x) for x in frame["cost"]))


def _flat(entry):
    for key, value in entry.items():
        yield from ((f"{key}.{k}", v) for k, v in value.items()) if isinstance(value, dict) else [(key, value)]


def _numbers(entry):
    return {key: value for key, value in _flat(entry) if isinstance(value, float)}


def _rest(entry):
    return {key: value for key, value in _flat(entry) if not isinstance(value, float)}
