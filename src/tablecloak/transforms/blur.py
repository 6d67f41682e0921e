"""blur: numbers vary by some percent, dates by some days."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.transforms._draws import Alone, Distribution
from tablecloak.transforms._line import PER_DAY
from tablecloak.transforms._noisy import Noisy, repeated
from tablecloak.transforms.base import DATES, LINE, Family, Fitting, Transform, transform


@transform("blur", Family.PERTURB, types=LINE)
class Blur(Transform):
    """Numbers vary by up to some percent of themselves, dates by up to some days, evenly; 0 stays 0."""

    is_drawn = True

    percent: Annotated[float, Field(gt=0, le=100, description="largest change of a number, in percent of it")] = 10.0
    days: Annotated[int, Field(ge=1, le=36_525, description="largest change of a date, in days")] = 120

    def fit(self, fitting: Fitting) -> CellStep:
        is_share = fitting.type not in DATES
        scale = self.percent / 100 if is_share else _half_width(self.days, fitting.type)
        draw = Alone(fitting.secret, Distribution.UNIFORM, scale)
        return Noisy(fitting.column, fitting.type, draw, scale, fitting.secret, is_share=is_share)

    def warnings(self, fitting: Fitting) -> list[str]:
        if fitting.type in DATES:
            return repeated(fitting)
        counts = fitting.counts()
        n_zeros = int(counts.filter(counts["value"] == 0)["n"].sum())
        found = [f"{n_zeros} cells are 0, which no percentage changes"] if n_zeros else []
        if fitting.type is ColumnType.INTEGER:
            n_small = int(
                counts.filter((counts["value"].abs() * self.percent < 50) & (counts["value"] != 0))["n"].sum()
            )
            if n_small:
                found.append(f"{n_small} cells are so small that {self.percent:g} % of them rounds to nothing")
        return found + repeated(fitting)


def _half_width(days: int, type_: ColumnType) -> float:
    """Half the width of what is drawn: rounded to whole days, each of 2 d + 1 is equally likely."""
    return math.nextafter(days + 0.5, 0) if type_ is ColumnType.DATE else float(days * PER_DAY[type_])
