"""Count queries: how far answers from the release are from those of the original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.errors import DoesNotApplyError
from tablecloak.metrics.base import Amount, ReleaseCounts, metric
from tablecloak.metrics.compared_records import ComparedRecords
from tablecloak.rng import child

# A query that finds fewer records than this share is held to this share, so that rare hits do not rule the mean.
LEAST_SHARE = 0.001


@dataclass(frozen=True, slots=True)
class Query:
    """How many records lie in a range of every named column?"""

    columns: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]


@metric("query-error", on_request=True)
def query_error(
    counts: ReleaseCounts, *, queries: int = 100, most_columns: int = 3, selectivity: float = 0.05, seed: int = 0
) -> Amount:
    """Query error: mean relative error of random count queries, such as how many are 30 to 40 and female.

      error(query) = |answer on the release - answer on the original| / max(answer on the original, n / 1000)

    Each query asks for a range in one to three columns, sensitive ones included, together about 5 % of the domain.
    On the release, a cell counts for the share of its values that lie in the range, a suppressed record may have any
    value. Queries are drawn with a fixed seed; the standard error is that of drawing other ones. By column: the mean of
    the queries that ask for it. Lower is better.
    Reference: Xiao, Tao, Anatomy: simple and effective privacy preservation, VLDB 2006; LeFevre, DeWitt, Ramakrishnan,
    Workload-aware anonymization, KDD 2006.
    """
    records = counts.records
    if not records.n_before:
        raise DoesNotApplyError("there are no originals")
    drawn = workload([c.n_codes for c in records.columns], queries, most_columns, selectivity, child(seed, "queries"))
    right, estimated = answers(records, drawn)
    errors = np.abs(estimated - right) / np.maximum(right, LEAST_SHARE * records.n_after)
    about = [np.array([i in query.columns for query in drawn]) for i in range(len(records.columns))]
    names = [column.name for column in records.columns]
    parts = {name: float(errors[is_it].mean()) for name, is_it in zip(names, about, strict=True) if is_it.any()}
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else None
    return Amount(float(errors.mean()), parts, spread, records.note)


def workload(
    sizes: list[int], n: int, most_columns: int, selectivity: float, random: np.random.Generator
) -> list[Query]:
    """Random range queries over columns of so many codes; each asks for about `selectivity` of the domain."""
    queries = []
    for _ in range(n):
        n_columns = int(random.integers(1, min(most_columns, len(sizes)) + 1))
        chosen = tuple(sorted(random.choice(len(sizes), n_columns, replace=False).tolist()))
        widths = [max(1, round(sizes[c] * selectivity ** (1 / n_columns))) for c in chosen]
        first = tuple(int(random.integers(0, sizes[c] - w + 1)) for c, w in zip(chosen, widths, strict=True))
        queries.append(Query(chosen, first, tuple(f + w - 1 for f, w in zip(first, widths, strict=True))))
    return queries


def answers(records: ComparedRecords, queries: list[Query]) -> tuple[FloatArray, FloatArray]:
    """What the original and the release answer, (n_queries,) each; a sample of originals is scaled up."""
    right = np.array([_count(records, query) for query in queries]) * records.scale
    return right, np.array([_estimate(records, query) for query in queries])


def _count(records: ComparedRecords, query: Query) -> float:
    hit = None
    for number, first, last in zip(query.columns, query.first, query.last, strict=True):
        codes = records.columns[number].before
        # codes below the range wrap around to large numbers, so one comparison decides
        inside = codes - codes.dtype.type(first) <= codes.dtype.type(last - first)
        hit = inside if hit is None else hit & inside
    assert hit is not None
    return float(np.count_nonzero(hit) if records.counted_before is None else records.counted_before[hit].sum())


def _estimate(records: ComparedRecords, query: Query) -> float:
    """Expected hits: records that hit in exact columns, by group, each counting what its group covers of the range."""
    groups = records.groups
    ends_of = {n: ends for n, *ends in zip(query.columns, query.first, query.last, strict=True)}
    weights = groups.weights
    if any(number in groups.exact for number in ends_of):
        hits = records.weights_after.astype(np.float64)
        for number in ends_of:
            if number in groups.exact:
                column = records.columns[number]
                hits = hits * column.overlap(*ends_of[number])[column.cells]
        weights = np.bincount(groups.of_record, weights=hits, minlength=len(weights)).astype(np.float64)
    for number in ends_of:
        if number in groups.spread:
            column = records.columns[number]
            weights = weights * column.overlap(*ends_of[number])[column.cells[groups.firsts]]
    return float(weights.sum())
