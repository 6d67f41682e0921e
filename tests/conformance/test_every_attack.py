"""What every registered attack promises; ours and those of others, and what a slow attacker reaches who reads the same
definitions.
"""

from __future__ import annotations

import random

import polars as pl
import pytest
from checks_kinds import case_of_sets, check_attack

from oracle_attacks import PLAIN, World
from tablecloak.attacks.base import counting, every
from tablecloak.attacks.case import Attacker, Fact
from tablecloak.measure.attack import attack
from tablecloak.registry import known

# Attacks that learn, draw, match or run programs: held against worked examples, and their parts against slow ones.
HELD_ELSEWHERE = {
    "attribute-inference", "critical-absence", "definetti", "distance-linkage", "foreground-knowledge",
    "impossible-pairs", "itemset-linkage", "minimality", "noise-filtering", "outliers", "probabilistic-linkage",
    "population-linkage", "pseudonym-reversal", "rank-linkage", "replay",
}  # fmt: skip
QUASI = ["age", "sex"]


@pytest.mark.parametrize("name", known("attacks"))
def test_it_keeps_what_every_attack_promises(name):
    check_attack(known("attacks")[name], is_sampled=name not in counting())


def test_every_attack_of_ours_has_a_slow_one_or_is_held_elsewhere():
    ours = {name for name, attack in known("attacks").items() if attack.__module__.startswith("tablecloak.")}
    assert ours == PLAIN.keys() | HELD_ELSEWHERE
    assert not PLAIN.keys() & HELD_ELSEWHERE


def cells(person, rng):
    """Cells that cover a person, some exact and some coarse."""
    low, high = person["age"] - rng.randint(0, 3), person["age"] + rng.randint(0, 3)
    age = rng.choice([str(person["age"]), f"[{low}, {high}]", "[20, 26]"])
    return {"age": age, "sex": rng.choice([person["sex"], "*"])}


def world_of(seed):
    """A few people, and releases about them whose classes are small or large."""
    rng = random.Random(seed)
    people = [
        {"age": rng.randint(20, 26), "sex": rng.choice("fm"), "dx": rng.choice("abc"), "cost": rng.randint(0, 20)}
        for _ in range(rng.randint(3, 6))
    ]
    people[0]["cost"], people[1]["cost"], people[0]["sex"] = 0, 20, "f"
    in_halves = [{"age": "[20, 23]" if p["age"] <= 23 else "[24, 26]", "sex": "*"} for p in people]
    shown, later, other = (
        in_halves if rng.random() < 0.5 else [cells(p, rng) for p in people] for _ in range(3)
    )  # fmt: skip
    values = [{"dx": p["dx"], "cost": p["cost"]} for p in people]
    strangers = [{"age": rng.randint(20, 26), "sex": rng.choice("fm")} for _ in range(rng.randint(0, 8))]
    return World(
        people=people,
        release=[{**c, **v} for c, v in zip(shown, values, strict=True)],
        later=[{**c, **v} for c, v in zip(later, values, strict=True)],
        other=[{**c, "job": rng.choice("xy")} for c in other],
        population=[{q: p[q] for q in QUASI} for p in people] + strangers,
        fact=("sex", "f", "a"), quasi=QUASI, sensitive="dx", number="cost",
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PLAIN)
def test_it_reaches_what_a_slow_attacker_reaches(name):
    by_number = name in ("proximity", "range-disclosure", "similarity")
    for seed in range(12):
        world = world_of(seed)
        column, equals, value = world.fact
        report = attack(
            pl.DataFrame(world.people), pl.DataFrame(world.release), quasi=QUASI,
            sensitive=[world.number if by_number else world.sensitive], population=pl.DataFrame(world.population),
            others=[pl.DataFrame(world.other if name == "collusion" else world.later)],
            facts=[Fact("dx", value, column=column, equals=equals)], kinds=[name], with_before=False,
            attacker=Attacker(implications=1),
        )  # fmt: skip
        finding = report.after[0].finding
        assert finding is not None, report.after[0].reason
        highest, average, victims, baseline = PLAIN[name](world)
        assert finding.highest == (None if highest is None else pytest.approx(float(highest))), seed
        assert finding.average == pytest.approx(float(average)), seed
        assert finding.n_victims == victims, seed
        assert finding.baseline == pytest.approx(float(baseline)), seed


@pytest.mark.parametrize("name", every(of_items=True))
def test_it_keeps_that_on_sets_of_items(name):
    check_attack(known("attacks")[name], case_of=case_of_sets)


@pytest.mark.parametrize("name", known("attacks"))
def test_it_attacks_columns_or_sets(name):
    of_items = known("attacks")[name](case_of_sets(1))
    assert (of_items.finding is not None) == (name in every(of_items=True))
