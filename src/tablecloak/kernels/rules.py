"""Goals flat, so that compiled kernels can judge a class from its counts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tablecloak.kernels.space import FloatArray, IntArray

__all__ = ["Rules", "only_size"]


class Rules(NamedTuple):
    """A least class size and rules about ranges of a class histogram that holds all sensitive attributes in a row."""

    min_size: int
    kind: IntArray  # (n_rules,)
    start: IntArray  # (n_rules,) first place of the attribute in a class histogram
    end: IntArray  # (n_rules,)
    limit: FloatArray  # (n_rules,)
    order: IntArray  # (n_rules,) l of recursive diversity
    shares: FloatArray  # (n_places,) distribution of each attribute in the whole table


def only_size(min_size: int) -> Rules:
    """The rules of a goal that asks for a size and nothing else."""
    none = np.zeros(0, np.int64)
    return Rules(min_size, none, none, none, np.zeros(0), none, np.zeros(0))
