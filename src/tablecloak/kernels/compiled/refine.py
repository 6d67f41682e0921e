"""Refinement of the classes of one block, as long as that lowers their price."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.changes import new_state, polish, total_price
from tablecloak.kernels.compiled.jit import jit
from tablecloak.kernels.compiled.pools import rebuild_pools
from tablecloak.kernels.prices import Prices
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray
from tablecloak.kernels.steps import SPLIT_UP_TO, Steps

__all__ = ["refine"]


@jit
def _refine(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop):  # type: ignore[no-untyped-def]
    state = new_state(codes, weights, values, class_of, n_classes, prices, rules.shares.size)
    spare = np.zeros(rules.shares.size, np.int64)
    before = total_price(state)
    now = before
    near, most, noise = np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros(3)
    most[0], most[1], most[2] = steps.alone, SPLIT_UP_TO, steps.pooled
    near[2], noise[2] = steps.near, steps.noise
    for sweep in range(-1 if steps.alone > 0 else 0, steps.sweeps):
        last = now
        if sweep >= 0:
            polish(state, prices, rules, spare, stop)
        # large classes on their own before the first sweep; then single classes, then pools of neighbours
        for kind in range(0 if sweep < 0 else 1, 1 if sweep < 0 else 3):
            grows = np.bool_(kind < 2 or (rules.kind.size > 0 and (sweep + steps.turn) % 2 == 0))
            random = seed + sweep if kind == 2 else seed
            n = steps.polishes
            rebuild_pools(state, prices, rules, near[kind], most[kind], noise[kind], random, grows, n, stop, spare)
        if sweep < 0:
            continue
        now = total_price(state)
        if (last - now) * 2000 < last or stop[0] != 0:
            break
    return before, now


def refine(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    steps: Steps,
    seed: int,
    stop: IntArray,
) -> tuple[int, int]:
    """Change the classes of tuples, in place, as long as that lowers their total price: (price before, price after).

    Args:
        codes: (n, n_dims) codes; masks of one bit in dimensions published as sets.
        values: (n, n_sensitive) places of the sensitive values in a class histogram.
        class_of: (n,) class numbers from 0; every class is admitted by the rules.
        stop: (1,) another thread may set it to end the refinement early; the classes are then still admitted.
    """
    n_classes = int(class_of.max()) + 1
    before, now = _refine(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop)
    return int(before), int(now)
