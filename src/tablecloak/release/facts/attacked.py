"""Attacks on a recounted release: what a report says of attackers who see it.

An engine need not have the rows in memory: its records are put together again from the counts of classes, and its
originals from their coded tuples. Attacks that look at classes see one sensitive attribute at a time, so it does not
matter to them which of its values stand in one row with those of another attribute. What they reach is what
`tablecloak attack` reaches on the same files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak import rng
from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.base import AttackResult, AttackSuccess, rows_of_persons, run_attacks
from tablecloak.attacks.case import Case, Quasi, Sensitive
from tablecloak.attacks.row_owners import whose_rows
from tablecloak.data.coverage import Coverage
from tablecloak.engines.base import Coding, Recount, looked_at
from tablecloak.stats.classes import ClassStats, Counted, Histogram, side_by_side

# Attacks that look at classes only: they take a moment even on large tables. `tablecloak attack` tries all.
TRIED = (
    "prosecutor", "marketer", "known-sensitive", "attribute-linkage", "homogeneity", "skewness", "similarity",
    "proximity", "range-disclosure", "worst-case-knowledge",
)  # fmt: skip
# What someone can do who has a register of the people among whom those of the table are.
WITH_REGISTER = ("journalist", "membership")
# What weights of a survey say of them, where a goal had them counted.
WITH_WEIGHTS = ("population-linkage",)
# Of larger releases, classes with about so many records are drawn by lot.
MOST_RECORDS = 1_000_000
# The drawn classes are dealt to so many lots, whose averages say how far the average of all may be off.
LOTS = 20
FROM_ALL = ("prosecutor", "marketer", "known-sensitive")  # whoever guesses takes any of the records
SETTINGS = ("column", "level", "width")  # details that count nothing
STUDENT = 2.093  # 97.5 % point of Student's t with LOTS - 1 degrees of freedom


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """The originals of a release and, where its cells cover them, which codes every published label covers."""

    coding: Coding
    coverage: Mapping[str, Coverage] | None = None
    labels: Mapping[str, pl.Series] | None = None  # different published texts, by column


def attacks_on(
    recount: Recount, background: Background | None = None, *, names: Sequence[str] = TRIED
) -> tuple[AttackResult, ...]:
    """What attackers reach who see the release and know a person's quasi-identifiers; rows are not named.

    Args:
        background: where cells cover originals, a person's rows are all that cover them, else those of their class.
    """
    if names is TRIED and recount.nothing.weighed is not None:
        names = (*names, *WITH_WEIGHTS)
    share = min(1.0, MOST_RECORDS / max(1, recount.n_rows))
    if share == 1.0:
        stats = side_by_side(recount.parts)
        remarks = _of_persons(stats)
        return tuple(placeless(e, remarks) for e in run_attacks(case_of(stats, background), names))
    totals = None if background is None else Background(background.coding)
    drawn = side_by_side(looked_at(recount.parts, _Draw(share)))
    lot = rng.child(0, "lots of attacks").integers(0, LOTS, drawn.n_classes)
    lots = [run_attacks(case_of(_chosen(drawn, np.flatnonzero(lot == i)), totals), names) for i in range(LOTS)]
    exposures = run_attacks(case_of(drawn, totals), names)
    return tuple(
        _estimated(placeless(exposure), [one[i] for one in lots], recount.n_rows)
        for i, exposure in enumerate(exposures)
    )


def case_of(stats: ClassStats, background: Background | None = None) -> Case:
    """Records with the class and, for every attribute, the values that were counted there; beside their originals."""
    counted = {name: _beside_all(h, background) for name, h in stats.hist_of(Counted.SENSITIVE).items()}
    classes = np.repeat(np.arange(stats.n_classes), stats.size)
    sizes, with_values = ClassStats(stats.size), ClassStats(stats.size, counted)
    if background is None or background.coverage is None or stats.labels is None:
        plain = tuple(Sensitive(name, h.domain, np.repeat(h.codes, h.counts)) for name, h in counted.items())
        return Case((), plain, classes, sizes, classes, with_values, weights=_weights(stats))
    coding = background.coding
    quasi = tuple(
        Quasi(domain.name, stats.labels[domain.name][classes], _texts(background, domain.name), domain,
              background.coverage[domain.name],
              _of_rows([(shard.quasi_codes(dim), shard.weights) for shard in coding.shards]))
        for dim, domain in enumerate(coding.domains)
    )  # fmt: skip
    sensitive = tuple(
        Sensitive(name, h.domain, np.repeat(h.codes, h.counts), _sensitive_codes(coding, name))
        for name, h in counted.items()
    )
    whose = whose_rows(quasi, sensitive, len(classes), coding.n_rows) if len(classes) < coding.n_rows else None
    return Case(
        quasi, sensitive, classes, sizes, classes, with_values, n_originals=coding.n_rows,
        row_of=whose.row_of if whose is not None and (whose.row_of >= 0).all() else None, is_covering=True,
        weights=_weights(stats),
    )  # fmt: skip


def _weights(stats: ClassStats) -> FloatArray | None:
    """The mean weight of its class for every record, where weights of a survey were counted."""
    weighed = stats.weighed
    return None if weighed is None else np.repeat(weighed / np.maximum(stats.size, 1), stats.size)


def _texts(background: Background, name: str) -> tuple[str | None, ...]:
    return () if background.labels is None else tuple(background.labels[name].cast(pl.String).to_list())


def _beside_all(hist: Histogram, background: Background | None) -> Histogram:
    """The counts of classes over the values of the whole original, of which some may not be published at all."""
    if background is None:
        return hist
    domain = next((s for s in background.coding.sensitive if s.name == hist.domain.name), None)
    if domain is None or ((codes := hist.domain.codes_in(domain)) < 0).any():
        return hist
    return replace(hist.recoded(codes, domain), totals=background.coding.totals[domain.name])


def _sensitive_codes(coding: Coding, name: str) -> IntArray | None:
    """The code of every original in a sensitive attribute, in the order of the shards."""
    index = next((i for i, s in enumerate(coding.sensitive) if s.name == name), None)
    return None if index is None else _of_rows([(s.sensitive_codes(index), s.weights) for s in coding.shards])


def _of_rows(tuples: Sequence[tuple[IntArray, IntArray]]) -> IntArray:
    """The code of every row, from those of tuples and how many rows have each."""
    parts = [np.repeat(codes, weights) if len(weights) else codes for codes, weights in tuples]
    return np.concatenate([*parts, np.zeros(0, np.int64)]).astype(np.int64)


# Of large releases, classes by lot -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Draw:
    """Some classes of a part, by lot."""

    share: float

    def __call__(self, part: ClassStats, number: int) -> ClassStats:
        random = rng.child(0, f"attacks {number}")
        return _chosen(part, np.flatnonzero(random.random(part.n_classes) < self.share))


def _chosen(stats: ClassStats, classes: IntArray) -> ClassStats:
    """Some of the classes, in the order they are named."""
    counted = {**stats.hist_of(Counted.SENSITIVE), **stats.hist_of(Counted.WEIGHT)}
    return ClassStats(stats.size[classes], {name: _entries(h, classes) for name, h in counted.items()})


def _entries(hist: Histogram, classes: IntArray) -> Histogram:
    widths = np.diff(hist.indptr)[classes]
    indptr = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    entries = np.repeat(hist.indptr[classes] - indptr[:-1], widths) + np.arange(indptr[-1])
    return replace(hist, indptr=indptr, codes=hist.codes[entries], counts=hist.counts[entries])


def placeless(exposure: AttackResult, remarks: tuple[str, ...] = ()) -> AttackResult:
    """A result that names no rows, with further remarks."""
    success = exposure.finding
    if success is None:
        return exposure
    return replace(exposure, finding=replace(success, worst=(), notes=(*success.notes, *remarks)))


def _of_persons(stats: ClassStats) -> tuple[str, ...]:
    """A remark where persons were counted, who may have several rows."""
    keys = [np.unique(hist.codes) for hist in stats.hist_of(Counted.PERSON).values()]
    return rows_of_persons(stats.n_records, len(keys[0])) if keys else ()


def _estimated(exposure: AttackResult, lots: Sequence[AttackResult], n_rows: int) -> AttackResult:
    """The same for all records, with limits of error."""
    success = exposure.finding
    if success is None:
        return exposure
    note = (
        f"estimated from {success.n_targets:,} records of classes drawn by lot; the highest chance is that among them"
    )
    return replace(
        exposure,
        finding=replace(
            success,
            n_targets=n_rows,
            n_victims=round(success.n_victims * n_rows / max(1, success.n_targets)),
            baseline=1 / n_rows if exposure.attack in FROM_ALL else success.baseline,
            details={name: value for name, value in success.details.items() if name in SETTINGS},
            interval=_limits(success, [lot.finding for lot in lots if lot.finding is not None]),
            n_sampled=success.n_targets,
            notes=(*success.notes, note),
        ),
    )


def _limits(success: AttackSuccess, lots: Sequence[AttackSuccess]) -> tuple[float, float]:
    """95 % confidence limits of the average: a ratio estimate from lots of classes."""
    sizes = np.array([lot.n_targets for lot in lots], np.float64)
    apart = sizes * (np.array([lot.average for lot in lots]) - success.average)
    error = STUDENT * np.sqrt(np.square(apart).sum() * LOTS / (LOTS - 1)) / max(1.0, float(sizes.sum()))
    return max(0.0, success.average - float(error)), min(1.0, success.average + float(error))
