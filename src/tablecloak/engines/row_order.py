"""The order of published rows: a function of what is published, or random by the secret; never that of the input.

Rows are compared by their labels first and by their other cells after them, in the order of the columns: missing cells
come before all others, numbers by size, text by its Unicode characters. Rows that tie are equal, so that a table has
one such order, whatever engine sorts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.table import Order
from tablecloak.rng import Secret

Words = NDArray[np.uint64]
MANY_TEXTS = 4096
SHORT_TEXT = 16  # bytes
FEW_TIES = 0.25  # of all rows
_SIGN = np.uint64(1 << 63)


def content_order(frame: pl.DataFrame, first: Sequence[str] = ()) -> IntArray:
    """The rows of a table as their cells sort them, (n_rows,).

    Args:
        first: columns that are compared before all others.
    """
    names = [*(n for n in frame.columns if n in first), *(n for n in frame.columns if n not in first)]
    words = _words(frame, names)
    first_word = next(words, None)
    if first_word is None:
        return np.arange(frame.height)
    order = np.argsort(first_word)  # by SIMD, in a third of the time that polars takes
    places, starts = _ties(first_word[order])
    if not len(places):
        return order
    rows = order[places]
    is_short = len(rows) < FEW_TIES * frame.height  # then the other words are made for these rows only
    others = list(_words(frame[rows], names)) if is_short else [word[rows] for word in words]
    if others:
        order[places] = rows[np.lexsort([*reversed(others), starts])]
    return order


def published_order(frame: pl.DataFrame, order: Order, secret: Secret, *, first: Sequence[str] = ()) -> IntArray | None:
    """The rows of a release in the order in which they are published; None: as they are.

    Rows are sorted before they are drawn, so that the same secret gives the same release for any input order.
    """
    if order is Order.KEEP:
        return None
    rows = content_order(frame, first)
    return rows if order is Order.CONTENT else rows[random_order(len(rows), secret)]


def random_order(n_rows: int, secret: Secret) -> IntArray:
    """A permutation that only the secret tells; of rows in the order of their content, it is the same for any input."""
    return secret.order("order", n_rows)


def plain_text(series: pl.Series) -> pl.Series:
    """Categories as an Enum of the values that occur, sorted: others, and their order, would tell of the input."""
    if not isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series
    values = series.unique().cast(pl.String).drop_nulls().sort()
    return series.cast(pl.String).cast(pl.Enum(values)) if len(values) else series.cast(pl.String)


def sortable(numbers: FloatArray) -> Words:
    """Whole numbers in the order of decimal ones, in which -0.0 comes before 0.0."""
    bits = np.ascontiguousarray(numbers, np.float64).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


# Packing --------------------------------------------------------------------------------------------------------------

Numbers = NDArray[np.unsignedinteger[Any]]
Field = tuple[Numbers, int]  # numbers of rows, and how many bits they have


def _words(frame: pl.DataFrame, names: Sequence[str]) -> Iterator[Words]:
    """Words of 64 bits that sort rows as their cells do, from the first word on, each made when it is asked for."""
    return _packed((field for name in names for field in _fields(frame[name])), frame.height)


def _fields(series: pl.Series) -> Iterator[Field]:
    """Numbers that sort rows as the cells of a column do, with as few bits as they need."""
    if series.null_count():
        if series.null_count() == len(series):
            return
        yield series.is_not_null().cast(pl.UInt64).to_numpy(), 1
        series = series.fill_null(series.drop_nulls()[0])
    n_letters = _n_letters(series)
    yield from map(_narrowed, _letters(series, n_letters) if n_letters else [_numbers(series)])


def _narrowed(numbers: Numbers) -> Field:
    least = numbers.min(initial=np.iinfo(numbers.dtype).max)
    return numbers - least if least else numbers, int(numbers.max(initial=least) - least).bit_length()


def _n_letters(series: pl.Series) -> int:
    """Bytes of the longest of many short texts, most of which differ; 0 for other columns.

    Places among the sorted texts need fewer bits, and take longer to find the more of them there are.
    """
    if series.dtype != pl.String or len(series) < MANY_TEXTS:
        return 0
    longest = int(series.str.len_bytes().max())  # type: ignore[arg-type]  # a number
    is_short = longest <= SHORT_TEXT and series.head(MANY_TEXTS).n_unique() >= MANY_TEXTS // 2
    return longest if is_short else 0


def _letters(series: pl.Series, longest: int) -> Iterator[Numbers]:
    """Texts as eight bytes after the other and their length, each made when it is asked for."""
    for begin in range(0, longest, 8):
        # a character has a byte at least, so that every text fills its words
        padded = pl.lit(series).str.pad_end(begin + 8, "\0").cast(pl.Binary)
        words = padded.bin.slice(begin, 8).bin.reinterpret(dtype=pl.UInt64, endianness="big")
        yield pl.select(words).to_series().to_numpy()
    yield series.str.len_bytes().to_numpy()  # tells texts apart that end in characters of code 0


def _numbers(series: pl.Series) -> Numbers:
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return _ranks(series)
    if series.dtype == pl.String:
        return series.cast(pl.Enum(series.unique().sort())).to_physical().to_numpy()
    if series.dtype.is_float():
        return sortable(series.cast(pl.Float64).to_numpy())
    if series.dtype.is_unsigned_integer():
        return series.to_numpy().astype(np.uint64)
    physical = series.cast(pl.Int64) if series.dtype == pl.Boolean else series.to_physical().cast(pl.Int64)
    return physical.to_numpy().view(np.uint64) ^ _SIGN


def _ranks(series: pl.Series) -> Numbers:
    """Places of texts among the sorted ones that occur."""
    is_sorted = isinstance(series.dtype, pl.Enum) and series.dtype.categories.is_sorted()
    return (series if is_sorted else plain_text(series)).to_physical().to_numpy()


def _packed(fields: Iterable[Field], n_rows: int) -> Iterator[Words]:
    """All fields one after the other, in words of 64 bits."""
    part: Words | None = None  # one for all fields: new memory costs more than the work
    word, free = None, 0
    for numbers, width in fields:
        left = width
        while left:
            if word is None:
                word, free = np.zeros(n_rows, np.uint64), 64
            part = np.empty(n_rows, np.uint64) if part is None else part
            taken = min(free, left)
            np.right_shift(numbers, np.uint64(left - taken), out=part, dtype=np.uint64)
            if left < width and taken < 64:
                part &= np.uint64((1 << taken) - 1)
            part <<= np.uint64(free - taken)
            word |= part
            free, left = free - taken, left - taken
            if not free:
                yield word
                word = None
    if word is not None:
        yield word


def _ties(word: Words) -> tuple[IntArray, IntArray]:
    """Places of a sorted word that others tie with, and a number for those who tie with each other."""
    starts = np.ones(len(word), bool)
    starts[1:] = word[1:] != word[:-1]
    is_tied = ~starts
    is_tied[:-1] |= ~starts[1:]
    places = np.flatnonzero(is_tied)
    return places, np.cumsum(starts)[places]
