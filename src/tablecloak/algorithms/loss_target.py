"""What a search minimises, and the target: the sensitive column that recipients want to predict."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from tablecloak.data.coded import CodedTable
from tablecloak.errors import DataError, did_you_mean
from tablecloak.stats.classes import Counted

# Metrics of cells and classes: what a search can be asked to minimise.
AnyLoss: TypeAlias = Literal[
    "ncp", "gcp", "iloss", "iloss-domain", "minimal-distortion", "precision", "total", "total-il", "star-count",
    "non-uniform-entropy", "ambiguity", "ambiguity-data", "height", "discernibility", "average-class-size",
    "classification", "hce-tdr", "igpl",
]  # fmt: skip
# Those of how well classes tell the target.
TARGET_LOSSES = ("classification", "hce-tdr", "igpl")
LossTarget = Annotated[
    str | None,
    Field(description="sensitive column of the losses classification, hce-tdr and igpl; default: the first one"),
]


def target_of(table: CodedTable, name: str | None) -> int:
    """The number of the named sensitive attribute, or of the first one."""
    names = {s.name: i for i, s in enumerate(table.sensitive) if s.kind is Counted.SENSITIVE}
    if not names:
        raise DataError("there is no sensitive column to be the target", hint="give one the role sensitive")
    if name is None:
        return next(iter(names.values()))
    if name not in names:
        hint = did_you_mean(name, names) or "give it the role sensitive"
        raise DataError(f"no sensitive column '{name}' to be the target", hint=hint)
    return names[name]
