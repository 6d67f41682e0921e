"""Adult at k = 5: nobody is linked with a chance of more than one fifth, whatever the way of linking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tablecloak import load_policy, run
from tablecloak.measure.attack import attack

ADULT = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "adult"
QUASI = ["sex", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
LINKS = ["prosecutor", "linkage-knowing-everybody", "distance-linkage", "probabilistic-linkage", "marketer"]
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not ADULT.exists(), reason="no Adult data; set TABLECLOAK_DATA")]


@pytest.mark.parametrize("algorithm", ["mondrian", "optimal", "k-member"])
def test_linkage_success_is_at_most_one_fifth(tmp_path, algorithm):
    columns = [f"  {q}: {{role: quasi, type: text, hierarchy: {ADULT}/adult_hierarchy_{q}.csv}}" for q in QUASI]
    (tmp_path / "p.yaml").write_text(
        "\n".join([
            f"input: {{path: {ADULT}/adult.csv, delimiter: ';'}}", "columns:", "  age: quasi", *columns,
            "  occupation: sensitive", "goals: [{model: k-anonymity, k: 5}]", f"algorithm: {algorithm}",
            "output: release.csv",
        ])
    )  # fmt: skip
    policy = load_policy(tmp_path / "p.yaml")
    run(policy)
    report = attack(ADULT / "adult.csv", tmp_path / "release.csv", policy=policy, kinds=LINKS, with_before=False)
    for found in report.after:
        assert found.finding is not None, found.reason
        chance = found.finding.average if found.finding.highest is None else found.finding.highest
        assert 0 < chance <= 0.2, found.attack
        assert found.finding.n_victims == 0 or found.attack == "marketer"
