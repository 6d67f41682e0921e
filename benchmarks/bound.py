"""What no release of Adult can go below: every record in the cheapest class that it alone could be in.

    python -m benchmarks.bound [--k 2,5,10]

For each record, the cheapest box of hierarchy nodes and an age range that holds it and k records in all. Records cannot
all have their cheapest box at once, so the least loss that is possible lies above this bound, and how far is not known.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.quality import DEFAULT_K, data_folder, load_adult
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import DomainKind

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@njit(cache=True)
def _cheapest_windows(order, group, codes, weights, base, position, k, best):  # type: ignore[no-untyped-def]
    """Lower `best` where a run of one group with k records and neighbouring codes costs less."""
    n = order.size
    a = 0
    while a < n:
        b = a
        while b < n and group[order[b]] == group[order[a]]:
            b += 1
        records, end = 0, a
        for i in range(a, b):
            while end < b and records < k:
                records += weights[order[end]]
                end += 1
            if records < k:
                break
            cost = base[order[i]] + position[codes[order[end - 1]]] - position[codes[order[i]]]
            for m in range(i, end):
                best[order[m]] = min(best[order[m]], cost)
            records -= weights[order[i]]
        a = b


def _levels(table: CodedTable, d: int) -> list[tuple[IntArray, FloatArray]]:
    """Of every level of a hierarchy: the ancestor of each tuple, by its last code, and its loss."""
    rows = table.space.tree_start[d] + table.quasi_codes(d)
    found: list[tuple[IntArray, FloatArray]] = []
    for depth in range(table.space.ends.shape[1]):
        ancestor = table.space.ends[rows, depth].astype(np.int64)
        if not any((ancestor == other).all() for other, _ in found):
            found.append((ancestor, table.space.end_losses[rows, depth]))
    return found


def _nodes(table: CodedTable, trees: list[int]) -> Iterator[tuple[IntArray, FloatArray]]:
    """The groups of tuples at every node of the lattice, and the loss of each tuple there."""
    for levels in itertools.product(*(_levels(table, d) for d in trees)):
        group = np.zeros(table.n_tuples, np.int64)
        for (ancestor, _), d in zip(levels, trees, strict=True):
            group = group * int(table.space.n_codes[d]) + ancestor
        yield group, np.sum([loss for _, loss in levels], axis=0)


def bounds(table: CodedTable, ks: list[int]) -> dict[int, float]:
    """GCP of every record's own cheapest class, by k; one column is a number, the others have hierarchies."""
    space = table.space
    trees = [d for d in range(space.n_dims) if space.kind[d] == DomainKind.TREE]
    (number,) = set(range(space.n_dims)) - set(trees)
    codes, weights = table.quasi_codes(number), table.weights
    position = space.inner_lower[space.start[number] : space.start[number] + space.n_codes[number]]
    best = {k: np.full(table.n_tuples, float(space.n_dims)) for k in ks}
    for group, base in _nodes(table, trees):
        order = np.lexsort((codes, group))
        for k in ks:
            _cheapest_windows(order, group, codes, weights, base, position, k, best[k])
    return {k: float((best[k] * weights).sum() / (table.n_rows * space.n_dims)) for k in ks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", default=",".join(map(str, DEFAULT_K)))
    ks = [int(k) for k in parser.parse_args().k.split(",")]
    for k, bound in bounds(load_adult(data_folder() / "adult", with_age=False, by_row=False), ks).items():
        print(f"k={k:<4} no release loses less than {bound:.4f}")


if __name__ == "__main__":
    main()
