"""Models that bound the mean chance of singling out a person: some may be exposed more, if others are less."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.base import PrivacyModel
from tablecloak.stats.classes import ClassStats
from tablecloak.stats.persons import mean_of_worst


class AverageModel(PrivacyModel):
    """A model whose level is the mean over the persons of a chance that their class decides.

    What the persons of a union add to the sum is no more than what they add apart.
    """

    limit: float

    @abstractmethod
    def chance(self, persons: IntArray | FloatArray, people: FloatArray | None) -> FloatArray:
        """The chance of everybody in classes of so many persons, who stand for so many people if that was counted."""

    def levels(self, stats: ClassStats) -> FloatArray:
        """The mean chance over the persons of the table, (1,)."""
        if stats.n_classes == 0:
            return np.zeros(0)
        persons, weighed = stats.persons, stats.weighed
        people = None if weighed is None else weighed * (persons / np.maximum(stats.size, 1))
        return np.array([mean_of_worst(stats, self.chance(persons, people))])
