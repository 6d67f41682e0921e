"""noise: random amounts are added to numbers and dates."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import column_type
from tablecloak.rng import Secret
from tablecloak.transforms._draws import Alone, Distribution, Draw, Together, correlated_weights, share_below
from tablecloak.transforms._line import PER_DAY, Bounds, bounds_of, outside, to_units
from tablecloak.transforms._noisy import Balance, Noisy, balanced, repeated
from tablecloak.transforms.base import DATES, LINE, Family, Fitting, Transform, random_of, transform

End = int | float | dt.date
USUAL = 0.1  # of the standard deviation, where no scale is given
FEW_ROWS, FEW_VALUES = 30, 10
_POINTS = 1000  # of a column, where shares are estimated


@transform("noise", Family.PERTURB, types=LINE)
class Noise(Transform):
    """Random amounts are added to numbers and dates, or numbers are multiplied by factors around 1.

    Whole numbers stay whole, dates are moved by days, times by seconds; decimals are rounded to a millionth of the
    scale. Noise alone is no protection: correlated columns and outliers give much of it away.
    Reference: Kim, A method for limiting disclosure in microdata based on random noise and transformation, 1986.
    """

    is_drawn = True

    distribution: Annotated[
        Distribution,
        Field(description="what amounts are drawn from; discrete: cells become other values of the column"),
    ] = Distribution.NORMAL
    scale: Annotated[
        float | None,
        Field(
            gt=0,
            description="standard deviation, b of Laplace or half width, in units of the column (days for dates); "
            "as a share of 1 where mode is multiplicative",
        ),
    ] = None
    relative: Annotated[
        float | None,
        Field(gt=0, description="the scale as a share of the column's standard deviation; 0.1 if left out"),
    ] = None
    mode: Annotated[
        Literal["additive", "multiplicative"], Field(description="whether amounts are added, or values multiplied")
    ] = "additive"
    clip: Annotated[
        tuple[End | None, End | None] | None, Field(description="values between which cells stay; null: no end")
    ] = None
    at_bounds: Annotated[
        Literal["clip", "reflect"], Field(description="what would leave the range ends at its bound, or comes back")
    ] = "clip"
    zero_sum: Annotated[bool, Field(description="the noise of a column adds up to 0, so that its total stays")] = False
    with_: Annotated[
        tuple[str, ...],
        Field(
            alias="with", description="other columns with the same noise: amounts are correlated as their values are"
        ),
    ] = ()
    share: Annotated[float, Field(gt=0, le=1, description="chance that a cell is drawn anew, if discrete")] = 1.0

    @model_validator(mode="after")
    def _is_one_kind_of_noise(self) -> Self:
        is_discrete = self.distribution is Distribution.DISCRETE
        is_factor = self.mode == "multiplicative"
        low, high = self.clip or (None, None)
        wrong = {
            "give scale or relative, not both": self.scale is not None and self.relative is not None,
            "discrete noise has no scale, relative, clip, zero_sum, with or mode": is_discrete
            and (self.scale or self.relative or self.clip or self.zero_sum or self.with_ or is_factor),
            "only discrete noise has a share": not is_discrete and "share" in self.model_fields_set,
            "factors have a scale of their own: give scale, not relative": is_factor and self.relative is not None,
            "only noise that is added can add up to 0: remove zero_sum, or mode": is_factor and self.zero_sum,
            "noise that is cut off does not add up to 0: remove clip or zero_sum": self.clip and self.zero_sum,
            "noise that goes with other columns is normal, added and relative": self.with_
            and (self.distribution is not Distribution.NORMAL or is_factor or self.scale is not None),
            "at_bounds needs clip": self.clip is None and self.at_bounds == "reflect",
            "clip needs two numbers or two dates": low is not None
            and high is not None
            and isinstance(low, dt.date) != isinstance(high, dt.date),
        }
        for message, is_wrong in wrong.items():
            if is_wrong:
                raise ValueError(message)
        if low is not None and high is not None and not low < high:  # type: ignore[operator]
            raise ValueError("the first end of clip must be below the second")
        return self

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return self.with_

    def fit(self, fitting: Fitting) -> CellStep:
        if self.distribution is Distribution.DISCRETE:
            return _Among(fitting.counts()["value"], self.share, fitting.secret)
        is_share = self.mode == "multiplicative"
        if is_share and fitting.type in DATES:
            raise IncompatibleChoice(f"column '{fitting.column}': dates are not multiplied", hint="mode: additive")
        draw, scale = self._drawn(fitting)
        return Noisy(
            column=fitting.column,
            type=fitting.type,
            draw=draw,
            scale=scale,
            secret=fitting.secret,
            is_share=is_share,
            bounds=self._bounds(fitting),
            balance=balanced(fitting, draw) if self.zero_sum else Balance(),
        )

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return None if self.clip is None else outside(cells, self.clip)

    def warnings(self, fitting: Fitting) -> list[str]:
        counts = fitting.counts()
        n, n_values = int(counts["n"].sum()), counts.height
        found = []
        if n < FEW_ROWS or n_values < FEW_VALUES:
            found.append(f"{n} cells with {n_values} different values are too sparse for noise to hide any of them")
        values, weights = _finite_counts(counts, fitting.type)
        spread = _spread(values, weights)
        if self.distribution is Distribution.DISCRETE or not spread:
            return found
        scale = self._scale(fitting, spread)
        compared = 1.0 if self.mode == "multiplicative" else spread
        if scale > compared:
            found.append(f"the scale is {scale / compared:.3g} times the spread of the values: little of them is left")
        elif scale < 0.01 * compared:
            found.append(f"the scale is {scale / compared:.2%} of the spread of the values: little is hidden")
        if self.clip is None:
            found += self._implausible(values, weights, scale)
        return found + self._unchanged(values, weights, scale, fitting.type) + repeated(fitting)

    def _unchanged(self, values: FloatArray, weights: IntArray, scale: float, type_: ColumnType) -> list[str]:
        """Whole numbers and days that noise rounds back to what they were, and zeros that no factor changes."""
        sizes = scale * np.abs(values) if self.mode == "multiplicative" else np.full(len(values), scale)
        reach = 0.0 if type_ is ColumnType.FLOAT else 0.5
        points = np.where(sizes > 0, reach / np.maximum(sizes, 1e-300), np.inf)
        stays = 2 * share_below(self.distribution, points) - 1
        share = float(np.average(stays, weights=weights))
        return (
            [f"about {share:.0%} of the cells stay as they are: the noise rounds to nothing"] if share >= 0.25 else []
        )

    def _implausible(self, values: FloatArray, weights: IntArray, scale: float) -> list[str]:
        """Numbers that the noise will bring where no value was."""
        points = values[np.searchsorted(np.cumsum(weights), (np.arange(_POINTS) + 0.5) / _POINTS * weights.sum())]
        scales = scale * np.abs(points) if self.mode == "multiplicative" else np.full(_POINTS, scale)
        scales = np.maximum(scales, 1e-300)
        negative = share_below(self.distribution, -points / scales).mean() if values[0] >= 0 else 0.0
        below = share_below(self.distribution, (values[0] - points) / scales).mean()
        above = 1 - share_below(self.distribution, (values[-1] - points) / scales).mean()
        hint = "clip says what values can be"
        if negative * weights.sum() >= 1:
            return [f"about {negative:.1%} of the cells become negative, and no value is: {hint}"]
        if below + above >= 0.01:
            return [f"about {below + above:.1%} of the cells leave the range of the values: {hint}"]
        return []

    def _drawn(self, fitting: Fitting) -> tuple[Draw, float]:
        if self.with_:
            return self._drawn_together(fitting)
        spread = np.nan
        if self.scale is None and self.mode == "additive":
            spread = _spread(*_finite_counts(fitting.counts(), fitting.type))
        scale = self._scale(fitting, spread)
        if not scale > 0:
            raise DataError(f"column '{fitting.column}' has no spread that noise could be a share of", hint="scale: 1")
        return Alone(fitting.secret, self.distribution, scale), scale

    def _drawn_together(self, fitting: Fitting) -> tuple[Draw, float]:
        names = sorted({fitting.column, *self.with_})
        self._refuse_others(fitting, names)
        columns = fitting.rows(names).drop_nulls()
        types = {name: _type_of(columns[name], name) for name in names}
        values = np.stack([to_units(columns[name], types[name])[0].astype(np.float64) for name in names], axis=1)
        values = values[np.isfinite(values).all(axis=1)]
        if len(values) < 2 or not (values.std(axis=0) > 0).all():
            raise DataError(
                f"column '{fitting.column}': {len(values)} rows have cells in all of {', '.join(names)}, "
                "and one of these columns has the same everywhere or there are too few rows",
                hint="noise without `with`",
            )
        weights = correlated_weights(values)[names.index(fitting.column)] * (self.relative or USUAL)
        shared = fitting.shared.child("noise together " + json.dumps(names))
        return Together(tuple(shared.child(n) for n in names), tuple(weights.tolist())), float(np.linalg.norm(weights))

    def _refuse_others(self, fitting: Fitting, names: list[str]) -> None:
        """Raise IncompatibleChoice where a column with which amounts are correlated does not get them."""
        for name in self.with_:
            chain = [each for each in fitting.changed.get(name, ()) if isinstance(each, Noise)]
            if not any({name, *each.with_} == set(names) and each.relative == self.relative for each in chain):
                others = ", ".join(n for n in names if n != name)
                raise IncompatibleChoice(
                    f"noise of '{fitting.column}' goes with '{name}', which does not have the same noise",
                    hint=f"columns.{name}.transform: noise with [{others}] and the same relative",
                )

    def _scale(self, fitting: Fitting, spread: float) -> float:
        if self.mode == "multiplicative":
            return self.scale or USUAL
        return self.scale * PER_DAY.get(fitting.type, 1) if self.scale else spread * (self.relative or USUAL)

    def _bounds(self, fitting: Fitting) -> Bounds | None:
        if self.clip is None:
            return None
        return Bounds(*bounds_of(self.clip, fitting.type, fitting.column), reflects=self.at_bounds == "reflect")


@dataclass(frozen=True, slots=True, eq=False)
class _Among:
    """A step that replaces cells by different values of the column, all equally likely."""

    values: pl.Series
    share: float
    secret: Secret = field(repr=False)

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        if not len(self.values):
            return cells
        at = (random_of(self.secret.child("value"), rows.numbers) * len(self.values)).astype(np.int64)
        is_drawn = random_of(self.secret.child("share"), rows.numbers) < self.share
        frame = pl.DataFrame({"old": cells, "new": self.values.gather(at), "is_drawn": is_drawn})
        is_new = pl.col("is_drawn") & pl.col("old").is_not_null()
        return frame.select(pl.when(is_new).then("new").otherwise("old").alias("new")).to_series()


def _finite_counts(counts: pl.DataFrame, type_: ColumnType) -> tuple[FloatArray, IntArray]:
    """Different values in units of the column, ascending, infinite ones left out, and how many cells have each."""
    values = to_units(counts["value"], type_)[0].astype(np.float64)
    is_finite = np.isfinite(values)
    return values[is_finite], counts["n"].to_numpy()[is_finite]


def _spread(values: FloatArray, weights: IntArray) -> float:
    """The standard deviation of values that so many cells have."""
    if not len(values):
        return 0.0
    mean = np.average(values, weights=weights)
    return float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


def _type_of(cells: pl.Series, column: str) -> ColumnType:
    type_ = column_type(column, cells.dtype)
    if type_ not in LINE:
        raise IncompatibleChoice(
            f"noise goes with columns of type {' or '.join(LINE)}, and '{column}' is {type_}",
            hint="leave it out of with",
        )
    return type_
