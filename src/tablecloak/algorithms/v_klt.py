"""V-KLT and its four steps: V-KAN groups, V-COLD buckets, PM-HCA mixes categories, T-MSN mixes numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from functools import cache, partial
from typing import Annotated, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.algorithms.base import Bucketing, Order, Problem, Solution, algorithm
from tablecloak.algorithms.buckets import (
    GivenGroups,
    GroupsField,
    Separating,
    bucketed,
    require_spread,
    shuffled,
    unite_failing,
)
from tablecloak.algorithms.merging import merge_failing
from tablecloak.algorithms.vklt import t_msn, v_cold
from tablecloak.algorithms.vklt.buckets import Buckets, buckets_of, classes_of, first_seen
from tablecloak.algorithms.vklt.pm_hca import is_one_category, mix_categories, permute_flagged, superset_ncp
from tablecloak.algorithms.vklt.workshop import (
    Accepts,
    Categories,
    Spans,
    both,
    finished,
    keeps_closeness,
    keeps_diversity,
    nearest_first,
    own_spans,
    sensitive_columns,
    spans_at,
    start_classes,
    unite_flagged,
)
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import DomainKind
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.stats.classes import Needs

__all__ = ["PmHca", "TMsn", "VCold", "VKan", "VKlt"]

IntArray = NDArray[np.int64]
Variant: TypeAlias = Literal["sound", "published"]
VariantField = Annotated[
    Variant, Field(description="sound: the release verifies; published: the source to the letter, gaps included")
]
LevelsField = Annotated[
    dict[str, Annotated[int, Field(ge=0)]],
    Field(description="level of each quasi-identifier's hierarchy to group by; 1 unless given"),
]
TField = Annotated[float, Field(ge=0, le=1, description="buckets this near to the table are left alone")]
CORRELATED = 0.7


def _refusal(goal: Goal, *, needs_sensitive: bool) -> str | None:
    unsafe = goal.not_monotone
    if unsafe:
        return f"buckets that fail it are united, and uniting buckets can break {', '.join(unsafe)}"
    if needs_sensitive and Needs.SENSITIVE not in goal.needs:
        return "it exchanges rows by their sensitive values, and no goal speaks of any; add l-diversity or t-closeness"
    return None


class _Variants:
    """What all steps share: the sound variant hides the order of rows, the published one follows it to the letter."""

    variant: Variant

    @property
    def needs_rows(self) -> bool:
        return True

    @property
    def order(self) -> Order:
        return Order.SECRET if self.variant == "sound" else Order.GIVEN


class _ByRow(_Variants):
    """What the steps that exchange rows share."""

    @property
    def needs_sensitive(self) -> bool:
        return True

    def refuses(self, goal: Goal) -> str | None:
        return _refusal(goal, needs_sensitive=True)


@algorithm("v-kan", minimizes="the levels of its columns, one step after the other")
class VKan(_Variants):
    """Generalise every quasi-identifier to one level and group equal rows; classes that fail the goal join a neighbour.

    The published variant leaves them as they are: its k is whatever the smallest class happens to have.
    Cost: O(n log n). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    variant: VariantField = "sound"
    levels: LevelsField = field(default_factory=dict)

    @property
    def needs_hierarchies(self) -> bool:
        return True

    def refuses(self, goal: Goal) -> str | None:
        return _refusal(goal, needs_sensitive=False)

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        progress.start("solve", problem.table.n_tuples)
        spans = spans_at(problem.table, self.levels)
        if self.variant == "published":
            return spans.solution(("published variant: classes are as large as the chosen levels make them",))
        return finished(problem, spans, _grouped(spans), [])


def _grouped(spans: Spans) -> IntArray:
    return first_seen([*spans.lo.T, *spans.hi.T])


