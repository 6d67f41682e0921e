"""Multi-attribute l-diversity: each of several sensitive columns is diverse, even to someone who knows the others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.base import Monotone, all_held, model
from tablecloak.models.fields import MissingCounts, Sensitive, present
from tablecloak.models.l_diversity import DiversityModel, diversity, infimum_c
from tablecloak.stats.classes import ClassStats, Evidence, SensitiveDomain, histogram_of, number_rows
from tablecloak.stats.joint import joint_histogram
from tablecloak.stats.persons import Held, HeldByRecords, held_by_persons, holdings_of, is_by_person


@model("multi-l-diversity", evidence=Evidence.SENSITIVE | Evidence.JOINT)
class MultiLDiversity(DiversityModel):
    """Every sensitive column has at least `l` well represented values in every class, also when the others are known.

    With the counts r1 >= r2 >= ... >= rm of a group (persons who hold each value): distinct m >= l, entropy
    exp(entropy) >= l, recursive r1 < c (rl + ... + rm), in persons as l-diversity has it. A group is
      def8    a class, parted by the values of all other sensitive columns, for each column in turn
      per_sa  a class
    Empty cells add to no diversity, unless `missing_counts`; someone may know that another column is empty.

    Protects from: using one sensitive column to learn another. Not from: skewed or similar values, or record linkage.
    Reference: Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam, ACM TKDD 2007 (multiple sensitive attributes).
    """

    l: Annotated[int, Field(ge=2, description="number of well represented values; 2 to 4 is usual")]  # noqa: E741
    mode: Annotated[
        Literal["def8", "per_sa"], Field(description="def8: the others are known; per_sa: each column by itself")
    ] = "def8"
    variant: Annotated[
        Literal["distinct", "entropy", "recursive"], Field(description="what 'well represented' means")
    ] = "distinct"
    c: Annotated[
        float | None,
        Field(gt=0, allow_inf_nan=False, validate_default=True, description="recursive only; 1 to 5 is usual"),
    ] = None
    sensitive: Sensitive = None
    missing_counts: MissingCounts = False

    @field_validator("c")
    @classmethod
    def _fits_variant(cls, value: Any, info: ValidationInfo) -> Any:
        is_recursive = info.data.get("variant") == "recursive"
        if is_recursive and value is None:
            raise PydanticCustomError("missing_parameter", "is needed by the variant 'recursive'")
        if not is_recursive and value is not None and "variant" in info.data:
            raise PydanticCustomError("unused_parameter", "has a meaning for the variant 'recursive' only")
        return value

    @property
    def monotone(self) -> Monotone:
        """A union of groups is diverse if its parts are; a failing class may bring a group of its own."""
        only_distinct = self.variant == "distinct" and self.mode == "per_sa"
        return Monotone.BOTH if only_distinct else Monotone.GENERALIZATION

    @property
    def monotone_in_persons(self) -> Monotone:
        return self.monotone if self.variant == "distinct" else Monotone.NEITHER  # persons keep their values in a union

    @property
    def min_size(self) -> int:
        return self.l

    def levels(self, stats: ClassStats) -> FloatArray:
        columns = all_held(stats, self.sensitive)
        if self.mode == "per_sa":
            per_column = [self._diversity(h) for h in columns]
        else:
            names = [h.domain.name for h in columns]
            per_column = [self._known_others(stats, h.domain, names) for h in columns]
        worst: FloatArray = np.min(per_column, axis=0) if self.c is None else np.max(per_column, axis=0)
        return worst

    def _diversity(self, held: Held) -> FloatArray:
        present_values = present(held, missing_counts=self.missing_counts)
        if self.c is None:
            return diversity(present_values, self.variant)
        hist = present_values.holders()
        return infimum_c(hist, self.l, protected=np.ones(len(hist.codes), bool))

    def _known_others(self, stats: ClassStats, domain: SensitiveDomain, names: list[str]) -> FloatArray:
        """The worst diversity of one column over the groups of each class, (n_classes,)."""
        held, class_of_group = parted(stats, domain, [name for name in names if name != domain.name])
        level = self._diversity(held)
        empty = 0.0 if self.c is None else np.inf  # a class without records
        worst = np.full(stats.n_classes, empty)
        occupied = np.unique(class_of_group)
        worst[occupied] = np.inf if self.c is None else -np.inf
        (np.minimum if self.c is None else np.maximum).at(worst, class_of_group, level)
        return worst


def parted(stats: ClassStats, domain: SensitiveDomain, others: list[str]) -> tuple[Held, IntArray]:
    """Who holds which value of a column in every class parted by the values of the others; the class of each part."""
    by_person = is_by_person(stats)
    joint = holdings_of(stats) if by_person else joint_histogram(stats, [domain.name, *others])
    assert joint.domain.parts is not None
    other_values = [joint.domain.parts[name][joint.codes] + 1 for name in others]  # -1: what the release does not show
    group, n = number_rows([joint.entry_class(), *other_values], len(joint.codes))
    class_of_group = np.zeros(n, np.int64)
    class_of_group[group] = joint.entry_class()
    own = joint.domain.parts[domain.name]
    if by_person:
        return held_by_persons(stats, own, domain, (group, n)), class_of_group
    return HeldByRecords(histogram_of(group, own[joint.codes], joint.counts, n, domain)), class_of_group
