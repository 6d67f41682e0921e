"""MBF, maximum bucket first: every class draws from the largest buckets of values that mean much the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import FailingLimit, Problem, Solution, algorithm
from tablecloak.algorithms.buckets._v_klt_shared import refusal
from tablecloak.algorithms.clustering._unite_clusters import cluster_size, solution_of
from tablecloak.algorithms.clustering.base import Clusters, Points, Pool, points_of
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import DataError, did_you_mean
from tablecloak.kernels.clustering import FAR
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.stats.classes import SensitiveDomain
from tablecloak.values.amounts import most_of


@algorithm("mbf", minimizes="NCP, among records that the largest buckets have to offer")
class MaximumBucketFirst:
    """Form classes of records from the `l` largest buckets of sensitive values, which come from different categories.

    Values whose ancestors `level` levels up are the same are similar and share a bucket. While `l` buckets hold
    records, a class takes one from each of the `l` largest, again until it has the size that the goal needs: of the
    largest any, of the others the nearest to those it has. A record that is left joins the class whose loss rises least
    among those where no bucket then makes up more than 1 / `l`; others are left out up to `suppression_limit`, beyond
    it they join all the same, which a note counts. The source leaves all of them out. Classes that fail the goal are
    then united.

    Guarantee: (l, e)-diversity, no bucket has more than 1 / `l` of a class, except in classes that the note counts. As
    values decide who is with whom, whoever runs the program again may learn more.
    Reference: Wang and others, (l, e)-diversity, 2014, as the source of V-KLT describes it, which does not say which
    record of a bucket is drawn.
    Cost: n^2 / buckets comparisons.
    """

    needs_rows: ClassVar[bool] = True
    needs_sensitive: ClassVar[bool] = True
    reaches_whole: ClassVar[bool] = True  # where all classes are united
    lists_values: ClassVar[bool] = True
    l: Annotated[int, Field(ge=2, description="buckets that every class draws from")] = 2  # noqa: E741
    level: Annotated[
        int, Field(ge=0, description="level of the sensitive column's hierarchy that is a bucket; 0: each value is one")
    ] = 1
    sensitive: Annotated[
        str | None, Field(description="sensitive column whose values are put in buckets; default: the first one")
    ] = None
    suppression_limit: FailingLimit = 0.0

    def refuses(self, goal: Goal) -> str | None:
        return refusal(goal, needs_sensitive=True)

    def comparisons(self, n_records: int, size: int) -> float | None:
        return n_records**2 / max(2, size)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        budget = most_of(problem.table.n_rows, self.suppression_limit)
        solution = self._solved(problem, budget, progress)
        # leaving records out changes the table's own distribution, which some models compare with
        if not problem.goal.admits(solution.stats(problem.table)).all():
            return self._solved(problem, 0, progress)
        return solution

    def _solved(self, problem: Problem, budget: int, progress: Progress) -> Solution:
        points, bucket = points_of(problem.table), self._buckets(problem.table)
        progress.start("solve", points.n)
        clusters = drawn(points, bucket, self.l, cluster_size(problem), progress)
        if len(clusters) == 0:  # there are fewer buckets than a class needs
            clusters.add(range(points.n))
        left = join_where_it_fits(clusters, bucket, self.l)
        for row in left[budget:]:
            clusters.join(int(np.argmin(clusters.costs_with(row))), row)
        solution = solution_of(problem, points, clusters.labels())
        n_uneven = len(uneven(solution.class_of_tuple, bucket, self.l))
        if not n_uneven:
            return solution
        note = (
            f"{n_uneven:,} of {solution.n_classes:,} classes have more than 1/{self.l} of their records from one bucket"
        )
        return replace(solution, notes=(note,))

    def _buckets(self, table: CodedTable) -> IntArray:
        """The bucket of every record, numbered from 0."""
        columns = {domain.name: (domain, codes) for domain, codes in table.attributes()}
        if not columns:
            raise DataError("there is no sensitive column to put in buckets", hint="give one the role sensitive")
        name = self.sensitive or next(iter(columns))
        if name not in columns:
            raise DataError(f"no sensitive column '{name}' to put in buckets", hint=did_you_mean(name, columns))
        domain, codes = columns[name]
        return np.unique(ancestors(domain, self.level)[codes], return_inverse=True)[1].reshape(-1)


def ancestors(domain: SensitiveDomain, level: int) -> IntArray:
    """What every value is so many levels up, (n_values,); without a hierarchy each is itself."""
    tree = domain.hierarchy
    return np.arange(domain.n_values) if tree is None else tree.level_map(min(level, tree.height))


def drawn(points: Points, bucket: IntArray, l: int, size: int, progress: Progress) -> Clusters:  # noqa: E741
    """Classes of at least `size` records, in rounds of one from each of the `l` largest buckets that are left."""
    pools = [Pool(points, np.flatnonzero(bucket == b)) for b in range(int(bucket.max(initial=-1)) + 1)]
    clusters, n_rounds = Clusters(points), -(-size // l)
    while len(members := _members(points, pools, l, n_rounds)) == l * n_rounds:
        clusters.add(members)
        progress.advance(l * n_rounds * len(clusters))
    return clusters


def _members(points: Points, pools: list[Pool], l: int, n_rounds: int) -> list[int]:  # noqa: E741
    """The records of a class, taken from their buckets; fewer where these run out."""
    members: list[int] = []
    for _ in range(n_rounds):
        largest = sorted(range(len(pools)), key=lambda b: (-pools[b].size, b))[:l]
        if len(largest) < l or pools[largest[-1]].size == 0:
            break
        for b in largest:
            row = _nearest(points, pools[b], members) if members else int(pools[b].left()[0])
            pools[b].take([row])
            members.append(row)
    return members


def _nearest(points: Points, pool: Pool, members: list[int]) -> int:
    """The record of a bucket that makes the box of some records least dear."""
    codes = points.codes[:, members]
    costs = points.joined(pool.codes, codes.min(axis=1), codes.max(axis=1))
    return int(pool.rows[np.argmin(np.where(pool.is_gone, FAR, costs))])


def join_where_it_fits(clusters: Clusters, bucket: IntArray, l: int) -> list[int]:  # noqa: E741
    """Put records in the cheapest class whose buckets stay within 1 / `l`; returns those that fit into none."""
    left = []
    labels = clusters.labels()
    for row in np.flatnonzero(labels < 0).tolist():
        alike = np.bincount(labels[(bucket == bucket[row]) & (labels >= 0)], minlength=len(clusters))
        fits = (alike + 1) * l <= clusters.sizes + 1
        if not fits.any():
            left.append(row)
            continue
        labels[row] = int(np.argmin(np.where(fits, clusters.costs_with(row), FAR)))
        clusters.join(int(labels[row]), row)
    return left


def uneven(classes: IntArray, bucket: IntArray, l: int) -> IntArray:  # noqa: E741
    """Classes of which one bucket makes up more than 1 / `l`."""
    kept = classes >= 0
    (pairs, counts), sizes = (
        np.unique(np.stack([classes[kept], bucket[kept]]), axis=1, return_counts=True),
        np.bincount(classes[kept]),
    )
    return np.unique(pairs[0][counts * l > sizes[pairs[0]]])
