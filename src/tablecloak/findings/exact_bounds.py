"""Bounds of intervals that are exact values of few people."""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.findings.base import MOST_ALONE, Change, Finding, Fix, Shown, finding


@finding("exact-bounds")
def exact_bounds(shown: Shown) -> Iterator[Finding]:
    """Published intervals of a continuous column or of dates end at values that fewer than k records have.

    An interval that ends at a data point tells that somebody has exactly that value: a birthday, an income, a place.
    Bounds are looked at where the originals are at hand, in columns of decimal numbers, dates and times, and of whole
    numbers with more than 100 values. Up to 1 % of the records may have such an interval. Intervals that begin at the
    1st, 5th, 10th, 15th, 20th or 25th of a month or at a multiple of ten, or end before it, tell of nobody: where every
    value occurs, round bounds lie there.
    """
    for name, bounds in shown.evidence.rare_bounds.items():
        if bounds.n_records <= MOST_ALONE * shown.n_records:
            continue
        yield Finding(
            "exact-bounds",
            f"{bounds.n_bounds:,} bounds of published intervals of '{name}' are exact values of fewer than "
            f"{bounds.k:,} records",
            Fix(
                f"give {name} a hierarchy whose bounds do not depend on the data, such as intervals of one width",
                (Change(f"columns.{name}.hierarchy", dict(bounds.hierarchy)),) if bounds.hierarchy else (),
            ),
            column=name,
            count=bounds.n_records,
            share=bounds.n_records / max(1, shown.n_records),
        )
