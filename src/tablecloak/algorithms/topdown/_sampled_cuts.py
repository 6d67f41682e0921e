"""What a release cut top-down would lose, estimated from some of its classes in a fraction of the time.

Records are drawn from all over the table. Each is followed down the cuts that large nodes get, and the small node where
it ends is cut into its classes as all would be. A record is in a class with the chance of its size, so the mean loss of
these classes is that of all records, but for the luck of the draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tablecloak import rng
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown._partition import CutRule, partition_nodes
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.kernels.cutting import cut_of_counts
from tablecloak.models.base import Goal

MOST_DRAWS, FEWEST_DRAWS = 40, 8
MOST_TUPLES = 20_000  # that are cut into classes, unless the fewest draws take more
NODE_CLASSES = 4  # that a small node has room for
NODE_TUPLES = 24  # that a small node has at least
LEAST_SHARE = 1 / 16  # of a node, that each of its sides gets


@dataclass(frozen=True, slots=True)
class SampledLoss:
    """An estimate of the loss of all records."""

    loss: float
    n_rows: int  # records whose classes were found


def united(parts: Sequence[tuple[SampledLoss, int]]) -> SampledLoss:
    """The estimate of a table from those of parts of it with so many records each."""
    n_rows = sum(n for _, n in parts)
    return SampledLoss(sum(part.loss * n for part, n in parts) / n_rows, sum(part.n_rows for part, _ in parts))


def sampled_loss(problem: Problem) -> SampledLoss:
    """The loss (GCP) to expect of cuts that save most loss, seen in some of the table."""
    table, goal = problem.table, problem.goal
    most = max(NODE_TUPLES, NODE_CLASSES * goal.min_size)
    n_draws = max(FEWEST_DRAWS, min(MOST_DRAWS, MOST_TUPLES // most))
    # one draw in each of as many equal shares of the records, so that no region is missed by chance
    draws = (np.arange(n_draws) + rng.child(problem.seed, "check").random(n_draws)) / n_draws
    descent = _Descent(table, goal, most)
    paths = [descent.node_of(float(draw)) for draw in draws]
    nodes = [descent.rows[path] for path in dict.fromkeys(paths)]
    times = np.array([paths.count(path) for path in dict.fromkeys(paths)], np.float64)
    n_rows = sum(descent.n_records(rows) for rows in nodes)
    return SampledLoss(float(_losses(problem, nodes) @ times / n_draws), n_rows)


def _losses(problem: Problem, nodes: Sequence[IntArray]) -> FloatArray:
    """The mean loss of a record and attribute of every node, cut into classes."""
    part = problem.table.reordered(np.concatenate(nodes))
    node_of_tuple: IntArray = np.repeat(np.arange(len(nodes)), [len(rows) for rows in nodes])
    classes = partition_nodes(replace(problem, table=part), CutRule(by_saving=True, relaxed=False), node_of_tuple)
    per_record = (classes.losses(part.domains) @ part.space.weight / part.space.n_dims)[classes.class_of_tuple]
    weights = part.weights if len(part.weights) else np.ones(part.n_tuples)
    return np.bincount(node_of_tuple, weights * per_record) / np.bincount(node_of_tuple, weights)


class _Descent:
    """Nodes of large cuts, named by their way from the table, each cut once."""

    def __init__(self, table: CodedTable, goal: Goal, most: int) -> None:
        self.table, self.goal, self.most = table, goal, most
        self.codes = [table.quasi_codes(d) for d in range(table.space.n_dims)]
        self.rows = {"": np.arange(table.n_tuples)}
        self.share: dict[str, float | None] = {}  # of the records that go left; None: the node is not cut

    def node_of(self, draw: float) -> str:
        """The small node in which the record at this share of the table is, in the order of the cuts."""
        path = ""
        while (share := self._cut(path)) is not None:
            is_left = draw < share
            draw = draw / share if is_left else (draw - share) / (1 - share)
            path += "l" if is_left else "r"
        return path

    def n_records(self, rows: IntArray) -> int:
        return int(self.table.weights[rows].sum()) if len(self.table.weights) else len(rows)

    def _cut(self, path: str) -> float | None:
        if path not in self.share:
            rows = self.rows[path]
            left = self._left(rows) if len(rows) > self.most else None
            if left is not None:
                self.rows[path + "l"], self.rows[path + "r"] = rows[left], rows[~left]
            self.share[path] = None if left is None else self.n_records(rows[left]) / self.n_records(rows)
        return self.share[path]

    def _left(self, rows: IntArray) -> BoolArray | None:
        """Which tuples of a node go left at its best cut whose sides both satisfy the goal; None: there is no such."""
        weights = self.table.weights[rows] if len(self.table.weights) else None
        codes = [column[rows] for column in self.codes]
        counts = [
            np.bincount(column, weights, minlength=n).astype(np.int64)
            for column, n in zip(codes, self.table.space.n_codes.tolist(), strict=True)
        ]
        is_tried: BoolArray = np.zeros(len(codes), bool)
        least = max(self.goal.min_size, int(self.n_records(rows) * LEAST_SHARE))
        while (cut := cut_of_counts.plain(self.table.space, counts, is_tried, least)) is not None:
            left = codes[cut[0]] <= cut[1]
            if self._is_admitted(rows, left):
                return left
            is_tried[cut[0]] = True
        return None

    def _is_admitted(self, rows: IntArray, left: BoolArray) -> bool:
        if self.goal.is_only_size:  # the cut has seen to it
            return True
        return bool(self.goal.admits(self.table.reordered(rows).class_stats((~left).astype(np.int64), 2)).all())
