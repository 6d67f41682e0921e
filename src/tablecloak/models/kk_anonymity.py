"""(k,k)-anonymity: every person could be k published rows, and every published row k persons."""

from __future__ import annotations

from tablecloak.models._pairs import Level, PairModel
from tablecloak.models.base import Monotone, model
from tablecloak.stats.classes import Evidence
from tablecloak.stats.consistency import Consistency


@model("kk-anonymity", evidence=Evidence.PAIRS, monotone=Monotone.BOTH)
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
