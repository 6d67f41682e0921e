"""Groups of records that share a published value: how many they must be."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.transforms.base import Fitting

Size: TypeAlias = Annotated[int, Field(ge=2)]
K: TypeAlias = Annotated[
    Size | Literal["auto"] | None,
    Field(description="records that must share each published value; auto: as many as the goals ask for"),
]


def group_size(fitting: Fitting, k: int | Literal["auto"] | None) -> int:
    """How many records must share a value.

    Raises: IncompatibleChoice where that is left to the goals and none says it.
    """
    if isinstance(k, int):
        return k
    if fitting.smallest < 2:
        raise IncompatibleChoice(
            f"column '{fitting.column}': no goal says how many records must share a value",
            hint=f"columns.{fitting.column}.transform.k: 5",
        )
    return fitting.smallest


def require_records(fitting: Fitting, n_records: int, k: int) -> None:
    """Raise DataError unless there are k records with a value, or none at all."""
    if 0 < n_records < k:
        raise DataError(
            f"column '{fitting.column}' has a value in {n_records} records, fewer than the {k} that must share one",
            hint=f"columns.{fitting.column}: another transform, or role: drop",
        )
