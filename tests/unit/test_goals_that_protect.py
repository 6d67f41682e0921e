"""Goals that would protect nobody: values that do not occur, and diversity made of empty cells."""

import polars as pl
import pytest

from tablecloak import DataError, Infeasible, Policy, anonymize
from tablecloak.pipeline import check
from tablecloak.release.shapes.groups import GROUP

# 40 people with a common value, 15 with another, one with a value that nobody else has
ILLNESS = ["influenza"] * 40 + ["asthma"] * 15 + ["rarissimum"]
PEOPLE = pl.DataFrame({"age": [20 + i % 30 for i in range(56)], "illness": ILLNESS, "guard": ["asthma"] * 56})


def policy_for(*goals, algorithm=None, **more):
    return Policy(
        columns={"age": {"role": "quasi"}, "illness": {"role": "sensitive"}, "guard": {"role": "drop"}},
        goals=[{"model": "k-anonymity", "k": 2}, *goals],
        **({"algorithm": algorithm} if algorithm else {}),
        **more,
    )


NAMING = [
    lambda value: {"model": "alpha-k-anonymity", "alpha": 0.9, "k": 2, "values": [value]},
    lambda value: {"model": "lkc-privacy", "l": 1, "k": 2, "c": 0.9, "values": ["asthma", value]},
    lambda value: {"model": "confidence-bounding", "s": value, "h": 0.95},
    lambda value: {"model": "confidence-bounding", "templates": [{"s": "asthma", "h": 0.9}, {"s": value, "h": 0.9}]},
    lambda value: {"model": "l-plus-diversity", "thresholds": {value: 0.9}},
    lambda value: {"model": "l-diversity", "variant": "pd-recursive", "l": 2, "c": 9, "allowed": [value]},
    lambda value: {
        "model": "l-diversity", "variant": "npd-recursive", "l": 2, "c": 9, "c2": 0.01, "forbidden": [value],
    },
    lambda value: {"model": "p-plus-sensitive-k-anonymity", "p": 1, "k": 2, "categories": [[value], ["asthma"]]},
    lambda value: {
        "model": "p-alpha-sensitive-k-anonymity", "p": 1, "k": 2, "alpha": 0, "categories": [[value], ["asthma"]],
    },
    lambda value: {"model": "m-confidentiality", "m": 2, "k": 9, "values": [value]},
]  # fmt: skip


@pytest.mark.parametrize("goal", NAMING, ids=lambda goal: goal("")["model"])
def test_a_value_that_does_not_occur_is_an_error_that_names_a_common_one(goal):
    with pytest.raises(DataError, match="names the value 'influenca', which does not occur") as raised:
        anonymize(PEOPLE, policy_for(goal("influenca")))
    assert raised.value.hint == "did you mean 'influenza'?"


def test_a_value_of_few_people_is_never_suggested():
    with pytest.raises(DataError) as raised:
        anonymize(PEOPLE, policy_for({"model": "confidence-bounding", "s": "rarissimun", "h": 0.9}))
    assert "rarissimum" not in str(raised.value)


def test_check_finds_it_before_anything_runs(tmp_path):
    PEOPLE.write_csv(tmp_path / "people.csv")
    goal = {"model": "l-plus-diversity", "thresholds": {"asthmaa": 0.5}}
    with pytest.raises(DataError, match="does not occur in column 'illness'"):
        check(policy_for(goal, input=str(tmp_path / "people.csv")))


def test_a_guard_that_names_nothing_is_an_error_that_shows_no_cell():
    guarded = PEOPLE.with_columns(pl.Series("guard", ["asthma"] * 55 + ["asthmatic"]))
    goal = {"model": "personalized-privacy", "guard": "guard", "limit": 0.9}
    with pytest.raises(DataError, match="1 different cells of the guard column") as raised:
        anonymize(guarded, policy_for(goal))
    assert "asthma" not in str(raised.value)
    assert anonymize(PEOPLE, policy_for(goal)).frame.height == 56


# Two ages; one has a value and gaps, the other two values.
GAPS = pl.DataFrame({"age": [20] * 6 + [50] * 6, "illness": ["flu", None] * 3 + ["flu", "cold"] * 3})
DIVERSE = [
    {"model": "l-diversity", "l": 2},
    {"model": "l-diversity", "variant": "entropy", "l": 1.5},
    {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 3},
    {"model": "p-sensitive-k-anonymity", "p": 2, "k": 2},
    {"model": "multi-l-diversity", "l": 2, "mode": "per_sa"},
    {"model": "xy-anonymity", "k": 2, "y": "illness"},
]


def gaps_policy(goal, kind):
    return Policy(
        columns={"age": {"role": "quasi"}, "illness": {"role": "sensitive"}},
        goals=[{"model": "k-anonymity", "k": 2}, goal],
        algorithm={"kind": kind},
    )


@pytest.mark.parametrize("kind", ["auto", "mondrian", "optimal", "k-member"])
@pytest.mark.parametrize("goal", DIVERSE, ids=lambda goal: goal.get("variant", goal["model"]))
def test_empty_cells_make_no_class_diverse_unless_asked(goal, kind):
    published = anonymize(GAPS, gaps_policy(goal, kind)).frame
    for _, group in published.group_by("age"):
        assert group["illness"].drop_nulls().n_unique() >= 2
    asked = anonymize(GAPS, gaps_policy({**goal, "missing_counts": True}, kind)).frame
    assert kind == "k-member" or asked["age"].cast(pl.String).n_unique() == 2  # each age may stand for itself


def test_a_table_of_one_value_and_gaps_cannot_be_diverse():
    lone = pl.DataFrame({"age": [20] * 8, "illness": ["flu", None] * 4})
    with pytest.raises(Infeasible, match="best: 1"):
        anonymize(lone, gaps_policy({"model": "l-diversity", "l": 2}, "auto"))
    assert anonymize(lone, gaps_policy({"model": "l-diversity", "l": 2, "missing_counts": True}, "auto")) is not None


def test_groups_of_exact_values_do_not_pass_by_their_gaps():
    goal = {"model": "l-diversity", "l": 2}
    policy = Policy(
        columns={"age": {"role": "quasi"}, "illness": {"role": "sensitive"}},
        goals=[goal],
        algorithm={"kind": "anatomy"},
    )
    mostly_gaps = pl.DataFrame({"age": range(12), "illness": ["flu"] * 5 + ["cold"] + [None] * 6})
    groups = anonymize(mostly_gaps, policy).side
    assert groups is not None
    for _, group in groups.group_by(GROUP):
        assert group["illness"].drop_nulls().n_unique() >= 2
