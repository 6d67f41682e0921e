"""The engine seam: nothing row-at-a-time, every answer a count, coded tuples or another table.

A table is a handle: only the engine that made it knows where its rows are. Whatever grows with the number of rows stays
with the engine (in memory, in files or on a cluster); what crosses the seam grows with distinct tuples, classes and
labels at most. `docs/concepts/engines.md` says how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree, Solution
from tablecloak.algorithms.one_pass.pile_dealing import Dealing
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.changed_columns import CellTest, ColumnChange
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Codes, Distinct, Domain, MakeHierarchy
from tablecloak.data.register import Register, top_boxes
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.equal_rows import Alike, Hidden
from tablecloak.engines.spelling import Spelling
from tablecloak.io.places import Place
from tablecloak.io.sources import Layout, Source
from tablecloak.metrics.base import ClassSums
from tablecloak.models.base import Goal
from tablecloak.progress import Progress, silent
from tablecloak.rng import Secret
from tablecloak.stats.classes import ClassStats, Counted, SensitiveDomain, one_class, without_classes
from tablecloak.stats.moments import MomentSums

T = TypeVar("T")
R = TypeVar("R")
PERSON = "__tablecloak_person__"  # the column that says whose a record is
# Which parts of a table, given as classes, satisfy the goal, so that each may be a shard.
StandsAlone = Callable[[ClassStats], BoolArray]
# What a search holds for every tuple where these attributes are counted, besides three copies of its key.
BytesPerTuple = Callable[[Sequence[SensitiveDomain]], float]


class OnDemand(Sequence[T]):
    """Things in their order, each of them made or read when it is asked for, and not held."""

    def __init__(self, n: int, make: Callable[[int], T]) -> None:
        self._n, self._make = n, make

    def __len__(self) -> int:
        return self._n

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[T]: ...
    def __getitem__(self, index: int | slice) -> T | Sequence[T]:
        places = range(self._n)[index]  # as a list counts them
        if isinstance(places, int):
            return self._make(places)
        return OnDemand(len(places), lambda i: self._make(places[i]))

    def changed(self, change: Callable[[T], T]) -> OnDemand[T]:
        """The same things, each changed when it is asked for."""
        return OnDemand(self._n, lambda i: change(self._make(i)))

    def results(self, look: Callable[[T, int], R]) -> list[R]:
        """What looking at each thing, with its number, finds; things that lie elsewhere are looked at there."""
        return [look(self._make(i), i) for i in range(self._n)]


def looked_at(parts: Sequence[T], look: Callable[[T, int], R]) -> list[R]:
    """What looking at each part, with its number, finds: where it lies, if it is not here.

    Args:
        look: it and what it finds can be sent to another process.
    """
    return parts.results(look) if isinstance(parts, OnDemand) else [look(part, i) for i, part in enumerate(parts)]


@dataclass(frozen=True, slots=True, eq=False)
class OnDisk:
    """A search that deals records which stay on disk."""

    dealing: Dealing
    goal: Goal
    secret: Secret
    progress: Progress


class ShardSearch(Protocol):
    """From the tuples of a shard to its classes; it can be sent to another process."""

    @property
    def on_disk(self) -> OnDisk | None:
        """The same search on records that stay on disk, where there is one."""

    @property
    def min_size(self) -> int:
        """Records that a class must have."""

    def __call__(self, tuples: CodedTable) -> Solution: ...


class Table(Protocol):
    """Rows that an engine holds, in their order."""

    @property
    def types(self) -> Mapping[str, ColumnType]:
        """Columns in their order, with their types."""

    @property
    def name(self) -> str:
        """What messages call it: a path, or "the table"."""

    @property
    def n_rows(self) -> int: ...

    def spelled(self, spelling: Spelling) -> Table:
        """The same rows as a text file shows them."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one pass over a column counts."""

    n_missing: int
    n_distinct: int | None = None  # None: it was not asked for


