"""Amounts and measurements."""

from __future__ import annotations

from tablecloak.data.table import Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import Match, detector

WORDS = (
    "cost",
    "costs",
    "price",
    "amount",
    "charge",
    "charges",
    "total",
    "score",
    "measurement",
    "value",
    "rate",
    "quantity",
)


@detector("amount")
def amount(column: Column) -> Match | None:
    """Amounts and measurements that outsiders rarely know, by words of the header."""
    if not column.is_number or not column.named(WORDS):
        return None
    return Match("number", Role.KEEP, "outsiders rarely know it; use quasi if they may", 0.5)
