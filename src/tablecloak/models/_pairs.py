"""Models that judge original and release together: how many published rows a person could be, or a row persons.

Where every cell covers its original, a class of k records satisfies all of them (k-anonymity implies each), so class
sizes give a lower bound of the level, and searching for classes of k records enforces them. A release whose classes are
smaller is judged on the graph of originals and the published rows that cover them, unless persons have several rows:
the graph counts rows, so then only classes of k persons are known to satisfy them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.models.base import PrivacyModel
from tablecloak.stats.classes import ClassStats, Evidence
from tablecloak.stats.consistency import Consistency

Level = Annotated[int, Field(ge=2, description="how many others each hides among, itself included; 3 to 20 is usual")]


class PairModel(PrivacyModel):
    """A model whose level is found on pairs of original and published rows."""

    requires: ClassVar[str] = "k"
    size_decides: ClassVar[bool] = True

    k: int

    @property
    def min_size(self) -> int:
        return self.k

    def levels(self, stats: ClassStats) -> FloatArray:
        """What the pairs say, (1,); without them the persons of classes, (n_classes,), which are a lower bound."""
        level = None if stats.pairs is None else self.level_of_pairs(stats.pairs)
        return stats.persons.astype(np.float64) if level is None else np.array([float(level)])

    def lacks(self, stats: ClassStats) -> Evidence:
        """The pairs, also where there are too many to count."""
        is_counted = stats.pairs is not None and self.level_of_pairs(stats.pairs) is not None
        return Evidence(0) if is_counted else Evidence.PAIRS

    @abstractmethod
    def level_of_pairs(self, pairs: Consistency) -> int | None:
        """The level reached, or None where the graph is too large to say."""

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        weaker = (int(achieved), int(achieved) // 2) if np.isfinite(achieved) else ()
        own: Any = self
        return [replace(own, k=k) for k in weaker if 2 <= k < self.k]
