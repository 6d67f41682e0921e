"""Kinds of hierarchies that a policy can ask for, with their parameters."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from tablecloak.errors import CloakError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.periods import months_of

__all__ = [
    "AnySpec", "AutoSpec", "DatesSpec", "HierarchySpec", "IntervalsSpec", "MaskSpec", "OrderSpec", "QuantilesSpec",
    "TreeSpec",
]  # fmt: skip

Factor: TypeAlias = Annotated[int, Field(ge=2)]

Finite: TypeAlias = int | Annotated[float, Field(allow_inf_nan=False)]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class IntervalsSpec(_Spec):
    """Intervals of equal width, united level by level."""

    kind: Literal["intervals"] = "intervals"
    width: Annotated[Finite, Field(gt=0, description="width of the narrowest intervals")]
    factors: list[Factor] | None = Field(
        default=None, description="how many intervals each next level unites; default: pairs, until one is left"
    )
    start: Finite | None = Field(default=None, description="a boundary of every level; default 0")
    closed: bool = Field(default=False, description="write [20, 29] instead of [20, 30); whole numbers only")


class QuantilesSpec(_Spec):
    """Intervals with equally many distinct values, united level by level."""

    kind: Literal["quantiles"] = "quantiles"
    groups: Annotated[int, Field(ge=2, description="intervals on the lowest level")]
    factors: list[Factor] | None = Field(default=None, description="how many each next level unites; default: pairs")


class MaskSpec(_Spec):
    """Characters hidden one by one: 13053, 1305*, 130**, .."""

    kind: Literal["mask"] = "mask"
    from_: Literal["right", "left"] = Field(default="right", alias="from", description="the side hidden first")
    char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    hide: Annotated[int, Field(ge=0, description="characters that are hidden in every published value")] = 0
    never: list[str] = Field(default=[], description="values that begin so (or end, from the left) are hidden wholly")


class DatesSpec(_Spec):
    """Calendar periods: 2020-03-14, 2020-03, 2020-Q1, 2020, [2020, 2029]."""

    kind: Literal["dates"] = "dates"
    levels: Annotated[
        list[str],
        Field(min_length=1, description="fine to coarse: day, month, quarter, year, '5 years', decade, century"),
    ] = ["month", "year", "decade"]
    exact: bool = Field(default=True, description="false: nothing finer than the first level is ever published")

    @field_validator("levels")
    @classmethod
    def _nested(cls, levels: list[str]) -> list[str]:
        months = [months_of(level) for level in levels]
        for finer, coarser, name in zip(months, months[1:], levels[1:], strict=False):
            if coarser <= finer or (finer and coarser % finer):
                raise ValueError(
                    f"'{name}' is not made of whole periods of the level before it; go from fine to coarse"
                )
        return levels


class OrderSpec(_Spec):
    """Consecutive groups of the sorted values."""

    kind: Literal["order"] = "order"
    fanout: Factor = Field(default=10, description="members of every group")


class TreeSpec(_Spec):
    """A tree written out: {Europe: [Italy, Spain], America: [Brazil]}."""

    kind: Literal["tree"] = "tree"
    tree: dict[Any, Any] | list[Any]

    @field_validator("tree")
    @classmethod
    def _readable(cls, tree: dict[Any, Any] | list[Any]) -> dict[Any, Any] | list[Any]:
        try:
            Hierarchy.from_tree(tree)
        except CloakError as exc:
            raise ValueError(f"{exc.message}; {exc.hint}") from exc
        return tree


class AutoSpec(_Spec):
    """A hierarchy from the values alone: blocks of values, number ranges, text groups or masks."""

    kind: Literal["auto"] = "auto"
    method: Literal["distinct", "range", "group", "mask"] = "distinct"
    fanout: Factor = 10
    labels: Literal["values", "numbers"] = Field(
        default="values",
        description="what names a block: the values it holds, or fresh numbers that mean nothing (text columns only)",
    )


AnySpec: TypeAlias = IntervalsSpec | QuantilesSpec | MaskSpec | DatesSpec | OrderSpec | TreeSpec | AutoSpec

HierarchySpec: TypeAlias = Annotated[AnySpec, Field(discriminator="kind")]
