"""`tablecloak advise` for real: tables, policies, the catalogue, and no cell on any way."""

from __future__ import annotations

import io
import json
import sys
from types import SimpleNamespace

import polars as pl
import pytest

from canaries import CANARY, NUMBER, POLICY, WHOLE, leaks
from tablecloak.policy.load import parse_policy
from tablecloak.sample import patients


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patients(400).write_csv("patients.csv")
    (tmp_path / "data.csv").write_text(WHOLE)
    (tmp_path / "policy.json").write_text(json.dumps(POLICY))
    return tmp_path


def test_a_table_gets_lines_for_every_column(cloak, folder):
    outcome = cloak("advise", "patients.csv")
    assert outcome.code == 0
    assert "patients.csv  400 rows × 9 columns" in outcome.out
    assert " policy    columns.ssn: {role: identifier, transform: drop}" in outcome.out
    assert 'to join tables: columns.name: {role: identifier, transform: {kind: hmac, key: "env:' in outcome.out
    assert " policy    columns.cost: {role: sensitive, transform: {kind: microaggregate, k: auto}}" in outcome.out
    assert "(rule: quasi-and-sensitive)" in outcome.out
    assert "goals: [{model: k-anonymity, k: 5}, {model: l-diversity, l: 3, sensitive: diagnosis}" in outcome.out


def test_json(cloak, folder):
    found = cloak("advise", "patients.csv", "--json").data
    assert (found["file"], found["rows"], found["has_policy"]) == ("patients.csv", 400, False)
    techniques = {column["name"]: column["technique"] for column in found["columns"]}
    assert (techniques["zip"], techniques["diagnosis"]) == ("k-anonymity-suppression", "l-diversity")
    assert [advice["rule"] for advice in found["table"]] == ["quasi-and-sensitive", "quantitative", "faithful-copy"]
    zip_code = next(column for column in found["columns"] if column["name"] == "zip")
    assert zip_code["change"] == {
        "set": "columns.zip", "to": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask", "from": "right"}},
    }  # fmt: skip


def test_a_line_can_be_set_on_the_command_line(cloak, folder):
    assert cloak("init", "patients.csv").code == 0
    found = cloak("advise", "patients.csv", "--json").data
    for column in found["columns"]:
        if column["name"] in ("name", "ssn", "zip", "diagnosis", "birth_date"):
            place, _, value = column["line"].partition(": ")
            assert cloak("check", "patients-policy.yaml", "--set", f"{place}={value}").code == 0


def test_a_policy_is_told_what_is_fine(cloak, folder):
    assert cloak("init", "patients.csv").code == 0
    outcome = cloak("advise", "patients-policy.yaml")
    assert outcome.code == 0
    assert " now       role: identifier, transform: drop  fine" in outcome.out
    assert "columns.zip" not in outcome.out  # nothing to change
    assert "columns.cost: {role: sensitive, transform: {kind: microaggregate" not in outcome.out  # it is so already
    assert "goals.3: {model: t-closeness, t: 0.4, sensitive: diagnosis}" in outcome.out


def test_a_policy_is_told_what_is_unsafe(cloak, folder):
    outcome = cloak("advise", "policy.json")
    assert outcome.code == 0
    assert " now       role: quasi  unsafe" in outcome.out
    assert "columns.name: {role: identifier, transform: drop}" in outcome.out
    assert not leaks(outcome.out + outcome.err)


def test_a_policy_needs_no_data(cloak, folder):
    (folder / "data.csv").unlink()
    outcome = cloak("advise", "policy.json")
    assert outcome.code == 0
    assert "no data was looked at" in outcome.out
    assert cloak("advise", "policy.json", "--json").data["rows"] is None
    (folder / "other.csv").write_text(WHOLE)
    assert cloak("advise", "policy.json", "other.csv", "--json").data["rows"] == 6


def test_stdin_is_a_table(cloak, folder, monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((folder / "patients.csv").read_bytes())))
    found = cloak("advise", "-", "--json").data
    assert (found["file"], found["rows"]) == (None, 400)


