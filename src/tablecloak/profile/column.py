"""Column: what is known of one column, and what detectors look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.domain import distinct_of
from tablecloak.data.header_words import says, words_of
from tablecloak.data.nominal_codes import are_codes
from tablecloak.data.table import ColumnType
from tablecloak.io.frames import column_type
from tablecloak.io.notation import WHOLE_FLOAT, CellEvidence, Notation, Question, Written
from tablecloak.values.cell_grammar import format_value

Codes = NDArray[np.unsignedinteger[Any]]

NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT)
# Detectors look at this many different values, spread over all of them.
SAMPLE = 1_000
NEAR_UNIQUE = 0.9
# Runs of equal neighbors over values, up to which rows of one value stand together; and rows of a value on average.
IN_BLOCKS, SEVERAL = 1.05, 1.5
# Records that stand alone on a published column, as a share of all: from here on it singles people out.
ALONE = 0.01


@dataclass(frozen=True)
class Column:
    """Counts of a column and some of its different values.

    The values are for detectors only: nothing that is shown or stored may contain them.
    """

    name: str
    type: ColumnType
    n_rows: int
    n_missing: int
    n_distinct: int  # the missing value not counted
    sample: tuple[str, ...] = field(repr=False)
    lowest: float | None = field(default=None, repr=False)  # of numbers
    highest: float | None = field(default=None, repr=False)
    mean: float | None = field(default=None, repr=False)
    years: float | None = field(default=None, repr=False)  # from the first to the last date
    n_alone: int = 0  # records whose value nobody else has
    is_whole: bool = False  # numbers without fractions, whatever their type
    notation: Notation | None = None  # how its values are written, where that is not as usual
    question: Question | None = None  # what its cells do not say about that
    is_ascending: bool = False  # from row to row
    is_in_blocks: bool = False  # rows of one value stand together, and most values have several
    is_nominal: bool = False  # whole numbers that name something

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of the name in lower case and without accents, and the name without separators."""
        return words_of(self.name)

    @cached_property
    def written(self) -> Written:
        """How the values are written: as all cells say or, where nobody looked at all, those of the sample."""
        if self.notation is not None or self.question is not None:
            return Written(self.type, self.notation, self.question)
        evidence = CellEvidence(self.name, self.type)
        evidence.add(pl.Series(self.name, self.sample, dtype=pl.String))
        return evidence.decided()

    @property
    def reading(self) -> dict[str, str | int]:
        """Keys of a policy that make its cells read rightly."""
        if self.notation is None:
            return {}
        return {"type": str(self.type), **(self.notation.keys if self.notation != WHOLE_FLOAT.notation else {})}

    @property
    def n_present(self) -> int:
        return self.n_rows - self.n_missing

    @property
    def missing_share(self) -> float:
        return self.n_missing / max(1, self.n_rows)

    @property
    def distinct_share(self) -> float:
        """Different values among the cells that are not empty."""
        return self.n_distinct / max(1, self.n_present)

    @property
    def is_unique(self) -> bool:
        return self.n_present > 1 and self.n_distinct == self.n_present

    @property
    def is_near_unique(self) -> bool:
        return self.n_present > 1 and self.distinct_share >= NEAR_UNIQUE

    @property
    def is_number(self) -> bool:
        return self.type in NUMBERS

    @property
    def is_code(self) -> bool:
        """Whether it has texts or whole numbers, as names and numbers of people are."""
        return self.type is ColumnType.TEXT or (self.is_number and self.is_whole)

    @property
    def singles_out(self) -> bool:
        """Whether publishing the column as it is would let more than one record in a hundred stand alone."""
        return self.n_alone > ALONE * self.n_rows

    def named(self, words: Iterable[str]) -> bool:
        """Whether the name contains one of the words."""
        return not self.words.isdisjoint(words)

    def says(self, kind: str) -> bool:
        """Whether the name contains a word of a kind, in one of eight languages (`header_words.toml`)."""
        return says(self.name, kind)

    def share(self, fits: Callable[[str], object], at_least: float = 0.0) -> float:
        """Share of the sampled values that fit; 0 as soon as it cannot reach `at_least`."""
        left = (1 - at_least) * len(self.sample) + 1e-9  # that may not fit
        n_wrong = 0
        for value in self.sample:
            if not fits(value):
                n_wrong += 1
                if n_wrong > left:
                    return 0.0
        return (len(self.sample) - n_wrong) / max(1, len(self.sample))


def column_of(series: pl.Series) -> tuple[Column, Codes]:
    """What is known of a column, and a number for the value of every row (0 for the missing value)."""
    distinct = distinct_of(series)
    counts = np.bincount(distinct.index, minlength=len(distinct.values))
    is_value = distinct.values.is_not_null().to_numpy() & (counts > 0)
    codes = np.where(is_value, np.cumsum(is_value), 0)
    values = distinct.values.filter(pl.Series(is_value))
    type_ = column_type(series.name, series.dtype)
    ends = (values.min(), values.max()) if type_ in NUMBERS else (None, None)
    lowest, highest = cast("tuple[float | None, float | None]", ends)
    is_whole = type_ is ColumnType.INTEGER or (type_ is ColumnType.FLOAT and bool((values % 1 == 0).all()))
    coded = distinct.recoded(codes.astype(_smallest(len(values) + 1)))
    column = Column(
        name=series.name,
        type=type_,
        n_rows=len(series),
        n_missing=series.null_count(),
        n_distinct=len(values),
        sample=_sample(values, is_whole=is_whole and bool(len(values))),
        lowest=lowest,
        highest=highest,
        mean=cast("float | None", series.mean()) if type_ in NUMBERS else None,
        years=_years(values) if type_ in (ColumnType.DATE, ColumnType.DATETIME) else None,
        is_whole=is_whole,
        is_ascending=bool((series.drop_nulls().diff().drop_nulls() > 0).all()) if type_ in NUMBERS else False,
        is_in_blocks=_is_in_blocks(coded, len(values)),
        n_alone=int((counts[is_value] == 1).sum()),
        is_nominal=are_codes(values.alias(series.name), type_),
    )
    return column, coded


def _smallest(n: int) -> type[np.unsignedinteger[Any]]:
    return np.uint8 if n <= 1 << 8 else np.uint16 if n <= 1 << 16 else np.uint32


def _sample(values: pl.Series, *, is_whole: bool) -> tuple[str, ...]:
    """Values spread over all of them, whole numbers without a point whatever their type."""
    step = max(1, len(values) // SAMPLE)
    chosen = values.gather_every(step).to_list()[:SAMPLE]
    if is_whole and values.dtype.is_float():
        chosen = [int(value) for value in chosen]
    return tuple(str(format_value(value)) for value in chosen)


def _is_in_blocks(codes: Codes, n_values: int) -> bool:
    """Whether there are hardly more runs of equal neighbors than values, and far fewer than rows."""
    present = codes[codes > 0]
    n_runs = int(np.count_nonzero(present[1:] != present[:-1])) + 1 if len(present) else 0
    return n_values > 1 and n_runs <= IN_BLOCKS * n_values and len(present) >= SEVERAL * n_values


def _years(values: pl.Series) -> float:
    days = values.cast(pl.Date).to_physical()
    return 0.0 if not len(days) else float(cast("int", days.max()) - cast("int", days.min())) / 365.25
