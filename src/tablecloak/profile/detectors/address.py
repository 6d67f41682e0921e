"""Street addresses."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

FEW = 20
_NUMBERED = re.compile(r".*\d.*[^\W\d_]{2,}.*|.*[^\W\d_]{2,}.*\d.*").fullmatch


@detector("address")
def address(column: Column) -> Match | None:
    """Street addresses: a header that says so over text with words and numbers."""
    if column.type is not ColumnType.TEXT or not column.says("address"):
        return None
    is_numbered = column.share(_NUMBERED) >= 0.5
    if column.n_rows and not is_numbered and column.n_distinct <= FEW:
        return None  # some ways, as those of taking a drug
    return Match("street address" if is_numbered else "street", Role.IDENTIFIER, "leads to one household", 0.7)
