"""Publishing a stream: each batch of rows with the labels of its classes in place of its quasi-identifiers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Publication
from tablecloak.engines.disk.external_sort import KEY, RANK, Ranks
from tablecloak.engines.disk.rows import Rows
from tablecloak.engines.disk.stream import StreamTable
from tablecloak.engines.local.engine import starred
from tablecloak.errors import DataError
from tablecloak.kernels.packed_codes import Keys

# Parquet repeats the categories of a column in its footer, and readers compare them batch by batch.
MOST_CATEGORIES = 1 << 16


class Publisher:
    """Rows of a table, as a release shows them, in their order."""

    def __init__(
        self,
        table: StreamTable,
        rows: Rows,
        labels: Mapping[str, ClassLabels],
        publication: Publication,
        batch_rows: int,
    ) -> None:
        self.table, self.rows, self.publication, self.batch_rows = table, rows, publication, batch_rows
        self.class_labels = labels
        self.labels = {name: _LabelLookup(name, of_class) for name, of_class in labels.items()}

    @property
    def types(self) -> dict[str, ColumnType]:
        return self.publication.types(self.class_labels, self.table.types)

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Some columns of all published rows."""
        for plain, classes, _ in self.unlabelled(columns):
            yield self.labelled(plain, classes, columns)

    def kept(self, columns: Sequence[str]) -> list[str]:
        """Columns that are published as they are."""
        return [c for c in columns if c not in self.labels and c not in self.publication.starred]

    def unlabelled(self, columns: Sequence[str]) -> Iterator[tuple[pl.DataFrame | None, NDArray[np.int32], Keys]]:
        """What is published as it is of all published rows, their classes, and the keys of their originals."""
        reader = self.rows.in_order()
        try:
            for batch in self._plain(self.kept(columns)):
                n = self.batch_rows if batch is None else batch.height
                keys, classes = reader.next(n)
                if batch is not None and len(classes) != batch.height:
                    raise DataError("the input has more rows than when it was coded", location=self.table.name)
                if len(classes):
                    yield self._shown(batch, classes, keys)
        finally:
            reader.close()

    def _plain(self, names: list[str]) -> Iterator[pl.DataFrame | None]:
        """Batches of what is published as it is; where that is nothing, only as many as there are."""
        if names:
            yield from self.table.batches(names)
            return
        for _ in range(0, self.rows.keys.n_rows, self.batch_rows):
            yield None

    def _shown(
        self, batch: pl.DataFrame | None, classes: NDArray[np.int32], keys: Keys
    ) -> tuple[pl.DataFrame | None, NDArray[np.int32], Keys]:
        """Published rows of a batch, with the cells of suppressed ones hidden."""
        is_star = classes < 0
        if not self.publication.keeps_suppressed and is_star.any():
            shown = np.flatnonzero(~is_star)
            classes, is_star, keys = classes[shown], is_star[shown], keys[:, shown]
            batch = None if batch is None else batch[shown]
        if batch is None:
            return None, classes, keys
        return pl.DataFrame([self._cells(batch[name], is_star) for name in batch.columns]), classes, keys

    def _cells(self, series: pl.Series, is_star: BoolArray) -> pl.Series:
        if self.publication.keeps_suppressed:
            return starred(series, self.table.types[series.name], is_star)
        return series.cast(pl.String) if isinstance(series.dtype, pl.Categorical | pl.Enum) else series

    def labelled(
        self, plain: pl.DataFrame | None, classes: NDArray[np.integer], columns: Sequence[str]
    ) -> pl.DataFrame:
        """Published rows, given what is published as it is and the class of each."""

        def cells(name: str) -> pl.Series:
            if name in self.publication.starred:
                return pl.repeat(ANYTHING, len(classes), eager=True).alias(name)
            if name in self.labels:
                return self.labels[name].of(classes)
            assert plain is not None
            return plain[name]

        return pl.DataFrame([cells(name) for name in columns])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Unordered(StreamTable):
    """A release in the order of its originals, and what it takes to put it in another one."""

    publisher: Publisher
    sizes: IntArray  # (n_classes + 1,) rows of every class, suppressed ones last

    def ranks(self) -> Ranks:
        """The places of classes in the order of their labels."""
        labels, shown = self.publisher.class_labels, self.publisher.publication
        return Ranks.of([labels[c] for c in shown.columns if c in labels], len(self.sizes))

    def unsorted(self, ranks: Ranks) -> Iterator[pl.DataFrame]:
        """What `Sorter` sorts: the place of the labels, what is published as it is, the key of the original."""
        for plain, classes, keys in self.publisher.unlabelled(self.publisher.publication.columns):
            cells = [] if plain is None else plain.get_columns()
            words = [pl.Series(f"{KEY}{i}", np.ascontiguousarray(word)) for i, word in enumerate(keys)]
            yield pl.DataFrame([pl.Series(RANK, ranks.of_class[classes]), *cells, *words])


class _LabelLookup:
    """The labels of one column, ready to be looked up by class."""

    def __init__(self, name: str, labels: ClassLabels) -> None:
        texts = labels.texts
        self.name, self.are_numbers = name, labels.are_numbers
        self.enum = pl.Enum(texts) if len(texts) <= MOST_CATEGORIES else None
        self.texts = pl.Series(name, [*texts, None], dtype=pl.String)
        self.missing = len(texts)
        dtype = np.uint8 if self.missing < 1 << 8 else np.uint16 if self.missing < 1 << 16 else np.uint32
        self.places = labels.places.astype(dtype)
        self.has_missing = bool((self.places == self.missing).any())

    def of(self, classes: NDArray[np.integer]) -> pl.Series:
        places = self.places[classes]
        if self.are_numbers or self.enum is None:
            texts = self.texts.gather(places)
            return texts.cast(pl.Float64) if self.are_numbers else texts
        cells = pl.Series(self.name, places)
        if self.has_missing:
            cells = cells.to_frame().select(pl.col(self.name).replace({self.missing: None})).to_series()
        return cells.cat.to(self.enum)
