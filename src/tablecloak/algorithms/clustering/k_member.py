"""Greedy k-member clustering, exact and serial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.algorithms.loss_target import target_of
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.progress import Progress, silent

Target = Annotated[
    str | None, Field(description="sensitive column that a classifier will predict; clusters avoid mixing its values")
]
ClassPenalty = Annotated[
    float | None,
    Field(ge=0, description="loss added to a cluster where a record has another target than most; default: k"),
]


class Targeted:
    """Clusters may be asked to share the value of a target column."""

    target: str | None

    @property
    def needs_sensitive(self) -> bool:
        return self.target is not None


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """What a record costs in a cluster where most records have another target."""

    target: NDArray[np.int32]  # (n,)
    cost: int  # in units


def penalty_of(
    table: CodedTable, points: Points, target: str | None, class_penalty: float | None, size: int
) -> Penalty | None:
    """The penalty a policy asks for, None without a target column."""
    if target is None:
        return None
    codes = table.sensitive_codes(target_of(table, target)).astype(np.int32)
    return Penalty(codes, round((size if class_penalty is None else class_penalty) * points.unit))


Leftover = Annotated[
    Literal["increase", "total"],
    Field(description="a record left over joins the cluster whose loss rises least, or whose loss is then least"),
]


@algorithm("k-member", minimizes="NCP, or another distance where `distance` says so")
class KMember(Targeted, Clustering):
    """Grow one cluster at a time from a far record, each time adding the record that costs least, up to k records.

    Fewer than k records remain; each joins the cluster whose loss rises least. Clusters that do not satisfy the rest of
    the goal are united with their nearest. Cost: about n^2 / 2 comparisons of records.
    Reference: Byun, Kamra, Bertino, Li, Efficient k-anonymization using clustering techniques, DASFAA 2007.
    """

    reference: Annotated[
        Literal["last", "fixed"],
        Field(
            description="a new cluster begins far from the last record added, or from one record chosen at the start"
        ),
    ] = "last"
    leftover: Leftover = "increase"
    distance: Distance = "loss"
    beta: Beta = 1.0
    target: Target = None
    class_penalty: ClassPenalty = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        start = int(rng.child(problem.seed, "k-member").integers(points.n))
        clusters = k_member(
            points, size, start, reference=self.reference, leftover=self.leftover,
            penalty=penalty_of(problem.table, points, self.target, self.class_penalty, size), progress=progress,
        )  # fmt: skip
        return solution_of(problem, points, clusters.labels())


def k_member(
    points: Points,
    size: int,
    start: int,
    *,
    reference: str = "last",
    leftover: str = "increase",
    penalty: Penalty | None = None,
    rows: IntArray | None = None,
    progress: Progress = silent,
) -> Clusters:
    """Clusters of at least `size` records (one cluster if there are fewer), in the order they were formed.

    Args:
        start: the record that the first cluster begins far from.
        rows: cluster only these records.
    """
    pool = Pool(points, rows)
    n = pool.size
    progress.start("solve", n)
    parts: list[IntArray] = []
    far_from, target, cost = start, penalty.target if penalty else None, penalty.cost if penalty else 0
    while pool.size >= size:
        members = pool.grow(pool.furthest(far_from), size, target=target, penalty=cost)
        parts.append(members)
        far_from = int(members[-1]) if reference == "last" else start
        progress.advance(n - pool.size)
    if not parts:
        return Clusters(points, [pool.left().tolist()])
    clusters = Clusters(points, [members.tolist() for members in parts])
    for row in pool.left().tolist():
        clusters.join(int(np.argmin(clusters.costs_with(row, increase=leftover == "increase"))), row)
    return clusters
