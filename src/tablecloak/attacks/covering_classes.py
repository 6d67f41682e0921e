"""Which published classes could be whose: classes whose cells cover all quasi-identifiers of a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.case import Case
from tablecloak.attacks.row_classes import classes_of
from tablecloak.data.coverage import Coverage
from tablecloak.data.register import Reach, covering_pairs

# Comparing every class with every target, bit by bit, is attempted up to this many pairs.
PAIRS_UP_TO = 3_000_000_000
ARCS_UP_TO = 60_000_000
SLICE = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Arc i says that class `classes[i]` covers the tuple `tuples[i]`; every target has one of the tuples."""

    tuples: IntArray  # (n_arcs,) ascending
    classes: IntArray  # (n_arcs,)
    tuple_of_target: IntArray  # (n_targets,)
    n_of_tuple: IntArray  # (n_tuples,) targets

    def per_target(self, of_class: FloatArray) -> FloatArray:
        """Sum of a quantity of classes over the classes that cover every target, (n_targets,)."""
        sums = np.bincount(self.tuples, weights=of_class[self.classes], minlength=len(self.n_of_tuple))
        return sums[self.tuple_of_target].astype(np.float64)

    def per_class(self, n_classes: int) -> IntArray:
        """Targets that every class covers, (n_classes,)."""
        counts = np.bincount(self.classes, weights=self.n_of_tuple[self.tuples], minlength=n_classes)
        return counts.astype(np.int64)

    def n_without(self) -> int:
        """Targets that no class covers."""
        is_covered = np.zeros(len(self.n_of_tuple), bool)
        is_covered[self.tuples] = True
        return int(self.n_of_tuple[~is_covered].sum())


def candidates_of(case: Case, codes: Sequence[IntArray], *, pairs_up_to: int | None = None) -> Candidates | None:
    """The classes that cover each target, given by its codes in every column; None where there are too many pairs.

    Args:
        pairs_up_to: so many may be compared; None: as many as boxes leave that rule out most of them.
    """
    if any(column.coverage is None or column.domain is None for column in case.quasi):
        return None
    tuple_of_target, n_tuples = classes_of(codes, len(codes[0]) if codes else 0)
    firsts = np.zeros(n_tuples, np.int64)
    firsts[tuple_of_target[::-1]] = np.arange(len(tuple_of_target))[::-1]
    distinct = [column[firsts] for column in codes]
    labels = case.class_labels()
    arcs = _by_label(case, labels, distinct) or _by_bits(case, labels, distinct, pairs_up_to or PAIRS_UP_TO)
    if arcs is None and pairs_up_to is None:
        arcs = _by_boxes(case, labels, distinct)
    if arcs is None:
        return None
    order = np.lexsort((arcs[1], arcs[0]))
    counts = np.bincount(tuple_of_target, minlength=n_tuples)
    return Candidates(arcs[0][order], arcs[1][order], tuple_of_target, counts)


def population_counts(case: Case) -> IntArray | None:
    """People of the population that every class covers, (n_classes,); None where there are too many pairs."""
    candidates = candidates_in_population(case)
    return None if candidates is None else candidates.per_class(case.stats.n_classes)


def candidates_in_population(case: Case) -> Candidates | None:
    """The classes that cover each person of the population; None where there are too many pairs."""
    codes = [column.people for column in case.quasi]
    return candidates_of(case, [c for c in codes if c is not None])


def _by_label(case: Case, labels: list[IntArray], targets: list[IntArray]) -> tuple[IntArray, IntArray] | None:
    """Where no two texts of a column cover the same value, every target is in at most one class: look it up."""
    shown = []
    for column, used, codes in zip(case.quasi, labels, targets, strict=True):
        assert column.coverage is not None
        assert column.domain is not None
        label_of_code = _label_of_code(column.coverage, np.unique(used), column.domain.n_codes)
        if label_of_code is None:
            return None
        shown.append(label_of_code[codes])
    is_covered = np.all([s >= 0 for s in shown], axis=0)
    covered = np.flatnonzero(is_covered)
    n_classes = case.stats.n_classes
    both, n_both = classes_of([np.concatenate([a, s[covered]]) for a, s in zip(labels, shown, strict=True)])
    class_of = np.full(n_both, -1, np.int64)
    class_of[both[:n_classes]] = np.arange(n_classes)
    classes = class_of[both[n_classes:]]
    return covered[classes >= 0], classes[classes >= 0]


def _label_of_code(coverage: Coverage, used: IntArray, n_codes: int) -> IntArray | None:
    """The text that covers each code (-1: none), or None where two do."""
    label_of_code = np.full(n_codes, -1, np.int64)
    n_covered = 0
    for label in used.tolist():
        members = coverage.sets.get(label)
        place = sorted(members) if members is not None else slice(coverage.lo[label], coverage.hi[label] + 1)
        label_of_code[place] = label
        n_covered += len(members) if members is not None else max(0, int(coverage.hi[label] - coverage.lo[label]) + 1)
    return label_of_code if n_covered == int(np.count_nonzero(label_of_code >= 0)) else None


def _by_bits(
    case: Case, labels: list[IntArray], targets: list[IntArray], pairs_up_to: int
) -> tuple[IntArray, IntArray] | None:
    n_targets, n_classes = len(targets[0]) if targets else 0, case.stats.n_classes
    if n_targets * n_classes > pairs_up_to:
        return None
    tuples, classes, n_arcs = [], [], 0
    for begin in range(0, n_targets, SLICE):
        part = [codes[begin : begin + SLICE] for codes in targets]
        n = len(part[0])
        masks = [
            _masks(column.coverage, used, codes) for column, used, codes in zip(case.quasi, labels, part, strict=True)
        ]
        for number in range(n_classes):
            bits = masks[0][int(labels[0][number])]
            for mask, used in zip(masks[1:], labels[1:], strict=True):
                bits = bits & mask[int(used[number])]
            covered = np.flatnonzero(np.unpackbits(bits, count=n)) if bits.any() else ()
            if len(covered):
                tuples.append(np.asarray(covered) + begin)
                classes.append(np.full(len(covered), number, np.int64))
                n_arcs += len(covered)
        if n_arcs > ARCS_UP_TO:
            return None
    empty = [np.zeros(0, np.int64)]
    return np.concatenate(tuples or empty), np.concatenate(classes or empty)


def _by_boxes(case: Case, labels: list[IntArray], targets: list[IntArray]) -> tuple[IntArray, IntArray] | None:
    """The same where most pairs are ruled out many at a time."""
    reaches = [Reach(used, q.coverage) for q, used in zip(case.quasi, labels, strict=True) if q.coverage is not None]
    parts, n_arcs = [], 0
    for part in covering_pairs(reaches, targets):
        parts.append(part)
        n_arcs += len(part[0])
        if n_arcs > ARCS_UP_TO:
            return None
    tuples, classes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return tuples, classes


def _masks(coverage: Coverage | None, used: IntArray, codes: IntArray) -> dict[int, NDArray[np.uint8]]:
    """For every text that is used the targets that it covers, as bits."""
    assert coverage is not None
    return {label: np.packbits(coverage.holds(label, codes)) for label in np.unique(used).tolist()}
