"""Models trained on releases, where what can be learned is known."""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.errors import DataError, MissingExtra, PolicyError


@pytest.fixture
def people():
    random = np.random.default_rng(5)
    age = random.integers(20, 60, 1500)
    return pl.DataFrame({"age": age, "sex": random.choice(["f", "m"], 1500), "old": np.where(age >= 40, "yes", "no")})


def learned(original, release, **options):
    pytest.importorskip("sklearn")
    return tc.compare(original, release, quasi=["age", "sex"], target="old", **options).learning


@pytest.mark.parametrize("learner", ["forest", "logistic", "tree", "bayes"])
def test_a_copy_teaches_as_much_as_the_original(people, learner):
    found = learned(people, people, learner=learner)
    assert found.original == found.release > 0.9
    assert found.kept == pytest.approx(1.0)


def test_the_majority_is_the_share_of_the_most_frequent_value(people):
    rare = people.with_columns(old=pl.when(pl.col("age") == 59).then(pl.lit("yes")).otherwise(pl.lit("no")))
    found = learned(rare, rare)
    assert found.majority == pytest.approx((rare["old"] == "no").mean(), abs=0.03)


def test_a_release_without_the_telling_column_teaches_nothing(people):
    found = learned(people, people.with_columns(age=pl.lit("*")))
    assert found.original > 0.9
    assert found.release < found.majority + 4 * found.error
    assert found.kept < 0.2


def test_intervals_that_keep_the_border_teach_nearly_all(people):
    label = pl.when(pl.col("age") >= 40).then(pl.lit("[40, 59]")).otherwise(pl.lit("[20, 39]"))
    found = learned(people, people.with_columns(age=label))
    assert found.release > 0.9


@pytest.mark.slow
def test_test_records_are_kept_out_of_training_where_rows_can_be_matched(people):
    assert learned(people, people).notes == ()
    shuffled = people.sample(fraction=1.0, shuffle=True, seed=1)
    assert "could not be told apart" in learned(people, shuffled).notes[0]


def test_numbers_are_predicted_by_quarter(people):
    pytest.importorskip("sklearn")
    wide = people.with_columns(pay=pl.col("age") * 100 + pl.int_range(pl.len()) % 7)
    found = tc.compare(wide, wide, quasi=["age", "sex"], target="pay").learning
    assert found.n_targets == 4
    assert found.majority == pytest.approx(0.25, abs=0.05)


def test_an_unknown_target_is_an_error(people):
    with pytest.raises(DataError, match="no column 'ald'"):
        tc.compare(people, people, quasi=["age"], target="ald")


def test_an_unknown_learner_is_an_error(people):
    with pytest.raises(PolicyError, match="unknown learner"):
        tc.compare(people, people, quasi=["age"], target="old", learner="oracle")


def test_without_scikit_learn_the_error_says_what_to_install(people, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingExtra, match=r"tablecloak\[ml\]"):
        tc.compare(people, people, quasi=["age"], target="old")
