"""How alike records are: groups of equal rows on sets of columns, counted by a hash of each row.

Rows become one 64-bit key per set of columns, whatever the columns hold, so that counting is the same work for text,
numbers and dates, in memory, in files or among workers. Two different rows share a key with a chance of 5e-20: counts
of a table of 100 million rows are wrong by one record once in some thousand tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coded import MIX
from tablecloak.data.domain import ANYTHING
from tablecloak.engines.partitions import KeyPartitions

__all__ = ["NOBODY", "Alike", "count_alike", "count_in_parts", "count_keys", "keys_of", "shown_rows", "some_of"]

KeyArray = NDArray[np.uint64]
# Bytes that the key of a row takes while it is sorted.
BYTES_PER_KEY = 32


@dataclass(frozen=True, slots=True)
class Alike:
    """Records by how many others look the same on some columns."""

    n_records: int
    n_alone: int  # records that no other looks like
    n_groups: int  # different combinations of values
    smallest: int  # records in the smallest group; 0 where there are none

    @property
    def share_alone(self) -> float:
        """The share of records that no other looks like."""
        return self.n_alone / max(1, self.n_records)

    def __add__(self, other: Alike) -> Alike:
        """Both parts, where no record of one looks like one of the other."""
        smallest = min((a.smallest for a in (self, other) if a.n_records), default=0)
        return Alike(
            self.n_records + other.n_records, self.n_alone + other.n_alone, self.n_groups + other.n_groups, smallest
        )


NOBODY = Alike(0, 0, 0, 0)


def count_alike(frame: pl.DataFrame, sets: Sequence[Sequence[str]], *, stars: Sequence[str] = ()) -> list[Alike]:
    """The groups of a frame on every set of columns."""
    return [count_keys(keys) for keys in keys_of(shown_rows(frame, stars), sets, is_all=True)]


def count_in_parts(
    batches: Iterable[pl.DataFrame], sets: Sequence[Sequence[str]], folder: Path, *, n_rows: int, work: int,
    stars: Sequence[str] = (),
) -> list[Alike]:  # fmt: skip
    """The same for rows that come in batches and may be more than memory holds: keys wait in files, in parts."""
    n_parts = 1 + n_rows * BYTES_PER_KEY * len(sets) // max(1, work)
    whole = np.full(1, np.iinfo(np.uint64).max, np.uint64)
    stores = []
    for number in range(len(sets)):
        place = folder / f"alike-{number}"
        place.mkdir(exist_ok=True)
        stores.append(KeyPartitions(place, whole, n_parts))
    try:
        for batch in batches:
            for store, keys in zip(stores, keys_of(shown_rows(batch, stars), sets), strict=True):
                store.add(keys[None, :])
        return [sum((count_keys(part.load()[0]) for part in store.parts()), NOBODY) for store in stores]
    finally:
        for store in stores:
            store.close()


def keys_of(frame: pl.DataFrame, sets: Sequence[Sequence[str]], *, is_all: bool = False) -> Iterator[KeyArray]:
    """The keys of all rows, (n_rows,), for every set of columns; an empty cell equals only an empty cell.

    Args:
        is_all: the frame is the whole table, so that keys need not be those of other batches or processes.
    """
    words = {name: _words(frame[name], is_all=is_all) for name in dict.fromkeys(n for chosen in sets for n in chosen)}
    # sets mostly begin with the quasi-identifiers, whose keys are made once
    shortest = min(sets, key=len, default=())
    n_common = next((i for i, name in enumerate(shortest) if any(s[i] != name for s in sets)), len(shortest))
    common = shortest[:n_common]
    begin = _mixed_in(np.zeros(frame.height, np.uint64), [words[name] for name in common])
    for chosen in sets:
        yield _mixed_in(begin.copy(), [words[name] for name in chosen[n_common:]])


def _mixed_in(keys: KeyArray, words: Iterable[KeyArray]) -> KeyArray:
    """The keys after more columns, in place; each step maps different keys to different ones, as it does words."""
    shifted = np.empty_like(keys)
    for word in words:
        keys ^= word
        keys *= MIX
        np.right_shift(keys, np.uint64(32), out=shifted)
        keys ^= shifted
    return keys


def count_keys(keys: KeyArray) -> Alike:
    """The groups of equal keys."""
    if not len(keys):
        return NOBODY
    ordered = pl.Series(keys).sort().to_numpy()
    is_edge = np.ones(len(keys) + 1, bool)  # before every key, and after the last
    np.not_equal(ordered[1:], ordered[:-1], out=is_edge[1:-1])
    n_alone = int(np.count_nonzero(is_edge[1:] & is_edge[:-1]))
    smallest = 1 if n_alone else int(np.diff(np.flatnonzero(is_edge)).min())
    return Alike(len(keys), n_alone, int(np.count_nonzero(is_edge[1:])), smallest)


def _words(series: pl.Series, *, is_all: bool = False) -> KeyArray:
    """A number for every cell that looks like chance: that of the same value in every batch and every process."""
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        # codes of categories are those of one table, their texts those of all
        series = series.to_physical() if is_all else series.cast(pl.String)
    return series.hash(seed=0).to_numpy()


def shown_rows(frame: pl.DataFrame, stars: Sequence[str]) -> pl.DataFrame:
    """The rows that say something: not those in which each of the columns `stars` is `*` or empty."""
    if not stars:
        return frame
    hidden = [
        pl.col(name).is_null() | (pl.col(name).cast(pl.String) == ANYTHING) for name in stars if name in frame.columns
    ]
    return frame.filter(~pl.all_horizontal(hidden)) if hidden else frame


def some_of(frame: pl.DataFrame, together: str | None, share: float) -> pl.DataFrame:
    """About a share of the rows; those that agree on the column `together` all or none."""
    if share >= 1:
        return frame
    if together is None:
        return frame.gather_every(max(1, round(1 / share)))
    return frame.filter(pl.Series(_words(frame[together]) < np.uint64(share * (2**64 - 1))))
