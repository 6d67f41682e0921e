"""Shards: a table that does not fit is cut apart by the counts of its codes, and its solutions are put together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree, Solution
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.code_sets import CodeSets
from tablecloak.engines.base import Answer, StandsAlone
from tablecloak.io.atomic import writing
from tablecloak.kernels.cutting import cut_of_counts
from tablecloak.kernels.keys import count_leaves, leaves_of
from tablecloak.kernels.packed_codes import Keys, Space
from tablecloak.stats.classes import ClassStats, Histogram, SensitiveDomain

# A side gets at least this share of the rows of its node, so that few levels are enough.
LEAST_SHARE = 1 / 16
MOST_LEVELS = 16


@dataclass(slots=True)
class Node:
    """A shard that may be cut again."""

    counts: list[IntArray]  # records with each code, by dimension, sensitive ones included
    size: int
    is_tried: BoolArray


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
    return leaves_of.sized(keys.shape[1])(keys, space.layout, tree.dim, tree.cut, tree.left, tree.right)


def cut_apart(
    count: Callable[[CutTree, int], list[Node]],
    space: Space,
    sensitive: tuple[SensitiveDomain, ...],
    totals: dict[str, IntArray],
    *,
    most_rows: int,
    stands_alone: StandsAlone,
) -> tuple[CutTree, list[int]]:
    """Cuts that leave at most `most_rows` rows in each shard where the goal allows it, and the size of every shard.

    Only counts of codes are looked at: one pass over the rows for every level of cuts.

    Args:
        count: how often each code occurs in every shard of a tree.
    """
    cuts = Cuts()
    (root,) = count(cuts.tree(), 1)
    nodes, final = {0: root}, set[int]()
    choose_cut = cut_of_counts.sized(sum(len(codes) for codes in root.counts))
    for _ in range(MOST_LEVELS):
        large = [s for s, node in nodes.items() if node.size > most_rows and s not in final]
        split: dict[int, tuple[int, int]] = {}
        for shard in large:
            cut = choose_cut(space, nodes[shard].counts, nodes[shard].is_tried, _least(nodes[shard]))
            if cut is None:
                final.add(shard)
            else:
                split[shard] = cut
        if not split:
            break
        attempt = _with_cuts(cuts, split, len(nodes))
        counted = count(attempt.tree(), len(nodes) + len(split))
        useful = _kept(nodes, split, counted, sensitive, totals, stands_alone)
        for shard in set(split) - useful:
            nodes[shard].is_tried[split[shard][0]] = True
        cuts, nodes = _carried_out(cuts, {s: split[s] for s in sorted(useful)}, nodes, split, counted)
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


def codes_in(
    chunks: Callable[[], Iterator[Keys]], space: Space, sensitive: tuple[SensitiveDomain, ...]
) -> Callable[[CutTree, int], list[Node]]:
    """What counts the codes of every shard of a tree, in one pass over the keys of rows."""
    widths = [*space.n_codes.tolist(), *(s.n_values for s in sensitive)]
    ends = np.cumsum(np.array(widths, np.int64))

    def count(tree: CutTree, n: int) -> list[Node]:
        counts = np.zeros((n, int(ends[-1])), np.int64)
        sizes = np.zeros(n, np.int64)
        for keys in chunks():
            shard = shard_of_rows(keys, space, tree)
            sizes += np.bincount(shard, minlength=n)
            count_leaves.sized(keys.shape[1])(keys, space.layout, shard, ends - widths, counts)
        by_column = [counts[:, end - w : end] for end, w in zip(ends.tolist(), widths, strict=True)]
        return [Node([c[s] for c in by_column], int(sizes[s]), np.zeros(space.n_dims, bool)) for s in range(n)]

    return count


def _kept(
    nodes: dict[int, Node],
    split: dict[int, tuple[int, int]],
    counted: list[Node],
    sensitive: tuple[SensitiveDomain, ...],
    totals: dict[str, IntArray],
    stands_alone: StandsAlone,
) -> set[int]:
    """Cuts of which both sides may stand alone."""
    useful = set()
    for new, shard in enumerate(split, start=len(nodes)):
        sides = [counted[shard], counted[new]]
        if stands_alone(_stats(sides, len(nodes[shard].is_tried), sensitive, totals)).all():
            useful.add(shard)
    return useful


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
    useful: dict[int, tuple[int, int]],
    nodes: dict[int, Node],
    split: dict[int, tuple[int, int]],
    counted: list[Node],
) -> tuple[Cuts, dict[int, Node]]:
    """The tree and the nodes after the cuts that are kept."""
    number = {shard: new for new, shard in enumerate(split, start=len(nodes))}
    grown = _with_cuts(cuts, useful, len(nodes))
    after = dict(nodes)
    for new, shard in enumerate(useful, start=len(nodes)):
        after[shard], after[new] = counted[shard], counted[number[shard]]
    return grown, after


CUTS = ("dim", "cut", "left", "right")


def save_answer(path: Path, answer: Answer) -> None:
    """Store the classes of a shard, without the class of each tuple."""
    partial = path.with_suffix(".partial")
    with writing(path), partial.open("wb") as file:
        write_answer(file, answer)
    partial.replace(path)


def write_answer(file: IO[bytes], answer: Answer) -> None:
    """Write the classes of a shard: arrays and texts, nothing that could be code."""
    solution = answer.solution
    arrays: dict[str, NDArray[Any]] = {"lo": solution.lo, "hi": solution.hi, "sizes": answer.sizes}
    if solution.tree is not None:
        arrays |= {name: getattr(solution.tree, name) for name in CUTS}
    arrays |= {} if solution.nodes is None else {"nodes": solution.nodes}
    for dim, sets in solution.sets.items():
        arrays |= {f"set starts:{dim}": sets.starts, f"set codes:{dim}": sets.codes}
    for name, labels in (solution.centers or {}).items():
        arrays[f"center:{name}"] = labels.of_class
    centers = {name: list(labels.names) for name, labels in (solution.centers or {}).items()}
    about = json.dumps({"notes": list(solution.notes), "centers": centers if solution.centers is not None else None})
    np.savez(file, allow_pickle=False, about=np.frombuffer(about.encode(), np.uint8), **arrays)


def load_answer(path: Path | IO[bytes]) -> Answer:
    """What `save_answer` stored, or `write_answer` wrote."""
    with np.load(path) as stored:
        about = json.loads(stored["about"].tobytes())
        tree = CutTree(*(stored[name] for name in CUTS)) if "dim" in stored else None
        centers = about["centers"] and {
            n: ClassLabels(tuple(names), stored[f"center:{n}"]) for n, names in about["centers"].items()
        }
        dims = [int(name.split(":")[1]) for name in stored if name.startswith("set codes:")]
        sets = {dim: CodeSets(stored[f"set starts:{dim}"], stored[f"set codes:{dim}"]) for dim in dims}
        solution = Solution(
            np.zeros(0, np.int64), stored["lo"], stored["hi"], tree, stored.get("nodes"), sets, centers,
            notes=tuple(about["notes"]),
        )  # fmt: skip
        return Answer(solution, stored["sizes"])


def compact(answer: Answer, n_codes: int) -> Answer:
    """The same with small numbers, because all shards are held together."""
    dtype = np.int16 if n_codes <= 1 << 15 else np.int32
    solution, tree = answer.solution, answer.solution.tree
    small = None
    if tree is not None:
        small = CutTree(tree.dim.astype(np.int16), *(getattr(tree, n).astype(np.int32) for n in CUTS[1:]))
    return Answer(
        replace(
            solution, class_of_tuple=np.zeros(0, np.int64), lo=solution.lo.astype(dtype), hi=solution.hi.astype(dtype),
            tree=small, nodes=None if solution.nodes is None else solution.nodes.astype(np.int32),
        ),
        answer.sizes,
    )  # fmt: skip


def join(answers: Sequence[Answer], cuts: CutTree) -> Answer:
    """Classes of all shards numbered through, and one tree that leads to them."""
    parts = [a.solution for a in answers]
    offsets = np.cumsum([0, *(p.n_classes for p in parts)])
    trees = [p.tree for p in parts]
    joined = Solution(
        np.zeros(0, np.int64),
        lo=np.concatenate([p.lo for p in parts]),
        hi=np.concatenate([p.hi for p in parts]),
        tree=_join_trees(cuts, [t for t in trees if t is not None], offsets) if None not in trees else None,
        sets={dim: CodeSets.joined([p.sets[dim] for p in parts]) for dim in parts[0].sets},
        notes=tuple(dict.fromkeys(note for p in parts for note in p.notes)),
    )
    return Answer(joined, np.concatenate([a.sizes for a in answers]))


def _join_trees(cuts: CutTree, trees: Sequence[CutTree], offsets: IntArray) -> CutTree:
    """The tree of shards, with the tree of each shard in the place of its leaf."""
    begins = len(cuts.dim) + np.cumsum([0, *(len(t.dim) for t in trees)])
    # a shard of a single class has no cuts: its leaf is that class
    roots = [int(begins[i]) if len(t.dim) else ~int(offsets[i]) for i, t in enumerate(trees)]

    def moved(side: NDArray[Any], shard: int) -> NDArray[Any]:
        return np.asarray(np.where(side >= 0, side + begins[shard], side - offsets[shard]))

    def top(side: NDArray[Any]) -> NDArray[Any]:
        return np.array([child if child >= 0 else roots[~child] for child in side.tolist()], np.int64)

    return CutTree(
        np.concatenate([cuts.dim, *(t.dim for t in trees)]),
        np.concatenate([cuts.cut, *(t.cut for t in trees)]),
        np.concatenate([top(cuts.left), *(moved(t.left, i) for i, t in enumerate(trees))]),
        np.concatenate([top(cuts.right), *(moved(t.right, i) for i, t in enumerate(trees))]),
    )
