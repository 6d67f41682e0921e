"""What attacks on sensitive values share: histograms by group, and findings from the chance against each group."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.attacks.base import AttackSuccess, worst_rows
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.classes import Histogram
from tablecloak.stats.numeric import neighbors, records_between, windows

NEEDS_SENSITIVE = "needs a sensitive column (--sensitive NAME, or a policy)"
NEEDS_NUMBERS = "needs a sensitive column of numbers or dates"


def histograms(case: Case) -> Mapping[str, Histogram]:
    """Counts of every sensitive attribute by group; raises DoesNotApplyError where there is none."""
    if not case.group_stats.hist:
        raise DoesNotApplyError(NEEDS_SENSITIVE)
    return case.group_stats.hist


def numeric_histograms(case: Case) -> dict[str, Histogram]:
    """The same for attributes of numbers or dates only."""
    numeric = {name: h for name, h in histograms(case).items() if h.domain.numbers is not None}
    if not numeric:
        raise DoesNotApplyError(NEEDS_NUMBERS)
    return numeric


def near_shares(hist: Histogram, radius: float) -> FloatArray:
    """Share of its class that lies within `radius` of every entry, (n_entries,); of an empty cell 0."""
    numbers = hist.domain.numbers
    assert numbers is not None
    near = records_between(hist, *neighbors(numbers, np.full(len(numbers), radius))) * _is_number(hist)
    return near / np.maximum(hist.records(), 1.0)[hist.entry_class()]


def window_share(hist: Histogram, width: float) -> FloatArray:
    """Largest share of every class inside one range, (n_classes,); empty cells are in none."""
    assert hist.domain.numbers is not None
    inside = records_between(hist, *windows(hist.domain.numbers, width)) * _is_number(hist)
    return hist.max_by_class(inside) / np.maximum(hist.records(), 1.0)


def _is_number(hist: Histogram) -> FloatArray:
    """1 for every entry that is a number, 0 for the missing value: whoever has none does not give a number away."""
    assert hist.domain.numbers is not None
    return (~np.isnan(hist.domain.numbers[hist.codes])).astype(np.float64)


def n_numbers(hist: Histogram) -> FloatArray:
    """Records of every class that have a number, (n_classes,)."""
    return hist.sum_by_class(hist.counts * _is_number(hist))


def range_of(hist: Histogram) -> float:
    """From the least to the greatest number of the whole table."""
    numbers = hist.domain.numbers
    assert numbers is not None
    occurring = numbers[(hist.totals > 0) & np.isfinite(numbers)]
    return min(float(occurring.max()) - float(occurring.min()), sys.float_info.max) if len(occurring) else 0.0


def spreads(hist: Histogram) -> FloatArray:
    """From the least to the greatest number of every class; infinite where a cell is empty."""
    assert hist.domain.numbers is not None
    at = np.nan_to_num(hist.domain.numbers[hist.codes], nan=np.inf)
    with np.errstate(invalid="ignore", over="ignore"):  # a class without any number has no spread
        return hist.max_by_class(at) + hist.max_by_class(-at)


def united(hist: Histogram) -> Histogram:
    """The whole table as one class."""
    codes = np.flatnonzero(hist.totals)
    return Histogram(hist.domain, np.array([0, len(codes)]), codes, hist.totals[codes], hist.totals)


def finding_of_groups(
    case: Case, hist: Histogram, of_group: FloatArray, n_victims: int, *, baseline: float,
    details: Mapping[str, Any] | None = None,
) -> AttackSuccess:  # fmt: skip
    """A finding from the chance against each group; the average counts records."""
    records = hist.records()
    worst, rows_of = worst_rows(case, of_group[case.groups])
    n = int(records.sum())
    return AttackSuccess(
        highest=float(of_group[records > 0].max(initial=0.0)), average=float((of_group * records).sum()) / max(1, n),
        n_targets=n, n_victims=n_victims, worst=worst, rows_of=rows_of, baseline=baseline, details=details or {},
    )  # fmt: skip


def worst_column(
    case: Case, hists: Mapping[str, Histogram], attempt: Callable[[Case, Histogram], AttackSuccess]
) -> AttackSuccess:
    """The finding on the sensitive attribute with the most victims; the details name every one."""
    successes = {name: attempt(case, hist) for name, hist in hists.items()}
    name, worst = max(successes.items(), key=lambda item: item[1].severity)
    rest = {
        n: {"highest": f.highest, "average": f.average, "victims": f.n_victims}
        for n, f in successes.items()
        if n != name
    }
    return replace(worst, details={"column": name, **worst.details, **({"other_columns": rest} if rest else {})})
