"""Models of classes in use: whole releases, groups on some columns, persons, notes and explanations."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError

import effort
import oracle_models
from tablecloak import pipeline, registry
from tablecloak.cli.main import main
from tablecloak.data.table import Order
from tablecloak.errors import GoalNotMet, IncompatibleChoice, PolicyError
from tablecloak.measure.attack.tables import _attacker
from tablecloak.models import Goal, model
from tablecloak.models.base import PrivacyModel
from tablecloak.models.confidence_bounding import ConfidenceBounding
from tablecloak.models.m_confidentiality import MConfidentiality
from tablecloak.policy.load import dump_policy, json_schema, parse_policy
from tablecloak.policy.problems import InvalidPolicyError
from tablecloak.policy.schema import Policy
from tablecloak.report.explain import explain
from tablecloak.stats import Evidence

QUASI = ["age", "zip", "sex"]
CATEGORIES = [["hiv", "cancer"], ["ulcer"], ["flu", "cold"]]
GOALS = [
    {"model": "p-sensitive-k-anonymity", "p": 3, "k": 5, "sensitive": "disease"},
    {"model": "p-plus-sensitive-k-anonymity", "p": 2, "k": 5, "sensitive": "disease", "categories": CATEGORIES},
    {"model": "p-alpha-sensitive-k-anonymity", "p": 2, "k": 5, "alpha": 2, "sensitive": "disease",
     "categories": CATEGORIES},
    {"model": "alpha-k-anonymity", "alpha": 0.5, "k": 4, "sensitive": "disease"},
    {"model": "confidence-bounding", "x": ["age", "sex"], "s": "hiv", "h": 0.3, "sensitive": "disease"},
    {"model": "confidence-bounding", "sensitive": "disease",
     "templates": [{"x": ["zip"], "s": "hiv", "h": 0.3}, {"s": "cancer", "h": 0.5}]},
    {"model": "xy-anonymity", "x": ["age"], "k": 10},
    {"model": "xy-anonymity", "x": ["age"], "y": "disease", "k": 3},
    {"model": "xy-anonymity", "x": ["age"], "y": ["disease", "job"], "k": 6},
    {"model": "xy-privacy", "x": ["age", "zip"], "k": 5, "h": 0.6, "y": "disease"},
    {"model": "ke-anonymity", "k": 4, "e": 1000, "sensitive": "pay"},
    {"model": "em-anonymity", "epsilon": 200, "m": 2, "sensitive": "pay"},
    {"model": "wgp", "protection": 0.5, "width": 500, "sensitive": "pay"},
    {"model": "wgp", "protection": 0.4, "known": 1, "sensitive": "job"},
    {"model": "beta-likeness", "beta": 2, "enhanced": True, "sensitive": "disease"},
    {"model": "delta-disclosure", "delta": 1.5, "sensitive": "job"},
    {"model": "l-plus-diversity", "thresholds": {"hiv": 0.25, "cancer": 0.3}, "sensitive": "disease"},
    {"model": "multi-l-diversity", "l": 2, "sensitive": ["disease", "job"]},
    {"model": "multi-l-diversity", "l": 2, "mode": "per_sa", "variant": "entropy"},
    {"model": "lkc-privacy", "l": 2, "k": 5, "c": 0.6, "sensitive": "disease"},
    {"model": "average-risk", "limit": 0.1},
    {"model": "sample-uniqueness", "limit": 0.05},
]  # fmt: skip


def patients(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "person": rng.integers(0, n // 2, n),
            "age": rng.integers(18, 80, n),
            "zip": rng.integers(0, 30, n),
            "sex": rng.choice(["m", "f"], n),
            "disease": rng.choice(["flu", "hiv", "cancer", "cold", "ulcer"], n, p=[0.4, 0.1, 0.1, 0.3, 0.1]),
            "job": rng.choice(["a", "b", "c"], n),
            "pay": rng.integers(1000, 5000, n),
        }
    )


def policy_for(*goals, person=None, **more):
    columns = dict.fromkeys(QUASI, "quasi") | dict.fromkeys(["disease", "job", "pay"], "sensitive")
    return Policy.model_validate(
        {"columns": columns | ({person: "person"} if person else {}), "goals": list(goals), **more}
    )


def ids(goal):
    return f"{goal['model']}-{len(str(goal))}"


def ask_oracle(goal, rows, **context):
    thresholds = {"thresholds": list(goal["thresholds"].items())} if "thresholds" in goal else {}
    return oracle_models.check(goal | thresholds, rows, QUASI, sensitive=["disease", "job", "pay"], **context)


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS, ids=ids)
def test_release_satisfies_the_oracle_and_is_not_one_class(goal):
    release = pipeline.anonymize(patients(), policy_for(goal))
    assert ask_oracle(goal, release.frame.to_dicts())[0]
    assert release.report.verification.n_classes > 5


def test_ck_safe_release_has_classes():
    goal = {"model": "ck-safety", "c": 0.9, "k": 1, "sensitive": "disease"}
    assert pipeline.anonymize(patients(), policy_for(goal)).report.verification.n_classes > 5


@pytest.mark.parametrize("goal", GOALS, ids=ids)
def test_verify_agrees_with_the_oracle_on_any_table(goal):
    holds = []
    for seed in range(effort.often(4)):
        raw = patients(60, seed)
        width = (1, 20, 40, 100)[seed % 4]
        coarse = raw.with_columns(
            (pl.col("age") // width).cast(pl.String), (pl.col("zip") // width).cast(pl.String),
            pl.when(pl.lit(value=seed % 3 == 0)).then(pl.lit("*")).otherwise(pl.col("sex")).alias("sex"),
        )  # fmt: skip
        (verdict,) = pipeline.verify(coarse, policy_for(goal)).verdicts
        expected, achieved = ask_oracle(goal, coarse.to_dicts())
        assert verdict.holds == expected
        assert verdict.achieved == pytest.approx(float(achieved), abs=1e-9)
        holds.append(expected)
    assert not all(holds)


# --- persons ---------------------------------------------------------------------------------------------------------


def persons_per_class(release, raw):
    rows = [{**published, "person": p} for published, p in zip(release.to_dicts(), raw["person"], strict=True)]
    return [len({r["person"] for r in g}) for g in oracle_models.group_by(rows, QUASI).values()]


def few_persons():
    """Four visits of each person, all alike: rows hide behind rows of the same person."""
    return patients(40, 1).with_columns(person=pl.int_range(40)).select(pl.all().repeat_by(4).explode())


def test_k_anonymity_counts_persons_who_have_several_rows():
    raw = few_persons()
    by_rows = pipeline.anonymize(raw, policy_for({"model": "k-anonymity", "k": 4}))
    assert min(persons_per_class(by_rows.frame, raw)) == 1
    by_persons = pipeline.anonymize(raw, policy_for({"model": "k-anonymity", "k": 4}, person="person"))
    assert min(persons_per_class(by_persons.frame, raw)) >= 4
    assert by_persons.report.verification.verdicts[0].achieved == min(persons_per_class(by_persons.frame, raw))
    assert "person" not in by_persons.frame.columns


PERSON_GOALS = [
    {"model": "average-risk", "limit": 0.2},
    {"model": "xy-anonymity", "k": 4, "y": "person"},
    {"model": "sample-uniqueness", "limit": 0},
]


@pytest.mark.parametrize("goal", PERSON_GOALS, ids=ids)
def test_other_models_count_persons_too(goal):
    raw = few_persons()
    release = pipeline.anonymize(raw, policy_for(goal, person="person"))
    rows = [{**row, "person": p} for row, p in zip(release.frame.to_dicts(), raw["person"], strict=True)]
    expected, achieved = ask_oracle(goal, rows, person="person")
    assert expected
    assert release.report.verification.verdicts[0].achieved == pytest.approx(float(achieved))


@settings(max_examples=effort.often(5), derandomize=True)
@given(seed=st.integers(0, 10_000), k=st.integers(2, 6), n_persons=st.integers(6, 40), order=st.sampled_from(Order))
def test_every_class_has_k_persons(seed, k, n_persons, order):
    rng = np.random.default_rng(seed)
    raw = patients(60, seed).with_columns(person=pl.Series(rng.permutation(np.arange(60) % n_persons)))
    goal = {"model": "k-anonymity", "k": k}
    output = {"output": {"path": "x.csv", "order": order}}
    release = pipeline.anonymize(raw, policy_for(goal, person="person", **output, others="keep"))
    found = release.report.verification.verdicts[0].achieved
    assert found >= k
    if order is Order.KEEP:
        assert found == min(persons_per_class(release.frame, raw))


def test_written_release_is_recounted_with_its_persons(tmp_path):
    raw = few_persons()
    release = pipeline.anonymize(raw, policy_for({"model": "k-anonymity", "k": 4}, person="person"))
    release.write(tmp_path / "release.csv")
    ((domain, codes),) = release._originals.unpublished
    everyone_is_one = replace(release._originals, unpublished=((domain, np.zeros_like(codes)),))
    object.__setattr__(release, "_originals", everyone_is_one)
    with pytest.raises(GoalNotMet, match="k-anonymity reaches 1 where 4 is required"):
        release.write(tmp_path / "again.csv")
    assert not (tmp_path / "again.csv").exists()


def test_report_shows_neither_persons_nor_combinations(tmp_path):
    raw = few_persons().with_columns(person=pl.format("canary-{}", "person"))
    goals = [{"model": "k-anonymity", "k": 4}, {"model": "xy-anonymity", "k": 2, "y": ["disease", "job"]}]
    release = pipeline.anonymize(raw, policy_for(*goals, person="person"))
    release.write(tmp_path / "release.csv", report=tmp_path / "report.html", certificate=tmp_path / "certificate.json")
    assert not any("canary" in path.read_text() for path in tmp_path.iterdir())


def test_a_file_alone_says_that_persons_were_not_recounted():
    policy = policy_for({"model": "k-anonymity", "k": 4}, person="person")
    release = pipeline.anonymize(few_persons(), policy)
    verification = pipeline.verify(release.frame, policy)
    assert (verification.holds, verification.status) == (False, "unchecked")
    assert "persons could not be counted" in verification.verdicts[0].unchecked
    beside = pipeline.verify(release.frame, policy, original=few_persons())
    assert beside.holds
    assert beside.verdicts[0].achieved == release.report.verification.verdicts[0].achieved


def test_too_few_persons_are_infeasible_whatever_the_rows():
    raw = patients(100).with_columns(person=pl.int_range(100) % 3)
    with pytest.raises(Exception, match=r"best: 3") as caught:
        pipeline.anonymize(raw, policy_for({"model": "k-anonymity", "k": 4}, person="person"))
    assert caught.type.__name__ == "Infeasible"


def test_two_person_columns_are_refused():
    columns = {"age": "quasi", "a": "person", "b": "person"}
    policy = Policy.model_validate({"columns": columns, "goals": [{"model": "k-anonymity", "k": 2}]})
    with pytest.raises(IncompatibleChoice, match="2 columns have the role person"):
        pipeline.anonymize(pl.DataFrame({"age": [1, 2], "a": [1, 2], "b": [1, 2]}), policy)


# --- models that are not monotone ------------------------------------------------------------------------------------


def test_a_table_that_violates_a_model_is_cut_until_it_does_not():
    # together 3/4 of the numbers lie within 10 of 0; cut by age they satisfy (10, 2)-anonymity
    raw = pl.DataFrame({"age": [1, 1, 9, 9], "pay": [0, 100, -10, 10]})
    policy = Policy.model_validate(
        {"columns": {"age": "quasi", "pay": "sensitive"}, "goals": [{"model": "em-anonymity", "epsilon": 10, "m": 2}]}
    )
    release = pipeline.anonymize(raw, policy)
    assert release.frame["age"].to_list() == ["1", "1", "9", "9"]
    assert any("finished table is recounted" in note for note in release.report.to_dict()["notes"])


def test_nothing_is_released_where_no_cut_helps():
    raw = pl.DataFrame({"age": [1, 2, 3, 4], "pay": [5, 5, 5, 5]})
    policy = Policy.model_validate(
        {"columns": {"age": "quasi", "pay": "sensitive"}, "goals": [{"model": "em-anonymity", "epsilon": 1, "m": 2}]}
    )
    with pytest.raises(GoalNotMet, match="the search found no classes that all satisfy em-anonymity"):
        pipeline.anonymize(raw, policy)


def test_classes_that_violate_are_left_out_within_the_limit():
    # four equal numbers cannot be protected by any cut; the two others can stand alone
    raw = pl.DataFrame({"age": [1, 1, 9, 9, 9, 9], "pay": [0, 100, 7, 7, 7, 7]})
    policy = Policy.model_validate(
        {
            "columns": {"age": "quasi", "pay": "sensitive"},
            "goals": [{"model": "em-anonymity", "epsilon": 1, "m": 2}, {"model": "k-anonymity", "k": 2}],
            "algorithm": {"kind": "mondrian", "suppression_limit": 0.7},
        }
    )
    release = pipeline.anonymize(raw, policy)
    assert release.report.verification.n_suppressed == 4
    assert release.frame.rows() == [("1", 0), ("1", 100)]


# --- policies and words ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("goal", GOALS, ids=ids)
def test_goal_survives_a_policy_file(goal, tmp_path):
    policy = policy_for(goal)
    assert parse_policy(dump_policy(policy), name="p", base=tmp_path).goals == policy.goals
    assert hash(policy.goals[0]) == hash(policy_for(goal).goals[0])


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"model": "xy-anonymity", "k": 2, "x": ["job"]}, "goals[0].x: column 'job' has the role sensitive, not quasi"),
        ({"model": "xy-anonymity", "k": 2, "y": "age"}, "goals[0].y: column 'age' has the role quasi, not sensitive"),
        (
            {"model": "confidence-bounding", "templates": [{"x": ["agee"], "s": "hiv", "h": 0.5}]},
            "goals[0].templates[0].x: no column 'agee' has the role quasi",
        ),
        ({"model": "p-plus-sensitive-k-anonymity", "p": 2, "k": 2, "categories": [["a"]]}, "goals[0].categories"),
        ({"model": "l-plus-diversity", "thresholds": {"hiv": 2}}, "goals[0].thresholds"),
    ],
)
def test_wrong_goals_are_refused_with_their_place(goal, message):
    with pytest.raises(InvalidPolicyError) as caught:
        policy_for(goal)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("params", "message"),
    [({"s": "a"}, "needs s and h"), ({"s": "a", "h": 0.5, "templates": [{"s": "a", "h": 0.5}]}, "either templates or")],
)
def test_confidence_bounding_takes_one_form(params, message):
    with pytest.raises(ValidationError, match=message):
        ConfidenceBounding(**params)


@pytest.mark.parametrize("name", ["ke-anonymity", "em-anonymity"])
def test_models_of_numbers_refuse_text(name):
    params = {"k": 2, "e": 1} if name == "ke-anonymity" else {"epsilon": 1, "m": 2}
    with pytest.raises(IncompatibleChoice, match="needs numbers or dates; the sensitive column 'disease' has none"):
        pipeline.anonymize(patients(20), policy_for({"model": name, "sensitive": "disease", **params}))


def test_check_says_what_enforcing_means(tmp_path):
    patients().write_csv(tmp_path / "data.csv")
    goals = [
        {"model": "average-risk", "limit": 0.1},
        {"model": "xy-anonymity", "x": ["age"], "k": 3},
    ]
    notes = pipeline.check(policy_for(*goals, input=str(tmp_path / "data.csv"))).notes
    assert any(
        "average-risk: judges the whole table; searches ask for classes of 10, which implies" in n for n in notes
    )
    assert any(note.startswith("xy-anonymity: the search asks it of every class") for note in notes)


@pytest.mark.parametrize("name", registry.known("models"))
def test_every_model_is_explained(name):
    found = explain(name)
    assert found.definition.endswith(".")
    assert found.protects_from
    assert found.not_from
    assert found.reference
    assert found.detail
    assert found.parameters
    assert all(p.description for p in found.parameters)
    assert any(
        "usual" in p.description or "unit" in p.description or "share" in p.description for p in found.parameters
    )


def test_unknown_name_is_explained_by_the_nearest():
    with pytest.raises(PolicyError, match="did you mean 'wgp'"):
        explain("wpg")


def test_a_toy_model_takes_one_class(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(registry._known, "models", dict(registry.known("models")))  # all of them are loaded

    @model("even-classes", evidence=Evidence.SIZE)
    class EvenClasses(PrivacyModel):
        """Every class has an even number of records, `n` at least.

        Protects from: odd ones out. Not from: anything else.
        Reference: made up.
        """

        n: Annotated[int, Field(ge=2, description="smallest size; 2 is usual")]

        @property
        def required(self):
            return self.n

        def levels(self, stats):
            return np.where(stats.size % 2 == 0, stats.size, 0).astype(float)

    raw = patients(40)
    policy = policy_for({"model": "even-classes", "n": 4})
    assert policy.goals == (EvenClasses(n=4),)
    assert any(
        branch.get("title") == "even-classes" for branch in json_schema()["properties"]["goals"]["items"]["anyOf"]
    )
    release = pipeline.anonymize(raw, policy)
    sizes = [len(g) for g in oracle_models.group_by(release.frame.to_dicts(), QUASI).values()]
    assert all(size % 2 == 0 and size >= 4 for size in sizes)
    assert main(["list", "models", "--json"]) == 0
    assert "even-classes" in [entry["name"] for entry in json.loads(capsys.readouterr().out)["models"]]
    assert main(["explain", "even-classes", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["definition"] == "Every class has an even number of records, `n` at least."
    assert (told["protects_from"], told["not_from"]) == ("odd ones out.", "anything else.")
    assert told["parameters"] == [
        {"name": "n", "description": "smallest size; 2 is usual", "is_required": True, "default": None}
    ]
    assert main(["explain", "even-classes"]) == 0
    assert "made up" in capsys.readouterr().out
    assert not Goal(policy.goals).is_monotone


@pytest.mark.parametrize("engine", ["local", "duckdb"])
@pytest.mark.parametrize("mode", ["def8", "per_sa"])
def test_multi_l_diversity_works_with_stars_for_suppressed_records(mode, engine):
    ages = [*range(20, 60)] * 3 + [99]
    frame = pl.DataFrame(
        {"age": ages, "job": [f"j{i % 3}" for i in range(121)], "disease": [f"d{i // 3 % 4}" for i in range(121)]}
    )
    policy = Policy(
        columns={"age": {"role": "quasi"}, "job": {"role": "sensitive"}, "disease": {"role": "sensitive"}},
        goals=[{"model": "k-anonymity", "k": 2}, {"model": "multi-l-diversity", "l": 2, "mode": mode}],
        algorithm={"kind": "mondrian", "suppression_limit": 0.1},
        output={"path": "release.csv", "suppressed": "star"},
    )
    release = pipeline.anonymize(frame, policy, engine=engine)
    rows = [row for row in release.frame.cast(pl.String).iter_rows(named=True) if row["job"] != "*"]
    goal = {"model": "multi-l-diversity", "l": 2, "mode": mode}
    assert oracle_models.check(goal, rows, ["age"], sensitive=["job", "disease"])[0]
    assert 0 < release.report.verification.n_suppressed == 121 - len(rows) <= 12


@pytest.mark.parametrize(
    ("goal", "among"),
    [
        ({"model": "l-diversity", "l": 4}, 4),
        ({"model": "multi-l-diversity", "l": 3}, 3),
        ({"model": "m-confidentiality", "m": 5, "k": 20}, 5),
        ({"model": "em-anonymity", "epsilon": 1, "m": 7}, 2),  # its m is a share of near numbers
        ({"model": "lkc-privacy", "l": 6, "k": 3, "c": 0.5}, 2),  # its l are columns that somebody knows
    ],
    ids=lambda value: value["model"] if isinstance(value, dict) else str(value),
)
def test_only_models_that_say_so_tell_an_attacker_among_how_many_values_people_hide(goal, among):
    policy = Policy(columns={"age": "quasi", "pay": "sensitive"}, goals=[goal])
    assert _attacker(policy).m == among


def test_m_confidentiality_searches_for_classes_in_which_its_m_and_its_k_can_hold():
    assert Goal((MConfidentiality(m=2, k=20),)).min_size == 20
    assert (
        Goal((MConfidentiality(m=9, k=4),)).min_size == 9
    )  # in a smaller class every value has a larger share than 1/9
    assert Goal((MConfidentiality(m=9, k=4, values=("flu",)),)).min_size == 4
