"""Worst group protection: no class confines its sensitive values to a narrow range with near certainty."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Monotone, PrivacyModel, model, one_held
from tablecloak.models.fields import OneSensitive, by_category, numbers_held
from tablecloak.stats.classes import ClassStats, Evidence, Histogram
from tablecloak.stats.numeric import windows


@model("wgp", requires="protection", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION)
class WorstGroupProtection(PrivacyModel):
    """In every class a share of at least `protection` of the persons lies outside any range of the given width.

    Formula: 1 - max over ranges r of n_E(r) / (|E| - b) >= protection for every class E, where n_E(r) are the persons
    with a value in r and |E| all of them. A range is an interval of `width` numbers, or a group at a `level` of the
    column's hierarchy (level 0: one value); b = `known`, at most the persons outside r, are those an attacker can rule
    out. The literature gives no formula: this one is ours.

    Protects from: confining a value to a narrow range. Not from: record linkage; add k-anonymity.
    Reference: Loukides, Shao, Preventing range disclosure in k-anonymised data, Expert Systems with Applications 2011.
    """

    holds_in_groups: ClassVar[bool] = True

    protection: Annotated[float, Field(ge=0, lt=1, description="share outside any range; 0.3 to 0.7 is usual")]
    width: Annotated[
        float | None, Field(ge=0, allow_inf_nan=False, description="width of a range of numbers; left out: by level")
    ] = None
    level: Annotated[
        int, Field(ge=0, description="level of the hierarchy whose groups are ranges; 0 or 1 is usual")
    ] = 0
    known: Annotated[int, Field(ge=0, description="persons an attacker can rule out; 0 to 2 is usual")] = 0
    sensitive: OneSensitive = None

    @property
    def min_size(self) -> int:
        return 2 + self.known if self.protection > 0 else 1

    def levels(self, stats: ClassStats) -> FloatArray:
        # A union of classes with n1 <= c (N1 - b) and n2 <= c (N2 - b) has n1 + n2 <= c (N1 + N2 - b): monotone.
        hist, inside = self._ranges(stats)
        outside = hist.records()[hist.entry_class()] - inside
        left = inside + outside - np.minimum(outside, self.known)
        return 1.0 - hist.max_by_class(inside / np.maximum(left, 1.0), empty=1.0)

    def _ranges(self, stats: ClassStats) -> tuple[Histogram, FloatArray]:
        """How many hold each value, and how many one in the range that begins with it, (n_entries,)."""
        if self.width is not None:
            held, numbers = numbers_held(stats, self.sensitive, self.name)
            return held.holders(), held.between(*windows(numbers, self.width)).astype(np.float64)
        held = one_held(stats, self.sensitive, self.name)
        if self.level > 0:
            if held.domain.hierarchy is None:
                raise IncompatibleChoice(
                    f"wgp with a level needs a hierarchy; the sensitive column '{held.domain.name}' has none",
                    hint="give the column a hierarchy, or use width for numbers",
                )
            held = by_category(held, None, self.level)
        hist = held.holders()
        return hist, hist.counts.astype(np.float64)
