"""Counting itemsets: supports of everything that occurs in baskets, walked prefix by prefix in bounded memory.

The walk is that of a count tree whose branches are never kept: prefixes are extended a batch at a time, in plain numpy.
A multiset is walked by its first copies: a copy is taken only right after the copy before it, so each is met once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import BoolArray, IntArray

# Extensions made at once: a prefix that has more of them alone is not cut apart.
BATCH = 1 << 21
# Keys in a span this wide are counted in an array, others are sorted.
DENSE = 1 << 22


@dataclass(frozen=True, slots=True, eq=False)
class ItemsetBatch:
    """Itemsets of one size that begin with the same few prefixes, with their supports."""

    itemsets: IntArray  # (n_itemsets, size)
    supports: IntArray  # (n_itemsets,)
    places: IntArray  # (n_occurrences,) where their last item stands among the items of all baskets, each once a basket
    number: IntArray  # (n_occurrences,) which itemset ends there


@dataclass(frozen=True, slots=True, eq=False)
class _Flat:
    """Baskets as one line of occurrences."""

    items: IntArray  # (n_occurrences,)
    ends: IntArray  # (n_occurrences,) where the basket of an occurrence ends
    weights: IntArray  # (n_occurrences,) of its basket
    is_copy: BoolArray  # (n_occurrences,) the occurrence before it is the same item of the same basket
    n_items: int


def walk(
    items: IntArray, offsets: IntArray, weights: IntArray, n_items: int, *, size: int, below: int = 0,
    n_roots: int | None = None,
) -> Iterator[ItemsetBatch]:  # fmt: skip
    """All itemsets up to a size that occur, in batches; those of one batch have one size.

    Args:
        below: itemsets of a smaller support are shown, but not extended: whatever holds them is rarer still.
        n_roots: only itemsets whose first item is below this code.
    """
    flat = _flat(items, offsets, weights, n_items)
    starts = np.flatnonzero(~flat.is_copy & (flat.items < (n_items if n_roots is None else n_roots)))
    itemsets, number, supports = _counted(flat.items[starts], flat.weights[starts], n_items)
    if not len(itemsets):
        return
    level = ItemsetBatch(itemsets[:, None], supports, starts, number)
    yield level
    if size > 1:
        yield from _extended(flat, level, size, below)


def _flat(items: IntArray, offsets: IntArray, weights: IntArray, n_items: int) -> _Flat:
    lengths = np.diff(offsets)
    is_copy = np.zeros(len(items), bool)
    is_copy[1:] = items[1:] == items[:-1]
    starts = offsets[:-1][lengths > 0]
    is_copy[starts] = False
    return _Flat(items, np.repeat(offsets[1:], lengths), np.repeat(weights, lengths), is_copy, n_items)


def _extended(flat: _Flat, level: ItemsetBatch, size: int, below: int) -> Iterator[ItemsetBatch]:
    """Extensions of the itemsets of a level."""
    places, number = level.places, level.number
    tails = flat.ends[places] - places - 1
    is_open = (tails > 0) & (level.supports[number] >= below)
    places, number, tails = places[is_open], number[is_open], tails[is_open]
    order = np.argsort(number, kind="stable")
    places, number, tails = places[order], number[order], tails[order]
    for begin, end in _batches(number, tails):
        longer = _extensions(flat, level, places[begin:end], number[begin:end], tails[begin:end])
        if not len(longer.supports):
            continue
        yield longer
        if longer.itemsets.shape[1] < size:
            yield from _extended(flat, longer, size, below)


def _batches(number: IntArray, tails: IntArray) -> Iterator[tuple[int, int]]:
    """Ranges of occurrences with about BATCH extensions; the occurrences of one prefix stay together."""
    if not len(number):
        return
    total = np.cumsum(tails)
    ends = np.flatnonzero(np.append(number[1:] != number[:-1], True)) + 1  # where prefixes end
    begin, done = 0, 0
    while begin < len(number):
        last = int(np.searchsorted(total[ends - 1], done + BATCH, "right")) - 1
        following = int(np.searchsorted(ends, begin, "right"))
        end = int(ends[max(last, following)])
        yield begin, end
        begin, done = end, int(total[end - 1])


def _extensions(flat: _Flat, level: ItemsetBatch, places: IntArray, number: IntArray, tails: IntArray) -> ItemsetBatch:
    """The itemsets one item longer."""
    starts = np.cumsum(tails) - tails
    of = np.repeat(np.arange(len(places)), tails)
    at = places[of] + 1 + np.arange(len(of)) - starts[of]
    allowed = ~flat.is_copy[at] | (at == places[of] + 1)
    of, at = of[allowed], at[allowed]
    prefixes, prefix = np.unique(number, return_inverse=True)
    keys = prefix[of] * flat.n_items + flat.items[at]
    itemsets, longer, supports = _counted(keys, flat.weights[at], len(prefixes) * flat.n_items)
    before, last = np.divmod(itemsets, flat.n_items)
    return ItemsetBatch(np.column_stack([level.itemsets[prefixes[before]], last]), supports, at, longer)


def _counted(keys: IntArray, weights: IntArray, span: int) -> tuple[IntArray, IntArray, IntArray]:
    """Different keys ascending, the place of every key among them, and the weight of each."""
    if span > DENSE:
        itemsets, number = np.unique(keys, return_inverse=True)
        return itemsets, number, np.bincount(number, weights=weights, minlength=len(itemsets)).astype(np.int64)
    is_there = np.zeros(span, bool)
    is_there[keys] = True
    itemsets = np.flatnonzero(is_there)
    place = np.cumsum(is_there) - 1
    totals = np.bincount(keys, weights=weights, minlength=span)
    return itemsets, place[keys], totals[itemsets].astype(np.int64)
