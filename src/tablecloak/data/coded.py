"""CodedTable: what algorithms search on — distinct (quasi, sensitive) tuples as packed keys with weights."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Codes, Domain
from tablecloak.data.register import Boxes, Register
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import KeyLayout, Keys, Space, pack, plan_layout, unpack
from tablecloak.stats.classes import ClassStats, Counted, SensitiveDomain, count_classes

SAMPLE = 1 << 16
# Grouping pays only if it leaves clearly fewer tuples than rows.
GROUP_BELOW = 0.7
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio


@dataclass(frozen=True, slots=True, eq=False)
class CodedTable:
    """Tuples of quasi codes and sensitive codes with the number of rows that carry them.

    Where nearly every row is a tuple of its own, tuples are simply the rows and `weights` is empty.
    """

    domains: tuple[Domain, ...]
    sensitive: tuple[SensitiveDomain, ...]
    space: Space
    keys: Keys  # (n_words, n_tuples)
    weights: IntArray  # (n_tuples,) or empty: one row each
    tuple_of_row: NDArray[np.uint32] | None  # (n_rows,) None: row i is tuple i, or rows are not in memory
    totals: Mapping[str, IntArray]  # counts of each sensitive value in the table, by attribute
    register: Register | None = None  # people of the population whom no record equals, where the goal counts them

    @property
    def n_tuples(self) -> int:
        return int(self.keys.shape[1])

    @property
    def n_rows(self) -> int:
        if self.tuple_of_row is not None:
            return len(self.tuple_of_row)
        return int(self.weights.sum()) if len(self.weights) else self.n_tuples

    def quasi_codes(self, dim: int) -> IntArray:
        """Code of every tuple in one quasi dimension."""
        return unpack(self.keys, self.space.layout, dim)

    def originals(self, dim: int) -> IntArray:
        """Records with each code of one quasi dimension, (n_codes,)."""
        weights = self.weights if len(self.weights) else None
        counts = np.bincount(self.quasi_codes(dim), weights=weights, minlength=int(self.space.n_codes[dim]))
        return counts.astype(np.int64)

    def sensitive_codes(self, index: int) -> IntArray:
        """Code of every tuple in one sensitive attribute."""
        return unpack(self.keys, self.space.layout, self.space.n_dims + index)

    def attributes(self) -> list[tuple[SensitiveDomain, IntArray]]:
        """Every sensitive attribute with the code of every tuple; persons and combinations are none."""
        kinds = [(i, s) for i, s in enumerate(self.sensitive) if s.kind is Counted.SENSITIVE]
        return [(domain, self.sensitive_codes(i)) for i, domain in kinds]

    def unpublished(self) -> tuple[tuple[SensitiveDomain, IntArray], ...]:
        """What is counted but never published, with the code of every row: persons, and what they guard."""
        columns = []
        for i, domain in enumerate(self.sensitive):
            if domain.kind in (Counted.PERSON, Counted.GUARD):
                codes = self.sensitive_codes(i)
                columns.append((domain, codes if self.tuple_of_row is None else codes[self.tuple_of_row]))
        return tuple(columns)

    def class_stats(
        self, classes: NDArray[np.integer], n_classes: int, *, own_totals: bool = False, boxes: Boxes | None = None
    ) -> ClassStats:
        """Statistics of a partition given as the class of every tuple (-1: in no class).

        Args:
            own_totals: compare with the tuples that are in a class, instead of with the whole table.
            boxes: what every class publishes, for counting people as readers do, who may be covered by several;
                None: as a search does, each once, and for no larger a box than holds the tuples.
        """
        is_published = classes >= 0
        every = bool(is_published.all())
        part = slice(None) if every else is_published
        codes = {s.name: (self.sensitive_codes(i)[part], s) for i, s in enumerate(self.sensitive)}
        weights = self.weights[part] if len(self.weights) else None
        totals = None if own_totals else self.totals
        stats = count_classes(classes[part], n_classes, codes, weights=weights, totals=totals)
        if self.register is None:
            return stats
        if boxes is not None:
            return replace(stats, beyond=self.register.covered(boxes))
        return replace(stats, beyond=self._beyond(self.register, classes, n_classes))

    def _beyond(self, register: Register, classes: NDArray[np.integer], n_classes: int) -> IntArray:
        """People of the register in the least boxes of classes, some of which may be empty, (n_classes,)."""
        rows = np.flatnonzero(classes >= 0)
        occurring, number = np.unique(classes[rows], return_inverse=True)
        beyond = np.zeros(n_classes, np.int64)
        if len(rows):
            codes = [self.quasi_codes(dim)[rows] for dim in range(self.space.n_dims)]
            domains = [column.domain for column in register.columns]
            beyond[occurring] = register.counted(Boxes.of(codes, number.reshape(-1), len(occurring), domains))
        return beyond

    def reordered(self, order: IntArray) -> CodedTable:
        """The same tuples in another order, without the rows that carry them."""
        weights = self.weights[order] if len(self.weights) else self.weights
        return replace(self, keys=np.ascontiguousarray(self.keys[:, order]), weights=weights, tuple_of_row=None)

    def united(self, order: IntArray) -> tuple[CodedTable, IntArray]:
        """The different tuples, and which of them every tuple is.

        Args:
            order: of all tuples, in which equal ones follow each other.
        """
        keys = self.keys[:, order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(is_new) - 1
        weights = np.bincount(place, weights=self.weights if len(self.weights) else None).astype(np.int64)
        weights = np.zeros(0, np.int64) if (weights == 1).all() else weights
        return replace(self, keys=np.ascontiguousarray(keys[:, is_new]), weights=weights, tuple_of_row=None), place

    def only_with(self, attributes: Collection[str]) -> CodedTable:
        """The same tuples without the codes of other sensitive attributes; some may then be equal."""
        kept = [i for i, domain in enumerate(self.sensitive) if domain.name in attributes]
        if len(kept) == len(self.sensitive):
            return self
        fields = [*range(self.space.n_dims), *(self.space.n_dims + i for i in kept)]
        word, shift, mask = self.space.layout
        layout = KeyLayout(word[fields], shift[fields], mask[fields])
        bits = np.zeros(len(self.keys), np.uint64)
        np.bitwise_or.at(bits, layout.word, layout.mask << layout.shift)
        n_words = int(layout.word.max(initial=0)) + 1  # quasi-identifiers come first
        return replace(
            self,
            sensitive=tuple(self.sensitive[i] for i in kept),
            space=self.space._replace(layout=layout),
            keys=self.keys[:n_words] & bits[:n_words, None],
        )

    def whole(self) -> ClassStats:
        """Statistics of the table as one class: the most general release there is."""
        return self.class_stats(np.zeros(self.n_tuples, np.int64), 1)


def mixed(keys: Keys) -> NDArray[np.uint64]:
    """A number for every key that looks like chance, the same for equal keys."""
    hashes = np.zeros(keys.shape[1], np.uint64)
    for word in keys:
        hashes = (hashes ^ word) * MIX
        hashes ^= hashes >> np.uint64(32)
    return hashes


def make_space(domains: Sequence[Domain], layout: KeyLayout) -> Space:
    """Flatten domains for the kernels."""
    lines = [
        np.stack([*d.reaches(), *d.extents()]) if d.hierarchy is None and d.type.is_ordered else np.zeros((4, 0))
        for d in domains
    ]
    lower, upper, inner_lower, inner_upper = np.concatenate([*lines, np.zeros((4, 0))], axis=1)
    trees = [d.hierarchy for d in domains]
    depth = max((t.height + 1 for t in trees if t), default=1)
    ends = [_deepened(t.ends(), depth) if t else np.zeros((0, depth), np.int32) for t in trees]
    losses = [_deepened(t.end_losses(), depth) if t else np.zeros((0, depth)) for t in trees]
    return Space(
        n_dims=len(domains),
        layout=layout,
        kind=np.array([int(d.kind) for d in domains], np.int64),
        has_missing=np.array([d.has_missing for d in domains], np.bool_),
        n_codes=np.array([d.n_codes for d in domains], np.int64),
        weight=_normalized(np.array([d.weight for d in domains], np.float64)),
        start=_starts([line[0] for line in lines]),
        lower=lower,
        upper=upper,
        inner_lower=inner_lower,
        inner_upper=inner_upper,
        tree_start=_starts(ends),
        ends=np.ascontiguousarray(np.concatenate([*ends, np.zeros((0, depth), np.int32)]).astype(np.int32)),
        end_losses=np.ascontiguousarray(np.concatenate([*losses, np.zeros((0, depth))])),
    )


def _deepened(table: NDArray[np.generic], depth: int) -> NDArray[np.generic]:
    """Repeat the deepest column so that trees of different height fit one table."""
    return np.concatenate([table, np.repeat(table[:, -1:], depth - table.shape[1], axis=1)], axis=1)


def _normalized(weights: FloatArray) -> FloatArray:
    """Weights with mean 1, so that the loss of a record lies between 0 and the number of dimensions."""
    return weights * len(weights) / weights.sum() if len(weights) else weights


def _starts(parts: Sequence[NDArray[np.generic]]) -> IntArray:
    return np.concatenate([[0], np.cumsum([len(p) for p in parts])])[: len(parts)].astype(np.int64)


def code_table(
    quasi: Sequence[tuple[Domain, Codes]], sensitive: Sequence[tuple[SensitiveDomain, Codes]], *, by_row: bool = False
) -> CodedTable:
    """Pack coded columns and, where it pays, unite equal tuples.

    Args:
        by_row: keep every row a tuple of its own (for algorithms that may part equal rows).
    """
    layout = plan_layout([d.n_codes for d, _ in quasi] + [s.n_values for s, _ in sensitive])
    keys = pack([codes for _, codes in quasi] + [codes for _, codes in sensitive], layout)
    totals = {s.name: np.bincount(codes, minlength=s.n_values).astype(np.int64) for s, codes in sensitive}
    domains = tuple(d for d, _ in quasi)
    return tuples_of(keys, make_space(domains, layout), domains, tuple(s for s, _ in sensitive), totals, by_row=by_row)


def tuples_of(
    keys: Keys,
    space: Space,
    domains: tuple[Domain, ...],
    attributes: tuple[SensitiveDomain, ...],
    totals: Mapping[str, IntArray],
    *,
    by_row: bool = False,
) -> CodedTable:
    """The coded table of packed rows; equal ones are united where it pays."""
    if by_row or not has_repeats(keys):
        return CodedTable(domains, attributes, space, keys, np.zeros(0, np.int64), None, totals)
    firsts, tuple_of_row = group_keys.sized(keys.shape[1])(keys)
    weights = np.bincount(tuple_of_row, minlength=len(firsts)).astype(np.int64)
    grouped = np.ascontiguousarray(keys[:, firsts])
    return CodedTable(domains, attributes, space, grouped, weights, tuple_of_row, totals)


def has_repeats(keys: Keys) -> bool:
    """Whether uniting equal tuples pays, judged on rows spread over the table.

    Distinct counts grow slower than rows, so a sample overstates the share of distinct tuples.
    """
    n = keys.shape[1]
    if n <= SAMPLE:
        return True
    step = n // SAMPLE
    firsts, _ = group_keys.sized(SAMPLE)(np.ascontiguousarray(keys[:, : step * SAMPLE : step]))
    return len(firsts) < GROUP_BELOW * SAMPLE
