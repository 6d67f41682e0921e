"""Losses of a node that are no sums over records: heights, class sizes on average, and bits about a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain.ladder import Ladder
from tablecloak.algorithms.fulldomain.losses import Loss, added_up, additive, at_node, unknown
from tablecloak.algorithms.fulldomain.rollup import Groups
from tablecloak.algorithms.target import TARGET_LOSSES, target_of
from tablecloak.metrics.target import class_entropies, entropy

__all__ = ["make_loss"]

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def make_loss(
    name: str, problem: Problem, ladders: Sequence[Ladder], bottom: Groups, *, budget: int, target: str | None = None
) -> Loss:
    """The loss of this name.

    Args:
        budget: records that may be left out.
        target: the sensitive attribute of losses that speak of one; None means the first.
    """
    table = problem.table
    column = table.sensitive[target_of(table, target)].name if name in TARGET_LOSSES else ""
    found = additive(name, table, ladders, bottom, column)
    if found is not None:
        return found
    if name == "height":
        return _height(table.space.weight, ladders, bottom, budget)
    if name == "average-class-size":
        return AverageSize(unknown(ladders), table.n_rows, budget, max(1, problem.goal.min_size))
    return TargetBits(name, unknown(ladders), column, table.totals[column], budget)


@dataclass(frozen=True, slots=True, eq=False)
class Height:
    """The highest level published in each column, added up."""

    per_level: Sequence[FloatArray]  # heights that remain whatever is left out within the budget
    heights: Sequence[Sequence[FloatArray]]  # by column and level: of every value, times the weight of the column
    name: str = "height"
    is_closed: bool = True

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return added_up(self.per_level, shape)

    def value(self, groups: Groups, left_out: BoolArray) -> float:
        kept = groups.ranks if left_out.all() else groups.ranks[:, ~left_out]
        columns = zip(self.heights, groups.levels, kept, strict=True)
        return float(sum(levels[level][ranks].max(initial=0.0) for levels, level, ranks in columns))

    def base(self, groups: Groups) -> float:
        return at_node(self.per_level, groups.levels)

    def penalty(self, groups: Groups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0


def _height(weights: FloatArray, ladders: Sequence[Ladder], bottom: Groups, budget: int) -> Height:
    heights = [
        [w * _heights(ladder, i) for i in range(ladder.height + 1)] for w, ladder in zip(weights, ladders, strict=True)
    ]
    per_level = []
    for d, ladder in enumerate(ladders):
        of_record = [levels[ladder.step(0, i)[bottom.ranks[d]]] for i, levels in enumerate(heights[d])]
        per_level.append(np.array([_remaining(h, bottom.stats.size, budget) for h in of_record]))
    return Height(per_level, heights)


def _heights(ladder: Ladder, level: int) -> FloatArray:
    tree, rung = ladder.domain.hierarchy, ladder.rungs[level]
    return np.full(rung.n_values, float(level)) if tree is None else tree.heights[rung.node].astype(np.float64)


def _remaining(heights: FloatArray, sizes: IntArray, budget: int) -> float:
    """The greatest height if the highest records are left out, as many as the budget allows."""
    order = np.argsort(-heights, kind="stable")
    stays = np.cumsum(sizes[order]) > budget
    return float(heights[order][stays].max(initial=0.0))


@dataclass(frozen=True, slots=True, eq=False)
class AverageSize:
    """Records per published class over the least size asked for."""

    per_level: Sequence[FloatArray]
    n_rows: int
    budget: int
    k: int
    name: str = "average-class-size"
    is_closed: bool = False

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return np.ones(shape)

    def value(self, groups: Groups, left_out: BoolArray) -> float:
        size = groups.stats.size[~left_out]
        return float(size.sum()) / (len(size) * self.k) if len(size) else self.n_rows / self.k

    def base(self, groups: Groups) -> float:
        """Nodes above have no more classes, and no fewer records than may be left out."""
        return (self.n_rows - self.budget) / (groups.n_groups * self.k)

    def penalty(self, groups: Groups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0


@dataclass(frozen=True, slots=True, eq=False)
class TargetBits:
    """Bits that remain unknown about the target (hce-tdr, in nats), or minus those gained for what is given up (igpl).

    Suppressed records are one class (hce-tdr), or say nothing, so that the target keeps the bits it has in the whole
    table (igpl). Uniting classes never gains bits. The anonymity given up may rise or fall with the level, so igpl is
    bounded by what a release gives up at least: half the table if it has two classes and leaves nothing out, otherwise
    nothing.
    """

    name: str
    per_level: Sequence[FloatArray]
    target: str
    totals: IntArray  # (n_values,)
    budget: int
    is_closed: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.totals.sum())

    def least(self, shape: tuple[int, ...]) -> FloatArray:
        return np.full(shape, 0.0 if self.name == "hce-tdr" else self._bounded(entropy(self.totals)))

    def value(self, groups: Groups, left_out: BoolArray) -> float:
        unknown_bits = self._unknown(groups, left_out)
        if self.name == "hce-tdr":
            return unknown_bits * float(np.log(2))
        smallest = int(groups.stats.size[~left_out].min(initial=self.n_rows))
        return -max(0.0, entropy(self.totals) - unknown_bits) / (self.n_rows - smallest + 1)

    def base(self, groups: Groups) -> float:
        if self.name == "hce-tdr":
            return self._unknown(groups, np.zeros(groups.n_groups, bool)) * float(np.log(2))
        whole, bits = entropy(self.totals), class_entropies(groups.stats.hist[self.target])
        # a class that says less than the whole table may be better left out
        least = np.minimum(bits, whole) if self.budget else bits
        return self._bounded(whole - float(groups.stats.size @ least) / max(1, self.n_rows))

    def penalty(self, groups: Groups, lost: BoolArray) -> float:  # noqa: ARG002
        return 0.0

    def _unknown(self, groups: Groups, left_out: BoolArray) -> float:
        hist, size = groups.stats.hist[self.target], groups.stats.size
        total = float(size[~left_out] @ class_entropies(hist)[~left_out])
        if left_out.any() and self.name == "igpl":
            total += float(size[left_out].sum()) * entropy(self.totals)
        elif left_out.any():
            entries = left_out[hist.entry_class()]
            counts = np.bincount(hist.codes[entries], weights=hist.counts[entries]).astype(np.int64)
            total += float(size[left_out].sum()) * entropy(counts)
        return total / max(1, self.n_rows)

    def _bounded(self, gained: float) -> float:
        given_up = 0.0 if self.budget else self.n_rows / 2
        return -max(0.0, gained) / (given_up + 1)