@algorithm("t-msn", minimizes="distances from the table")
class TMsn(GivenGroups, _ByRow):
    """Exchange rows between buckets until the numbers in a bucket are spread like those of the table.

    Sound: the bucket farthest from the table by the ordered earth mover's distance exchanges rows with a near one
    while that brings both below its distance and no bucket loses different values; then all rows of a bucket get
    common quasi-identifiers. Published: rows are exchanged by their means and keep their quasi-identifiers.
    Cost: O(buckets^2). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    variant: VariantField = "sound"
    t: TField = 0.0
    groups: GroupsField = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        columns = [c for c in sensitive_columns(problem.table) if c.is_ordered]
        if not columns:
            raise IncompatibleChoice(
                "t-msn exchanges rows by a sensitive column of numbers or dates and there is none",
                hint="use pm-hca for a column with a hierarchy",
            )
        classes = start_classes(problem, progress, without="t-closeness")
        spans = own_spans(problem.table)
        if self.variant == "published":
            _, notes = _exchanged_as_published(problem.table, classes)
            return spans.united(classes).solution(tuple(notes))
        classes, notes = _closer(problem, spans, classes, self.t)
        return finished(problem, spans, classes, notes)


@algorithm("pm-hca", minimizes="repeated categories")
class PmHca(GivenGroups, _ByRow):
    """Exchange rows between buckets whose sensitive values all belong to one category of their hierarchy.

    Sound: every such bucket exchanges a row with a near one of another category, and all rows of a bucket get common
    quasi-identifiers. Published: buckets with neighbouring values are exchanged in order, whatever their categories,
    and only numbers among the quasi-identifiers are made common.
    Cost: O(buckets^2). Reference: El Ouazzani et al., Security and Communication Networks, 2021, 6612923.
    """

    variant: VariantField = "sound"
    groups: GroupsField = None

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        columns = [c for c in sensitive_columns(problem.table) if c.has_categories]
        if not columns:
            raise IncompatibleChoice(
                "pm-hca mixes the categories of a sensitive column and none has two of them",
                hint="give a sensitive column a hierarchy of two levels or more",
            )
        classes = start_classes(problem, progress)
        spans = own_spans(problem.table)
        if self.variant == "published":
            after, notes = _permuted_as_published(problem.table, classes)
            return _numbers_united(problem.table, spans.united(classes), after).solution(tuple(notes))
        classes, notes = _mixed(problem, spans, classes)
        return finished(problem, spans, classes, notes)


@algorithm("v-klt", minimizes="what its three parts do")
class VKlt(_ByRow):
    """V-KAN, then PM-HCA on categories, then T-MSN on numbers, then common quasi-identifiers for every bucket.

    The published variant runs the steps to the letter; the recount then says whether the result holds.
    Cost: O(n log n + buckets^2). Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    variant: VariantField = "sound"
    levels: LevelsField = field(default_factory=dict)
    t: TField = 0.0

    @property
    def needs_hierarchies(self) -> bool:
        return True

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        progress.start("solve", table.n_tuples)
        spans = spans_at(table, self.levels)
        classes = _grouped(spans)
        if self.variant == "published":
            after, notes = _permuted_as_published(table, classes)
            _, more = _exchanged_as_published(table, after)
            return _numbers_united(table, spans, after).solution((*notes, *more))
        kept = tuple(m for m in problem.goal.models if m.name != "t-closeness")
        if kept:
            classes = merge_failing(replace(problem, goal=replace(problem.goal, models=kept)), classes)
        classes, notes = _mixed(problem, spans, classes)
        classes, more = _closer(problem, spans, classes, self.t)
        return finished(problem, spans, classes, [*notes, *more])


def _mixed(problem: Problem, spans: Spans, classes: IntArray) -> tuple[IntArray, list[str]]:
    """PM-HCA, sound: buckets after exchanges for every column with categories, and what was done."""
    columns = sensitive_columns(problem.table)
    notes = []
    for column in (c for c in columns if c.has_categories):
        assert column.category is not None
        others = [c for c in columns if c is not column]
        nearest = nearest_first(problem, spans, classes)
        buckets, flagged, swaps = mix_categories(
            buckets_of(classes), column.codes, column.category, nearest=nearest, accepts=keeps_diversity(others)
        )
        unite_flagged(buckets, flagged, column, nearest)
        classes = np.unique(classes_of(buckets, len(classes)), return_inverse=True)[1].reshape(-1)
        united = f", {len(flagged):,} buckets united" if flagged else ""
        notes.append(f"'{column.name}': {len(swaps):,} exchanges mixed the categories of buckets{united}")
    return classes, notes


def _closer(problem: Problem, spans: Spans, classes: IntArray, t: float) -> tuple[IntArray, list[str]]:
    """T-MSN, sound: buckets after exchanges for every column of numbers, and what was done."""
    columns = sensitive_columns(problem.table)
    notes: list[str] = []
    kept_close: list[Accepts] = []
    for column in (c for c in columns if c.is_ordered):
        others = [c for c in columns if c is not column]
        nearest = nearest_first(problem, spans, classes)
        start = buckets_of(classes)
        buckets, swaps = t_msn.lower_distances(
            start,
            column.codes,
            target=t,
            partners=cache(partial(nearest, others=list(start))),
            accepts=both(keeps_diversity(others), *kept_close),
        )
        kept_close.append(keeps_closeness(column.codes))
        before, after = (_largest_distance(column, b) for b in (start, buckets))
        notes.append(f"'{column.name}': {len(swaps):,} exchanges, largest distance {before:.4f} → {after:.4f}")
        classes = classes_of(buckets, len(classes))
    return classes, notes


