"""Clusters grown from several seeds at a time: each is what a greedy search in plain Python makes of its seed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from tablecloak.algorithms.clustering import k_member_parallel
from tablecloak.algorithms.clustering.base import Points
from tablecloak.algorithms.clustering.k_member_parallel import k_member_in_chains
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy

BRANCH = {"a": "north", "b": "north", "c": "south", "d": "south", "e": "east"}
TREE = Hierarchy.from_tree({"*": {"north": ["a", "b"], "south": ["c", "d"], "east": ["e"]}})
both_ways = pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])


def people(seed, n=90):
    random = np.random.default_rng(seed)
    numbers = random.integers(0, 60, n).tolist(), random.integers(0, 900, n).tolist()
    return list(zip(*numbers, map(str, random.choice(list("abcde"), n)), strict=True))


def points(rows, compiled):
    ages, pays, towns = zip(*rows, strict=True)
    fitted = [
        fit_domain(pl.Series("age", ages), ColumnType.INTEGER),
        fit_domain(pl.Series("pay", pays), ColumnType.INTEGER),
        fit_domain(pl.Series("town", towns), ColumnType.TEXT, make_hierarchy=lambda _: TREE),
    ]
    return Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], distance="height", compiled=compiled)


def cost(rows, members):
    """Spread of numbers over that of the table, and height of the ancestor over that of the tree."""
    total = Fraction(0)
    for column in (0, 1):
        every, here = ([rows[r][column] for r in some] for some in (range(len(rows)), members))
        total += Fraction(max(here) - min(here), max(every) - min(every))
    towns = {rows[r][2] for r in members}
    if len(towns) > 1:
        branches = {BRANCH[t] for t in towns}
        total += Fraction(1, 2) if len(branches) == 1 else 1
    return total


@both_ways
@pytest.mark.parametrize("near", [(16, 2), (1, 0)], ids=["lists", "lists too short"])
@pytest.mark.parametrize("seed", range(3))
def test_every_member_is_the_cheapest_record_that_was_left(seed, near, compiled, monkeypatch):
    monkeypatch.setattr(k_member_parallel, "NEAR", near[0])
    monkeypatch.setattr(k_member_parallel, "NEAR_EACH", near[1])
    rows, size = people(seed), 4
    clusters = k_member_in_chains(points(rows, compiled), size, 0)
    left = set(range(len(rows)))
    for members in clusters.members:
        taken = [members[0]]
        left.discard(members[0])
        for row in members[1:size]:
            least = min(cost(rows, [*taken, other]) for other in left)
            assert cost(rows, [*taken, row]) == pytest.approx(least, abs=1e-9)
            taken.append(row)
            left.discard(row)
    assert left == {row for members in clusters.members for row in members[size:]}
    assert len(left) == len(rows) % size


@both_ways
def test_the_number_of_threads_decides_nothing(compiled):
    table = points(people(5), compiled)
    one, two = (k_member_in_chains(table, 3, 8, threads=threads).members for threads in (1, 2))
    assert one == two


def test_fewer_records_than_a_cluster_needs_are_one_cluster():
    assert [sorted(rows) for rows in k_member_in_chains(points(people(1, 3), False), 4, 0).members] == [[0, 1, 2]]
