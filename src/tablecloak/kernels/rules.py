"""Goals flat, so that compiled kernels can judge a class from its counts."""

from __future__ import annotations

import enum
from typing import NamedTuple

import numpy as np

from tablecloak.kernels.space import FloatArray, IntArray

__all__ = ["TOLERANCE", "Kind", "Rules", "only_size"]

# Shares and entropies are sums of floats; a difference this small is rounding, not a violation.
TOLERANCE = 1e-9


class Kind(enum.IntEnum):
    """What a rule compares with its limit."""

    DISTINCT = 0  # number of different values, at least
    ENTROPY = 1  # exp(entropy), at least
    RECURSIVE = 2  # largest count / what remains without the `order` - 1 largest, below
    EQUAL_DISTANCE = 3  # earth mover's distance from the table, every step 1, at most
    ORDERED_DISTANCE = 4  # the same with steps by rank, at most


class Rules(NamedTuple):
    """A least class size and rules about ranges of a class histogram that holds all sensitive attributes in a row."""

    min_size: int
    kind: IntArray  # (n_rules,) Kind
    start: IntArray  # (n_rules,) first place of the attribute in a class histogram
    end: IntArray  # (n_rules,)
    limit: FloatArray  # (n_rules,)
    order: IntArray  # (n_rules,) l of recursive diversity
    shares: FloatArray  # (n_places,) distribution of each attribute in the whole table


def only_size(min_size: int) -> Rules:
    """The rules of a goal that asks for a size and nothing else."""
    none = np.zeros(0, np.int64)
    return Rules(min_size, none, none, none, np.zeros(0), none, np.zeros(0))
