"""Releases made by workers: the class of every row, its published cells, and files of them."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.base import CutTree
from tablecloak.data.domain import ANYTHING
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Publication
from tablecloak.engines.spark.codes import CodeTask, words_of
from tablecloak.engines.spark.rows import ROW, batches_of, frame_of
from tablecloak.io.tabular import write_frame
from tablecloak.kernels.space import Layout as Packing
from tablecloak.kernels.space import unpack

__all__ = ["WRITTEN", "CombineTask", "Lookup", "PublishTask", "WriteTask"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Lookup:
    """The class of rows: by cuts where these lead to all classes, else by a table of keys."""

    packing: Packing
    n_dims: int
    tree: CutTree | None = None
    keys: pl.DataFrame | None = None  # the columns of `CodeTask.keys`, and the class

    def classes(self, keys: pl.DataFrame) -> IntArray:
        """The class of every row, -1 where it is suppressed."""
        if self.tree is not None:
            words = words_of(keys, self.packing)
            codes = np.stack([unpack(words, self.packing, d) for d in range(self.n_dims)])
            return self.tree.classes_of(codes)
        assert self.keys is not None
        found = keys.join(self.keys, on=keys.columns, how="left", maintain_order="left")["class"]
        if found.null_count():
            raise ValueError("rows that were not there when they were counted")
        return found.to_numpy()


@dataclass(frozen=True, slots=True, eq=False)
class PublishTask:
    """Rows as they are published."""

    code: CodeTask
    lookup: Lookup
    labels: Mapping[str, ClassLabels]
    publication: Publication
    types: Mapping[str, ColumnType]

    def frames(self, batches: Iterator[Any]) -> Iterator[pl.DataFrame]:
        """Published cells, with the numbers of their rows."""
        shown = self.publication
        kept = [c for c in shown.columns if c not in self.labels and c not in shown.starred]
        person = [self.code.person] if self.code.person else []
        wanted = list(dict.fromkeys([*self.code.columns, *person, *kept]))
        for rows in self.code.rows.frames(batches, wanted, numbered=True):
            classes = self.lookup.classes(self.code.keys(rows))
            is_shown = (classes >= 0) | shown.keeps_suppressed
            frame = rows if is_shown.all() else rows.filter(pl.Series(is_shown))
            cells = (self._cells(name, frame, classes[is_shown]) for name in shown.columns)
            yield pl.DataFrame([*cells, frame[ROW]])

    def _cells(self, name: str, frame: pl.DataFrame, classes: IntArray) -> pl.Series:
        if name in self.publication.starred:
            return pl.repeat(ANYTHING, len(classes), eager=True).alias(name)
        if name in self.labels:
            cells = self.labels[name].publish(name, classes)
            return cells if self.labels[name].are_numbers else cells.cast(pl.String)
        is_star = pl.Series(classes < 0)
        if not is_star.any():
            return frame[name]
        hidden = pl.lit(ANYTHING if self.types[name] is ColumnType.TEXT else None)
        return frame.select(pl.when(is_star).then(hidden).otherwise(pl.col(name)).alias(name)).to_series()

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in self.frames(batches):
            yield from batches_of(frame)


@dataclass(frozen=True, slots=True, eq=False)
class WriteTask:
    """Writes rows to files of its own; says which, with their first row and number of rows.

    A worker that is lost is replaced by another one that writes other files, so only files that were said count.
    """

    publish: PublishTask | None  # None: batches hold published rows already
    folder: Path
    kind: str
    delimiter: str | None
    columns: tuple[str, ...] = field(default=())

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        frames = self.publish.frames(batches) if self.publish else map(frame_of, batches)
        for frame in frames:
            if frame.height:
                path = self.folder / f"{secrets.token_hex(8)}.{self.kind}"
                write_frame(frame.select(self.columns), path, delimiter=self.delimiter)
                _sync(path)
                said = pl.DataFrame({"path": [str(path)], "first": [frame[ROW][0]], "n": [frame.height]})
                yield from batches_of(said)


WRITTEN = "path string, first bigint, n bigint"


@dataclass(frozen=True, slots=True)
class CombineTask:
    """Joins files that workers wrote to one, in their order."""

    paths: tuple[Path, ...]
    target: Path
    kind: str

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                self._combine()
            yield batch

    def _combine(self) -> None:
        if self.kind == "parquet":
            pl.scan_parquet(list(self.paths), glob=False).sink_parquet(self.target)
            return
        with self.target.open("wb") as target:
            for number, path in enumerate(self.paths):
                with path.open("rb") as file:
                    header = file.readline()
                    if number == 0:
                        target.write(header)
                    shutil.copyfileobj(file, target, 1 << 20)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
