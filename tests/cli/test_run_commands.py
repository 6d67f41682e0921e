"""`tablecloak check|run|verify|apply|demo` for real, on small tables."""

import csv
import io
import json
import random
import re
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.slow
POLICY = """\
input: people.csv
columns:
  name: {role: identifier}
  age: quasi
  zip: {role: quasi, type: text, hierarchy: {kind: mask, from: right}}
  sex: {role: quasi, hierarchy: levels/sex.csv}
  illness: sensitive
goals:
  - {model: k-anonymity, k: 3}
  - {model: l-diversity, l: 2, sensitive: illness}
output: {path: out/release.csv, recoding: out/recoding.json}
"""
ILLNESSES = ["flu", "asthma", "cancer", "gastritis", "migraine"]


def people(n):
    header = "name,age,zip,sex,illness,secret"
    rows = [f"CANARY{i},{20 + i * 7 % 50},{13000 + i * 37 % 900},{'fm'[i % 2]},{ILLNESSES[i % 5]},x" for i in range(n)]
    return "\n".join([header, *rows]) + "\n"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder with data, a hierarchy and a policy; the working directory is elsewhere."""
    folder = tmp_path / "project"
    (folder / "levels").mkdir(parents=True)
    (folder / "people.csv").write_text(people(60))
    (folder / "levels" / "sex.csv").write_text("f;*\nm;*\n")
    (folder / "policy.yaml").write_text(POLICY)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    return folder


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def classes_of(rows):
    counts = {}
    for row in rows:
        counts.setdefault((row["age"], row["zip"], row["sex"]), []).append(row["illness"])
    return list(counts.values())


def test_run_writes_a_release_that_satisfies_the_goals(cloak, project):
    outcome = cloak("run", project / "policy.yaml")
    assert outcome.code == 0, outcome.err
    rows = rows_of((project / "out/release.csv").read_text())
    assert list(rows[0]) == ["age", "zip", "sex", "illness"]
    assert len(rows) == 60
    assert all(len(c) >= 3 and len(set(c)) >= 2 for c in classes_of(rows))
    assert "✓ k-anonymity" in outcome.out
    assert str(project / "out/release.csv") in outcome.out
    assert "solve" in outcome.err


def test_run_as_json(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--json")
    assert outcome.err == ""
    data = outcome.data
    assert data["holds"] is True
    assert [v["model"] for v in data["verdicts"]] == ["k-anonymity", "l-diversity"]
    assert data["rows"] == 60
    assert 0 <= data["loss"] <= 1
    assert data["seconds"]
    assert data["peak_memory_bytes"] > 0
    assert data["output"] == str(project / "out/release.csv")


def test_run_never_overwrites_without_force(cloak, project):
    target = project / "out/release.csv"
    target.parent.mkdir()
    target.write_text("mine")
    refused = cloak("run", project / "policy.yaml")
    assert refused.code == 2
    assert "--force" in refused.err
    assert target.read_text() == "mine"
    assert cloak("run", project / "policy.yaml", "--force").code == 0
    assert target.read_text() != "mine"


def test_input_and_output_of_the_command_line_are_relative_to_the_working_directory(cloak, project, tmp_path):
    (tmp_path / "elsewhere/other.csv").write_text(people(30))
    outcome = cloak("run", project / "policy.yaml", "--input", "other.csv", "--output", "made.csv")
    assert outcome.code == 0, outcome.err
    assert len(rows_of((tmp_path / "elsewhere/made.csv").read_text())) == 30


def test_a_dash_is_stdin_and_stdout(cloak, project, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(people(30).encode())))
    outcome = cloak("run", project / "policy.yaml", "-i", "-", "-o", "-")
    assert outcome.code == 0, outcome.err
    assert len(rows_of(outcome.out)) == 30
    assert "✓ k-anonymity" in outcome.err


def test_a_dry_run_writes_nothing(cloak, project):
    before = sorted(project.rglob("*"))
    outcome = cloak("run", project / "policy.yaml", "--dry-run")
    assert outcome.code == 0
    assert "wrote     nothing" in outcome.out
    assert sorted(project.rglob("*")) == before


def test_quiet_leaves_only_the_result(cloak, project):
    assert cloak("run", project / "policy.yaml", "-q").err == ""


def test_an_override_counts(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--set", "goals.0.k=10", "--json")
    assert outcome.data["verdicts"][0]["required"] == 10


def test_more_memory_than_asked_is_said(cloak, project):
    assert "more than --memory 1MB" in cloak("run", project / "policy.yaml", "--memory", "1MB").err


def test_an_impossible_goal_is_exit_code_4_with_advice(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--set", "goals.0.k=100")
    assert outcome.code == 4
    assert "  try  " in outcome.err
    assert not (project / "out/release.csv").exists()


def test_an_impossible_goal_as_json(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--set", "goals.1.l=9", "--json")
    assert outcome.code == 4
    assert outcome.data["error"] == "infeasible"
    assert outcome.data["relaxations"]


def test_missing_data_is_exit_code_5(cloak, project):
    (project / "people.csv").unlink()
    assert cloak("run", project / "policy.yaml").code == 5


def test_a_column_that_is_not_there_is_exit_code_5(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--set", "columns.agee=quasi")
    assert outcome.code == 5
    assert "did you mean 'age'?" in outcome.err


def test_check_without_data(cloak, project):
    (project / "policy.yaml").write_text(POLICY.replace("input: people.csv\n", ""))
    outcome = cloak("check", project / "policy.yaml")
    assert outcome.code == 0
    assert outcome.out.startswith("ok  goals k-anonymity(k=3)")


def test_check_with_data(cloak, project):
    outcome = cloak("check", project / "policy.yaml", "--json")
    assert outcome.code == 0
    assert outcome.data["feasible"] is True
    assert outcome.data["rows"] == 60
    assert not (project / "out").exists()
    assert "feasible" in cloak("check", project / "policy.yaml", project / "people.csv").out


def test_check_says_what_is_impossible(cloak, project):
    assert cloak("check", project / "policy.yaml", "--set", "goals.0.k=100").code == 4


def test_verify_accepts_the_release(cloak, project):
    cloak("run", project / "policy.yaml")
    words = ["verify", project / "out/release.csv", "--policy", project / "policy.yaml"]
    assert cloak(*words).code == 0
    with_original = cloak(*words, "--original", project / "people.csv", "--json")
    assert with_original.code == 0
    assert (with_original.data["holds"], with_original.data["covers"]) == (True, True)


def test_verify_refuses_what_does_not_satisfy_the_goals(cloak, project):
    outcome = cloak("verify", project / "people.csv", "-p", project / "policy.yaml")
    assert outcome.code == 3
    assert "✗ k-anonymity" in outcome.out
    assert "not met" in outcome.out


def test_verify_finds_a_changed_cell(cloak, project):
    cloak("run", project / "policy.yaml")
    release = project / "out/release.csv"
    rows = rows_of(release.read_text())
    changed = [{**row, "zip": "99999"} for row in rows]
    with release.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(changed)
    words = ["verify", release, "-p", project / "policy.yaml", "--original", project / "people.csv", "--json"]
    outcome = cloak(*words)
    assert outcome.code == 3
    assert outcome.data["covers"] is False


def test_verify_reads_stdin(cloak, project, monkeypatch):
    cloak("run", project / "policy.yaml")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper((project / "out/release.csv").open("rb")))
    assert cloak("verify", "-", "-p", project / "policy.yaml").code == 0


def test_apply_publishes_new_rows(cloak, project, tmp_path):
    cloak("run", project / "policy.yaml")
    target = tmp_path / "again.csv"
    words = ["apply", project / "out/recoding.json", project / "people.csv", "-o", target]
    outcome = cloak(*words)
    assert outcome.code == 0, outcome.err
    assert target.read_text() == (project / "out/release.csv").read_text()
    assert cloak(*words).code == 2
    assert cloak(*words, "--force", "--json").data["holds"] is True


def test_demo_shows_risk_and_rows(cloak, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    outcome = cloak("demo")
    assert outcome.code == 0, outcome.err
    assert "unique" in outcome.out
    shown = outcome.out.split("as published")[1].splitlines()[2:6]
    assert all(len(re.split(r" {2,}", line.strip())) == 4 for line in shown)  # no empty cell
    assert len({line.split()[0] for line in shown}) > 1
    assert "Open tablecloak-demo/out/report.html" in outcome.out
    assert (tmp_path / "tablecloak-demo/out/report.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "tablecloak-demo/out/certificate.json").exists()


def test_demo_can_be_repeated_until_its_policy_is_changed(cloak, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cloak("demo", "-q").code == 0
    assert cloak("demo", "-q").code == 0
    policy = tmp_path / "tablecloak-demo/policy.yaml"
    policy.write_text(policy.read_text() + "# mine\n")
    again = cloak("demo", "-q")
    assert again.code == 2
    assert "has a policy that was changed" in again.err
    assert policy.read_text().endswith("# mine\n")


def test_demo_keeps_its_files_where_asked(cloak, tmp_path):
    outcome = cloak("demo", "--cli", "--directory", tmp_path / "demo", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.data["status"] == "ready"
    assert outcome.data["risk"]["quasi"]["after"]["unique"] == 0
    assert outcome.data["with_cost_kept"]["status"] == "findings"
    assert outcome.data["with_cost_kept"]["findings"][0]["column"] == "cost"
    assert cloak("check", tmp_path / "demo/policy.yaml").code == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other/thesis.txt").write_text("mine")
    refused = cloak("demo", "--directory", tmp_path / "other")
    assert refused.code == 2
    assert "was not made by demo" in refused.err


def test_no_value_of_the_data_is_ever_said(cloak, project):
    policy = project / "policy.yaml"
    said = [
        cloak("run", policy, "-v"),
        cloak("run", policy, "-v", "--json", "--force"),
        cloak("check", policy, "-v"),
        cloak("run", policy, "--set", "goals.0.k=100", "--force"),
        cloak("run", policy, "--set", "columns.name={role: quasi, type: integer}", "--force"),
        cloak("run", policy, "--set", "columns.name={role: quasi, hierarchy: levels/sex.csv}", "--force"),
        cloak("verify", project / "people.csv", "-p", policy),
    ]
    assert all("CANARY" not in outcome.out + outcome.err for outcome in said)
    assert [outcome.code for outcome in said] == [0, 0, 0, 4, 5, 5, 3]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_run_leaves_nothing_behind(project, number, code):
    (project / "people.csv").write_text(people(600_000))
    # which has no answer before it ends; the first Ctrl-C would have `auto` publish the best so far
    search = "algorithm=mondrian"
    command = [sys.executable, "-m", "tablecloak.cli.main", "run", str(project / "policy.yaml"), "--set", search]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr.readline().startswith(" read")
    time.sleep(random.uniform(0, 0.3))
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code
    assert "Traceback" not in err
    assert not (project / "out").exists() or list((project / "out").iterdir()) == []


def test_the_recoding_is_json(cloak, project):
    cloak("run", project / "policy.yaml")
    assert json.loads((project / "out/recoding.json").read_text())


def test_the_demo_of_sets_shows_published_sets_that_hold_something(cloak, tmp_path):
    outcome = cloak("demo", "--sets", "--directory", str(tmp_path / "shop"))
    shown = outcome.out.split("some as published")[1].splitlines()[2:7]
    assert all(line.strip() for line in shown)
    assert len(set(shown)) == 5
