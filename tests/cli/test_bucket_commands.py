"""`tablecloak run|verify` with releases in groups and with means."""

import csv
import hashlib
import json

import pytest

POLICY = """\
input: people.csv
columns: {age: quasi, zip: quasi, illness: sensitive}
goals: [{model: l-diversity, l: 2}]
algorithm: anatomy
output: out/release.csv
"""


@pytest.fixture
def project(tmp_path):
    rows = [f"{20 + i % 7},{13000 + i},{['flu', 'asthma', 'ulcer'][i % 3]}" for i in range(30)]
    (tmp_path / "people.csv").write_text("\n".join(["age,zip,illness", *rows]) + "\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_anatomy_writes_two_tables_that_verify(cloak, project):
    result = cloak("run", project / "policy.yaml", "--json")
    report = json.loads(result.out)
    assert report["side_output"].endswith("release.st.csv")
    main, side = read(project / "out" / "release.csv"), read(project / "out" / "release.st.csv")
    assert list(main[0]) == ["age", "zip", "group_id"]
    assert list(side[0]) == ["group_id", "illness", "count"]
    assert sum(int(row["count"]) for row in side) == len(main) == 30
    checked = cloak(
        "verify",
        project / "out" / "release.csv",
        "--policy",
        project / "policy.yaml",
        "--original",
        project / "people.csv",
    )
    assert checked.code == 0
    spoilt = (project / "out" / "release.st.csv").read_text().replace("ulcer", "flu").replace("asthma", "flu")
    (project / "out" / "release.st.csv").write_text(spoilt)
    checked = cloak("verify", project / "out" / "release.csv", "--policy", project / "policy.yaml")
    assert checked.code == 3


def test_two_tables_do_not_fit_one_stream(cloak, project):
    result = cloak("run", project / "policy.yaml", "--output", "-")
    assert result.code == 2
    assert "two tables" in result.err


def test_existing_side_table_is_not_replaced(cloak, project):
    (project / "out").mkdir()
    (project / "out" / "release.st.csv").write_text("mine")
    assert cloak("run", project / "policy.yaml").code == 2
    assert (project / "out" / "release.st.csv").read_text() == "mine"
    assert not (project / "out" / "release.csv").exists()


def test_groups_have_no_recoding(cloak, project):
    assert cloak("run", project / "policy.yaml", "--set", "output.recoding=r.json").code == 2
    assert not (project / "out" / "release.csv").exists()


@pytest.mark.parametrize("kind", ["anatomy", "permutation", "slicing", "swapping", "v-cold"])
def test_groups_have_report_and_certificate(cloak, project, kind):
    extra = [
        "--set",
        "output.report=out/r.html",
        "--set",
        "output.certificate=out/c.json",
        "--set",
        f"algorithm={kind}",
    ]
    assert cloak("run", project / "policy.yaml", *extra).code == 0
    text = (project / "out" / "r.html").read_text()
    assert "that a person is in the table is not hidden" in text
    assert "covers its original" not in text
    certificate = json.loads((project / "out" / "c.json").read_text())
    names = ["release.csv"] if kind in ("slicing", "swapping") else ["release.csv", "release.st.csv"]
    hashes = [hashlib.sha256((project / "out" / name).read_bytes()).hexdigest() for name in names]
    assert [certificate["sha256"][key] for key in ("output", "side_output")[: len(names)]] == hashes
    checked = cloak("verify", project / "out" / "release.csv", "--certificate", project / "out" / "c.json",
                    "--original", project / "people.csv", "--json")  # fmt: skip
    assert checked.code == 0
    claims = {check["claim"]: check["ok"] for check in json.loads(checked.out)["checks"]}
    assert claims["every column holds the values of its original"] is True
    assert claims.get("table beside it is the certified file", True) is True


def test_certificate_notices_another_table_beside_the_release(cloak, project):
    extra = ["--set", "output.certificate=out/c.json"]
    assert cloak("run", project / "policy.yaml", *extra).code == 0
    side = project / "out" / "release.st.csv"
    header, *lines = side.read_text().splitlines()
    side.write_text("\n".join([header, *reversed(lines)]) + "\n")  # the same counts in other bytes
    checked = cloak("verify", project / "out" / "release.csv", "--certificate", project / "out" / "c.json", "--json")
    assert checked.code == 3
    claims = {check["claim"]: check["ok"] for check in json.loads(checked.out)["checks"]}
    assert claims["table beside it is the certified file"] is False
    assert claims["l-diversity: level as certified"] is True


def test_report_of_groups_says_what_can_be_guessed(cloak, project):
    lines = [f"{20 + i},{i},{'flu' if i % 3 == 0 else f'illness {i}'}" for i in range(30)]
    (project / "people.csv").write_text("\n".join(["age,zip,illness", *lines]) + "\n")
    given = "\n".join(f"{line},{i // 3}" for i, line in enumerate(lines))  # in every group one flu of three
    (project / "people.csv").write_text(f"age,zip,illness,bucket\n{given}\n")
    extra = ["--set", "output.report=out/r.html", "--set", "algorithm={kind: anatomy, groups: bucket}",
             "--set", "columns.bucket=keep"]  # fmt: skip
    assert cloak("run", project / "policy.yaml", *extra).code == 0
    text = (project / "out" / "r.html").read_text()
    assert "in groups of at least 3" in text
    assert "with a certainty of 33.3% at most" in text
    assert "100.0% of the records can still be singled out by their quasi-identifiers (before: about 100%)" in text
    assert "exact, linked to zip" in text


def test_groups_have_a_certificate_for_both_tables(cloak, project):
    assert cloak("run", project / "policy.yaml", "--set", "output.certificate=c.json").code == 0
    words = ("verify", project / "out" / "release.csv", "--certificate", project / "c.json")
    found = cloak(*words, "--json")
    assert found.code == 0
    checks = {check["claim"]: check["ok"] for check in found.data["checks"]}
    assert checks["table beside it is the certified file"] is True
    assert checks["input is the certified file"] is None
    assert "could not be checked" in found.data["summary"]
    side = project / "out" / "release.st.csv"
    rows = side.read_text().splitlines()
    side.write_text("\n".join([rows[0], *rows[:0:-1]]) + "\n")
    assert cloak(*words).code == 3


def test_means_are_numbers_and_the_terminal_says_what_they_are(cloak, project):
    changes = ["--set", "algorithm=mdav", "--set", "goals=[{model: k-anonymity, k: 3}]"]
    result = cloak("run", project / "policy.yaml", *changes)
    assert result.code == 0
    assert "centers of their class" in result.out
    cells = [(row["age"], row["zip"]) for row in read(project / "out" / "release.csv")]
    assert all(cells.count(c) >= 3 and float(c[0]) and float(c[1]) for c in cells)


def test_means_have_a_report(cloak, project):
    changes = [
        "--set",
        "algorithm=mdav",
        "--set",
        "goals=[{model: k-anonymity, k: 3}]",
        "--set",
        "output.report=r.html",
    ]
    result = cloak("run", project / "policy.yaml", *changes)
    assert result.code == 0, result.err
    assert (project / "r.html").exists()


def test_report_says_what_a_published_variant_leaves_open(cloak, project):
    extra = ["--set", "algorithm={kind: v-cold, variant: published}", "--set", "output.report=out/r.html"]
    assert cloak("run", project / "policy.yaml", *extra).code == 0
    text = (project / "out" / "r.html").read_text()
    assert "Published variant: buckets and slices follow the order of rows, and buckets may be single rows" in text
