"""What no release with hierarchy nodes can go below, by a program that shares no code with ours.

    python -m benchmarks.bound FOLDER TABLE.csv [--k 5,10,50] [--first ROWS] [--rounds 60]

FOLDER holds `TABLE_hierarchy_COLUMN.csv` for every column. A node costs its share of the leaves, a leaf nothing; GCP is
the mean over all cells.

The bound is proven. Give every record a price. If in every box of nodes that holds at least k records the k dearest
prices together are at most k times the cost of the box, then no release loses less than all prices: each of its classes
is k or more records in a box, and pays at least their prices. Rounds raise and lower prices towards that; at the end
each price is divided by what the tightest of *all* boxes that hold the record asks for, which makes it hold.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
# Boxes that are kept between rounds: those whose dearest records pay nearly their cost, with so many times k of them.
NEARLY, LISTED = 0.9, 3
# Rounds between two walks through all boxes.
BETWEEN = 5
# Records in all lists.
ROOM = 40_000_000


@dataclass(frozen=True)
class Tuples:
    """Different rows of a table, at every level of every column's hierarchy."""

    weight: IntArray  # (n,)
    node: IntArray  # (n_levels, n)
    cost: FloatArray  # (n_levels, n) share of leaves, divided by the number of columns
    first: IntArray  # (n_columns + 1,) first level of each column; leaves come first

    @property
    def n_records(self) -> int:
        return int(self.weight.sum())


def read_paths(file: Path) -> dict[str, list[str]]:
    """The nodes above every leaf, the leaf first."""
    with file.open(encoding="utf-8", newline="") as text:
        return {row[0]: row for row in csv.reader(text, delimiter=";")}


def leaves_of(paths: dict[str, list[str]]) -> dict[str, set[str]]:
    """The leaves below every node."""
    below: dict[str, set[str]] = {}
    for leaf, path in paths.items():
        for node in path:
            below.setdefault(node, set()).add(leaf)
    return below


def read_rows(file: Path, first: int | None) -> tuple[list[str], list[list[str]]]:
    """The columns of a table and its rows."""
    with file.open(encoding="utf-8", newline="") as text:
        delimiter = ";" if ";" in text.readline() else ","
        text.seek(0)
        columns, *rows = csv.reader(text, delimiter=delimiter)
    return columns, rows[:first]


def read_tuples(table: Path, folder: Path, first: int | None) -> Tuples:
    """A table with a hierarchy file for every column."""
    columns, rows = read_rows(table, first)
    counts = Counter(map(tuple, rows))
    nodes: list[IntArray] = []
    costs: list[FloatArray] = []
    starts = [0]
    for c, column in enumerate(columns):
        paths = read_paths(folder / f"{table.stem}_hierarchy_{column}.csv")
        below = leaves_of(paths)
        for level in range(max(map(len, paths.values()))):
            labels = [paths[row[c]][level] for row in counts]
            number = {label: i for i, label in enumerate(dict.fromkeys(labels))}
            share = {n: len(below[n]) / len(paths) if len(below[n]) > 1 else 0.0 for n in number}
            nodes.append(np.array([number[label] for label in labels], np.int64))
            costs.append(np.array([share[label] for label in labels]) / len(columns))
        starts.append(len(nodes))
    return Tuples(np.array(list(counts.values()), np.int64), np.array(nodes), np.array(costs), np.array(starts))


@njit(cache=True)
def _share_out(node, rows, begin, end, target, starts):  # type: ignore[no-untyped-def]
    """Put the tuples of each node together, in the order in which they come."""
    starts[:] = 0
    for r in range(begin, end):
        starts[node[rows[r]] + 1] += 1
    starts[0] = begin
    for g in range(starts.size - 1):
        starts[g + 1] += starts[g]
    place = starts.copy()
    for r in range(begin, end):
        g = node[rows[r]]
        target[place[g]] = rows[r]
        place[g] += 1


@njit(cache=True)
def _add_dearest(rows, weight, most, member, end):  # type: ignore[no-untyped-def]
    """Add the first tuples, of about so many records, to a list; where it ends then."""
    records = 0
    for i in rows:
        if records >= most:
            break
        records += weight[i]
        member[end] = i
        end += 1
    return end


