"""Finished releases of sets beside their originals: every record needs an original of its own, in any order."""

import itertools
import random
from collections import Counter

import polars as pl
import pytest

import oracle_sets
import tablecloak as tc
from tablecloak import Policy
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.release.shapes.sets.verify import verify_sets

TREE = {"AB": {"A": ["a1", "a2"], "B": ["b1"]}, "C": ["c1", "c2"]}
HIERARCHY = {"kind": "tree", "tree": TREE}
UNDER = {"a1": "a1", "a2": "a2", "b1": "b1", "c1": "c1", "c2": "c2",
         "A": "a1 a2", "B": "b1", "C": "c1 c2", "AB": "a1 a2 b1"}  # fmt: skip
COLUMNS = {"items": {"role": "items", "hierarchy": HIERARCHY}, "year": "keep", "name": "identifier"}


def policy(**more):
    return Policy(columns=COLUMNS, goals=[KmAnonymity(k=2, m=1)], **more)


def by_trying(release, original):
    """Whether some order of the originals fits, as plain loops say it."""

    def fits(shown, before):
        leaves = [set(UNDER[label].split()) for label in shown[0]]
        is_covering = all(part & before[0] for part in leaves)
        return is_covering and before[0] <= set().union(*leaves) and shown[1] == before[1]

    ways = itertools.permutations(original)
    return any(all(fits(s, b) for s, b in zip(release, way, strict=True)) for way in ways)


def frame(rows):
    return pl.DataFrame({"items": [";".join(sorted(items)) for items, _ in rows], "year": [year for _, year in rows]})


def test_the_answer_is_that_of_trying_every_order():
    rng = random.Random(5)
    wider = {leaf: [n for n in UNDER if leaf in UNDER[n].split()] for leaf in ("a1", "a2", "b1", "c1", "c2")}
    answers = Counter()
    for _ in range(120):
        original = [
            (set(rng.sample(list(wider), rng.randint(1, 3))), rng.choice([1990, 1991]))
            for _ in range(rng.randint(2, 5))
        ]
        release = [({rng.choice(wider[i]) for i in items}, year) for items, year in original]
        rng.shuffle(release)
        if rng.random() < 0.6:
            a = rng.randrange(len(release))
            changed = [({rng.choice(list(UNDER))}, release[a][1]), (release[a][0], 3981 - release[a][1])]
            release[a] = rng.choice(changed)
        expected = by_trying(release, original)
        answers[expected] += 1
        assert verify_sets(frame(release), policy(), original=frame(original)).covers is expected
    assert min(answers[True], answers[False]) > 15


def test_columns_that_are_not_published_fail_by_name():
    release = frame([({"A"}, 1990)]).with_columns(name=pl.lit("Ann"), more=pl.lit(1))
    assert [f.column for f in verify_sets(release, policy()).failures] == ["name", "more"]
    assert [f.column for f in verify_sets(release.select("items"), policy()).failures] == ["year"]


def test_a_cell_beside_a_set_that_is_not_its_own_is_found():
    original = frame([({"a1"}, 1990), ({"c1"}, 1991)] * 2)
    assert verify_sets(frame([({"C"}, 1991), ({"A"}, 1990)] * 2), policy(), original=original).holds
    found = verify_sets(frame([({"C"}, 1990), ({"A"}, 1991)] * 2), policy(), original=original)
    assert found.fails
    assert [f.column for f in found.failures] == ["year"]


def test_what_is_too_much_to_look_at_is_no_yes(monkeypatch):
    monkeypatch.setattr("tablecloak.release.shapes.sets.matching.MOST_PAIRS", 0)
    original = frame([({"a1"}, 1990), ({"a2"}, 1990)] * 2)
    found = verify_sets(frame([({"a2"}, 1990), ({"A"}, 1990)] * 2), policy(), original=original)
    assert found.covers is None
    assert not found.holds
    assert not found.fails
    assert "could not be held" in found.unchecked[0]


@pytest.mark.parametrize("limit", [0, 0.3])
def test_own_releases_are_those_of_the_original(limit):
    rng = random.Random(2)
    leaves = ["a1", "a2", "b1", "c1", "c2"]
    rows = [(set(rng.sample(leaves, rng.randint(1, 4))), 1990 + i % 3) for i in range(40)]
    original = frame(rows).with_columns(name=pl.lit("x"))
    wanted = Policy(
        columns=COLUMNS,
        goals=[KmAnonymity(k=4, m=2)],
        algorithm={"kind": "apriori", "suppression_limit": limit},
    )
    release = tc.anonymize(original, wanted).frame
    assert oracle_sets.is_km_anonymous([c.split(";") if c else [] for c in release["items"]], 4, 2)
    assert tc.verify(release, wanted, original=original).holds
    assert tc.verify(release[1:], wanted, original=original).fails
