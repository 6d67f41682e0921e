"""What every shape of a release promises: run, recount and verify agree, and a tampered release fails."""

from __future__ import annotations

import pytest
from checks_algorithms import frame_of
from checks_kinds import ROAD, check_shape

from tablecloak import pipeline
from tablecloak.measure.attack import attack
from tablecloak.measure.explore import explore_policy
from tablecloak.measure.two_releases import judge_files
from tablecloak.policy.schema import Policy
from tablecloak.policy.variations import parse_axis
from tablecloak.release.shapes.base import shape_of, shapes

BASKETS = ["milk;bread", "milk;beer", "bread;beer", "milk;bread;beer"] * 6
TREE = {"food": ["milk", "bread"], "drink": ["beer"]}


POLICIES = ("classes", "groups", "separated", "sets")  # the keys of `policies`


def columns(**roles):
    return {"age": "quasi", "job": "quasi", "ill": "sensitive", **roles}


def policies(folder):
    """A new shape needs an entry here: a policy whose release has it, and how to spoil the file."""
    (folder / "people.csv").write_text(frame_of(3, 60).write_csv())
    (folder / "baskets.txt").write_text("\n".join(BASKETS) + "\n")
    k, l = {"model": "k-anonymity", "k": 4}, {"model": "l-diversity", "l": 2}  # noqa: E741
    people = {"input": str(folder / "people.csv"), "columns": columns()}
    baskets = {
        "input": {"path": str(folder / "baskets.txt"), "format": "sets", "delimiter": ";"},
        "columns": {"items": {"role": "items", "hierarchy": {"kind": "tree", "tree": TREE}}},
    }
    return {
        "classes": {**people, "goals": [k], "algorithm": "mondrian"},
        "groups": {**people, "goals": [l], "algorithm": "slicing"},
        "separated": {**people, "goals": [l], "algorithm": "anatomy"},
        "sets": {**baskets, "goals": [{"model": "km-anonymity", "k": 3, "m": 2}], "algorithm": "apriori"},
    }


def test_every_registered_shape_has_a_policy(tmp_path):
    written = policies(tmp_path)
    assert tuple(written) == POLICIES
    assert {shape_of(Policy.model_validate(policy)) for policy in written.values()} == set(shapes())


def spoil(path):
    """The first record shows something else than its original."""
    lines = path.read_text().splitlines()
    cells = lines[1].split(",")
    lines[1] = ",".join(["99", *cells[1:]]) if len(cells) > 1 else "caviar"
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("shape", POLICIES)
def test_run_recount_and_verify_agree(shape, tmp_path):
    written = {**policies(tmp_path)[shape], "output": str(tmp_path / "release.txt")}
    check_shape(ROAD, Policy.model_validate(written), spoil)


@pytest.mark.parametrize("shape", POLICIES)
def test_every_verb_knows_it_or_says_what_to_do_instead(shape, tmp_path):
    written = {**policies(tmp_path)[shape], "output": str(tmp_path / "release.csv")}
    policy = Policy.model_validate(written)
    ran = pipeline.run(policy)
    (point,) = explore_policy(policy, [parse_axis("seed=0")]).points
    assert point.metrics["gcp"] == ran.loss
    judged = judge_files(policy.input_place, policy.output_place, policy=policy)
    assert judged.comparison.loss == pytest.approx(ran.loss, abs=1e-12)
    assert any(attack.finding for attack in judged.attacks.after)
    assert any(attack.finding for attack in judged.attacks.before)
    alone = attack(None, policy.output_place, policy=policy)
    assert any(attack.finding for attack in alone.after)
    refused = shape_of(policy).refused
    assert set(refused) <= {"lattice"}
    for reason, instead in refused.values():
        assert len(reason) > 20
        assert "tablecloak" in instead
