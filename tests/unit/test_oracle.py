"""The judge is judged: its closed forms against transport, its cells against hand-made cases."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date, datetime
from fractions import Fraction

import pytest

import oracle
from effort import often

TREE = {"a": "A", "b": "A", "c": "B", "d": "B", "e": "*", "A": "*", "B": "*"}


def random_shares(rng, values):
    return oracle.shares(Counter(rng.choices(values, k=rng.randint(1, 7))))


def height_of_ancestor(x, y):
    if x == y:
        return Fraction(0)
    return Fraction(1, 2) if TREE[x] == TREE[y] != "*" else Fraction(1)


@pytest.mark.parametrize("seed", range(often(40)))
def test_closed_forms_equal_transport(seed):
    rng = random.Random(seed)
    values = list("abcde")
    p, q = random_shares(rng, values), random_shares(rng, values)
    rank = {v: i for i, v in enumerate(values)}
    assert oracle.transport_emd(p, q, lambda x, y: int(x != y)) == oracle.equal_emd(p, q)
    ordered = oracle.transport_emd(p, q, lambda x, y: Fraction(abs(rank[x] - rank[y]), 4))
    assert ordered == oracle.ordered_emd(p, q, values)
    assert oracle.transport_emd(p, q, height_of_ancestor) == oracle.tree_emd(p, q, TREE)


@pytest.mark.parametrize(
    ("published", "original"),
    [
        ("28", 28),
        ("3.0", 3),
        ("true", True),
        ("2020-03-31", date(2020, 3, 31)),
        ("*", None),
        ("*****", "13053"),
        (None, None),
        ("[20, 29]", 29),
        ("[20-30)", 20),
        ("(20 - 40]", 40),
        ("20-29", 25),
        ("[20-29]", 25),
        ("20..29", 20),
        ("20~29", 29),
        ("[20, 30[", 29.5),
        ("[-5, -1]", -1),
        ("-5--1", -5),
        ("[0.5, 2.25]", 2.25),
        ("<30", 29),
        ("<=30", 30),
        (">40", 41),
        (">=40", 40),
        ("[2020-01-01, 2020-03-31]", date(2020, 3, 31)),
        ("[2020-01-01T10:00:00, 2020-01-01T11:00:00]", datetime(2020, 1, 1, 10, 30)),
        ("130**", "13053"),
        ("2*", 29),
        ('{a, "b, c", "x""y"}', "b, c"),
        ('{a, "b, c", "x""y"}', 'x"y'),
        ("A", "b"),
    ],
)
def test_covers(published, original):
    assert oracle.covers(published, original, tree=TREE)


@pytest.mark.parametrize(
    ("published", "original"),
    [
        ("28", 29),
        ("28", None),
        (None, 28),
        ("[20, 30)", 30),
        ("(20 - 40]", 20),
        ("[20, 30[", 30),
        ("<30", 30),
        (">40", 40),
        ("[2020-01-01, 2020-03-31]", date(2020, 4, 1)),
        ("130**", "14053"),
        ("130**", "1305"),
        ("{a, b}", "c"),
        ("{a, b}", ""),
        ("A", "c"),
        ("20-29", "25"),
    ],
)
def test_does_not_cover(published, original):
    assert not oracle.covers(published, original, tree=TREE)


def test_gcp_counts_suppressed_records_as_one():
    original = [{"age": 20}, {"age": 30}, {"age": 40}]
    assert oracle.gcp([{"age": "[20, 30]"}] * 2, original, ["age"]) == Fraction(2, 3)


def test_boundary_is_decided_exactly():
    rows = [{"q": 1, "s": s} for s in "aab"]
    goals = [
        {"model": "l-diversity", "variant": "recursive", "l": 2, "c": 2, "sensitive": "s"},
        {"model": "l-diversity", "variant": "entropy", "l": 1.889881, "sensitive": "s"},
        {"model": "t-closeness", "t": 0.0, "sensitive": "s"},
    ]
    assert [holds for holds, _ in oracle.check(rows, ["q"], goals)] == [False, True, True]
