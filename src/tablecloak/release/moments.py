"""What transforms do to statistics: mean, deviation, total and correlations before and after, and what is public of it.

Both sides are counted over all rows that were read, where original and changed cells lie side by side. What classes
generalise or leave out afterwards is not in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Engine, Table
from tablecloak.release.facts.public import RECORDS_PER_STEP
from tablecloak.release.plan import Plan
from tablecloak.stats.moments import MomentChanges, Moments, changes_of
from tablecloak.transforms.base import DATES, LINE, NUMBERS, Family

FINEST = 0.01  # of the range of a column, or of a correlation: no public figure is told finer
COARSEST_MEAN = 0.25  # of the range: a mean that can only be told coarser is left out
COARSEST_CORRELATION = 0.2
EPOCH = date(1970, 1, 1)
DIGITS = 12  # engines add up in another order, and agree in so many


@dataclass(frozen=True, slots=True)
class MomentFacts:
    """Columns of numbers and dates before and after transforms changed them."""

    changes: MomentChanges
    spreads: Mapping[str, Moments]  # of all columns that correlations are told of, before
    dates: frozenset[str] = frozenset()

    def to_dict(self) -> dict[str, Any]:
        """`moments` in `--json`: exact, and the steps in which a report tells them."""
        largest = self.changes.largest()
        return {
            "columns": [self._column(name, *sides) for name, sides in self.changes.columns.items()],
            "correlations": [self._pair(*pair) for pair in self.changes.correlations],
            "largest_change": None if largest is None else self._pair(*largest),
        }

    def _column(self, name: str, before: Moments, after: Moments) -> dict[str, Any]:
        is_date = name in self.dates
        return {
            "column": name,
            "is_date": is_date,
            "before": _told(before, is_date=is_date),
            "after": _told(after, is_date=is_date),
            "steps": {**steps_of(before, after), **({"total": None} if is_date else {})},
        }

    def _pair(self, a: str, b: str) -> dict[str, Any]:
        before, after = self.changes.correlations[a, b]
        step = correlation_step(self.spreads[a], self.spreads[b], before)
        return {"columns": [a, b], "before": _digits(before), "after": _digits(after), "step": step}


def moments_of(
    engine: Engine, table: Table, plan: Plan, shown_as: Mapping[str, str], types: Mapping[str, ColumnType]
) -> MomentFacts | None:
    """What transforms that coarsen or perturb do to columns of numbers and dates; None where there are none.

    Args:
        table: with the columns as they were and, under the names in `shown_as`, as they are published.
        types: of the columns in the source; columns that are only kept may lie there as texts.
    """
    changed = [name for name in shown_as if _is_told(table, plan, name, shown_as[name])]
    if not changed or not table.n_rows:
        return None
    kept = [name for name in plan.publication.columns if name not in (*plan.changed, *plan.publication.starred)]
    numeric = [name for name in kept if name in table.types and types.get(name, table.types[name]) in NUMBERS]
    names = [*changed, *numeric]
    published = [shown_as.get(name, name) for name in names]
    before, after = engine.moment_sums(table, [names, published])
    return MomentFacts(
        changes_of(names, before, after, changed),
        {name: before.moments(i) for i, name in enumerate(names)},
        frozenset(name for name in changed if table.types[name] in DATES),
    )


def _is_told(table: Table, plan: Plan, name: str, shown: str) -> bool:
    """Whether a column was numbers or dates, still is, and stands for what it was."""
    if any(each.family not in (Family.COARSEN, Family.PERTURB) for each in plan.changed[name]):
        return False
    before, after = table.types.get(name), table.types[shown]
    return before in LINE and after in LINE and (before in DATES) == (after in DATES)


def _told(moments: Moments, *, is_date: bool) -> dict[str, Any]:
    """The moments of one side; of dates, there is no total and the deviation is in days."""
    mean = moments.mean
    return {
        "n": moments.n,
        "mean": date_of(mean) if is_date and mean is not None else _digits(mean),
        "deviation": _digits(moments.deviation),
        "total": None if is_date else _digits(moments.total),
    }


def _digits(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{DIGITS}g}")


def date_of(days: float) -> str:
    """The day that lies so many days after the beginning of 1970.

    >>> date_of(365.4)
    '1971-01-01'
    """
    return (EPOCH + timedelta(days=math.floor(days))).isoformat()


# What is public -------------------------------------------------------------------------------------------------------


def steps_of(before: Moments, after: Moments) -> dict[str, float | None]:
    """In which steps a report tells the moments of a column; None: not at all, as one record moves them too far.

    A step is what so many records make that go from one end of the column to the other, as a round number, so that it
    tells no more of the ends than their size.
    """
    spread, n = _range(before, after), min(before.n, after.n)
    deviations = [side.deviation for side in (before, after)]
    nothing: dict[str, float | None] = {"mean": None, "deviation": None, "total": None}
    if not n or spread <= 0:
        return nothing
    share = max(FINEST, RECORDS_PER_STEP / n)
    if share > COARSEST_MEAN:
        return nothing
    mean = round_up(share * spread)
    smallest = min((d for d in deviations if d is not None), default=0.0)
    # d s = ((x - m)^2 - (y - m)^2) / 2 n s where a record goes from x to y
    moved = max(FINEST * spread, RECORDS_PER_STEP / n * spread**2 / (2 * smallest)) if smallest > 0 else math.inf
    deviation = round_up(moved) if moved <= smallest else None
    return {"mean": mean, "deviation": deviation, "total": round_up(mean * n)}


def correlation_step(a: Moments, b: Moments, correlation: float | None) -> float | None:
    """In which steps a report tells a correlation; None: not at all.

    A record at the standard scores u and v adds (u v - r (u^2 + v^2) / 2) / n to a correlation r.
    """
    n = min(a.n, b.n)
    far = [_farthest(side) for side in (a, b)]
    if not n or correlation is None or None in far:
        return None
    u, v = (float(score or 0.0) for score in far)
    most = 2 * (u * v + abs(correlation) * (u * u + v * v) / 2)
    step = round_up(max(FINEST, RECORDS_PER_STEP / n * most))
    return step if step <= COARSEST_CORRELATION else None


def _farthest(side: Moments) -> float | None:
    """How many deviations the farthest value is away from the mean."""
    if not side.deviation or side.mean is None or side.low is None or side.high is None:
        return None
    return max(side.high - side.mean, side.mean - side.low) / side.deviation


def _range(*sides: Moments) -> float:
    lows, highs = [s.low for s in sides if s.low is not None], [s.high for s in sides if s.high is not None]
    return max(highs) - min(lows) if lows and highs else 0.0


def round_up(value: float) -> float:
    """The next number that is 1, 2 or 5 times a power of ten.

    >>> round_up(0.012), round_up(3.0), round_up(500.0)
    (0.02, 5.0, 500.0)
    """
    power = math.floor(math.log10(value))
    candidates = (float(f"{digit}e{p}") for p in (power, power + 1) for digit in (1, 2, 5))
    return next(each for each in candidates if each >= value * (1 - 1e-9))
