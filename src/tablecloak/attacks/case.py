"""Case: a release as attackers see it, and what is known beside it — the original, a population, other releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.coded_baskets import Baskets
from tablecloak.data.coverage import Coverage
from tablecloak.data.domain import Domain
from tablecloak.rng import Secret
from tablecloak.stats.classes import ClassStats, Histogram, SensitiveDomain


@dataclass(frozen=True, slots=True)
class Attacker:
    """What attackers are assumed to know and to want, and how hard they try."""

    implications: int = 3  # pieces of background knowledge in the worst case
    radius: float = 0.05  # numbers this close count as the same, as a share of the range of the column
    spread: float = 0.25  # a class whose numbers lie within this share of the range says "about so much"
    level: int = 1  # steps up the hierarchy at which sensitive values count as alike
    gain: float = 2.0  # a value that becomes this many times as likely is learned
    m: int = 2  # minimality: the requirement was that no value makes up more than 1/m of a class
    k: int = 1  # ... nor that a class is smaller than k
    items: int = 2  # of a set of items: so many are known
    sample: int = 2_000  # targets that are drawn where all are too many
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Fact:
    """What an attacker knows beforehand: how likely a sensitive value is for some people, as a factor.

    Without `column` and `row` it holds for everybody; 0 means impossible.
    """

    sensitive: str
    value: str | None
    weight: float = 0.0
    column: str | None = None  # people with `equals` in this quasi-identifier
    equals: str | None = None
    row: int | None = None  # the person of this row of the original, from 1


@dataclass(frozen=True, slots=True, eq=False)
class Rerun:
    """What a program would publish: who is together, and what they show."""

    classes: IntArray  # (n_originals,) the class or group of every person
    labels: Mapping[str, Sequence[str | None]]  # (n_classes,) by quasi-identifier; none where cells are exact
    blocks: tuple[tuple[str, ...], ...] = ()  # quasi-identifiers whose exact cells still belong together
    is_by_values: bool = False  # groups could not be drawn: sensitive values decided where they part


class Program(Protocol):
    """The program that made a release, run again by somebody who has everything but the secret."""

    @property
    def is_drawn(self) -> bool:
        """Whether the secret decides who is with whom."""

    @property
    def is_promised(self) -> bool:
        """Whether it is promised that running it again tells no value beyond what release and goal allow."""

    @property
    def linkage(self) -> float | None:
        """The chance of finding somebody's row that the goal allows; None: it speaks of none."""

    @property
    def value(self) -> float | None:
        """The chance of somebody's sensitive value that the goal allows; None: it speaks of none."""

    def run(self, source: IntArray, secret: Secret) -> Rerun | None:
        """What is published if person i has the sensitive values of person `source[i]`; None: nothing is."""


@dataclass(frozen=True, slots=True, eq=False)
class Quasi:
    """One quasi-identifier: what rows publish and, where the original is known, what it covers."""

    name: str
    labels: IntArray  # (n_rows,) which published text each row shows
    texts: tuple[str | None, ...]  # (n_labels,)
    domain: Domain | None = None  # values of the original, or of the population
    coverage: Coverage | None = None  # (n_labels,) codes of the domain that each text covers
    codes: IntArray | None = None  # (n_originals,)
    people: IntArray | None = None  # (n_population,) codes of the population


@dataclass(frozen=True, slots=True, eq=False)
class Sensitive:
    """One sensitive attribute: codes of one domain for the release and for the original."""

    name: str
    domain: SensitiveDomain
    codes: IntArray | None  # (n_rows,) published beside each row; None where it stands in a table of its own
    originals: IntArray | None = None  # (n_originals,)


class How(StrEnum):
    """What became of the cells of a column that is not published as it was."""

    PERTURBED = "perturbed"  # numbers or dates that were moved by chance
    STANDS_FOR = "stands for"  # other values stand for them, chosen with a key or by chance
    COVERED = "covered"  # hidden wholly or in part; whoever has a value can tell what is published of it


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """One column that is published as something else: its cells before and after, row by row."""

    name: str
    how: How
    before: pl.Series  # (n_rows,)
    after: pl.Series  # (n_rows,)


