"""Plain-numpy refinement of the classes of a block: the same steps, in the same order, as `compiled/refine.py`."""

from __future__ import annotations

from tablecloak.kernels.prices import Prices
from tablecloak.kernels.reference_changes import Block, dissolve_classes, move_tuples, trim_classes
from tablecloak.kernels.reference_pools import rebuild_pools
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray
from tablecloak.kernels.steps import SPLIT_UP_TO, Steps

__all__ = ["refine"]


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
    """Change the classes of tuples, in place, as long as that lowers their total price: (price before, price after)."""
    block = Block(codes, weights, values, class_of, prices)
    before = now = block.total()
    if steps.alone:
        rebuild_pools(block, rules, 0, steps.alone, 0.0, seed, steps.polishes, grows=True, stop=stop)
    for sweep in range(steps.sweeps):
        last = now
        for change in (move_tuples, trim_classes, dissolve_classes):
            change(block, rules, stop)
        rebuild_pools(block, rules, 0, SPLIT_UP_TO, 0.0, seed, steps.polishes, grows=True, stop=stop)
        grows = len(rules.kind) > 0 and (sweep + steps.turn) % 2 == 0
        near = (steps.near, steps.pooled, steps.noise, seed + sweep, steps.polishes)
        rebuild_pools(block, rules, *near, grows=grows, stop=stop)
        now = block.total()
        if (last - now) * 2000 < last or stop[0]:
            break
    return before, now
