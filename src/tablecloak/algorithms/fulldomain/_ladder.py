"""The levels of one quasi-identifier: what every code becomes at each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Domain


@dataclass(frozen=True, slots=True, eq=False)
class Rung:
    """One level: its values are numbered from 0 in the order of the codes they hold."""

    rank_of_code: IntArray  # (n_codes,)
    lo: IntArray  # (n_values,) first code of each value
    hi: IntArray  # (n_values,) last code
    node: IntArray  # (n_values,) hierarchy node; -1 without a hierarchy
    losses: FloatArray  # (n_values,)

    @property
    def n_values(self) -> int:
        return len(self.lo)


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The levels of a column from exact values (0) to one value that stands for all."""

    domain: Domain
    rungs: tuple[Rung, ...]

    @property
    def height(self) -> int:
        return len(self.rungs) - 1

    def step(self, below: int, above: int) -> IntArray:
        """From values of one level to values of a level above it, (n_values at `below`,)."""
        return self.rungs[above].rank_of_code[self.rungs[below].lo]


def ladder_of(domain: Domain) -> Ladder:
    """The levels of a domain's hierarchy; without a hierarchy: exact, or anything."""
    hierarchy = domain.hierarchy
    if hierarchy is None:
        codes = np.arange(domain.n_codes)
        return Ladder(domain, (_free_rung(domain, codes), _free_rung(domain, np.zeros_like(codes))))
    rungs = []
    for level in range(hierarchy.height + 1):
        nodes, rank = _in_order(hierarchy.level_map(level))
        rungs.append(Rung(rank, hierarchy.first[nodes], hierarchy.last[nodes], nodes, hierarchy.losses[nodes]))
    return Ladder(domain, tuple(rungs))


def _free_rung(domain: Domain, rank: IntArray) -> Rung:
    lo = np.flatnonzero(np.diff(rank, prepend=-1))
    hi = np.append(lo[1:], len(rank)) - 1
    return Rung(rank, lo, hi, np.full(len(lo), -1), domain.loss(lo, hi))


def _in_order(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Distinct nodes in the order of the codes, and the number of each code's node."""
    starts = np.flatnonzero(np.append(True, np.diff(nodes) != 0)[: len(nodes)])
    rank = np.zeros(len(nodes), np.int64)
    rank[starts[1:]] = 1
    return nodes[starts], np.cumsum(rank)


def heights_of(ladders: Sequence[Ladder]) -> tuple[int, ...]:
    """The top level of every column."""
    return tuple(ladder.height for ladder in ladders)
