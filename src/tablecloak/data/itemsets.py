"""Itemsets: how many records hold those that occur in baskets, by size, and how far they lead to single records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets
from tablecloak.errors import IncompatibleChoice
from tablecloak.kernels.itemset_walk import walk

# Itemsets, each counted in every basket that has it: beyond this one count takes more than a minute.
MOST_ITEMSETS = 500_000_000
# Rare itemsets looked at together; what is left over is found when itemsets are counted again.
MOST_RARE = 100_000


@dataclass(frozen=True, slots=True)
class ItemsetStats:
    """Supports of the itemsets of every size from 1 on; sizes that do not occur have none."""

    n_records: int
    n_itemsets: tuple[int, ...]  # different ones, by size
    lowest: tuple[int, ...]  # records that hold the rarest, by size; 0 where there is none
    n_rare: tuple[int, ...]  # held by fewer than k records, by size

    @property
    def rarest(self) -> int | None:
        """The support of the rarest itemset; None where there is no item at all."""
        return min((low for low in self.lowest if low), default=None)


def count_itemsets(baskets: Baskets, m: int, *, k: int = 2) -> ItemsetStats:
    """The supports of all itemsets of at most m items, exactly.

    Raises: IncompatibleChoice if there are too many to count.
    """
    merged = baskets.distinct()[0]
    require_countable(merged, m)
    numbers, lowest, rare = [0] * m, [0] * m, [0] * m
    for level in walk(merged.items, merged.offsets, merged.weights, merged.n_items, size=m):
        at = level.itemsets.shape[1] - 1
        least = int(level.supports.min())
        numbers[at] += len(level.supports)
        lowest[at] = min(lowest[at], least) if lowest[at] else least
        rare[at] += int((level.supports < k).sum())
    return ItemsetStats(baskets.n_records, tuple(numbers), tuple(lowest), tuple(rare))


@dataclass(frozen=True, slots=True)
class ItemsetRisk:
    """What someone reaches who knows up to so many items of a person: those that the fewest records hold."""

    n_known: int
    least: int  # records that can be the person's, of the most exposed one
    candidates: float  # the same on average
    n_records: int  # persons, one record each
    n_unique: int  # of whom a single record is left
    n_below: int  # of whom fewer than k are left
    highest: float  # chance of singling out the most exposed person
    average: float  # chance of singling out a person, on average

    @property
    def unique_share(self) -> float:
        return self.n_unique / max(1, self.n_records)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the names other reports use."""
        return {
            "known_items": self.n_known,
            "least_candidates": self.least,
            "average_candidates": self.candidates,
            "records": self.n_records,
            "unique": self.n_unique,
            "unique_share": self.unique_share,
            "below_k": self.n_below,
            "below_k_share": self.n_below / max(1, self.n_records),
            "highest": self.highest,
            "average": self.average,
        }


def itemset_risks(candidates: IntArray, *, k: int = 2, weights: IntArray | None = None) -> tuple[ItemsetRisk, ...]:
    """The risk by number of items known, from what `candidates_of` counts.

    Args:
        candidates: (m, n_baskets).
        weights: records that have each basket; None: one.
    """
    persons = np.ones(candidates.shape[1], np.int64) if weights is None else weights
    n_records = int(persons.sum())
    n = max(1, n_records)
    risks = []
    for n_known, of_basket in enumerate(candidates, 1):
        left, place = np.unique(of_basket, return_inverse=True)
        counts = np.bincount(place, weights=persons, minlength=len(left)).astype(np.int64)
        average = math.fsum((counts / left).tolist()) / n  # the same in any order of records
        least = int(left[0]) if len(left) else n
        risks.append(
            ItemsetRisk(
                n_known, least, int(left @ counts) / n, n_records, int(counts[left == 1].sum()),
                int(counts[left < k].sum()), 1 / least, average,
            )
        )  # fmt: skip
    return tuple(risks)


def candidates_of(baskets: Baskets, m: int, *, among: Baskets | None = None) -> IntArray:
    """How many records hold the rarest itemset of at most 1, 2, .. m items of every basket, (m, n_baskets), exactly.

    Of an empty basket nothing is known, so all records are left.

    Args:
        among: the records that are looked through; None: the baskets themselves. Itemsets that none of them holds lead
            nowhere and do not count.

    Raises: IncompatibleChoice if there are too many itemsets to count.
    """
    records = baskets if among is None else among
    # those whose candidates are wanted are no candidates themselves: they weigh nothing
    joined = baskets if among is None else baskets.weightless().joined(among)
    merged, group = joined.distinct()
    require_countable(merged, m)
    left = np.full((m, merged.n_baskets), records.n_records)
    basket_of = merged.rows
    for level in walk(merged.items, merged.offsets, merged.weights, merged.n_items, size=m):
        size = level.itemsets.shape[1]
        supports = np.where(level.supports > 0, level.supports, records.n_records)
        np.minimum.at(left[size - 1], basket_of[level.places], supports[level.number])
    return np.minimum.accumulate(left, axis=0)[:, group[: baskets.n_baskets]]


def rare_itemsets(baskets: Baskets, size: int, k: int, *, n_roots: int | None = None) -> list[tuple[int, ...]]:
    """Itemsets of at most this size that fewer than k records hold, none of which begins with another; not all if many.

    Args:
        n_roots: only those whose first item is below this code.
    """
    rarest: list[tuple[int, ...]] = []
    for level in walk(
        baskets.items, baskets.offsets, baskets.weights, baskets.n_items, size=size, below=k, n_roots=n_roots
    ):
        rare = level.itemsets[level.supports < k]
        rarest.extend(tuple(itemset) for itemset in rare[: MOST_RARE - len(rarest)].tolist())
        if len(rarest) >= MOST_RARE:
            break
    return rarest


def cost_of(baskets: Baskets, m: int) -> int:
    """How many itemsets of at most m items the baskets hold, counted once for each basket."""
    lengths, counts = np.unique(baskets.lengths, return_counts=True)
    return sum(
        int(n) * sum(math.comb(int(length), size) for size in range(1, m + 1))
        for length, n in zip(lengths, counts, strict=True)
    )


def require_countable(baskets: Baskets, m: int, *, hope: int = 1) -> None:
    """Raise IncompatibleChoice if counting itemsets of at most m items would take too long.

    Args:
        hope: how many times fewer there may be once items are generalised.
    """
    cost = cost_of(baskets, m)
    if cost <= MOST_ITEMSETS * hope:
        return
    fits = next((fewer for fewer in range(m - 1, 0, -1) if cost_of(baskets, fewer) <= MOST_ITEMSETS), None)
    longest = int(baskets.lengths.max())
    smaller = [] if fits is None else [f"m: {fits}"]
    raise IncompatibleChoice(
        f"with m={m} there are {_rounded(cost)} itemsets to count, because sets have up to {longest:,} items; "
        f"at most {MOST_ITEMSETS:,} are counted",
        hint=" or ".join([*smaller, "leave out or cut the longest sets"]),
    )


def _rounded(count: int) -> str:
    return f"{count:,}" if count < 10**12 else f"about 10^{len(str(count)) - 1}"
