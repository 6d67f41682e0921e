"""(c, k)-safety: k pieces of background knowledge do not make any sensitive value certain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Monotone, PrivacyModel, Sense, histograms, model
from tablecloak.models.fields import Sensitive
from tablecloak.stats.classes import ClassStats, Evidence, Histogram
from tablecloak.stats.persons import is_by_person


@model("ck-safety", requires="c", evidence=Evidence.SENSITIVE, monotone=Monotone.GENERALIZATION, sense=Sense.BELOW)
class CKSafety(PrivacyModel):
    """Someone who knows who is in which class and any `k` implications is sure of no value to a degree of `c` or more.

    An implication says: if one person has some value, another person (or the same) has some value.
    Formula: 1 / (1 + min Pr(no A, no A1, ..., no Ak) / Pr(A)) < c, over atoms A, A1, ..., Ak, each "person p has
    value s". In a class of N records with counts h1 >= h2 >= ..., Pr(no atoms) is at least the product over
    i = 0, 1, ... of (N - i - (h1 + ... + h_ki)) / (N - i) for some k0 >= k1 >= ... that add up to the number of atoms;
    classes multiply. k = 0 is the largest share in any class. Everybody has one value in this argument: where persons
    have several records, the model is refused.

    Protects from: attribute disclosure to someone with bounded background knowledge. Not from: record linkage.
    Reference: Martin, Kifer, Machanavajjhala, Gehrke, Halpern, Worst-case background knowledge, ICDE 2007.
    """

    holds_in_groups: ClassVar[bool] = True

    c: Annotated[float, Field(gt=0, le=1, description="limit of an attacker's certainty; 0.5 to 0.9 is usual")]
    k: Annotated[int, Field(ge=0, le=20, description="implications an attacker may know; 0 to 5 is usual")]
    sensitive: Sensitive = None

    @property
    def in_search(self) -> PrivacyModel:
        return _SafeAlone(_safe_rate(self.c, self.k), self.k, self.sensitive)

    @property
    def note(self) -> str | None:
        return (
            f"{self.name}: knowledge about one class helps with another, so the search asks a little more of every "
            "class than the finished table needs"
        )

    def levels(self, stats: ClassStats) -> FloatArray:
        """The largest disclosure anywhere in the table, (1,)."""
        if stats.n_classes == 0:
            return np.zeros(0)
        _refuse_persons(stats)
        return np.array([max(disclosure(h, self.k) for h in histograms(stats, self.sensitive))])


@dataclass(frozen=True)
class _SafeAlone(PrivacyModel):
    """What the search asks of a class: j atoms are all wrong with probability of at least rate^j, for every j <= k + 1.

    With atom A among j0 + 1 atoms of one class and the other k - j0 in others, the ratio Pr(no atoms) / Pr(A) is at
    least rate^(j0 + 1) / (1 - rate) * rate^(k - j0) = rate^(k + 1) / (1 - rate), because Pr(A) <= 1 - rate (j = 1).
    The rate is chosen so that this exceeds (1 - c) / c, that is, disclosure stays below c whatever the other classes.
    """

    rate: float
    k: int
    sensitive: str | tuple[str, ...] | None
    name: ClassVar[str] = "ck-safety"
    evidence: ClassVar[Evidence] = Evidence.SENSITIVE
    requires: ClassVar[str] = "rate"

    def levels(self, stats: ClassStats) -> FloatArray:
        _refuse_persons(stats)
        exponent = 1.0 / np.arange(1, self.k + 2)
        worst = [
            np.min(_all_wrong(h, self.k + 1)[:, 1:] ** exponent, axis=1) for h in histograms(stats, self.sensitive)
        ]
        least: FloatArray = np.min(worst, axis=0)
        return least


def _refuse_persons(stats: ClassStats) -> None:
    if is_by_person(stats):
        raise IncompatibleChoice(
            "ck-safety argues about persons who have one value each, and here persons have several records",
            hint="keep one record per person, or use alpha-k-anonymity or confidence-bounding",
        )


def _safe_rate(c: float, k: int) -> float:
    """The least rate with rate^(k + 1) / (1 - rate) above (1 - c) / c, by bisection, a trifle more."""
    low, high, bound = 0.0, 1.0, (1 - c) / c
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if middle ** (k + 1) > bound * (1 - middle) else (middle, high)
    return min(1.0, high + 1e-6)


def disclosure(hist: Histogram, k: int) -> float:
    """The largest probability of an atom, given k implications, over all classes together."""
    wrong = _all_wrong(hist, k + 1)  # (n_classes, k + 2)
    top = hist.max_by_class(hist.shares(), empty=0.0)
    occupied = top > 0
    # state of a set of classes: least Pr(no atoms) with j atoms, and the same over Pr(A) with A and j more
    plain, with_a = wrong[occupied, : k + 1], wrong[occupied, 1:] / top[occupied, None]
    while len(plain) > 1:
        plain, with_a = _paired(plain, with_a)
    return float(1.0 / (1.0 + with_a[0, k])) if len(plain) else 0.0


def _paired(plain: FloatArray, with_a: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Unite sets of classes two by two: atoms are shared out between both, probabilities multiply."""
    half = len(plain) // 2
    p1, p2, a1, a2 = plain[:half], plain[half : 2 * half], with_a[:half], with_a[half : 2 * half]
    both, both_a = np.full_like(p1, np.inf), np.full_like(a1, np.inf)
    for j in range(plain.shape[1]):
        for i in range(j + 1):
            both[:, j] = np.minimum(both[:, j], p1[:, i] * p2[:, j - i])
            both_a[:, j] = np.minimum(both_a[:, j], np.minimum(a1[:, i] * p2[:, j - i], p1[:, i] * a2[:, j - i]))
    return np.concatenate([both, plain[2 * half :]]), np.concatenate([both_a, with_a[2 * half :]])


def _all_wrong(hist: Histogram, n_atoms: int) -> FloatArray:
    """The least probability that j atoms about a class are all wrong, (n_classes, n_atoms + 1)."""
    size = hist.records()
    top = _top_sums(hist, n_atoms)
    least = np.ones((hist.n_classes, n_atoms + 1))
    for j in range(1, n_atoms + 1):
        ways = [_product(size, top, way) for way in _partitions(j, j)]
        least[:, j] = np.min(ways, axis=0)
    return least


def _product(size: FloatArray, top: FloatArray, way: tuple[int, ...]) -> FloatArray:
    """Probability that person i has none of the `way[i]` most frequent values; 1 where there are too few persons."""
    chance = np.ones(len(size))
    for i, n_values in enumerate(way):
        chance *= np.maximum(size - i - top[:, n_values], 0.0) / np.maximum(size - i, 1.0)
    return np.where(size >= len(way), chance, 1.0)


def _top_sums(hist: Histogram, n: int) -> FloatArray:
    """Records of the j most frequent values of every class, (n_classes, n + 1)."""
    order = np.lexsort((-hist.counts, hist.entry_class()))
    rank = np.arange(len(order)) - hist.indptr[hist.entry_class()]
    is_top = rank < n
    top = np.zeros((hist.n_classes, n + 1))
    top[hist.entry_class()[is_top], rank[is_top] + 1] = hist.counts[order][is_top]
    sums: FloatArray = np.cumsum(top, axis=1)
    return sums


def _partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Ways to write a number as a sum of descending parts."""
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in _partitions(total - first, first):
            yield first, *rest
