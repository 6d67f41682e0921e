"""How far the bound is below the best release there is, on tables so small that an exact solver finds it.

    python -m benchmarks.gap [--first 40,60] [--k 3,5] [--limit 120] [--page FILE]

The first different rows of Adult, nine quasi-identifiers with hierarchies for each. HiGHS (in scipy) chooses boxes of
nodes, and the box of each record, such that every box that is chosen holds k records or more: a box may be cut into
several classes at no cost, so this is the best release. Boxes that no release better than the one of `auto` can hold,
by the prices of `benchmarks.bound`, are left out before.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adult import find_adult
from benchmarks.bound import FloatArray, IntArray, Tuples, proven_prices, read_tuples
from benchmarks.losses import Table, adult_table, measured
from benchmarks.tables import replace_between

ROUNDS = 400


@dataclass(frozen=True)
class Gap:
    """One table: what no release goes below by prices, the best there is (or less, if not proven), and ours."""

    rows: int
    k: int
    bound: float
    best: float
    is_proven: bool
    ours: float
    seconds: float


def all_boxes(tuples: Tuples, k: int) -> list[tuple[float, IntArray]]:
    """Cost and members of every box of k records; of boxes with the same members the cheapest."""
    n_columns = len(tuples.first) - 1
    cheapest: dict[bytes, tuple[float, IntArray]] = {}
    for levels in itertools.product(*(range(tuples.first[c], tuples.first[c + 1]) for c in range(n_columns))):
        nodes = tuples.node[list(levels)]
        cost = tuples.cost[list(levels)].sum(axis=0)
        group = np.unique(nodes, axis=1, return_inverse=True)[1].reshape(-1)
        for g in np.flatnonzero(np.bincount(group, weights=tuples.weight) >= k):
            members = np.flatnonzero(group == g)
            key, own = members.tobytes(), float(cost[members[0]])
            if key not in cheapest or own < cheapest[key][0]:
                cheapest[key] = own, members
    return list(cheapest.values())


def worth_having(boxes: list[tuple[float, IntArray]], tuples: Tuples, prices: FloatArray, k: int, room: float) -> Any:
    """Boxes that some release may hold which costs at most so much above the bound."""
    kept = []
    for cost, members in boxes:
        dearest = np.repeat(np.sort(prices[members])[::-1], tuples.weight[members][np.argsort(-prices[members])])[:k]
        if k * cost - dearest.sum() <= room + 1e-9:
            kept.append((cost, members))
    return kept


def solve(boxes: list[tuple[float, IntArray]], weight: IntArray, k: int, limit: float) -> tuple[float, bool]:
    """What the best release costs in all, or a bound on that where time is up, and whether it is the best."""
    optimize: Any = importlib.import_module("scipy.optimize")  # not needed by anything else here
    coo_array: Any = importlib.import_module("scipy.sparse").coo_array
    constraint = optimize.LinearConstraint
    holder = np.repeat(np.arange(len(boxes)), [len(m) for _, m in boxes])
    member = np.concatenate([m for _, m in boxes])
    cost = np.array([c for c, _ in boxes])
    n_boxes, n = len(boxes), len(member)
    at, ones = n_boxes + np.arange(n), np.ones(n)  # places are variables behind the boxes
    width = n_boxes + n
    each = coo_array((ones, (member, at)), shape=(len(weight), width))
    rows, columns = np.tile(np.arange(n), 2), np.concatenate([at, holder])
    open_ = coo_array((np.concatenate([ones, -weight[member].astype(float)]), (rows, columns)), shape=(n, width))
    full = coo_array(
        (np.concatenate([ones, np.full(n_boxes, -float(k))]),
         (np.concatenate([holder, np.arange(n_boxes)]), np.concatenate([at, np.arange(n_boxes)]))),
        shape=(n_boxes, width),
    )  # fmt: skip
    found = optimize.milp(
        np.concatenate([np.zeros(n_boxes), cost[holder]]),
        integrality=np.ones(width),
        bounds=optimize.Bounds(0, np.concatenate([np.ones(n_boxes), weight[member]])),
        constraints=[
            constraint(each.tocsr(), weight, weight),
            constraint(open_.tocsr(), -np.inf, 0),
            constraint(full.tocsr(), 0, np.inf),
        ],
        options={"time_limit": limit, "mip_rel_gap": 1e-6},
    )
    return (float(found.fun), True) if found.status == 0 else (float(found.mip_dual_bound or 0.0), False)


def gap(table: Table, folder: Path, k: int, limit: float) -> Gap:
    begin, rows = time.process_time(), table.n_rows
    tuples = read_tuples(table.file, table.folder, None)
    ours = measured(table, folder, k, "nodes", "best", limit).gcp
    if ours is None:
        raise RuntimeError(f"auto has no release of {rows} rows at k = {k}")
    prices = proven_prices(tuples, k, ROUNDS)
    bound = float((prices * tuples.weight).sum()) / rows
    boxes = worth_having(all_boxes(tuples, k), tuples, prices, k, (ours - bound) * rows)
    total, is_proven = solve(boxes, tuples.weight, k, limit)
    print(f"{rows} rows, k = {k}: {len(boxes)} boxes", flush=True)
    return Gap(rows, k, bound, total / rows, is_proven, ours, time.process_time() - begin)


def table_of_gaps(gaps: list[Gap]) -> str:
    lines = ["| rows | k | bound | best release | best / bound | `auto` best | CPU s |", "|" + "---|" * 7]
    for g in gaps:
        sign = "" if g.is_proven else "at least "
        lines.append(
            f"| {g.rows} | {g.k} | {g.bound:.4f} | {sign}{g.best:.4f} | {sign}{g.best / g.bound:.3f} | {g.ours:.4f} "
            f"| {g.seconds:.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", default="40,60")
    parser.add_argument("--k", default="3,5")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of the solver for each table")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    given = parser.parse_args()
    folder = find_adult()
    if folder is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    gaps = []
    with tempfile.TemporaryDirectory() as temporary:
        for first in map(int, given.first.split(",")):
            table = adult_table(Path(temporary), folder, first)
            for k in map(int, given.k.split(",")):
                gaps.append(gap(table, Path(temporary), k, given.limit))
                print(gaps[-1], flush=True)
    print(table_of_gaps(gaps))
    if given.page:
        replace_between(given.page, "gap", table_of_gaps(gaps))


if __name__ == "__main__":
    main()
