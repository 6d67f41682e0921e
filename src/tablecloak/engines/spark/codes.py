"""Rows as packed codes, equal ones united by the worker that holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coder import Coder
from tablecloak.engines.spark.rows import ROW, Rows, batches_of
from tablecloak.kernels.space import Layout as Packing
from tablecloak.kernels.space import pack

__all__ = ["CodeTask", "person_keys", "words_in", "words_of"]


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Packed codes of rows, equal ones of a batch united: (words, person, records, first row)."""

    rows: Rows
    coders: tuple[Coder, ...]
    packing: Packing
    person: str | None = None

    @property
    def columns(self) -> list[str]:
        return [coder.name for coder in self.coders]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        wanted = list(dict.fromkeys([*self.columns, *([self.person] if self.person else [])]))
        for frame in self.rows.frames(batches, wanted, numbered=True):
            keys = self.keys(frame).with_columns(frame[ROW].alias("first"))
            words = [name for name in keys.columns if name != "first"]
            yield from batches_of(keys.group_by(words).agg(pl.len().cast(pl.Int64).alias("n"), pl.col("first").min()))

    def keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What tells rows apart: their words and, where persons are counted, who they belong to."""
        codes = [coder.codes(frame[coder.name]) for coder in self.coders]
        packed = pack(codes, self.packing) if codes else np.zeros((1, frame.height), np.uint64)
        keys = pl.DataFrame({f"w{i}": word.view(np.int64) for i, word in enumerate(packed)})
        return keys if self.person is None else keys.with_columns(person_keys(frame[self.person]))


def person_keys(series: pl.Series) -> pl.Series:
    """A number for every person: equal for equal keys on every worker; an empty cell is one person."""
    if series.dtype == pl.Int64:
        return series.fill_null(-(1 << 62)).alias("person")
    distinct = series.unique()
    texts = distinct.cast(pl.String).to_list()
    numbers = [0 if text is None else _digest(text) for text in texts]
    known = pl.DataFrame({"key": distinct, "person": pl.Series(numbers, dtype=pl.Int64)})
    return series.to_frame("key").join(known, on="key", how="left", nulls_equal=True, maintain_order="left")["person"]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little", signed=True)


def words_in(packing: Packing) -> list[str]:
    """Names of the columns that hold packed keys."""
    return [f"w{i}" for i in range(int(packing.word.max(initial=0)) + 1)]


def words_of(frame: pl.DataFrame, packing: Packing) -> NDArray[np.uint64]:
    """The packed keys of tuples, (n_words, n)."""
    return np.stack([frame[word].to_numpy() for word in words_in(packing)]).view(np.uint64)
