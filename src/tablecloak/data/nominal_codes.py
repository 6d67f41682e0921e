"""Whole numbers that are codes: they name something, so that an interval of them means nothing."""

from __future__ import annotations

from itertools import pairwise

import polars as pl

from tablecloak.data.header_words import says
from tablecloak.data.table import ColumnType

MOST_CODES = 200  # different values
MOST_ANSWERS = 12  # of a question whose last codes say that there is no answer
# Last codes of questions: does not know, refused, no answer.
NO_ANSWER = frozenset({7, 8, 9, 97, 98, 99, 997, 998, 999})


def are_codes(distinct: pl.Series, column_type: ColumnType) -> bool:
    """Whether whole numbers are codes, by the name of their column or by the last of them.

    The values are few. The header names something without an order, such as a region or an occupation; or the values
    count on from 0 or 1 and end, after a gap, with codes that say there is no answer: 1, 2, 3, 4, 9.

    Args:
        distinct: the different values of the column, the missing one perhaps among them.
    """
    values = distinct.drop_nulls()
    if column_type is not ColumnType.INTEGER or not 2 <= len(values) <= MOST_CODES:
        return False
    return says(distinct.name, "nominal") or _end_without_answer(sorted(values.to_list()))


def _end_without_answer(values: list[int]) -> bool:
    """Whether values are answers 1, 2, 3, .. and, after a gap, codes for the lack of one."""
    gaps = (i for i, (a, b) in enumerate(pairwise(values), start=1) if b != a + 1)
    n_answers = next(gaps, len(values))
    rest = values[n_answers:]
    is_end = bool(rest) and rest[-1] in (9, 99, 999) and NO_ANSWER.issuperset(rest)
    return len(values) <= MOST_ANSWERS and values[0] in (0, 1) and n_answers > 1 and is_end
