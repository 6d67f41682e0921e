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
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from tablecloak.models.base import Monotone, PrivacyModel, Sense, model
from tablecloak.stats.classes import ClassStats, FloatArray, Needs
from tablecloak.stats.consistency import Consistency

__all__ = ["KConcealment", "KKAnonymity", "KOneAnonymity", "OneKAnonymity", "PairModel"]

Level = Annotated[int, Field(ge=2, description="how many others each hides among, itself included; 3 to 20 is usual")]


class PairModel(PrivacyModel):
    """A model whose level is found on pairs of original and published rows."""

    k: int

    @property
    def required(self) -> float:
        return self.k

    @property
    def min_size(self) -> int:
        return self.k

    @property
    def size_decides(self) -> bool:
        return True

    def levels(self, stats: ClassStats) -> FloatArray:
        """Persons of classes: a lower bound of the level."""
        return stats.persons.astype(np.float64)

    @abstractmethod
    def level_of_pairs(self, pairs: Consistency) -> int | None:
        """The level reached, or None where the graph is too large to say."""

    def relaxed(self, achieved: float) -> Iterable[PrivacyModel]:
        weaker = (int(achieved), int(achieved) // 2) if np.isfinite(achieved) else ()
        own: Any = self
        return [replace(own, k=k) for k in weaker if 2 <= k < self.k]


@model("one-k-anonymity", needs=Needs.ORIGINAL, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class OneKAnonymity(PairModel):
    """Every person of the original could be at least `k` published rows: (1,k)-anonymity.

    A published row could be a person if each of its cells covers that person's value; a person's rows are counted.
    Protects from: someone who knows one person's quasi-identifiers. Not from: someone who also knows other people's.
    Reference: Gionis, Mazza, Tassa, k-anonymization revisited, ICDE 2008.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        return int(pairs.rows_per_original().min())


@model("k-one-anonymity", needs=Needs.ORIGINAL, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class KOneAnonymity(PairModel):
    """Every published row could be at least `k` persons of the original: (k,1)-anonymity.

    A published row could be a person if each of its cells covers that person's value; a row's persons are counted.
    Protects from: reading a published row back to one person. Not from: finding one person's row.
    Reference: Gionis, Mazza, Tassa, k-anonymization revisited, ICDE 2008.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        return int(pairs.originals_per_row().min())


@model("kk-anonymity", needs=Needs.ORIGINAL, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class KKAnonymity(PairModel):
    """Every person could be at least `k` published rows and every published row at least `k` persons: (k,k)-anonymity.

    The smaller of the levels that (1,k)- and (k,1)-anonymity reach.
    Protects from: linking by someone who knows part of the population. Not from: someone who knows everybody in the
    table and can rule out rows that others must have (see k-concealment).
    Reference: Gionis, Mazza, Tassa, k-anonymization revisited, ICDE 2008.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        return int(min(pairs.rows_per_original().min(), pairs.originals_per_row().min()))


@model("k-concealment", needs=Needs.ORIGINAL, monotone=Monotone.BOTH, sense=Sense.AT_LEAST)
class KConcealment(PairModel):
    """Every person could be at least `k` published rows, even for someone who knows everybody in the table.

    A row counts only if all other persons can then still be matched with the other rows.
    Protects from: record linkage by all quasi-identifiers of everybody. Not from: learning a sensitive value that all
    those rows share; the rows need not be equally likely.
    Reference: Tassa, Mazza, Gionis, k-concealment, Transactions on Data Privacy 2012.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        counts = pairs.admissible_rows()
        return None if counts is None else int(counts.min())
