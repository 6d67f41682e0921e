"""Outliers of classes put elsewhere, in many blocks at once: the change that gains most by the second."""

from __future__ import annotations

from tablecloak.arrays import IntArray
from tablecloak.kernels.class_state import new_state
from tablecloak.kernels.dispatch import jit, kernel
from tablecloak.kernels.prices import Prices
from tablecloak.kernels.refining import trim_classes
from tablecloak.kernels.rules import Rules, new_spare


@jit
def trim_loop(codes, weights, values, class_of, starts, n_classes, prices, rules, stop, spare):
    for b in range(n_classes.size):
        if stop[0] != 0:
            break
        a, e = starts[b], starts[b + 1]
        state = new_state(codes[a:e], weights[a:e], values[a:e], class_of[a:e], n_classes[b], prices, rules.n_kept)
        trim_classes(state, prices, rules, spare, stop)


@kernel()
def trim_blocks(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    starts: IntArray,
    n_classes: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    stop: IntArray,
) -> None:
    """Put outliers of every class into others of its block, in place, where that lowers the price of the block.

    No class is added, and some may end without tuples.

    Args:
        codes: (n, n_dims) codes of tuples, those of a block one after the other.
        values: (n, n_sensitive) places of the sensitive values, as the rules count them.
        class_of: (n,) class numbers, from 0 in every block; every class is admitted by the rules.
        starts: (n_blocks + 1,) where blocks begin, and where the last one ends.
        n_classes: (n_blocks,) how many classes a block has.
        stop: (1,) another thread may set it to end early; the classes are then still admitted.
    """
    trim_loop(codes, weights, values, class_of, starts, n_classes, prices, rules, stop, new_spare(rules))
