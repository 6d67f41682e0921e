"""What the steps of V-KLT share: rows with spans of codes, buckets of them, and rules for exchanges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, TupleOrder, if_not_monotone
from tablecloak.algorithms.merge_classes import merge_failing, renumbered
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.errors import IncompatibleChoice, did_you_mean
from tablecloak.kernels.uniting import nearest_boxes
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import Progress
from tablecloak.stats.classes import Evidence, SensitiveDomain

Buckets: TypeAlias = dict[int, list[int]]  # rows by label; labels ascend


@dataclass(frozen=True, slots=True)
class Swap:
    """Two rows that changed places between two buckets."""

    first: int  # label
    row: int
    second: int  # label
    other: int


def buckets_of(classes: IntArray) -> Buckets:
    """Buckets of rows given by class number."""
    order = np.argsort(classes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(classes[order])) + 1) if len(order) else []
    return {int(classes[part[0]]): part.tolist() for part in parts}


def classes_of(buckets: Buckets, n_rows: int) -> IntArray:
    """The label of every row."""
    classes = np.empty(n_rows, np.int64)
    for label, rows in buckets.items():
        classes[rows] = label
    return classes


def swap(buckets: Buckets, first: int, place: int, second: int, other: int) -> Swap:
    """Exchange the rows at two places of two buckets."""
    one, two = buckets[first], buckets[second]
    done = Swap(first, one[place], second, two[other])
    one[place], two[other] = two[other], one[place]
    return done


def first_seen(columns: Sequence[IntArray]) -> IntArray:
    """Equal rows get equal numbers 0, 1, ... in the order in which they are first seen: V-KAN."""
    keys = np.stack(columns, axis=1)
    _, firsts, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    rank = np.empty(len(firsts), np.int64)
    rank[np.argsort(firsts)] = np.arange(len(firsts))
    return rank[inverse.reshape(-1)]


Variant: TypeAlias = Literal["sound", "published"]
VariantField = Annotated[
    Variant, Field(description="sound: the release verifies; published: the source to the letter, gaps included")
]


LevelsField = Annotated[
    dict[str, Annotated[int, Field(ge=0)]],
    Field(description="level of each quasi-identifier's hierarchy to group by; 1 unless given"),
]


TField = Annotated[float, Field(ge=0, le=1, description="buckets this near to the table are left alone")]


def refusal(goal: Goal, *, needs_sensitive: bool) -> str | None:
    if goal.not_monotone:
        return if_not_monotone(goal, "buckets that fail it are united, and uniting buckets can break {models}")
    if needs_sensitive and Evidence.SENSITIVE not in goal.evidence:
        return "it exchanges rows by their sensitive values, and no goal speaks of any; add l-diversity or t-closeness"
    return None


class Variants:
    """What all steps share: the sound variant hides the order of rows, the published one follows it to the letter."""

    variant: Variant

    needs_rows: ClassVar[bool] = True

    @property
    def order(self) -> TupleOrder:
        return TupleOrder.SECRET if self.variant == "sound" else TupleOrder.GIVEN


class ByRow(Variants):
    """What the steps that exchange rows share."""

    needs_sensitive: ClassVar[bool] = True
    lists_values: ClassVar[bool] = True

    def refuses(self, goal: Goal) -> str | None:
        return refusal(goal, needs_sensitive=True)


Accepts: TypeAlias = Callable[[list[int], list[int], int, int], bool]


class Nearest(Protocol):
    """Labels in the order in which a bucket would like to exchange rows with them, the first `most` if that is said."""

    def __call__(self, label: int, others: Sequence[int] | IntArray, *, most: int | None = None) -> list[int]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """The codes that the published value of each row stands for, from `lo` to `hi` in each quasi dimension."""

    lo: IntArray  # (n_rows, n_dims)
    hi: IntArray  # (n_rows, n_dims)

    def united(self, classes: IntArray, dims: Sequence[int] | None = None) -> Spans:
        """Every row with the span of its whole class, in some dimensions only if these are given."""
        classes, n_classes = renumbered(classes)
        lo, hi = self.hulls(classes, n_classes)
        wide = Spans(lo[classes], hi[classes])
        if dims is None:
            return wide
        mixed = Spans(self.lo.copy(), self.hi.copy())
        mixed.lo[:, dims], mixed.hi[:, dims] = wide.lo[:, dims], wide.hi[:, dims]
        return mixed

    def hulls(self, classes: IntArray, n_classes: int) -> tuple[IntArray, IntArray]:
        """The span of every class, (n_classes, n_dims) each."""
        order = np.argsort(classes, kind="stable")
        starts = np.searchsorted(classes[order], np.arange(n_classes))
        return np.minimum.reduceat(self.lo[order], starts), np.maximum.reduceat(self.hi[order], starts)

    def solution(self, notes: tuple[str, ...]) -> Solution:
        """Rows with equal spans are a class, for that is what a reader of the release sees."""
        boxes, classes = np.unique(np.concatenate([self.lo, self.hi], axis=1), axis=0, return_inverse=True)
        n_dims = self.lo.shape[1]
        return Solution(classes.reshape(-1).astype(np.int64), boxes[:, :n_dims], boxes[:, n_dims:], notes=notes)


def own_spans(table: CodedTable) -> Spans:
    """Every row with its exact values."""
    codes = np.stack([table.quasi_codes(dim) for dim in range(table.space.n_dims)], axis=1)
    return Spans(codes, codes)


def spans_at(table: CodedTable, levels: Mapping[str, int]) -> Spans:
    """Every row with its values generalised to a level of each hierarchy, level 1 unless another is given."""
    names = [d.name for d in table.domains]
    for name in levels:
        if name not in names:
            raise IncompatibleChoice(
                f"levels: '{name}' is no quasi-identifier",
                hint=did_you_mean(name, names) or f"one of {', '.join(names)}",
            )
    lo, hi = [], []
    for dim, domain in enumerate(table.domains):
        assert domain.hierarchy is not None  # asked for by `needs_hierarchies`
        nodes = domain.hierarchy.level_map(levels.get(domain.name, 1))[table.quasi_codes(dim)]
        lo.append(domain.hierarchy.first[nodes])
        hi.append(domain.hierarchy.last[nodes])
    return Spans(np.stack(lo, axis=1), np.stack(hi, axis=1))


def start_classes(problem: Problem, progress: Progress, *, by_distance: bool = True) -> IntArray:
    """The given buckets, or else classes that satisfy the goal, perhaps without distances that exchanges shorten."""
    if problem.given is not None:
        return renumbered(problem.given)[0]
    models = tuple(m for m in problem.goal.models if by_distance or not m.is_distance)
    goal = replace(problem.goal, models=models or (KAnonymity(k=2),))
    easier = replace(problem, goal=goal)
    return partition(easier, CutRule(by_saving=True, relaxed=False), progress).class_of_tuple


def finished(problem: Problem, spans: Spans, classes: IntArray, notes: list[str]) -> Solution:
    """Classes with common quasi-identifiers, united where they fail the goal."""
    return spans.united(merge_failing(problem, classes)).solution(tuple(notes))


def nearest_first(problem: Problem, spans: Spans, classes: IntArray) -> Nearest:
    """For a bucket and some others: those in the order of the loss that common quasi-identifiers would add."""
    n_classes = int(classes.max()) + 1
    lo, hi = spans.hulls(classes, n_classes)
    space, find = problem.table.space, nearest_boxes.sized(len(classes))

    def nearest(label: int, others: Sequence[int] | IntArray, *, most: int | None = None) -> list[int]:
        candidates = np.asarray(others, np.int64)
        candidates = candidates[candidates != label]
        found: list[int] = find(space, lo, hi, label, candidates, most or len(candidates)).tolist()
        return found

    return nearest


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A sensitive column: the code of every row and, where it has a hierarchy, the category of every code."""

    domain: SensitiveDomain
    codes: IntArray
    category: IntArray | None

    @property
    def name(self) -> str:
        return self.domain.name

    @property
    def is_ordered(self) -> bool:
        """Numbers or dates, compared by their order and not by a hierarchy."""
        return self.domain.is_ordered and self.domain.hierarchy is None

    @property
    def has_categories(self) -> bool:
        """There are two categories or more, so a bucket can be told to hold one only."""
        return self.category is not None and len(np.unique(self.category[np.unique(self.codes)])) > 1


