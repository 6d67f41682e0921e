"""What one refinement of a block does, flat so that compiled kernels can read it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["PROMISING", "SPLIT_UP_TO", "Steps"]

# Classes of more tuples are not split: that would cost the square of their number.
SPLIT_UP_TO = 600
# A pool built anew is polished again if it costs at most this many percent of what its classes cost before.
PROMISING = 102


class Steps(NamedTuple):
    """How hard a block is refined."""

    sweeps: int  # at most
    near: int = 1  # neighbours that are pooled with a class and built anew together
    pooled: int = SPLIT_UP_TO  # tuples of a pool, at most
    alone: int = 0  # classes of at most this many tuples are first built anew on their own
    noise: float = 0.0  # how much chance raises the price of a merge, so that another turn finds other classes
    polishes: int = 1  # passes of small changes over a pool that was built anew, as long as it is promising
    turn: int = 0  # which round this is: rounds take turns between growing and merging
    boxes: int = 0  # passes of the box search, at most; compiled kernels only
    plain: int = 1  # of them before classes are completed with records of cheaper ones
    work: int = 0  # tuples that a pass may look at
