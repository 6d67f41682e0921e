"""`tablecloak lattice` for real, on a small table."""

import re

import pytest

POLICY = """\
input: people.csv
columns:
  name: {role: identifier}
  zip: {role: quasi, type: text, hierarchy: {kind: mask, from: right}}
  sex: quasi
  illness: sensitive
goals:
  - {model: k-anonymity, k: 2}
"""
PEOPLE = [("13053", "f"), ("13068", "f"), ("14850", "m"), ("14853", "m")]


@pytest.fixture
def project(tmp_path):
    rows = [f"CANARY{i},{z},{s},SECRET{i}" for i, (z, s) in enumerate(PEOPLE)]
    (tmp_path / "people.csv").write_text("\n".join(["name,zip,sex,illness", *rows]) + "\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return tmp_path


@pytest.mark.parametrize("algorithm", ["flash", "incognito", "ola"])
def test_every_node_has_its_tag(cloak, project, algorithm):
    """14850 and 14853 meet when one digit is hidden, 13053 and 13068 when two are; the sexes are alike there."""
    outcome = cloak("lattice", project / "policy.yaml", "--algorithm", algorithm, "--json")
    assert outcome.code == 0, outcome.out
    found = outcome.data
    assert found["algorithm"] == algorithm
    assert [c["levels"] for c in found["columns"]] == [6, 2]
    tags = {tuple(n["levels"]): n["tag"] for n in found["nodes"]}
    assert tags == {(z, s): "safe" if z >= 2 else "unsafe" for z in range(6) for s in range(2)}
    assert found["minimal"] == [[2, 0]]
    assert found["best"] == [2, 0]
    assert found["complete"] is True
    assert sum(sum(row.values()) for row in found["rows"]) == found["size"] == 12


def test_suppression_and_loss_of_a_checked_node(cloak, project):
    changes = ["--set", "algorithm={kind: flash, suppression_limit: 0.5}"]
    found = cloak("lattice", project / "policy.yaml", *changes, "--json").data
    checked = {tuple(n["levels"]): n for n in found["nodes"] if n["how"] == "checked"}
    assert found["suppression_budget"] == 2
    assert {n: v["suppressed"] for n, v in checked.items() if n[0] == 1} == {n: 2 for n in checked if n[0] == 1}
    assert found["minimal"] == [[1, 0]]


def test_what_people_read(cloak, project):
    outcome = cloak("lattice", project / "policy.yaml")
    assert "6 × 2 = 12 nodes" in outcome.out
    assert "8 safe, 4 unsafe, 1 minimal" in outcome.out
    assert "zip 2, sex 0" in outcome.out
    assert "SECRET" not in outcome.out + outcome.err


def test_the_picture_stands_alone_and_shows_no_values(cloak, project):
    page = project / "lattice.html"
    assert cloak("lattice", project / "policy.yaml", "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("<g><title>") == 12
    assert text.count('class="ring"') == 2  # and that of the legend
    assert not re.search(r"https?://|<script|CANARY|SECRET|13053|1305\*|130\*|14850", text)
    assert cloak("lattice", project / "policy.yaml", "--html", page).code == 2
    assert cloak("lattice", project / "policy.yaml", "--html", page, "--force").code == 0


def test_what_cannot_search_the_lattice_is_named(cloak, project):
    flash = ["--set", "algorithm={kind: flash, loss: height}"]
    outcome = cloak("lattice", project / "policy.yaml", *flash, "--algorithm", "mondrian")
    assert outcome.code == 2
    assert "mondrian" in outcome.err
    assert "flash" in outcome.err


def test_best_first_says_what_it_may_have_missed(cloak, project):
    found = cloak("lattice", project / "policy.yaml", "--algorithm", "best-first", "--json").data
    assert found["best"] == [2, 0]
    assert found["bound"] <= next(n["loss"] for n in found["nodes"] if n["levels"] == [2, 0]) + 1e-12


def test_a_full_domain_release_and_its_recoding_for_new_rows(cloak, project):
    """New rows are published at the level of the first ones, also values that were not there before."""
    changes = ["--set", "algorithm=optimal", "--set", "output={path: out.csv, recoding: recoding.json}"]
    assert cloak("run", project / "policy.yaml", *changes).code == 0
    assert (project / "out.csv").read_text().splitlines()[1:3] == ["130**,f,SECRET0", "130**,f,SECRET1"]
    (project / "new.csv").write_text("name,zip,sex,illness\nx,13068,f,a\ny,13053,f,b\n")
    outcome = cloak("apply", project / "recoding.json", project / "new.csv", "--output", project / "again.csv")
    assert outcome.code == 0, outcome.err
    assert (project / "again.csv").read_text().splitlines()[1:] == ["130**,f,a", "130**,f,b"]


def test_every_node_of_a_larger_lattice_can_be_pointed_at(cloak, project):
    """Three columns of six levels and one of two: 432 nodes, each a cell of its row with its loss or bound."""
    extra = [f"{z},{z[::-1]}" for z, _ in PEOPLE]
    header, *rows = (project / "people.csv").read_text().splitlines()
    lines = [f"{header},b,c", *(f"{row},{more}" for row, more in zip(rows, extra, strict=True))]
    (project / "people.csv").write_text("\n".join(lines) + "\n")
    mask = "{role: quasi, type: text, hierarchy: {kind: mask, from: right}}"
    changes = ["--set", f"columns.b={mask}", "--set", f"columns.c={mask}"]
    outcome = cloak("lattice", project / "policy.yaml", "--html", project / "lattice.html", *changes)
    assert outcome.code == 0, outcome.err
    text = (project / "lattice.html").read_text()
    overview = text.partition("All rows")[2].partition("Around the best node")[0]
    titles = re.findall(r"<title>(zip \d, sex \d, b \d, c \d)\n(safe|unsafe)", overview)
    assert len(titles) == len({levels for levels, _ in titles}) == 432
