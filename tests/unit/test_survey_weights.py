"""Weights of a survey in whole runs: goals, losses and risks counted again from what was published."""

from __future__ import annotations

import math
import random
from collections import defaultdict

import polars as pl
import pytest

import tablecloak as tc
from oracle_models import individual_risk
from tablecloak.errors import DataError, IncompatibleChoice, PolicyError

QUASI = ["age", "sex", "town"]
ROLES = {**tc.roles(quasi=QUASI, sensitive=["illness"]), "weight": {"role": "weight"}}


def answers(n=240, seed=1):
    """People of a made-up survey; in town, fewer were asked, so that they stand for more."""
    draw = random.Random(seed)
    rows = []
    for _ in range(n):
        town = draw.choice(["Aarau", "Bern", "Chur", "Davos"])
        weight = {"Aarau": 2.5, "Bern": 40.0, "Chur": 7.25, "Davos": 1.0}[town] * draw.choice([1, 1, 2])
        rows.append(
            {"age": draw.randint(18, 60), "sex": draw.choice("fm"), "town": town, "illness": draw.choice("abcd"),
             "weight": weight}
        )  # fmt: skip
    return pl.DataFrame(rows)


def policy(*goals, columns=ROLES, **more):
    return tc.Policy(columns=columns, goals=list(goals), **more)


def slow_risks(frame, weight="weight"):
    """The individual risk of every published record, by plain counting."""
    groups = defaultdict(list)
    for row in frame.to_dicts():
        groups[tuple(row[q] for q in QUASI)].append(row[weight])
    risk = {key: individual_risk(len(ws), math.fsum(ws)) for key, ws in groups.items()}
    return [risk[tuple(row[q] for q in QUASI)] for row in frame.to_dicts()]


@pytest.mark.parametrize("engine", ["local", "duckdb"])
@pytest.mark.parametrize("algorithm", ["auto", "mondrian", "flash", "datafly", "k-member"])
def test_no_published_record_exceeds_the_threshold(algorithm, engine):
    goal = {"model": "population-risk", "threshold": 0.04}
    release = tc.anonymize(answers(), policy(goal, algorithm=algorithm), engine=engine)
    risks = slow_risks(release.frame)
    assert len(risks) > 200
    assert max(risks) <= 0.04
    assert release.report.verification.verdicts[0].achieved == pytest.approx(max(risks))
    assert release.report.engine == engine


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_the_mean_risk_of_published_records_is_within_the_limit(engine):
    goals = [{"model": "global-risk", "limit": 0.02}, {"model": "k-anonymity", "k": 3}]
    release = tc.anonymize(answers(), policy(*goals), engine=engine)
    risks = slow_risks(release.frame)
    assert sum(risks) / len(risks) <= 0.02
    assert release.report.verification.verdicts[0].achieved == pytest.approx(sum(risks) / len(risks))


def test_a_record_of_large_weight_may_stand_alone_and_one_of_small_weight_may_not():
    frame = answers()
    release = tc.anonymize(frame, policy({"model": "population-risk", "threshold": 0.09}, algorithm="mondrian")).frame
    sizes = release.group_by(QUASI).agg(pl.len(), pl.col("weight").sum())
    alone = sizes.filter(pl.col("len") == 1)
    assert alone.height > 0
    assert alone["weight"].min() >= 40


def test_records_that_the_goal_leaves_alone_are_a_finding():
    release = tc.anonymize(answers(), policy({"model": "population-risk", "threshold": 0.09}, algorithm="mondrian"))
    assert "the goals allow classes of one" in " ".join(finding.what for finding in release.report.findings)


def test_a_threshold_that_no_release_reaches_says_which_one_does():
    frame = answers(20)
    with pytest.raises(tc.Infeasible) as error:
        tc.anonymize(frame, policy({"model": "population-risk", "threshold": 0.0001}))
    (relaxation,) = error.value.relaxations
    assert "goals.0.threshold" in relaxation["change"]


# Finished releases ----------------------------------------------------------------------------------------------------


@pytest.fixture
def finished():
    asked = policy({"model": "population-risk", "threshold": 0.04})
    frame = answers()
    return asked, frame, tc.anonymize(frame, asked).frame


@pytest.mark.parametrize("with_original", [False, True])
def test_verify_recounts_the_risk(finished, with_original):
    asked, frame, release = finished
    verification = tc.verify(release, asked, original=frame if with_original else None)
    assert verification.verdicts[0].holds
    assert verification.verdicts[0].achieved == pytest.approx(max(slow_risks(release)))


def test_verify_says_no_where_weights_were_made_smaller(finished):
    asked, _, release = finished
    verification = tc.verify(release.with_columns(weight=pl.lit(1.0)), asked)
    assert not verification.verdicts[0].holds
    assert verification.fails


