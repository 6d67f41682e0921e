"""The class penalty: clusters whose records should share one value of a target column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.clustering.base import Points
from tablecloak.algorithms.loss_target import target_of
from tablecloak.data.coded import CodedTable

Target = Annotated[
    str | None, Field(description="sensitive column that a classifier will predict; clusters avoid mixing its values")
]
ClassPenalty = Annotated[
    float | None,
    Field(ge=0, description="loss added to a cluster where a record has another target than most; default: k"),
]


class Targeted:
    """Clusters may be asked to share the value of a target column."""

    target: str | None

    @property
    def needs_sensitive(self) -> bool:
        return self.target is not None


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """What a record costs in a cluster where most records have another target."""

    target: NDArray[np.int32]  # (n,)
    cost: int  # in units


def penalty_of(
    table: CodedTable, points: Points, target: str | None, class_penalty: float | None, size: int
) -> Penalty | None:
    """The penalty a policy asks for, None without a target column."""
    if target is None:
        return None
    codes = table.sensitive_codes(target_of(table, target)).astype(np.int32)
    return Penalty(codes, round((size if class_penalty is None else class_penalty) * points.unit))
