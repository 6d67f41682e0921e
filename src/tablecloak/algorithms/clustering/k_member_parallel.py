"""Greedy k-member clustering on several threads: the default form, and the one of the source."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.clustering._record_distances import Beta, Distance
from tablecloak.algorithms.clustering._seeding import far_seeds, similar_groups
from tablecloak.algorithms.clustering._unite_clusters import Clustering, cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.algorithms.clustering.k_member import (
    ClassPenalty,
    Leftover,
    Penalty,
    Target,
    Targeted,
    k_member,
    penalty_of,
)
from tablecloak.arrays import IntArray
from tablecloak.kernels.clustering import FAR, Wishes, candidates, choose_wishes, grow_listed, look_around
from tablecloak.progress import Progress, silent

# Records below which threads would wait for each other longer than for the serial search.
SERIAL_UP_TO = 4_000
# Clusters that are begun at the same time, whatever the number of threads.
CHAINS = 16
# Near records that a cluster may take without looking at all others again, beyond so many for each member.
NEAR, NEAR_EACH = 16, 2
# Wishes kept per cluster: one that loses a record to another cluster need not look at all records again.
WISHES = 64


@algorithm("k-member-parallel", minimizes="NCP, or another distance where `distance` says so")
class KMemberParallel(Targeted, Clustering):
    """Grow clusters as `k-member` does, from several far records at a time, whose neighbours threads look for.

    Threads list what is near to each of 16 seeds, and what is far from it: a cluster takes the record that costs least,
    again and again, which the list knows unless others have taken too much of it; the next seed is far from the last
    one. Fewer than 4,000 records are left to `k-member` itself. Fewer than k records remain and join the clusters whose
    loss rises least; clusters that do not satisfy the rest of the goal are united with their nearest. The result does
    not depend on the number of threads. Variant source is the parallel form as it was published: all seeds first, then
    every cluster takes its cheapest record, round by round; where several want one record, one of them gets it. It is
    slower than `k-member` and loses more.
    Cost: about n^2 / k comparisons of records, shared out between threads; of variant source at least n^2.
    Reference: Netshiunda, Computational efficiency of k-anonymization incorporating clustering, 2020.
    """

    variant: Annotated[
        Literal["chains", "source"],
        Field(description="chains: one cluster after the other from each of several seeds; source: as published"),
    ] = "chains"
    groups: Annotated[
        int | None,
        Field(ge=0, description="variant source: groups of similar records that give one candidate each in the search "
              "for seeds; 0: every record is a candidate; default: the square root of the number of records"),
    ] = None  # fmt: skip
    seeding: Annotated[
        Literal["sum", "maxmin"],
        Field(description="variant source: far from all seeds so far in total, or from the nearest of them"),
    ] = "sum"
    conflicts: Annotated[
        Literal["first", "cheapest"],
        Field(
            description="variant source: who gets a record that several clusters want: the first, or the one whose "
            "loss rises least"
        ),
    ] = "first"
    leftover: Leftover = "increase"
    distance: Distance = "loss"
    beta: Beta = 1.0
    target: Target = None
    class_penalty: ClassPenalty = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        points = points_of(problem.table, distance=self.distance, beta=self.beta)
        size = cluster_size(problem)
        generator = rng.child(problem.seed, "k-member-parallel")
        start = int(generator.integers(points.n))
        penalty = penalty_of(problem.table, points, self.target, self.class_penalty, size)
        if self.variant == "chains":
            if points.n < SERIAL_UP_TO:
                clusters = k_member(points, size, start, leftover=self.leftover, penalty=penalty, progress=progress)
            else:
                clusters = k_member_in_chains(
                    points, size, start, leftover=self.leftover, penalty=penalty, threads=problem.threads,
                    progress=progress,
                )  # fmt: skip
            return solution_of(problem, points, clusters.labels())
        n_groups = round(np.sqrt(points.n)) if self.groups is None else self.groups
        groups = similar_groups(points, n_groups, generator) if n_groups else None
        seeds = far_seeds(points, max(1, points.n // size), start, groups=groups, rule=self.seeding)
        clusters, _ = k_member_parallel(
            points, size, seeds, conflicts=self.conflicts, leftover=self.leftover, threads=problem.threads,
            penalty=penalty, progress=progress,
        )  # fmt: skip
        return solution_of(problem, points, clusters.labels())


def k_member_in_chains(
    points: Points,
    size: int,
    start: int,
    *,
    leftover: str = "increase",
    penalty: Penalty | None = None,
    threads: int = 1,
    progress: Progress = silent,
) -> Clusters:
    """Clusters of at least `size` records, each grown from a seed that is far from another one.

    Args:
        start: the record that the first seeds are far from.
    """
    progress.start("solve", points.n)
    chains = Chains(points, size, penalty)
    parts: list[IntArray] = []
    with ThreadPoolExecutor(max(1, threads)) as workers:
        chains.begin(start)
        while chains.pool.size >= size:
            parts += chains.play(workers, max(1, threads))
            progress.advance(points.n - chains.pool.size)
    left = chains.pool.left().tolist()
    clusters = Clusters(points, [members.tolist() for members in parts] or [left])
    for row in left if parts else ():
        clusters.join(int(np.argmin(clusters.costs_with(row, increase=leftover == "increase"))), row)
    return clusters


class Chains:
    """Seeds from which clusters are grown at the same time; after each cluster its chain goes on far from its seed."""

    def __init__(self, points: Points, size: int, penalty: Penalty | None) -> None:
        self.points, self.size = points, size
        self.cost = penalty.cost if penalty else 0
        self.target = penalty.target if penalty else np.zeros(0, np.int32)
        self.pool = Pool(points)
        self.seeds: list[int] = []  # records

    def begin(self, start: int) -> None:
        _, _, furthest = self._look(np.array([self.pool.place(start)]))
        self.seeds = [start, *self.pool.rows[furthest[0][furthest[0] >= 0]].tolist()][:CHAINS]

    def play(self, workers: ThreadPoolExecutor, threads: int) -> list[IntArray]:
        """The clusters of one round, as records; each seed gets one unless another cluster has taken it."""
        pool = self.pool
        places = np.searchsorted(pool.rows, self.seeds)
        found = list(workers.map(self._look, np.array_split(places, min(threads, len(places)))))
        nearest, costs, furthest = (np.concatenate(parts) for parts in zip(*found, strict=True))
        members = grow_listed.form(compiled=self.points.is_compiled)(
            self.points.lines, pool.codes, pool.is_gone, places, nearest, costs, size=self.size,
            target=self.target[pool.rows] if self.cost else self.target, penalty=self.cost,
        )  # fmt: skip
        clusters = [pool.rows[row] for row in members[members[:, 0] >= 0]]
        self._go_on(furthest)
        pool.drop(len(clusters) * self.size)
        return clusters

    def _look(self, places: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        return look_around.form(compiled=self.points.is_compiled)(
            self.points.lines, self.pool.codes, self.pool.is_gone, places, NEAR + NEAR_EACH * self.size, CHAINS
        )

    def _go_on(self, furthest: IntArray) -> None:
        """The next seed of each chain: what is far from its last one and still here."""
        rows, is_gone = self.pool.rows, self.pool.is_gone
        seeds: dict[int, None] = {}
        for far in furthest.tolist():
            place = next((p for p in far if p >= 0 and not is_gone[p] and p not in seeds), None)
            if place is not None:
                seeds[place] = None
        self.seeds = rows[list(seeds) or np.flatnonzero(~is_gone)[:1]].tolist()


def k_member_parallel(
    points: Points,
    size: int,
    seeds: Sequence[int],
    *,
    conflicts: str = "first",
    leftover: str = "increase",
    penalty: Penalty | None = None,
    threads: int = 1,
    progress: Progress = silent,
) -> tuple[Clusters, int]:
    """Clusters grown from all seeds at once, and the number of rounds it took."""
    progress.start("solve", points.n)
    rounds = Rounds(points, Clusters(points, [[s] for s in seeds]), conflicts, penalty)
    n_rounds = 0
    with ThreadPoolExecutor(max(1, threads)) as workers:
        while rounds.pool.size and len(open_ := np.flatnonzero(rounds.clusters.sizes < size)):
            rounds.play(open_, workers, max(1, threads))
            n_rounds += 1
            progress.advance(points.n - rounds.pool.size)
    clusters = rounds.clusters
    left = rounds.pool.left().tolist()
    choices = [int(np.argmin(clusters.costs_with(row, increase=leftover == "increase"))) for row in left]
    for row, cluster in zip(left, choices, strict=True):
        clusters.join(cluster, row)
    return clusters, n_rounds


class Rounds:
    """Clusters that grow from the same pool."""

    def __init__(self, points: Points, clusters: Clusters, conflicts: str, penalty: Penalty | None) -> None:
        self.points = points
        self.clusters = clusters
        self.cheapest_wins = conflicts == "cheapest"
        self.penalty = penalty
        self.pool = Pool(points)
        self._target: NDArray[np.int32] | None = None
        self.pool.take([rows[0] for rows in clusters.members])
        self.is_free = np.ones(points.n, bool)
        self.is_free[[rows[0] for rows in clusters.members]] = False
        n = len(clusters)
        self.wishes = Wishes(np.full((n, WISHES), -1, np.int64), np.zeros(n, np.int64), np.zeros(n, np.bool_))

    def play(self, open_: IntArray, workers: ThreadPoolExecutor, threads: int) -> None:
        """One round: every open cluster names the record it wants, each wanted record goes to one of them."""
        wishes = self._choose(open_)
        asking = open_[wishes < 0].tolist()
        parts = [asking[i::threads] for i in range(threads)]
        list(workers.map(self._ask, [part for part in parts if part]))
        wishes[wishes < 0] = self.wishes.rows[asking, 0]
        self._grant([(row, c) for row, c in zip(wishes.tolist(), open_.tolist(), strict=True) if row >= 0])

    def _choose(self, open_: IntArray) -> IntArray:
        """The record that each cluster wants, -1 where it must look at all records again."""
        rows, bound, is_fresh = self.wishes
        wishes = Wishes(rows[open_], bound[open_], is_fresh[open_])
        lo, hi = self.clusters.lo[:, open_], self.clusters.hi[:, open_]
        return choose_wishes.form(compiled=self.points.is_compiled)(
            self.points.lines, self.points.codes, self.is_free, lo, hi, wishes
        )

    def _ask(self, clusters: list[int]) -> None:
        """Look at all records of the pool for each of some clusters."""
        lo, hi = self.clusters.lo[:, clusters], self.clusters.hi[:, clusters]
        self.wishes.is_fresh[clusters] = True
        if self.penalty is not None:
            for i, cluster in enumerate(clusters):
                self.wishes.rows[cluster] = self._penalized(cluster, lo[:, i], hi[:, i])
            return
        places, costs = candidates.form(compiled=self.points.is_compiled)(
            self.points.lines, self.pool.codes, self.pool.is_gone, np.ascontiguousarray(lo), np.ascontiguousarray(hi),
            WISHES,
        )  # fmt: skip
        self.wishes.rows[clusters] = np.where(places < 0, -1, self.pool.rows[places])
        self.wishes.bound[clusters] = costs[:, -1]

    def _penalized(self, cluster: int, lo: NDArray[np.int32], hi: NDArray[np.int32]) -> IntArray:
        """The records with the best scores, (WISHES,)."""
        assert self.penalty is not None
        cost = self.points.joined(self.pool.codes, lo, hi)
        members = self.clusters.members[cluster]
        majority = np.argmax(np.bincount(self.penalty.target[members]))
        score = cost * (len(members) + 1) + self.penalty.cost * (self._pool_target() != majority)
        score[self.pool.is_gone] = FAR
        if len(score) > WISHES:  # those that are as good as the last wish, or better
            near = np.flatnonzero(score <= np.partition(score, WISHES - 1)[WISHES - 1])
        else:
            near = np.arange(len(score))
        best = near[np.argsort(score[near], kind="stable")[:WISHES]]
        best = self.pool.rows[best[score[best] < FAR]]
        return np.concatenate([best, np.full(WISHES - len(best), -1)])

    def _pool_target(self) -> NDArray[np.int32]:
        """The target of every record of the pool, gone ones included."""
        assert self.penalty is not None
        if self._target is None or len(self._target) != len(self.pool.rows):
            self._target = self.penalty.target[self.pool.rows]
        return self._target

    def _grant(self, wishes: list[tuple[int, int]]) -> None:
        if self.cheapest_wins:
            wishes.sort(key=lambda wish: self._rise(*wish))
        winners: dict[int, int] = {}
        for row, cluster in wishes:
            winners.setdefault(row, cluster)
        for row, cluster in winners.items():
            grows = bool(
                ((self.points.codes[:, row] < self.clusters.lo[:, cluster])
                 | (self.points.codes[:, row] > self.clusters.hi[:, cluster])).any()
            )  # fmt: skip
            self.clusters.join(cluster, row)
            self.is_free[row] = False
            if grows or self.penalty is not None:
                self.wishes.is_fresh[cluster] = False
            if self.penalty is not None:  # the majority and the weight of the penalty change even if the box does not
                self.wishes.rows[cluster] = -1
        self.pool.take(list(winners))

    def _rise(self, row: int, cluster: int) -> tuple[int, int]:
        """By how much a wish raises the loss of its cluster, and the cluster."""
        codes = self.points.codes[:, row]
        lo, hi = self.clusters.lo[:, [cluster]], self.clusters.hi[:, [cluster]]
        size = int(self.clusters.sizes[cluster])
        after = int(self.points.unions(lo, hi, codes, codes)[0])
        return (size + 1) * after - size * int(self.points.box_costs(lo, hi)[0]), cluster
