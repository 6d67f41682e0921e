"""k-concealment: every person could be k published rows, even for someone who knows everybody in the table."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.models._pairs import Level, PairModel
from tablecloak.models.base import Monotone, model
from tablecloak.stats.classes import Evidence
from tablecloak.stats.consistency import Consistency


@model("k-concealment", evidence=Evidence.PAIRS, monotone=Monotone.BOTH)
class KConcealment(PairModel):
    """Every person could be at least `k` published rows, even for someone who knows everybody in the table.

    A row counts only if all other persons can then still be matched with the other rows.
    Protects from: record linkage by all quasi-identifiers of everybody. Not from: learning a sensitive value that all
    those rows share; the rows need not be equally likely.
    Reference: Tassa, Mazza, Gionis, k-concealment, Transactions on Data Privacy 2012.
    """

    sentence: ClassVar[str | None] = "Each person could be any of at least {k} published rows."

    k: Level

    def level_of_pairs(self, pairs: Consistency) -> int | None:
        counts = pairs.admissible_rows()
        return None if counts is None else int(counts.min())
