"""Cuts of a node that is only known by the counts of its codes, as a large node is cut: each dimension for itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.reference import _balanced_cut, _descent_cut, _saving_cut
from tablecloak.kernels.space import IntArray, Space

__all__ = ["cut_of_counts"]


def cut_of_counts(
    space: Space, counts: Sequence[IntArray], tried: NDArray[np.bool_], min_size: int
) -> tuple[int, int] | None:
    """The dimension and the largest code of the left side of the cut that saves most loss, or None.

    Args:
        counts: records with each code, by dimension.
        tried: dimensions that are not to be cut.
        min_size: fewest records of a side.
    """
    best, chosen = -1.0, None
    for d in range(space.n_dims):
        codes = np.flatnonzero(counts[d])
        if tried[d] or len(codes) < 2:
            continue
        present = counts[d][codes]
        even_cut, balance = _balanced_cut(space, d, codes, present, min_size)
        saving_cut, saving = _saving_cut(space, d, codes, present, min_size)
        if saving_cut < 0:
            continue
        cut = saving_cut if saving > 0 or even_cut < 0 else even_cut
        candidates = [
            _descent_cut(space, d, codes, present, min_size),
            (cut, max(saving, 0.0) + 1e-9 * max(balance, 0)),
        ]
        for place, score in candidates:
            if place >= 0 and score > best:
                best, chosen = score, (d, place)
    return chosen
