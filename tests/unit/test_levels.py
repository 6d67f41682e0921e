from __future__ import annotations

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.errors import Infeasible, PolicyError

TABLE = pl.DataFrame(
    {"zip": ["13053", "13053", "13068", "13068", "14850", "14853"], "sex": ["f", "f", "f", "f", "m", "m"]}
)


def policy(levels, k=2, **more):
    columns = {
        "zip": {"role": "quasi", "hierarchy": {"kind": "mask"}},
        "sex": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": {"person": ["f", "m"]}}},
    }
    algorithm = {"kind": "levels", "levels": levels, **more}
    return tc.Policy.model_validate(
        {"columns": columns, "goals": [{"model": "k-anonymity", "k": k}], "algorithm": algorithm}
    )


def test_every_value_is_published_at_the_level_given():
    release = tc.anonymize(TABLE, policy({"zip": 1}))
    assert release.frame["zip"].to_list() == ["1305*", "1305*", "1306*", "1306*", "1485*", "1485*"]
    assert release.frame["sex"].to_list() == TABLE["sex"].to_list()


def test_levels_beyond_the_top_are_the_top():
    release = tc.anonymize(TABLE, policy({"zip": 99, "sex": 99}))
    assert release.frame["zip"].unique().to_list() == ["*****"]
    assert release.frame["sex"].unique().to_list() == ["person"]


def test_levels_that_do_not_reach_the_goal_fail():
    with pytest.raises(Infeasible):
        tc.anonymize(TABLE, policy({"zip": 0}))


def test_records_that_fail_are_left_out_within_the_limit():
    release = tc.anonymize(TABLE, policy({"zip": 0}, suppression_limit=0.4))
    assert release.frame["zip"].to_list() == ["13053", "13053", "13068", "13068"]


def test_an_unknown_column_is_named():
    with pytest.raises(tc.IncompatibleChoice, match="zipp"):
        tc.anonymize(TABLE, policy({"zipp": 1}))


def test_negative_levels_are_refused():
    with pytest.raises(PolicyError, match="levels"):
        policy({"zip": -1})
