"""`tablecloak compare` of one and two releases, and `tablecloak explore`, for real."""

import json

import polars as pl
import pytest

from tablecloak.measure.two_releases import Row

pytestmark = pytest.mark.slow

N = 120
SECRETS = ("Canary", "7713")
POLICY = """\
version: 1
input: people.csv
columns:
  age: {role: quasi}
  zip: {role: quasi, type: text}
  sex: {role: quasi}
  illness: {role: sensitive}
goals:
  - {model: k-anonymity, k: 3}
"""


@pytest.fixture
def releases(tmp_path, monkeypatch, cloak):
    """Two releases of one table in which every sensitive value can be recognized."""
    monkeypatch.chdir(tmp_path)
    pl.DataFrame(
        {
            "age": [20 + i * 7 % 50 for i in range(N)],
            "zip": [f"7713{i % 9}" for i in range(N)],
            "sex": ["f", "m"] * (N // 2),
            "illness": [f"Canary{i % 5}" for i in range(N)],
        }
    ).write_csv("people.csv")
    (tmp_path / "policy.yaml").write_text(POLICY)
    for name, k in (("weak.csv", 3), ("strong.csv", 20)):
        assert cloak("run", "policy.yaml", "-o", name, "--set", f"goals.0.k={k}").code == 0
    return tmp_path


def no_secret(text):
    return not any(secret in text for secret in SECRETS)


def test_two_releases_side_by_side(cloak, releases):
    outcome = cloak("compare", "weak.csv", "strong.csv", "--original", "people.csv", "-p", "policy.yaml", "--json")
    assert outcome.code == 0
    rows = {(row["axis"], row["name"]): row for row in outcome.data["rows"]}
    risk = rows["risk", "highest risk"]
    assert (risk["original"], risk["better"]) == (1.0, "b")
    assert risk["a"] == outcome.data["a"]["after"]["highest"] <= 1 / 3
    assert risk["b"] == outcome.data["b"]["after"]["highest"] <= 1 / 20
    assert rows["utility", "gcp"]["better"] == "a"
    assert rows["attack", "prosecutor"]["b"] < rows["attack", "prosecutor"]["a"]
    assert "Canary" not in json.dumps(outcome.data)


def test_releases_of_one_name_are_told_apart_by_their_folders(cloak, releases):
    for folder, name in (("old", "weak.csv"), ("new", "strong.csv")):
        (releases / folder).mkdir()
        (releases / name).rename(releases / folder / "release.csv")
    outcome = cloak("compare", "old/release.csv", "new/release.csv", "--original", "people.csv", "-p", "policy.yaml")
    assert "A  old/release.csv   B  new/release.csv" in outcome.out


def test_side_by_side_is_what_each_comparison_says(cloak, releases):
    both = cloak("compare", "weak.csv", "strong.csv", "--original", "people.csv", "-p", "policy.yaml", "--json").data
    for side, name in (("a", "weak.csv"), ("b", "strong.csv")):
        alone = cloak("compare", "people.csv", name, "-p", "policy.yaml", "--json").data
        assert alone == both[side]


def test_pages_and_lines_show_no_value(cloak, releases):
    for words in (
        ("people.csv", "weak.csv"),
        ("weak.csv", "strong.csv", "--original", "people.csv"),
    ):
        outcome = cloak("compare", *words, "-p", "policy.yaml", "--html", "page.html", "--force")
        assert outcome.code == 0
        page = (releases / "page.html").read_text()
        assert page.startswith("<!doctype html>")
        assert no_secret(page + outcome.out + outcome.err)
        assert "<script" not in page


def test_a_page_is_not_replaced_unasked(cloak, releases):
    (releases / "page.html").write_text("mine")
    outcome = cloak("compare", "people.csv", "weak.csv", "-p", "policy.yaml", "--html", "page.html")
    assert outcome.code != 0
    assert (releases / "page.html").read_text() == "mine"


def test_learning_is_shown_where_a_target_is_named(cloak, releases):
    pytest.importorskip("sklearn")
    outcome = cloak(
        "compare", "people.csv", "weak.csv", "-p", "policy.yaml", "--target", "illness", "--learner", "tree"
    )
    assert outcome.code == 0
    assert "Predicting illness (tree, 36 originals held out)" in outcome.out


TWO = [((1.0, 2.0), False, 0), ((1.0, 2.0), True, 1), ((1.0, 1.0), False, None), ((None, 1.0), False, None)]


@pytest.mark.parametrize(("values", "higher", "better"), TWO)
def test_the_better_of_two(values, higher, better):
    assert Row("utility", "x", None, values, higher).better == better


def test_explore_shows_variants_and_writes_a_page(cloak, releases):
    words = ("explore", "policy.yaml", "--vary", "k=2,4,8,16", "--vary", "algorithm=mondrian,flash")
    outcome = cloak(*words, "--html", "f.html")
    assert outcome.code == 0
    assert "knee" in outcome.out.lower()
    assert "mark-0" in (releases / "f.html").read_text()
    data = cloak(*words, "--json").data
    assert len(data["points"]) == 8
    assert all(point["smallest"] >= int(point["changes"]["k"]) for point in data["points"] if "reason" not in point)


def test_explore_needs_something_that_varies(cloak, releases):
    outcome = cloak("explore", "policy.yaml")
    assert outcome.code == 2
    assert "--vary k=2..20" in outcome.err
