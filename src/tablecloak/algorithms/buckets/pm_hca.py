"""PM-HCA: exchange rows between buckets whose values all belong to one category of a hierarchy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.buckets import _v_klt_shared as shared
from tablecloak.algorithms.buckets.base import GivenGroups, GroupsField
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import DomainKind
from tablecloak.errors import IncompatibleChoice
from tablecloak.progress import Progress


@algorithm("pm-hca", minimizes="repeated categories")
class PmHca(GivenGroups, shared.ByRow):
    """Exchange rows between buckets whose sensitive values all belong to one category of their hierarchy.

    Sound: every such bucket exchanges a row with a near one of another category, and all rows of a bucket get common
    quasi-identifiers. Published: buckets with neighbouring values are exchanged in order, whatever their categories,
    and only numbers among the quasi-identifiers are made common.
    Cost: O(buckets^2). Reference: El Ouazzani et al., Security and Communication Networks, 2021, 6612923.
    """

    variant: shared.VariantField = "sound"
    groups: GroupsField = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        columns = [c for c in shared.sensitive_columns(problem.table) if c.has_categories]
        if not columns:
            raise IncompatibleChoice(
                "pm-hca mixes the categories of a sensitive column and none has two of them",
                hint="give a sensitive column a hierarchy of two levels or more",
            )
        classes = shared.start_classes(problem, progress)
        spans = shared.own_spans(problem.table)
        if self.variant == "published":
            after, notes = permuted_as_published(problem.table, classes)
            return numbers_united(problem.table, spans.united(classes), after).solution(tuple(notes))
        classes, notes = mixed_categories(problem, spans, classes)
        return shared.finished(problem, spans, classes, notes)


def mixed_categories(problem: Problem, spans: shared.Spans, classes: IntArray) -> tuple[IntArray, list[str]]:
    """PM-HCA, sound: buckets after exchanges for every column with categories, and what was done."""
    columns = shared.sensitive_columns(problem.table)
    notes = []
    for column in (c for c in columns if c.has_categories):
        assert column.category is not None
        accepts = shared.keeps_diversity([c for c in columns if c is not column])
        nearest = shared.nearest_first(problem, spans, classes)
        buckets, flagged, swaps = mix_categories(
            shared.buckets_of(classes), column.codes, column.category, nearest=nearest, accepts=accepts
        )
        shared.unite_flagged(buckets, flagged, column, nearest)
        classes = np.unique(shared.classes_of(buckets, len(classes)), return_inverse=True)[1].reshape(-1)
        united = f", {len(flagged):,} buckets united" if flagged else ""
        notes.append(f"'{column.name}': {len(swaps):,} exchanges mixed the categories of buckets{united}")
    return classes, notes


def permuted_as_published(table: CodedTable, classes: IntArray) -> tuple[IntArray, list[str]]:
    """PM-HCA as published, column after column, and what it fails to protect."""
    buckets, notes = shared.buckets_of(classes), []
    for column in shared.sensitive_columns(table):
        if column.category is None or not column.has_categories:
            continue
        before = _leaf_sets(column, buckets)
        buckets, flagged, _ = permute_flagged(buckets, column.codes, column.category)
        after = _leaf_sets(column, buckets)
        left = sum(is_one_category(column.codes[rows].tolist(), column.category) for rows in buckets.values())
        n_leaves = column.domain.n_values
        notes.append(
            f"published variant: of '{column.name}', {len(flagged):,} buckets were exchanged and {left:,} still hold "
            f"one category; NCP as the source weighs it {superset_ncp(before, [1] * len(before), n_leaves):.3f} → "
            f"{superset_ncp(after, [1] * len(after), n_leaves):.3f}; quasi-identifiers other than numbers stay apart"
        )
    return shared.classes_of(buckets, len(classes)), notes


def _leaf_sets(column: shared.Categories, buckets: shared.Buckets) -> list[frozenset[int]]:
    """The leaves under the lowest node that holds each bucket."""
    tree = column.domain.hierarchy
    assert tree is not None
    ranges = ((int(column.codes[rows].min()), int(column.codes[rows].max())) for rows in buckets.values())
    return [frozenset(tree.leaves_under(tree.lca_range(lo, hi))) for lo, hi in ranges]


def numbers_united(table: CodedTable, spans: shared.Spans, classes: IntArray) -> shared.Spans:
    """As in the source's table: only numbers are made common in a bucket."""
    return spans.united(classes, [i for i, d in enumerate(table.domains) if d.kind is DomainKind.ORDERED])


def is_consecutive(codes: Iterable[int], category: IntArray) -> bool:
    """The published test: sorted, every value is the next sibling of the one before.

    It misses a category with a gap and a repeated value, and flags a single row.
    """
    ordered = sorted(codes)
    return all(b - a == 1 and category[a] == category[b] for a, b in pairwise(ordered))


def is_one_category(codes: Iterable[int], category: IntArray) -> bool:
    """The sound test: all values belong to one category."""
    return len({int(category[code]) for code in codes}) == 1


