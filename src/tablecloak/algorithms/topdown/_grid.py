"""Pieces of columns, and the classes that they make together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.merge_classes import released
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.errors import Infeasible
from tablecloak.models.base import Goal
from tablecloak.stats.classes import ClassStats
from tablecloak.values.amounts import most_of


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one column's values: the codes `lo..hi`, published together."""

    dim: int
    lo: int
    hi: int
    node: int = -1  # hierarchy node that it publishes; -1 without a hierarchy


def whole_piece(domain: Domain, dim: int) -> Piece:
    """All values of a column."""
    node = domain.hierarchy.root if domain.hierarchy else -1
    return Piece(dim, 0, domain.n_codes - 1, node)


def children_of(domain: Domain, piece: Piece) -> list[Piece]:
    """The pieces of the next finer level of the tree; without a tree, the single values."""
    tree = domain.hierarchy
    if tree is not None:
        children = tree.children(piece.node) if piece.node >= tree.n_leaves else []
        return [Piece(piece.dim, int(tree.first[c]), int(tree.last[c]), c) for c in children]
    return [Piece(piece.dim, c, c) for c in range(piece.lo, piece.hi + 1)] if piece.hi > piece.lo else []


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """What the classes inside a piece would become if it were split."""

    piece: Piece
    parts: tuple[Piece, ...]  # those that hold records
    tuples: IntArray  # tuples inside the piece
    ids: IntArray  # new class of each of them, numbered from 0
    size: IntArray  # (n_new,)
    failing: IntArray  # (n_new,) records of classes that fail the goal, else 0
    degree: FloatArray  # (n_new,)
    is_valid: bool
    least_size: int  # of all classes of the table
    least_degree: float


class Grid:
    """The classes of a table while columns are split, piece by piece."""

    def __init__(self, problem: Problem, suppression_limit: float) -> None:
        self.problem = problem
        self.table, self.goal = problem.table, problem.goal
        self.budget = most_of(self.table.n_rows, suppression_limit)
        self.codes = [self.table.quasi_codes(d) for d in range(len(self.table.domains))]
        whole = self.table.whole()
        self.classes = np.zeros(self.table.n_tuples, np.int64)
        self.size = whole.size
        self.failing = np.where(self.goal.admits(whole), 0, whole.size)
        self.degree = degrees(self.goal, whole)
        self.is_live = np.ones(1, bool)
        if self.failing.sum() > 0:
            raise _infeasible(self.table.n_rows)

    def inside(self, piece: Piece) -> IntArray:
        """Tuples whose value lies in a piece."""
        codes = self.codes[piece.dim]
        return np.flatnonzero((codes >= piece.lo) & (codes <= piece.hi))

    def trial(self, piece: Piece, parts: list[Piece]) -> Trial:
        """Judge a split; parts are in the order of their codes and parts without records are left out."""
        tuples = self.inside(piece)
        starts = np.array([p.lo for p in parts])
        part = np.searchsorted(starts, self.codes[piece.dim][tuples], side="right") - 1
        occupied = np.unique(part)
        _, ids = np.unique(self.classes[tuples] * len(parts) + part, return_inverse=True)
        everywhere = np.full(self.table.n_tuples, -1, np.int64)
        everywhere[tuples] = ids
        stats = self.table.class_stats(everywhere, int(ids.max()) + 1)
        failing, degree = np.where(self.goal.admits(stats), 0, stats.size), degrees(self.goal, stats)
        rest = self.is_live.copy()
        rest[self.classes[tuples]] = False
        return Trial(
            piece, tuple(parts[i] for i in occupied), tuples, ids, stats.size, failing, degree,
            is_valid=int(failing.sum() + self.failing[rest].sum()) <= self.budget,
            least_size=int(min(stats.size.min(), self.size[rest].min(initial=stats.size.min()))),
            least_degree=float(min(degree.min(), self.degree[rest].min(initial=np.inf))),
        )  # fmt: skip

    def apply(self, trial: Trial) -> None:
        """Split a piece as tried."""
        self.is_live[self.classes[trial.tuples]] = False
        self.classes[trial.tuples] = trial.ids + len(self.size)
        self.size = np.concatenate([self.size, trial.size])
        self.failing = np.concatenate([self.failing, trial.failing])
        self.degree = np.concatenate([self.degree, trial.degree])
        self.is_live = np.concatenate([self.is_live, np.ones(len(trial.size), bool)])

    def least_size(self) -> int:
        """Records of the smallest class."""
        return int(self.size[self.is_live].min())

    def solution(self, pieces: list[Piece]) -> Solution:
        """The classes with what each publishes; classes that fail the goal are suppressed."""
        numbers, firsts = released(np.where(self.failing[self.classes] > 0, -1, self.classes))
        lo, hi, nodes = (np.full((len(firsts), len(self.codes)), -1, np.int64) for _ in range(3))
        for d, codes in enumerate(self.codes):
            own = sorted((p for p in pieces if p.dim == d), key=lambda p: p.lo)
            at = np.searchsorted(np.array([p.lo for p in own]), codes[firsts], side="right") - 1
            for values, name in ((lo, "lo"), (hi, "hi"), (nodes, "node")):
                values[:, d] = np.array([getattr(p, name) for p in own])[at]
        return Solution(numbers, lo, hi, nodes=nodes)


def degrees(goal: Goal, stats: ClassStats) -> FloatArray:
    """How far every class exceeds the goal's models beyond class size, the least of them; 0 if there are none."""
    excess = [m.in_search.degrees(stats) for m in goal.models if not m.in_search.size_decides]
    return np.min(excess, axis=0) if excess else np.zeros(stats.n_classes)


def is_numeric(domain: Domain) -> bool:
    """Cut at numbers, not along a tree."""
    return domain.kind is DomainKind.ORDERED


def _infeasible(n_rows: int) -> Infeasible:
    return Infeasible(
        f"infeasible  even all {n_rows:,} records together do not satisfy the goal", best=[], relaxations=[]
    )
