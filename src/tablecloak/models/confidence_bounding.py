"""Confidence bounding: no rule from quasi-identifiers to a sensitive value holds with more than a given confidence."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass
from pydantic_core import PydanticCustomError

from tablecloak.arrays import FloatArray
from tablecloak.data.table import Role
from tablecloak.models import base
from tablecloak.models.fields import Columns, OneSensitive, Strict, largest_share
from tablecloak.stats.classes import ClassStats, Evidence


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Template:
    """A rule to prevent: records that agree on `x` have value `s` with a confidence below `h`."""

    s: Annotated[str, Field(description="sensitive value to protect")]
    h: Annotated[float, Field(gt=0, le=1, description="limit of the confidence; 0.2 to 0.8 is usual")]
    x: Columns = None

    @property
    def name(self) -> str:
        columns = ", ".join(self.x) if self.x else "all"
        return f"{columns} -> {self.s}"


@base.model("confidence-bounding", evidence=Evidence.SENSITIVE, monotone=base.Monotone.GENERALIZATION)
class ConfidenceBounding(base.PrivacyModel):
    """In every group of records that agree on the columns `x`, the share of the value `s` stays below `h`.

    Formula: n_g(s) / |g| < h for every group g of records with equal published values of x, for every template
    (x, s, h); <= h if not strict. n_g(s) are the persons of g with s in any of their records there, |g| all its
    persons. Values without a template are not protected.

    Protects from: inferring named values with confidence. Not from: record linkage, or values that are not named.
    Reference: Wang, Fung, Yu, Template-based privacy preservation in classification problems, ICDM 2005.
    """

    x: Columns = None
    s: Annotated[str | None, Field(description="sensitive value to protect, if there is one template only")] = None
    h: Annotated[float | None, Field(gt=0, le=1, description="limit of the confidence; 0.2 to 0.8 is usual")] = None
    templates: Annotated[
        tuple[Template, ...] | None,
        Field(min_length=1, description="several rules {x, s, h} at once, instead of x, s, h"),
    ] = None
    strict: Strict = True
    sensitive: OneSensitive = None

    @model_validator(mode="after")
    def _one_form(self) -> ConfidenceBounding:
        single = [name for name in ("x", "s", "h") if getattr(self, name) is not None]
        if self.templates is None and (self.s is None or self.h is None):
            raise PydanticCustomError("missing_parameter", "needs s and h, or templates")
        if self.templates is not None and single:
            raise PydanticCustomError("unused_parameter", "takes either templates or x, s and h")
        return self

    @property
    def rules(self) -> tuple[Template, ...]:
        """The templates, however they were written."""
        if self.templates is not None:
            return self.templates
        assert self.s is not None
        assert self.h is not None
        return (Template(x=self.x, s=self.s, h=self.h),)

    @property
    def sense(self) -> base.Sense:
        return base.Sense.BELOW if self.strict else base.Sense.AT_MOST

    @property
    def required(self) -> float:
        return self.rules[0].h

    @property
    def note(self) -> str | None:
        # Records that agree on x are a union of classes, and the share of a value in a union lies between its shares
        # in the parts (a mediant): classes that satisfy a template make groups that do.
        if all(rule.x is None for rule in self.rules):
            return None
        return f"{self.name}: the search asks it of every class, which implies it for all records that agree on x"

    @property
    def is_asked_of_classes(self) -> bool:
        return all(rule.x is None for rule in self.rules)

    @property
    def usual_limit(self) -> tuple[str, float] | None:
        return None if self.h is None else ("h", 0.5)

    def named_columns(self) -> tuple[base.NamedColumn, ...]:
        by_template = (
            base.NamedColumn(("templates", i, *named.place), named.column, named.roles)
            for i, template in enumerate(self.templates or ())
            for named in base.named_as("x", template.x, Role.QUASI)
        )
        return (
            *base.named_as("x", self.x, Role.QUASI),
            *by_template,
            *base.named_as("sensitive", self.sensitive, Role.SENSITIVE),
        )

    def levels(self, stats: ClassStats) -> FloatArray:
        return self._confidence(stats, self.rules[0])

    def conditions(self, stats: ClassStats) -> list[base.Condition]:
        return [base.Condition(rule.name, self._confidence(stats, rule), rule.h, self.sense) for rule in self.rules]

    def named_values(self) -> tuple[str, ...]:
        return tuple(rule.s for rule in self.rules)

    def _confidence(self, stats: ClassStats, rule: Template) -> FloatArray:
        united, group = base.grouped(stats, rule.x)
        share = largest_share(base.one_histogram(united, self.sensitive, self.name), (rule.s,))
        return np.asarray(share[group])
