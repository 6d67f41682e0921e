"""auto: top-down cuts, then refinement of neighbouring classes; the lowest loss we know at near-linear cost."""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak import kernels, rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.blocks import Refinery, compact, near_order
from tablecloak.algorithms.partition import CutRule, partition
from tablecloak.algorithms.rules import rules_of
from tablecloak.algorithms.suppress import suppress
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.prices import MOST_SET_VALUES, make_prices
from tablecloak.models.base import Goal
from tablecloak.progress import Progress

__all__ = ["Auto"]

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Effort:
    rounds: int  # passes, each over other blocks
    sweeps: int  # in every block
    pairs: int  # of tuples and classes compared in one sweep over the table; blocks are as large as that allows
    fewest: int  # classes of a block


EFFORTS = {
    "fast": _Effort(rounds=1, sweeps=2, pairs=2_000_000, fewest=30),
    "balanced": _Effort(rounds=2, sweeps=2, pairs=5_000_000, fewest=50),
    "best": _Effort(rounds=12, sweeps=4, pairs=100_000_000, fewest=300),
}
# Without compiled kernels only the dearest small blocks are seen: numpy pays for every tuple it looks at.
UNCOMPILED = _Effort(rounds=1, sweeps=1, pairs=0, fewest=12)
# Tables this small are refined by numpy; for larger ones all but the fast effort wait for the compiler, once ever.
SMALL = 400
# A round that lowers the loss by less than this share is the last.
WORTH = 0.001


@algorithm("auto")
class Auto:
    """Cut the table top-down where that saves most loss, then refine neighbouring classes block by block.

    A refinement moves tuples to cheaper classes, puts the outliers of a class elsewhere, dissolves, splits and reshapes
    classes; every change lowers the loss and is admitted by the goal. Equal rows stay together.
    Cost: near-linear in the number of different rows for a given effort.
    """

    effort: Annotated[
        Literal["fast", "balanced", "best"], Field(description="how long to look for a release with less loss")
    ] = "balanced"
    time_limit: Annotated[
        float | None, Field(gt=0, description="seconds after which the best release found so far is taken")
    ] = None
    suppression_limit: Annotated[
        float, Field(ge=0, lt=1, description="share of records that may be left out where that lowers the loss")
    ] = 0.0
    labels: Annotated[
        Literal["hierarchy", "set"],
        Field(description="hierarchy: publish its nodes; set: publish any set of values, whatever the hierarchy"),
    ] = "hierarchy"

    @property
    def may_shard(self) -> bool:
        return True

    def refuses(self, goal: Goal) -> str | None:
        unsafe = [m.name for m in goal.models if not Goal((m,)).is_monotone]
        if unsafe:
            return f"classes that end with equal labels are one class to a reader, which may break {', '.join(unsafe)}"
        return None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        deadline = time.monotonic() + (self.time_limit or float("inf"))
        start = partition(problem, CutRule(by_saving=True, relaxed=False), progress)
        is_set = _set_dims(problem.table) if self.labels == "set" else np.zeros(problem.table.space.n_dims, bool)
        classes = self._refined(problem, start.class_of_tuple, is_set, deadline, progress)
        budget = int(self.suppression_limit * problem.table.n_rows)
        solution = _solution(problem.table, classes, is_set)
        if not budget:
            return solution
        trimmed = suppress(problem, solution, budget)
        return _solution(problem.table, trimmed.class_of_tuple, is_set)

    def _kernels(self, n_tuples: int) -> ModuleType:
        waits = self.effort != "fast" and n_tuples > SMALL
        return kernels.choose(max(n_tuples, kernels.COMPILED_FROM) if waits else n_tuples)

    def _refined(
        self, problem: Problem, classes: IntArray, is_set: NDArray[np.bool_], deadline: float, progress: Progress
    ) -> IntArray:
        table = problem.table
        chosen = self._kernels(table.n_tuples)
        is_slow = chosen.__name__.endswith("reference") and table.n_tuples > SMALL
        effort = UNCOMPILED if is_slow else EFFORTS[self.effort]
        rules, counted, is_whole = rules_of(problem.goal, table)
        refinery = Refinery(
            problem, make_prices(table.space, is_set), rules, counted, is_whole, effort.sweeps, deadline, chosen,
            most_tuples=SMALL if is_slow else table.n_tuples,
        )  # fmt: skip
        random = rng.child(problem.seed, "auto")
        losses = _losses(table, classes, is_set)
        for i in range(effort.rounds):
            n_classes = int(classes.max()) + 1
            if n_classes < 2 or time.monotonic() >= deadline:
                break
            n_blocks = max(1, round(n_classes / max(effort.fewest, effort.pairs // table.n_tuples)))
            emphasis = random.choice([0.25, 1.0, 4.0], table.space.n_dims)
            # classes come numbered in the order of the first partition; one block needs no order
            order = near_order(problem, classes, emphasis) if i and n_blocks > 1 else np.arange(n_classes)
            progress.finish(f"loss {_mean(losses, table):.4f}")
            progress.start("refine", table.n_tuples)
            classes = refinery.refine(classes, losses, order, n_blocks, progress)
            last, losses = losses, _losses(table, classes, is_set)
            if last.sum() - losses.sum() < WORTH * last.sum():
                break
        return classes


def _set_dims(table: CodedTable) -> NDArray[np.bool_]:
    """Dimensions that are published as sets: categories, as many as fit a word."""
    return np.array([not d.type.is_ordered and d.n_codes <= MOST_SET_VALUES for d in table.domains], bool)


def _boxes(table: CodedTable, classes: IntArray, is_set: NDArray[np.bool_]) -> tuple[IntArray, IntArray, IntArray]:
    """Boxes and masks of classes, each (n_classes, n_dims); a mask of 0 stands for the box."""
    released = np.flatnonzero(classes >= 0)
    by_class = released[np.argsort(classes[released], kind="stable")]
    starts = np.searchsorted(classes[by_class], np.arange(int(classes.max()) + 1))
    lo, hi, masks = (np.zeros((len(starts), table.space.n_dims), np.int64) for _ in range(3))
    for d in range(table.space.n_dims):
        codes = table.quasi_codes(d)[by_class]
        lo[:, d], hi[:, d] = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        if is_set[d]:
            masks[:, d] = np.bitwise_or.reduceat(np.left_shift(np.int64(1), codes), starts)
    return lo, hi, masks


def _solution(table: CodedTable, classes: IntArray, is_set: NDArray[np.bool_]) -> Solution:
    kept = classes >= 0
    numbers = np.full(len(classes), -1, np.int64)
    numbers[kept] = compact(classes[kept])
    lo, hi, masks = _boxes(table, numbers, is_set)
    return Solution(numbers, lo, hi, sets=masks.astype(np.uint64) if is_set.any() else None)


def _losses(table: CodedTable, classes: IntArray, is_set: NDArray[np.bool_]) -> FloatArray:
    """Loss of all records of each class together, summed over attributes, (n_classes,)."""
    solution = _solution(table, classes, is_set)
    weights = table.weights if len(table.weights) else None
    sizes = np.bincount(solution.class_of_tuple, weights=weights, minlength=solution.n_classes)
    losses: FloatArray = sizes * (solution.losses(table.domains) @ table.space.weight)
    return losses


def _mean(losses: FloatArray, table: CodedTable) -> float:
    """Mean loss of a record and attribute."""
    return float(losses.sum()) / (table.n_rows * table.space.n_dims)
