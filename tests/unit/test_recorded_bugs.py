"""What outputs showed when they were first recorded, and should not have."""

from __future__ import annotations

import json
from datetime import date, timedelta

import polars as pl

import tablecloak as tc

TEMPLATES = [{"x": ["age"], "s": "flu", "h": 0.9}, {"x": ["zip"], "s": "acne", "h": 0.9}]


def patients(n=40):
    return pl.DataFrame(
        {
            "born": [date(1960, 1, 1) + timedelta(days=37 * i) for i in range(n)],
            "age": [20 + i % 30 for i in range(n)],
            "zip": [str(10000 + i % 7) for i in range(n)],
            "ill": [("flu", "acne", "ulcer")[i % 3] for i in range(n)],
        }
    )


def test_a_goal_of_templates_is_certified_as_the_policy_has_it(tmp_path):
    goal = {"model": "confidence-bounding", "templates": TEMPLATES}
    policy = tc.Policy.model_validate({"columns": tc.roles(quasi=["age", "zip"], sensitive=["ill"]), "goals": [goal]})
    release = tc.anonymize(patients().drop("born"), policy)
    release.write(tmp_path / "release.csv", certificate=tmp_path / "certificate.json")
    (verdict,) = json.loads((tmp_path / "certificate.json").read_text())["verdicts"]
    assert verdict["params"]["templates"] == TEMPLATES


def test_an_original_whose_hierarchy_begins_above_its_values_is_attacked_value_by_value():
    table = patients().select("born")
    columns = {"born": {"role": "quasi", "type": "date", "hierarchy": {"kind": "dates", "levels": ["quarter", "year"]}}}
    policy = tc.Policy.model_validate(
        {"columns": columns, "goals": [{"model": "k-anonymity", "k": 2}], "algorithm": {"kind": "optimal"}}
    )
    release = tc.anonymize(table, policy)
    attacks = tc.attack(table, release.frame, policy=policy, kinds=["prosecutor", "linkage-knowing-everybody"])
    assert [result.finding.average for result in attacks.before] == [1.0, 1.0]
