"""Group a table at any node of the lattice by rolling up a finer node that is grouped already, never from rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.algorithms.fulldomain._lattice import Ladder, Node
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.register import Boxes, Register
from tablecloak.kernels.dispatch import COMPILED_FROM
from tablecloak.kernels.keys import group_keys
from tablecloak.stats.classes import ClassStats

Ranks = NDArray[np.int32]

# Cells of a dense count table may be this many, or this many times the groups that are counted.
DENSE_CELLS = 1 << 14
DENSE_FACTOR = 4
# Bytes of groups kept for later roll-ups, over all nodes: counts of nearly unique values take far more than groups.
KEPT_BYTES = 100_000_000
WORTH_KEEPING = 0.6
MOST_KEPT = 256


@dataclass(frozen=True, slots=True, eq=False)
class NodeGroups:
    """The distinct generalised tuples of a node with their statistics."""

    levels: Node
    ranks: Ranks  # (n_dims, n_groups) value of every column, numbered as its rung numbers them
    stats: ClassStats

    @property
    def n_groups(self) -> int:
        return int(self.ranks.shape[1])

    @property
    def n_bytes(self) -> int:
        """What the groups hold, which is also what rolling them up goes through."""
        counts = sum(h.indptr.nbytes + h.codes.nbytes + h.counts.nbytes for h in self.stats.hist.values())
        return int(self.ranks.nbytes + self.stats.size.nbytes + counts)


class Rollups:
    """Groups of any node; nodes that shrink the table are kept as starting points for coarser ones."""

    def __init__(self, table: CodedTable, ladders: Sequence[Ladder]) -> None:
        self.ladders = tuple(ladders)
        self._people = None if table.register is None else LevelPeople(table.register, self.ladders)
        self._kept: list[NodeGroups] = []
        self._kept_levels = np.zeros((0, len(self.ladders)), np.int64)
        self._kept_bytes = np.zeros(0, np.int64)
        self.bottom = self._grouped_tuples(replace(table, register=None))

    def at(self, levels: Node) -> NodeGroups:
        """The groups of a node."""
        groups = self._at(levels)
        if self._people is None:
            return groups
        beyond = self._people.at(levels, groups.ranks, self._radices(levels))
        return replace(groups, stats=replace(groups.stats, beyond=beyond))

    def _at(self, levels: Node) -> NodeGroups:
        source = self._source(levels)
        if source.levels == levels:
            return source
        groups = self._roll_up(source, levels)
        if groups.n_bytes <= WORTH_KEEPING * source.n_bytes:
            self._keep(groups)
        return groups

    def distinct(self, dim: int, level: int) -> int:
        """How many values of a column occur in the table at a level."""
        ranks = self.ladders[dim].step(0, level)[self.bottom.ranks[dim]]
        return int(np.count_nonzero(np.bincount(ranks)))

    def _grouped_tuples(self, table: CodedTable) -> NodeGroups:
        levels = (0,) * len(self.ladders)
        ranks = np.stack([table.quasi_codes(d) for d in range(len(self.ladders))]).astype(np.int32)
        ids, n_groups, firsts = group_ranks(ranks, self._radices(levels))
        return NodeGroups(levels, ranks[:, firsts], table.class_stats(ids, n_groups))

    def _radices(self, levels: Node) -> list[int]:
        return [ladder.rungs[level].n_values for ladder, level in zip(self.ladders, levels, strict=True)]

    def _source(self, levels: Node) -> NodeGroups:
        """The smallest kept node below the one wanted."""
        if not self._kept:
            return self.bottom
        usable = np.flatnonzero((self._kept_levels <= np.array(levels)).all(axis=1))
        if len(usable) == 0:
            return self.bottom
        return self._kept[int(usable[np.argmin(self._kept_bytes[usable])])]

    def _keep(self, groups: NodeGroups) -> None:
        self._kept.append(groups)
        self._kept_levels = np.vstack([self._kept_levels, groups.levels])
        self._kept_bytes = np.append(self._kept_bytes, groups.n_bytes)
        n_out = max(len(self._kept) - MOST_KEPT, int((np.cumsum(self._kept_bytes[::-1]) > KEPT_BYTES).sum()))
        if n_out > 0:  # the oldest go first
            del self._kept[:n_out]
            self._kept_levels, self._kept_bytes = self._kept_levels[n_out:], self._kept_bytes[n_out:]

    def _roll_up(self, source: NodeGroups, levels: Node) -> NodeGroups:
        radices = self._radices(levels)
        ranks = np.empty_like(source.ranks)
        for d, ladder in enumerate(self.ladders):
            if source.levels[d] == levels[d]:
                ranks[d] = source.ranks[d]
            else:
                ranks[d] = ladder.step(source.levels[d], levels[d])[source.ranks[d]]
        if not source.stats.hist and math.prod(radices) <= max(DENSE_CELLS, DENSE_FACTOR * source.n_groups):
            return _dense(levels, ranks, radices, source.stats)
        ids, n_groups, firsts = group_ranks(ranks, radices)
        return NodeGroups(levels, ranks[:, firsts], source.stats.rollup(ids, n_groups))


def _dense(levels: Node, ranks: Ranks, radices: Sequence[int], stats: ClassStats) -> NodeGroups:
    """Sizes only, counted in a table with one cell for every possible tuple."""
    cells = np.bincount(_mixed(ranks, radices), weights=stats.size, minlength=math.prod(radices))
    occupied = np.flatnonzero(cells)
    where = np.stack(np.unravel_index(occupied, list(radices))) if len(radices) else np.zeros((0, len(occupied)))
    return NodeGroups(levels, where.astype(np.int32), ClassStats(cells[occupied].astype(np.int64)))


class LevelPeople:
    """People of a register whom no record equals, in the values that the levels of columns publish."""

    def __init__(self, register: Register, ladders: Sequence[Ladder]) -> None:
        self.register = register
        self.ladders = tuple(ladders)
        self._ranks: dict[tuple[int, int], Ranks] = {}

    def at(self, levels: Node, groups: Ranks, radices: Sequence[int]) -> IntArray:
        """How many of them each group of a node covers, (n_groups,)."""
        people = np.stack([self._rank(d, level) for d, level in enumerate(levels)])
        covered = np.flatnonzero((people >= 0).all(axis=0))
        n_groups = groups.shape[1]
        ids, n_ids, _ = group_ranks(np.concatenate([groups, people[:, covered]], axis=1), radices)
        n_people = np.bincount(ids[n_groups:], self.register.n_people[covered], minlength=n_ids)
        return n_people[ids[:n_groups]].astype(np.int64)

    def _rank(self, dim: int, level: int) -> Ranks:
        """The value that covers every combination of the register in one column, -1 where none does."""
        if (dim, level) not in self._ranks:
            rung, column = self.ladders[dim].rungs[level], self.register.columns[dim]
            nodes = None if column.domain.hierarchy is None else rung.node[:, None]
            reach = column.reach(Boxes(rung.lo[:, None], rung.hi[:, None], nodes), 0)
            ranks = np.full(column.people.n_codes, -1, np.int32)
            for value, label in enumerate(reach.place.tolist()):
                first, last = reach.coverage.lo[label], reach.coverage.hi[label]
                listed = reach.coverage.sets.get(label)
                ranks[sorted(listed) if listed is not None else slice(first, last + 1)] = value
            self._ranks[dim, level] = ranks[self.register.codes[dim]]
        return self._ranks[dim, level]


def _mixed(ranks: Ranks, radices: Sequence[int]) -> IntArray:
    """One number per tuple: its ranks as digits."""
    key = np.zeros(ranks.shape[1], np.int64)
    for rank, radix in zip(ranks, radices, strict=True):
        if radix > 1:
            key *= radix
            key += rank
    return key


def group_ranks(ranks: Ranks, radices: Sequence[int]) -> tuple[IntArray, int, IntArray]:
    """Group of every tuple, number of groups, a tuple of every group."""
    if math.prod(radices) >= 1 << 62:
        order = np.lexsort(ranks)
        is_new = (np.diff(ranks[:, order], axis=1) != 0).any(axis=0)
        return _numbered(order, is_new)
    key = _mixed(ranks, radices)
    if len(key) >= COMPILED_FROM:
        firsts, ids = group_keys.sized(len(key))(key.view(np.uint64)[None, :])
        return ids.astype(np.int64), len(firsts), firsts
    order = np.argsort(key)
    return _numbered(order, np.diff(key[order]) != 0)


def _numbered(order: IntArray, is_new: BoolArray) -> tuple[IntArray, int, IntArray]:
    starts = np.append(True, is_new)[: len(order)]
    ids = np.empty(len(order), np.int64)
    ids[order] = np.cumsum(starts) - 1
    return ids, int(starts.sum()), order[starts]
