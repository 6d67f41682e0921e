"""`compare`, `attack`, `risk`, `explore` and `lattice` on sets of items, as people type them."""

from __future__ import annotations

import pytest

import oracle_sets

SETS = [["canary", "milk"], ["milk", "bread"], ["milk"], ["bread", "tea"], ["milk", "tea"], [], ["bread", "milk"]] * 4
POLICY = """version: 1
input: {path: sets.txt, format: sets, delimiter: ";"}
columns:
  items: {role: items, hierarchy: {kind: tree, tree: {drinks: [canary, milk, tea], food: [bread, salt]}}}
goals: [{model: km-anonymity, k: 6, m: 2}]
output: out.txt
"""


@pytest.fixture
def shop(tmp_path, monkeypatch, cloak):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sets.txt").write_text("".join(";".join(items) + "\n" for items in SETS))
    (tmp_path / "policy.yaml").write_text(POLICY)
    cloak("run", "policy.yaml")
    return [line.split(";") if line else [] for line in (tmp_path / "out.txt").read_text().splitlines()]


def test_attack(shop, cloak, tmp_path):
    told = cloak("attack", "sets.txt", "out.txt", "--policy", "policy.yaml", "--html", "a.html")
    assert "Sets of items, of which someone knows up to 2 of a person." in told.out
    assert "itemset-linkage" in told.out
    assert "fewest left" in (tmp_path / "a.html").read_text()
    found = cloak("attack", "sets.txt", "out.txt", "--policy", "policy.yaml", "--json").data
    (attack,) = found["attacks"]
    left = oracle_sets.candidates(shop, 2)
    assert attack["highest"] == pytest.approx(1 / min(left[-1]))
    assert attack["details"]["k"] == 6
    assert [risk["least_candidates"] for risk in attack["details"]["by_known_items"]] == [min(row) for row in left]
    assert attack["before"]["victims"] == sum(n < 6 for n in oracle_sets.candidates(SETS, 2)[-1])
    assert found["engine"] == "local"
    alone = cloak("attack", "out.txt", "--alone", "--policy", "policy.yaml", "--json").data["attacks"][0]
    assert alone["details"] == attack["details"]
    assert "before" not in alone


def test_compare(shop, cloak, tmp_path):
    told = cloak("compare", "sets.txt", "out.txt", "--policy", "policy.yaml", "--html", "c.html")
    assert "detail lost (GCP)" in told.out
    page = (tmp_path / "c.html").read_text()
    assert "Risk before and after" in page
    assert "canary" not in told.out + page
    found = cloak("compare", "sets.txt", "out.txt", "--policy", "policy.yaml", "--json").data
    assert found["loss"] == pytest.approx(cloak("run", "policy.yaml", "--force", "--json").data["loss"])
    assert found["after"]["different"] == len({tuple(items) for items in shop})
    cloak("run", "policy.yaml", "--set", "goals.0.k=16", "--output", "strict.txt")
    both = cloak("compare", "out.txt", "strict.txt", "--original", "sets.txt", "--policy", "policy.yaml").out
    assert "A  out.txt   B  strict.txt   on items" in both
    assert "detail lost in items" in both


def test_risk(shop, cloak):
    told = cloak("risk", "out.txt", "--items", "items", "--format", "sets", "--subsets", "3", "--json").data
    left = oracle_sets.candidates(shop, 3)
    assert [risk["least_candidates"] for risk in told["risk"]] == [min(row) for row in left]
    assert [risk["unique"] for risk in told["risk"]] == [row.count(1) for row in left]
    assert "28 sets" in cloak("risk", "sets.txt", "--items", "items", "--format", "sets").out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], "give --quasi or --items"),
        (["--items", "items", "--quasi", "items"], "give --quasi or --items"),
        (["--items", "items", "--people", "9"], "--people estimates"),
        (["--items", "items", "--weight", "w"], "--weight estimates"),
        (["--quasi", "items", "--separator", ";"], "--separator stands between items"),
    ],
)
def test_risk_is_of_columns_or_of_sets(shop, cloak, options, says):
    told = cloak("risk", "sets.txt", *options)
    assert (told.code, says in told.err) == (2, True)


def test_other_engines_are_refused_by_name(shop, cloak):
    for words in (["attack", "sets.txt", "out.txt"], ["compare", "sets.txt", "out.txt"]):
        told = cloak(*words, "--policy", "policy.yaml", "--engine", "duckdb")
        assert (told.code, "holds all rows in memory" in told.err) == (2, True)
    told = cloak("risk", "out.txt", "--items", "items", "--format", "sets", "--engine", "duckdb")
    assert (told.code, "holds all rows in memory" in told.err) == (2, True)


def test_explore_and_lattice(shop, cloak):
    found = cloak("explore", "policy.yaml", "--vary", "k=2,6", "--vary", "m=1,2", "--json").data
    assert [point["changes"] for point in found["points"]] == [{"k": k, "m": m} for k in ("2", "6") for m in ("1", "2")]
    assert found["notes"]
    told = cloak("lattice", "policy.yaml")
    assert (told.code, "sets of items have no lattice" in told.err) == (2, True)
