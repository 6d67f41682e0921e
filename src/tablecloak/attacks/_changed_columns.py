"""Columns of numbers and dates that were moved by chance: where their cells lie before and after, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.case import Case, Changed, How
from tablecloak.errors import DoesNotApplyError


@dataclass(frozen=True, slots=True, eq=False)
class PerturbedCells:
    """Perturbed columns as numbers; of dates, those of days or microseconds. Missing cells are nan."""

    names: tuple[str, ...]
    before: FloatArray  # (n_rows, n_columns)
    after: FloatArray  # (n_rows, n_columns)

    @property
    def middle(self) -> FloatArray:
        """The mean of every column as it was, (n_columns,)."""
        return np.array([_present(column).mean() if len(_present(column)) else 0.0 for column in self.before.T])

    @property
    def deviations(self) -> FloatArray:
        """The standard deviation of every column as it was, (n_columns,); 1 where all cells are equal."""
        spread = np.array([_present(column).std() if len(_present(column)) else 0.0 for column in self.before.T])
        return np.where(spread > 0, spread, 1.0)

    @property
    def noise(self) -> FloatArray:
        """How far cells were moved on quadratic average, (n_columns,)."""
        squares = [_present(column) ** 2 for column in (self.after - self.before).T]
        return np.array([float(np.sqrt(s.mean())) if len(s) else 0.0 for s in squares])

    @property
    def complete(self) -> PerturbedCells:
        """The rows without missing cells."""
        is_whole = ~(np.isnan(self.before) | np.isnan(self.after)).any(axis=1)
        return PerturbedCells(self.names, self.before[is_whole], self.after[is_whole])


def _present(column: FloatArray) -> FloatArray:
    return column[~np.isnan(column)]


def moved_columns(case: Case) -> PerturbedCells:
    """The perturbed columns of a case; of files, those in which most numbers are others than they were.

    Raises: DoesNotApplyError.
    """
    if "moved" not in case.memo:
        chosen = [c for c in case.changed or _in_files(case) if c.how is How.PERTURBED]
        if not chosen:
            raise DoesNotApplyError("no column of numbers was perturbed")
        sides = [np.stack([_line(getattr(c, side)) for c in chosen], axis=1) for side in ("before", "after")]
        case.memo["moved"] = PerturbedCells(tuple(c.name for c in chosen), *sides)
    moved: PerturbedCells = case.memo["moved"]
    return moved


def _line(cells: pl.Series) -> FloatArray:
    numbers: FloatArray = cells.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return numbers


def _in_files(case: Case) -> Iterator[Changed]:
    """Columns of numbers that were changed in most rows, where rows are in the order of the original."""
    before, after = case.original, case.frame
    if before is None or after is None or before.height != after.height:
        raise DoesNotApplyError("needs the original, and a release with the same rows")
    if not case.is_in_order:
        raise DoesNotApplyError("cannot be told: nothing says that rows are in the order of the original")
    for name in after.columns:
        if name not in before.columns or not before[name].dtype.is_numeric():
            continue
        shown = after[name].cast(pl.String).cast(pl.Float64, strict=False)
        old = before[name].cast(pl.Float64)
        is_changed = shown.null_count() == old.null_count() == 0 and float((shown != old).mean() or 0.0) > 0.5  # type: ignore[arg-type]
        # few different numbers were rounded or averaged, unless they are those of the original in other places
        if is_changed and (shown.n_unique() > after.height // 4 or shown.sort().equals(old.sort(), check_names=False)):
            yield Changed(name, How.PERTURBED, old, shown)


def drawn_rows(case: Case, rng: np.random.Generator) -> IntArray:
    """Rows whose people are targets: all, or as many as an attacker tries."""
    n, most = case.n_rows, case.attacker.sample
    return np.sort(rng.choice(n, most, replace=False)) if most < n else np.arange(n)


def details_of(moved: PerturbedCells) -> dict[str, Any]:
    """Which columns were compared, and in which of them cells were moved least."""
    shares = moved.noise / moved.deviations
    return {"columns": list(moved.names), "weakest": moved.names[int(np.argmin(shares))]}
