"""Published labels read with good will: what analysts take a cell for, also where it covers no original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coverage import Coverage, coverage_of, places_of
from tablecloak.data.domain import Domain
from tablecloak.values import bounds, parse

__all__ = ["Reading", "read_labels"]


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """The codes that each distinct label is taken for."""

    coverage: Coverage
    is_unread: NDArray[np.bool_]  # (n_labels,) labels that say nothing about the column; taken for every value


def read_labels(labels: pl.Series, domain: Domain) -> Reading:
    """Labels as sets of codes; a number or interval between known values is taken for the nearest of them.

    So means of classes and noisy numbers, which cover no original, still count for what they are close to.
    """
    found = coverage_of(labels, domain)
    lo, hi = found.lo.copy(), found.hi.copy()
    is_unread = hi < lo
    if is_unread.any() and domain.type.is_ordered and len(domain.values):
        places = places_of(domain).astype(np.float64)
        for label in np.flatnonzero(is_unread).tolist():
            code = _nearest(labels[label], places, domain)
            if code is not None:
                lo[label] = hi[label] = code
        is_unread = hi < lo
    lo[is_unread], hi[is_unread] = 0, domain.n_codes - 1
    return Reading(Coverage(lo, hi, found.sets), is_unread)


def _nearest(label: object, places: NDArray[np.float64], domain: Domain) -> int | None:
    """The code whose place is closest to the middle of a number or interval; None where the label is neither."""
    text = None if label is None else str(label)
    at = None if text is None else bounds(parse(text, domain.type.value), domain.type.value)
    if at is None or not np.isfinite(at[0] + at[1]):
        return None
    return int(np.argmin(np.abs(places - (at[0] + at[1]) / 2))) + int(domain.has_missing)
