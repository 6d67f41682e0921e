"""Which original each published row can come from, where the order of rows says nothing: an exact answer for any size.

A published row fits an original if every generalised cell covers its own and all other cells are equal; a release is
honest if every row can have an original of its own. Equal rows and equal originals are one node each, so that this is
a problem of transport between few nodes. Where every original lies in one class only, as where classes are cut apart,
counting decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coverage import Coverage
from tablecloak.kernels.graph import transport
from tablecloak.stats.classes import number_rows
from tablecloak.stats.consistency import Consistency

# Originals are compared with published rows bit by bit; beyond this many rows it is not attempted.
PAIRS_UP_TO = 200_000
# A part of originals and classes is compared each with each once there are only so many pairs.
LEAF_PAIRS = 1 << 16
# Cutting must save so much of the work, or parts are compared as they are.
WORTH_CUTTING = 0.8
# More than this is not tried: comparisons (a minute or two), and pairs that fit (memory).
MOST_COMPARED = 4_000_000_000
MOST_PAIRS = 60_000_000


class TooManyPairsError(Exception):
    """Labels overlap so much that not every pair of original and class can be looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Generalized:
    """A column whose published cells cover originals."""

    name: str
    coverage: Coverage
    labels: IntArray  # (n_rows,) label of every published row
    codes: IntArray  # (n_originals,)


@dataclass(frozen=True, slots=True, eq=False)
class Equal:
    """A column that is published as it is: equal codes are equal cells."""

    name: str
    published: IntArray  # (n_rows,)
    originals: IntArray  # (n_originals,)


@dataclass(frozen=True, slots=True, eq=False)
class Origins:
    """An original for every published row, as far as there are enough."""

    row_of: IntArray  # (n_rows,) -1 where no original is left
    is_certain: bool  # no other choice gives any class other originals

    @property
    def without(self) -> IntArray:
        """Published rows that have no original."""
        return np.flatnonzero(self.row_of < 0)


@dataclass(frozen=True, slots=True, eq=False)
class CoveredOriginals:
    """Which different originals each class covers."""

    class_of_row: IntArray  # (n_rows,)
    point_of_original: IntArray  # (n_originals,) originals with equal codes are one point
    points: IntArray  # (n_pairs,) ascending
    classes: IntArray  # (n_pairs,)
    n_points: int
    n_classes: int


def candidates_of(generalized: Sequence[Generalized], n_rows: int, n_originals: int) -> CoveredOriginals:
    """The classes of published rows, and the originals that each covers; without columns, one class covers all.

    Raises: TooManyPairsError.
    """
    if not generalized:
        one = np.zeros(1, np.int64)
        return CoveredOriginals(np.zeros(n_rows, np.int64), np.zeros(n_originals, np.int64), one, one, 1, 1)
    labels, class_of_row = _distinct([c.labels for c in generalized])
    codes, point_of_original = _distinct([c.codes for c in generalized])
    sides = [_Side(c.coverage, labels[i]) for i, c in enumerate(generalized)]
    pairs = list(_covering(codes, sides))
    points = np.concatenate([np.zeros(0, np.int64), *(p for p, _ in pairs)])
    classes = np.concatenate([np.zeros(0, np.int64), *(c for _, c in pairs)])
    order = np.argsort(points, kind="stable")
    return CoveredOriginals(
        class_of_row, point_of_original, points[order], classes[order], codes.shape[1], labels.shape[1]
    )


