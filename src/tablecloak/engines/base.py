"""The engine seam: nothing row-at-a-time, every answer a count, a coded table or another table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Codes, Distinct, MakeHierarchy
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.stats.classes import ClassStats

__all__ = ["Coding", "Engine", "Publication", "QuasiColumn", "Recount", "SensitiveColumn", "Table"]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table an engine holds: rows in their order, columns with their types."""

    frame: pl.DataFrame
    types: Mapping[str, ColumnType]
    name: str  # what messages call it: a path, or "the table"

    @property
    def n_rows(self) -> int:
        return self.frame.height


@dataclass(frozen=True, slots=True)
class QuasiColumn:
    """A quasi-identifier as the plan wants it coded."""

    name: str
    make_hierarchy: MakeHierarchy | None = None
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """A sensitive attribute, the key of persons or a combination of attributes as the plan wants it counted."""

    name: str
    make_hierarchy: MakeHierarchy | None = None
    is_person: bool = False
    joins: tuple[str, ...] = ()  # sensitive attributes, counted before it, whose combinations it stands for


@dataclass(frozen=True, slots=True, eq=False)
class Coding:
    """A coded table together with the quasi codes of every row, which a release is later held against."""

    table: CodedTable
    codes: Mapping[str, Codes]  # (n_rows,) by quasi-identifier


@dataclass(frozen=True, slots=True)
class Publication:
    """What a release shows: columns in order, and how suppressed records and identifiers appear."""

    columns: tuple[str, ...]
    starred: tuple[str, ...] = ()  # identifiers replaced by *
    keeps_suppressed: bool = False  # as rows of * instead of leaving them out
    shuffle_seed: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Recount:
    """What counting a finished table says."""

    stats: ClassStats
    n_rows: int  # published records, suppressed ones not counted
    n_suppressed: int  # records published as *
    labels: Mapping[str, Distinct]  # published labels by quasi-identifier
    is_suppressed: NDArray[np.bool_] | None  # (rows of the file,) None: no row is
    classes: NDArray[np.integer] | None = None  # (n_rows,) the class of every record


class Engine(Protocol):
    """Nothing row-at-a-time; results equal those of the local engine."""

    name: str

    def read(
        self,
        source: Source,
        *,
        columns: Sequence[str] | None,
        categorical: Collection[str],
        labels: Mapping[str, Sequence[str]] | None = None,
    ) -> Table:
        """The wanted columns of a source; `labels` are the values some text columns are expected to have."""

    def write(
        self, table: Table, place: Place, *, kind: str | None, delimiter: str | None, rows_per_file: int | None = None
    ) -> None:
        """Write a table to a file, a folder that exists or a database."""

    def contingency(
        self, table: Table, quasi: Sequence[QuasiColumn], sensitive: Sequence[SensitiveColumn], *, by_row: bool
    ) -> Coding:
        """Code the quasi-identifiers and sensitive attributes."""

    def recode(
        self,
        table: Table,
        class_of_row: NDArray[np.int64],
        labels: Mapping[str, ClassLabels],
        publication: Publication,
    ) -> tuple[Table, NDArray[np.int64] | None]:
        """The release, and which row of the table each of its rows comes from (None: the same row)."""

    def class_stats(
        self, release: Table, quasi: Sequence[str], sensitive: Sequence[SensitiveColumn], *, stars_are_suppressed: bool
    ) -> Recount:
        """Count the classes of a finished table from its published cells."""
