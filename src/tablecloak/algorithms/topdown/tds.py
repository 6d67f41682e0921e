"""Top-down specialisation: a cut through every column's tree is lowered node by node while the goal holds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import FINER, FailingLimit, Problem, Solution, algorithm, if_not_monotone
from tablecloak.algorithms.merge_classes import released
from tablecloak.algorithms.topdown._expose_siblings import Exposing, ExposingStep, tree_of
from tablecloak.algorithms.topdown._grid import Grid, Piece, Trial, children_of, whole_piece
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.values.amounts import most_of

Score = tuple[float, float, int, int]


@algorithm("tds", minimizes="NCP, or the anonymity paid for bits about `class_column` where one is named")
class TopDownSpecialization:
    """Subtree or sibling generalisation: start with the roots and specialise the best node first.

    With a class column the score of a specialisation is the information it gains about the class per anonymity lost
    (IGPL); without, the loss that it saves. Cost: one pass over the tuples of a node per specialisation tried.
    Reference: Fung, Wang, Yu, Top-down specialization for information and privacy preservation, ICDE 2005.
    """

    needs_hierarchies: ClassVar[bool] = True
    scheme: Annotated[
        Literal["subtree", "sibling"],
        Field(
            description="subtree: a node is replaced by all its children at once; sibling: by one after the other, and "
            "it then stands for those that are not shown"
        ),
    ] = "subtree"
    class_column: Annotated[
        str | None, Field(description="sensitive or quasi-identifying column that the release should help to predict")
    ] = None
    suppression_limit: FailingLimit = 0.0

    @property
    def needs_sensitive(self) -> bool:
        return self.class_column is not None

    def sees_sensitive(self, quasi: Collection[str]) -> bool:
        return self.class_column is not None and self.class_column not in quasi

    def refuses(self, goal: Goal) -> str | None:
        return if_not_monotone(goal, FINER)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        target = None if self.class_column is None else class_codes(problem.table, self.class_column)
        search = _siblings if self.scheme == "sibling" else _subtrees
        solution = search(problem, self.suppression_limit, target, progress)
        # leaving records out changes the table's own distribution, which some models compare with
        if not problem.goal.admits(solution.stats(problem.table)).all():
            solution = search(problem, 0.0, target, progress)
        return solution


def _subtrees(problem: Problem, limit: float, target: IntArray | None, progress: Progress) -> Solution:
    return _SpecializationSearch(Grid(problem, limit), target).run(progress)


def _siblings(problem: Problem, limit: float, target: IntArray | None, progress: Progress) -> Solution:
    """Children are shown one by one; a node that is left stands for its children that are not."""
    table = problem.table
    search = Exposing(problem, [tree_of(d) for d in table.domains], most_of(table.n_rows, limit))

    def score(step: ExposingStep, smallest: int, after: int) -> float:
        assert target is not None
        part = np.zeros(table.n_tuples, np.int64)
        part[search.inside(step)] = 1
        piece = search.node_of[step.dim] == step.parent
        n_values = int(target.max(initial=0)) + 1
        cells = np.bincount(
            (part * n_values + target)[piece], weights=search.weights[piece], minlength=2 * n_values
        ).reshape(2, n_values)
        return igpl(information_gain(cells.astype(np.float64)), smallest - after)

    search.run(progress, None if target is None else score)
    numbers, firsts = released(search.released())
    nodes = search.node_of[:, firsts].T
    lo, hi = (
        np.stack([getattr(search.trees[d], side)[nodes[:, d]] for d in range(len(table.domains))], axis=1)
        for side in ("first", "last")
    )
    return Solution(numbers, lo, hi, nodes=nodes)


class _SpecializationSearch:
    """Open nodes of the cut with their scores."""

    def __init__(self, grid: Grid, target: IntArray | None) -> None:
        self.grid = grid
        self.target = target
        self.domains = grid.table.domains
        self.weights = grid.table.weights if len(grid.table.weights) else np.ones(grid.table.n_tuples, np.int64)
        self.done: list[Piece] = []
        self.open: dict[Piece, tuple[float, float]] = {}  # information gain, loss saved
        self.tried: dict[Piece, Trial] = {}

    def run(self, progress: Progress) -> Solution:
        progress.start("solve", sum(d.hierarchy.n_nodes if d.hierarchy else d.n_codes + 1 for d in self.domains))
        for dim, domain in enumerate(self.domains):
            self._add(whole_piece(domain, dim))
        while self.open:
            trial = self._next()
            if trial is not None:
                self.grid.apply(trial)
                for part in trial.parts:
                    self._add(part)
            progress.advance(len(self.done))
        return self.grid.solution(self.done)

    def _add(self, piece: Piece) -> None:
        children = children_of(self.domains[piece.dim], piece)
        if not children:
            self.done.append(piece)
            return
        tuples = self.grid.inside(piece)
        starts = np.array([c.lo for c in children])
        part = np.searchsorted(starts, self.grid.codes[piece.dim][tuples], side="right") - 1
        weights = self.weights[tuples]
        gain = 0.0 if self.target is None else self._gain(part, self.target[tuples], weights, len(children))
        self.open[piece] = gain, self._saving(piece, children, part, weights)

    def _next(self) -> Trial | None:
        """The next specialisation, which is no longer open; None if it is not allowed, now or ever after."""
        if self.target is not None:
            return self._best_by_igpl()
        piece = max(self.open, key=lambda p: (self.open[p][1], -p.dim, -p.lo))
        trial = self._try(piece)
        self._close(piece, keeps=not trial.is_valid)
        return trial if trial.is_valid else None

    def _best_by_igpl(self) -> Trial | None:
        trials = [self._try(piece) for piece in self.open]
        for trial in trials:
            if not trial.is_valid:
                self._close(trial.piece, keeps=True)
        valid = [t for t in trials if t.is_valid]
        if not valid:
            return None
        best = max(valid, key=self._score)
        self._close(best.piece, keeps=False)
        return best

    def _score(self, trial: Trial) -> Score:
        gain, saving = self.open[trial.piece]
        lost = self.grid.least_size() - trial.least_size
        return igpl(gain, lost), saving, -trial.piece.dim, -trial.piece.lo

    def _try(self, piece: Piece) -> Trial:
        return self.grid.trial(piece, children_of(self.domains[piece.dim], piece))

    def _close(self, piece: Piece, *, keeps: bool) -> None:
        del self.open[piece]
        if keeps:
            self.done.append(piece)

    def _saving(self, piece: Piece, children: list[Piece], part: IntArray, weights: IntArray) -> float:
        """Loss that the records of a piece save by being published as its children."""
        lo, hi = (np.array([getattr(p, side) for p in [piece, *children]]) for side in ("lo", "hi"))
        tree = self.domains[piece.dim].hierarchy
        if tree is not None:
            losses = tree.losses[[piece.node, *(c.node for c in children)]]
        else:
            losses = self.domains[piece.dim].loss(lo, hi)
        return float(self.grid.table.space.weight[piece.dim] * (weights @ (losses[0] - losses[1:][part])))

    def _gain(self, part: IntArray, target: IntArray, weights: IntArray, n_parts: int) -> float:
        n_values = int(target.max(initial=0)) + 1
        counts = np.bincount(part * n_values + target, weights=weights, minlength=n_parts * n_values)
        return information_gain(counts.reshape(n_parts, n_values).astype(np.float64))


def class_codes(table: CodedTable, column: str) -> IntArray:
    """Codes of a sensitive or quasi-identifying column."""
    for index, sensitive in enumerate(table.sensitive):
        if sensitive.name == column:
            return table.sensitive_codes(index)
    for dim, domain in enumerate(table.domains):
        if domain.name == column:
            return table.quasi_codes(dim)
    raise IncompatibleChoice(
        f"tds cannot predict '{column}': it is neither a sensitive column nor a quasi-identifier",
        hint="give it the role sensitive",
    )


def information_gain(counts: FloatArray) -> float:
    """Bits learned about the class by parting records, from counts (n_parts, n_class_values)."""
    total = counts.sum()
    parts = counts.sum(axis=1)
    inside = sum(_bits(c) * n for c, n in zip(counts, parts, strict=True))
    return float(_bits(counts.sum(axis=0)) - inside / total) if total else 0.0


def igpl(gain: float, anonymity_lost: float) -> float:
    """Information gained per anonymity lost: gain / (drop of the smallest class + 1)."""
    return gain / (anonymity_lost + 1)


def _bits(counts: FloatArray) -> float:
    shares = counts[counts > 0] / max(1.0, float(counts.sum()))
    return float(-(shares * np.log2(shares)).sum())
