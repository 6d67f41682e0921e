"""Which group of a release each original can be in, where groups keep exact values and cut columns apart.

A release is honest if its originals can be dealt out so that every group shows, in every block of columns, just what
its originals hold there. Equal originals are one kind; a demand is a row of a block that a group shows so many times.
An original that fits one group only is there, which leaves less for the others: this decides most releases. What stays
open is tried out, as far as that goes: in general the question is as hard as three-dimensional matching. Where it is
known which original is in which group, comparing is enough.

Whether blocks were exchanged inside groups is another question: links that originals have too may be there by chance.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.row_origins import MOST_PAIRS, transported
from tablecloak.stats.classes import number_rows

MOST_TRIALS = 2_000  # of one part of the release
MOST_WORK = 100_000_000  # pairs looked at by all trials
MOST_ROWS = 20_000  # that are looked at for links that originals have
MOST_LINKED = 500_000  # pairs of rows of two blocks in the same group
HARDLY = 0.6  # groups that are likelier than this to stay as they are say little
NEVER = math.log(1e-9)  # what chance does so seldom is no chance


@dataclass(frozen=True, slots=True, eq=False)
class BlockRows:
    """The rows of a block of columns: equal numbers are equal rows."""

    groups: IntArray  # (n_shown,) group of every published row
    published: IntArray  # (n_shown,)
    originals: IntArray  # (n_originals,)


class Certainty(enum.Enum):
    """Whether a way of dealing was found."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


@dataclass(frozen=True, slots=True, eq=False)
class DealtOut:
    """Whether the originals can be dealt out to the groups; if not, what shows it."""

    answer: Certainty
    wrong: tuple[tuple[int, int], ...] = ()  # groups and the block in which they cannot be as they are
    homeless: IntArray | None = None  # originals that fit no group

    @property
    def is_possible(self) -> bool | None:
        """None: neither a way was found nor shown that there is none."""
        return None if self.answer is Certainty.OPEN else self.answer is Certainty.YES


def dealt(blocks: Sequence[BlockRows], home: IntArray | None = None) -> DealtOut:
    """Deal out all originals to the groups of a release.

    Args:
        home: (n_originals,) the group of every original, where that is known.
    """
    if len({len(b.groups) for b in blocks} | {len(blocks[0].originals)}) > 1:
        return DealtOut(Certainty.NO)
    if home is not None:
        differing = tuple((group, i) for i, block in enumerate(blocks) for group in _differing(block, home))
        return DealtOut(Certainty.NO if differing else Certainty.YES, differing)
    kind_of, n_kinds = number_rows([b.originals for b in blocks], len(blocks[0].originals))
    first = np.zeros(n_kinds, np.int64)
    first[kind_of[::-1]] = np.arange(len(kind_of))[::-1]
    state, groups, names = _state(blocks, first, np.bincount(kind_of, minlength=n_kinds))
    if state is None:
        return DealtOut(Certainty.OPEN)
    wrong = _settle(state)
    if wrong is None:
        answers = [_tried(part) for part in _parts(state)] if state.is_open else []
        if Certainty.NO in answers:
            return DealtOut(Certainty.NO)
        return DealtOut(Certainty.OPEN if Certainty.OPEN in answers else Certainty.YES)
    named = tuple(dict.fromkeys((int(groups[names[0][c]]), int(names[1][c])) for c in wrong.cells.tolist()))
    return DealtOut(Certainty.NO, named, np.flatnonzero(np.isin(kind_of, wrong.kinds)))


def _differing(block: BlockRows, home: IntArray) -> list[int]:
    """Groups that do not show just the rows of their originals."""
    order, other = np.lexsort((block.published, block.groups)), np.lexsort((block.originals, home))
    differs = (block.groups[order] != home[other]) | (block.published[order] != block.originals[other])
    return [int(group) for group in np.unique(block.groups[order][differs])]


# What must be so ------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _State:
    """Kinds of originals that are left, what groups still need, and which kind may go to which group."""

    supply: IntArray  # (n_kinds,)
    demand: IntArray  # (n_cells,) one cell for every different row of a block of a group
    kind: IntArray  # (n_pairs,)
    cells: IntArray  # (n_blocks, n_pairs) the cell of every block that an original of the pair takes from

    @property
    def is_open(self) -> bool:
        return bool(len(self.kind))

    def copy(self) -> _State:
        return replace(self, supply=self.supply.copy(), demand=self.demand.copy())

    def take(self, pairs: IntArray, amounts: IntArray) -> None:
        np.subtract.at(self.supply, self.kind[pairs], amounts)
        for cells in self.cells:
            np.subtract.at(self.demand, cells[pairs], amounts)

    def keep(self, is_kept: BoolArray) -> None:
        self.kind, self.cells = self.kind[is_kept], self.cells[:, is_kept]


