"""The algorithm seam: a problem goes in, a solution (class of every tuple, box of every class) comes out."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, TypeVar, cast

import numpy as np
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.class_labels import ClassLabels, labels_of_column
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.register import Boxes, Register
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.registry import register
from tablecloak.rng import Secret
from tablecloak.stats.classes import ClassStats, SensitiveDomain

if TYPE_CHECKING:
    from tablecloak.algorithms.one_pass.pile_dealing import Dealing
    from tablecloak.kernels.loading import Step

A = TypeVar("A")
# What a search holds for every tuple, in bytes, besides three copies of its key.
TUPLE_BYTES = 72
# The same for every count of a value: a histogram of large nodes, with what a model makes of it.
COUNT_BYTES = 220
# Nodes below this many tuples are counted a few at a time.
COUNTED_AT_ONCE = 1 << 17
BLOCK = 1 << 18  # classes whose losses are looked up at once: there may be millions
# Why a search that goes from coarse to fine, and stops where the goal fails, refuses models.
FINER = "a finer table can satisfy {models} where a coarser one does not, so it would be missed"
FailingLimit = Annotated[
    float, Field(ge=0, lt=1, description="share of records that may be left out because their class fails the goal")
]
LoweringLimit = Annotated[
    float, Field(ge=0, lt=1, description="share of records that may be left out where that lowers the loss")
]
# What every algorithm must define.
DEFINED = ("name", "refuses", "solve")


class Publishes(enum.StrEnum):
    """What the releases of an algorithm show."""

    GENERALIZED = "generalized"  # every cell covers its original
    CENTERS = "centers"  # one typical value for each class, such as a mean, which covers nothing
    GROUPED = "grouped"  # exact values; inside a group, columns of different blocks lose their link
    SEPARATED = "separated"  # the same, with the sensitive columns in a table of their own

    @property
    def is_bucketing(self) -> bool:
        return self in (Publishes.GROUPED, Publishes.SEPARATED)


class TupleOrder(enum.StrEnum):
    """The order in which an algorithm is given the tuples of a table."""

    GIVEN = "given"  # as they come: the answer is one of counts alone
    VALUES = "values"  # of their values
    SECRET = "secret"  # drawn from the secret, for who comes first decides who is with whom


@dataclass(frozen=True, slots=True)
class Problem:
    """What an algorithm must solve."""

    table: CodedTable
    goal: Goal
    threads: int = 1
    seed: int = 0
    given: IntArray | None = None  # (n_rows,) group of every row, where the policy names a column that says so
    secret: Secret = field(default_factory=Secret.fresh)  # decides who is linked to what; the seed steers the search
    whole: int = 0  # tuples of the table that `table` was cut out of; 0: it is the whole one


@dataclass(frozen=True, slots=True, eq=False)
class CutTree:
    """Cuts from the whole table down to classes; a child >= 0 is another cut, a child c < 0 is class ~c."""

    dim: IntArray  # (n_cuts,)
    cut: IntArray  # (n_cuts,) codes <= cut go left
    left: IntArray  # (n_cuts,)
    right: IntArray  # (n_cuts,)

    def classes_of(self, codes: IntArray) -> IntArray:
        """The class that every column of codes, (n_dims, n), reaches by following the cuts, (n,)."""
        n = codes.shape[1]
        at = np.zeros(n, np.int64) if len(self.dim) else np.full(n, ~0)
        rows = np.flatnonzero(at >= 0)
        while len(rows):
            node = at[rows]
            goes_left = codes[self.dim[node], rows] <= self.cut[node]
            at[rows] = np.where(goes_left, self.left[node], self.right[node])
            rows = rows[at[rows] >= 0]
        return ~at


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBlock:
    """Columns that stay together: row i of the release shows what row `source[i]` of the table holds in them."""

    columns: tuple[str, ...]
    source: IntArray  # (n_rows,) a permutation that leaves every row in its group


@dataclass(frozen=True, slots=True, eq=False)
class Bucketing:
    """How the columns of a table are cut apart inside groups; columns in no block stay where they are."""

    blocks: tuple[ColumnBlock, ...] = ()
    side: tuple[str, ...] = ()  # columns published in a table of their own
    is_counted: bool = False  # that table lists different rows of a group once, with their number


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Classes as boxes of codes, and the class of every tuple (-1: suppressed).

    A box publishes the lowest hierarchy node that holds it, unless `nodes` names the node itself, as methods do that
    generalise a whole column to one level, or `sets` lists the values, which replaces a hierarchy.
    """

    class_of_tuple: IntArray  # (n_tuples,)
    lo: IntArray  # (n_classes, n_dims)
    hi: IntArray  # (n_classes, n_dims)
    tree: CutTree | None = None
    nodes: IntArray | None = None  # (n_classes, n_dims) hierarchy nodes; meaningless where a column has no hierarchy
    sets: Mapping[int, CodeSets] = field(default_factory=dict)  # by dimension, where sets replace boxes
    centers: Mapping[str, ClassLabels] | None = None  # what classes publish in place of their box
    bucketing: Bucketing | None = None  # classes are groups whose rows keep their exact values
    notes: tuple[str, ...] = ()  # remarks for the report: counts and column names, never values

    @property
    def n_classes(self) -> int:
        return len(self.lo)

    def losses(self, domains: Sequence[Domain], classes: IntArray | None = None) -> FloatArray:
        """Loss of what each class publishes, unweighted, (n_classes, n_dims); a center loses what its box would.

        Args:
            classes: the classes that are asked for; None: all.
        """
        n = self.n_classes if classes is None else len(classes)
        losses = np.zeros((n, self.lo.shape[1]), order="F")
        if self.bucketing is not None:
            return losses
        for i, domain in enumerate(domains):
            for begin in range(0, n, BLOCK):
                block = slice(begin, begin + BLOCK)
                losses[block, i] = self._column_losses(i, domain, block if classes is None else classes[block])
        return losses

    def _column_losses(self, i: int, domain: Domain, chosen: IntArray | slice) -> FloatArray:
        if i in self.sets:
            return domain.set_loss(self.sets[i].of_classes(chosen))
        if self.nodes is not None and domain.hierarchy is not None:
            return domain.hierarchy.losses[self.nodes[chosen, i]]
        return domain.loss(self.lo[chosen, i], self.hi[chosen, i])

    def published(self, domains: Sequence[Domain]) -> dict[str, ClassLabels]:
        """What each class publishes, by column."""
        return {domain.name: self.published_in(i, domain) for i, domain in enumerate(domains)}

    def published_in(self, i: int, domain: Domain) -> ClassLabels:
        """The same in one column."""
        if self.centers is not None and domain.name in self.centers:
            return self.centers[domain.name]
        nodes = None if self.nodes is None else self.nodes[:, i]
        return labels_of_column(domain, self.lo[:, i], self.hi[:, i], nodes, self.sets.get(i))

    def listing_values(self, table: CodedTable) -> Solution:
        """The same classes, where columns of categories without a hierarchy publish the values that occur in a class.

        A search takes them for intervals of codes, which hold others that happen to lie between them in the alphabet.
        """
        nominal = [i for i, d in enumerate(table.domains) if d.kind is DomainKind.SET and i not in self.sets]
        sets = {i: CodeSets.of(self.class_of_tuple, table.quasi_codes(i), self.n_classes) for i in nominal}
        return replace(self, sets={**self.sets, **sets}) if sets else self

    def class_of_row(self, table: CodedTable) -> IntArray:
        """The class of every row (-1: suppressed)."""
        return self.class_of_tuple if table.tuple_of_row is None else self.class_of_tuple[table.tuple_of_row]

    def sizes(self, table: CodedTable) -> IntArray:
        """Records of every class, suppressed ones not counted."""
        is_published = self.class_of_tuple >= 0
        weights = table.weights[is_published] if len(table.weights) else None
        sizes = np.bincount(self.class_of_tuple[is_published], weights=weights, minlength=self.n_classes)
        return sizes.astype(np.int64)

    def stats(self, table: CodedTable) -> ClassStats:
        """Statistics of the classes as a reader of the release counts them: without suppressed records."""
        boxes = None if table.register is None else self._boxes(table, table.register)
        return table.class_stats(self.class_of_tuple, self.n_classes, own_totals=True, boxes=boxes)

    def _boxes(self, table: CodedTable, register: Register) -> Boxes:
        """What the classes cover; of categories whose sets are not listed yet, the values that occur."""
        nominal = [i for i, c in enumerate(register.columns) if c.domain.kind is DomainKind.SET and i not in self.sets]
        listed = {i: CodeSets.of(self.class_of_tuple, table.quasi_codes(i), self.n_classes) for i in nominal}
        return Boxes(self.lo, self.hi, self.nodes, {**self.sets, **listed})


