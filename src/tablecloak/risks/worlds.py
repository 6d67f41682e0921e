"""Possible worlds of a group: who has which of its sensitive values, weighted by how well each suits whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.stats.classes import Histogram

__all__ = ["Arcs", "balanced", "posteriors"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ROUNDS = 20


def posteriors(weights: FloatArray, counts: IntArray) -> FloatArray:
    """The chance that each person of a group has each value, (n_people, n_values).

    A world gives every person one value, value v to `counts[v]` of them; it is as likely as the product of the weights
    of its pairs. Sums over worlds run person by person over how many of each value are left, forwards and backwards.
    """
    forward = [{tuple(counts.tolist()): 1.0}]
    for row in weights:
        forward.append(_step(forward[-1], row))
    backward: dict[tuple[int, ...], float] = dict.fromkeys(forward[-1], 1.0)
    found = np.zeros(weights.shape)
    for person in range(len(weights) - 1, -1, -1):
        earlier: dict[tuple[int, ...], float] = {}
        for state, ways in forward[person].items():
            for value, weight in enumerate(weights[person].tolist()):
                after = _taken(state, value)
                if weight and after is not None and after in backward:
                    found[person, value] += ways * weight * backward[after]
                    earlier[state] = earlier.get(state, 0.0) + weight * backward[after]
        backward = earlier
    total = found.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
    return shares


def _step(states: dict[tuple[int, ...], float], row: FloatArray) -> dict[tuple[int, ...], float]:
    reached: dict[tuple[int, ...], float] = {}
    for state, ways in states.items():
        for value, weight in enumerate(row.tolist()):
            after = _taken(state, value)
            if weight and after is not None:
                reached[after] = reached.get(after, 0.0) + ways * weight
    return reached


def _taken(state: tuple[int, ...], value: int) -> tuple[int, ...] | None:
    if state[value] == 0:
        return None
    return (*state[:value], state[value] - 1, *state[value + 1 :])


class Arcs:
    """Every person of some groups paired with every value of their group; arcs of a person lie together."""

    def __init__(self, groups: IntArray, hist: Histogram) -> None:
        widths = hist.distinct()[groups]
        self.n_people = len(groups)
        self.person: IntArray = np.repeat(np.arange(len(groups)), widths)
        begin = np.cumsum(widths) - widths
        place = np.arange(len(self.person)) - begin[self.person]
        self.entry: IntArray = hist.indptr[groups][self.person] + place
        self.value: IntArray = hist.codes[self.entry]
        self.count: FloatArray = hist.counts[self.entry].astype(np.float64)
        self.share: FloatArray = hist.shares()[self.entry]
        self.n_entries = len(hist.codes)

    def by_person(self, weights: FloatArray) -> FloatArray:
        """Sums over the arcs of every person, (n_people,)."""
        return np.bincount(self.person, weights=weights, minlength=self.n_people).astype(np.float64)


def balanced(arcs: Arcs, weights: FloatArray, rounds: int = ROUNDS) -> FloatArray:
    """Weights of arcs scaled so that every person has one value and every value of a group its count (Sinkhorn).

    The people must be whole groups. Every round ends with the people, so their chances always sum to 1.
    """
    found = weights.copy()
    for _ in range(rounds):
        given = np.bincount(arcs.entry, weights=found, minlength=arcs.n_entries)[arcs.entry]
        found *= np.divide(arcs.count, given, out=np.zeros(len(found)), where=given > 0)
        total = arcs.by_person(found)[arcs.person]
        found = np.divide(found, total, out=np.zeros(len(found)), where=total > 0)
    return found
