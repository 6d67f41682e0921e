"""Policies that ended version 0.1.0 as "a bug in tablecloak": each runs now, or is refused in our words.

Odd files, names, places and too little memory are in `test_odd_files.py` and `test_safe_files.py`.
"""

from __future__ import annotations

import json

import pytest


def run(cloak, folder, rows, columns, *, k=2, goals=(), algorithm="mondrian", engine="local", **output):
    header = ",".join(columns)
    (folder / "data.csv").write_text("\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n")
    policy = {
        "input": "data.csv",
        "columns": columns,
        "goals": [{"model": "k-anonymity", "k": k}, *goals] if k else [*goals],
        "algorithm": algorithm,
        "output": {"path": "out.csv", "report": "out.html", **output},
    }
    (folder / "policy.json").write_text(json.dumps(policy))
    outcome = cloak("run", folder / "policy.json", "--engine", engine)
    assert "unexpected" not in outcome.err, outcome.err
    return outcome


def test_multi_l_diversity_with_stars_for_suppressed_records(cloak, tmp_path):
    rows = [(20 + i % 40, f"j{i % 3}", f"d{i // 3 % 4}") for i in range(120)] + [(99, "j1", "d1")]
    outcome = run(
        cloak, tmp_path, rows, {"age": "quasi", "job": "sensitive", "disease": "sensitive"},
        goals=[{"model": "multi-l-diversity", "l": 2}],
        algorithm={"kind": "mondrian", "suppression_limit": 0.1}, suppressed="star",
    )  # fmt: skip
    assert outcome.code == 0, outcome.err
    assert "*" in (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("algorithm", ["auto", "mondrian", "flash", "mdav", "v-klt"])
@pytest.mark.parametrize(
    ("mask", "zips"),
    [
        pytest.param({"kind": "mask", "hide": 4}, ["8001", "8002", "8003"], id="hides-everything"),
        pytest.param({"kind": "mask", "hide": 1}, [""], id="all-empty"),
    ],
)
def test_masks_of_which_nothing_is_left(cloak, tmp_path, algorithm, mask, zips):
    rows = [(zips[i % len(zips)], i, i % 5) for i in range(20)]
    columns = {"zip": {"role": "quasi", "type": "text", "hierarchy": mask}, "age": "quasi", "s": "sensitive"}
    goals = [{"model": "l-diversity", "l": 2}, {"model": "t-closeness", "t": 0.9}] if algorithm == "v-klt" else []
    outcome = run(cloak, tmp_path, rows, columns, goals=goals, algorithm=algorithm)
    assert outcome.code == 0, outcome.err


def test_a_report_of_labels_that_are_all_sets(cloak, tmp_path):
    rows = [("fm"[i % 2], "abcd"[i % 4]) for i in range(24)]
    algorithm = {"kind": "auto", "labels": "set"}
    columns = {"sex": "quasi", "city": "quasi"}
    outcome = run(cloak, tmp_path, rows, columns, k=8, algorithm=algorithm, engine="duckdb")
    assert outcome.code == 0, outcome.err
    assert "{a, c}" in (tmp_path / "out.csv").read_text()


def test_anatomy_whose_groups_are_a_published_column(cloak, tmp_path):
    rows = [(i // 4, i % 4) for i in range(20)]
    goals = [{"model": "l-diversity", "l": 2}]
    algorithm = {"kind": "anatomy", "groups": "ward"}
    outcome = run(cloak, tmp_path, rows, {"ward": "quasi", "s": "sensitive"}, k=0, goals=goals, algorithm=algorithm)
    assert outcome.code == 2
    assert "the column 'ward' names the groups" in outcome.err
    assert "columns.ward.role: keep" in outcome.err