def permute_flagged(
    buckets: shared.Buckets, codes: IntArray, category: IntArray, *, pick: tuple[str, str] = ("max", "min")
) -> tuple[shared.Buckets, list[int], list[shared.Swap]]:
    """The published method: buckets after exchanges, labels that were flagged, and the exchanges.

    Flagged buckets are paired in order, or chained if their number is odd; each pair exchanges the row with the
    largest code of the first for the row with the smallest of the second, on what they hold at that moment.
    """
    buckets = {label: list(rows) for label, rows in buckets.items()}
    flagged = [label for label, rows in buckets.items() if is_consecutive(codes[rows].tolist(), category)]
    step = 1 if len(flagged) % 2 else 2
    swaps = []
    for first, second in zip(flagged[::step], flagged[1::step], strict=False):
        place = _pick(codes[buckets[first]], pick[0])
        swaps.append(shared.swap(buckets, first, place, second, _pick(codes[buckets[second]], pick[1])))
    return buckets, flagged, swaps


def _pick(codes: IntArray, which: str) -> int:
    return int(np.argmax(codes) if which == "max" else np.argmin(codes))


def mix_categories(
    buckets: shared.Buckets,
    codes: IntArray,
    category: IntArray,
    *,
    nearest: Callable[[int, Sequence[int]], list[int]],
    accepts: shared.Accepts,
) -> tuple[shared.Buckets, list[int], list[shared.Swap]]:
    """The sound method: buckets after exchanges, labels still in one category, and the exchanges.

    A bucket of the largest category is paired with the nearest one of the second largest, what is left over with
    buckets that were never flagged, then with any. An exchange leaves both with two categories or more and as many
    different values as before.

    Args:
        nearest: labels in the order in which a bucket would like to exchange with them.
        accepts: whether the rows at two places of two buckets may change places, as far as other columns go.
    """
    buckets = {label: list(rows) for label, rows in buckets.items()}
    search = _Mixer(buckets, codes, category, accepts)
    waiting: dict[int, list[int]] = {}
    for label, rows in buckets.items():
        if is_one_category(codes[rows].tolist(), category):
            waiting.setdefault(int(category[codes[rows[0]]]), []).append(label)
    calm = [label for label in buckets if not search.is_flagged(label)]
    left = _pair_up(waiting, search, nearest)
    for label in left:
        own = search.category_of(label)
        for group in (
            [c for c in calm if own not in search.categories(c)],
            [c for c in calm if own in search.categories(c)],
            list(buckets),
        ):
            if search.try_partners(label, nearest(label, group)) is not None:
                break
    return buckets, [label for label in buckets if search.is_flagged(label)], search.swaps


def _pair_up(
    waiting: dict[int, list[int]], search: _Mixer, nearest: Callable[[int, Sequence[int]], list[int]]
) -> list[int]:
    """Pair flagged buckets of different categories; the rest is returned."""
    left: list[int] = []
    while sum(bool(labels) for labels in waiting.values()) >= 2:
        largest, second = sorted(waiting, key=lambda c: (-len(waiting[c]), c))[:2]
        label = waiting[largest].pop(0)
        partner = search.try_partners(label, nearest(label, waiting[second]))
        if partner is None:
            left.append(label)
        else:
            waiting[second].remove(partner)
    return left + [label for labels in waiting.values() for label in labels]


class _Mixer:
    """Buckets and the question which exchange mixes their categories."""

    def __init__(self, buckets: shared.Buckets, codes: IntArray, category: IntArray, accepts: shared.Accepts) -> None:
        self.buckets = buckets
        self.codes = codes
        self.category = category
        self.accepts = accepts
        self.swaps: list[shared.Swap] = []
        self._held: dict[int, set[int]] = {}  # categories of buckets that were asked for

    def is_flagged(self, label: int) -> bool:
        return len(self.categories(label)) == 1

    def category_of(self, label: int) -> int:
        return int(self.category[self.codes[self.buckets[label][0]]])

    def categories(self, label: int) -> set[int]:
        if label not in self._held:
            self._held[label] = set(self.category[self.codes[self.buckets[label]]].tolist())
        return self._held[label]

    def try_partners(self, label: int, partners: Iterable[int]) -> int | None:
        """Carry out the first exchange that helps with the first partner that has one."""
        for partner in partners:
            rows, others = self.buckets[label], self.buckets[partner]
            for place in np.argsort(self.codes[rows], kind="stable").tolist():
                for other in np.argsort(self.codes[others], kind="stable").tolist():
                    if self._helps(rows, others, place, other) and self.accepts(rows, others, place, other):
                        self.swaps.append(shared.swap(self.buckets, label, place, partner, other))
                        self._held.pop(label, None)
                        self._held.pop(partner, None)
                        return partner
        return None

    def _helps(self, rows: list[int], others: list[int], place: int, other: int) -> bool:
        one, two = self.codes[rows].tolist(), self.codes[others].tolist()
        before = len(set(one)), len(set(two))
        one[place], two[other] = two[other], one[place]
        mixed = not is_one_category(one, self.category) and not is_one_category(two, self.category)
        return mixed and len(set(one)) >= before[0] and len(set(two)) >= before[1]


def superset_ncp(sets: Sequence[frozenset[int]], occurrences: Sequence[int], n_leaves: int) -> float:
    """The source's NCP of buckets generalised to sets of leaves: each weighs as many listed sets as contain it.

    Args:
        sets: generalised set of every different bucket; equal sets of different buckets are listed twice.
        occurrences: how many buckets each entry stands for.
    """
    contained = Counter({one: sum(one <= other for other in sets) for one in set(sets)})
    weights = [contained[one] * n for one, n in zip(sets, occurrences, strict=True)]
    loss = [0.0 if len(one) <= 1 else len(one) / n_leaves for one in sets]
    return float(np.dot(weights, loss) / max(1, sum(weights)))
