"""drop: the column is not published."""

from __future__ import annotations

from tablecloak.data.changed_columns import CellStep
from tablecloak.transforms.base import Family, Fitting, Same, Transform, transform


@transform("drop", Family.COVER)
class Drop(Transform):
    """The column is not published."""

    def fit(self, fitting: Fitting) -> CellStep:
        return Same(None, fitting.type)
