"""(epsilon, m)-anonymity: around no number lie more than one m-th of the records of its class."""

from __future__ import annotations

import math
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import TOLERANCE, Monotone, PrivacyModel, model
from tablecloak.models.fields import OneSensitive, may_be_missed, numbers_held
from tablecloak.stats.classes import ClassStats, Evidence
from tablecloak.stats.numeric import neighbors


@model("em-anonymity", requires="m", evidence=Evidence.SENSITIVE, monotone=Monotone.NEITHER)
class EMAnonymity(PrivacyModel):
    """For every sensitive number of a class, at most one `m`-th of the class lies within `epsilon` of it.

    Formula: #{p in E : p holds a y with |y - x| <= epsilon} <= |E| / m for every class E, its persons p and every
    number x in E; with `relative`, |y - x| <= epsilon |x|. An empty cell is near other empty cells only. The level is
    the largest m that holds.

    Protects from: learning a number approximately (proximity breach). Not from: record linkage; add k-anonymity.
    Reference: Li, Tao, Xiao, Preservation of proximity privacy in publishing numerical sensitive data, SIGMOD 2008.
    """

    epsilon: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="what counts as near, in the unit of the column")
    ]
    m: Annotated[float, Field(gt=1, allow_inf_nan=False, description="one m-th may be near; 2 to 5 is usual")]
    relative: Annotated[bool, Field(description="epsilon is a share of the number itself, such as 0.05")] = False
    sensitive: OneSensitive = None

    @property
    def min_size(self) -> int:
        return math.ceil(self.m - TOLERANCE)  # every number is near itself

    @property
    def note(self) -> str | None:
        cut_further = ": classes that violate it are cut further, and the finished table is recounted"
        return may_be_missed(self.name, then=cut_further)

    def levels(self, stats: ClassStats) -> FloatArray:
        held, numbers = numbers_held(stats, self.sensitive, self.name)
        reach = self.epsilon * np.abs(numbers) if self.relative else np.full(len(numbers), self.epsilon)
        holders = held.holders()
        near = holders.max_by_class(held.between(*neighbors(numbers, reach)), empty=1.0)
        return holders.records() / near
