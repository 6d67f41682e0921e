"""`tablecloak verify`: yes only to what it looked at, and a no that says where."""

import csv
import io

import pytest

POLICY = """\
input: people.csv
columns:
  name: identifier
  number: {role: identifier, transform: star}
  age: quasi
  zip: {role: quasi, type: text}
  illness: sensitive
  ward: keep
goals: [{model: k-anonymity, k: 4}]
output: {path: release.csv, certificate: certificate.json}
"""


def table(n=80):
    """People of 20 to 59 in four places; nobody's cells are those of somebody else."""
    return [
        {
            "name": f"CANARY{i}", "number": f"{7000 + i}", "age": f"{20 + i % 40}", "zip": f"{130 + i % 4}",
            "illness": ["flu", "asthma", "ulcer", "cold", "gout"][i * 7 % 5], "ward": f"w{i % 3}",
        }
        for i in range(n)
    ]  # fmt: skip


def write(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.fixture
def done(cloak, tmp_path):
    """A folder with a table, a policy and the release that it made."""
    write(tmp_path / "people.csv", table())
    (tmp_path / "policy.yaml").write_text(POLICY)
    assert cloak("run", tmp_path / "policy.yaml").code == 0
    return tmp_path


def verified(cloak, folder, *words):
    outcome = cloak("verify", folder / "release.csv", "-p", folder / "policy.yaml", "--json", *words)
    assert "CANARY" not in outcome.out + outcome.err
    return outcome


def test_own_release_is_as_it_must_be(cloak, done):
    outcome = verified(cloak, done)
    assert outcome.code == 0, outcome.out
    assert outcome.data["status"] == "holds"
    assert "failures" not in outcome.data


@pytest.mark.parametrize(
    ("column", "what"),
    [
        ("name", "an identifier, which is not published"),
        ("secret", "the policy does not name it, so it is not published"),
    ],
)
def test_a_column_that_is_not_published_fails_by_name(cloak, done, column, what):
    write(done / "release.csv", [{**row, column: "CANARY"} for row in read(done / "release.csv")])
    outcome = verified(cloak, done)
    assert (outcome.code, outcome.data["status"]) == (3, "fails")
    assert [(f["column"], f["what"]) for f in outcome.data["failures"]] == [(column, what)]
    assert f"✗ column '{column}': {what}" in cloak("verify", done / "release.csv", "-p", done / "policy.yaml").out
    certified = cloak("verify", done / "release.csv", "-c", done / "certificate.json", "--json")
    assert (certified.code, certified.data["status"]) == (3, "fails")


def test_unnamed_columns_may_stay_where_the_policy_keeps_them(cloak, done):
    write(done / "release.csv", [{**row, "secret": "x"} for row in read(done / "release.csv")])
    assert verified(cloak, done, "--set", "others=keep").code == 0


@pytest.mark.parametrize("role", ["person", "drop"])
def test_keys_of_persons_and_dropped_columns_fail(cloak, done, role):
    write(done / "release.csv", [{**row, "name": "CANARY"} for row in read(done / "release.csv")])
    outcome = verified(cloak, done, "--set", f"columns.name={role}")
    assert outcome.code == 3
    assert [f["column"] for f in outcome.data["failures"]] == ["name"]


def test_an_identifier_that_must_be_stars_is_looked_at(cloak, done):
    rows = read(done / "release.csv")
    for place in (2, 40):
        rows[place]["number"] = "CANARY"
    write(done / "release.csv", rows)
    outcome = verified(cloak, done)
    assert outcome.code == 3
    (failure,) = outcome.data["failures"]
    assert (failure["column"], failure["count"], failure["rows"]) == ("number", 2, [3, 41])


def test_a_published_column_that_is_not_there_fails(cloak, done):
    write(done / "release.csv", [{k: v for k, v in row.items() if k != "ward"} for row in read(done / "release.csv")])
    outcome = verified(cloak, done)
    assert outcome.code == 3
    assert [f["column"] for f in outcome.data["failures"]] == ["ward"]


def test_groups_publish_their_number_and_nothing_else_of_their_own(cloak, done):
    changes = ["--set", "algorithm=anatomy", "--set", "goals=[{model: l-diversity, l: 2}]"]
    assert cloak("run", done / "policy.yaml", *changes, "--force").code == 0
    assert verified(cloak, done, *changes).code == 0
    side = done / "release.st.csv"
    write(side, [{**row, "name": "CANARY"} for row in read(side)])
    outcome = verified(cloak, done, *changes)
    assert outcome.code == 3
    assert [f["column"] for f in outcome.data["failures"]] == ["name"]