@dataclass(frozen=True, slots=True)
class QuasiColumn:
    """A quasi-identifier as the plan wants it coded."""

    name: str
    make_hierarchy: MakeHierarchy | None = None
    weight: float = 1.0
    may_be_codes: bool = True  # whole numbers are categories if they look like codes


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A sensitive attribute, the key of persons or a combination of attributes as the plan wants it counted."""

    name: str
    make_hierarchy: MakeHierarchy | None = None
    is_person: bool = False
    kind: Counted = Counted.SENSITIVE
    n_people: int = 0  # of a population: how many people it has
    joins: tuple[str, ...] = ()  # sensitive attributes, counted before it, whose combinations it stands for


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """A table as codes: its tuples in one piece or, where they do not fit memory together, in shards.

    Shards are cut apart by quasi-identifiers, so that equal tuples are in one shard; all share domains and totals.
    """

    domains: tuple[Domain, ...]
    sensitive: tuple[SensitiveDomain, ...]
    n_rows: int
    n_tuples: int
    totals: Mapping[str, IntArray]  # counts of each sensitive value in the table, by attribute
    shards: Sequence[CodedTable]  # an engine may read each one when it is asked for
    cuts: CutTree | None = None  # lead to the shards: class c of this tree is shard c; None: there is one shard
    codes: Mapping[str, Codes] = field(default_factory=dict)  # (n_rows,) by quasi-identifier, where rows are in memory
    counts: Sequence[IntArray] = ()  # (n_codes,) records with each code by quasi-identifier, where these were counted
    rows: Any = None  # how the engine finds its rows again
    needs: Any = None  # what a search takes, where an engine has planned that
    sample: Callable[[int], CodedTable] | None = None  # draws about so many records from all over a table on disk
    register: Register | None = None  # people of the population whom no record equals, where the goal counts them

    @property
    def table(self) -> CodedTable:
        """The tuples, where they are in one piece."""
        (only,) = self.shards
        return only

    def whole(self) -> ClassStats:
        """Statistics of the table as one class: the most general release there is."""
        whole = one_class(self.n_rows, [(s, self.totals[s.name]) for s in self.sensitive])
        if self.register is None:
            return whole
        return replace(whole, beyond=self.register.covered(top_boxes(self.domains)))

    def beside(self, register: Register) -> Coding:
        """The same beside a register of the population."""
        return replace(self, register=register, shards=[replace(s, register=register) for s in self.shards])

    def originals(self) -> list[IntArray]:
        """Records with each code, (n_codes,) by quasi-identifier; every shard is read once."""
        if self.counts:
            return list(self.counts)
        if self.codes:
            return [np.bincount(self.codes[d.name], minlength=d.n_codes) for d in self.domains]
        counts = [np.zeros(d.n_codes, np.int64) for d in self.domains]
        for shard in self.shards:
            for dim in range(len(counts)):
                counts[dim] += shard.originals(dim)
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The classes of all shards, numbered through.

    Where there are several shards, the class of each tuple is only known to the engine and `class_of_tuple` is empty.
    """

    solution: Solution
    sizes: IntArray  # (n_classes,) records, suppressed ones not counted

    @property
    def sums(self) -> ClassSums | None:
        """What the usual metrics add up over classes, where these lie elsewhere; None: they are here."""
        return None

    @property
    def n_classes(self) -> int:
        return self.solution.n_classes

    @property
    def n_records(self) -> int:
        """Records that are published."""
        return int(self.sizes.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks of the search."""
        return self.solution.notes

    def published(self, domains: Sequence[Domain]) -> dict[str, ClassLabels]:
        """What each class publishes, by column; where classes lie elsewhere, they keep that, and none is here."""
        return self.solution.published(domains)


@dataclass(frozen=True, slots=True)
class Publication:
    """What a release shows: columns in order, and how suppressed records and identifiers appear."""

    columns: tuple[str, ...]
    starred: tuple[str, ...] = ()  # identifiers replaced by *
    keeps_suppressed: bool = False  # as rows of * instead of leaving them out
    labelled: tuple[str, ...] = ()  # quasi-identifiers that show labels of classes: rows are sorted by them first
    order: Order = Order.CONTENT

    def types(self, labels: Mapping[str, ClassLabels], originals: Mapping[str, ColumnType]) -> dict[str, ColumnType]:
        """The types that columns have in the release, given those of the table."""
        shown = {name: ColumnType.FLOAT if column.are_numbers else ColumnType.TEXT for name, column in labels.items()}
        starred = dict.fromkeys(self.starred, ColumnType.TEXT)
        return {name: {**originals, **shown, **starred}[name] for name in self.columns}


@dataclass(frozen=True, slots=True, eq=False)
class Recount:
    """What counting a finished table says; its classes come in one part or in several that share no class."""

    parts: Sequence[ClassStats]  # labels of classes are places in `labels`
    n_rows: int  # published records, suppressed ones not counted
    n_suppressed: int  # records published as *
    labels: Mapping[str, pl.Series]  # different published labels by quasi-identifier
    covers: bool | None = None  # every cell covers its original, where the engine looked
    cells: Mapping[str, Distinct] = field(default_factory=dict)  # label of every record, where rows are in memory
    is_suppressed: BoolArray | None = None  # (rows of the file,) None: no row is, or rows are not in memory
    classes: NDArray[np.integer] | None = None  # (n_rows,) the class of every record, where rows are in memory
    codes: Mapping[str, Codes] = field(default_factory=dict)  # (n_rows,) by counted attribute, where kept

    @property
    def stats(self) -> ClassStats:
        """Statistics of all classes, where they are in one part."""
        (only,) = self.parts
        return only

    @property
    def n_classes(self) -> int:
        return sum(looked_at(self.parts, _n_classes))

    @property
    def nothing(self) -> ClassStats:
        """Statistics of none of the classes: what is counted, and how often it occurs in the release."""
        parts = self.parts
        if isinstance(parts, ClassesElsewhere):
            return parts.nothing
        return without_classes(parts[0]) if parts else ClassStats(np.zeros(0, np.int64))


class ClassesElsewhere(OnDemand[ClassStats]):
    """Classes in parts that lie on other machines; those who ask for a part fetch it."""

    nothing: ClassStats  # statistics of none of them


def _n_classes(part: ClassStats, number: int) -> int:  # noqa: ARG001 - parts are looked at with their number
    return part.n_classes


class Engine(Protocol):
    """Nothing row-at-a-time; results equal those of the local engine."""

    name: str
    recounts_unwritten: bool  # it counts the classes of a release also before that is written
    tells_rows_apart: bool  # it codes every row as a tuple of its own, where that is asked for

    @property
    def room(self) -> int | None:
        """Bytes of memory that rows may take; None: all there are, because tables lie there anyway."""

    @property
    def scratch(self) -> Path | None:
        """A folder for rows that do not fit memory; None where there is none."""

    def remembered(self, secret: Secret, *, is_new: bool) -> Secret:
        """The secret of the run that is resumed, or else this one, kept where only its owner can read it.

        Args:
            is_new: it was drawn just now, so that of an earlier run may replace it.

        Raises: IncompatibleChoice if it is another one than that of the run that is resumed.
        """

    def layout(self, source: Source) -> Layout:
        """Names and types of the columns of a source."""

    def read(
        self, source: Source, *, columns: Sequence[str] | None, categorical: Collection[str],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> Table:  # fmt: skip
        """The wanted columns of a source; `labels` are the values some text columns are expected to have."""

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None,
        progress: Progress = silent,
    ) -> None:  # fmt: skip
        """Write a table to a file, a folder that exists or a database."""

    def select(self, table: Table, columns: Sequence[str], *, without_missing: Sequence[str] = ()) -> Table:
        """Some columns, and only the rows in which none of the columns `without_missing` is empty."""

    def changed(self, table: Table, changes: Sequence[ColumnChange]) -> Table:
        """The same rows with columns that steps make, in place of others of their name or after all others.

        Steps see the table as it is given, not what other steps make of it.
        """

    def settled(self, table: Table, columns: Sequence[str]) -> Table:
        """The same table, with columns kept as they are now, where else every pass would make them again."""

    def without_hidden(self, table: Table, hidden: Hidden) -> Table:
        """The rows that show something; the table itself where all or none do."""

    def batches(self, table: Table, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """The rows in their order, so many at a time as fit memory; raises IncompatibleChoice where none may come."""

    def sorted(self, table: Table) -> Table:
        """The same rows in the order of their content, where they fit memory; else as they are."""

    def summarize(self, table: Table, columns: Sequence[str], *, distinct: bool = False) -> Mapping[str, Summary]:
        """Counts of columns; different values, the missing one included, only where asked for."""

    def value_counts(self, table: Table, column: str, where: CellTest | None = None) -> pl.DataFrame:
        """`value` and `n`: different values of a column, sorted, missing ones left out; some, where a test is given."""

    def frame(self, table: Table, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows in memory; raises IncompatibleChoice where they do not fit."""

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool,
        stands_alone: StandsAlone | None = None, bytes_per_tuple: BytesPerTuple | None = None,
        progress: Progress = silent,
    ) -> Coding:  # fmt: skip
        """Code the quasi-identifiers and sensitive attributes.

        Args:
            by_row: every row is a tuple of its own.
            stands_alone: which parts of the table may be searched for themselves; None: only all of it.
            bytes_per_tuple: what the search will hold, by which an engine with a limit sizes the parts.
        """

    def solve(self, coding: Coding, search: ShardSearch) -> Answer:
        """Search every shard where it lies, and keep which class each of its rows is in."""

    def recode(
        self, table: Table, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels], publication: Publication
    ) -> tuple[Table, IntArray | None]:
        """The release in the order of the table, and which row of the table each of its rows comes from.

        None: the same row, or the engine finds it by itself. What is published may be computed when it is written.
        """

    def arrange(
        self, release: Table, publication: Publication, secret: Secret, *, progress: Progress = silent
    ) -> tuple[Table, IntArray | None]:
        """A release in the order in which it is published, and which of its rows each one was before.

        None: the same row, or the engine finds it by itself, and `class_stats` holds each row against its own original.
        """

    def class_stats(
        self, release: Table, quasi: Sequence[str], sensitive: Sequence[SensitiveColumn], *, stars_are_suppressed: bool,
        originals: Coding | None = None, progress: Progress = silent,
    ) -> Recount:  # fmt: skip
        """Count the classes of a finished table from its published cells.

        Args:
            originals: the coded table it was made from by this engine, which knows the original of every row; where
                rows are not in memory, it holds every cell against its original and counts the persons of classes.
        """

    def with_persons(self, release: Table, originals: Coding, row_of: IntArray | None) -> Table | None:
        """A release of this engine with the column PERSON: whose every record is, which no release publishes.

        None where nobody has several records, or where it is not known.

        Args:
            row_of: the original of every row, where rows are in memory.
        """

    def alike(
        self, table: Table, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = (), person: str | None = None
    ) -> list[Alike]:
        """How many records stand alone on each set of columns, and how many groups of equal ones there are.

        Args:
            stars: records in which all of these are `*` or empty are suppressed ones, and not counted.
            person: the column that says whose a record is; persons are counted instead of records then.
        """

    def some_rows(
        self, table: Table, columns: Sequence[str], *, most: int, together: str | None = None
    ) -> pl.DataFrame:
        """At most about `most` rows in memory, from all over the table; those equal in `together` all or none."""

    def moment_sums(self, table: Table, sides: Sequence[Sequence[str]]) -> list[MomentSums]:
        """What means, variances and correlations follow from, for several lists of columns."""

    def close(self) -> None:
        """Remove what the engine keeps on disk; a second call does nothing."""
