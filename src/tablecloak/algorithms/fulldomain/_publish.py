"""From a node to a solution: classes, suppressed records and, where asked, suppressed cells."""

from __future__ import annotations

import itertools

import numpy as np

from tablecloak.algorithms.base import Solution
from tablecloak.algorithms.fulldomain._judge import Judge, released_classes
from tablecloak.algorithms.fulldomain._lattice import Node
from tablecloak.algorithms.fulldomain._rollup import group_ranks
from tablecloak.arrays import BoolArray, IntArray

# With more columns to choose from, only few cells or all of a record are suppressed.
ALL_SUBSETS_UP_TO = 10


def publish(judge: Judge, node: Node, *, cells: bool = False) -> Solution:
    """The classes of a node; records of classes that fail the goal are suppressed, or with `cells` only some cells."""
    table = judge.problem.table
    levels = np.tile(np.array(node, np.int64)[:, None], table.n_tuples)  # (n_dims, n_tuples)
    classes, n_classes = _grouped(judge, node)
    stats = table.class_stats(classes, n_classes)
    released = released_classes(judge.goal, stats, judge.goal.admits(stats), judge.budget)
    if released is None:
        raise judge.infeasible()
    keeps = released[classes]
    plain = _solution(judge, levels, np.where(keeps, classes, -1))
    if not cells or keeps.all():
        return plain
    rescued = _rescue(judge, node, levels, classes, keeps)
    is_sound = judge.goal.admits(rescued.stats(table)).all()  # what is published now is another table
    return rescued if is_sound else plain


def _grouped(judge: Judge, node: Node, tuples: IntArray | None = None) -> tuple[IntArray, int]:
    """Class of every tuple at a node, or of some of them."""
    table, part = judge.problem.table, slice(None) if tuples is None else tuples
    rungs = [ladder.rungs[level] for ladder, level in zip(judge.ladders, node, strict=True)]
    ranks = np.stack([r.rank_of_code[table.quasi_codes(d)[part]] for d, r in enumerate(rungs)]).astype(np.int32)
    ids, n_groups, _ = group_ranks(ranks, [r.n_values for r in rungs])
    return ids, n_groups


def _solution(judge: Judge, levels: IntArray, classes: IntArray) -> Solution:
    """Number the classes that occur and name what each publishes."""
    table = judge.problem.table
    occurring, firsts, numbers = np.unique(classes, return_index=True, return_inverse=True)
    n_out = int(np.count_nonzero(occurring < 0))
    firsts = firsts[n_out:]
    lo, hi, nodes = (np.zeros((len(firsts), len(judge.ladders)), np.int64) for _ in range(3))
    for d, ladder in enumerate(judge.ladders):
        codes, level = table.quasi_codes(d)[firsts], levels[d, firsts]
        for at in np.unique(level).tolist():
            rows, rung = level == at, ladder.rungs[at]
            rank = rung.rank_of_code[codes[rows]]
            lo[rows, d], hi[rows, d], nodes[rows, d] = rung.lo[rank], rung.hi[rank], rung.node[rank]
    return Solution(numbers - n_out, lo, hi, nodes=nodes)


def _rescue(judge: Judge, node: Node, levels: IntArray, classes: IntArray, keeps: BoolArray) -> Solution:
    """Put failing records in classes of their own by suppressing as few of their cells as satisfies the goal."""
    table, levels = judge.problem.table, levels.copy()
    result = np.where(keeps, classes, -1)
    for starred in _by_loss(judge, node):
        pending = np.flatnonzero(result < 0)
        if len(pending) == 0:
            break
        at = tuple(judge.lattice.top[d] if d in starred else level for d, level in enumerate(node))
        ids, n_groups = _grouped(judge, at, pending)
        everywhere = np.full(table.n_tuples, -1, np.int64)
        everywhere[pending] = ids
        passes = judge.goal.admits(table.class_stats(everywhere, n_groups))
        goes = pending[passes[ids]]
        result[goes] = everywhere[goes] + result.max() + 1
        levels[:, goes] = np.array(at)[:, None]
    return _solution(judge, levels, result)


def _by_loss(judge: Judge, node: Node) -> list[tuple[int, ...]]:
    """Sets of columns whose cells might be suppressed, cheapest first; never all, which would suppress the record."""
    free = [d for d, level in enumerate(node) if level < judge.lattice.top[d]]
    most = len(free) if len(free) <= ALL_SUBSETS_UP_TO else 2
    sets = [s for n in range(1, most + 1) for s in itertools.combinations(free, n) if len(s) < len(free)]
    per_level = judge.loss.per_level
    cost = {d: float(per_level[d][-1] - per_level[d][node[d]]) for d in free}
    return sorted(sets, key=lambda s: (sum(cost[d] for d in s), len(s), s))