def _distinct(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Different rows, (n_columns, n_different), and which of them each row is."""
    number, n = number_rows(columns, len(columns[0]))
    first = np.zeros(n, np.int64)
    first[number] = np.arange(len(number))
    return np.stack([c[first] for c in columns]).astype(np.int64), number


# Points in boxes ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """What classes cover of one column."""

    coverage: Coverage
    labels: IntArray  # (n_classes,)


def _covering(codes: IntArray, sides: Sequence[_Side]) -> Iterator[tuple[IntArray, IntArray]]:
    """Pairs of points and the classes that cover them.

    Points and classes are cut apart together at values where classes begin, until few are left: a point goes to one
    side, a class to both if it reaches across.
    """
    lo = np.stack([side.coverage.lo[side.labels] for side in sides])
    hi = np.stack([side.coverage.hi[side.labels] for side in sides])
    is_empty = (hi < lo).any(axis=0)
    stack = [(np.arange(codes.shape[1]), np.flatnonzero(~is_empty))]
    n_compared = n_pairs = 0
    while stack:
        points, classes = stack.pop()
        if len(points) == 0 or len(classes) == 0:
            continue
        work = len(points) * len(classes)
        halves = None if work <= LEAF_PAIRS else _cut(codes, lo, hi, points, classes)
        if halves is not None:
            stack += halves
            continue
        n_compared += work
        if n_compared > MOST_COMPARED:
            raise TooManyPairsError
        step = max(1, (1 << 22) // len(classes))
        for start in range(0, len(points), step):
            pairs = _compared(codes, (lo, hi), sides, points[start : start + step], classes)
            n_pairs += len(pairs[0])
            if n_pairs > MOST_PAIRS:
                raise TooManyPairsError
            yield pairs


Part = tuple[IntArray, IntArray]


def _cut(codes: IntArray, lo: IntArray, hi: IntArray, points: IntArray, classes: IntArray) -> list[Part] | None:
    """The two parts at the best of one cut per column; None if none saves enough."""
    best, least = None, WORTH_CUTTING * len(points) * len(classes)
    for dim in range(len(codes)):
        begins = lo[dim, classes]
        cut = int(np.partition(begins, len(begins) // 2)[len(begins) // 2])
        if cut == begins.min():  # most begin at the first value: cut after it
            later = begins[begins > cut]
            cut = int(later.min()) if len(later) else int(hi[dim, classes].min()) + 1
        n_left = int((codes[dim, points] < cut).sum())
        n_below, n_above = int((begins < cut).sum()), int((hi[dim, classes] >= cut).sum())
        work = n_left * n_below + (len(points) - n_left) * n_above
        if work < least:
            best, least = (dim, cut), work
    if best is None:
        return None
    dim, cut = best
    is_left = codes[dim, points] < cut
    return [(points[is_left], classes[lo[dim, classes] < cut]), (points[~is_left], classes[hi[dim, classes] >= cut])]


def _compared(codes: IntArray, box: Part, sides: Sequence[_Side], points: IntArray, classes: IntArray) -> Part:
    """The pairs that fit: in every column the interval of the class first, which most pairs fail."""
    fits = np.ones((len(points), len(classes)), bool)
    for dim, (lo, hi) in enumerate(zip(*box, strict=True)):
        of_points = codes[dim, points][:, None]
        fits &= of_points >= lo[classes]
        fits &= of_points <= hi[classes]
    at, of = np.nonzero(fits)
    points, classes = points[at], classes[of]
    for dim, side in enumerate(sides):
        if side.coverage.sets:
            is_listed = side.coverage.lists(side.labels[classes], codes[dim, points])
            points, classes = points[is_listed], classes[is_listed]
    return points, classes


# Rows to originals ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Rows or originals that are interchangeable, one after the other."""

    place: IntArray  # (n_nodes,) class of published rows, point of originals
    key: IntArray  # (n_nodes,) number of the cells that must be equal
    count: IntArray  # (n_nodes,)
    members: IntArray  # rows, node by node

    @classmethod
    def of(cls, rows: IntArray, place: IntArray, key: IntArray) -> _Nodes:
        members = rows[np.lexsort((key[rows], place[rows]))]
        place, key = place[members], key[members]
        is_first = np.ones(len(place), bool)
        is_first[1:] = (place[1:] != place[:-1]) | (key[1:] != key[:-1])
        first = np.flatnonzero(is_first)
        return cls(place[first], key[first], np.diff(np.append(first, len(place))), members)

    @property
    def starts(self) -> IntArray:
        return np.cumsum(self.count) - self.count

    def find(self, place: IntArray, key: IntArray) -> tuple[IntArray, BoolArray]:
        """The node with each place and key, and whether there is one."""
        width = int(max(self.key.max(initial=0), key.max(initial=0))) + 1
        names, wanted = self.place * width + self.key, place * width + key  # names ascend
        at = np.searchsorted(names, wanted)
        at[at == len(names)] = 0
        return at, names[at] == wanted if len(names) else np.zeros(len(wanted), bool)


def assigned(candidates: CoveredOriginals, equal: Sequence[Equal]) -> Origins:
    """Give as many published rows as possible an original of their own, with equal cells in the given columns.

    Raises: TooManyPairsError.
    """
    row_key, original_key = _keys(candidates, equal)
    n_of_point = np.bincount(candidates.points, minlength=candidates.n_points)
    is_open = np.zeros(candidates.n_classes, bool)  # it shares an original with another class
    is_open[candidates.classes[n_of_point[candidates.points] > 1]] = True
    class_of_point = np.full(candidates.n_points, -1)
    class_of_point[candidates.points] = candidates.classes
    class_of_original = class_of_point[candidates.point_of_original]
    row_of = np.full(len(row_key), -1)
    rows = np.flatnonzero(~is_open[candidates.class_of_row])
    originals = np.flatnonzero((class_of_original >= 0) & ~is_open[class_of_original])
    published = _Nodes.of(rows, candidates.class_of_row, row_key)
    is_certain = _counted(published, _Nodes.of(originals, class_of_original, original_key), row_of)
    rows = np.flatnonzero(is_open[candidates.class_of_row])
    if len(rows):
        originals = np.flatnonzero((class_of_original >= 0) & is_open[class_of_original])
        published = _Nodes.of(rows, candidates.class_of_row, row_key)
        there = _Nodes.of(originals, candidates.point_of_original, original_key)
        is_certain &= _transported(candidates, published, there, row_of)
    return Origins(row_of, is_certain)


def is_same_for_all(candidates: CoveredOriginals, equal: Sequence[Equal], codes: IntArray) -> bool:
    """Whether every original that a published row can come from has the same code, (n_originals,), whichever is taken.

    No also where there are too many to look at.
    """
    row_key, original_key = _keys(candidates, equal)
    point, key, code = _distinct([candidates.point_of_original, original_key, codes.astype(np.int64)])[0]
    starts = np.searchsorted(candidates.points, point)
    n_classes = np.searchsorted(candidates.points, point, side="right") - starts
    if int(n_classes.sum()) > MOST_PAIRS:
        return False
    step = np.arange(int(n_classes.sum())) - np.repeat(np.cumsum(n_classes) - n_classes, n_classes)
    width = int(max(row_key.max(initial=0), original_key.max(initial=0))) + 1
    places = candidates.classes[np.repeat(starts, n_classes) + step] * width + np.repeat(key, n_classes)
    is_shown = np.isin(places, candidates.class_of_row * width + row_key)
    places, shown_codes = places[is_shown], np.repeat(code, n_classes)[is_shown]
    return number_rows([places, shown_codes], len(places))[1] == len(np.unique(places))


def _keys(candidates: CoveredOriginals, equal: Sequence[Equal]) -> tuple[IntArray, IntArray]:
    """A number for the cells that must be equal, of every row and of every original."""
    n_rows, n_originals = len(candidates.class_of_row), len(candidates.point_of_original)
    if not equal:
        return np.zeros(n_rows, np.int64), np.zeros(n_originals, np.int64)
    keys, _ = number_rows([np.concatenate([c.published, c.originals]) for c in equal], n_rows + n_originals)
    return keys[:n_rows], keys[n_rows:]


def _counted(published: _Nodes, there: _Nodes, row_of: IntArray) -> bool:
    """Fill in `row_of` where every original has one class: equal rows get originals of their class one by one.

    Whether that was the only choice: no original of a class that is published was left over.
    """
    at, is_there = there.find(published.place, published.key)
    n_there = np.where(is_there, there.count[at] if len(there.count) else 0, 0)
    n_matched = np.minimum(published.count, n_there)
    first, second = _side_by_side(published, there, np.arange(len(at)), at, n_matched)
    row_of[first] = second
    return bool((n_matched == n_there).all())


def _side_by_side(
    left: _Nodes, right: _Nodes, of_left: IntArray, of_right: IntArray, amounts: IntArray,
    used_left: IntArray | None = None, used_right: IntArray | None = None,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """Members of pairs of nodes, so many of each."""
    step = np.arange(int(amounts.sum())) - np.repeat(np.cumsum(amounts) - amounts, amounts)
    starts_left = left.starts[of_left] + (0 if used_left is None else used_left)
    starts_right = right.starts[of_right] + (0 if used_right is None else used_right) if len(right.count) else of_right
    return (
        left.members[np.repeat(starts_left, amounts) + step],
        right.members[np.repeat(starts_right, amounts) + step],
    )


def _transported(candidates: CoveredOriginals, published: _Nodes, there: _Nodes, row_of: IntArray) -> bool:
    """Fill in `row_of` where originals may belong to several classes.

    Whether that was the only choice: other cells tell the class of every original that fits, and none is left over.
    """
    of_published, of_there = _arcs(candidates, published, there)
    amounts = transported(of_published, of_there, published.count, there.count)
    is_certain = bool((np.bincount(of_there) <= 1).all() and (amounts == there.count[of_there]).all())
    used = amounts > 0
    of_published, of_there, amounts = of_published[used], of_there[used], amounts[used]
    first, second = _side_by_side(
        published, there, of_published, of_there, amounts,
        _used_before(of_published, amounts), _used_before(of_there, amounts),
    )  # fmt: skip
    row_of[first] = second
    return is_certain


def transported(left: IntArray, right: IntArray, demand: IntArray, supply: IntArray) -> IntArray:
    """How much goes along every arc when as much as possible goes from right nodes to left ones."""
    order = np.argsort(left, kind="stable")
    indptr = np.searchsorted(left[order], np.arange(len(demand) + 1)).astype(np.int64)
    amounts = np.empty(len(left), np.int64)
    amounts[order] = transport.sized(len(left))(indptr, right[order], demand, supply)
    return amounts


def _arcs(candidates: CoveredOriginals, published: _Nodes, there: _Nodes) -> tuple[IntArray, IntArray]:
    """Nodes of published rows and of originals that fit: the class covers the point, and the keys are equal."""
    starts = np.searchsorted(candidates.points, there.place)
    n_classes = np.searchsorted(candidates.points, there.place, side="right") - starts
    if int(n_classes.sum()) > MOST_PAIRS:
        raise TooManyPairsError
    node = np.repeat(np.arange(len(there.place)), n_classes)
    step = np.arange(len(node)) - np.repeat(np.cumsum(n_classes) - n_classes, n_classes)
    class_of = candidates.classes[starts[node] + step]
    at, fits = published.find(class_of, there.key[node])
    return at[fits].astype(np.int64), node[fits].astype(np.int64)


def _used_before(nodes: IntArray, amounts: IntArray) -> IntArray:
    """How many members of its node went to arcs before each arc."""
    order = np.argsort(nodes, kind="stable")
    running = np.cumsum(amounts[order]) - amounts[order]
    is_first = np.ones(len(nodes), bool)
    is_first[1:] = nodes[order][1:] != nodes[order][:-1]
    starts = np.maximum.accumulate(np.where(is_first, np.arange(len(nodes)), 0))
    before = np.empty(len(nodes), np.int64)
    before[order] = running - running[starts] if len(nodes) else running
    return before


def classes_in_order(classes: NDArray[np.integer]) -> IntArray:
    """The number of the class of every row, counted from 1 in the order in which classes appear."""
    _, first, inverse = np.unique(classes, return_index=True, return_inverse=True)
    number = np.empty(len(first), np.int64)
    number[np.argsort(first, kind="stable")] = np.arange(1, len(first) + 1)
    numbers: IntArray = number[inverse.reshape(-1)]
    return numbers


# Which could be which -------------------------------------------------------------------------------------------------


def consistency_of(
    columns: Sequence[tuple[Coverage, NDArray[np.integer], NDArray[np.integer]]], *, is_in_order: bool
) -> Consistency:
    """Which originals each published row covers.

    Args:
        columns: by quasi-identifier what its labels cover, the label of every published row, the code of each original.
        is_in_order: row i of the release is original i and covers it.
    """
    published, node_of_row = _distinct([labels.astype(np.int64) for _, labels, _ in columns])
    originals, node_of_original = _distinct([codes.astype(np.int64) for _, _, codes in columns])
    masks = [_Masks(coverage, originals[i]) for i, (coverage, _, _) in enumerate(columns)]
    n = originals.shape[1]
    covered = []
    for node in range(published.shape[1]):
        bits = masks[0].of(int(published[0, node])).copy()
        for mask, label in zip(masks[1:], published[1:, node].tolist(), strict=True):
            bits &= mask.of(label)
        covered.append(np.flatnonzero(np.unpackbits(bits, count=n)))
    arcs = np.concatenate([*covered, np.zeros(0, np.int64)]).astype(np.int64)
    rows = np.repeat(np.arange(len(covered)), [len(c) for c in covered])
    matched = _matched(rows, arcs, node_of_row, node_of_original, n) if is_in_order else None
    return Consistency(arcs, rows, np.bincount(node_of_original), np.bincount(node_of_row), matched)


def _matched(rows: IntArray, arcs: IntArray, row_nodes: IntArray, original_nodes: IntArray, n: int) -> IntArray:
    """How many rows lie on each arc, which ascend; a row that does not cover its own original lies on none."""
    keys, own = rows * n + arcs, row_nodes * n + original_nodes
    places = np.searchsorted(keys, own)
    is_arc = places < len(keys)
    is_arc[is_arc] = keys[places[is_arc]] == own[is_arc]
    return np.bincount(places[is_arc], minlength=len(arcs))


class _Masks:
    """For every label of a column the originals that it covers, as bits."""

    def __init__(self, coverage: Coverage, codes: IntArray) -> None:
        self.coverage = coverage
        self.codes = codes
        self.masks: dict[int, NDArray[np.uint8]] = {}

    def of(self, label: int) -> NDArray[np.uint8]:
        if label not in self.masks:
            self.masks[label] = np.packbits(self.coverage.holds(label, self.codes))
        return self.masks[label]