@dataclass(frozen=True, slots=True, eq=False)
class _Wrong:
    """Cells that cannot be filled, and kinds that cannot go anywhere."""

    cells: IntArray
    kinds: IntArray


Names = tuple[IntArray, IntArray]  # the group and the block of every cell


def _state(blocks: Sequence[BlockRows], first: IntArray, supply: IntArray) -> tuple[_State | None, IntArray, Names]:
    """The state at the beginning: every kind may go to every group that shows its row in each block."""
    names, of_block = np.unique(np.concatenate([b.groups for b in blocks]), return_inverse=True)
    n_groups = len(names)
    ends = np.cumsum([len(b.groups) for b in blocks])
    group_rows = np.split(of_block.astype(np.int64), ends[:-1])
    keys, demands, wants_of_block, n_near = [], [], [], []
    for block, groups in zip(blocks, group_rows, strict=True):
        key, demand = np.unique(block.published * n_groups + groups, return_counts=True)
        wants = block.originals[first]
        starts = np.searchsorted(key, wants * n_groups)
        keys.append(key)
        demands.append(demand)
        wants_of_block.append(wants)
        n_near.append(np.searchsorted(key, (wants + 1) * n_groups) - starts)
    cell_names = (
        np.concatenate([k % n_groups for k in keys]), np.repeat(np.arange(len(blocks)), [len(k) for k in keys]),
    )  # fmt: skip
    near = np.stack(n_near)
    if int(near.min(axis=0).sum()) > MOST_PAIRS // 4:
        return None, names, cell_names
    nearest = near.argmin(axis=0)  # the block that leaves a kind the fewest groups
    kinds, groups_of = [], []
    for b in range(len(blocks)):
        kind = np.flatnonzero(nearest == b)
        n = near[b, kind]
        step = np.arange(int(n.sum())) - np.repeat(np.cumsum(n) - n, n)
        at = np.repeat(np.searchsorted(keys[b], wants_of_block[b][kind] * n_groups), n) + step
        kinds.append(np.repeat(kind, n))
        groups_of.append(keys[b][at] % n_groups)
    kind, group = np.concatenate(kinds), np.concatenate(groups_of)
    cells, offset = [], 0
    fits = np.ones(len(kind), bool)
    for key, wants in zip(keys, wants_of_block, strict=True):
        looked_up = wants[kind] * n_groups + group
        at = np.minimum(np.searchsorted(key, looked_up), len(key) - 1)
        fits &= key[at] == looked_up
        cells.append(at + offset)
        offset += len(key)
    state = _State(supply.astype(np.int64), np.concatenate(demands).astype(np.int64), kind, np.stack(cells))
    state.keep(fits)
    return state, names, cell_names


def _settle(state: _State) -> _Wrong | None:
    """Deal out what can only go one way, until nothing more follows; None unless that is impossible."""
    while True:
        state.keep((state.supply[state.kind] > 0) & (state.demand[state.cells] > 0).all(axis=0))
        n_ways = np.bincount(state.kind, minlength=len(state.supply))
        offered = np.zeros(len(state.demand), np.int64)
        n_pairs = np.zeros(len(state.demand), np.int64)
        for cells in state.cells:
            np.add.at(offered, cells, state.supply[state.kind])
            np.add.at(n_pairs, cells, 1)
        homeless = np.flatnonzero((state.supply > 0) & (n_ways == 0))
        unfilled = np.flatnonzero((state.demand > 0) & (offered < state.demand))
        if len(homeless) or len(unfilled):
            return _Wrong(unfilled, homeless)
        if not state.is_open:
            return None
        # a kind with one group goes there whole, and so do all that a cell needs to the last one
        is_whole = (n_ways[state.kind] == 1) | (offered == state.demand)[state.cells].any(axis=0)
        amounts = np.where(is_whole, state.supply[state.kind], 0)
        for cells in state.cells:  # the only kind that can fill a cell does
            is_only = (n_pairs[cells] == 1) & ~is_whole
            amounts = np.where(is_only, np.maximum(amounts, state.demand[cells]), amounts)
        pairs = np.flatnonzero(amounts)
        if not len(pairs):
            return None
        state.take(pairs, amounts[pairs])
        if (state.supply < 0).any() or (state.demand < 0).any():
            return _Wrong(np.flatnonzero(state.demand < 0), np.flatnonzero(state.supply < 0))


