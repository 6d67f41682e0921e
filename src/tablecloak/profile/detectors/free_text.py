"""Free text."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

FEWEST_WORDS = 5


@detector("free-text")
def free_text(column: Column) -> Match | None:
    """Free text: sentences, or a header that says so over mostly different texts."""
    if column.type is not ColumnType.TEXT:
        return None
    is_prose = column.share(lambda text: len(text.split()) >= FEWEST_WORDS) >= 0.5 and column.distinct_share > 0.2
    if not is_prose and not (column.says("free-text") and column.distinct_share > 0.2):
        return None
    return Match("free text", Role.DROP, "may say anything about anyone", 0.75 if is_prose else 0.55)