def test_the_catalogue(cloak):
    outcome = cloak("advise", "--techniques")
    assert outcome.code == 0
    for title in (
        "Techniques, as",
        "What they do",
        "Rules of choice",
        "Privacy properties",
        "Measures of what is lost",
    ):
        assert title in outcome.out
    found = cloak("advise", "--techniques", "--json").data
    by_name = {technique["name"]: technique for technique in found["techniques"]}
    assert (by_name["shuffling"]["confidentiality"], by_name["shuffling"]["conditional"]) == ("no", True)
    assert (by_name["slicing"]["privacy"], by_name["slicing"]["utility"]) == ("low", "high")
    assert by_name["homomorphic-encryption"]["not_offered"]
    assert by_name["keyed-hash"]["source"].startswith("Article 29")
    assert [rule["name"] for rule in found["rules"] if rule["printed"]] == ["speed"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "name a table or a policy"),
        (("patients.csv", "--techniques"), "--techniques is about no table"),
        (("patients.csv", "data.csv"), "is no policy"),
        (("policy.json", "--no-header"), "--header is for tables"),
        (("nothing.yaml",), "there is no policy file"),
    ],
)
def test_what_means_nothing_is_refused(cloak, folder, words, says):
    outcome = cloak("advise", *words)
    assert outcome.code == 2
    assert says in outcome.err


def test_a_table_that_is_not_there(cloak, folder):
    assert cloak("advise", "nothing.csv").code == 5


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_no_cell_is_shown(cloak, folder, options):
    rows = 120
    pl.DataFrame(
        {
            "name": [f"{CANARY} {chr(65 + i % 26)}{chr(97 + i // 26)}" for i in range(rows)],
            "mail": [f"{CANARY}{i}@example.org" for i in range(rows)],
            "notes": [f"he said that {CANARY} {i} was there again" for i in range(rows)],
            "age": [20 + i % 75 for i in range(rows)],
            "zip": [f"{NUMBER[:4]}{i % 9}" for i in range(rows)],
            "income": [float(NUMBER) + i / 7 for i in range(rows)],
            "illness": [f"{CANARY}{i % 40}" for i in range(rows)],
            "town": [f"{CANARY}{i % 3}" for i in range(rows)],
            "clinic": [CANARY] * rows,
        }
    ).write_csv("marked.csv")
    outcome = cloak("advise", "marked.csv", *options)
    assert outcome.code == 0
    shown = outcome.out + outcome.err
    assert not leaks(shown)
    assert NUMBER[:4] not in shown
    assert cloak("init", "marked.csv", "-o", "marked.yaml").code == 0
    assert not leaks((folder / "marked.yaml").read_text())
    outcome = cloak("advise", "marked.yaml", *options)
    assert outcome.code == 0
    assert not leaks(outcome.out + outcome.err)


def test_init_names_transforms_that_fit(cloak, folder):
    assert cloak("init", "patients.csv").code == 0
    lines = {
        line.partition(":")[0].strip(): line for line in (folder / "patients-policy.yaml").read_text().splitlines()
    }
    assert "transform: hmac to join tables, aes-siv to find values again" in lines["name"]
    assert "ff1 to find values again, in their format" in lines["ssn"]
    assert "published as the mean of at least k neighbors" in lines["cost"]
    assert "transform" not in lines["sex"]
    policy = parse_policy((folder / "patients-policy.yaml").read_text(), name="patients-policy.yaml", base=folder)
    assert str(policy.columns["cost"].role) == "sensitive"
    assert [each.name for each in policy.columns["cost"].transform] == ["microaggregate"]


def test_init_leaves_what_a_preset_decides_alone(cloak, folder):
    assert cloak("init", "patients.csv", "--preset", "hipaa-safe-harbor").code == 0
    admission = next(
        line for line in (folder / "patients-policy.yaml").read_text().splitlines() if "admission:" in line
    )
    assert "truncate" in admission
    assert "; or" not in admission
