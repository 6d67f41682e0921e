"""V-MDAV: clusters around extreme records that grow where neighbours are close."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.micro._centers import check_ties
from tablecloak.algorithms.micro._points import PointRecords, Unclustered, records_of
from tablecloak.algorithms.micro.base import Microaggregation, Standardize, TieField, centered, ties_of
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.progress import Progress


@algorithm("v-mdav", minimizes="the squared distances to the centers")
class VMdav(Microaggregation):
    """Clusters around extreme records, as MDAV makes them, that grow up to 2 k - 1 records where neighbours are close.

    Cost: O(n^2). Reference: Solanas, Martinez-Balleste, V-MDAV, COMPSTAT 2006.
    """

    gain: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="0 never grows; 0.2 suits scattered records, 1.1 clumps")
    ] = 0.2
    standardize: Standardize = True
    tie: TieField = ()

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        ties = ties_of(self.tie)
        remarks = check_ties(problem.table, ties)
        progress.start("solve", problem.table.n_tuples)
        records = records_of(problem.table, standardize=self.standardize, without={t.target for t in ties})
        clusters = v_mdav(records, problem.goal.min_size, self.gain, progress)
        return centered(problem, clusters, ties, remarks)


def v_mdav(records: PointRecords, k: int, gain: float, progress: Progress, *, compiled: bool | None = None) -> IntArray:
    """The cluster of every record: as MDAV, one extreme at a time, and a cluster grows while a neighbour is close.

    A neighbour joins if it is less than `gain` times as far from the cluster as from its own nearest other record.
    Cost: O(n^2 / k). Reference: Solanas, Martinez-Balleste, V-MDAV, COMPSTAT 2006.
    """
    rest = Unclustered(records, compiled)
    from_center = rest.distances(rest.center())  # of the whole table, once
    while rest.size >= k:
        extreme = rest.farthest(from_center[rest.rows])
        from_extreme = rest.distances(extreme)
        members = rest.take_nearest(from_extreme, k)
        if gain > 0:
            _grow(rest, members, from_extreme, k, gain)
        rest.sweep()
        progress.advance(len(records) - rest.size)
    _hand_out(rest)
    return rest.cluster_of


def _grow(rest: Unclustered, members: IntArray, from_extreme: FloatArray, k: int, gain: float) -> None:
    """Let the records nearest to the newest cluster join it while they are close."""
    places = np.searchsorted(rest.rows, members)
    for _ in range(k - 1):
        if rest.size < 2:
            return
        near, apart = rest.nearest_outside(places, from_extreme)
        from_near = np.where(rest.is_gone, np.inf, rest.distances(rest.records.point(int(rest.rows[near]))))
        from_near[near] = np.inf
        # distances are squared, so the gain is too
        if not apart < gain**2 * from_near.min():
            return
        rest.join(np.array([near]))
        places = np.append(places, near)


def _hand_out(rest: Unclustered) -> None:
    """Each record that is left joins the cluster with the nearest center."""
    left = rest.left()
    if len(left) == 0:
        return
    order = np.argsort(rest.cluster_of, kind="stable")[len(left) :]
    parts = np.split(order, np.flatnonzero(np.diff(rest.cluster_of[order])) + 1)
    apart = np.stack([rest.records.distances(rest.records.center(part), left) for part in parts])
    rest.cluster_of[left] = np.argmin(apart, axis=0)  # apart: (n_clusters, n_left)
