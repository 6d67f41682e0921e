"""What kernels know about piles, clusters that records are dealt to one by one, and how near piles are found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tablecloak.kernels.lines import IntArray

__all__ = ["Blocks", "Piles", "Tops"]

Codes = NDArray[np.int32]
FloatArray = NDArray[np.float64]


class Piles(NamedTuple):
    """Box, mean place and size of piles; rows beyond the last pile are room for more, and empty piles are passed over.

    Places are whole numbers, so that `total` and with it `mean` do not depend on the order in which records came.
    """

    lo: Codes  # (room, n_dims)
    hi: Codes  # (room, n_dims)
    total: IntArray  # (room, n_dims) sum of the places of the members on every line
    mean: FloatArray  # (room, n_dims) total / size
    size: IntArray  # (room,)


class Blocks(NamedTuple):
    """Near piles together, with bounds of all that a block holds: blocks too far away need not be looked at."""

    members: NDArray[np.int32]  # (n_blocks, width)
    n_members: IntArray  # (n_blocks,)
    block_of: NDArray[np.int32]  # (room,) -1: in no block
    mean_lo: FloatArray  # (n_blocks, n_dims)
    mean_hi: FloatArray  # (n_blocks, n_dims)
    lo: Codes  # (n_blocks, n_dims)
    hi: Codes  # (n_blocks, n_dims)
    least: IntArray  # (n_blocks, n_dims) the least that a box of the block costs by itself


class Tops(NamedTuple):
    """Parents of `width` consecutive piles each: the union of their boxes and the mean of their mean places."""

    width: int
    lo: Codes  # (n_tops, n_dims)
    hi: Codes  # (n_tops, n_dims)
    total: FloatArray  # (n_tops, n_dims) sum of mean places
    mean: FloatArray  # (n_tops, n_dims) total / n_piles
    n_piles: IntArray  # (n_tops,)
