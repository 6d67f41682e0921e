"""Refinement of the classes of one block, as long as that lowers their price."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.changes import dissolve_classes, move_tuples, new_state, rebuild_all, trim_classes
from tablecloak.kernels.compiled.pools import rebuild_pools
from tablecloak.kernels.compiled.states import State
from tablecloak.kernels.prices import Prices
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray
from tablecloak.kernels.steps import SPLIT_UP_TO, Steps

__all__ = ["refine"]


def _total(state: State) -> int:
    return int((state.size * state.price).sum())


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
    state = new_state(codes, weights, values, class_of, n_classes, len(rules.shares))
    rebuild_all(state, prices)
    spare = np.zeros(len(rules.shares), np.int64)
    before = now = _total(state)
    if steps.alone:
        rebuild_pools(state, prices, rules, 0, steps.alone, 0.0, seed, True, stop, spare)
    for sweep in range(steps.sweeps):
        last = now
        move_tuples(state, prices, rules, spare, stop)
        trim_classes(state, prices, rules, spare, stop)
        dissolve_classes(state, prices, rules, spare, stop)
        rebuild_pools(state, prices, rules, 0, SPLIT_UP_TO, 0.0, seed, True, stop, spare)
        grows = len(rules.kind) > 0 and (sweep + steps.turn) % 2 == 0
        near = (steps.near, steps.pooled, steps.noise, seed + sweep)
        rebuild_pools(state, prices, rules, *near, grows, stop, spare)
        now = _total(state)
        if (last - now) * 2000 < last or stop[0]:
            break
    return before, now
