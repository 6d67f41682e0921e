"""The Adult table with its published hierarchies: verified by the oracle, as good as it should be."""

from __future__ import annotations

import csv
import os
from itertools import pairwise
from pathlib import Path

import pytest

import oracle
from tablecloak import load_policy, run

ADULT = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "adult"
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
TREES = [name for name in QUASI if name != "age"]  # age is published as an interval of years
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ADULT.exists(), reason="no Adult data; set TABLECLOAK_DATA")]


def rows_of(path, delimiter):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def tree_of(name):
    with (ADULT / f"adult_hierarchy_{name}.csv").open(newline="") as file:
        paths = list(csv.reader(file, delimiter=";"))
    return {a: b for path in paths for a, b in pairwise(path) if a != b}


# prototype of the same search: the loss it reached
@pytest.mark.parametrize(
    ("k", "most"),
    [(5, 0.0702), (10, 0.1209), (50, 0.3089)],
)
def test_adult(tmp_path, k, most):
    columns = [f"  {q}: {{role: quasi, type: text, hierarchy: {ADULT}/adult_hierarchy_{q}.csv}}" for q in TREES]
    (tmp_path / "p.yaml").write_text(
        "\n".join([
            f"input: {{path: {ADULT}/adult.csv, delimiter: ';'}}", "columns:",
            "  age: quasi", *columns, "  salary-class: sensitive",
            f"goals: [{{model: k-anonymity, k: {k}}}]", "output: {path: release.csv, order: keep}",
        ])
    )  # fmt: skip
    report = run(load_policy(tmp_path / "p.yaml"))
    original = [{**row, "age": int(row["age"])} for row in rows_of(ADULT / "adult.csv", ";")]
    release = rows_of(tmp_path / "release.csv", ",")
    trees = {name: tree_of(name) for name in TREES}
    assert len(release) == len(original)
    assert oracle.check(release, QUASI, [{"model": "k-anonymity", "k": k}])[0][0]
    pairs = {(q, r[q], o[q]) for o, r in zip(original, release, strict=True) for q in QUASI}
    assert all(oracle.covers(cell, value, tree=trees.get(q)) for q, cell, value in pairs)
    assert all(o["salary-class"] == r["salary-class"] for o, r in zip(original, release, strict=True))
    loss = float(oracle.gcp(release, original, QUASI, trees=trees))
    assert report.loss == pytest.approx(loss, abs=1e-9)
    assert round(loss, 4) <= most
