"""(1,k)-anonymity: every person could be k published rows."""

from __future__ import annotations

from tablecloak.models._pairs import Level, PairModel
from tablecloak.models.base import Monotone, model
from tablecloak.stats.classes import Evidence
from tablecloak.stats.consistency import Consistency


@model("one-k-anonymity", evidence=Evidence.PAIRS, monotone=Monotone.BOTH)
class OneKAnonymity(PairModel):
    """Every person of the original could be at least `k` published rows: (1,k)-anonymity.

    A published row could be a person if each of its cells covers that person's value; a person's rows are counted.
    Protects from: someone who knows one person's quasi-identifiers. Not from: someone who also knows other people's.
    Reference: Gionis, Mazza, Tassa, k-anonymization revisited, ICDE 2008.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        return int(pairs.rows_per_original().min())