@njit(cache=True)
def _walk(node, cost, first, weight, price, order, k, nearly, worst, least, room):  # type: ignore[no-untyped-def]
    """Go through all boxes whose k dearest records pay at least `nearly` of their cost, depth first.

    A part of a box costs no less and holds no dearer records, so what is left early holds no such box. `worst` becomes
    the most that any box holding a tuple is paid, as a multiple of its cost, `least` the cost of the cheapest; boxes
    are listed, by their dearest records, as long as there is room.
    """
    n, n_columns = weight.size, first.size - 1
    rows = np.empty((n_columns + 1, n), np.int64)
    rows[0] = order
    width = node.max() + 1
    starts = np.zeros((n_columns, width + 1), np.int64)
    level, at, paid = np.full(n_columns, -1), np.zeros(n_columns, np.int64), np.zeros(n_columns + 1)
    begin, end = np.zeros(n_columns + 1, np.int64), np.zeros(n_columns + 1, np.int64)
    end[0] = n
    box_cost, box_start, member = np.empty(room // 8), np.zeros(room // 8 + 1, np.int64), np.empty(room, np.int64)
    n_boxes = 0
    c = 0
    level[0] = first[0] - 1
    while c >= 0:
        if level[c] < first[c] or at[c] == width:
            level[c] += 1
            at[c] = 0
            if level[c] == first[c + 1]:
                c -= 1
                continue
            _share_out(node[level[c]], rows[c], begin[c], end[c], rows[c + 1], starts[c])
        a, b = starts[c, at[c]], starts[c, at[c] + 1]
        at[c] += 1
        if a == b:
            continue
        need, total = k, 0.0
        for r in range(a, b):
            w = min(need, weight[rows[c + 1, r]])
            total += w * price[rows[c + 1, r]]
            need -= w
            if need == 0:
                break
        own = paid[c] + cost[level[c], rows[c + 1, a]]
        if need > 0 or total < nearly * k * own:
            continue
        if c < n_columns - 1:
            c += 1
            paid[c], begin[c], end[c], level[c], at[c] = own, a, b, first[c] - 1, 0
            continue
        tight = total / (k * own) if own > 0 else (np.inf if total > 0 else 0.0)
        for r in range(a, b):
            worst[rows[c + 1, r]] = max(worst[rows[c + 1, r]], tight)
            least[rows[c + 1, r]] = min(least[rows[c + 1, r]], own)
        listed = box_start[n_boxes]
        if own > 0 and n_boxes < box_cost.size and listed + min(b - a, LISTED * k) <= room:
            box_cost[n_boxes] = own
            n_boxes += 1
            box_start[n_boxes] = _add_dearest(rows[c + 1, a:b], weight, LISTED * k, member, listed)
    return box_cost[:n_boxes].copy(), box_start[: n_boxes + 1].copy(), member[: box_start[n_boxes]].copy()


@njit(cache=True)
def _paying(box_cost, box_start, member, weight, price, rank, k):  # type: ignore[no-untyped-def]
    """Of every tuple the most that a listed box is paid in which it is among the k dearest."""
    paying = np.zeros(weight.size)
    for b in range(box_cost.size):
        own = member[box_start[b] : box_start[b + 1]]
        own = own[np.argsort(rank[own])]
        need, total, n = k, 0.0, 0
        while need > 0:
            w = min(need, weight[own[n]])
            total += w * price[own[n]]
            need -= w
            n += 1
        for q in range(n):
            paying[own[q]] = max(paying[own[q]], total / (k * box_cost[b]))
    return paying


def bound(tuples: Tuples, k: int, rounds: int) -> float:
    """GCP that no release with classes of k records or more goes below."""
    if tuples.n_records < k:
        return 1.0
    return float((proven_prices(tuples, k, rounds) * tuples.weight).sum()) / tuples.n_records


def proven_prices(tuples: Tuples, k: int, rounds: int) -> FloatArray:
    """Of each tuple a price, such that in no box the k dearest records pay more than the box costs."""
    n = len(tuples.weight)
    price = _cheapest(tuples, k)
    best, step = np.zeros(n), 0.5
    boxes: tuple[FloatArray, IntArray, IntArray] = (np.zeros(0), np.zeros(1, np.int64), np.zeros(0, np.int64))
    for i in range(rounds):
        order = np.argsort(-price, kind="stable")
        if i % BETWEEN == 0 or i == rounds - 1:
            worst, cost, start, member, _ = _boxes(tuples, price, order, k, NEARLY, ROOM)
            boxes = (cost, start, member)
            proven = np.where(np.isinf(worst), 0.0, price / np.maximum(worst, 1.0))
            best = max(best, proven, key=lambda prices: float(prices @ tuples.weight))
        rank = np.empty(n, np.int64)
        rank[order] = np.arange(n)
        paying = _paying(*boxes, tuples.weight, price, rank, k)
        price = price * np.clip(1 / np.maximum(paying, 1e-9), 0.5, 1.5) ** step
        step = max(0.05, step * 0.97)
    return best


def _cheapest(tuples: Tuples, k: int) -> FloatArray:
    """What each tuple pays in the cheapest of all boxes that hold k records with it: no release asks less."""
    n = len(tuples.weight)
    return _boxes(tuples, np.ones(n), np.arange(n), k, 0.0, 0)[4]


def _boxes(
    tuples: Tuples, price: FloatArray, order: IntArray, k: int, nearly: float, room: int
) -> tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray]:
    """All boxes that pay nearly their cost: the most that those of a tuple are paid, their lists, and its cheapest."""
    worst, least = np.zeros(len(price)), np.ones(len(price))
    given = (tuples.node, tuples.cost, tuples.first, tuples.weight, price, order, k)
    return (worst, *_walk(*given, nearly, worst, least, room), least)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("--k", default="5,10,50")
    parser.add_argument("--first", type=int)
    parser.add_argument("--rounds", type=int, default=60)
    given = parser.parse_args()
    tuples = read_tuples(given.table, given.folder, given.first)
    for k in map(int, given.k.split(",")):
        print(f"k={k:<4} no release loses less than {bound(tuples, k, given.rounds):.4f}", flush=True)


if __name__ == "__main__":
    main()
