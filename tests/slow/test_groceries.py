"""Real shopping baskets with their taxonomy, if the data is there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import oracle_sets
from tablecloak import pipeline
from tablecloak.policy.schema import Policy

FOLDER = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "groceries"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (FOLDER / "groceries.csv").exists(), reason=f"there is no data in {FOLDER}"),
]


def paths():
    lines = (FOLDER / "groceries_hierarchy.csv").read_text(encoding="utf-8").splitlines()
    return [[label.strip() for label in line.split(";")] for line in lines]


@pytest.mark.parametrize(("k", "m", "limit"), [(5, 1, 0.0), (5, 2, 0.0), (5, 2, 0.01), (20, 3, 0.0), (5, 4, 0.02)])
def test_groceries_become_safe_and_every_item_covers(tmp_path, k, m, limit):
    policy = Policy.model_validate({
        "input": {"path": str(FOLDER / "groceries.csv"), "format": "sets"},
        "columns": {"items": {"role": "items", "hierarchy": str(FOLDER / "groceries_hierarchy.csv")}},
        "goals": [{"model": "km-anonymity", "k": k, "m": m}],
        "algorithm": {"kind": "apriori", "suppression_limit": limit},
        "output": {"path": str(tmp_path / "out.csv"), "recoding": str(tmp_path / "recoding.json"), "order": "keep"},
    })  # fmt: skip
    report = pipeline.run(policy)
    lines = (FOLDER / "groceries.csv").read_text(encoding="utf-8").splitlines()
    before = [[item.strip() for item in line.split("|")] for line in lines]
    after = [line.split("|") if line else [] for line in (tmp_path / "out.csv").read_text().splitlines()]
    assert len(before) == 9835
    assert report.verification.verdicts[0].achieved == oracle_sets.max_k(after, m)
    assert oracle_sets.is_km_anonymous(after, k, m)
    ancestors = {path[0]: set(path) for path in paths()}
    dropped = {item for row, items in enumerate(before) for item in items if not ancestors[item] & set(after[row])}
    assert sum(item in dropped for items in before for item in items) <= limit * sum(map(len, before))
    for row, items in enumerate(after):
        assert all(any(up in ancestors[item] for item in before[row]) for up in items)
