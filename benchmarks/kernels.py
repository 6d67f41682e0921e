"""What a kernel costs plain, with its loops run by Python, and compiled: where a form in numpy beside a loop pays.

    python -m benchmarks.kernels [--rows N] [--only NAME ..]

Every kernel on the same inputs in one process, the least processor time of three runs. `loops` is the source of the
compiled form run by Python with nothing in numpy beside it: where that is near 1, one source is enough.
"""

from __future__ import annotations

import argparse
import copy
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.clustering.base import Clusters, Points
from tablecloak.algorithms.merge_classes import boxes_of
from tablecloak.algorithms.one_pass.pile_dealing import PileSet, make_blocks, make_tree
from tablecloak.data.coded import CodedTable, code_table
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels import clustering, cutting, dispatch, exchanges, keys, piles, refining, squares, uniting
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.rules import only_size

REPEATS = 3
K = 5
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def only_loops(function: Any, namespaces: dict[str, dict[str, Any]], forms: dict[Any, Any]) -> Any:
    """A function that calls the sources of loops, never what stands for them."""
    name = function.__module__
    if name not in namespaces:
        namespaces[name] = dict(vars(sys.modules[name]))
        for key, value in vars(sys.modules[name]).items():
            if isinstance(value, FunctionType) and value in dispatch._loops:
                if value not in forms:
                    forms[value] = only_loops(dispatch._loops[value].source, namespaces, forms)
                namespaces[name][key] = forms[value]
    copied = FunctionType(function.__code__, namespaces[name], function.__name__, function.__defaults__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied


def fitted(n: int) -> tuple[list[Any], list[Any]]:
    """Domains and codes of numbers, a tree and a set, skewed."""
    random = np.random.default_rng(0)
    tree = Hierarchy.from_paths([[f"v{i}", f"g{i // 3}", f"h{i // 9}", "*"] for i in range(40)])
    columns: list[tuple[pl.Series, ColumnType, Any]] = [
        (pl.Series("age", 17 + (random.random(n) ** 2 * 70).astype(np.int64)), ColumnType.INTEGER, None),
        (pl.Series("pay", (random.random(n) ** 2 * 5000).astype(np.int64)), ColumnType.INTEGER, None),
        (pl.Series("job", [f"v{int(v * 40)}" for v in random.random(n) ** 2]), ColumnType.TEXT, lambda _: tree),
        (pl.Series("color", [f"c{int(v * 6)}" for v in random.random(n)]), ColumnType.TEXT, None),
    ]
    pairs = [fit_domain(series, kind, make_hierarchy=make) for series, kind, make in columns]
    return [d for d, _ in pairs], [c for _, c in pairs]


def of_cutting(table: CodedTable) -> dict[str, Arguments]:
    n, space = table.n_tuples, table.space
    starts = np.arange(0, n - n % 50, 50)
    ends = starts + 50
    ids, untried = np.arange(n, dtype=np.uint32), np.zeros((len(starts), space.n_dims), bool)
    rule: dict[str, Any] = {"min_size": K, "by_saving": True, "relaxed": False}
    dims, cuts, ties, _, _ = cutting.propose.plain(table.keys, table.weights, starts, ends, space, untried, **rule)
    counts = [np.bincount(table.quasi_codes(d), minlength=int(space.n_codes[d])) for d in range(space.n_dims)]
    return {
        "descend": ((table.keys, ids, table.weights, 0, n, space), rule),
        "propose": ((table.keys, table.weights, starts, ends, space, untried), rule),
        "split": ((table.keys, ids, table.weights, starts, ends, space, dims, cuts, ties), {}),
        "sizes": ((table.weights, starts, ends), {}),
        "count_codes": ((table.keys, table.weights, starts, ends, space, 0, int(space.n_codes[0])), {}),
        "cut_of_counts": ((space, counts, untried[0], K), {}),
    }


def of_keys(table: CodedTable) -> dict[str, Arguments]:
    n, layout = table.n_tuples, table.space.layout
    dim, cut = np.array([0, 1, 0]), np.array([20, 500, 40])
    tree = (dim, cut, np.array([1, ~0, ~2]), np.array([2, ~1, ~3]))
    widths = table.space.n_codes
    values = table.quasi_codes(0).astype(np.uint32)
    codes = np.arange(int(widths[0]), dtype=np.uint64)
    leaves = keys.leaves_of.plain(table.keys, layout, *tree)
    return {
        "group_keys": ((table.keys,), {}),
        "add_codes": ((np.zeros(n, np.uint64), values, 0, codes), {}),
        "covers": ((table.keys, layout, 0, np.arange(widths[0]), np.arange(widths[0]), table.keys, layout, 0), {}),
        "leaves_of": ((table.keys, layout, *tree), {}),
        "count_leaves": (
            (table.keys, layout, leaves, np.cumsum(widths) - widths, np.zeros((4, int(widths.sum())), np.int64)), {},
        ),
    }  # fmt: skip


def of_uniting(table: CodedTable) -> dict[str, Arguments]:
    n_classes = table.n_tuples // K
    lo, hi = boxes_of(table, np.arange(table.n_tuples) % n_classes, n_classes)
    every = np.arange(n_classes)
    return {
        "joins": ((table.space, lo, hi, np.full(n_classes, K), every[: n_classes // 10]), {}),
        "nearest_boxes": ((table.space, lo, hi, 0, every[1:], 16), {}),
    }


def of_clustering(points: Points) -> dict[str, Arguments]:
    lines, codes, n = points.lines, points.codes, points.n
    made = Clusters(points, [[3 * i, 3 * i + 1, 3 * i + 2] for i in range(60)])
    lo, hi, free = np.ascontiguousarray(made.lo), np.ascontiguousarray(made.hi), np.zeros(n, np.bool_)
    rows, costs = clustering.candidates.plain(lines, codes, free, lo, hi, 16)
    wishes = clustering.Wishes(rows, costs[:, -1], np.zeros(60, np.bool_))
    dealt = PileSet(lines)
    dealt.grow(n // K)
    dealt.refill(np.arange(n // K), codes[:, : n // K])
    waiting = codes[:, n // K :]
    none = np.zeros(0, np.int32)
    seeds = np.arange(16)
    near, apart, _ = clustering.look_around.plain(lines, codes, free, seeds, 26, 16)
    return {
        "unions": ((lines, codes, codes, lo[:, 0], hi[:, 0]), {}),
        "joined": ((lines, codes, lo[:, 0], hi[:, 0]), {}),
        "grow": ((lines, codes, free, 4), {"size": 20, "limit": clustering.FAR // 2, "target": none, "penalty": 0}),
        "candidates": ((lines, codes, free, lo, hi, 16), {}),
        "look_around": ((lines, codes, free, seeds, 26, 16), {}),
        "grow_listed": ((lines, codes, free, seeds, near, apart), {"size": 5, "target": none, "penalty": 0}),
        "choose_wishes": ((lines, codes, ~free, lo, hi, wishes), {}),
        "nearest": ((lines, codes, made.centroids, np.ones(points.n_dims), np.ones(60)), {}),
        "deal": (
            (lines, waiting, dealt.arrays, n // K, make_blocks(dealt)),
            {"size_weight": 0.0, "limit": 1 << 30, "most_blocks": 1 << 30},
        ),
        "deal_by_tree": ((lines, waiting, dealt.arrays, make_tree(dealt, 0.05)), {"size_weight": 0.0}),
        "cut": ((lines, lines, codes, np.arange(0, n + 1, n // 8), K), {}),
    }  # fmt: skip


def of_records(n: int) -> dict[str, Arguments]:
    random = np.random.default_rng(1)
    numbers, codes = random.random((4, n)), random.integers(0, 4, (2, n)).astype(np.int32)
    levels = np.tile(np.array([[0, 0], [1, 0], [2, 1], [3, 1]]), (2, 1))
    trees = squares.Trees(np.array([0, 4]), levels, np.array([2, 2]), np.array([1.0, 1.0]))
    tables = np.zeros((2, 4))
    from_extreme = squares.squared_distances.plain(numbers, codes, numbers[:, 0], tables)
    is_gone = np.zeros(n, np.bool_)
    members = np.argsort(from_extreme)[:K]
    is_gone[members] = True
    one, two = (random.integers(0, 40, 40) for _ in range(2))
    gaps = [np.cumsum(np.bincount(b, minlength=40)) / len(b) - np.linspace(1 / 40, 1, 40) for b in (one, two)]
    return {
        "squared_distances": ((numbers, codes, numbers[:, 0], tables), {}),
        "nearest_outside": ((numbers, codes, is_gone, members, from_extreme, trees), {}),
        "best_pairs": ((gaps[0], one, gaps[1], two), {"limit": float(np.abs(gaps[0]).sum()), "most": 32}),
    }


def of_refining(table: CodedTable) -> dict[str, Arguments]:
    """As many tuples as `auto` refines without a compiler."""
    codes = np.stack([table.quasi_codes(d)[:120] for d in range(table.space.n_dims)], axis=1)
    codes = codes[np.lexsort(codes.T)]
    prices = make_prices(table.space, np.zeros(table.space.n_dims, bool))
    block = (codes, np.ones(120, np.int64), np.zeros((120, 0), np.int64), np.arange(120) // 10, prices, only_size(K))
    return {"refine": (block, {"steps": refining.Steps(sweeps=1), "seed": 1, "stop": np.zeros(1, np.int64)})}


def seconds(form: Callable[..., Any], given: Arguments) -> float:
    """Processor time, the least of some runs."""
    times = []
    for _ in range(REPEATS):
        args, options = copy.deepcopy(given)
        begin = time.process_time()
        form(*args, **options)
        times.append(time.process_time() - begin)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000, help="of kernels that cut and group")
    parser.add_argument("--only", nargs="*", default=[], help="names of kernels")
    asked = parser.parse_args()
    domains, codes = fitted(asked.rows)
    table = code_table(list(zip(domains, codes, strict=True)), [], by_row=False)
    n_points = min(asked.rows, clustering.COMPILED_FROM)
    points = Points(domains, [c[:n_points].astype(np.int64) for c in codes], compiled=False)
    inputs = (
        of_cutting(table)
        | of_uniting(table)
        | of_keys(table)
        | of_clustering(points)
        | of_records(n_points)
        | of_refining(table)
    )
    topics = (cutting, keys, clustering, piles, squares, exchanges, refining, uniting)
    print(f"{'kernel':<28}{'plain ms':>10}{'loops / plain':>15}{'compiled / plain':>18}")
    for name, given in inputs.items():
        kernel = next(vars(t)[name] for t in topics if isinstance(vars(t).get(name), dispatch.Kernel))
        if asked.only and name not in asked.only:
            continue
        with np.errstate(over="ignore"):
            plain = seconds(kernel.plain, given)
            loops = seconds(only_loops(kernel._source, {}, {}), given)
        compiled = seconds(kernel.compiled, given) if dispatch.has_compiler() else float("nan")
        print(f"{kernel.name:<28}{1000 * plain:>10.2f}{loops / plain:>15.1f}{compiled / plain:>18.3f}", flush=True)


if __name__ == "__main__":
    main()
