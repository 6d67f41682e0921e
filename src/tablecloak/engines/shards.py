"""Shards: a table that does not fit is cut apart by the counts of its codes, level by level, before any search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.algorithms.base import CutTree
from tablecloak.engines.base import StandsAlone
from tablecloak.kernels.histograms import cut_of_counts
from tablecloak.kernels.space import Keys, Space
from tablecloak.stats.classes import ClassStats, Histogram, SensitiveDomain

__all__ = ["Cuts", "Node", "cut_apart", "cut_apart_by", "shard_of_rows"]

IntArray = NDArray[np.int64]
# A side gets at least this share of the rows of its node, so that few levels are enough.
LEAST_SHARE = 1 / 16
MOST_LEVELS = 16


@dataclass(slots=True)
class Node:
    """A shard that may be cut again."""

    counts: list[IntArray]  # records with each code, by dimension, sensitive ones included
    size: int
    tried: NDArray[np.bool_]


@dataclass(slots=True)
class Cuts:
    """A growing tree of cuts: child >= 0 is another cut, child c < 0 is shard ~c."""

    dim: list[int] = field(default_factory=list)
    cut: list[int] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    right: list[int] = field(default_factory=list)

    def tree(self) -> CutTree:
        return CutTree(*(np.array(side, np.int64) for side in (self.dim, self.cut, self.left, self.right)))


def shard_of_rows(keys: Keys, space: Space, tree: CutTree) -> NDArray[np.uint16]:
    """The shard every row is led to, (n,)."""
    found: NDArray[np.uint16] = kernels.choose(keys.shape[1]).leaves_of(
        keys, space.layout, tree.dim, tree.cut, tree.left, tree.right
    )
    return found


def cut_apart(
    chunks: Callable[[], Iterator[Keys]],
    space: Space,
    sensitive: tuple[SensitiveDomain, ...],
    totals: dict[str, IntArray],
    *,
    most_rows: int,
    stands_alone: StandsAlone,
) -> tuple[CutTree, list[int]]:
    """Cuts that leave at most `most_rows` rows in each shard where the goal allows it, and the size of every shard.

    Only counts of codes are looked at: one pass over the rows for every level of cuts.
    """
    widths = [*space.n_codes.tolist(), *(s.n_values for s in sensitive)]
    return cut_apart_by(
        lambda tree, n: _counted(chunks, space, widths, tree, n), space, sensitive, totals,
        most_rows=most_rows, stands_alone=stands_alone,
    )  # fmt: skip


def cut_apart_by(
    count: Callable[[CutTree, int], list[Node]],
    space: Space,
    sensitive: tuple[SensitiveDomain, ...],
    totals: dict[str, IntArray],
    *,
    most_rows: int,
    stands_alone: StandsAlone,
) -> tuple[CutTree, list[int]]:
    """The same for rows that are elsewhere: `count` says how often each code occurs in every shard of a tree."""
    cuts = Cuts()
    (root,) = count(cuts.tree(), 1)
    nodes, final = {0: root}, set[int]()
    for _ in range(MOST_LEVELS):
        large = [s for s, node in nodes.items() if node.size > most_rows and s not in final]
        split: dict[int, tuple[int, int]] = {}
        for shard in large:
            found = cut_of_counts(space, nodes[shard].counts, nodes[shard].tried, _least(nodes[shard]))
            if found is None:
                final.add(shard)
            else:
                split[shard] = found
        if not split:
            break
        tried = _with_cuts(cuts, split, len(nodes))
        counted = count(tried.tree(), len(nodes) + len(split))
        kept = _kept(nodes, split, counted, sensitive, totals, stands_alone)
        for shard in set(split) - kept:
            nodes[shard].tried[split[shard][0]] = True
        cuts, nodes = _carried_out(cuts, {s: split[s] for s in sorted(kept)}, nodes, split, counted)
    return cuts.tree(), [nodes[s].size for s in range(len(nodes))]


def _least(node: Node) -> int:
    return max(1, int(node.size * LEAST_SHARE))


def _with_cuts(cuts: Cuts, split: dict[int, tuple[int, int]], n_shards: int) -> Cuts:
    """The tree after shards were cut: the left side keeps the number, right sides get new ones."""
    grown = Cuts(list(cuts.dim), list(cuts.cut), list(cuts.left), list(cuts.right))
    for new, (shard, (dim, cut)) in enumerate(split.items(), start=n_shards):
        place = len(grown.dim)
        for side in (grown.left, grown.right):
            for i, child in enumerate(side):
                if child == ~shard:
                    side[i] = place
        grown.dim.append(dim)
        grown.cut.append(cut)
        grown.left.append(~shard)
        grown.right.append(~new)
    return grown


def _counted(
    chunks: Callable[[], Iterator[Keys]], space: Space, widths: list[int], tree: CutTree, n: int
) -> list[Node]:
    """Counts of the codes of every shard, in one pass."""
    ends = np.cumsum(widths)
    counts = np.zeros((n, int(ends[-1])), np.int64)
    sizes = np.zeros(n, np.int64)
    for keys in chunks():
        shard = shard_of_rows(keys, space, tree)
        sizes += np.bincount(shard, minlength=n)
        kernels.choose(keys.shape[1]).count_leaves(keys, space.layout, shard, ends - widths, counts)
    return [
        Node([counts[s, end - w : end] for end, w in zip(ends.tolist(), widths, strict=True)], int(sizes[s]),
              np.zeros(space.n_dims, bool))
        for s in range(n)
    ]  # fmt: skip


def _kept(
    nodes: dict[int, Node],
    split: dict[int, tuple[int, int]],
    counted: list[Node],
    sensitive: tuple[SensitiveDomain, ...],
    totals: dict[str, IntArray],
    stands_alone: StandsAlone,
) -> set[int]:
    """Cuts of which both sides may stand alone."""
    kept = set()
    for new, shard in enumerate(split, start=len(nodes)):
        sides = [counted[shard], counted[new]]
        if stands_alone(_stats(sides, len(nodes[shard].tried), sensitive, totals)).all():
            kept.add(shard)
    return kept


def _stats(
    sides: list[Node], n_dims: int, sensitive: tuple[SensitiveDomain, ...], totals: dict[str, IntArray]
) -> ClassStats:
    """Two sides as classes."""
    hist = {}
    for i, domain in enumerate(sensitive):
        codes = [np.flatnonzero(side.counts[n_dims + i]) for side in sides]
        counts = [side.counts[n_dims + i][c] for side, c in zip(sides, codes, strict=True)]
        indptr = np.concatenate([[0], np.cumsum([len(c) for c in codes])])
        hist[domain.name] = Histogram(
            domain, indptr, np.concatenate(codes), np.concatenate(counts), totals[domain.name]
        )
    return ClassStats(np.array([side.size for side in sides]), hist)


def _carried_out(
    cuts: Cuts,
    kept: dict[int, tuple[int, int]],
    nodes: dict[int, Node],
    split: dict[int, tuple[int, int]],
    counted: list[Node],
) -> tuple[Cuts, dict[int, Node]]:
    """The tree and the nodes after the cuts that are kept."""
    number = {shard: new for new, shard in enumerate(split, start=len(nodes))}
    grown = _with_cuts(cuts, kept, len(nodes))
    after = dict(nodes)
    for new, shard in enumerate(kept, start=len(nodes)):
        after[shard], after[new] = counted[shard], counted[number[shard]]
    return grown, after
