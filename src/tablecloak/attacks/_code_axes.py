"""Where published texts and original values lie, so that rows and people can be compared even if nothing covers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._changed_columns import PerturbedCells, drawn_rows, moved_columns
from tablecloak.attacks.case import Case, Quasi
from tablecloak.data.coverage import places_of
from tablecloak.errors import DoesNotApplyError
from tablecloak.values.cell_grammar import bounds, parse

# Distances of so many pairs are held at a time, and of so many in all.
PAIRS_AT_ONCE = 4_000_000
PAIRS_IN_ALL = 120_000_000
TABLE_UP_TO = 20_000_000


@dataclass(frozen=True, slots=True, eq=False)
class CodeAxis:
    """One quasi-identifier: places of codes and texts on a line, or which texts cover which codes."""

    name: str
    is_ordered: bool
    codes: FloatArray  # (n_codes,) from 0 to 1 along numbers; the code itself for categories
    texts: FloatArray  # (n_labels,) middle of what each text stands for
    reach: FloatArray  # (n_labels,) half the width of what it stands for
    covers: BoolArray | None = None  # (n_codes, n_labels) of categories
    sizes: FloatArray | None = None  # (n_labels,) categories that each text covers


def axes_of(case: Case) -> list[CodeAxis]:
    """Every quasi-identifier as an axis; raises DoesNotApplyError where the original is not known."""
    return [_axis(column) for column in case.quasi]


def _axis(column: Quasi) -> CodeAxis:
    domain, coverage = column.domain, column.coverage
    if domain is None or coverage is None:
        raise DoesNotApplyError("needs the original")
    if domain.type.is_ordered:
        return _ordered(column)
    if domain.n_codes * len(column.texts) > TABLE_UP_TO:
        raise DoesNotApplyError(f"column '{column.name}' has too many values to compare each with each")
    numbers = np.arange(domain.n_codes)
    covers = (numbers[:, None] >= coverage.lo) & (numbers[:, None] <= coverage.hi)
    for label, members in coverage.sets.items():
        covers[:, label] = np.isin(numbers, list(members))
    sizes = np.maximum(coverage.sizes(), 1).astype(np.float64)
    middle = (coverage.lo + coverage.hi) / 2
    return CodeAxis(
        column.name, False, numbers.astype(np.float64), middle, (coverage.hi - coverage.lo) / 2, covers, sizes
    )


def _ordered(column: Quasi) -> CodeAxis:
    domain, coverage = column.domain, column.coverage
    assert domain is not None
    assert coverage is not None
    line = places_of(domain).astype(np.float64)
    first, last = (float(np.nanmin(line)), float(np.nanmax(line))) if len(line) else (0.0, 0.0)
    width = max(last - first, 1e-300)
    places = np.concatenate([np.full(domain.n_codes - len(line), first), line])
    middle, reach = np.full(len(column.texts), (first + last) / 2), np.full(len(column.texts), width / 2)
    for label, text in enumerate(column.texts):
        ends = None if text is None else bounds(parse(text, domain.type.value), domain.type.value)
        if coverage.lo[label] <= coverage.hi[label]:
            inside = places[coverage.lo[label] : coverage.hi[label] + 1]
            low, high = float(np.nanmin(inside)), float(np.nanmax(inside))
        elif ends is not None:
            low, high = (max(ends[0], first) if math.isinf(ends[0]) else ends[0]), ends[1]
            high = last if math.isinf(high) else high
        else:
            continue
        middle[label], reach[label] = (low + high) / 2, (high - low) / 2
    return CodeAxis(column.name, True, (places - first) / width, (middle - first) / width, reach / width)


def place_of_values(case: Case, axis: CodeAxis, series: pl.Series) -> FloatArray:
    """Places of other people's values on an axis; categories that it does not know are nowhere, at -1."""
    column = next(q for q in case.quasi if q.name == axis.name)
    domain = column.domain
    assert domain is not None
    offset = int(domain.has_missing)
    if axis.is_ordered:
        line = places_of(domain).astype(np.float64)
        first, last = float(np.nanmin(line)), float(np.nanmax(line))
        numbers = series.to_physical().cast(pl.Float64).fill_null(first).to_numpy()
        return (numbers - first) / max(last - first, 1e-300)
    leaves = domain.hierarchy.leaf_labels[offset:] if domain.hierarchy else domain.values.cast(pl.String).to_list()
    place = {text: float(code + offset) for code, text in enumerate(leaves)}
    return np.array([place.get(text, -1.0) for text in series.cast(pl.String).to_list()])


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """People drawn as targets, and the classes of rows they are compared with."""

    axes: Sequence[CodeAxis]
    rows: IntArray  # (n_targets,) their published rows
    codes: Sequence[IntArray]  # (n_targets,) by axis
    labels: Sequence[IntArray]  # (n_classes,) by axis
    sizes: FloatArray  # (n_classes,) rows
    classes: IntArray  # (n_targets,) the class of the own row

    def slices(self) -> Iterator[slice]:
        """Targets in parts that fit the memory."""
        step = max(1, PAIRS_AT_ONCE // max(1, len(self.sizes)))
        return (slice(b, min(b + step, len(self.rows))) for b in range(0, len(self.rows), step))

    def chances(self, distances: FloatArray, part: slice) -> FloatArray:
        """Chance that one of the rows at the least distance, drawn at random, is the target's own."""
        least = distances.min(axis=1, keepdims=True)
        is_near = distances <= least + 1e-9
        n_near = is_near @ self.sizes
        is_own = is_near[np.arange(len(distances)), self.classes[part]]
        return np.where(is_own, 1.0 / np.maximum(n_near, 1.0), 0.0)


def pairs_of(case: Case, rng: np.random.Generator) -> Pairs:
    """Targets drawn at random, as many as can be compared with every class."""
    if case.changed:
        return _of_changed(moved_columns(case), drawn_rows(case, rng))
    if case.row_of is None:
        raise DoesNotApplyError("needs the original, and to know which row is whose, to know which link is right")
    axes = axes_of(case)
    most = PAIRS_IN_ALL // max(1, case.stats.n_classes * max(1, len(axes)))
    n = min(case.n_rows, case.attacker.sample, max(100, most))
    rows = np.sort(rng.choice(case.n_rows, n, replace=False)) if n < case.n_rows else np.arange(case.n_rows)
    people = case.row_of[rows]
    codes = [q.codes[people] for q in case.quasi if q.codes is not None]
    return Pairs(axes, rows, codes, case.class_labels(), case.stats.size.astype(np.float64), case.classes[rows])


def _of_changed(moved: PerturbedCells, rows: IntArray) -> Pairs:
    """The same of perturbed cells: places are in standard deviations, and a cell reaches as far as its noise."""
    n, sigma, noise = len(moved.before), moved.deviations, moved.noise / moved.deviations
    before, after = ((x - moved.middle) / sigma for x in (moved.before, moved.after))
    # missing cells are far from all others, and near each other
    gone = 3 + np.nan_to_num(np.abs(np.concatenate([before, after]))).max(axis=0, initial=0.0)
    before, after = (np.where(np.isnan(x), gone, x) for x in (before, after))
    axes = [CodeAxis(name, True, before[:, i], after[:, i], np.full(n, noise[i])) for i, name in enumerate(moved.names)]
    everybody = np.arange(n)
    return Pairs(axes, rows, [rows] * len(axes), [everybody] * len(axes), np.ones(n), rows)