def _largest_distance(column: Categories, buckets: Buckets) -> float:
    distances = t_msn.Distances(buckets, column.codes).of
    return max(distances.values(), default=0.0)


def _exchanged_as_published(table: CodedTable, classes: IntArray) -> tuple[IntArray, list[str]]:
    """T-MSN as published: columns one after the other, one alone where all are highly correlated."""
    ordered = [
        c.domain.numbers[c.codes] for c in sensitive_columns(table) if c.is_ordered and c.domain.numbers is not None
    ]
    if len(ordered) > 1 and all(abs(v_cold.pearson(a, b)) >= CORRELATED for a in ordered for b in ordered):
        ordered = ordered[:1]
    buckets, n_swaps = buckets_of(classes), 0
    for values in ordered:
        buckets, rounds = t_msn.exchange_minima(buckets, values.tolist())
        n_swaps += sum(len(r.swaps) for r in rounds)
    note = (
        f"published variant: {n_swaps:,} exchanges leave quasi-identifiers as they were, so grouping by these "
        "restores the old buckets: nothing more is protected than before"
    )
    return classes_of(buckets, len(classes)), [note] if ordered else []


def _permuted_as_published(table: CodedTable, classes: IntArray) -> tuple[IntArray, list[str]]:
    """PM-HCA as published, column after column, and what it fails to protect."""
    buckets, notes = buckets_of(classes), []
    for column in sensitive_columns(table):
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
    return classes_of(buckets, len(classes)), notes


def _leaf_sets(column: Categories, buckets: Buckets) -> list[frozenset[int]]:
    """The leaves under the lowest node that holds each bucket."""
    tree = column.domain.hierarchy
    assert tree is not None
    ranges = ((int(column.codes[rows].min()), int(column.codes[rows].max())) for rows in buckets.values())
    return [frozenset(tree.leaves_under(tree.lca_range(lo, hi))) for lo, hi in ranges]


def _numbers_united(table: CodedTable, spans: Spans, classes: IntArray) -> Spans:
    """As in the source's table: only numbers are made common in a bucket."""
    return spans.united(classes, [i for i, d in enumerate(table.domains) if d.kind is DomainKind.ORDERED])


@algorithm("v-cold", minimizes="nothing, its cells are exact")
class VCold(_Variants, Separating):
    """Cut rows into buckets in which no sensitive value repeats, and sensitive columns into slices of related ones.

    Quasi-identifiers are published exactly with the number of their bucket; the slices stand in a table beside them,
    each shuffled inside its bucket. Sound: as few and as even buckets as can be, so the smallest is as large as
    possible. Published: buckets are filled in the order of the rows, which often leaves single rows.
    Cost: O(n^2) at worst. Reference: El Ouazzani, thesis, Mohammed V University, Rabat, 2021.
    """

    variant: VariantField = "sound"

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:
        return _slices(sensitive_columns(table), is_sound=self.variant == "sound")

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        table = problem.table
        progress.start("solve", table.n_tuples)
        columns = sensitive_columns(table)
        is_sound = self.variant == "sound"
        groups = (
            unite_failing(problem, _even(problem, columns)) if is_sound else v_cold.greedy([c.codes for c in columns])
        )
        blocks = tuple(shuffled(problem, groups, names) for names in self.moving(table))
        notes = (
            ()
            if is_sound
            else ("published variant: buckets and slices follow the order of rows, and buckets may be single rows",)
        )
        return bucketed(problem, groups, Bucketing(blocks, side=tuple(c.name for c in columns)), notes)


def _even(problem: Problem, columns: Sequence[Categories]) -> IntArray:
    """Even buckets without repeated values in the two most skewed columns."""
    skewed = sorted(columns, key=lambda c: -int(np.bincount(c.codes).max()))[:2]
    most = require_spread(problem, skewed[0].name, skewed[0].codes)
    if len(skewed) == 2:
        return v_cold.equitable(skewed[0].codes, skewed[1].codes)
    groups = np.empty(len(skewed[0].codes), np.int64)
    groups[np.argsort(skewed[0].codes, kind="stable")] = np.arange(len(groups)) % most
    return groups


def _slices(columns: Sequence[Categories], *, is_sound: bool) -> list[tuple[str, ...]]:
    n = len(columns)
    strength = np.zeros((n, n))
    coded = v_cold.first_seen_codes([c.codes.tolist() for c in columns])
    for a in range(n):
        for b in range(a + 1, n):
            one, two = columns[a], columns[b]
            strength[a, b] = (
                v_cold.association(one.codes, two.codes, x_is_number=one.is_ordered, y_is_number=two.is_ordered)
                if is_sound
                else abs(v_cold.pearson(np.array(coded[a]), np.array(coded[b])))
            )
    return [tuple(columns[i].name for i in pair) for pair in v_cold.pair_columns(strength)]
