"""Propensity scores where the answer is known."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.metrics.propensity import logistic_scores


def measured(original, release, quasi):
    found = {m.name: m for m in tc.compare(original, release, quasi=quasi).metrics}
    return found["propensity"]


def test_scores_of_a_saturated_model_are_the_shares_of_each_group():
    group = np.repeat([0, 1, 2], [40, 60, 100])
    is_one = np.concatenate([np.arange(40) < 10, np.arange(60) < 30, np.arange(100) < 80]).astype(float)
    features = np.stack([np.ones(200), group == 1, group == 2], axis=1).astype(float)
    scores = logistic_scores(features, is_one)
    assert [scores[0], scores[50], scores[150]] == pytest.approx([10 / 40, 30 / 60, 80 / 100], abs=1e-3)


@pytest.fixture
def people():
    random = np.random.default_rng(3)
    return pl.DataFrame({"age": random.integers(20, 60, 2000), "sex": random.choice(["f", "m"], 2000)})


def test_a_copy_cannot_be_told_apart(people):
    found = measured(people, people, ["age", "sex"])
    assert found.value < 0.02
    assert "2,000 originals" in found.note


def test_disjoint_values_are_always_told_apart(people):
    old, young = people.filter(pl.col("age") >= 40), people.filter(pl.col("age") < 40)
    both = pl.concat([old, young])
    release = both.with_columns(age=pl.lit("[20, 21]"))
    assert measured(both, release, ["age", "sex"]).value > 0.8


def test_a_broken_link_between_columns_is_seen_though_each_column_is_kept():
    ages = np.tile([20, 50], 1000)
    original = pl.DataFrame({"age": ages, "sex": np.where(ages == 20, "f", "m")})
    release = original.with_columns(pl.Series("sex", np.tile(["f", "f", "m", "m"], 500)))
    assert measured(original, release, ["age", "sex"]).value > 0.2


def test_the_order_of_rows_makes_no_difference(people):
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=1)
    release = people.with_columns(age=pl.lit("*"))
    assert measured(people, release, ["age"]).value == measured(shuffled, release, ["age"]).value
