"""Every verb opens a policy on the same road, so they agree on what is refused, why, and what a release comes to."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import effort
from tablecloak.algorithms.fulldomain.base import FullDomain
from tablecloak.errors import CloakError, IncompatibleChoice
from tablecloak.measure.explore import explore_policy
from tablecloak.pipeline import apply_file, check, explore, run
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.policy.variations import parse_axis, variants

AGE = {"role": "quasi", "type": "integer", "hierarchy": {"kind": "intervals", "width": 10}}
ZIP = {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask"}}
COLUMNS = {"age": AGE, "zip": ZIP, "sex": {"role": "quasi"}, "ill": {"role": "sensitive"}}

GOALS: dict[str, list[dict[str, Any]]] = {
    "k": [{"model": "k-anonymity", "k": 3}],
    "k-too-large": [{"model": "k-anonymity", "k": 1000}],
    "l": [{"model": "l-diversity", "l": 2, "sensitive": "ill"}],
    "l-too-large": [{"model": "l-diversity", "l": 30, "sensitive": "ill"}],
    "t": [{"model": "t-closeness", "t": 0.35, "sensitive": "ill"}],
    "k-l": [
        {"model": "k-anonymity", "k": 4},
        {"model": "l-diversity", "l": 2, "variant": "entropy", "sensitive": "ill"},
    ],
    "delta": [{"model": "delta-disclosure", "delta": 1}],
    "uniqueness": [{"model": "sample-uniqueness", "limit": 0.1}],
    "absent": [{"model": "confidence-bounding", "s": "gout", "h": 0.5}],
    "concealment": [{"model": "k-concealment", "k": 3}],
    "m": [{"model": "m-confidentiality", "m": 2, "k": 4}],
    "k-map": [{"model": "k-map", "k": 4}],
    "presence": [{"model": "delta-presence", "delta_min": 0.01, "delta_max": 0.9}],
    "guard": [{"model": "personalized-privacy", "limit": 0.7, "guard": "guard"}],
}
ALGORITHMS: dict[str, dict[str, Any]] = {
    "auto": {"kind": "auto"},
    "mondrian": {"kind": "mondrian", "suppression_limit": 0.1},
    "flash": {"kind": "flash", "suppression_limit": 0.05},
    "optimal": {"kind": "optimal", "suppression_limit": 0.2},
    "k-member": {"kind": "k-member"},
    "mdav": {"kind": "mdav"},
    "anatomy": {"kind": "anatomy"},
    "slicing": {"kind": "slicing"},
}
# Changes of the table and of the policy, by what they are about.
CIRCUMSTANCES: dict[str, dict[str, Any]] = {
    "plain": {},
    "persons": {"columns": {"who": {"role": "person"}}},
    "one-row-each": {"columns": {"row": {"role": "person"}}},
    "missing-value": {"gaps": True, "missing": "value"},
    "missing-drop": {"gaps": True, "missing": "drop"},
    "missing-error": {"gaps": True, "missing": "error"},
    "order-kept": {"order": "keep"},
}


@dataclass(frozen=True)
class Asked:
    goal: str
    algorithm: str
    circumstance: str

    def __str__(self) -> str:
        return f"{self.goal}-{self.algorithm}-{self.circumstance}"


ALL = [Asked(*each) for each in product(GOALS, ALGORITHMS, CIRCUMSTANCES)]
QUICK = ALL[::41]  # every goal, algorithm and circumstance is among them
CHOSEN = ALL if effort.IS_THOROUGH else ALL[::3]  # so is every goal with every algorithm


def rows(*, gaps: bool) -> pl.DataFrame:
    n = 90
    ills = ["flu", "acne", "ulcer", "cold", "flu"]
    return pl.DataFrame(
        {
            "row": range(n),
            "who": [i // 2 for i in range(n)],
            "age": [None if gaps and i % 11 == 0 else 20 + (i * 7) % 45 for i in range(n)],
            "zip": [str(10000 + (i * 37) % 400) for i in range(n)],
            "sex": ["f" if i % 3 else "m" for i in range(n)],
            "ill": [None if gaps and i % 13 == 0 else ills[(i * 7 + i // 5) % 5] for i in range(n)],
            "guard": [ills[(i * 7 + i // 5) % 5] if i % 4 == 0 else None for i in range(n)],
        }
    )


def policy_of(asked: Asked, folder: Path) -> Policy:
    about = dict(CIRCUMSTANCES[asked.circumstance])
    table = rows(gaps=about.pop("gaps", False))
    table.write_csv(folder / "t.csv")
    columns = {**COLUMNS, **about.pop("columns", {})}
    if asked.goal == "guard":
        columns["guard"] = {"role": "drop"}
    if asked.circumstance.startswith("missing"):
        columns = {name: {**spec, "missing": about["missing"]} for name, spec in columns.items()}
        about.pop("missing")
    if asked.goal in ("k-map", "presence"):
        people = pl.concat([rows(gaps=False), rows(gaps=False).with_columns(pl.col("age") + 1)])
        people.write_csv(folder / "people.csv")
        about["population"] = "people.csv"
    output = {"path": "out.csv", **({"order": about.pop("order")} if "order" in about else {})}
    said = {"input": "t.csv", "output": output, "columns": columns, "goals": GOALS[asked.goal], **about}
    text = json.dumps({**said, "algorithm": ALGORITHMS[asked.algorithm], "secret": {"env": "VERBS_SECRET"}})
    return parse_policy(text, name="policy.yaml", base=folder)


def outcome(verb: Any) -> Any:
    """What a verb says, or what it refuses with."""
    try:
        return verb()
    except CloakError as error:
        return type(error), error.exit_code, error.message


def is_refusal(said: Any) -> bool:
    return isinstance(said, tuple) and isinstance(said[0], type)


def disagreements(policy: Policy) -> list[str]:
    """Where verbs say different things of one policy."""
    ran = outcome(lambda: run(policy, dry_run=True))
    checked = outcome(lambda: check(policy))
    explored = outcome(lambda: explore_policy(policy, [parse_axis("seed=0")]))
    told = []
    if is_refusal(ran) != is_refusal(checked) or (is_refusal(ran) and ran[:2] != checked[:2]):
        told.append(f"run: {ran if is_refusal(ran) else 'holds'}; check: {checked}")
    if not is_refusal(ran) and not is_refusal(checked):
        if checked.feasible is not True:
            told.append(f"run holds; check says feasible {checked.feasible}")
        if checked.loss != pytest.approx(ran.loss, abs=1e-12):
            told.append(f"loss of run {ran.loss}, of check {checked.loss}")
    told += _explored(ran, explored)
    if isinstance(policy.algorithm, FullDomain):
        seen = outcome(lambda: explore(policy))
        # the lattice says what its nodes are worth; a release may still fail in what no node shows
        if is_refusal(seen) and not is_refusal(ran):
            told.append(f"run holds; lattice: {seen}")
        if not is_refusal(seen) and is_refusal(ran) and ran[0].__name__ != "GoalNotMet":
            told.append(f"run: {ran}; lattice shows nodes")
    return told


def _explored(ran: Any, explored: Any) -> list[str]:
    if is_refusal(explored):
        same = is_refusal(ran) and ran[:2] == explored[:2]
        return [] if same else [f"run: {ran if is_refusal(ran) else 'holds'}; explore: {explored}"]
    (point,) = explored.points
    if is_refusal(ran):
        return [] if point.reason else [f"run: {ran}; explore has figures"]
    if point.reason:
        return [f"run holds; explore: {point.reason}"]
    verified = ran.verification
    told = []
    if point.metrics["gcp"] != pytest.approx(ran.loss, abs=1e-12):
        told.append(f"loss of run {ran.loss}, of explore {point.metrics['gcp']}")
    n_all = verified.n_rows + verified.n_suppressed
    if verified.itemsets is None and point.suppressed_share != pytest.approx(verified.n_suppressed / n_all):
        told.append(f"run leaves out {verified.n_suppressed} of {n_all}, explore {point.suppressed_share:.4f}")
    return told


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("VERBS_SECRET", "0123456789abcdef" * 4)


@pytest.mark.parametrize("asked", QUICK, ids=str)
def test_run_check_explore_and_lattice_agree(asked, tmp_path):
    assert disagreements(policy_of(asked, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_verbs_agree_in_every_circumstance(goal, algorithm, tmp_path):
    told = {
        str(asked): found
        for asked in CHOSEN
        if (asked.goal, asked.algorithm) == (goal, algorithm)
        if (found := disagreements(policy_of(asked, tmp_path)))
    }
    assert told == {}


@pytest.mark.parametrize(
    "asked",
    [Asked("k", "auto", "persons"), Asked("l", "anatomy", "plain"), Asked("delta", "mondrian", "plain"),
     Asked("k-map", "mondrian", "missing-drop"), Asked("guard", "mondrian", "plain"), Asked("t", "k-member", "plain")],
    ids=str,
)  # fmt: skip
def test_not_all_are_refused(asked, tmp_path):
    assert run(policy_of(asked, tmp_path), dry_run=True).verification.holds


GOODS = {"drinks": {"alcohol": ["beer", "wine", "gin"], "soft": ["milk", "tea"]}, "food": ["bread", "salt", "egg"]}
KM = {"model": "km-anonymity", "k": 3, "m": 2}
# Policies of sets, by what is peculiar about them.
OF_SETS: dict[str, dict[str, Any]] = {
    "plain": {"goals": [KM]},
    "three": {"goals": [{**KM, "m": 3}]},
    "single": {"goals": [{**KM, "m": 1}]},
    "leaves-out": {"goals": [{**KM, "k": 6}], "algorithm": {"kind": "apriori", "suppression_limit": 0.3}},
    "multiset": {"goals": [{**KM, "multiset": True}]},
    "flat": {"goals": [KM], "columns": {"items": {"role": "items"}}},
    "too-large": {"goals": [{**KM, "k": 1000}]},
    "other-goal": {"goals": [KM, {"model": "k-anonymity", "k": 3}]},
    "other-algorithm": {"goals": [KM], "algorithm": {"kind": "mondrian"}},
    "unknown-item": {
        "goals": [KM],
        "columns": {"items": {"role": "items", "hierarchy": {"kind": "tree", "tree": {"food": ["bread", "salt"]}}}},
    },
    "table": {"goals": [KM], "input": "t.csv", "others": "keep"},
}


def policy_of_sets(name: str, folder: Path) -> Policy:
    items = ["beer", "wine", "gin", "milk", "tea", "bread", "salt", "egg"]
    sets = [[items[(i * 7 + j * (1 + i % 3)) % 8] for j in range(i % 5)] for i in range(60)]
    (folder / "sets.txt").write_text("".join(";".join(one) + "\n" for one in sets))
    table = pl.DataFrame({"items": [";".join(one) for one in sets], "year": [2000 + i % 3 for i in range(60)]})
    table.write_csv(folder / "t.csv")
    said = {
        "input": {"path": "sets.txt", "format": "sets", "delimiter": ";"},
        "columns": {"items": {"role": "items", "hierarchy": {"kind": "tree", "tree": GOODS}}},
        "output": "out.csv",
        **OF_SETS[name],
    }
    return parse_policy(json.dumps(said), name="policy.yaml", base=folder)


@pytest.mark.parametrize("name", OF_SETS)
def test_run_check_and_explore_agree_on_sets(name, tmp_path):
    assert disagreements(policy_of_sets(name, tmp_path)) == []


def test_some_sets_have_a_release_that_loses_something(tmp_path):
    losses = [run(policy_of_sets(name, tmp_path), dry_run=True).loss for name in ("plain", "leaves-out", "multiset")]
    assert all(0 < (loss or 0) < 1 for loss in losses)


@pytest.mark.parametrize("name", ["plain", "leaves-out"])
def test_variants_of_sets_are_the_runs_they_stand_for(name, tmp_path):
    policy = policy_of_sets(name, tmp_path)
    texts = ["k=2..4", "m=1,2,3", "goals.0.multiset=false,true", "algorithm.suppression_limit=0,0.2"]
    explored = explore_policy(policy, [parse_axis(text) for text in texts])
    assert len(explored.points) == 36
    for variant, point in zip(variants(policy, [parse_axis(text) for text in texts]), explored.points, strict=True):
        ran = outcome(lambda v=variant: run(v.policy, dry_run=True))
        assert _explored(ran, replace(explored, points=(point,))) == []
        if point.reason is None:
            sets = ran.verification.itemsets
            assert point.smallest == ran.verification.verdicts[0].achieved
            assert point.n_classes == ran.verification.n_classes
            if not variant.policy.goals[0].multiset:
                assert point.suppressed_share * sets["occurrences"] >= sets["left_out"]


def test_lattices_are_of_columns(tmp_path):
    with pytest.raises(IncompatibleChoice, match="sets of items have no lattice") as caught:
        explore(policy_of_sets("plain", tmp_path))
    assert "explore" in str(caught.value.hint)


PLAIN = Asked("k", "flash", "plain")


def test_check_and_lattice_work_out_of_core_and_say_so(tmp_path):
    policy = policy_of(PLAIN, tmp_path)
    checked = check(policy, engine="duckdb", memory="1GB")
    assert checked.engine == "duckdb"
    assert checked.loss == check(policy).loss
    assert explore(policy, engine="duckdb")[0].to_dict() == explore(policy)[0].to_dict()


def test_a_run_of_groups_says_that_memory_did_the_work(tmp_path):
    said = run(policy_of(Asked("l", "anatomy", "plain"), tmp_path), engine="duckdb", dry_run=True)
    assert (said.engine, said.engine_reason) == (
        "local", "duckdb was chosen, and all rows are needed in memory"
    )  # fmt: skip


def test_what_works_in_memory_refuses_other_engines_by_name(tmp_path):
    with pytest.raises(
        IncompatibleChoice, match="`explore` holds all rows in memory, which the engine duckdb does not do"
    ):
        explore_policy(policy_of(PLAIN, tmp_path), [parse_axis("k=3")], engine="duckdb")
    with pytest.raises(IncompatibleChoice, match=r"`explore` holds all rows in memory, .* \(the table takes about"):
        explore_policy(policy_of(PLAIN, tmp_path), [parse_axis("k=3")], memory=1000)
    with pytest.raises(
        IncompatibleChoice, match="`apply` holds all rows in memory, which the engine spark does not do"
    ):
        apply_file(tmp_path / "recoding.json", "t.csv", "out.csv", engine="spark")
