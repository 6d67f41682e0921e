"""Comparison: risk, loss and distributions of a release beside its original, whoever made the release."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray
from tablecloak.attacks.risk_by_columns import Risk, risk_of_sizes
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Codes, Distinct, Domain, distinct_of, fit_domain
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.base import Recount, SensitiveColumn
from tablecloak.engines.equal_rows import count_alike
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import DataError, require_columns
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source, is_place
from tablecloak.looks import ShowsItself
from tablecloak.measure.attack.judged_columns import only_columns
from tablecloak.measure.labels import PublishedColumn, counts_of_labels, records_of_frames, weighed_by
from tablecloak.measure.other_shapes import finished_of
from tablecloak.measure.perturbed import changed_moments
from tablecloak.metrics.base import Measurement, every, measure
from tablecloak.metrics.compared_records import ComparedRecords, unit_line
from tablecloak.metrics.joint_tables import joints
from tablecloak.metrics.learning import Learning, learn
from tablecloak.models.base import Goal
from tablecloak.policy.schema import Policy
from tablecloak.profile.column import NEAR_UNIQUE
from tablecloak.profile.distribution_distances import Distances, distances
from tablecloak.profile.profile import inspect_frame
from tablecloak.profile.uniqueness import risk_of_frame
from tablecloak.release.finished import original_frame, release_frame
from tablecloak.release.handover import risk_of
from tablecloak.release.moments import MomentFacts
from tablecloak.release.plan import make_plan
from tablecloak.transforms.base import Family

EXACT, SPREAD = "exact", "spread"
IN_GROUPS = (
    "a release in groups shows quasi-identifiers as they are and cuts their links to sensitive columns: risk counts "
    "records that look alike, attacks what groups still tell"
)
# Reading a published label takes Python code; a column with more different labels is not read.
MOST_LABELS = 50_000


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """One column before and after."""

    name: str
    is_quasi: bool
    n_distinct_before: int
    n_distinct_after: int
    loss: float | None  # mean certainty penalty of its cells, suppressed ones losing 1; None if not a quasi-identifier
    weight: float = 1.0  # importance of the column in the loss of the table
    n_unread: int = 0  # different labels that cover no value of the original
    distances: Distances | None = None
    method: str | None = None  # how the distribution after was taken: exact values, or labels spread uniformly

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "quasi": self.is_quasi,
            "distinct_before": self.n_distinct_before,
            "distinct_after": self.n_distinct_after,
            "loss": self.loss,
            "unread_labels": self.n_unread,
            "distances": self.distances.to_dict() if self.distances else None,
            "method": self.method,
        }


@dataclass(frozen=True, slots=True)
class PairTable:
    """Records by two columns, before and as a reader of the release would rebuild them; shares of all records."""

    first: str
    second: str
    before: FloatArray  # (groups of values of the first, of the second)
    after: FloatArray

    def to_dict(self) -> dict[str, Any]:
        """Shares, rounded; groups of values are in their order and not named."""
        tables = {"before": self.before, "after": self.after}
        return {"first": self.first, "second": self.second,
                **{name: np.round(table, 6).tolist() for name, table in tables.items()}}  # fmt: skip


@dataclass(frozen=True, slots=True)
class AxisValue:
    """One number by which releases are held against each other."""

    axis: str  # risk, attack, utility or learning
    name: str
    original: float | None  # what it is for the original, where that says something
    value: float | None
    higher_is_better: bool = False


class Compared(Protocol):
    """A release beside its original, whatever its shape is."""

    @property
    def quasi(self) -> tuple[str, ...]:
        """Columns that others may know about a person."""

    @property
    def loss(self) -> float | None:
        """Global certainty penalty, 0 nothing lost, 1 everything; None where nobody can tell."""

    @property
    def columns(self) -> tuple[ColumnComparison, ...]:
        """Columns that both tables show."""

    @property
    def pairs(self) -> tuple[PairTable, ...]:
        """Records by two columns, where they were asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is to be known about the figures."""

    def axes(self) -> Iterator[AxisValue]:
        """What another release of the same original is held against."""

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak compare --json`."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(ShowsItself):
    """A release beside its original."""

    quasi: tuple[str, ...]
    before: Risk
    after: Risk
    n_suppressed: int  # records of the original that are not published, or only as *
    columns: tuple[ColumnComparison, ...]
    notes: tuple[str, ...] = ()
    metrics: tuple[Measurement, ...] = ()
    learning: Learning | None = None  # where a target was named
    pairs: tuple[PairTable, ...] = ()  # where they were asked for
    published: tuple[Risk, Risk] | None = None  # before and after, for someone who knows every published column
    moments: MomentFacts | None = None  # of columns of numbers and dates that changed and still are such

    @property
    def loss(self) -> float:
        """Global certainty penalty: mean loss of the quasi-identifiers, each counting its weight."""
        judged = [(column.loss, column.weight) for column in self.columns if column.loss is not None]
        return sum(loss * weight for loss, weight in judged) / sum(weight for _, weight in judged)

    def axes(self) -> Iterator[AxisValue]:
        for name, key in (("unique records", "unique_share"), ("highest risk", "highest"), ("average risk", "average")):
            yield AxisValue("risk", name, getattr(self.before, key), getattr(self.after, key))
        if self.published is not None:
            yield AxisValue("risk", "unique knowing everything published", None, self.published[1].unique_share)
        yield AxisValue("utility", "suppressed", None, self.n_suppressed / max(1, self.before.n_records))
        for metric in self.metrics:
            value = float(metric.value) if math.isfinite(metric.value) else None
            yield AxisValue("utility", metric.name, None, value, metric.higher_is_better)
        if self.learning:
            learned = self.learning
            yield AxisValue("learning", f"accuracy for {learned.target}", learned.original, learned.release, True)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak compare --json`."""
        return {
            "quasi": list(self.quasi),
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            **(
                {"published": dict(zip(("before", "after"), (r.to_dict() for r in self.published), strict=True))}
                if self.published
                else {}
            ),
            "suppressed": self.n_suppressed,
            "loss": self.loss,
            "columns": [column.to_dict() for column in self.columns],
            **({"moments": self.moments.to_dict()} if self.moments else {}),
            "metrics": {m.name: m.to_dict() for m in self.metrics},
            **({"learning": self.learning.to_dict()} if self.learning else {}),
            "notes": list(self.notes),
        }


