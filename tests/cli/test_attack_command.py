"""`tablecloak attack` and `risk --subsets --people` for real, on releases of our own and of other tools."""

import csv
from pathlib import Path

import polars as pl
import pytest

import tablecloak as tc
from oracle_models import individual_risk
from tablecloak.errors import IncompatibleChoice

N = 60
EVERY_ZIP = "{77130, 77131, 77132, 77133, 77134, 77135, 77136, 77137, 77138}"
SECRETS = ("Canary", "77130", "98765")
POLICY = """version: 1
input: people.csv
columns:
  age: {role: quasi}
  zip: {role: quasi, type: text}
  illness: {role: sensitive}
  amount: {role: sensitive}
goals: [{model: k-anonymity, k: 5}]
output: release.csv
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A small table in which every sensitive value can be recognized."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame({
        "name": [f"Canary{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(N)],
        "age": [20 + i * 7 % 50 for i in range(N)],
        "zip": [f"7713{i % 9}" for i in range(N)],
        "illness": [f"Canary{i % 5}" for i in range(N)],
        "amount": [98765.25 + i for i in range(N)],
    })  # fmt: skip
    frame.write_csv("people.csv")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return frame


def is_silent(outcome):
    return not any(secret in outcome.out + outcome.err for secret in SECRETS)


def by_name(outcome):
    return {found["attack"]: found for found in outcome.data["attacks"]}


@pytest.mark.slow
def test_our_own_release_before_and_after(cloak, data):
    assert cloak("run", "policy.yaml").code == 0
    outcome = cloak("attack", "people.csv", "release.csv", "--policy", "policy.yaml", "--json")
    assert outcome.code == 0
    assert is_silent(outcome)
    found = by_name(outcome)
    assert found["prosecutor"]["before"]["highest"] == 1
    assert 0 < found["prosecutor"]["highest"] <= 0.2
    assert found["membership"]["applies"] is False
    assert "--population" in found["membership"]["reason"]
    assert outcome.data["sensitive"] == ["illness", "amount"]


def test_lines_for_people_and_a_page(cloak, data, tmp_path):
    cloak("run", "policy.yaml")
    words = ["attack", "people.csv", "release.csv", "-p", "policy.yaml", "-k", "prosecutor", "-k", "skewness"]
    outcome = cloak(*words, "--html", "page.html")
    assert outcome.code == 0
    assert "Stopped by: t-closeness" in outcome.out
    page = (tmp_path / "page.html").read_text()
    assert "What attackers reach" in page
    assert is_silent(outcome)
    assert not any(secret in page for secret in SECRETS)
    assert cloak(*words, "--html", "page.html").code == 2  # it exists
    assert cloak(*words, "--html", "page.html", "--force").code == 0


def foreign(data, path, age, zip_code):
    """A release as another tool would write it."""
    rows = data.select("age", "zip", "illness").to_dicts()
    with Path(path).open("w", newline="") as file:
        writer = csv.DictWriter(file, ["age", "zip", "illness"], delimiter=";")
        writer.writeheader()
        writer.writerows({"age": age(r["age"]), "zip": zip_code(r["zip"]), "illness": r["illness"]} for r in rows)


@pytest.mark.parametrize(
    ("age", "zip_code"),
    [
        (lambda a: f"[{a // 25 * 25}-{a // 25 * 25 + 25})", lambda _: "7713*"),
        (lambda a: f"{a // 25 * 25}-{a // 25 * 25 + 24}", lambda _: "*"),
        (lambda a: "<45" if a < 45 else ">=45", lambda _: EVERY_ZIP),
    ],
    ids=["half-open and masks", "closed and stars", "one-sided and sets"],
)  # fmt: skip
def test_releases_of_other_tools_are_read_from_files_alone(cloak, data, age, zip_code):
    foreign(data, "theirs.csv", age, zip_code)
    groups = data.group_by(pl.col("age").map_elements(age, return_dtype=pl.String)).len()
    words = ["attack", "people.csv", "theirs.csv", "--quasi", "age,zip", "--sensitive", "illness", "--json"]
    found = by_name(cloak(*words))
    assert found["prosecutor"]["highest"] == pytest.approx(1 / groups["len"].min())
    assert found["prosecutor"]["rows_of"] == "original"
    assert found["prosecutor"]["before"]["highest"] == 1
    assert found["attribute-linkage"]["applies"]


def test_a_release_alone(cloak, data):
    foreign(data, "theirs.csv", lambda a: "30-40" if a < 41 else "41-70", lambda _: "*")
    words = ["attack", "theirs.csv", "--alone", "--quasi", "age,zip", "--sensitive", "illness"]
    found = by_name(cloak(*words, "--json"))
    assert found["prosecutor"]["rows_of"] == "release"
    assert found["distance-linkage"]["applies"] is False
    assert "before" not in found["prosecutor"]


def test_population_facts_control_and_a_second_release(cloak, data):
    foreign(data, "one.csv", lambda a: f"{a // 25 * 25}-{a // 25 * 25 + 24}", lambda _: "*")
    foreign(data, "two.csv", lambda a: f"{a // 10 * 10}-{a // 10 * 10 + 9}", lambda _: "*")
    pl.concat([data, data.with_columns(age=pl.col("age") + 1)]).write_csv("city.csv")
    pl.DataFrame({"sensitive": ["illness"] * 4, "value": [f"Canary{i}" for i in range(4)]}).write_csv("facts.csv")
    outcome = cloak(
        "attack", "people.csv", "one.csv", "--quasi", "age,zip", "--sensitive", "illness", "--population", "city.csv",
        "--release2", "two.csv", "--facts", "facts.csv", "--control", "city.csv", "--json",
    )  # fmt: skip
    assert outcome.code == 0
    assert is_silent(outcome)
    found = by_name(outcome)
    assert found["journalist"]["highest"] < found["prosecutor"]["highest"]
    assert found["membership"]["applies"]
    assert found["composition"]["details"]["releases"] == 2
    assert found["given-facts"]["highest"] == 1.0  # four of five values are ruled out
    if found["attribute-inference"]["applies"]:
        assert found["attribute-inference"]["details"]["control_people"] == 120


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["people.csv"], 2, "give ORIGINAL and RELEASE"),
        (["people.csv", "people.csv", "--alone"], 2, "give ORIGINAL and RELEASE"),
        (["people.csv", "people.csv", "--quasi", "age", "--kind", "homogenity"], 2, "homogeneity"),
        (["people.csv", "people.csv", "--quasi", "agee"], 5, "age"),
        (["people.csv", "people.csv", "--quasi", "age", "--sensitive", "age"], 2, "both"),
        (["people.csv", "nothing.csv", "--quasi", "age"], 5, "nothing.csv"),
    ],
)
def test_wrong_use_is_explained(cloak, data, words, code, message):
    outcome = cloak("attack", *words)
    assert outcome.code == code
    assert message in outcome.err


def test_risk_by_subset_and_in_the_population(cloak, data):
    found = cloak("risk", "people.csv", "--quasi", "age,zip,name", "--subsets", "2", "--people", "1000", "--json").data
    assert found["keys"] == [["name"], ["age", "zip"]]  # ages repeat after 50 rows, postcodes after 9
    assert {"columns": ["name"], "unique": 60}.items() <= found["subsets"][0].items()
    assert [e["method"] for e in found["population"]] == ["pitman", "zayatz", "negative-binomial"]
    lines = cloak("risk", "people.csv", "--quasi", "age,zip", "--subsets", "2", "--people", "1000").out
    assert "In the population" in lines


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_risk_among_the_people_that_weights_add_up_to(cloak, data, engine):
    rows = [("1", "f", 20.0), ("1", "f", 4.5), ("2", "m", 8.0)]
    Path("survey.csv").write_text("age,sex,w\n" + "\n".join(f"{a},{s},{w}" for a, s, w in rows), encoding="utf-8")
    words = ("risk", "survey.csv", "--quasi", "age,sex", "--weight", "w", "--engine", engine)
    found = cloak(*words, "--json").data["weighted"]
    two, one = individual_risk(2, 24.5), individual_risk(1, 8.0)
    assert found["people"] == 32.5
    assert found["highest"] == pytest.approx(one)
    assert found["expected_links"] == pytest.approx(2 * two + one)
    assert found["share"] == pytest.approx((2 * two + one) / 3)
    assert found["expected_population_uniques"] == 1 / 8
    assert "Among the 32 people that weights add up to" in cloak(*words).out.replace("\n", " ")


@pytest.mark.parametrize(
    ("weight", "code", "message"),
    [("agee", 5, "no column 'agee'"), ("sex", 5, "does not hold numbers"), ("age", 2, "cannot be both")],
)
def test_a_weight_that_is_none_is_refused(cloak, data, weight, code, message):
    Path("survey.csv").write_text("age,sex\n1,f\n2,m\n", encoding="utf-8")
    told = cloak("risk", "survey.csv", "--quasi", "age", "--weight", weight)
    assert (told.code, message in told.err) == (code, True)


def test_attacks_are_listed_and_explained(cloak):
    assert "homogeneity" in cloak("list", "attacks").out
    outcome = cloak("explain", "definetti")
    assert outcome.code == 0
    assert "Kifer" in outcome.out


def test_python_and_the_command_line_tell_the_same_weighted_risk(cloak, data):
    rows = [("1", "f", 20.0), ("1", "f", 4.5), ("2", "m", 8.0)]
    Path("survey.csv").write_text("age,sex,w\n" + "\n".join(f"{a},{s},{w}" for a, s, w in rows), encoding="utf-8")
    told = cloak("risk", "survey.csv", "--quasi", "age,sex", "--weight", "w", "--json").data["weighted"]
    roles = tc.roles(quasi=["age", "sex"])
    for survey in ("survey.csv", pl.read_csv("survey.csv")):
        risk = tc.risk(survey, roles, weight="w")
        assert risk.weighted.to_dict() == told
        assert risk.to_dict()["weighted"] == told
        assert "Among the 32 people that weights add up to" in str(risk)
        assert tc.risk(survey, roles).weighted is None
    with pytest.raises(IncompatibleChoice, match="both quasi-identifier and weight"):
        tc.risk("survey.csv", tc.roles(quasi=["age", "w"]), weight="w")
