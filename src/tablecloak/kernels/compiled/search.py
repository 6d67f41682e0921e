"""Search for better boxes in one block: all boxes of groups of codes, and, of sets, those near the classes."""

from __future__ import annotations

import numpy as np

from tablecloak.kernels.compiled.boxes import search_boxes
from tablecloak.kernels.compiled.variations import vary_boxes
from tablecloak.kernels.levels import Levels
from tablecloak.kernels.prices import SET, Prices
from tablecloak.kernels.rules import Rules
from tablecloak.kernels.space import IntArray
from tablecloak.kernels.steps import Steps

__all__ = ["search"]


def search(
    codes: IntArray,
    weights: IntArray,
    values: IntArray,
    class_of: IntArray,
    prices: Prices,
    rules: Rules,
    *,
    steps: Steps,
    levels: Levels,
    seed: int,
    stop: IntArray,
) -> tuple[int, int]:
    """Change the classes of tuples, in place, where other boxes lower their total price: (price before, price after).

    Args:
        levels: of which boxes are made where a column is not published as sets.
        stop: (1,) another thread may set it to end the search early; the classes are then still admitted.
    """
    is_set = prices.kind == SET
    found: list[tuple[int, int]] = []
    if not is_set.any() or not is_set[levels.order].all():
        n_classes = int(class_of.max()) + 1
        found.append(search_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, levels, stop))
        class_of[:] = np.unique(class_of, return_inverse=True)[1].reshape(-1)  # classes that were dissolved leave gaps
    if is_set.any():
        n_classes = int(class_of.max()) + 1
        found.append(vary_boxes(codes, weights, values, class_of, n_classes, prices, rules, steps, seed, stop))
    return int(found[0][0]), int(found[-1][1])