def compare(
    original: Any,
    release: Any,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    target: str | None = None,
    learner: str = "forest",
    with_pairs: bool = False,
) -> Compared:
    """Compare two tables; quasi-identifiers come from the policy, the list, or else are suggested.

    Of a policy of sets, their items are compared.

    Args:
        original: a polars, pandas or Arrow frame, or a place; so may the release be.
        target: a column that models are trained to predict, on the release and on the original.
        learner: how they learn: forest, logistic, tree or bayes.
        with_pairs: also count records by every two columns.

    Raises: DataError if the tables share no quasi-identifier.
    """
    if finished := finished_of(policy, release, original=original, quasi=quasi, target=target):
        return finished.compare()
    before, after = read_tables(original, release, policy=policy, quasi=quasi, target=target)
    return compare_columns(
        before, after, policy=policy, quasi=quasi, target=target, learner=learner, with_pairs=with_pairs
    )


def read_tables(
    original: Any, release: Any, *, policy: Policy | None, quasi: Sequence[str], target: str | None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """An original and its release, with quasi-identifiers of the release as the labels they are."""
    expected = {*quasi, *([target] if target else []), *(policy.columns if policy else ())}
    before = original_frame(original, policy, expected=expected)
    if not is_place(release):
        return before, from_frame(release)
    published = Source.of(release, expected=frozenset(expected | set(before.columns)))
    labelled, _ = _quasi(before, sniff(published).names, policy, quasi, str(release))
    return before, release_frame(published, labelled)


def compare_columns(
    before: pl.DataFrame,
    after: pl.DataFrame,
    *,
    policy: Policy | None,
    quasi: Sequence[str],
    target: str | None,
    learner: str,
    with_pairs: bool = False,
) -> Comparison:
    """Compare two frames of records, column by column."""
    names, notes = _quasi(before, after.columns, policy, quasi, "the release")
    is_bucketing = policy is not None and policy.algorithm.publishes.is_bucketing  # which would refuse the goal
    plan = make_plan(only_columns(policy, names, keeps_algorithm=not is_bucketing), before.columns)
    sensitive = _targets(before, after, policy)
    targets = [SensitiveColumn(name) for name in sensitive]
    recount = LocalEngine().class_stats(table_of(after), names, targets, stars_are_suppressed=True)
    n_suppressed = max(0, before.height - recount.n_rows)
    if recount.n_rows > before.height:
        notes = (*notes, f"the release has {recount.n_rows - before.height:,} rows more than the original")
    if is_bucketing:
        notes = (*notes, IN_GROUPS)
    k = Goal(tuple(policy.goals)).min_size if policy else None
    ways = plan.quasi_columns(table_of(before))
    read = [PublishedColumn.of(before[way.name], way, recount.cells[way.name]) for way in ways]
    judged = [_quasi_column(column, n_suppressed) for column in read]
    others = [kept_column(before[n], after[n]) for n in before.columns if n in after.columns and n not in names]
    attributes = sensitive if policy else _askable(before, others)
    rows = after if recount.is_suppressed is None else after.filter(pl.Series(~recount.is_suppressed))

    def records(*more: str) -> ComparedRecords:
        return records_of_frames(
            read, [*attributes, *(n for n in more if n not in (*attributes, *names))], before, rows
        )

    weights = [n for n in (policy.columns_with(Role.WEIGHT) if policy else ()) if n in before.columns and n in rows]
    weigh = (lambda: weighed_by(weights[0], before, rows, names, recount)) if len(weights) == 1 else None
    learning = None
    if target is not None:
        require_columns([target], before.columns, "the original")
        require_columns([target], after.columns, "the release")
        learning = learn(records(target), target, learner=learner, is_aligned=_is_aligned(read, recount))
    return Comparison(
        tuple(names),
        risk_of_frame(before, names),
        risk_of_sizes(recount.stats.size),
        n_suppressed,
        (*judged, *others),
        (*notes, *_unread_notes(judged)),
        tuple(measure(counts_of_labels(read, recount, before, n_suppressed, k, records, weigh), every())),
        learning,
        _pairs(records()) if with_pairs else (),
        (_risk_of_all(before, after.columns), _risk_of_all(rows, after.columns)),
        changed_moments(before, rows, _perturbed(policy)),
    )


def _perturbed(policy: Policy | None) -> list[str]:
    """Columns whose numbers a policy changes."""
    specs = policy.columns if policy else {}
    families = {name: {each.family for each in spec.transform} for name, spec in specs.items()}
    return [name for name, used in families.items() if used & {Family.COARSEN, Family.PERTURB}]


def _risk_of_all(frame: pl.DataFrame, columns: Sequence[str]) -> Risk:
    """The risk of a table for someone who knows every published column of a person."""
    return risk_of(count_alike(frame, [[name for name in columns if name in frame.columns]])[0])


def _pairs(records: ComparedRecords) -> tuple[PairTable, ...]:
    names = [column.name for column in records.columns]
    if len(names) < 2:
        return ()
    return tuple(PairTable(names[j.columns[0]], names[j.columns[1]], j.before, j.after) for j in joints(records))


# Which columns are quasi-identifiers ----------------------------------------------------------------------------------


def _quasi(
    before: pl.DataFrame, published: Sequence[str], policy: Policy | None, names: Sequence[str], location: str
) -> tuple[list[str], tuple[str, ...]]:
    """The quasi-identifiers to compare, and a remark on where they come from."""
    wanted = list(names) or (policy.columns_with(Role.QUASI) if policy else [])
    for name in wanted:
        require_columns([name], before.columns, "the original")
        require_columns([name], published, location)
    if wanted:
        return list(dict.fromkeys(wanted)), ()
    suggestions = [name for name in inspect_frame(before).quasi if name in published]
    if not suggestions:
        raise DataError("no quasi-identifier is in both tables", hint="name them: --quasi age,sex,zip")
    return suggestions, (f"quasi-identifiers were suggested, not given: {', '.join(suggestions)}",)


def _askable(before: pl.DataFrame, others: Sequence[ColumnComparison]) -> list[str]:
    """Other columns that analyses may ask for: not the keys, in which nearly every row differs."""
    few = NEAR_UNIQUE * before.height
    return [c.name for c in others if c.distances is not None and 1 < c.n_distinct_before < few]


def _is_aligned(read: Sequence[PublishedColumn], recount: Recount) -> bool:
    """Row i of the release covers row i of the original, and no row is missing."""
    if recount.is_suppressed is not None:
        return False
    return all(len(c.codes) == recount.n_rows and c.coverage.holds_rows(c.labels, c.codes).all() for c in read)


def _unread_notes(columns: Sequence[ColumnComparison]) -> list[str]:
    return [
        f"{column.n_unread:,} labels of '{column.name}' cover no value of the original and count as lost"
        for column in columns
        if column.n_unread
    ]


# One column -----------------------------------------------------------------------------------------------------------


def _quasi_column(read: PublishedColumn, n_suppressed: int) -> ColumnComparison:
    counts, coverage = _counts(read.labels), read.coverage
    lost = float(counts @ read.losses) + n_suppressed
    column_distances, method = _label_distances(read.domain, read.codes, coverage, counts)
    return ColumnComparison(
        name=read.way.name,
        is_quasi=True,
        n_distinct_before=read.n_distinct,
        n_distinct_after=int(np.count_nonzero(counts)),
        loss=lost / max(1.0, float(counts.sum()) + n_suppressed),
        weight=read.way.weight,
        n_unread=int(np.count_nonzero((coverage.hi < coverage.lo) & (counts > 0))),
        distances=column_distances,
        method=method,
    )


def _counts(labels: Distinct) -> FloatArray:
    """Published records with each label, (n_labels,)."""
    return np.bincount(labels.index, minlength=len(labels.values)).astype(np.float64)


def _label_distances(
    domain: Domain, codes: Codes, coverage: Coverage, counts: FloatArray
) -> tuple[Distances | None, str | None]:
    """Distances where every label is spread uniformly over the values it covers; suppressed records are left out."""
    sizes = coverage.sizes()
    is_read = (sizes > 0) & (counts > 0)
    if not is_read.any():
        return None, None
    after = np.zeros(domain.n_codes + 1)
    plain = np.array([label for label in np.flatnonzero(is_read) if label not in coverage.sets], np.int64)
    weight = counts[plain] / sizes[plain]
    np.add.at(after, coverage.lo[plain], weight)
    np.add.at(after, coverage.hi[plain] + 1, -weight)
    spread = np.cumsum(after)[:-1]
    for label, members in coverage.sets.items():
        spread[list(members)] += counts[label] / sizes[label]
    before = np.bincount(codes, minlength=domain.n_codes).astype(np.float64)
    method = EXACT if (sizes[is_read] == 1).all() else SPREAD
    return distances(before, np.maximum(spread, 0.0), unit_line(domain.line())), method


def kept_column(before: pl.Series, after: pl.Series) -> ColumnComparison:
    """A column that is not a quasi-identifier: its values as published, or its labels if they are of another type."""
    name = before.name
    before_type, after_type = column_type(name, before.dtype), column_type(name, after.dtype)
    column_distances: Distances | None = None
    method: str | None = None
    if before_type is after_type or {before_type, after_type} <= {ColumnType.INTEGER, ColumnType.FLOAT}:
        column_distances, method = _value_distances(before, after), EXACT
    elif after.n_unique() <= MOST_LABELS:
        domain, codes = fit_domain(before, before_type)
        labels = distinct_of(after.cast(pl.String).cast(pl.Categorical))
        column_distances, method = _label_distances(domain, codes, coverage_of(labels.values, domain), _counts(labels))
    return ColumnComparison(
        name, False, before.n_unique(), after.n_unique(), loss=None, distances=column_distances, method=method
    )


def _value_distances(before: pl.Series, after: pl.Series) -> Distances | None:
    """Distances of the shares of single values, the missing one being a value too."""
    if not len(before) or not len(after):
        return None
    left, right = _comparable(before, after)
    counted = (
        left.value_counts(name="p")
        .join(right.value_counts(name="q"), on="value", how="full", nulls_equal=True, coalesce=True)
        .sort("value")
    )
    p, q = (counted[side].fill_null(0).to_numpy().astype(np.float64) for side in ("p", "q"))
    values = counted["value"]
    is_ordered = values.dtype.is_numeric() or values.dtype.is_temporal()
    return distances(p, q, unit_line(values.to_physical().cast(pl.Float64).to_numpy()) if is_ordered else None)


def _comparable(before: pl.Series, after: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Both as text or as numbers, under one name."""
    if before.dtype.is_numeric():
        return before.cast(pl.Float64).alias("value"), after.cast(pl.Float64).alias("value")
    if before.dtype == after.dtype and before.dtype != pl.Categorical:
        return before.alias("value"), after.alias("value")
    return before.cast(pl.String).alias("value"), after.cast(pl.String).alias("value")


def _targets(before: pl.DataFrame, after: pl.DataFrame, policy: Policy | None) -> list[str]:
    """Sensitive columns that both tables have in the same type."""
    named = policy.columns_with(Role.SENSITIVE) if policy else []
    return [n for n in named if n in before.columns and n in after.columns and _type(before, n) is _type(after, n)]


def _type(frame: pl.DataFrame, name: str) -> ColumnType:
    return column_type(name, frame[name].dtype)