def test_verify_with_the_original_says_no_where_weights_were_made_larger(finished):
    asked, frame, release = finished
    larger = release.with_columns(pl.col("weight") * 10)
    assert tc.verify(larger, asked, original=frame).fails


def test_a_release_without_weights_could_not_be_checked(finished):
    asked, _, release = finished
    verification = tc.verify(release.drop("weight"), asked)
    assert not verification.verdicts[0].holds
    assert "weights" in verification.verdicts[0].unchecked
    assert not verification.holds


def test_weights_that_are_no_numbers_could_not_be_checked(finished):
    asked, _, release = finished
    verification = tc.verify(release.with_columns(weight=pl.lit("many")), asked)
    assert not verification.holds


# Weights that are changed ---------------------------------------------------------------------------------------------


CHANGES = ({"kind": "microaggregate", "k": 60}, {"kind": "round", "base": 100, "towards": "up"}, {"kind": "noise"})


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["kind"])
def test_a_goal_judges_changed_weights_as_they_were_and_only_the_run_can_tell(change):
    changed = {**ROLES, "weight": {"role": "weight", "transform": change}}
    asked, frame = policy({"model": "population-risk", "threshold": 0.04}, columns=changed), answers()
    released = tc.anonymize(frame, asked)
    plain = tc.anonymize(frame, policy({"model": "population-risk", "threshold": 0.04}))
    assert sorted(released.frame["weight"]) != sorted(frame["weight"])
    assert released.frame.select(QUASI).sort(QUASI).equals(plain.frame.select(QUASI).sort(QUASI))
    assert released.report.verification.verdicts[0] == plain.report.verification.verdicts[0]
    for original in (None, frame):
        verdict = tc.verify(released.frame, asked, original=original).verdicts[0]
        assert not verdict.holds
        assert "'weight'" in verdict.unchecked


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model", [{"model": "population-risk", "threshold": 0.1}, {"model": "global-risk", "limit": 0.1}]
)
def test_a_goal_that_counts_people_needs_weights(model):
    with pytest.raises(PolicyError, match="needs a column with the role weight"):
        policy(model, columns=tc.roles(quasi=QUASI))


def test_two_weights_leave_open_how_many_people_there_are():
    two = {**ROLES, "illness": {"role": "weight"}}
    with pytest.raises(IncompatibleChoice, match="2 columns have the role weight"):
        tc.anonymize(answers(), policy({"model": "population-risk", "threshold": 0.1}, columns=two))


@pytest.mark.parametrize("engine", ["local", "duckdb"])
@pytest.mark.parametrize("cell", [None, -3.0])
def test_a_weight_that_is_empty_or_negative_is_refused_without_showing_it(cell, engine):
    frame = answers(60).with_columns(weight=pl.when(pl.int_range(60) == 7).then(pl.lit(cell)).otherwise("weight"))
    with pytest.raises(DataError, match="1 cells of the column 'weight'") as error:
        tc.anonymize(frame, policy({"model": "population-risk", "threshold": 0.1}), engine=engine)
    assert "-3" not in str(error.value)


def test_weights_that_are_text_are_refused():
    frame = answers(60).with_columns(weight=pl.lit("many"))
    with pytest.raises(DataError, match="does not hold numbers"):
        tc.anonymize(frame, policy({"model": "population-risk", "threshold": 0.1}))


def test_check_says_to_how_many_people_weights_add_up(tmp_path):
    frame = answers(100)
    frame.write_csv(tmp_path / "answers.csv")
    goal = {"model": "population-risk", "threshold": 0.1}
    asked = policy(goal, input=str(tmp_path / "answers.csv"))
    assert f"add up to a population of {frame['weight'].sum():,.0f}" in " ".join(tc.check(asked).notes)
    frame.with_columns(pl.col("weight") / pl.col("weight").mean()).write_csv(tmp_path / "answers.csv")
    assert "scaled and say nothing of the population" in " ".join(tc.check(asked).notes)


# Losses and risks -----------------------------------------------------------------------------------------------------


def slow_loss(frame, release, weight):
    """Every record's loss as often as its weight says; ages are intervals, other cells sets; suppressed ones lose 1."""
    n_ages = frame["age"].max() - frame["age"].min()
    n_values = {name: frame[name].n_unique() for name in ("sex", "town")}
    total = lost = 0.0
    for row in release.to_dicts():
        low, _, high = row["age"].strip("[]").partition(", ")
        losses = [(int(high) - int(low)) / n_ages if high else 0.0]
        for name, n in n_values.items():
            held = 1 if "{" not in row[name] else row[name].count(",") + 1
            losses.append(1.0 if row[name] == "*" else 0.0 if held == 1 else held / n)
        total += row[weight]
        lost += row[weight] * sum(losses) / 3
    missing = frame[weight].sum() - total
    return (lost + missing) / (total + missing)


