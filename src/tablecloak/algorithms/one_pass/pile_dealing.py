"""Dealing records to random piles of k to 2k - 1: one pass, centroids in memory, records wherever they are kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.clustering._record_distances import lines_of
from tablecloak.algorithms.clustering.base import Costs
from tablecloak.algorithms.one_pass.cluster_table import ClusterTable, Members
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.kernels.clustering import COMPILED_FROM, Lines, interval_costs
from tablecloak.kernels.dispatch import pays
from tablecloak.kernels.piles import PileBlocks, Piles, PileTree, cut, deal, deal_by_tree
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret

Codes = NDArray[np.int32]
MakePrices = Callable[..., tuple[Costs, Costs]]  # of domains and the codes that occur, as `prices_of`
NEVER = 1 << 62
PER_BLOCK = 48  # piles of a new block; it holds up to twice as many
MOST_BLOCKS = 16  # that the optimised mode looks into for one record
CHUNK = 1 << 14  # records that are dealt together, down the same tree
RANGES = ("intervals", "quantiles", "dates")  # hierarchies of numbers and dates whose nodes are ranges


class PileSet:
    """Numbered piles; a number is never given to another pile, and an empty pile stays empty."""

    def __init__(self, lines: Lines) -> None:
        n_dims, room = len(lines.start), 16
        self.lines = lines
        self.n = 0
        self.arrays = Piles(
            np.zeros((room, n_dims), np.int32), np.zeros((room, n_dims), np.int32),
            np.zeros((room, n_dims), np.int64), np.zeros((room, n_dims)), np.zeros(room, np.int64),
        )  # fmt: skip

    @property
    def sizes(self) -> IntArray:
        return self.arrays.size[: self.n]

    @property
    def lo(self) -> Codes:
        return self.arrays.lo[: self.n]

    @property
    def hi(self) -> Codes:
        return self.arrays.hi[: self.n]

    def full(self) -> IntArray:
        """Numbers of the piles that have records."""
        return np.flatnonzero(self.sizes)

    def grow(self, n_more: int) -> None:
        """Make some more piles, without records yet."""
        self.n += n_more
        room = len(self.arrays.size)
        if self.n > room:
            more = max(self.n, 2 * room) - room
            lo, hi, total, mean, size = self.arrays
            sides = np.zeros((more, lo.shape[1]), np.int32)
            self.arrays = Piles(
                np.concatenate([lo, sides]), np.concatenate([hi, sides]), np.concatenate([total, sides]),
                np.concatenate([mean, sides]), np.concatenate([size, np.zeros(more, np.int64)]),
            )  # fmt: skip

    def refill(self, piles: IntArray, codes: Codes) -> None:
        """Give piles other members.

        Args:
            piles: (n,) pile of every record, ascending.
            codes: (n_dims, n) the records.
        """
        if len(piles) == 0:
            return
        starts = np.flatnonzero(np.diff(piles, prepend=-1))
        which, size = piles[starts], np.diff(np.append(starts, len(piles)))
        places = self.lines.line[self.lines.start[:, None] + codes]
        self.arrays.lo[which] = np.minimum.reduceat(codes, starts, axis=1).T
        self.arrays.hi[which] = np.maximum.reduceat(codes, starts, axis=1).T
        self.arrays.total[which] = np.add.reduceat(places, starts, axis=1).T
        self.arrays.size[which] = size
        self.arrays.mean[which] = self.arrays.total[which] / size[:, None]

    def empty(self, piles: IntArray) -> None:
        self.arrays.size[piles] = 0


def make_tree(piles: PileSet, share: float) -> PileTree:
    """Parents of so large a share of the piles each, in the order of piles, parents of these, and so on to the root."""
    arrays, leaves = piles.arrays, piles.full()
    width = max(2, math.ceil(share * len(leaves)))
    lo, hi, mean = arrays.lo[leaves], arrays.hi[leaves], arrays.mean[leaves]
    levels: list[tuple[Codes, Codes, FloatArray, IntArray]] = []
    while len(lo) > width:
        starts = np.arange(0, len(lo), width)
        size = np.diff(np.append(starts, len(lo)))
        lo, hi = np.minimum.reduceat(lo, starts), np.maximum.reduceat(hi, starts)
        mean = np.add.reduceat(mean, starts) / size[:, None]
        levels.insert(0, (lo, hi, mean, size))
    if not levels:
        levels = [(lo[:0], hi[:0], mean[:0], np.zeros(0, np.int64))]
        return PileTree(width, leaves.astype(np.int32), np.zeros(1, np.int64), *levels[0])
    counts = [len(size) for *_, size in levels]
    parents = [np.concatenate(parts) for parts in zip(*levels, strict=True)]
    return PileTree(width, leaves.astype(np.int32), np.append(0, np.cumsum(counts)), *parents)


def make_blocks(piles: PileSet) -> PileBlocks:
    """PileBlocks of near piles: the piles are halved along their widest dimension, and so on."""
    lines, arrays = piles.lines, piles.arrays
    full = piles.full()
    own = _own_costs(lines, arrays, full)
    parts = _halved(_places(lines, arrays, full, own))
    n_dims, width = arrays.lo.shape[1], 2 * PER_BLOCK
    blocks = PileBlocks(
        np.full((len(parts), width), -1, np.int32), np.array([len(p) for p in parts], np.int64),
        np.full(2 * len(arrays.size), -1, np.int32),
        *(np.empty((len(parts), n_dims), kind) for kind in (np.float64, np.float64, np.int32, np.int32, np.int64)),
    )  # fmt: skip
    for b, part in enumerate(parts):
        here = full[part]
        blocks.members[b, : len(here)] = here
        blocks.block_of[here] = b
        blocks.mean_lo[b], blocks.mean_hi[b] = arrays.mean[here].min(axis=0), arrays.mean[here].max(axis=0)
        blocks.lo[b], blocks.hi[b] = arrays.lo[here].min(axis=0), arrays.hi[here].max(axis=0)
        blocks.least[b] = own[part].min(axis=0)
    return blocks


def add_to_block(piles: PileSet, blocks: PileBlocks, pile: int, block: int) -> bool:
    """Put a pile that is new, or has other members now, into a block; False if it has no room."""
    if pile >= len(blocks.block_of):
        return False
    if blocks.block_of[pile] != block:
        if blocks.n_members[block] == blocks.members.shape[1]:
            return False
        blocks.members[block, blocks.n_members[block]] = pile
        blocks.n_members[block] += 1
        blocks.block_of[pile] = block
    one = np.array([pile])
    for low, high, least, most in (
        (blocks.lo, blocks.hi, piles.arrays.lo, piles.arrays.hi),
        (blocks.mean_lo, blocks.mean_hi, piles.arrays.mean, piles.arrays.mean),
    ):
        low[block] = np.minimum(low[block], least[pile])
        high[block] = np.maximum(high[block], most[pile])
    blocks.least[block] = np.minimum(blocks.least[block], _own_costs(piles.lines, piles.arrays, one)[0])
    return True


def leave_block(blocks: PileBlocks, pile: int) -> None:
    """Take a pile out of its block; the bounds stay as they are."""
    block = blocks.block_of[pile]
    last = blocks.n_members[block] - 1
    members = blocks.members[block]
    members[np.flatnonzero(members[: last + 1] == pile)] = members[last]
    blocks.n_members[block] = last
    blocks.block_of[pile] = -1


def _places(lines: Lines, arrays: Piles, which: IntArray, own: IntArray) -> FloatArray:
    """Where centroids lie: their mean, or the middle of their box in the order of a tree, and what that box costs."""
    has_boxes = lines.is_tree | (lines.step > 0)
    middle = (arrays.lo[which] + arrays.hi[which]) / 2 / np.maximum(lines.n_codes, 1) * lines.full
    places = np.where(has_boxes, middle, arrays.mean[which])
    return np.concatenate([places, own[:, has_boxes]], axis=1)


def _halved(places: FloatArray) -> list[IntArray]:
    parts, open_ = [], [np.arange(len(places))]
    while open_:
        part = open_.pop()
        if len(part) <= PER_BLOCK:
            parts.append(part)
            continue
        here = places[part]
        widest = int(np.argmax(here.max(axis=0) - here.min(axis=0)))
        order = np.argpartition(here[:, widest], len(part) // 2)
        open_ += [part[order[: len(part) // 2]], part[order[len(part) // 2 :]]]
    return parts


def _own_costs(lines: Lines, arrays: Piles, which: IntArray) -> IntArray:
    """What each box costs by itself, (n, n_dims); only asked for in trees and sets."""
    columns = [interval_costs(lines, d, arrays.lo[which, d], arrays.hi[which, d]) for d in range(arrays.lo.shape[1])]
    return np.stack(columns, axis=1)


class RecordStore(Protocol):
    """Where records are, numbered in their order; batches of them are as large as memory allows."""

    @property
    def costs(self) -> Costs:
        """What clusters lose."""

    @property
    def distances(self) -> Costs:
        """How far records are from centroids."""

    @property
    def n(self) -> int: ...

    @property
    def table(self) -> ClusterTable:
        """Of all records that are in no set."""

    def sets(self, size: int) -> tuple[Codes, IntArray]:
        """Records that at least `size` rows share, (n_dims, n_sets) in ascending order, and how many rows do."""

    def rest(self) -> Iterator[Members]:
        """Records that are in no set."""

    def equal_to(self, seeds: Codes) -> Iterator[tuple[IntArray, Members]]:
        """Records equal to one of the seeds, (n_dims, n_seeds), with the number of that seed."""

    def waiting(self) -> Iterator[Members]:
        """Records that are in no set and equal to no seed."""

    def lend(self, set_: int, n: int) -> Members:
        """Take the first records out of a set."""


def rebatched(batches: Iterator[Members], n: int) -> Iterator[Members]:
    """The same records, `n` at a time, however they come."""
    ids, codes = [], []
    n_here = 0
    for more, of_more in batches:
        begin = 0
        while begin < len(more):
            part = slice(begin, begin + n - n_here)
            ids.append(more[part])
            codes.append(of_more[:, part])
            n_here += len(ids[-1])
            begin += len(ids[-1])
            if n_here == n:
                yield np.concatenate(ids), np.concatenate(codes, axis=1)
                ids, codes, n_here = [], [], 0
    if n_here:
        yield np.concatenate(ids), np.concatenate(codes, axis=1)


def halved(distances: FloatArray, starts: IntArray, size: int) -> tuple[IntArray, int]:
    """Piles halved by distance until no part has 2 * size records: the nearer half stays, of equal distances the first.

    Args:
        distances: (n,) of the records of one pile after the other.
        starts: (n_piles + 1,) where the records of each pile begin.

    Returns:
        The part of every record, and how many parts there are; part p is what stays of pile p.
    """
    part, n_parts = np.empty(len(distances), np.int64), len(starts) - 1
    for pile, (begin, end) in enumerate(pairwise(starts.tolist())):
        open_ = [(pile, begin + np.argsort(distances[begin:end], kind="stable"))]
        while open_:
            number, rows = open_.pop()
            if len(rows) < 2 * size:
                part[rows] = number
                continue
            open_ += [(number, rows[: len(rows) // 2]), (n_parts, rows[len(rows) // 2 :])]
            n_parts += 1
    return part, n_parts


@dataclass(frozen=True, slots=True, eq=False)
class DealtRecords:
    """Sets of equal records, which stay as they are, and piles; empty piles are among them."""

    sets: Codes  # (n_dims, n_sets)
    set_sizes: IntArray  # (n_sets,)
    piles: PileSet

    def boxes(self) -> tuple[Codes, Codes, IntArray]:
        """Boxes (n_dims, n) and sizes of all sets and then of all piles that have records."""
        full, nonempty = self.piles.full(), np.flatnonzero(self.set_sizes)
        lo = np.concatenate([self.sets[:, nonempty], self.piles.lo[full].T], axis=1)
        hi = np.concatenate([self.sets[:, nonempty], self.piles.hi[full].T], axis=1)
        return lo, hi, np.concatenate([self.set_sizes[nonempty], self.piles.sizes[full]])

    def numbers(self) -> tuple[IntArray, IntArray]:
        """The number of each set and of each pile among those that have records."""
        nonempty, full = self.set_sizes > 0, self.piles.sizes > 0
        return np.cumsum(nonempty) - 1, int(nonempty.sum()) + np.cumsum(full) - 1


class Dealing(Protocol):
    """An algorithm that deals records, wherever these are kept."""

    def prices(
        self, domains: Sequence[Domain], present: Sequence[IntArray], *, is_compiled: bool
    ) -> tuple[Costs, Costs]:
        """What clusters lose, and how far records are from centroids."""

    def deal(self, records: RecordStore, size: int, secret: Secret, progress: Progress) -> DealtRecords:
        """Sets and piles of all records."""


def prices_of(
    domains: Sequence[Domain],
    present: Sequence[IntArray],
    *,
    distance: str = "loss",
    beta: float = 1.0,
    has_lines: bool = False,
    is_compiled: bool = False,
) -> tuple[Costs, Costs]:
    """What clusters lose, and how far records are from centroids.

    Args:
        present: the codes of every dimension that occur.
        has_lines: numbers and dates below ranges are as far from a centroid as from its mean.
    """
    costs = Costs(*lines_of(domains, present, distance, beta), is_compiled=is_compiled)
    if not has_lines:
        return costs, costs
    on_lines = [_on_line(domain) for domain in domains]
    return costs, Costs(*lines_of(on_lines, present, distance, beta), is_compiled=is_compiled)


def _on_line(domain: Domain) -> Domain:
    """Numbers or dates in place of the leaves of their ranges; other columns as they are."""
    if domain.hierarchy is None or domain.hierarchy.kind not in RANGES:
        return domain
    places = domain.line()
    if places is None:
        return domain
    values = pl.Series(domain.name, places[int(domain.has_missing) :])
    return replace(domain, type=ColumnType.FLOAT, kind=DomainKind.ORDERED, values=values, hierarchy=None)


def deal_records(
    records: RecordStore,
    size: int,
    generator: np.random.Generator,
    *,
    is_optimized: Callable[[int], bool],
    share: float | None = None,
    size_weight: float = 0.0,
    progress: Progress = silent,
) -> DealtRecords:
    """Sets of at least `size` equal records, and piles of all others.

    Args:
        is_optimized: from the number of piles at the start to whether not all of them are looked at.
        share: deal as the source does: piles are halved by the distances that records had when they came; optimised,
            they are found down a tree, of which a node has this share of all piles below it, and split at the end.
        size_weight: how much farther a pile looks for every `size` records it has.
    """
    sets, counts = records.sets(size)
    n_rest = records.n - int(counts.sum())
    dealer = Dealer(records, size, share=share, size_weight=size_weight)
    if 0 < n_rest < size:
        counts = dealer.borrow(sets, counts, n_rest)
    elif n_rest:
        dealer.begin(_seeds(records, n_rest, max(1, n_rest // size), generator))
        n_waiting = n_rest - int(dealer.piles.sizes.sum())
        progress.start("solve", n_waiting)
        dealer.progress = progress
        if not is_optimized(dealer.piles.n):
            dealer.fill()
        elif share is None:
            dealer.fill(most_blocks=MOST_BLOCKS)
        else:
            dealer.fill_by_tree(share)
    return DealtRecords(sets, counts, dealer.piles)


def _seeds(records: RecordStore, n_rest: int, n_seeds: int, generator: np.random.Generator) -> Codes:
    """The different ones among some random records, (n_dims, n) in ascending order."""
    samples: list[Codes] = []
    left, n_open = n_rest, n_seeds
    for _, codes in records.rest():
        draws: FloatArray = generator.random(codes.shape[1:])
        chosen = _sampled(draws, left, n_open)
        samples.append(codes[:, chosen])
        left, n_open = left - codes.shape[1], n_open - len(chosen)
    return np.unique(np.concatenate(samples, axis=1), axis=1)


def _sampled(draws: FloatArray, left: int, n_chosen: int) -> IntArray:
    """Which of the next records of `left` are among the `wanted` ones: each with the chance that it then has."""
    chosen: list[int] = []
    for i, draw in enumerate(draws.tolist()):
        if draw * (left - i) < n_chosen - len(chosen):
            chosen.append(i)
    return np.array(chosen, np.int64)


def n_lent(n_small: int, n_large: int, size: int) -> int:
    """How many records of a large cluster complete a small one: those missing if it can spare them, else all.

    Reference: stub and trunk in Li, Wong, Fu, Pei, DASFAA 2006.
    """
    return size - n_small if n_small + n_large >= 2 * size else n_large


class Dealer:
    """Piles that records are dealt to, their sizes kept between k and 2k - 1."""

    def __init__(
        self, records: RecordStore, size: int, *, share: float | None = None, size_weight: float = 0.0
    ) -> None:
        self.records = records
        self.table = records.table
        self.lines, self.unit = records.distances.lines, records.distances.unit
        self.is_literal = share is not None
        self.most_blocks = NEVER
        self.is_compiled = pays(records.n, COMPILED_FROM)
        self.size = size
        self.weight = size_weight / size
        self.piles = PileSet(self.lines)
        self.progress: Progress = silent
        self._blocks: PileBlocks | None = None
        self._n_joined = 0  # since blocks were made
        self._n_dealt = 0

    def begin(self, seeds: Codes) -> None:
        """One pile for each seed, with all records equal to it."""
        self.piles.grow(seeds.shape[1])
        counts = np.zeros(seeds.shape[1], np.int64)
        for numbers, (ids, codes) in self.records.equal_to(seeds):
            self.table.put(ids, codes, numbers, np.zeros(len(ids)))
            counts += np.bincount(numbers, minlength=len(counts))
        self.piles.refill(np.arange(len(counts)), seeds)
        self.piles.arrays.total[: len(counts)] *= counts[:, None]
        self.piles.arrays.size[: len(counts)] = counts

    def borrow(self, sets: Codes, counts: IntArray, n_rest: int) -> IntArray:
        """A pile of the fewer than k records that remain and of what the nearest set can spare; the sets' new sizes."""
        parts = list(self.records.rest())
        ids, codes = np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts], axis=1)
        costs = self.records.costs.unions(sets, sets, codes.min(axis=1), codes.max(axis=1))
        lent = np.array([n_lent(n_rest, n, self.size) for n in counts.tolist()])
        nearest = int(np.argmin((lent + n_rest) * costs))
        more, same = self.records.lend(nearest, int(lent[nearest]))
        self.piles.grow(1)
        ids, codes = np.concatenate([ids, more]), np.concatenate([codes, same], axis=1)
        self.piles.refill(np.zeros(len(ids), np.int64), codes)
        self.table.put(ids, codes, np.zeros(len(ids), np.int64), np.zeros(len(ids)))
        counts = counts.copy()
        counts[nearest] -= lent[nearest]
        return counts

    # Classic ----------------------------------------------------------------------------------------------------------

    def fill(self, most_blocks: int = NEVER) -> None:
        """The nearest of all piles, or of those in some blocks, for every record; a pile too large is split at once."""
        self.most_blocks = most_blocks
        for ids, codes in rebatched(self.records.waiting(), CHUNK):
            begin = 0
            while begin < len(ids):
                piles = self._deal(ids[begin:], codes[:, begin:], 2 * self.size)
                begin += len(piles)
                if self.piles.sizes[piles[-1]] >= 2 * self.size:
                    self._split(int(piles[-1]))
        self.dissolve_small()

    def _deal(self, ids: IntArray, codes: Codes, limit: int) -> IntArray:
        """Deal the first of some records, at most until a pile has `limit`: the piles of those dealt."""
        most = min(len(ids), max(256, self.piles.n))  # blocks are made anew after about one record for every pile
        needs_blocks = self.is_compiled or self.most_blocks < NEVER
        if needs_blocks and (self._blocks is None or self._n_joined > self.piles.n):
            self._blocks, self._n_joined = make_blocks(self.piles), 0
        piles, distances = deal.form(compiled=self.is_compiled)(
            self.lines, codes[:, :most], self.piles.arrays, self.piles.n, self._blocks,
            size_weight=self.weight, limit=limit, most_blocks=self.most_blocks,
        )  # fmt: skip
        n = len(piles)
        self.table.put(ids[:n], codes[:, :n], piles, distances / self.unit)
        self._n_joined += n
        self._n_dealt += n
        self.progress.advance(self._n_dealt)
        return piles

    def _split(self, pile: int) -> None:
        ids, codes, distances = self.table.take(pile)
        old = self.piles.n
        self._put_parts(np.array([pile]), ids, codes, distances, np.array([0, len(ids)]))
        if self._blocks is not None:
            block = int(self._blocks.block_of[pile])
            fits = [add_to_block(self.piles, self._blocks, p, block) for p in (pile, *range(old, self.piles.n))]
            self._blocks = self._blocks if all(fits) else None

    def _put_parts(self, piles: IntArray, ids: IntArray, codes: Codes, distances: FloatArray, starts: IntArray) -> None:
        """Split piles, given the records of one after the other, until none has 2k."""
        if self.is_literal:
            part, n_parts = halved(distances, starts, self.size)
        else:
            part, apart, n_parts = cut.form(compiled=self.is_compiled)(
                self.records.costs.lines, self.lines, codes, starts, self.size
            )
            distances = apart / self.unit
        new = np.concatenate([piles, self.piles.n + np.arange(n_parts - len(piles))])[part]
        self.piles.grow(n_parts - len(piles))
        order = np.argsort(new, kind="stable")
        self.piles.refill(new[order], codes[:, order])
        self.table.put(ids, codes, new, distances)

    def split_all(self) -> None:
        """Split every pile of 2k records or more until none is left."""
        large = np.flatnonzero(self.piles.sizes >= 2 * self.size)
        if len(large) == 0:
            return
        for piles, ids, codes, distances in self.table.take_all(large):
            starts = np.flatnonzero(np.diff(piles, prepend=-1))
            self._put_parts(piles[starts], ids, codes, distances, np.append(starts, len(piles)))
        self._blocks = None

    def dissolve_small(self) -> None:
        """Move the records of small piles to their nearest, pass after pass, until no pile is small.

        A small pile that has received a record in a pass is left for the next, so every pass empties at least one.
        """
        while len(small := self._small()) and len(self.piles.full()) > 1:
            has_received = np.zeros(self.piles.n, bool)
            n_full = len(self.piles.full())
            for pile in small.tolist():
                if not has_received[pile] and n_full > 1:
                    self._dissolve(pile, has_received)
                    n_full -= 1
            self.split_all()

    def _small(self) -> IntArray:
        sizes = self.piles.sizes
        return np.flatnonzero((sizes > 0) & (sizes < self.size))

    def _dissolve(self, pile: int, has_received: BoolArray) -> None:
        ids, codes, _ = self.table.take(pile)
        self.piles.empty(np.array([pile]))
        if self._blocks is not None:
            leave_block(self._blocks, pile)
        begin = 0
        while begin < len(ids):
            piles = self._deal(ids[begin:], codes[:, begin:], NEVER)
            has_received[piles] = True
            begin += len(piles)

    # Optimised in the source ------------------------------------------------------------------------------------------

    def fill_by_tree(self, share: float) -> None:
        """Find piles down a tree that is made anew for every chunk, and split those too large when all were dealt."""
        self._deal_by_tree(self.records.waiting(), share)
        self.split_all()
        small = self._small()
        if len(small) == len(self.piles.full()):
            self.dissolve_small()
            return
        self.piles.empty(small)
        self._deal_by_tree(((ids, codes) for _, ids, codes, _ in self.table.take_all(small)), share)
        self.split_all()

    def _deal_by_tree(self, batches: Iterator[Members], share: float) -> None:
        for ids, codes in rebatched(batches, CHUNK):
            tree = make_tree(self.piles, share)
            piles, distances = deal_by_tree.form(compiled=self.is_compiled)(
                self.lines, codes, self.piles.arrays, tree, size_weight=self.weight
            )
            self.table.put(ids, codes, piles, distances / self.unit)
            self._n_dealt += len(piles)
            self.progress.advance(self._n_dealt)
