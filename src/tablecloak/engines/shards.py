"""Shards: a table that does not fit is cut apart by the counts of its codes, and its solutions are put together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
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
NO_CUTS = CutTree(*(np.zeros(0, np.int64) for _ in range(4)))


Codes = Sequence[IntArray]  # records with each code, by dimension, sensitive ones included
Cut = tuple[int, int]  # a dimension, and the largest code of the left side


@dataclass(frozen=True, slots=True, eq=False)
class Attempt:
    """A shard that is cut to see whether both sides may stand alone."""

    left: int  # number of the shard and of its left side
    right: int
    tried: BoolArray  # dimensions that it was cut by, this one included


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt: records of both sides and where they are cut next, or where the shard is cut instead."""

    sizes: tuple[int, int] | None  # None: the sides may not stand alone
    cuts: tuple[Cut | None, ...]  # of both sides, or of the shard


@dataclass(frozen=True, slots=True, eq=False)
class CutJudge:
    """Where shards are cut, by counts of their codes alone; it can be sent to where these are.

    Args:
        most_rows: rows of a shard that is not cut.
        stands_alone: which parts of the table may be searched for themselves.
    """

    space: Space
    sensitive: tuple[SensitiveDomain, ...]
    totals: Mapping[str, IntArray]
    most_rows: int
    stands_alone: StandsAlone

    def cut(self, codes: Codes, tried: BoolArray) -> Cut | None:
        """The cut of a shard that is too large; None where there is none."""
        size = int(codes[0].sum())
        if size <= self.most_rows:
            return None
        least = max(1, int(size * LEAST_SHARE))
        return cut_of_counts.sized(sum(map(len, codes)))(self.space, codes, tried, least)

    def outcome(self, left: Codes, right: Codes, tried: BoolArray) -> Outcome:
        """What comes of a cut with these sides."""
        # one after the other: of nearly unique values both together take as much again
        if all(self.stands_alone(self._stats(side)).all() for side in (left, right)):
            afresh = np.zeros(len(tried), bool)
            cuts = (self.cut(left, afresh), self.cut(right, afresh))
            return Outcome((int(left[0].sum()), int(right[0].sum())), cuts)
        return Outcome(None, (self.cut([a + b for a, b in zip(left, right, strict=True)], tried),))

    def _stats(self, side: Codes) -> ClassStats:
        """A side as a class."""
        hist = {}
        for i, domain in enumerate(self.sensitive, start=self.space.n_dims):
            codes = np.flatnonzero(side[i])
            indptr = np.array([0, len(codes)])
            hist[domain.name] = Histogram(domain, indptr, codes, side[i][codes], self.totals[domain.name])
        return ClassStats(np.array([side[0].sum()]), hist)


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
    count: Callable[[CutTree, Sequence[int]], list[Codes]], judge: CutJudge, *, at_once: int = 1 << 60
) -> tuple[CutTree, list[int]]:
    """Cuts that leave shards as small as the judge asks for where the goal allows it, and the size of every shard.

    Only counts of codes are looked at: one pass over the rows for every level of cuts, or several.

    Args:
        count: how often each code occurs in some shards of a tree.
        at_once: how many counts may be held together; those of two sides always are.
    """
    n_codes = int(judge.space.n_codes.sum()) + sum(s.n_values for s in judge.sensitive)
    n_pairs = max(1, at_once // (2 * n_codes))

    def attempted(tree: CutTree, attempts: Sequence[Attempt]) -> list[Outcome]:
        return [o for i in range(0, len(attempts), n_pairs) for o in outcomes(tree, attempts[i : i + n_pairs])]

    def outcomes(tree: CutTree, attempts: Sequence[Attempt]) -> list[Outcome]:
        codes = iter(count(tree, [side for a in attempts for side in (a.left, a.right)]))
        return [judge.outcome(next(codes), next(codes), a.tried) for a in attempts]

    (root,) = count(NO_CUTS, [0])
    return grown(root, judge, attempted)


def grown(
    root: Codes, judge: CutJudge, attempted: Callable[[CutTree, Sequence[Attempt]], Sequence[Outcome]]
) -> tuple[CutTree, list[int]]:
    """The tree of cuts below a table with these codes, and the size of every shard.

    Args:
        attempted: what comes of cutting several shards at once, given the tree after that.
    """
    cuts, sizes = Cuts(), [int(root[0].sum())]
    n_dims = judge.space.n_dims
    proposed, tried = {0: judge.cut(root, np.zeros(n_dims, bool))}, {0: np.zeros(n_dims, bool)}
    for _ in range(MOST_LEVELS):
        split = {shard: cut for shard, cut in sorted(proposed.items()) if cut is not None}
        if not split:
            break
        attempts = []
        for right, (shard, (dim, _)) in enumerate(split.items(), start=len(sizes)):
            tried[shard] = tried[shard] | (np.arange(n_dims) == dim)
            attempts.append(Attempt(shard, right, tried[shard]))
        outcomes = dict(zip(split, attempted(_with_cuts(cuts, split, len(sizes)).tree(), attempts), strict=True))
        useful = {shard: cut for shard, cut in split.items() if outcomes[shard].sizes}
        cuts, proposed = _with_cuts(cuts, useful, len(sizes)), {}
        for shard, outcome in outcomes.items():
            numbers = [shard]
            if outcome.sizes:
                numbers.append(len(sizes))
                sizes[shard] = outcome.sizes[0]
                sizes.append(outcome.sizes[1])
                tried |= dict.fromkeys(numbers, np.zeros(n_dims, bool))
            proposed |= dict(zip(numbers, outcome.cuts, strict=True))
    return cuts.tree(), sizes


def _with_cuts(cuts: Cuts, split: Mapping[int, Cut], n_shards: int) -> Cuts:
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
) -> Callable[[CutTree, Sequence[int]], list[Codes]]:
    """What counts the codes of some shards of a tree, in one pass over the keys of rows."""
    widths = [*space.n_codes.tolist(), *(s.n_values for s in sensitive)]
    ends = np.cumsum(np.array(widths, np.int64))

    def count(tree: CutTree, shards: Sequence[int]) -> list[Codes]:
        n_all, n = len(tree.dim) + 1, len(shards)
        place = np.full(n_all, n, np.uint16)
        place[list(shards)] = np.arange(n)
        counts = np.zeros((n, int(ends[-1])), np.int64)
        for keys in chunks():
            at = place[shard_of_rows(keys, space, tree)]
            asked, at = (keys, at) if n == n_all else (keys[:, at < n], at[at < n])
            count_leaves.sized(asked.shape[1])(asked, space.layout, at, ends - widths, counts)
        by_column = [counts[:, end - w : end] for end, w in zip(ends.tolist(), widths, strict=True)]
        return [[c[s] for c in by_column] for s in range(n)]

    return count


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
