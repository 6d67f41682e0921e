"""Piles that records are dealt to: their centroids, all that is kept in memory of them, and how near ones are found."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.kernels.clustering import Lines, interval_costs
from tablecloak.kernels.piles import PileBlocks, PileParents, Piles

Codes = NDArray[np.int32]
PER_BLOCK = 48  # piles of a new block; it holds up to twice as many


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

    def only(self, piles: IntArray) -> PileSet:
        """Some of the piles, numbered anew."""
        lo, hi, total, mean, size = self.arrays
        rest = PileSet(self.lines)
        rest.n, rest.arrays = len(piles), Piles(lo[piles], hi[piles], total[piles], mean[piles], size[piles])
        return rest

    def replace(self, piles: IntArray, other: PileSet) -> None:
        """Take piles back that were numbered anew."""
        own, new = self.arrays, other.arrays
        own.lo[piles], own.hi[piles], own.size[piles] = new.lo, new.hi, new.size
        own.total[piles], own.mean[piles] = new.total, new.mean


def make_tops(piles: PileSet) -> PileParents:
    """Parents of about as many piles as there are parents, in the order of the piles."""
    arrays, n = piles.arrays, piles.n
    width = max(2, int(np.ceil(np.sqrt(n))))
    starts = np.arange(0, n, width)
    sums = np.stack([np.cumsum(arrays.mean[s : s + width], axis=0)[: n - s][-1] for s in starts.tolist()])
    count = np.diff(np.append(starts, n))
    return PileParents(
        width, np.minimum.reduceat(arrays.lo[:n], starts, axis=0), np.maximum.reduceat(arrays.hi[:n], starts, axis=0),
        sums, sums / count[:, None], count,
    )  # fmt: skip


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
