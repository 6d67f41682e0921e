"""Attacks on a release whose rows are not in memory: its records are put together again from the counts of classes.

Attacks that look at classes see one sensitive attribute at a time, so it does not matter to them which of its values
stand in one row with those of another attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tablecloak import rng
from tablecloak.engines.base import Recount
from tablecloak.report.attacked import TRIED
from tablecloak.risks.base import Exposure, Finding, run_attacks
from tablecloak.risks.case import Case, Sensitive
from tablecloak.stats.classes import ClassStats, Counted, Histogram, side_by_side

__all__ = ["attacks_on_counts"]

IntArray = NDArray[np.int64]
# Of larger releases, classes with about so many records are drawn by lot.
MOST_RECORDS = 1_000_000
# The drawn classes are dealt to so many lots, whose averages say how far the average of all may be off.
LOTS = 20
FROM_ALL = ("prosecutor", "marketer", "known-sensitive")  # whoever guesses takes any of the records
SETTINGS = ("column", "level", "width")  # details that count nothing
STUDENT = 2.093  # 97.5 % point of Student's t with LOTS - 1 degrees of freedom


def attacks_on_counts(recount: Recount, names: Sequence[str] = TRIED) -> tuple[Exposure, ...]:
    """What attackers reach who see the release and know a person's quasi-identifiers; rows cannot be named."""
    share = min(1.0, MOST_RECORDS / max(1, recount.n_rows))
    if share == 1.0:
        return tuple(_placeless(e) for e in run_attacks(_case(side_by_side(recount.parts)), names))
    random = rng.child(0, "attacks")
    drawn = side_by_side([_chosen(p, np.flatnonzero(random.random(p.n_classes) < share)) for p in recount.parts])
    lot = random.integers(0, LOTS, drawn.n_classes)
    lots = [run_attacks(_case(_chosen(drawn, np.flatnonzero(lot == i))), names) for i in range(LOTS)]
    found = run_attacks(_case(drawn), names)
    return tuple(
        _estimated(_placeless(exposure), [one[i] for one in lots], recount.n_rows) for i, exposure in enumerate(found)
    )


def _case(stats: ClassStats) -> Case:
    """Records with the class and, for every attribute, the values that were counted there."""
    counted = stats.hist_of(Counted.SENSITIVE)
    sensitive = tuple(Sensitive(name, h.domain, np.repeat(h.codes, h.counts)) for name, h in counted.items())
    classes = np.repeat(np.arange(stats.n_classes), stats.size)
    with_values = ClassStats(stats.size, counted)
    return Case((), sensitive, classes=classes, stats=ClassStats(stats.size), groups=classes, group_stats=with_values)


def _chosen(stats: ClassStats, classes: IntArray) -> ClassStats:
    """Some of the classes, in the order they are named."""
    counted = stats.hist_of(Counted.SENSITIVE)
    return ClassStats(stats.size[classes], {name: _entries(h, classes) for name, h in counted.items()})


def _entries(hist: Histogram, classes: IntArray) -> Histogram:
    widths = np.diff(hist.indptr)[classes]
    indptr = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    entries = np.repeat(hist.indptr[classes] - indptr[:-1], widths) + np.arange(indptr[-1])
    return replace(hist, indptr=indptr, codes=hist.codes[entries], counts=hist.counts[entries])


def _placeless(exposure: Exposure) -> Exposure:
    return exposure if exposure.finding is None else replace(exposure, finding=replace(exposure.finding, worst=()))


def _estimated(exposure: Exposure, lots: Sequence[Exposure], n_rows: int) -> Exposure:
    """The same for all records, with limits of error."""
    found = exposure.finding
    if found is None:
        return exposure
    note = f"estimated from {found.n_targets:,} records of classes drawn by lot; the highest chance is that among them"
    return replace(
        exposure,
        finding=replace(
            found,
            n_targets=n_rows,
            n_victims=round(found.n_victims * n_rows / max(1, found.n_targets)),
            baseline=1 / n_rows if exposure.attack in FROM_ALL else found.baseline,
            details={name: value for name, value in found.details.items() if name in SETTINGS},
            interval=_limits(found, [lot.finding for lot in lots if lot.finding is not None]),
            n_sampled=found.n_targets,
            notes=(*found.notes, note),
        ),
    )


def _limits(found: Finding, lots: Sequence[Finding]) -> tuple[float, float]:
    """95 % confidence limits of the average: a ratio estimate from lots of classes."""
    sizes = np.array([lot.n_targets for lot in lots], np.float64)
    apart = sizes * (np.array([lot.average for lot in lots]) - found.average)
    error = STUDENT * np.sqrt(np.square(apart).sum() * LOTS / (LOTS - 1)) / max(1.0, float(sizes.sum()))
    return max(0.0, found.average - float(error)), min(1.0, found.average + float(error))
