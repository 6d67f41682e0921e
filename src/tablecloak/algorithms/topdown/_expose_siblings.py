"""Sibling generalisation: children of a node are published one by one, and the node stands for those that are not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tablecloak.algorithms.base import Problem
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Domain
from tablecloak.progress import Progress


@dataclass(frozen=True, slots=True, eq=False)
class SiblingTree:
    """What may be published of a column: nodes as intervals of codes, the root last."""

    first: IntArray  # (n_nodes,)
    last: IntArray  # (n_nodes,)
    losses: FloatArray  # (n_nodes,)
    children: Callable[[int], Sequence[int]]

    @property
    def root(self) -> int:
        return len(self.first) - 1


def tree_of(domain: Domain) -> SiblingTree:
    """The hierarchy of a column, or its single values under one root where it has none."""
    tree = domain.hierarchy
    return flat_tree(domain) if tree is None else SiblingTree(tree.first, tree.last, tree.losses, tree.children)


def flat_tree(domain: Domain) -> SiblingTree:
    """The single values of a column under one root."""
    codes = np.arange(domain.n_codes)
    every = range(domain.n_codes)
    return SiblingTree(
        np.append(codes, 0), np.append(codes, domain.n_codes - 1), np.append(np.zeros(domain.n_codes), 1.0),
        lambda node: every if node == domain.n_codes else (),
    )  # fmt: skip


class ExposingStep(NamedTuple):
    """A child that may be published for its records, instead of its parent."""

    dim: int
    parent: int
    child: int


@dataclass(frozen=True, slots=True, eq=False)
class _Trial:
    """What a step would do: the tuples it changes, their new classes, and what is left of the old ones."""

    step: ExposingStep
    tuples: IntArray
    ids: IntArray  # (n_changed,) new class of each
    n_new: int
    failing: IntArray  # (n_classes + n_new,) records of classes that fail the goal, else 0
    size: IntArray  # (n_classes + n_new,)


class Exposing:
    """Classes while nodes are exposed one after the other; a step that fails once fails ever after."""

    def __init__(self, problem: Problem, trees: Sequence[SiblingTree], budget: int) -> None:
        self.table, self.goal = problem.table, problem.goal
        self.trees, self.budget = trees, budget
        self.codes = [self.table.quasi_codes(d) for d in range(len(trees))]
        self.weights = self.table.weights if len(self.table.weights) else np.ones(self.table.n_tuples, np.int64)
        self.node_of = np.stack([np.full(self.table.n_tuples, tree.root) for tree in trees])  # (n_dims, n_tuples)
        self.classes = np.zeros(self.table.n_tuples, np.int64)
        self.size, self.failing = np.array([self.table.n_rows]), np.zeros(1, np.int64)
        self.open: dict[ExposingStep, float] = {}  # with the loss that it saves
        for dim, tree in enumerate(trees):
            self._offer(dim, tree.root)

    def run(self, progress: Progress, score: Callable[[ExposingStep, int, int], float] | None = None) -> None:
        """Take the step that saves most loss, or that scores best of those allowed, until none is allowed.

        Args:
            score: of a step, the size of the smallest class now and after it.
        """
        progress.start("solve", sum(len(tree.first) for tree in self.trees))
        done = 0
        while self.open:
            trial = self._first() if score is None else self._best(score)
            if trial is not None:
                self._take(trial)
            done += 1
            progress.advance(done)

    def _offer(self, dim: int, parent: int) -> None:
        tree = self.trees[dim]
        counts = np.bincount(self.codes[dim], weights=self.weights, minlength=int(tree.last[-1]) + 1)
        for child in tree.children(parent):
            n = float(counts[tree.first[child] : tree.last[child] + 1].sum())
            saved = n * float(self.table.space.weight[dim]) * float(tree.losses[parent] - tree.losses[child])
            if n:
                self.open[ExposingStep(dim, parent, int(child))] = saved

    def _first(self) -> _Trial | None:
        step = max(self.open, key=lambda s: (self.open[s], -s.dim, -s.child))
        del self.open[step]
        trial = self.trial(step)
        return trial if self._is_valid(trial) else None

    def _best(self, score: Callable[[ExposingStep, int, int], float]) -> _Trial | None:
        trials = [self.trial(step) for step in self.open]
        valid = [t for t in trials if self._is_valid(t)]
        self.open = {t.step: self.open[t.step] for t in valid}
        if not valid:
            return None
        now = self._smallest(self.size)
        best = max(
            valid,
            key=lambda t: (score(t.step, now, self._smallest(t.size)), self.open[t.step], -t.step.dim, -t.step.child),
        )
        del self.open[best.step]
        return best

    def _smallest(self, size: IntArray) -> int:
        return int(size[size > 0].min())

    def _is_valid(self, trial: _Trial) -> bool:
        return int(trial.failing.sum()) <= self.budget

    def inside(self, step: ExposingStep) -> IntArray:
        """Tuples that publish the parent and belong to the child."""
        tree, codes = self.trees[step.dim], self.codes[step.dim]
        belongs = (codes >= tree.first[step.child]) & (codes <= tree.last[step.child])
        return np.flatnonzero(belongs & (self.node_of[step.dim] == step.parent))

    def trial(self, step: ExposingStep) -> _Trial:
        """Judge a step: the classes of the child's records, and what remains of those they were in."""
        tuples = self.inside(step)
        touched, ids = np.unique(self.classes[tuples], return_inverse=True)
        n_new, n_old = len(touched), len(self.size)
        after = np.where(np.isin(self.classes, touched), self.classes, -1)
        after[tuples] = n_old + ids
        _, numbers = np.unique(np.append(after, -1), return_inverse=True)
        stats = self.table.class_stats(numbers[:-1] - 1, int(numbers.max()))
        at = np.unique(after[after >= 0])
        size, failing = (np.concatenate([old, np.zeros(n_new, np.int64)]) for old in (self.size, self.failing))
        size[touched], failing[touched] = 0, 0
        size[at] = stats.size
        failing[at] = np.where(self.goal.admits(stats), 0, stats.size)
        return _Trial(step, tuples, ids, n_new, failing, size)

    def _take(self, trial: _Trial) -> None:
        step = trial.step
        self.classes[trial.tuples] = len(self.size) + trial.ids
        self.node_of[step.dim, trial.tuples] = step.child
        self.size, self.failing = trial.size, trial.failing
        self._offer(step.dim, step.child)

    def released(self) -> IntArray:
        """The class of every tuple, -1 where its class fails the goal."""
        return np.where(self.failing[self.classes] > 0, -1, self.classes)
