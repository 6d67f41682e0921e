"""Record suppression: leave out the outliers of classes where that lowers the loss of the table."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from tablecloak.algorithms.base import Problem, Solution
from tablecloak.algorithms.merge_classes import boxes_of
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable

ROUNDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Trims:
    """The best way to trim each class on one side of one dimension: keep codes in [keep_lo, keep_hi]."""

    gain: FloatArray  # (n_classes,) loss saved, -inf where nothing can be saved
    removed: IntArray  # (n_classes,) records left out
    dim: IntArray
    keep_lo: IntArray
    keep_hi: IntArray


def suppress(problem: Problem, solution: Solution, budget: int) -> Solution:
    """Leave out at most `budget` records; the goal is checked against what remains, or nothing is left out.

    A record that is left out costs as much as one generalised to `*` everywhere.
    """
    while budget > 0:
        trimmed, left = solution, budget
        for _ in range(ROUNDS):
            trimmed, used = _one_round(problem, trimmed, left)
            left -= used
            if used == 0:
                break
        # leaving records out changes the table's own distribution, which some models compare with
        if problem.goal.admits(trimmed.stats(problem.table)).all():
            return trimmed
        budget //= 2
    return solution


def leave_out(problem: Problem, solution: Solution, budget: int) -> Solution:
    """Leave out whole classes that violate a model that is not monotone, if all of them are within the budget."""
    stats = solution.stats(problem.table)
    violates = ~problem.goal.parts()[1].admits(stats) & (stats.size > 0)
    if int(stats.size[violates].sum()) > budget:
        return solution
    goes = violates[solution.class_of_tuple] & (solution.class_of_tuple >= 0)
    return replace(solution, class_of_tuple=np.where(goes, -1, solution.class_of_tuple))


def _one_round(problem: Problem, solution: Solution, budget: int) -> tuple[Solution, int]:
    table = problem.table
    trims = _best_trims(table, solution, problem.goal.min_size, budget)
    rate = np.where(trims.gain > 0, trims.gain / np.maximum(trims.removed, 1), -np.inf)
    order = np.argsort(-rate, kind="stable")
    order = order[rate[order] > 0]
    chosen = order[np.cumsum(trims.removed[order]) <= budget]
    if len(chosen) == 0:
        return solution, 0
    is_chosen = np.zeros(solution.n_classes, bool)
    is_chosen[chosen] = True
    goes = _trimmed_tuples(table, solution, trims, is_chosen)
    rest = table.class_stats(np.where(goes, -1, solution.class_of_tuple), solution.n_classes)
    is_chosen &= problem.goal.admits(rest)
    class_of_tuple = np.where(goes & is_chosen[solution.class_of_tuple], -1, solution.class_of_tuple)
    used = int(trims.removed[is_chosen].sum())
    lo, hi = boxes_of(table, class_of_tuple, solution.n_classes)  # of the records that remain
    return replace(solution, class_of_tuple=class_of_tuple, lo=lo, hi=hi), used


def _best_trims(table: CodedTable, solution: Solution, min_size: int, budget: int) -> _Trims:
    n_classes = solution.n_classes
    released = solution.class_of_tuple >= 0
    classes = solution.class_of_tuple[released]
    weights = table.weights[released] if len(table.weights) else np.ones(len(classes), np.int64)
    size = np.bincount(classes, weights=weights, minlength=n_classes).astype(np.int64)
    losses = solution.losses(table.domains) * table.space.weight  # (n_classes, n_dims)
    best = _Trims(np.full(n_classes, -np.inf), *(np.zeros(n_classes, np.int64) for _ in range(4)))
    for dim in range(table.space.n_dims):
        codes = table.quasi_codes(dim)[released]
        for trims in _trims_of_dim(table, solution, dim, classes, codes, weights, size, losses, min_size, budget):
            best = _better(best, trims)
    return best


def _better(one: _Trims, other: _Trims) -> _Trims:
    """The larger gain of two, class by class; the first wins a tie."""
    wins = other.gain > one.gain
    picked = {f.name: np.where(wins, getattr(other, f.name), getattr(one, f.name)) for f in fields(_Trims)}
    return _Trims(**picked)


def _trims_of_dim(
    table: CodedTable,
    solution: Solution,
    dim: int,
    classes: IntArray,
    codes: IntArray,
    weights: IntArray,
    size: IntArray,
    losses: FloatArray,
    min_size: int,
    budget: int,
) -> list[_Trims]:
    """Best trim of every class at the low and at the high end of one dimension."""
    n_codes = int(table.space.n_codes[dim])
    cells, inverse = np.unique(classes * n_codes + codes, return_inverse=True)
    count = np.bincount(inverse, weights=weights).astype(np.int64)
    of_class, code = np.divmod(cells, n_codes)
    first = np.searchsorted(of_class, np.arange(len(size)))
    before = np.cumsum(count) - count
    below = before - before[first[of_class]]  # records of the class with a smaller code
    above = size[of_class] - below - count
    domain, weight = table.domains[dim], table.space.weight[dim]
    lo, hi = solution.lo[of_class, dim], solution.hi[of_class, dim]
    results = []
    for removed, keep_lo, keep_hi in ((below, code, hi), (above, lo, code)):
        kept_loss = domain.loss(keep_lo, keep_hi) * weight
        gain = _gain(size[of_class], removed, losses[of_class].sum(axis=1), losses[of_class, dim], kept_loss, table)
        allowed = (removed > 0) & (size[of_class] - removed >= min_size) & (removed <= budget)
        gain = np.where(allowed, gain, -np.inf)
        results.append(_best_per_class(gain, removed, dim, keep_lo, keep_hi, of_class, first, len(size)))
    return results


def _gain(
    size: IntArray, removed: IntArray, box: FloatArray, own: FloatArray, kept_loss: FloatArray, table: CodedTable
) -> FloatArray:
    """Loss of the class now, minus loss of what is kept, minus full loss of what is left out."""
    return np.asarray(size * box - (size - removed) * (box - own + kept_loss) - removed * float(table.space.n_dims))


def _best_per_class(
    gain: FloatArray,
    removed: IntArray,
    dim: int,
    keep_lo: IntArray,
    keep_hi: IntArray,
    of_class: IntArray,
    first: IntArray,
    n_classes: int,
) -> _Trims:
    order = np.lexsort((-gain, of_class))
    top = order[np.minimum(first, len(order) - 1)]  # the best entry of each class comes first
    top = np.where(of_class[top] == np.arange(n_classes), top, 0)
    is_own = of_class[top] == np.arange(n_classes)
    return _Trims(
        np.where(is_own, gain[top], -np.inf), removed[top], np.full(n_classes, dim), keep_lo[top], keep_hi[top]
    )


def _trimmed_tuples(table: CodedTable, solution: Solution, trims: _Trims, is_chosen: BoolArray) -> BoolArray:
    goes = np.zeros(table.n_tuples, bool)
    classes = solution.class_of_tuple
    for dim in range(table.space.n_dims):
        applies = (classes >= 0) & is_chosen[classes] & (trims.dim[classes] == dim)
        codes = table.quasi_codes(dim)
        outside = (codes < trims.keep_lo[classes]) | (codes > trims.keep_hi[classes])
        goes |= applies & outside
    return goes
