"""`run --report --certificate` and `verify --certificate`."""

import hashlib
import hmac
import json

import pytest

pytestmark = pytest.mark.slow

POLICY = """\
input: people.csv
columns:
  name: {role: identifier, transform: star}
  age: quasi
  sex: {role: quasi, hierarchy: levels/sex.csv}
  illness: {role: sensitive, hierarchy: levels/illness.csv}
goals:
  - {model: k-anonymity, k: 3}
  - {model: l-diversity, l: 2, sensitive: illness}
output: {path: out/release.csv, recoding: out/recoding.json, report: out/report.html, certificate: out/certificate.json}
"""
ILLNESSES = ["flu", "asthma", "cancer"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    (folder / "levels").mkdir(parents=True)
    rows = [f"CANARY{i},{20 + i * 7 % 50},{'fm'[i % 2]},{ILLNESSES[i % 3]}" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(["name,age,sex,illness", *rows]) + "\n")
    (folder / "levels/sex.csv").write_text("f;*\nm;*\n")
    (folder / "levels/illness.csv").write_text("flu;*\nasthma;*\ncancer;*\n")
    (folder / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    return folder


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def checks(outcome):
    return {c["claim"]: c["ok"] for c in outcome.data["checks"]}


def test_run_writes_what_the_policy_asks_for(cloak, project):
    outcome = cloak("run", project / "policy.yaml", "--json")
    assert outcome.code == 0, outcome.err
    out = project / "out"
    certificate = json.loads((out / "certificate.json").read_text())
    assert certificate["format"] == "tablecloak-certificate-1"
    key = bytes.fromhex(json.loads((out / "recoding.json").read_text())["certificate_key"])
    keyed = hmac.new(key, sha(project / "people.csv").encode(), "sha256").hexdigest()
    assert certificate["keyed"] == {"input": keyed}
    assert certificate["sha256"] == {
        "output": sha(out / "release.csv"),
        "recoding": sha(out / "recoding.json"),
        "policy": hashlib.sha256(certificate["policy"].encode()).hexdigest(),
    }
    assert [v["achieved"] for v in certificate["verdicts"]] == [v["achieved"] for v in outcome.data["verdicts"]]
    assert certificate["covers"] is True
    assert certificate["seed"] == 0
    assert set(certificate["versions"]) == {"python", "tablecloak", "polars", "numpy", "numba"}
    assert certificate["algorithm"]["kind"] == "auto"
    assert "CANARY" not in (out / "certificate.json").read_text() + (out / "report.html").read_text()
    assert "Identifiers starred: name" in (out / "report.html").read_text()
    assert outcome.data["report"] == str(out / "report.html")


def test_options_name_other_files(cloak, project, tmp_path):
    words = ["--report", "r.html", "--certificate", "c.json", "-o", "release.csv"]
    outcome = cloak("run", project / "policy.yaml", *words)
    assert outcome.code == 0, outcome.err
    assert "r.html" in outcome.out
    assert sorted(p.name for p in tmp_path.iterdir()) == ["c.json", "project", "r.html", "release.csv"]
    assert not (project / "out/report.html").exists()
    assert cloak("verify", "release.csv", "--certificate", "c.json").code == 0


def test_a_dry_run_writes_no_documents(cloak, project):
    assert cloak("run", project / "policy.yaml", "--dry-run").code == 0
    assert not (project / "out").exists()


def test_nothing_appears_if_one_file_exists_already(cloak, project):
    (project / "out").mkdir()
    (project / "out/report.html").write_text("mine")
    assert cloak("run", project / "policy.yaml").code == 2
    assert [p.name for p in (project / "out").iterdir()] == ["report.html"]


def test_nothing_appears_if_the_goal_is_out_of_reach(cloak, project):
    assert cloak("run", project / "policy.yaml", "--set", "goals.0.k=61").code == 4
    assert not (project / "out").exists() or list((project / "out").iterdir()) == []


@pytest.fixture
def done(cloak, project):
    assert cloak("run", project / "policy.yaml").code == 0
    return project / "out"


def test_a_certificate_holds_and_says_what_it_could_not_check(cloak, done):
    outcome = cloak("verify", done / "release.csv", "--certificate", done / "certificate.json", "--json")
    assert outcome.code == 0, outcome.err
    assert checks(outcome) == {
        "release is the certified file": True,
        "policy is the certified text": True,
        "recoding is the certified file": True,
        "k-anonymity: level as certified": True,
        "l-diversity: level as certified": True,
        "number of classes as certified": True,
        "number of rows as certified": True,
        "input is the certified file": None,
        "every cell covers its original": None,
    }
    text = cloak("verify", done / "release.csv", "--certificate", done / "certificate.json").out
    assert "– input is the certified file (not checked: needs the original: --original FILE)" in text


def test_with_the_original_everything_is_checked(cloak, done):
    words = ["--certificate", done / "certificate.json", "--original", done.parent / "people.csv", "--json"]
    assert set(checks(cloak("verify", done / "release.csv", *words)).values()) == {True}


INPUT = "input is the certified file"


def held_against(cloak, folder, original, *words):
    """What `verify` says of the input, and its exit code."""
    named = ["--certificate", folder / "certificate.json", "--original", original, *words, "--json"]
    outcome = cloak("verify", folder / "release.csv", *named)
    return next(c for c in outcome.data["checks"] if c["claim"] == INPUT), outcome.code


def test_without_recoding_and_secret_nobody_can_tell_the_certified_input(cloak, done, tmp_path):
    kept = (done / "recoding.json").rename(tmp_path / "kept.json")
    people = done.parent / "people.csv"
    said, code = held_against(cloak, done, people)
    assert (said["ok"], code) == (None, 0)  # a note, no failure
    assert said["remark"] == "needs the recoding, --recoding FILE, or the secret of the run"
    assert held_against(cloak, done, people, "--recoding", kept)[0]["ok"] is True
    people.write_text(people.read_text().replace("CANARY7,", "CANARY77,"))  # nothing of it is published
    said, code = held_against(cloak, done, people, "--recoding", kept)
    assert (said["ok"], said["remark"], code) == (False, "its bytes differ from those certified", 3)


def test_the_key_of_another_recoding_says_nothing(cloak, done, tmp_path):
    stored = json.loads((done / "recoding.json").read_text())
    other = tmp_path / "other.json"
    other.write_text(json.dumps({**stored, "certificate_key": "00" * 32}))
    words = ["--certificate", done / "certificate.json", "--original", done.parent / "people.csv", "--json"]
    outcome = cloak("verify", done / "release.csv", "--recoding", other, *words)
    assert outcome.code == 3
    assert checks(outcome)["recoding is the certified file"] is False
    assert checks(outcome)[INPUT] is None
    assert cloak("verify", done / "release.csv", "--recoding", tmp_path / "none.json", *words).code == 5
    assert cloak("verify", done / "release.csv", "--recoding", other, "--policy", done.parent / "policy.yaml").code == 2


def test_the_secret_of_the_policy_tells_the_certified_input(cloak, project, monkeypatch):
    monkeypatch.setenv("HIDING", hashlib.sha256(b"one").hexdigest())
    words = ["--set", "secret.env=HIDING", "--set", "output.recoding=null"]
    assert cloak("run", project / "policy.yaml", *words).code == 0
    out, people = project / "out", project / "people.csv"
    assert held_against(cloak, out, people) == ({"claim": INPUT, "ok": True, "remark": ""}, 0)
    monkeypatch.setenv("HIDING", hashlib.sha256(b"two").hexdigest())
    said, code = held_against(cloak, out, people)
    assert (said["ok"], code) == (False, 3)
    assert said["remark"].endswith("or the secret is another")
    monkeypatch.delenv("HIDING")
    assert held_against(cloak, out, people)[0]["ok"] is None


def test_a_certificate_of_an_older_version_is_understood(cloak, done):
    people = done.parent / "people.csv"
    certificate = json.loads((done / "certificate.json").read_text())
    del certificate["keyed"]
    certificate["sha256"]["input"] = sha(people)
    (done / "certificate.json").write_text(json.dumps(certificate))
    assert held_against(cloak, done, people)[0]["ok"] is True
    people.write_text(people.read_text() + "\n")
    assert held_against(cloak, done, people)[0]["ok"] is False


def test_a_recipient_has_only_the_release_and_its_certificate(cloak, done, tmp_path):
    for name in ("release.csv", "certificate.json"):
        (tmp_path / name).write_bytes((done / name).read_bytes())
    outcome = cloak("verify", tmp_path / "release.csv", "--certificate", tmp_path / "certificate.json", "--json")
    assert outcome.code == 0, outcome.err
    found = checks(outcome)
    assert found["release is the certified file"] is True
    assert found["recoding is the certified file"] is None
    assert found["hierarchy of illness"] is None


def test_a_changed_release_is_found_out(cloak, done):
    release = done / "release.csv"
    lines = release.read_text().splitlines()
    release.write_text("\n".join(lines[:-1]) + "\n")
    outcome = cloak("verify", release, "--certificate", done / "certificate.json", "--json")
    assert outcome.code == 3
    found = checks(outcome)
    assert found["release is the certified file"] is False
    assert found["number of rows as certified"] is False
    assert outcome.data["holds"] is False


def test_a_changed_policy_is_found_out(cloak, done):
    certificate = done / "certificate.json"
    certificate.write_text(certificate.read_text().replace("k: 3", "k: 2"))
    outcome = cloak("verify", done / "release.csv", "--certificate", certificate, "--json")
    assert outcome.code == 3
    assert checks(outcome)["policy is the certified text"] is False


def test_a_verdict_that_was_taken_out_is_found_out(cloak, done):
    certificate = json.loads((done / "certificate.json").read_text())
    certificate["verdicts"].pop()
    (done / "certificate.json").write_text(json.dumps(certificate))
    outcome = cloak("verify", done / "release.csv", "--certificate", done / "certificate.json", "--json")
    assert outcome.code == 3
    assert checks(outcome)["a verdict for every goal"] is False


def test_a_level_that_was_changed_is_found_out(cloak, done):
    certificate = json.loads((done / "certificate.json").read_text())
    certificate["verdicts"][0]["achieved"] += 1
    (done / "certificate.json").write_text(json.dumps(certificate))
    outcome = cloak("verify", done / "release.csv", "--certificate", done / "certificate.json")
    assert outcome.code == 3
    assert "✗ k-anonymity: level as certified: recounted differently" in outcome.out


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "tablecloak-certificate-1"}', '{"format": "x", "policy": ""}'])
def test_what_is_no_certificate_is_refused(cloak, done, text):
    (done / "certificate.json").write_text(text)
    assert cloak("verify", done / "release.csv", "--certificate", done / "certificate.json").code == 5


def test_a_policy_and_a_certificate_exclude_each_other(cloak, done):
    release, certificate, policy = done / "release.csv", done / "certificate.json", done.parent / "policy.yaml"
    assert cloak("verify", release, "--certificate", certificate, "--policy", policy).code == 2
    assert cloak("verify", release).code == 2
    assert cloak("verify", release, "--certificate", certificate, "--set", "goals.0.k=2").code == 2
