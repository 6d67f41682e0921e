"""auto: top-down cuts, refinement of neighbouring classes, and a search for boxes; the lowest loss we know."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from tablecloak import rng
from tablecloak.algorithms.base import (
    LoweringLimit,
    Problem,
    Solution,
    TupleOrder,
    algorithm,
    bytes_of_counts,
    if_not_monotone,
)
from tablecloak.algorithms.closeness._bounded import bounded_columns
from tablecloak.algorithms.closeness._uniting import cells_of, united
from tablecloak.algorithms.merge_classes import renumbered
from tablecloak.algorithms.topdown._cut_further import best_among_people
from tablecloak.algorithms.topdown._few_columns import by_few_columns, speaks_of_few_columns
from tablecloak.algorithms.topdown._large import BUDGET, LARGE, Trimming, in_order_of_values
from tablecloak.algorithms.topdown._partition import CutRule, partition
from tablecloak.algorithms.topdown._spend_average import bounds_an_average, spend
from tablecloak.algorithms.topdown._suppress_records import leave_out, suppress
from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable, mixed
from tablecloak.data.domain import DomainKind
from tablecloak.kernels.auction import AuctionSteps, auction
from tablecloak.kernels.box_search import CodeLevels, make_levels, search_boxes
from tablecloak.kernels.dispatch import REFINED_FROM, has_compiler, pays
from tablecloak.kernels.loading import Step, needed
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.kernels.prices import MOST_SET_VALUES, SET, Prices, cell_prices, make_prices
from tablecloak.kernels.refining import SPLIT_UP_TO, Steps, refine
from tablecloak.kernels.rules import MOST_KEPT, RuleKind, Rules, make_rules, only_size
from tablecloak.models.base import Goal, PrivacyModel, Rule
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import AUCTION, REFINE, SEARCH_BOXES, Progress, silent, tell_better, tell_groups
from tablecloak.stats.classes import Counted, SensitiveDomain
from tablecloak.values.amounts import most_of


class _Sale(NamedTuple):
    """How long one auction may take."""

    sales: int  # tuples that it may look at while it sells, for each tuple of its block
    all_sales: int  # and so many more, for small blocks
    auctioned: int = 1 << 60  # tuples, at most; the dearest blocks come first


@dataclass(frozen=True, slots=True)
class _Effort:
    rounds: int  # passes, each over other blocks
    sweeps: int  # in every block
    pairs: int  # of tuples and classes compared in one sweep over the table; blocks are as large as that allows
    fewest: int  # classes of a block
    merges: int  # of tuples compared when pools are built anew, for each tuple
    all_merges: int  # the same for the whole table: larger tables have smaller pools
    most_tuples: int  # looked at in all rounds together; the dearest blocks come first
    pools: int = 0  # pairs compared while pools are built anew, for each tuple
    boxes: int = 0  # passes of the box search in a round, at most
    varied: int = 0  # the same where columns are published as sets
    plain: int = 0  # of them before small classes are completed with records of cheaper ones
    box_pairs: int = 1  # of tuples and classes in a block of the box search
    work: int = 0  # tuples that a pass of the box search may look at, for each tuple of its block
    unboxed: int = 1  # rounds where there is no box search: numpy has none, and distances are not made for one
    polishes: int = 1  # of a pool
    auctions: tuple[_Sale, ...] = ()  # each with prices of its own, as long as they pay


# Every effort holds the auctions of those before it first, so that it never loses more than they do.
FAST = (_Sale(4_000, 160_000_000, 60_000),)
BALANCED = (*FAST, *(_Sale(6_000, 120_000_000, 400_000),) * 2)
BEST = (*BALANCED, *(_Sale(40_000, 800_000_000),) * 4)
EFFORTS = {
    "fast": _Effort(
        rounds=1, sweeps=1, pairs=2_000_000, fewest=30, merges=0, all_merges=0, most_tuples=400_000, pools=200,
        boxes=1, varied=1, plain=1, box_pairs=35_000_000, work=2_000, unboxed=3,
        auctions=FAST,
    ),
    "balanced": _Effort(
        rounds=1, sweeps=2, pairs=5_000_000, fewest=50, merges=200, all_merges=8_000_000, most_tuples=1_200_000,
        pools=400, boxes=3, varied=5, plain=1, box_pairs=100_000_000, work=10_000, unboxed=6,
        auctions=BALANCED,
    ),
    "best": _Effort(
        rounds=20, sweeps=2, pairs=5_000_000, fewest=50, merges=200, all_merges=1 << 60, most_tuples=1 << 60,
        pools=1 << 30, boxes=4, varied=8, plain=1, box_pairs=1_000_000_000, work=50_000,
        auctions=BEST,
    ),
}  # fmt: skip


# Without compiled kernels so many tuples are refined, those that lose most: numpy pays for every one it looks at.
DEAREST = 120
UNCOMPILED = _Effort(rounds=1, sweeps=1, pairs=0, fewest=12, merges=0, all_merges=0, most_tuples=DEAREST, pools=200)
# A round that lowers the loss by less than this share is the last.
WORTH = 0.001
# Classes of more tuples than this are shared out before they are built anew: growing costs the square of their number.
GROWN = 2000
# Cuts that lose more than this are not the only start where rules speak of sensitive values.
HARD = 0.25
# Where they bound shares of values, cells of so many records are united as another start; so many cells at most,
# for uniting costs the square of their number.
CELL, MOST_CELLS = 12, 2000
MOST_NEAR = 8
NOISE = 0.3
POLL_SECONDS = 0.1
# What a search holds for every tuple, in bytes: orders and classes of tuples, and codes of those that are refined.
REFINED_BYTES = 200
# Tuples of a block of an auction: more have too many lots.
BLOCK = 25_000
# Tuples that an auction may look at while it lists its lots, for each tuple of its block.
LISTING = 10_000
# Boxes are sold if their records pay the price when bids are so many percent of what is paid; later auctions sell more.
FIRST_LOTS, MORE_LOTS = 102, 112
# What a try in an auction may cost more at first, in mean losses of a class, where so many tuples are looked at for
# each of its block: that costs tries, and leads further.
SLACK, LONG = 0.03, 10_000
# Of records, to see what a dimension usually costs.
PAIRS = 2000


@algorithm("auto", minimizes="NCP")
class Auto:
    """Cut the table top-down where that saves most loss, refine neighbouring classes, then search for better boxes.

    A refinement moves tuples to cheaper classes, puts the outliers of a class elsewhere, dissolves classes, and pools
    neighbouring classes to build them anew. The box search goes through the combinations of hierarchy nodes and ranges
    that hold enough records, and makes a class of those records wherever that costs less than the classes they leave,
    which keep what they need or are dissolved. Where columns are published as sets it tries the boxes of the classes
    with one value more, and leaves out others. Where the goal is a size, and nodes and ranges are published, an auction
    follows: records bid what linear programming says that they should pay, and neighbouring classes are given up and
    sold anew. Every change lowers the loss and is admitted by the goal. Where the goal speaks of sensitive values and
    cuts lose much, classes grown towards it are another start, and where it bounds their shares (t-closeness,
    beta-likeness) so are cells of a few records, united until they are close. Equal rows stay together.
    Where the goal asks only what few columns show together (lkc-privacy), every cell also becomes as exact as the goal
    allows, by itself, and the release that loses less is taken. Where it bounds a mean (average-risk,
    sample-uniqueness, global-risk), classes are cut apart where that saves most, until the mean reaches its limit.
    Tables of 30 different rows and more are searched by compiled kernels, whatever the effort; smaller ones, and all
    where numba is not installed (a run says so), are refined without box search and auction, the dearest rows first.
    Efforts that hold auctions begin with those of the efforts before them, so that they never lose more.
    With effort `fast`, tables of 400,000 different rows and more get what gains most by the second alone: outliers of
    classes that lose much are put elsewhere.
    Discernibility, entropy and losses for a target are those of other algorithms; what this one keeps low is NCP.
    Cost: near-linear in the number of different rows for a given effort: phases may look at so many tuples for each of
    their own (pools only where the goal is a size). That is counted, so slow machines and fast ones release the same.
    """

    reaches_whole: ClassVar[bool] = True
    may_shard: ClassVar[bool] = True
    lists_values: ClassVar[bool] = True
    order: ClassVar[TupleOrder] = TupleOrder.VALUES
    effort: Annotated[
        Literal["fast", "balanced", "best"] | Annotated[float, Field(gt=0)],
        Field(description="how long to look for a release with less loss; a number: seconds"),
    ] = "fast"
    time_limit: Annotated[
        float | None, Field(gt=0, description="seconds after which the best release found so far is taken")
    ] = None
    suppression_limit: LoweringLimit = 0.0
    labels: Annotated[
        Literal["hierarchy", "set"],
        Field(description="hierarchy: publish its nodes; set: publish any set of values, whatever the hierarchy"),
    ] = "hierarchy"

    def refuses(self, goal: Goal) -> str | None:
        in_records = replace(goal, counts_persons=False)
        return if_not_monotone(
            in_records, "classes that end with equal labels are one class to a reader, which may break {models}"
        )

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        deadline = time.monotonic() + self.seconds  # of all searches together
        if problem.table.register is None or not problem.goal.is_monotone:
            return self._solution(problem, deadline, progress)
        table, place = _in_order(problem.table.only_with(problem.goal.counted(problem.table.sensitive)))
        if self.labels == "set":  # it covers fewer people than the nodes that cuts go by
            table = replace(table, register=None)
        ordered = replace(problem, table=table)
        solution = best_among_people(ordered, lambda each: self._solution(each, deadline, progress), "ncp")
        return replace(solution, class_of_tuple=solution.class_of_tuple[place])

    def _solution(self, problem: Problem, deadline: float, progress: Progress) -> Solution:
        if not problem.goal.is_monotone:
            # Classes may share persons, so a union of satisfying classes may fail, and so may both after a move from
            # one to the other: only cuts are safe whose sides both satisfy the goal.
            cut = partition(problem, CutRule(by_saving=True, relaxed=False), progress)
            return leave_out(problem, cut, most_of(problem.table.n_rows, self.suppression_limit))
        problem = replace(problem, table=problem.table.only_with(problem.goal.counted(problem.table.sensitive)))

        def is_over() -> bool:
            return time.monotonic() >= deadline or progress.stopping()

        alone = self._cell_by_cell(problem, is_over, progress)
        by_classes = self._by_classes(problem, deadline, progress)
        if bounds_an_average(problem.goal) and self.labels == "hierarchy":
            alone = spend(problem, by_classes, is_over, progress)
        return by_classes if alone is None else least_lost(problem.table, [by_classes, alone])

    def _cell_by_cell(self, problem: Problem, is_over: Callable[[], bool], progress: Progress) -> Solution | None:
        """What models of the goal offer that is no partition into classes which all satisfy the goal."""
        if self.labels == "set" or not speaks_of_few_columns(problem.goal):
            return None
        table, place = _in_order(problem.table)
        solution = by_few_columns(replace(problem, table=table), is_over, progress)
        return solution and replace(solution, class_of_tuple=solution.class_of_tuple[place])

    def _by_classes(self, problem: Problem, deadline: float, progress: Progress) -> Solution:
        """Classes that all satisfy the goal, or what implies it."""
        if self._may_be_large(max(problem.table.n_tuples, problem.whole)):
            table, place = in_order_of_values(problem.table)
            # parts of a large table are searched as it would be, or less memory would take more time
            if max(table.n_tuples, problem.whole) >= LARGE:
                solution = self._trimmed(replace(problem, table=table), deadline, progress)
                return replace(solution, class_of_tuple=solution.class_of_tuple[place])
        table, place = _in_order(problem.table)
        solution = self._solved(replace(problem, table=table), deadline, progress)
        return replace(solution, class_of_tuple=solution.class_of_tuple[place])

    def _may_be_large(self, n_tuples: int) -> bool:
        """Whether a table of so many tuples, some of them perhaps equal, is searched by gain per second."""
        return n_tuples >= LARGE and self.effort == "fast" and self.labels == "hierarchy" and has_compiler()

    def _trimmed(self, problem: Problem, deadline: float, progress: Progress) -> Solution:
        """Cuts, and outliers put elsewhere where classes lose most."""
        start = partition(problem, CutRule(by_saving=True, relaxed=False), progress)
        table, random = problem.table, rng.child(problem.seed, "auto")
        prices = make_prices(table.space, np.zeros(table.space.n_dims, bool))
        rules, counted, is_whole = rules_of(problem.goal, table)
        is_compiled = pays(table.n_tuples)
        dims = dearest_first(table, prices, random)
        refinery = Refinery(
            problem, prices, rules, counted, is_whole, deadline, is_compiled, most_tuples=BUDGET, dims=dims
        )
        progress.start(REFINE, table.n_tuples)
        trimming = Trimming(
            problem, prices, rules, dims, refinery._values, is_whole, is_compiled,
            is_over=lambda: refinery.is_over(progress),
        )  # fmt: skip
        solution = trimming(start)
        budget = most_of(table.n_rows, self.suppression_limit)
        if not budget:
            return solution
        return _solution(table, suppress(problem, solution, budget).class_of_tuple, np.zeros(len(dims), bool))

    def _solved(self, problem: Problem, deadline: float, progress: Progress) -> Solution:
        # kernels that refine come with those that cut
        is_compiled = self._is_compiled(problem.table.n_tuples)
        start = partition(problem, CutRule(by_saving=True, relaxed=False), progress, compiled=is_compiled)
        is_set = _set_dims(problem.table) if self.labels == "set" else np.zeros(problem.table.space.n_dims, bool)
        classes = self._refined(problem, start.class_of_tuple, is_set, deadline, progress)
        budget = most_of(problem.table.n_rows, self.suppression_limit)
        solution = _solution(problem.table, classes, is_set)
        if not budget:
            return solution
        trimmed = suppress(problem, solution, budget)
        return _solution(problem.table, trimmed.class_of_tuple, is_set)

    @property
    def seconds(self) -> float:
        """How long the search may take."""
        limits = [limit for limit in (self.effort, self.time_limit) if isinstance(limit, int | float)]
        return min(limits, default=float("inf"))

    def kernels(self, n_tuples: int, goal: Goal) -> tuple[Step, ...]:
        """What a search among so many tuples uses in its compiled form."""
        if not self._is_compiled(n_tuples):
            return ()
        rules = [] if goal.counts_persons else [rule for m in goal.models if (rule := _rule(m.in_search))]
        boxes = not any(rule.kind >= RuleKind.EQUAL_DISTANCE for rule in rules)
        is_large = self._may_be_large(n_tuples)
        return needed(
            refines=goal.is_monotone and not is_large,
            boxes=boxes,
            auctions=not rules,
            as_sets=self.labels == "set",
            trims=goal.is_monotone and is_large,
        )

    def bytes_per_tuple(self, goal: Goal, sensitive: Sequence[SensitiveDomain]) -> float:
        """What the search holds for every tuple, besides three copies of its key."""
        return REFINED_BYTES + 2 * bytes_of_counts(goal, sensitive)

    def refines(self, n_tuples: int) -> bool:
        """Whether classes are built anew."""
        return not self._may_be_large(n_tuples)

    def _is_compiled(self, n_tuples: int) -> bool:
        return pays(n_tuples, REFINED_FROM)

    def remarks(self, n_tuples: int) -> tuple[str, ...]:
        """That there is no compiler, where one would have been used."""
        if has_compiler() or n_tuples < REFINED_FROM:
            return ()
        return (f"numba is not installed: no search for boxes, no auction, and only {DEAREST} different rows refined",)

    def _refined(
        self, problem: Problem, classes: IntArray, is_set: BoolArray, deadline: float, progress: Progress
    ) -> IntArray:
        table = problem.table
        is_compiled = self._is_compiled(table.n_tuples)
        rules, counted, is_whole = rules_of(problem.goal, table)
        is_slow = not is_compiled and table.n_tuples > DEAREST
        effort = UNCOMPILED if is_slow else EFFORTS[self.effort if isinstance(self.effort, str) else "best"]
        if not is_slow and (not is_compiled or _has_distances(rules)):
            effort = replace(effort, boxes=0, rounds=max(effort.rounds, effort.unboxed), sweeps=2)
        sells = is_compiled and not len(rules.kind) and not is_set.any()
        sales = effort.auctions if sells else ()
        # an auction needs a start and no more: what is left of the time is better spent on selling
        effort = replace(EFFORTS["fast"], most_tuples=effort.most_tuples) if sells else effort
        random, prices = rng.child(problem.seed, "auto"), make_prices(table.space, is_set)
        refinery = Refinery(
            problem, prices, rules, counted, is_whole, deadline, is_compiled,
            most_tuples=effort.most_tuples, dims=dearest_first(table, prices, random),
        )  # fmt: skip
        losses = _losses(table, classes, is_set)
        is_hard = _has_distances(rules) or _mean(losses, table) > HARD
        starts = [(classes, losses)]
        if len(rules.kind) and is_hard and not is_slow and table.n_tuples <= effort.most_tuples:
            starts = self._better_starts(refinery, effort, classes, losses, is_set, progress)
        refined = [self._in_rounds(refinery, effort, *start, is_set, random, progress) for start in starts]
        classes, losses = min(refined, key=lambda each: float(each[1].sum()))
        for i, sale in enumerate(sales):
            classes = self._auctioned(refinery, effort, sale, i, classes, losses, progress)
            last, losses = losses, _losses(table, classes, is_set)
            if last.sum() - losses.sum() < WORTH * last.sum():
                break
        return classes

    def _in_rounds(
        self, refinery: Refinery, effort: _Effort, classes: IntArray, losses: FloatArray, is_set: BoolArray,
        random: np.random.Generator, progress: Progress,
    ) -> tuple[IntArray, FloatArray]:  # fmt: skip
        """Classes and their losses after as many rounds as pay."""
        table, rules = refinery.problem.table, refinery.rules
        for i in range(max(1, min(effort.rounds, effort.most_tuples // table.n_tuples))):
            n_classes = int(classes.max()) + 1
            n_blocks = max(1, round(n_classes / max(effort.fewest, effort.pairs // table.n_tuples)))
            steps = _steps(effort, i, n_classes, table.n_tuples, n_blocks, has_rules=len(rules.kind) > 0)
            if (n_classes < 2 and not steps.alone) or refinery.is_over(progress):
                break
            emphasis = random.choice([0.25, 1.0, 4.0], table.space.n_dims)
            # classes come numbered in the order of the first partition; one block needs no order
            order = refinery.near_order(classes, emphasis) if i and n_blocks > 1 else np.arange(n_classes)
            tell_better(progress, _mean(losses, table))
            tell_groups(progress, partial(_sizes, table, classes))
            progress.finish(f"loss {_mean(losses, table):.4f}")
            progress.start(REFINE, table.n_tuples)
            classes = refinery.refine(classes, losses, order, n_blocks, steps, progress)
            last, losses = losses, _losses(table, classes, is_set)
            if effort.boxes and not refinery.is_over(progress):
                classes = self._boxed(refinery, effort, i, classes, losses, random, progress)
                losses = _losses(table, classes, is_set)
            if last.sum() - losses.sum() < WORTH * last.sum():
                break
        return classes, losses

    def _auctioned(
        self, refinery: Refinery, effort: _Effort, sale: _Sale, turn: int, classes: IntArray, losses: FloatArray,
        progress: Progress,
    ) -> IntArray:  # fmt: skip
        """Classes after an auction, and small changes to what it sold."""
        table, n_classes = refinery.problem.table, len(losses)
        if n_classes < 2 or refinery.is_over(progress):
            return classes
        n_blocks = -(-table.n_tuples // BLOCK)
        ones = np.ones(table.space.n_dims)
        order = refinery.near_order(classes, ones) if n_blocks > 1 else np.arange(n_classes)
        n = table.n_tuples // n_blocks
        nearly = MORE_LOTS if turn else FIRST_LOTS
        work = sale.sales * n + sale.all_sales
        slack = SLACK if work > LONG * n else 0.0
        steps = AuctionSteps(listing=LISTING * n, work=work, nearly=nearly, slack=slack, turn=turn)
        levels = make_levels(table.space, refinery.prices, refinery.dims, None, has_windows=False)
        tell_better(progress, _mean(losses, table))
        progress.finish(f"loss {_mean(losses, table):.4f}")
        progress.start(AUCTION, table.n_tuples)
        seller = replace(refinery, most_tuples=sale.auctioned)
        classes = seller.refine(classes, losses, order, n_blocks, steps, progress, levels)
        if refinery.is_over(progress):
            return classes
        losses = _losses(table, classes, np.zeros(table.space.n_dims, bool))
        n_blocks = max(1, round(len(losses) / max(effort.fewest, effort.pairs // table.n_tuples)))
        order = refinery.near_order(classes, ones) if n_blocks > 1 else np.arange(len(losses))
        polishing = Steps(sweeps=1, pools=effort.pools * table.n_tuples // n_blocks)
        return refinery.refine(classes, losses, order, n_blocks, polishing, progress)

    def _boxed(
        self, refinery: Refinery, effort: _Effort, turn: int, classes: IntArray, losses: FloatArray,
        random: np.random.Generator, progress: Progress,
    ) -> IntArray:  # fmt: skip
        """Classes after a box search; later turns go through the boxes in another order."""
        table, n_classes = refinery.problem.table, len(losses)
        n_blocks = max(1, round((table.n_tuples * n_classes / effort.box_pairs) ** 0.5))
        near = n_blocks > 1
        order = refinery.near_order(classes, np.ones(table.space.n_dims)) if near else np.arange(n_classes)
        levels = make_levels(table.space, refinery.prices, refinery.dims, random if turn else None)
        work = effort.work * table.n_tuples // n_blocks
        passes = effort.varied if (refinery.prices.kind == SET).any() else effort.boxes
        steps = Steps(sweeps=0, boxes=passes, plain=0 if turn else effort.plain, work=work, turn=turn)
        tell_better(progress, _mean(losses, table))
        progress.finish(f"loss {_mean(losses, table):.4f}")
        progress.start(SEARCH_BOXES, table.n_tuples)
        return refinery.refine(classes, losses, order, n_blocks, steps, progress, levels)

    def _better_starts(
        self, refinery: Refinery, effort: _Effort, classes: IntArray, losses: FloatArray, is_set: BoolArray,
        progress: Progress,
    ) -> list[tuple[IntArray, FloatArray]]:  # fmt: skip
        """The cuts, or classes grown towards the rules from equal shares of the whole table, whichever loses less.

        Where the goal bounds shares of values, united cells are another start: for `fast` the only one where they lose
        less than the cuts.
        """
        problem = refinery.problem
        merged = None if refinery.is_over(progress) else _merged_start(problem)
        united = [] if merged is None else [(merged, _losses(problem.table, merged, is_set))]
        united = [start for start in united if start[1].sum() < losses.sum()]
        if united and self.effort == "fast":
            return united
        shared = share_out(problem, np.zeros_like(classes), list(refinery.counted), GROWN)
        n_parts = int(shared.max()) + 1
        if n_parts < 2 and problem.table.n_tuples > 2 * GROWN:
            return [(classes, losses), *united]
        lost = _losses(problem.table, shared, is_set)
        steps = Steps(sweeps=effort.sweeps, alone=2 * GROWN)
        grown = refinery.refine(shared, lost, np.arange(n_parts), n_parts, steps, progress)
        lost = _losses(problem.table, grown, is_set)
        return [(grown, lost) if lost.sum() < losses.sum() else (classes, losses), *united]


def _merged_start(problem: Problem) -> IntArray | None:
    """Cells of a few records, united until the goal admits them; None where it bounds nothing or asks for more."""
    columns = bounded_columns(problem)
    if not columns:
        return None
    size = max(CELL, problem.goal.min_size, -(-problem.table.n_rows // MOST_CELLS))
    merged = united(problem, cells_of(problem, size, silent), columns)
    ok = problem.goal.admits(problem.table.class_stats(merged, int(merged.max()) + 1))
    return merged if ok.all() else None


def least_lost(table: CodedTable, solutions: Sequence[Solution]) -> Solution:
    """The solution that loses least, where records left out lose everything; of equal ones the first."""
    return min(solutions, key=lambda solution: _lost(table, solution))


def _lost(table: CodedTable, solution: Solution) -> float:
    kept = solution.sizes(table)
    losses = solution.listing_values(table).losses(table.domains) @ table.space.weight
    return float(kept @ losses) + (table.n_rows - int(kept.sum())) * table.space.n_dims


def _in_order(table: CodedTable) -> tuple[CodedTable, IntArray]:
    """The different tuples in an order of their own, and which of them every tuple is.

    Whatever order rows or an engine have them in, and whether equal rows are one tuple there: the release is the same.
    The order is that of a hash: where similar tuples follow each other, the refinement finds less.
    """
    return table.united(np.lexsort((*table.keys, mixed(table.keys))))


def _sizes(table: CodedTable, classes: IntArray) -> IntArray:
    """Records of every class."""
    released = classes >= 0
    weights = table.weights[released] if len(table.weights) else None
    return np.bincount(classes[released], weights).astype(np.int64)


def _has_distances(rules: Rules) -> bool:
    return bool((rules.kind >= RuleKind.EQUAL_DISTANCE).any())


def _steps(
    effort: _Effort, turn: int, n_classes: int, n_tuples: int, n_blocks: int, *, has_rules: bool
) -> Steps:  # fmt: skip
    """What one round does to its blocks; pools are as large as the effort allows."""
    merges = min(effort.merges, effort.all_merges // max(1, n_tuples))
    members = max(1.0, n_tuples / n_classes)
    near = min(MOST_NEAR, int((merges / members) ** 0.5) - 1)
    return Steps(
        sweeps=effort.sweeps,
        near=max(1, near),
        pooled=min(SPLIT_UP_TO, int(2 * members * (near + 1))) if near > 1 else SPLIT_UP_TO,
        alone=2 * GROWN if has_rules and turn == 0 and effort.pairs else 0,
        noise=NOISE if turn else 0.0,
        polishes=effort.polishes,
        turn=turn,
        pools=1 << 40 if has_rules else effort.pools * (-(-n_tuples // n_blocks)),
    )


def _set_dims(table: CodedTable) -> BoolArray:
    """Dimensions that are published as sets: categories, as many as fit a word."""
    are_sets = [d.kind is DomainKind.SET or not d.type.is_ordered for d in table.domains]
    return np.array(
        [is_set and d.n_codes <= MOST_SET_VALUES for is_set, d in zip(are_sets, table.domains, strict=True)]
    )


def _boxes(table: CodedTable, classes: IntArray) -> tuple[IntArray, IntArray]:
    """Boxes of classes, (n_classes, n_dims) each."""
    released = np.flatnonzero(classes >= 0)
    by_class = released[np.argsort(classes[released], kind="stable")]
    starts = np.searchsorted(classes[by_class], np.arange(int(classes.max()) + 1))
    lo, hi = (np.zeros((len(starts), table.space.n_dims), np.int64) for _ in range(2))
    for d in range(table.space.n_dims):
        codes = table.quasi_codes(d)[by_class]
        lo[:, d], hi[:, d] = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
    return lo, hi


def _solution(table: CodedTable, classes: IntArray, is_set: BoolArray) -> Solution:
    is_published = classes >= 0
    numbers = np.full(len(classes), -1, np.int64)
    numbers[is_published] = renumbered(classes[is_published])[0]
    lo, hi = _boxes(table, numbers)
    dims = np.flatnonzero(is_set).tolist()
    return Solution(numbers, lo, hi, sets={d: CodeSets.of(numbers, table.quasi_codes(d), len(lo)) for d in dims})


def _losses(table: CodedTable, classes: IntArray, is_set: BoolArray) -> FloatArray:
    """Loss of all records of each class together, summed over attributes, (n_classes,)."""
    solution = _solution(table, classes, is_set)
    weights = table.weights if len(table.weights) else None
    sizes = np.bincount(solution.class_of_tuple, weights=weights, minlength=solution.n_classes)
    losses: FloatArray = sizes * (solution.losses(table.domains) @ table.space.weight)
    return losses


def _mean(losses: FloatArray, table: CodedTable) -> float:
    """Mean loss of a record and attribute."""
    return float(losses.sum()) / (table.n_rows * table.space.n_dims)


def share_out(problem: Problem, classes: IntArray, counted: list[int], most: int) -> IntArray:
    """Classes of at most about `most` tuples; a class whose parts the goal does not admit stays whole.

    The records of each sensitive value are put in the order of a top-down partition and dealt out in equal shares, so
    every part has neighbours in it and the distribution of the whole class.
    """
    n_members = np.bincount(classes)
    n_parts = -(-n_members // most)
    if n_parts.max() < 2 or not counted:
        return classes
    table = problem.table
    values = np.zeros(table.n_tuples, np.int64)
    for i in counted:
        values = values * table.sensitive[i].n_values + table.sensitive_codes(i)
    goal = Goal((KAnonymity(k=2),))
    near = partition(replace(problem, goal=goal), CutRule(by_saving=True, relaxed=False), silent).class_of_tuple
    order = np.lexsort((near, values, classes))
    group = np.unique(np.stack([classes, values])[:, order], axis=1, return_inverse=True)[1].reshape(-1)
    weight = table.weights[order] if len(table.weights) else np.ones(len(order), np.int64)
    size = np.bincount(group, weights=weight).astype(np.int64)
    before = np.cumsum(weight) - weight - (np.cumsum(size) - size)[group]  # records of the group that come earlier
    part = np.empty(len(order), np.int64)
    part[order] = (2 * before + weight) * n_parts[classes[order]] // (2 * size[group])
    shared = np.unique(classes * int(n_parts.max()) + part, return_inverse=True)[1].reshape(-1).astype(np.int64)
    ok = problem.goal.admits(table.class_stats(shared, int(shared.max()) + 1))
    is_whole = np.zeros(len(n_members), bool)
    is_whole[classes[~ok[shared]]] = True
    return np.unique(np.where(is_whole[classes], classes, shared + len(n_members)), return_inverse=True)[1].reshape(-1)


def rules_of(goal: Goal, table: CodedTable) -> tuple[Rules, list[int], bool]:
    """The rules of a goal on a table, the sensitive attributes they count, and whether they are the whole goal.

    Attributes with fewest values come first.
    """
    models = [a_model.in_search for a_model in goal.models]
    every = [(_rule(m), _columns(m, table)) for m in models]
    # kernels count records, so where persons have several they judge nothing but a size, which no goal allows less of
    is_whole = not goal.counts_persons and all(rule is not None for rule, _ in every)
    judged = [] if goal.counts_persons else [each for each in every if each[0]]
    counted = sorted({i for _, columns in judged for i in columns})
    rules = only_size(max(1, goal.min_size))
    if not counted:
        return rules, [], is_whole
    counted.sort(key=lambda i: table.sensitive[i].n_values)
    ends = np.cumsum([table.sensitive[i].n_values for i in counted])
    rows = [
        (
            int(rule.kind),
            column := counted.index(i),
            int(ends[column]) - table.sensitive[i].n_values + _skipped(rule, table, i),
            int(ends[column]),
            rule.limit,
            rule.order,
        )
        for rule, columns in judged
        if rule
        for i in columns
    ]
    totals = [table.totals[table.sensitive[i].name] for i in counted]
    shares = np.concatenate([t / max(1, int(t.sum())) for t in totals])
    n_kept = int(max(ends[ends <= MOST_KEPT], default=0))
    return make_rules(rules.min_size, rows, shares, n_kept=n_kept), counted, is_whole


def _rule(a_model: PrivacyModel) -> Rule | tuple[()] | None:
    """The rule of a model, empty where the size decides, None where it has no such form."""
    return () if a_model.size_decides else a_model.rule()


def _skipped(rule: Rule, table: CodedTable, i: int) -> int:
    """How many values of an attribute a rule does not look at: the missing one, which comes first."""
    return int(rule.skips_missing and table.sensitive[i].labels[:1] == (None,))


def _columns(a_model: PrivacyModel, table: CodedTable) -> list[int]:
    """The sensitive attributes that a model speaks of."""
    names = a_model.sensitive_columns
    return [
        i for i, s in enumerate(table.sensitive) if s.kind is Counted.SENSITIVE and (names is None or s.name in names)
    ]


# Refining a partition block by block: neighbouring classes form a block, blocks are refined on threads.


@dataclass(frozen=True, slots=True, eq=False)
class Refinery:
    """What refining needs besides the classes."""

    problem: Problem
    prices: Prices
    rules: Rules
    counted: Sequence[int]  # sensitive attributes that the rules count
    judges_all: bool  # the rules are the whole goal, so refined classes need no second look
    deadline: float  # on the clock of `time.monotonic`
    is_compiled: bool
    most_tuples: int  # looked at in one pass; the dearest blocks come first
    dims: IntArray  # the order in which kernels look at dimensions

    def is_over(self, progress: Progress) -> bool:
        """Whether the time is up or the user has asked to stop."""
        return time.monotonic() >= self.deadline or progress.stopping()

    def refine(
        self, classes: IntArray, losses: FloatArray, order: IntArray, n_blocks: int, steps: Steps | AuctionSteps,
        progress: Progress, levels: CodeLevels | None = None,
    ) -> IntArray:  # fmt: skip
        """Classes after one pass over blocks of classes that follow each other in an order.

        Args:
            losses: (n_classes,) loss of all records of a class together.
            levels: of which a box search or an auction makes its boxes, where the steps ask for one.

        Blocks that have not begun when time is up keep their classes; so do blocks that end with a class the goal does
        not admit.
        """
        stop = np.zeros(1, np.int64)
        blocks = _dearest(_blocks(classes, order, n_blocks), classes, losses, self.most_tuples)
        with ThreadPoolExecutor(max(1, self.problem.threads)) as pool:
            running = [
                pool.submit(self._refined, classes, block, steps, levels, i, stop) for i, block in enumerate(blocks)
            ]
            self._watch(running, blocks, stop, progress)
            refined = [future.result() for future in running]
            finer = classes.copy()
            base = len(losses)
            for block, own in zip(blocks, refined, strict=True):
                finer[block] = own + base
                base += len(block)
        if self.judges_all:
            return renumbered(finer)[0]
        return self._admitted(classes, renumbered(finer)[0], blocks)

    def near_order(self, classes: IntArray, emphasis: FloatArray) -> IntArray:
        """Classes in the order of a top-down partition of their middles; another emphasis gives another order."""
        table = self.problem.table
        n_classes = int(classes.max()) + 1
        first = np.searchsorted(classes[by_class := np.argsort(classes, kind="stable")], np.arange(n_classes))
        middles = []
        for d in range(table.space.n_dims):
            codes = table.quasi_codes(d)[by_class]
            ends = np.append(first[1:], len(codes))
            ranked = np.lexsort((codes, classes[by_class]))
            middles.append(codes[ranked][(first + ends - 1) // 2].astype(np.uint32))
        layout = plan_layout(table.space.n_codes.tolist())
        space = table.space._replace(layout=layout, weight=table.space.weight * emphasis)
        middle = CodedTable(table.domains, (), space, pack(middles, layout), np.zeros(0, np.int64), None, {})
        problem = replace(self.problem, table=middle, goal=Goal((KAnonymity(k=2),)))
        rule = CutRule(by_saving=True, relaxed=False)
        # few classes may come of many tuples
        solution = partition(problem, rule, silent, compiled=self.is_compiled)
        return np.argsort(solution.class_of_tuple, kind="stable")

    def _watch(
        self, running: list[Future[IntArray]], blocks: list[IntArray], stop: IntArray, progress: Progress
    ) -> None:
        """Tell how far the blocks are, and ask them to end when time is up."""
        try:
            left = set(running)
            while left:
                left = wait(left, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED).not_done
                progress.advance(sum(len(b) for b, f in zip(blocks, running, strict=True) if f.done()))
                if self.is_over(progress):
                    stop[0] = 1
        except BaseException:
            stop[0] = 1
            raise

    def _refined(
        self, classes: IntArray, block: IntArray, steps: Steps | AuctionSteps, levels: CodeLevels | None, number: int,
        stop: IntArray,
    ) -> IntArray:  # fmt: skip
        own = renumbered(classes[block])[0]
        if stop[0] != 0 or (own.max() == 0 and not (isinstance(steps, Steps) and steps.alone)):
            return own
        table = self.problem.table
        codes, prices = self._codes(block), self.prices.in_order(self.dims)
        weights = table.weights[block] if len(table.weights) else np.ones(len(block), np.int64)
        seed = (self.problem.seed + 7919 * number + 104729 * steps.turn) & 0x7FFFFFFF
        if isinstance(steps, AuctionSteps):
            assert levels is not None
            sell = auction.form(compiled=self.is_compiled)
            sell(codes, weights, own, prices, self.rules.min_size, levels=levels, steps=steps, seed=seed, stop=stop)
            return renumbered(own)[0]
        change = refine.form(compiled=self.is_compiled)
        if levels is not None:
            change = partial(search_boxes.form(compiled=self.is_compiled), levels=levels)
        change(codes, weights, self._values(block), own, prices, self.rules, steps=steps, seed=seed, stop=stop)
        return own

    def _codes(self, block: IntArray) -> IntArray:
        table = self.problem.table
        keys = table.keys[:, block]
        layout = table.space.layout
        codes = np.empty((len(block), table.space.n_dims), np.int64)
        for place, d in enumerate(self.dims.tolist()):
            codes[:, place] = (keys[layout.word[d]] >> layout.shift[d]) & layout.mask[d]
            if self.prices.is_set(d):
                codes[:, place] = np.left_shift(np.int64(1), codes[:, place])
        return codes

    def _values(self, block: IntArray) -> IntArray:
        """Places of the sensitive values of tuples, (n, n_sensitive)."""
        table = self.problem.table
        if len(self.rules.kind) == 0:
            return np.zeros((len(block), 0), np.int64)
        starts = np.concatenate([[0], np.cumsum([table.sensitive[i].n_values for i in self.counted])])
        keys, layout, n = table.keys[:, block], table.space.layout, table.space.n_dims
        columns = [
            start + ((keys[layout.word[n + i]] >> layout.shift[n + i]) & layout.mask[n + i]).astype(np.int64)
            for start, i in zip(starts[:-1], self.counted, strict=True)
        ]
        return np.ascontiguousarray(np.stack(columns, axis=1))

    def _admitted(self, before: IntArray, after: IntArray, blocks: list[IntArray]) -> IntArray:
        table = self.problem.table
        ok = self.problem.goal.admits(table.class_stats(after, int(after.max()) + 1))
        result = after + int(before.max()) + 1
        for block in blocks:
            if not ok[after[block]].all():
                result[block] = before[block]
        return renumbered(result)[0]


def dearest_first(table: CodedTable, prices: Prices, random: np.random.Generator) -> IntArray:
    """Dimensions in the order of what two records of one class usually cost there: sums exceed a limit soonest."""
    one, other = random.integers(0, table.n_tuples, (2, PAIRS))
    usual = []
    for d in range(table.space.n_dims):
        a, b = (table.quasi_codes(d)[rows].astype(np.int64) for rows in (one, other))
        lo = np.left_shift(1, a) | np.left_shift(1, b) if prices.is_set(d) else np.minimum(a, b)
        usual.append(int(cell_prices(prices, d, lo, np.maximum(a, b)).sum()))
    return np.argsort(-np.array(usual, np.int64), kind="stable")


def _blocks(classes: IntArray, order: IntArray, n_blocks: int) -> list[IntArray]:
    """Tuples of about equally many classes that follow each other in an order, ascending inside a block."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    block_of = rank * n_blocks // max(1, len(order))
    tuples = np.argsort(block_of[classes], kind="stable")
    ends = np.cumsum(np.bincount(block_of[classes], minlength=n_blocks))
    return [part for part in np.split(tuples, ends[:-1]) if len(part)]


def _dearest(blocks: list[IntArray], classes: IntArray, losses: FloatArray, most_tuples: int) -> list[IntArray]:
    """The blocks that lose most, as many as have no more tuples than allowed (but one), in their order."""
    if sum(map(len, blocks)) <= most_tuples:
        return blocks
    lost = np.array([losses[np.unique(classes[block])].sum() for block in blocks])
    ranked = np.argsort(-lost, kind="stable")
    fits = np.cumsum([len(blocks[b]) for b in ranked]) <= most_tuples
    fits[0] = True
    return [blocks[b] for b in np.sort(ranked[fits]).tolist()]
