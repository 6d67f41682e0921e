"""ItemsetStats: how many records hold the itemsets that occur in baskets, by size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

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