class Algorithm(Protocol):
    """What every algorithm offers; its fields are the parameters of a policy.

    Nobody else knows algorithms by name or class: whatever others must know of one is said here.
    """

    name: ClassVar[str]
    minimizes: ClassVar[str | None] = None  # what the search keeps low, in words, unless the field `loss` says it
    searches_lattice: ClassVar[bool] = False  # one level for each column: it is a `FullDomain`
    forms_classes: ClassVar[bool] = True  # records are put together; False: it works on sets of items
    publishes: ClassVar[Publishes] = Publishes.GENERALIZED  # what the releases show
    chooses_blocks: ClassVar[bool] = False  # which columns stay together is chosen by the data
    reaches_whole: ClassVar[bool] = False  # it never fails where the table as one class satisfies the goal
    lists_values: ClassVar[bool] = False  # a class may publish the values of its own records, instead of their box
    may_shard: ClassVar[bool] = False  # parts of a table, cut apart by quasi-identifiers, may be solved one by one

    # Parameters of some algorithms that others must know; an algorithm without one has these values.
    suppression_limit: float | None = 0.0  # share of records that may be left out; None: as many as a class needs
    target: str | None = None  # the column whose values recipients want to predict
    forbidden: Sequence[Mapping[str, str]] = ()  # combinations of values that no published row may show

    @property
    def dealing(self) -> Dealing | None:
        """The algorithm as one that deals out files on disk; None where it works on tuples in memory."""
        return None

    @property
    def group_column(self) -> str | None:
        """The column that names the group of every row; None where groups are searched for."""
        return None

    def moving(self, table: CodedTable) -> list[tuple[str, ...]]:  # noqa: ARG002
        """Columns that are carried to other rows of their group, those together that stay together."""
        return []

    @property
    def needs_rows(self) -> bool:
        """Equal rows may end in different classes, so tuples must be rows."""
        return False

    @property
    def order(self) -> TupleOrder:
        """The order in which tuples must come, so that neither that of the input nor the seed tells anything."""
        return TupleOrder.SECRET if self.needs_rows else TupleOrder.GIVEN

    @property
    def needs_hierarchies(self) -> bool:
        """Every quasi-identifier must have a hierarchy; columns without one get an automatic one."""
        return False

    @property
    def needs_sensitive(self) -> bool:
        """The search looks at sensitive attributes even where the goal does not."""
        return False

    def sees_sensitive(self, quasi: Collection[str]) -> bool:  # noqa: ARG002
        """Whether it still does beside these quasi-identifiers, one of which may be all that it looks at."""
        return self.needs_sensitive

    def comparisons(self, n_records: int, size: int) -> float | None:  # noqa: ARG002
        """About how many pairs of records are compared to make classes of a size; None: hardly more than records."""
        return None

    def kernels(self, n_tuples: int, goal: Goal) -> tuple[Step, ...]:  # noqa: ARG002
        """What a search among so many tuples uses in its compiled form, as far as it takes long to compile."""
        return ()

    def bytes_per_tuple(self, goal: Goal, sensitive: Sequence[SensitiveDomain]) -> float:
        """What the search holds for every tuple, besides three copies of its key: shards are cut by it."""
        return TUPLE_BYTES + bytes_of_counts(goal, sensitive)

    def refines(self, n_tuples: int) -> bool:  # noqa: ARG002
        """Whether a table of this many tuples needs the kernels that build classes anew, which take long to load."""
        return False

    def remarks(self, n_tuples: int) -> tuple[str, ...]:  # noqa: ARG002
        """What a run says about the search for a table of this many tuples."""
        return ()

    def refuses(self, goal: Goal) -> str | None:
        """Why this goal cannot be enforced, or None."""

    def solve(self, problem: Problem, progress: Progress) -> Solution:
        """Find classes that satisfy the goal; the table as one class is known to satisfy it."""


