"""Whose row is whose: an original for every published row, by what is published and never by the order of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.attacks.case import Quasi, Sensitive
from tablecloak.data.coverage import Coverage
from tablecloak.data.row_origins import Equal, Generalized, TooManyPairsError, assigned, candidates_of
from tablecloak.stats.classes import Histogram


@dataclass(frozen=True, slots=True, eq=False)
class Whose:
    """The originals of published rows."""

    row_of: IntArray  # (n_rows,) -1 where no original fits
    is_certain: bool  # no other way to match them puts anybody in another class


def whose_rows(
    quasi: Sequence[Quasi], exact: Sequence[Sensitive], n_rows: int, n_originals: int,
    groups: tuple[IntArray, Mapping[str, Histogram], Sequence[Sensitive]] | None = None,
) -> Whose | None:  # fmt: skip
    """As many published rows as possible get an original of their own that they cover and whose values they show.

    Where there are several ways one is taken, the same whatever the order of both tables.

    Args:
        exact: sensitive attributes that stand beside each row as they were.
        groups: the group of every row, what is counted in groups, and the attributes whose link was cut inside them;
            an original fits a row only if its group has the value.

    Returns: None where there are too many pairs to look at.
    """
    usable = [q for q in quasi if q.codes is not None and q.coverage is not None]
    if len(usable) < len(quasi) or not n_rows or not n_originals:
        return None
    generalized = [_generalized(q) for q in usable]
    if groups is not None:
        number, hists, cut = groups
        generalized += [_in_group(s, number, hists[s.name]) for s in cut if s.originals is not None and s.name in hists]
    equal = [
        Equal(s.name, s.codes, s.originals) for s in exact if s.codes is not None and s.originals is not None
    ]  # fmt: skip
    by_row = np.lexsort([*(g.labels for g in generalized), *(e.published for e in equal)])
    by_original = np.lexsort([*(g.codes for g in generalized), *(e.originals for e in equal)])
    generalized = [Generalized(g.name, g.coverage, g.labels[by_row], g.codes[by_original]) for g in generalized]
    equal = [Equal(e.name, e.published[by_row], e.originals[by_original]) for e in equal]
    try:
        assignment = assigned(candidates_of(generalized, n_rows, n_originals), equal)
    except TooManyPairsError:
        return None
    row_of = np.full(n_rows, -1, np.int64)
    row_of[by_row] = np.where(assignment.row_of >= 0, by_original[np.maximum(assignment.row_of, 0)], -1)
    return Whose(row_of, assignment.is_certain)


def _generalized(column: Quasi) -> Generalized:
    """The column with labels numbered by their text, which does not depend on the order of rows."""
    assert column.coverage is not None
    assert column.codes is not None
    order = np.array(sorted(range(len(column.texts)), key=lambda i: (column.texts[i] or "", i)), np.int64)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    coverage = column.coverage
    sets = {int(place[label]): members for label, members in coverage.sets.items()}
    return Generalized(
        column.name, Coverage(coverage.lo[order], coverage.hi[order], sets), place[column.labels], column.codes
    )


def _in_group(column: Sensitive, groups: IntArray, hist: Histogram) -> Generalized:
    """A sensitive attribute of which a row says only its group: it covers the values that the group has."""
    assert column.originals is not None
    members = [frozenset(hist.codes[a:b].tolist()) for a, b in zip(hist.indptr[:-1], hist.indptr[1:], strict=True)]
    lo = np.array([min(m, default=0) for m in members], np.int64)
    hi = np.array([max(m, default=-1) for m in members], np.int64)
    return Generalized(column.name, Coverage(lo, hi, dict(enumerate(members))), groups, column.originals)