@pytest.mark.parametrize("with_goal", [False, True])
@pytest.mark.parametrize("limit", [0.0, 0.2])
def test_the_weighted_loss_counts_every_record_as_often_as_its_weight_says(limit, with_goal):
    frame = answers().with_columns(one=pl.lit(1.0))
    goals = [{"model": "k-anonymity", "k": 6}, *([{"model": "population-risk", "threshold": 0.2}] if with_goal else [])]
    asked = policy(*goals, algorithm={"kind": "mondrian", "suppression_limit": limit} if limit else "mondrian")
    released = tc.anonymize(frame.drop("one"), asked)
    by_name = {m.name: m.value for m in released.report.measurements}
    shown = released.frame.with_columns(one=pl.lit(1.0))
    assert by_name["gcp"] == pytest.approx(slow_loss(frame, shown, "one"))
    assert by_name["weighted-loss"] == pytest.approx(slow_loss(frame, shown, "weight"))
    assert by_name["weighted-loss"] != pytest.approx(by_name["gcp"])


def test_metrics_tell_the_risk_before_and_after():
    frame = answers()
    released = tc.anonymize(frame, policy({"model": "k-anonymity", "k": 4}))
    metrics = {m.name: m for m in released.report.measurements}
    before, after = slow_risks(frame), slow_risks(released.frame)
    assert metrics["individual-risk"].value == pytest.approx(max(after))
    assert metrics["individual-risk"].note == f"{max(before):.4g} in the original"
    assert metrics["reidentification-rate"].value == pytest.approx(sum(after) / len(after))
    assert f"{sum(before):,.4g} of 240 in the original" in metrics["reidentification-rate"].note
    alone = frame.filter(pl.len().over(QUASI) == 1)
    assert metrics["expected-population-uniques"].value == 0
    assert metrics["expected-population-uniques"].note == f"{(1 / alone['weight']).sum():,.4g} in the original"


def test_the_engine_on_disk_tells_the_same_risks_where_a_goal_counts_weights():
    asked = policy({"model": "population-risk", "threshold": 0.04})
    here, there = (tc.anonymize(answers(), asked, engine=engine).report for engine in ("local", "duckdb"))
    values = [{m.name: m.value for m in report.measurements} for report in (here, there)]
    assert "weighted-loss" in values[0]
    assert values[1] == pytest.approx(values[0], nan_ok=True)


def test_a_run_without_weights_says_nothing_of_them():
    columns = {name: role for name, role in ROLES.items() if name != "weight"}
    released = tc.anonymize(answers().drop("weight"), policy({"model": "k-anonymity", "k": 4}, columns=columns))
    assert "weighted-loss" not in {m.name for m in released.report.measurements}


def test_a_weight_changes_nothing_else_in_a_release():
    frame, goal = answers(), {"model": "k-anonymity", "k": 4}
    kept = {**ROLES, "weight": {"role": "keep"}}
    one, other = (tc.anonymize(frame, policy(goal, columns=columns)).frame for columns in (ROLES, kept))
    assert one.equals(other)


def test_weights_are_published_letter_by_letter(tmp_path):
    frame = answers(80).with_columns(weight=pl.format("{}0", pl.col("weight")))
    frame.write_csv(tmp_path / "answers.csv")
    for goal in ({"model": "population-risk", "threshold": 0.3}, {"model": "k-anonymity", "k": 4}):
        asked = policy(goal, input=str(tmp_path / "answers.csv"), output=str(tmp_path / "release.csv"))
        tc.run(asked, force=True)
        shown = pl.read_csv(tmp_path / "release.csv", infer_schema=False)
        assert sorted(shown["weight"]) == sorted(frame["weight"])


def test_the_attack_reaches_the_risk_of_every_record():
    frame, asked = answers(), policy({"model": "k-anonymity", "k": 4})
    release = tc.anonymize(frame, asked).frame
    report = tc.attack(frame, release, policy=asked, kinds=["population-linkage"])
    before, after = slow_risks(frame), slow_risks(release)
    for result, risks in ((report.before[0], before), (report.after[0], after)):
        assert result.finding.highest == pytest.approx(max(risks))
        assert result.finding.average == pytest.approx(sum(risks) / len(risks))
        assert result.finding.n_victims == sum(risk > 0.5 for risk in risks)
    without = tc.attack(frame, release.drop("weight"), policy=asked, kinds=["population-linkage"]).after[0]
    assert "needs the weights" in without.reason
