"""Possible worlds of a group: who has which of its sensitive values, weighted by how well each suits whom."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.stats.classes import Histogram

ROUNDS = 20


def posteriors(weights: FloatArray, counts: IntArray, *, steps_up_to: int) -> tuple[FloatArray, int] | None:
    """The chance that each person of a group has each value, (n_people, n_values), and the steps that counting took.

    A world gives every person one value, value v to `counts[v]` of them; it is as likely as the product of the weights
    of its pairs. Sums over worlds run person by person over how many of each value are left, forwards and backwards;
    what nobody later can have must be used up, so people who are alike should follow each other.

    Returns: None where that takes more steps; chances of 0 where no world is possible.
    """
    options = [[(v, w) for v, w in enumerate(row) if w] for row in weights.tolist()]
    last = {v: person for person, row in enumerate(options) for v, _ in row}
    begin = tuple(counts.tolist())
    if sum(begin) != len(options) or any(n and v not in last for v, n in enumerate(begin)):
        return np.zeros(weights.shape), 0
    forward: list[dict[_State, float]] = [{begin: 1.0}]
    n_steps = 0
    for person, row in enumerate(options):
        n_steps += len(forward[-1]) * len(row)
        if n_steps > steps_up_to:
            return None
        reached = _step(forward[-1], row, [v for v, _ in row if last[v] == person])
        if not reached:
            return np.zeros(weights.shape), n_steps
        forward.append(_scaled(reached))
    return _shares(forward, options, weights.shape), n_steps


_State = tuple[int, ...]  # how many of each value are left


def _taken(state: _State, value: int) -> _State:
    return (*state[:value], state[value] - 1, *state[value + 1 :])


def _scaled(states: dict[_State, float]) -> dict[_State, float]:
    """Only ratios matter, and worlds may be more than a float can count."""
    top = max(states.values())
    return {state: ways / top for state, ways in states.items()}


def _step(states: dict[_State, float], row: list[tuple[int, float]], ends: list[int]) -> dict[_State, float]:
    """What can be left after one more person; `ends` are values that nobody after them can have."""
    reached: dict[_State, float] = {}
    for state, ways in states.items():
        for value, weight in row:
            if state[value]:
                after = _taken(state, value)
                if not any(after[v] for v in ends):
                    reached[after] = reached.get(after, 0.0) + ways * weight
    return reached


def _shares(
    forward: list[dict[_State, float]], options: list[list[tuple[int, float]]], shape: tuple[int, ...]
) -> FloatArray:
    weights_of_values = np.zeros(shape)
    backward: dict[_State, float] = dict.fromkeys(forward[-1], 1.0)
    for person in range(len(options) - 1, -1, -1):
        earlier: dict[_State, float] = {}
        for state, ways in forward[person].items():
            for value, weight in options[person]:
                onward = weight * backward.get(_taken(state, value), 0.0) if state[value] else 0.0
                weights_of_values[person, value] += ways * onward
                earlier[state] = earlier.get(state, 0.0) + onward
        backward = _scaled(earlier)
    shares: FloatArray = weights_of_values / weights_of_values.sum(axis=1, keepdims=True)
    return shares


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
    beliefs = weights.copy()
    for _ in range(rounds):
        entry_totals = np.bincount(arcs.entry, weights=beliefs, minlength=arcs.n_entries)[arcs.entry]
        beliefs *= np.divide(arcs.count, entry_totals, out=np.zeros(len(beliefs)), where=entry_totals > 0)
        total = arcs.by_person(beliefs)[arcs.person]
        beliefs = np.divide(beliefs, total, out=np.zeros(len(beliefs)), where=total > 0)
    return beliefs
