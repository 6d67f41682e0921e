"""Published labels read with good will: what analysts take a cell for, also where it covers no original."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray
from tablecloak.data.coverage import Coverage, coverage_of, places_of
from tablecloak.data.domain import Domain
from tablecloak.values.cell_grammar import bounds, parse


@dataclass(frozen=True, slots=True, eq=False)
class LabelReading:
    """The codes that each distinct label is taken for."""

    coverage: Coverage
    is_unread: BoolArray  # (n_labels,) labels that say nothing about the column; taken for every value


def read_labels(labels: pl.Series, domain: Domain) -> LabelReading:
    """Labels as sets of codes; a number or interval between known values is taken for the nearest of them.

    So means of classes and noisy numbers, which cover no original, still count for what they are close to.
    """
    coverage = coverage_of(labels, domain)
    lo, hi = coverage.lo.copy(), coverage.hi.copy()
    is_unread = coverage.is_empty
    if is_unread.any() and domain.type.is_ordered and len(domain.values):
        places = places_of(domain).astype(np.float64)
        for label in np.flatnonzero(is_unread).tolist():
            code = _nearest(labels[label], places, domain)
            if code is not None:
                lo[label] = hi[label] = code
        is_unread = hi < lo
    lo[is_unread], hi[is_unread] = 0, domain.n_codes - 1
    return LabelReading(Coverage(lo, hi, coverage.sets), is_unread)


def _nearest(label: object, places: FloatArray, domain: Domain) -> int | None:
    """The code whose place is closest to the middle of a number or interval; None where the label is neither."""
    text = None if label is None else str(label)
    at = None if text is None else bounds(parse(text, domain.type.value), domain.type.value)
    if at is None or not np.isfinite(at[0] + at[1]):
        return None
    return int(np.argmin(np.abs(places - (at[0] + at[1]) / 2))) + int(domain.has_missing)