def bytes_of_counts(goal: Goal, sensitive: Sequence[SensitiveDomain]) -> float:
    """What counting sensitive values holds for every tuple: the more of them there are, the nearer to one count each.

    Large nodes are counted together, and each of them has a value at most as often as there are tuples.
    """
    if goal.is_only_size:
        return 0.0
    return sum(COUNT_BYTES * min(1.0, domain.n_values / COUNTED_AT_ONCE) for domain in sensitive)


def if_not_monotone(goal: Goal, reason: str) -> str | None:
    """Why a goal is refused, `{models}` being those that uniting classes may break; None where there are none."""
    return reason.format(models=", ".join(goal.not_monotone)) if goal.not_monotone else None


def algorithm(name: str, *, minimizes: str | None = None) -> Callable[[type[A]], type[A]]:
    """Make a class a registered algorithm: a frozen value whose fields are checked and appear in policies.

    Args:
        minimizes: what the search keeps low, in words, unless the field `loss` says it.
    """

    def decorate(cls: type[A]) -> type[A]:
        checked = checked_dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
        checked.name = name  # type: ignore[attr-defined]
        checked.minimizes = minimizes  # type: ignore[attr-defined]
        for attribute, default in vars(Algorithm).items():
            if not attribute.startswith("_") and attribute not in DEFINED and not hasattr(checked, attribute):
                setattr(checked, attribute, default)
        return cast(type[A], register("algorithms", name)(checked))

    return decorate
