"""Transforms from a policy to a release, and back in `verify`: every shape, `apply`, goals on what was there."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.policy.load import load_policy, parse_policy
from tablecloak.policy.problems import InvalidPolicyError
from tablecloak.release.apply import apply_file

SECRET = "0123456789abcdef" * 4


def people(n=240, seed=3):
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "id": [f"P{1000 + i}" for i in range(n)],
            "age": [draw.randrange(20, 60) for _ in range(n)],
            "sex": [draw.choice("fm") for _ in range(n)],
            "pay": [draw.randrange(1000, 9000) for _ in range(n)],
            "illness": [draw.choice(["flu", "asthma", "ulcer", "gastritis"]) for _ in range(n)],
        }
    )


def policy_of(goals=None, algorithm=None, **changes):
    columns = {
        "id": {"role": "identifier", "transform": "hmac"},
        "age": {"role": "quasi", "transform": {"kind": "round", "base": 5}},
        "sex": "quasi",
        "pay": {"role": "keep", "transform": {"kind": "round", "base": 1000}},
        "illness": "sensitive",
        **changes,
    }
    chosen = {} if algorithm is None else {"algorithm": algorithm}
    goals = goals or [tc.KAnonymity(k=5), tc.LDiversity(l=2)]
    return tc.Policy(columns=columns, goals=goals, secret={"env": "ROAD_SECRET"}, **chosen)


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("ROAD_SECRET", SECRET)


def status(release, policy, original=None):
    return tc.verify(release, policy, original=original)


def test_what_is_published_is_what_transforms_make():
    release = tc.anonymize(people(), policy_of())
    assert release.frame["id"].str.contains("^[0-9a-f]{32}$").all()
    assert release.frame["id"].n_unique() == 240
    assert set(release.frame["pay"] % 1000) == {0}
    assert not set(release.frame["id"]) & set(people()["id"])


def test_a_release_is_held_against_its_original_made_again():
    release = tc.anonymize(people(), policy_of())
    verification = status(release.frame, policy_of(), people())
    assert verification.holds
    assert verification.covers


@pytest.mark.parametrize("column", ["id", "pay"])
def test_a_cell_that_no_transform_made_is_found_without_the_original(column):
    release = tc.anonymize(people(), policy_of()).frame
    cells = release[column].to_list()
    cells[7] = "P1007" if column == "id" else 1234
    other = release.with_columns(pl.Series(column, cells))
    verification = status(other, policy_of())
    assert verification.fails
    (failure,) = verification.failures
    assert (failure.column, failure.count, failure.rows) == (column, 1, (8,))


def test_a_pseudonym_of_somebody_else_is_found_beside_the_original():
    release = tc.anonymize(people(), policy_of()).frame
    ids = release["id"].to_list()
    ids[0] = "0" * 32
    verification = status(release.with_columns(pl.Series("id", ids)), policy_of(), people())
    assert verification.fails


def test_without_the_secret_drawn_columns_are_not_a_yes():
    policy = policy_of().model_copy(update={"secret": None})
    release = tc.anonymize(people(), policy)
    verification = status(release.frame, policy, people())
    assert not verification.holds
    assert not verification.fails
    assert "'id' could not be held against the original" in verification.unchecked[0]


def test_a_certificate_names_transforms_and_the_key_by_its_name_only(tmp_path):
    data = people().with_columns(pl.Series("id", [f"canary{i}" for i in range(240)]))
    policy = policy_of(pay={"role": "keep", "transform": {"kind": "noise", "scale": 5000}})
    release = tc.anonymize(data, policy)
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", report=tmp_path / "r.html")
    told = json.loads((tmp_path / "c.json").read_text())["transforms"]
    assert [(made["column"], made["kinds"]) for made in told] == [
        ("id", ["hmac"]),
        ("age", ["round"]),
        ("pay", ["noise"]),
    ]
    assert len(told[0]["key"]) == 8
    assert any("warnings" in made.to_dict() for made in release.report.transforms)
    assert not any("warnings" in made for made in told)
    for name in ("c.json", "r.html", "r.csv"):
        text = (tmp_path / name).read_text()
        assert SECRET not in text
        assert "canary" not in text


def test_a_pseudonymised_release_is_not_called_anonymous():
    release = tc.anonymize(people(), policy_of())
    assert [f.column for f in release.report.findings if f.kind == "pseudonymised"] == ["id"]
    assert not release.report.status.is_ready


def test_goals_judge_a_sensitive_column_as_it_was_where_it_is_changed_at_publishing():
    policy = policy_of(illness={"role": "sensitive", "transform": {"kind": "constant", "value": "ill"}})
    release = tc.anonymize(people(), policy)
    assert set(release.frame["illness"]) == {"ill"}
    diversity = next(v for v in release.report.verification.verdicts if v.model == "l-diversity")
    assert diversity.holds
    assert diversity.achieved >= 2
    again = status(release.frame, policy, people())
    unchecked = {v.model: v.unchecked for v in again.verdicts}
    assert unchecked["k-anonymity"] is None
    assert "judged 'illness' as it was" in unchecked["l-diversity"]
    assert not again.holds


def test_values_that_only_noise_makes_different_are_no_diversity():
    """Everybody has the same illness: whatever is published instead, no class has two."""
    data = people().with_columns(pl.lit("flu").alias("illness"))
    policy = policy_of(illness={"role": "sensitive", "transform": "hmac"})
    with pytest.raises(tc.Infeasible):
        tc.anonymize(data, policy)


def test_a_finished_file_gets_no_yes_where_only_the_run_could_attack():
    """Noise that hides nobody is a finding of the run; the file alone, or beside its original, must not look better."""
    policy = policy_of(id="identifier", pay={"role": "keep", "transform": {"kind": "noise", "scale": 0.5}})
    release = tc.anonymize(people(), policy)
    assert "weak-transform" in {finding.kind for finding in release.report.findings}
    for original in (None, people()):
        verification = status(release.frame, policy, original)
        assert not verification.status.is_ready
        assert "how much of 'pay' attackers undo was not looked at" in verification.unchecked[-1]


def test_groups_publish_what_transforms_make():
    policy = policy_of(goals=[tc.LDiversity(l=2)], algorithm={"kind": "anatomy"})
    release = tc.anonymize(people(), policy)
    assert release.frame["id"].str.contains("^[0-9a-f]{32}$").all()
    assert set(release.frame["age"].cast(pl.Int64) % 5) == {0}
    verification = tc.verify(release.frame, policy, original=people(), side=release.side)
    assert not verification.fails


def test_a_recoding_transforms_new_rows_too(tmp_path):
    people().write_csv(tmp_path / "people.csv")
    people(seed=4).write_csv(tmp_path / "more.csv")
    text = """
