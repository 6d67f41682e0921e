"""Keys: columns that number persons, households or groups, whose values repeat.

Evidence is what the header says, and how rows of one value go together: they agree on other columns far more often than
by chance, they stand together, or they are a row for every wave of a panel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.data.header_words import says_nothing
from tablecloak.data.table import ColumnType
from tablecloak.profile.column import SEVERAL, Codes, Column

# Columns with fewer values than this share of the rows are categories, not keys.
MANY_VALUES = 0.02
# Below this many rows that repeat a value, agreement is chance.
ENOUGH_REPEATS = 20
# How much more than by chance rows of one value agree on another column, from 0 to 1.
AGREES = 0.9
# All values agree by chance with a probability of e to the power of minus this, at most.
BEYOND_CHANCE = 7.0
# On what stays the same over a lifetime, rows of one person differ by mistake only.
DIFFERS = 0.5
# Of one column that agrees, with at least this many values, no other evidence is needed.
TELLING_VALUES = 10
# What a key decides has fewer values than it; amounts that follow from an amount have as many.
COARSER = 0.5
MOST_ROWS = 200_000
# A header that says person, or rows for the waves of a panel, need so many values.
FEWEST_PERSONS = 10
# Of all pairs of a person and a wave, so many are there in a panel.
WHOLE_PANEL = 0.8
MOST_WAVES = 30
# More rows on average are no household.
HOUSEHOLD = 10
# Numbers of which there are more are no ages or years; where rows of one stand together, the table is sorted by a key.
MANY_NUMBERS = 100
CODED = 0.9
# Texts as P017 number something, if there are so many.
MANY_CODES = 20
_CODED = re.compile(r"[^\W\d_]{1,12}[-_. /]?\d{1,12}").fullmatch


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A column whose values repeat, and what speaks for its being a key."""

    name: str
    n_values: int
    n_rows: int
    why: str
    is_group: bool  # of several people: rows of one value differ on what stays the same for a person, or it says so
    is_said: bool  # by its header
    is_in_blocks: bool
    is_agreeing: bool  # by its rows, not only by its header or its order

    @property
    def is_household(self) -> bool:
        return self.is_group and self.n_rows <= HOUSEHOLD * self.n_values


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of a table as far as keys need them."""

    columns: Mapping[str, Column]
    codes: Mapping[str, Codes]
    sizes: Mapping[str, IntArray]  # of the values of each column
    n_rows: int

    def agreement(self, key: str, other: str) -> float:
        """How far two rows of one value agree on another column, on average over values: 0 as by chance, 1 always.

        It is 0 also where there are too few values with several rows to tell it from chance.
        """
        is_present = self.codes[key] > 0
        keys, others = self.codes[key][is_present].astype(np.int64), self.codes[other][is_present].astype(np.int64)
        n_of_key = np.bincount(keys)
        cells, of_cell = np.unique(keys * (int(others.max(initial=0)) + 1) + others, return_counts=True)
        key_of_cell = cells // (int(others.max(initial=0)) + 1)
        pairs = np.bincount(key_of_cell, weights=of_cell * (of_cell - 1.0), minlength=len(n_of_key))
        is_repeated = n_of_key > 1
        by_chance = float(((np.bincount(others) / max(1, len(others))) ** 2).sum())
        if not 0 < by_chance < 1 or -is_repeated.sum() * np.log(by_chance) < BEYOND_CHANCE:
            return 0.0
        n = n_of_key[is_repeated].astype(np.float64)
        within = float((pairs[is_repeated] / (n * (n - 1))).mean())
        return (within - by_chance) / (1 - by_chance)


def repeated_keys(columns: Mapping[str, Column], codes: Mapping[str, Codes]) -> list[RepeatedKey]:
    """The columns that repeat like keys, those of persons first, then those whose rows stand together, then by size."""
    n_rows = len(next(iter(codes.values()), ()))
    if n_rows > MOST_ROWS:  # whole keys, so that their rows stay together, would need a sort: the first rows do
        codes = {name: of_column[:MOST_ROWS] for name, of_column in codes.items()}
        n_rows = MOST_ROWS
    rows = _Rows(columns, codes, {name: class_sizes([each]) for name, each in codes.items()}, n_rows)
    keys = [key for name in columns if _may_be_key(rows, name) and (key := _key(rows, name))]
    return sorted(keys, key=lambda key: (key.is_group, not key.is_said, not key.is_in_blocks, -key.n_values))


def is_one_to_one(one: Codes, other: Codes) -> bool:
    """Whether each value of a column goes with one value of another and the other way round."""
    n_pairs = len(class_sizes([one, other]))
    return n_pairs == len(class_sizes([one])) == len(class_sizes([other]))


def share_of_one(texts: Codes, persons: Codes) -> float:
    """Of the persons, those who have a value that no other person has."""
    pairs = np.unique(np.stack([texts.astype(np.int64), persons.astype(np.int64)]), axis=1)
    of_text = np.bincount(pairs[0])
    alone = pairs[1][of_text[pairs[0]] == 1]
    return len(np.unique(alone)) / max(1, len(np.unique(pairs[1])))


def _may_be_key(rows: _Rows, name: str) -> bool:
    n_values = len(rows.sizes[name])
    is_panel_sized = n_values >= max(FEWEST_PERSONS, MANY_VALUES * rows.n_rows)
    return is_panel_sized and rows.n_rows - n_values >= max(ENOUGH_REPEATS, 0.01 * rows.n_rows)


def _key(rows: _Rows, name: str) -> RepeatedKey | None:
    column, n_values = rows.columns[name], len(rows.sizes[name])
    agreeing = tuple(
        other
        for other in rows.codes
        if other != name and 1 < len(rows.sizes[other]) <= COARSER * n_values and rows.agreement(name, other) >= AGREES
    )
    says_group = column.says("household") or column.says("group")
    says_person = any(column.says(kind) for kind in ("person", "record-number", "numbered"))
    is_said = (says_person or column.says("household")) and column.is_code
    why = _evidence(rows, column, agreeing, is_said=is_said)
    if why is None:
        return None
    lasting = [other for other in rows.codes if other != name and _is_lasting(rows, other)]
    differs = any(rows.agreement(name, other) < DIFFERS for other in lasting)
    is_group = (says_group and not says_person) or (differs and not column.says("person"))
    return RepeatedKey(name, n_values, rows.n_rows, why, is_group, is_said, column.is_in_blocks, bool(agreeing))


def _is_lasting(rows: _Rows, name: str) -> bool:
    return rows.columns[name].says("lasting") and len(rows.sizes[name]) > 1


def _evidence(rows: _Rows, column: Column, agreeing: tuple[str, ...], *, is_said: bool) -> str | None:
    """Why a column is a key, or nothing."""
    n_values = len(rows.sizes[column.name])
    is_telling = any(len(rows.sizes[name]) >= TELLING_VALUES for name in agreeing)
    is_telling = is_telling and n_values > MANY_NUMBERS
    if len(agreeing) > 1 or is_telling or (agreeing and column.is_in_blocks):
        return f"its rows agree on {', '.join(agreeing[:3])}"
    if column.is_code and (wave := _wave(rows, column.name)):
        return f"it has one row for each {wave}"
    is_sorted = column.is_in_blocks and n_values > (MANY_CODES if says_nothing(column.name) else MANY_NUMBERS)
    if column.is_code and is_sorted:
        return "rows of one value stand together"
    if column.type is ColumnType.TEXT and n_values >= MANY_CODES and column.share(_CODED) >= CODED:
        return "its texts are numbered"
    if is_said and rows.n_rows >= SEVERAL * n_values:
        return "its header says whose rows they are"
    return None


def _wave(rows: _Rows, name: str) -> str | None:
    """Columns of which nearly every value stands once beside every value of the key: sites and waves of a panel."""
    n_values = len(rows.sizes[name])
    few = [
        other
        for other, sizes in rows.sizes.items()
        if other != name and rows.columns[other].is_code and 2 <= len(sizes) < n_values
    ]
    for waves in [*combinations(few, 1), *combinations(few[:MOST_WAVES], 2)]:
        n_cells = n_values * math.prod(len(rows.sizes[wave]) for wave in waves)
        if not WHOLE_PANEL * n_cells <= rows.n_rows <= n_cells:
            continue
        if len(class_sizes([rows.codes[each] for each in (name, *waves)])) == rows.n_rows:
            return " and ".join(waves)
    return None


def is_key_type(column: Column) -> bool:
    """Whether a column can say whose a row is: texts and whole numbers, no measured ones."""
    return column.type is ColumnType.TEXT or column.is_whole
