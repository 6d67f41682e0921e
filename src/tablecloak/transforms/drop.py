"""drop: the column is not published."""

from __future__ import annotations

from tablecloak.transforms.base import Family, Fitting, Same, Step, Transform, transform


@transform("drop", Family.COVER)
class Drop(Transform):
    """The column is not published."""

    def fit(self, fitting: Fitting) -> Step:
        return Same(None, fitting.type)
