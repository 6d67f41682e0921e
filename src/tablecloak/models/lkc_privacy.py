"""LKC-privacy: whoever knows up to L quasi-identifiers finds K records and guesses no value with confidence above C."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.models.alpha_k_anonymity import AlphaKAnonymity
from tablecloak.models.base import Condition, Monotone, PrivacyModel, Sense, histograms, model
from tablecloak.models.fields import K, Sensitive, Values, largest_shares
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.xy_anonymity import XYAnonymity
from tablecloak.stats.classes import ClassStats, Evidence


@model("lkc-privacy", requires="c", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION, sense=Sense.AT_MOST)
class LKCPrivacy(PrivacyModel):
    """Persons who agree on any `l` quasi-identifiers number at least `k`, and no value has a share above `c` there.

    Formula: |g| >= k and n_g(s) / |g| <= c for every set X of at most l quasi-identifiers, every group g of records
    with equal published values of X and every protected value s, where n_g(s) are the persons of g with s in any of
    their records there, and |g| all its persons.

    Protects from: an attacker who knows few of many quasi-identifiers. Not from: one who knows more than l of them.
    Reference: Mohammed, Fung, Hung, Lee, Anonymizing healthcare data, KDD 2009.
    """

    l: Annotated[  # noqa: E741
        int, Field(ge=1, description="quasi-identifiers an attacker knows; 2 to 4 is usual")
    ]
    k: K
    c: Annotated[float, Field(gt=0, le=1, description="largest share of a protected value; 0.2 to 0.8 is usual")]
    values: Values = None
    sensitive: Sensitive = None

    @property
    def in_search(self) -> PrivacyModel:
        # Groups on fewer columns are unions of classes: at least as large, and shares are mediants of the parts (not
        # so where classes share persons; the recount decides).
        if self.c == 1:
            return KAnonymity(k=self.k) if self.k > 1 else XYAnonymity(k=1)
        return AlphaKAnonymity(alpha=self.c, k=self.k, values=self.values, sensitive=self.sensitive)

    @property
    def note(self) -> str | None:
        return (
            f"{self.name}: searches ask k and c of every class, which implies them for groups on fewer columns; auto "
            "also fits cells one by one, which loses less where l is small"
        )

    def levels(self, stats: ClassStats) -> FloatArray:
        shares = [
            largest_shares(histograms(united, self.sensitive), self.values)[group]
            for united, group in self._groupings(stats)
        ]
        worst: FloatArray = np.max(shares, axis=0)
        return worst

    def conditions(self, stats: ClassStats) -> list[Condition]:
        fewest = np.min([united.persons[group] for united, group in self._groupings(stats)], axis=0)
        return [
            Condition("c", self.levels(stats), self.c, Sense.AT_MOST),
            Condition("k", fewest.astype(np.float64), self.k),
        ]

    def _groupings(self, stats: ClassStats) -> Iterator[tuple[ClassStats, IntArray]]:
        """Groups on every set of l columns; those on fewer columns are unions of them, so they need no look."""
        if stats.labels is None or self.l >= len(stats.labels):
            yield stats, np.arange(stats.n_classes)
            return
        for columns in combinations(stats.labels, self.l):
            yield stats.by_labels(columns)