input: people.csv
columns:
  id: {role: identifier, transform: hmac}
  age: {role: quasi, transform: {kind: round, base: 5}}
  sex: quasi
  pay: {role: keep, transform: {kind: round, base: 1000}}
  illness: {role: sensitive, transform: {kind: constant, value: ill}}
goals: [{model: k-anonymity, k: 4}, {model: l-diversity, l: 2}]
algorithm: {kind: mondrian}
secret: {env: ROAD_SECRET}
output: {path: release.csv, recoding: recoding.json}
"""
    pipeline.run(parse_policy(text, name="policy.yaml", base=tmp_path))
    report = apply_file(
        tmp_path / "recoding.json", tmp_path / "more.csv", tmp_path / "again.csv", suppression_limit=1.0
    )
    assert report.verification.holds
    again = pl.read_csv(tmp_path / "again.csv")
    assert set(again["illness"]) == {"ill"}
    assert not set(again["id"]) & set(people(seed=4)["id"])
    first = pl.read_csv(tmp_path / "release.csv")
    assert set(again["id"]) <= set(first["id"])  # the same people: pseudonyms join


def test_columns_beside_sets_are_changed_too():
    draw = random.Random(5)
    goods = ["milk", "bread", "beer", "wine", "eggs", "salt"]
    data = pl.DataFrame(
        {
            "customer": [f"C{i}" for i in range(200)],
            "spent": [draw.randrange(1, 500) for _ in range(200)],
            "basket": [";".join(draw.sample(goods, 2)) for _ in range(200)],
        }
    )
    policy = tc.Policy(
        columns={
            "customer": {"role": "identifier", "transform": "hmac"},
            "spent": {"role": "keep", "transform": {"kind": "round", "base": 100}},
            "basket": "items",
        },
        goals=[{"model": "km-anonymity", "k": 3, "m": 2}],
        secret={"env": "ROAD_SECRET"},
    )
    release = tc.anonymize(data, policy)
    assert release.frame["customer"].str.contains("^[0-9a-f]{32}$").all()
    assert set(release.frame["spent"] % 100) == {0}
    verification = tc.verify(release.frame, policy, original=data)
    assert not verification.fails
    raw = release.frame.with_columns(data["spent"].alias("spent"))
    assert tc.verify(raw, policy).fails


def test_persons_may_be_published_under_pseudonyms():
    data = people().with_columns(pl.Series("id", [f"P{i // 2}" for i in range(240)]))
    policy = policy_of(id={"role": "person", "transform": "hmac"})
    release = tc.anonymize(data, policy)
    assert release.frame["id"].n_unique() == 120
    assert not set(release.frame["id"]) & set(data["id"])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"role": "quasi", "transform": "hmac"}, "hmac leaves nothing that could be generalised"),
        ({"role": "drop", "transform": "null"}, "a column with the role drop has none"),
        ({"role": "keep", "transform": "star"}, "only identifiers are left out or hidden wholly"),
        ({"role": "identifier", "transform": ["star", "hmac"]}, "after star nothing is left to change"),
        ({"role": "keep", "transform": "hamc"}, "unknown transform 'hamc'"),
        ({"role": "keep", "transform": [{"kind": "round"}]}, "base"),
        ({"role": "keep", "transform": {"kind": "round", "base": -1}}, "base"),
    ],
)
def test_what_means_nothing_is_refused(column, message):
    with pytest.raises(InvalidPolicyError) as refused:
        policy_of(sex=column, age="quasi")
    assert message in str(refused.value)


@pytest.mark.parametrize("place", ["secret: {file: secret.txt}", "key"])
def test_files_of_secrets_and_keys_are_found_beside_a_policy_in_another_folder(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path("owner")
    folder.mkdir()
    people().write_csv(folder / "people.csv")
    (folder / "secret.txt").write_text(SECRET)
    (folder / "secret.txt").chmod(0o600)
    chosen = '{kind: hmac, key: "file:secret.txt"}' if place == "key" else "hmac"
    (folder / "policy.yaml").write_text(
        "input: people.csv\n"
        f"columns: {{id: {{role: identifier, transform: {chosen}}}, age: quasi}}\n"
        f"goals: [{{model: k-anonymity, k: 5}}]\noutput: release.csv\n{place if place != 'key' else ''}\n"
    )
    published = []
    for _ in range(2):
        pipeline.run(load_policy(folder / "policy.yaml"), force=True)
        published.append(pl.read_csv(folder / "release.csv", infer_schema=False)["id"].to_list())
    assert published[0] == published[1]