@dataclass(frozen=True, slots=True, eq=False)
class ItemSets:
    """Sets of items: what every published record can hold, and what people have, in the same codes."""

    records: Baskets  # (n_rows)
    people: Baskets | None = None  # (n_originals); None: what is published is all there is
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Case:
    """A release under attack.

    Rows with equal published quasi-identifiers form classes. Sensitive values can be told apart by group: groups are
    the classes, unless a release keeps exact values and only says which group they belong to.
    """

    quasi: tuple[Quasi, ...]
    sensitive: tuple[Sensitive, ...]
    classes: IntArray  # (n_rows,)
    stats: ClassStats  # of classes: sizes only
    groups: IntArray  # (n_rows,)
    group_stats: ClassStats  # of groups, with a histogram for every sensitive attribute
    n_originals: int | None = None
    row_of: IntArray | None = None  # (n_rows,) the original of every row, or one that fits; -1: none of them
    is_certain: bool = True  # no other way to match rows and originals puts anybody in another class
    is_in_order: bool = False  # rows are taken to be in the order of the original
    row_numbers: IntArray | None = None  # (n_rows,) places in the file; None: as they come
    is_grouped: bool = False  # exact values whose link with sensitive ones was cut inside groups
    is_covering: bool | None = None  # every cell covers its original; None where that is not known
    n_population: int | None = None
    weights: FloatArray | None = None  # (n_rows,) people that each row of a survey stands for, where it is published
    others: tuple[Case, ...] = ()  # releases about the same people
    facts: tuple[Fact, ...] = ()
    attacker: Attacker = field(default_factory=Attacker)
    frame: pl.DataFrame | None = None  # the release as it was read
    original: pl.DataFrame | None = None
    control: pl.DataFrame | None = None  # people like those of the original who are not in the release
    dictionary: pl.DataFrame | None = None  # the population as it was read
    changed: tuple[Changed, ...] = ()  # columns whose cells are known before and after, and how they were changed
    items: ItemSets | None = None  # of a release of sets, which has no quasi-identifiers
    program: Program | None = None  # what made the release, where policy and original are known
    memo: dict[str, Any] = field(default_factory=dict, repr=False)  # what several attacks count is counted once

    @property
    def n_rows(self) -> int:
        return len(self.classes)

    @cached_property
    def sizes(self) -> FloatArray:
        """Rows in the class of every row, (n_rows,)."""
        return self.stats.size[self.classes].astype(np.float64)

    @property
    def people(self) -> IntArray | None:
        """The originals that are published, in any order, (n_rows,); None where that, or what covers them, is unknown.

        Whose row is whose does not matter here: where nobody was left out these are all originals.
        """
        if not self.is_covering or self.n_originals is None or any(column.codes is None for column in self.quasi):
            return None
        return np.arange(self.n_originals) if self.n_originals == self.n_rows else self.row_of

    def histogram(self, name: str) -> Histogram:
        """Counts of a sensitive attribute by group."""
        return self.group_stats.hist[name]

    def numbers_of(self, rows: IntArray) -> tuple[tuple[int, ...], str]:
        """Numbers, from 1, of published rows: in the original where it is known, otherwise in the release."""
        if self.row_of is not None:
            return tuple((self.row_of[rows] + 1).tolist()), "original"
        places = rows if self.row_numbers is None else self.row_numbers[rows]
        return tuple((places + 1).tolist()), "release"

    def codes_of_rows(self, column: Quasi) -> IntArray | None:
        """The original code of every published row in one column, (n_rows,)."""
        if column.codes is None or self.row_of is None:
            return None
        return column.codes[self.row_of]

    def truth(self, column: Sensitive) -> IntArray | None:
        """The true sensitive code of every published row: of its original where known, otherwise as published."""
        if column.originals is not None and self.row_of is not None:
            return column.originals[self.row_of]
        return None if self.is_grouped else column.codes

    def class_labels(self) -> list[IntArray]:
        """The published text of every class, by column, (n_classes,)."""
        first = np.zeros(self.stats.n_classes, np.int64)
        first[self.classes[::-1]] = np.arange(self.n_rows)[::-1]
        return [column.labels[first] for column in self.quasi]
