"""The bound of the benchmarks: no partition of a small table goes below it, and labels are scored by leaves."""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks import bound

PATHS = {
    "age": [["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"], ["4", "high", "*"]],
    "town": [["a", "n", "*"], ["b", "n", "*"], ["c", "s", "*"]],
}


def write(file, rows):
    with file.open("w", newline="") as text:
        csv.writer(text, delimiter=";").writerows(rows)


@pytest.fixture
def folder(tmp_path):
    for column, paths in PATHS.items():
        write(tmp_path / f"t_hierarchy_{column}.csv", paths)
    return tmp_path


def partitions(items):
    """All ways to put items into classes."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def cell_loss(column, values):
    """Share of leaves below the lowest node that holds all values."""
    paths = {path[0]: path for path in PATHS[column]}
    for level in range(3):
        nodes = {paths[v][level] for v in values}
        if len(nodes) == 1:
            below = sum(path[level] in nodes for path in paths.values())
            return below / len(paths) if below > 1 else 0.0
    raise AssertionError


def least_loss(rows, k):
    losses = [
        sum(len(c) * (cell_loss("age", [r[0] for r in c]) + cell_loss("town", [r[1] for r in c])) / 2 for c in classes)
        for classes in partitions(rows)
        if min(map(len, classes)) >= k
    ]
    return min(losses) / len(rows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_no_partition_loses_less_than_the_bound(folder, seed):
    draw = random.Random(seed)
    k = draw.choice([2, 3])
    rows = [[draw.choice("1234"), draw.choice("abc")] for _ in range(7)]
    write(folder / "t.csv", [["age", "town"], *rows])
    proven = bound.bound(bound.read_tuples(folder / "t.csv", folder, None), k, 60)
    least = least_loss(rows, k)
    assert proven <= least + 1e-9
    assert proven >= least / 3  # it says something


def test_a_row_of_the_page_has_bound_method_and_peer():
    from benchmarks.losses import Result, page_text

    name = "adult, 3,016 rows"
    row = page_text([Result(name, 5, "nodes", "fast", 0.125, 1.5, 200)], {(name, 5): 0.1}, {}).splitlines()[-1]
    assert row == f"| {name} | 5 | nodes | 0.1000 | 0.1250 (1.25) / 1.5 / 200 | 0.1469 / 12.3 |"