def sensitive_columns(table: CodedTable) -> list[Categories]:
    """The sensitive columns that the goal looks at."""
    return [
        Categories(s, codes, s.hierarchy.parent[: s.hierarchy.n_leaves] if s.hierarchy else None)
        for s, codes in table.attributes()
    ]


def keeps_diversity(columns: Sequence[Categories]) -> Accepts:
    """Exchanges after which neither bucket has fewer different values or, below two, fewer categories of any column."""

    def accepts(rows: list[int], others: list[int], place: int, other: int) -> bool:
        one, two = list(rows), list(others)
        one[place], two[other] = others[other], rows[place]
        return all(
            _diversity(column, after) >= _diversity(column, before)
            for column in columns
            for before, after in ((rows, one), (others, two))
        )

    return accepts


def _diversity(column: Categories, rows: list[int]) -> tuple[int, int]:
    codes = column.codes[rows]
    categories = 0 if column.category is None else min(2, len(set(column.category[codes].tolist())))
    return categories, len(set(codes.tolist()))


def both(*rules: Accepts) -> Accepts:
    """Exchanges that all rules accept."""
    return lambda rows, others, place, other: all(rule(rows, others, place, other) for rule in rules)


def keeps_closeness(codes: IntArray) -> Accepts:
    """Exchanges after which neither bucket is farther from the table than the farther of the two was."""
    n_values = int(codes.max()) + 1
    table = np.cumsum(np.bincount(codes, minlength=n_values)) / len(codes)

    def distance(rows: list[int]) -> float:
        shares = np.cumsum(np.bincount(codes[rows], minlength=n_values)) / len(rows)
        return float(np.abs(shares - table).sum())

    def accepts(rows: list[int], others: list[int], place: int, other: int) -> bool:
        one, two = list(rows), list(others)
        one[place], two[other] = others[other], rows[place]
        return max(distance(one), distance(two)) <= max(distance(rows), distance(others)) + 1e-12

    return accepts


def unite_flagged(buckets: Buckets, flagged: Sequence[int], column: Categories, nearest: Nearest) -> None:
    """Unite each bucket of one category with the nearest that holds another."""
    assert column.category is not None
    for label in flagged:
        own = set(column.category[column.codes[buckets[label]]].tolist())
        for other in nearest(label, list(buckets)):
            if not set(column.category[column.codes[buckets[other]]].tolist()) <= own:
                buckets[other] += buckets.pop(label)
                break
