"""Attacks on columns that transforms change: the same on every engine, from the same rows."""

from __future__ import annotations

import numpy as np
import polars as pl

from tablecloak import pipeline
from tablecloak.policy.load import parse_policy

POLICY = """
columns:
  age: quasi
  number: {role: identifier, transform: hmac}
  town: {role: keep, transform: hmac}
goals: [{model: k-anonymity, k: 5}]
input: people.csv
output: out.csv
"""


def test_every_engine_reaches_and_finds_the_same(engine, tmp_path):
    draw = np.random.default_rng(2)
    towns = draw.choice(["a", "b", "c", None], 600, p=[0.5, 0.3, 0.1, 0.1])
    frame = pl.DataFrame({"age": draw.integers(20, 60, 600), "number": np.arange(600) * 7, "town": towns})
    frame.write_csv(tmp_path / "people.csv")
    policy = parse_policy(POLICY, name="policy.yaml", base=tmp_path)
    one, other = (pipeline.run(policy, engine=name, force=True) for name in ("local", engine))
    assert [a.to_dict() for a in other.attacks] == [a.to_dict() for a in one.attacks]
    assert other.findings == one.findings
    (weak,) = [f for f in one.findings if f.kind == "weak-transform"]
    assert (weak.column, weak.share) == ("town", 0.9)  # empty cells tell no town
