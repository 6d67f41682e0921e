"""Parameters that several models share, and the values of a column they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, WithJsonSchema

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import one_held
from tablecloak.stats.classes import ClassStats, Histogram, SensitiveDomain
from tablecloak.stats.numeric import Coded, by_number
from tablecloak.stats.persons import Held

C = TypeVar("C", bound=Coded)


def _as_tuple(value: Any) -> Any:
    """A mapping from name to values as its values, in order; names are for the reader."""
    return tuple(value.values()) if isinstance(value, Mapping) else value


def _as_pairs(value: Any) -> Any:
    return tuple(value.items()) if isinstance(value, Mapping) else value


Sensitive: TypeAlias = Annotated[
    str | tuple[str, ...] | None, Field(description="sensitive columns it speaks of; all if left out")
]
OneSensitive: TypeAlias = Annotated[
    str | None, Field(description="the sensitive column it speaks of; needed where there are several")
]
Columns: TypeAlias = Annotated[
    tuple[str, ...] | None, Field(min_length=1, description="quasi-identifiers an attacker knows; all if left out")
]
K: TypeAlias = Annotated[int, Field(ge=1, description="smallest class size, in persons; 3 to 20 is usual")]
MissingCounts: TypeAlias = Annotated[
    bool, Field(description="true: an empty cell is a value like others; false: it adds to no diversity")
]
Strict: TypeAlias = Annotated[bool, Field(description="true: shares stay below the limit; false: they may reach it")]
Values: TypeAlias = Annotated[
    tuple[str, ...] | None, Field(min_length=1, description="values to protect; every value if left out")
]
Categories: TypeAlias = Annotated[
    Annotated[tuple[tuple[str, ...], ...], Field(min_length=2)] | None,
    BeforeValidator(_as_tuple),
    Field(description="values of each category, as lists or as {name: list}; from the column's hierarchy if left out"),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "minItems": 2, "items": {"type": "array", "items": {"type": "string"}}},
                {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
                {"type": "null"},
            ],
            "description": "values of each category; from the column's hierarchy if left out",
        }
    ),
]
Share: TypeAlias = Annotated[float, Field(gt=0, le=1)]
Limits: TypeAlias = Annotated[
    tuple[tuple[str, Share], ...],
    BeforeValidator(_as_pairs),
    Field(min_length=1),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0, "maximum": 1}},
                {"type": "array", "minItems": 1, "items": {"type": "array"}},
            ],
            "description": "largest share by value; values without one are free",
        }
    ),
]


def is_named(domain: SensitiveDomain, values: tuple[str, ...] | None) -> BoolArray:
    """Which values of a domain are named, (n_values,); all if nothing is."""
    if values is None:
        return np.ones(domain.n_values, bool)
    return np.array([label in values for label in domain.labels], dtype=bool)


def largest_share(hist: Histogram, values: tuple[str, ...] | None = None) -> FloatArray:
    """The largest share that any of the values has in each class, (n_classes,)."""
    return hist.max_by_class(np.where(is_named(hist.domain, values)[hist.codes], hist.shares(), 0.0))


def largest_shares(hists: Sequence[Histogram], values: tuple[str, ...] | None = None) -> FloatArray:
    """The same over several columns."""
    largest: FloatArray = np.max([largest_share(hist, values) for hist in hists], axis=0)
    return largest


def category_codes(
    domain: SensitiveDomain, categories: tuple[tuple[str, ...], ...] | None, level: int
) -> tuple[IntArray, int]:
    """The category of every value, and how many there are; values in no category share one more, the last."""
    if categories is not None:
        number = {value: i for i, values in enumerate(categories) for value in values}
        rest = len(categories)
        return np.array([number.get(str(label), rest) for label in domain.labels], dtype=np.int64), rest + 1
    if domain.hierarchy is None:
        raise IncompatibleChoice(
            f"the sensitive column '{domain.name}' has neither categories nor a hierarchy",
            hint="add categories to the goal, or a hierarchy to the column",
        )
    nodes = domain.hierarchy.level_map(level)
    # groups of a level in the order of the tree, from left to right
    _, codes = np.unique(domain.hierarchy.first[nodes], return_inverse=True)
    return codes, int(codes.max(initial=-1)) + 1


def by_category(hist: C, categories: tuple[tuple[str, ...], ...] | None, level: int) -> C:
    """The counts of the categories of values."""
    codes, n = category_codes(hist.domain, categories, level)
    return hist.recoded(codes, SensitiveDomain(hist.domain.name, (None,) * n))


def named_in(categories: tuple[tuple[str, ...], ...] | None) -> tuple[str, ...]:
    """Every value that some category names."""
    return tuple(value for values in categories or () for value in values)


def present(hist: C, *, missing_counts: bool = False) -> C:
    """The counts without the missing value, unless it is to count."""
    if missing_counts or None not in hist.domain.labels:
        return hist
    codes = [-1 if label is None else code for code, label in enumerate(hist.domain.labels)]
    return hist.recoded(np.array(codes, dtype=np.int64), hist.domain)


def numbers_held(stats: ClassStats, sensitive: str | None, model_name: str) -> tuple[Held, FloatArray]:
    """The one sensitive column a model speaks of, codes in the order of its numbers, and these, (n_values,)."""
    held = one_held(stats, sensitive, model_name)
    if held.domain.numbers is None:
        raise IncompatibleChoice(
            f"{model_name} needs numbers or dates; the sensitive column '{held.domain.name}' has none",
            hint="choose another model for it, such as l-diversity or t-closeness",
        )
    ordered = by_number(held)
    assert ordered.domain.numbers is not None
    return ordered, ordered.domain.numbers


def may_be_missed(name: str, *, then: str = ", and the finished table is recounted") -> str:
    """What searching for a model means that a union of classes may break."""
    return (
        f"{name}: a union of classes that satisfy it may not, so the search never gives up a branch because "
        f"of it{then}. A release may exist although none is found"
    )
