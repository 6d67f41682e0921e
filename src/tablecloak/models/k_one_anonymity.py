"""(k,1)-anonymity: every published row could be k persons."""

from __future__ import annotations

from tablecloak.models._pairs import Level, PairModel
from tablecloak.models.base import Monotone, model
from tablecloak.stats.classes import Evidence
from tablecloak.stats.consistency import Consistency


@model("k-one-anonymity", evidence=Evidence.PAIRS, monotone=Monotone.BOTH)
class KOneAnonymity(PairModel):
    """Every published row could be at least `k` persons of the original: (k,1)-anonymity.

    A published row could be a person if each of its cells covers that person's value; a row's persons are counted.
    Protects from: reading a published row back to one person. Not from: finding one person's row.
    Reference: Gionis, Mazza, Tassa, k-anonymization revisited, ICDE 2008.
    """

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        return int(pairs.originals_per_row().min())
