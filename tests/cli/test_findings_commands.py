"""Findings as people and machines meet them: run, check and verify, with and without --strict."""

import json

import polars as pl
import pytest

POLICY = """
input: people.csv
output: {{path: out.csv, certificate: certificate.json}}
columns: {{age: quasi, sex: quasi, illness: sensitive, cost: {cost}}}
goals: [{{model: k-anonymity, k: 5}}, {{model: l-diversity, l: 2, sensitive: illness}}]
"""
ACCEPTED = 'accepted: [{finding: standing-alone, column: cost, because: "a public price list"}]\n'


@pytest.fixture
def table(tmp_path):
    rows = range(200)
    frame = pl.DataFrame(
        {
            "age": [20 + i % 5 for i in rows],
            "sex": ["fm"[i // 5 % 2] for i in rows],
            "illness": ["abcd"[i // 10 % 4] for i in rows],
            "cost": [1000.5 + i for i in rows],
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path


def written(folder, cost, more=""):
    path = folder / "policy.yaml"
    path.write_text(POLICY.format(cost=cost) + more)
    return path


def test_findings_alone_end_with_exit_code_0_and_say_their_fix(cloak, table):
    outcome = cloak("run", written(table, "keep"))
    assert outcome.code == 0
    assert "not ready: 1 finding" in outcome.out
    assert "fix  leave cost out (role: drop)" in outcome.out
    assert (table / "out.csv").exists()


def test_strict_ends_with_exit_code_3_and_leaves_nothing(cloak, table):
    outcome = cloak("run", written(table, "keep"), "--strict")
    assert outcome.code == 3
    assert "strict allows none" in outcome.err
    assert sorted(path.name for path in table.iterdir()) == ["people.csv", "policy.yaml"]
    assert cloak("run", written(table, "drop"), "--strict").code == 0


def test_json_has_status_and_findings(cloak, table):
    found = cloak("run", written(table, "keep"), "--json").data
    assert found["status"] == "findings"
    (finding,) = found["findings"]
    assert (finding["kind"], finding["column"], finding["count"], finding["share"]) == (
        "standing-alone", "cost", 200, 1.0
    )  # fmt: skip
    assert finding["fix"]["changes"] == [{"set": "columns.cost.role", "to": "drop"}]
    assert finding["accepted"] is None


def test_the_offered_change_can_be_set_as_it_is(cloak, table):
    policy = written(table, "keep")
    (change,) = cloak("run", policy, "--json").data["findings"][0]["fix"]["changes"]
    again = cloak("run", policy, "--force", "--json", "--set", f"{change['set']}={json.dumps(change['to'])}")
    assert again.data["status"] == "ready"


def test_accepted_findings_are_ready_and_their_reason_is_certified(cloak, table):
    outcome = cloak("run", written(table, "keep", ACCEPTED), "--strict")
    assert outcome.code == 0
    assert "ready, with 1 accepted finding" in outcome.out
    assert "accepted: a public price list" in outcome.out
    certificate = json.loads((table / "certificate.json").read_text())
    assert (certificate["status"], certificate["findings"][0]["accepted"]) == ("accepted", "a public price list")


def test_check_tells_findings_before_anything_runs(cloak, table):
    policy = written(table, "keep")
    assert cloak("check", policy).code == 0
    assert "would stand alone on 'cost'" in cloak("check", policy).out
    assert cloak("check", policy, "--json").data["findings"][0]["column"] == "cost"
    assert cloak("check", policy, "--strict").code == 3
    assert cloak("check", written(table, "drop"), "--strict").code == 0


def test_verify_looks_at_the_whole_table_too(cloak, table):
    policy = written(table, "keep")
    cloak("run", policy)
    found = cloak("verify", table / "out.csv", "--policy", policy, "--json")
    assert (found.code, found.data["status"]) == (0, "findings")
    assert found.data["findings"][0]["column"] == "cost"
    assert cloak("verify", table / "out.csv", "--policy", policy, "--strict").code == 3
    assert cloak("verify", table / "out.csv", "--certificate", table / "certificate.json", "--strict").code == 3


def test_a_column_that_no_table_has_cannot_be_accepted(cloak, table):
    path = table / "policy.yaml"
    text = POLICY.format(cost="keep").replace(", cost: keep", "") + "others: keep\n"
    path.write_text(text + "accepted: [{finding: standing-alone, column: cots, because: x}]\n")
    outcome = cloak("check", path)
    assert outcome.code != 0
    assert "did you mean 'cost'?" in outcome.err


@pytest.mark.parametrize(("kept", "status"), [("", "ready"), (", cost: keep", "findings")])
def test_releases_in_groups_are_judged_by_what_stands_beside_them(cloak, table, kept, status):
    path = table / "policy.yaml"
    path.write_text(
        f"input: people.csv\noutput: out.csv\ncolumns: {{age: quasi, sex: quasi, illness: sensitive{kept}}}\n"
        "goals: [{model: l-diversity, l: 2}]\nalgorithm: anatomy\n"
    )
    assert cloak("run", path, "--json").data["status"] == status


@pytest.mark.parametrize(("role", "status"), [("drop", "ready"), ("keep", "findings")])
def test_sets_of_items_have_a_status(cloak, tmp_path, role, status):
    lines = [f"{i},{'ab'[i % 2]};c" for i in range(100)]
    (tmp_path / "shop.csv").write_text("\n".join(["visit,basket", *lines]) + "\n")
    path = tmp_path / "policy.yaml"
    path.write_text(
        f"input: shop.csv\noutput: out.csv\ncolumns: {{visit: {role}, basket: items}}\n"
        "goals: [{model: km-anonymity, k: 5, m: 2}]\n"
    )
    assert cloak("run", path, "--json").data["status"] == status
    assert cloak("verify", tmp_path / "out.csv", "--policy", path, "--json").data["status"] == status