# What is left open ----------------------------------------------------------------------------------------------------


def _parts(state: _State) -> list[_State]:
    """Parts that have neither kinds nor cells in common, the smallest first."""
    label = np.arange(len(state.kind))
    nodes = [state.kind, *(cells + len(state.supply) for cells in state.cells)]
    least = np.full(len(state.supply) + len(state.demand), len(label))
    while True:
        before = label
        for of_pair in nodes:
            np.minimum.at(least, of_pair, label)
            label = least[of_pair]
        label = label[label]
        if np.array_equal(label, before):
            break
    order = np.argsort(label, kind="stable")
    bounds = np.flatnonzero(np.diff(label[order])) + 1
    return sorted((_part(state, pairs) for pairs in np.split(order, bounds)), key=lambda p: len(p.kind))


def _part(state: _State, pairs: IntArray) -> _State:
    kinds, kind = np.unique(state.kind[pairs], return_inverse=True)
    every, cells = np.unique(state.cells[:, pairs], return_inverse=True)
    shape = (len(state.cells), len(pairs))
    return _State(
        state.supply[kinds], state.demand[every], kind.astype(np.int64), cells.reshape(shape).astype(np.int64)
    )


def _tried(part: _State) -> Certainty:
    """Put one original after the other into a group, and take it back where that leads nowhere."""
    if not all(_can_flow(part, cells) for cells in part.cells):
        return Certainty.NO
    stack, n_trials = [part], min(MOST_TRIALS, MOST_WORK // len(part.kind))
    while stack:
        if n_trials == 0:
            return Certainty.OPEN
        n_trials -= 1
        state = stack.pop()
        if _settle(state) is not None:
            continue
        if not state.is_open:
            return Certainty.YES
        n_ways = np.bincount(state.kind, minlength=len(state.supply))
        kind = int(np.argmin(np.where(n_ways > 0, n_ways, len(state.kind) + 1)))
        for pair in np.flatnonzero(state.kind == kind)[::-1]:
            trial = state.copy()
            trial.take(np.array([pair]), np.ones(1, np.int64))
            stack.append(trial)
    return Certainty.NO


def _can_flow(part: _State, cells: IntArray) -> bool:
    """Whether the cells of one block alone can be filled."""
    cells_of_part, left = np.unique(cells, return_inverse=True)
    amounts = transported(left.astype(np.int64), part.kind, part.demand[cells_of_part], part.supply)
    return int(amounts.sum()) == int(part.demand[cells_of_part].sum())


# What was exchanged ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LinkedRows:
    """Rows that show together, in two blocks, what an original holds together."""

    n_rows: int  # in groups where an exchange can be seen
    n_kept: int
    chance: float  # logarithm of a bound on how likely so many are after every group was shuffled

    @property
    def are_kept(self) -> bool:
        """Nobody shuffled these rows."""
        return self.chance <= NEVER


def kept_links(one: BlockRows, other: BlockRows, is_free: BoolArray | None = None) -> LinkedRows:
    """How many links of two blocks, shown by the same rows, are those of originals; of large tables, in a sample.

    The sample is another one every time: who makes a release must not know which rows will be looked at.
    After a shuffle, a row has a link that originals have with the share of rows of its group that would make it one.
    Two bounds, both for groups of any sizes: on the number of such rows, and on the number of groups in which all are
    such, which says more of small tables.
    Reference: Chatterjee, Stein's method for concentration inequalities, PTRF 138, 2007 (proposition 1.1; its bound
    on the generating function adds up over groups). Bregman, Minc: permanents of matrices of zeros and ones.
    Hoeffding, Probability inequalities for sums of bounded random variables, JASA 58, 1963 (theorem 1).

    Args:
        is_free: (n_shown,) rows of groups in which every exchange was allowed; None: all.
    """
    rows, group = _some_groups(one.groups, is_free)
    left, right = _Kinds.of(group, one.published[rows]), _Kinds.of(group, other.published[rows])
    # every kind of the left block, or some, beside every kind of the right one in its group
    some = np.flatnonzero((left.n_kinds > 1)[left.group] & (right.n_kinds > 1)[left.group])
    some = np.random.default_rng().permutation(some)
    some = np.sort(some[: max(1, np.searchsorted(np.cumsum(right.n_kinds[left.group[some]]), MOST_LINKED))])
    n_beside = right.n_kinds[left.group[some]]
    step = np.arange(int(n_beside.sum())) - np.repeat(np.cumsum(n_beside) - n_beside, n_beside)
    beside = np.repeat((np.cumsum(right.n_kinds) - right.n_kinds)[left.group[some]], n_beside) + step

    n_codes, width = (1 + int(max(b.published.max(initial=0), b.originals.max(initial=0))) for b in (one, other))
    is_looked_at = np.zeros(n_codes, bool)
    is_looked_at[left.code[some]] = True
    originals = is_looked_at[one.originals]
    links_of_originals = np.unique(one.originals[originals] * width + other.originals[originals])
    is_link = _are_among(np.repeat(left.code[some] * width, n_beside) + right.code[beside], links_of_originals)
    n_linked = np.zeros(len(left.code), np.int64)  # rows of its group that would be a link, for every left kind
    np.add.at(n_linked, np.repeat(some, n_beside), is_link * right.count[beside])
    size = np.bincount(group)
    expected = float((left.count * n_linked / size[left.group]).sum())

    counts = np.zeros(len(left.code), bool)
    counts[some] = True
    is_kept = _are_among(one.published[rows] * width + other.published[rows], links_of_originals)
    is_counted = counts[left.kind_of_row]
    n_kept = int((is_kept & is_counted).sum())
    is_whole = np.ones(len(size), bool)
    is_whole[group[~is_kept]] = False
    is_seen = np.ones(len(size), bool)
    is_seen[group[~is_counted]] = False
    chance = min(_so_many(n_kept, expected), _so_whole(is_whole, is_seen, size, left, n_linked))
    return LinkedRows(int(is_counted.sum()), n_kept, chance)


def _some_groups(groups: IntArray, is_free: BoolArray | None) -> tuple[IntArray, IntArray]:
    """Rows of groups that may be looked at, of so many as there is time for, and the groups numbered from 0."""
    rows = np.arange(len(groups)) if is_free is None else np.flatnonzero(is_free)
    names, group = np.unique(groups[rows], return_inverse=True)
    group = group.reshape(-1)
    order = np.random.default_rng().permutation(len(names))
    n_rows = np.cumsum(np.bincount(group, minlength=len(names))[order])
    chosen = np.zeros(len(names), bool)
    chosen[order[: 1 + int(np.searchsorted(n_rows, MOST_ROWS))]] = True
    rows = rows[chosen[group]]
    return rows, (np.cumsum(chosen) - 1)[group[chosen[group]]]


@dataclass(frozen=True, slots=True, eq=False)
class _Kinds:
    """The different rows of a block in every group, group by group."""

    group: IntArray  # (n_kinds,)
    code: IntArray  # (n_kinds,)
    count: IntArray  # (n_kinds,)
    kind_of_row: IntArray  # (n_rows,)
    n_kinds: IntArray  # (n_groups,)

    @classmethod
    def of(cls, group: IntArray, codes: IntArray) -> _Kinds:
        width = 1 + int(codes.max(initial=0))
        names, kind_of_row, count = np.unique(group * width + codes, return_inverse=True, return_counts=True)
        return cls(names // width, names % width, count, kind_of_row.reshape(-1), np.bincount(names // width))


def _are_among(numbers: IntArray, ascending: IntArray) -> BoolArray:
    """Whether each number is one of those known, which ascend."""
    return np.searchsorted(ascending, numbers, side="right") > np.searchsorted(ascending, numbers)


def _so_many(n_kept: int, expected: float) -> float:
    """How likely so many rows, at least, are links of originals."""
    more = n_kept - expected
    return -(more**2) / (4 * expected + 2 * more) if more > 0 else 0.0


def _so_whole(is_whole: BoolArray, is_seen: BoolArray, size: IntArray, kinds: _Kinds, n_linked: IntArray) -> float:
    """How likely so many groups have nothing but links of originals, among those that hardly ever do."""
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 + size.max(initial=0))))])
    of_row = np.where(n_linked > 0, factorials[n_linked] / np.maximum(n_linked, 1), -np.inf)
    likely = np.bincount(kinds.group, kinds.count * of_row, len(size)) - factorials[size]
    is_hard = is_seen & (likely < math.log(HARDLY))
    n, n_whole = int(is_hard.sum()), int((is_whole & is_hard).sum())
    mean = max(float(np.exp(likely[is_hard]).sum()), 1e-300)
    if n_whole <= mean:
        return 0.0
    p, q = n_whole / n, mean / n
    return -n * (p * math.log(p / q) + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0))
