"""Solutions of shards: stored, read again, and put together to one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree, Solution
from tablecloak.data.labels import ClassLabels
from tablecloak.engines.base import Answer
from tablecloak.io.atomic import writing

__all__ = ["CUTS", "compact", "join", "load_answer", "save_answer"]

CUTS = ("dim", "cut", "left", "right")


def save_answer(path: Path, answer: Answer) -> None:
    """Store the classes of a shard, without the class of each tuple."""
    solution = answer.solution
    arrays: dict[str, NDArray[Any]] = {"lo": solution.lo, "hi": solution.hi, "sizes": answer.sizes}
    if solution.tree is not None:
        arrays |= {name: getattr(solution.tree, name) for name in CUTS}
    arrays |= {n: a for n in ("nodes", "sets") if (a := getattr(solution, n)) is not None}
    for name, labels in (solution.centers or {}).items():
        arrays[f"center:{name}"] = labels.of_class
    centers = {name: list(labels.names) for name, labels in (solution.centers or {}).items()}
    about = json.dumps({"notes": list(solution.notes), "centers": centers if solution.centers is not None else None})
    partial = path.with_suffix(".partial")
    with writing(path), partial.open("wb") as file:
        np.savez(file, allow_pickle=False, about=np.frombuffer(about.encode(), np.uint8), **arrays)
    partial.replace(path)


def load_answer(path: Path) -> Answer:
    """What `save_answer` stored."""
    with np.load(path) as stored:
        about = json.loads(stored["about"].tobytes())
        tree = CutTree(*(stored[name] for name in CUTS)) if "dim" in stored else None
        centers = about["centers"] and {
            n: ClassLabels(tuple(names), stored[f"center:{n}"]) for n, names in about["centers"].items()
        }
        solution = Solution(
            np.zeros(0, np.int64), stored["lo"], stored["hi"], tree, stored.get("nodes"),
            stored.get("sets"), centers, notes=tuple(about["notes"]),
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
        sets=_stacked([p.sets for p in parts], [p.lo for p in parts]),
        notes=tuple(dict.fromkeys(note for p in parts for note in p.notes)),
    )
    return Answer(joined, np.concatenate([a.sizes for a in answers]))


def _stacked(sets: Sequence[NDArray[np.uint64] | None], boxes: Sequence[NDArray[Any]]) -> NDArray[np.uint64] | None:
    if all(s is None for s in sets):
        return None
    return np.concatenate([np.zeros(b.shape, np.uint64) if s is None else s for s, b in zip(sets, boxes, strict=True)])


def _join_trees(cuts: CutTree, trees: Sequence[CutTree], offsets: NDArray[np.int64]) -> CutTree:
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
