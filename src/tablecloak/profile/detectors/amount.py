"""Amounts and measurements."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector

WORDS = (
    "cost", "costs", "price", "amount", "charge", "charges", "total", "score", "measurement", "value", "rate",
    "quantity",
)  # fmt: skip


@detector("amount")
def amount(column: Column) -> Match | None:
    """Amounts and measurements, by words of the header: exact ones single people out."""
    if not column.is_number or not column.named(WORDS):
        return None
    if column.singles_out:
        why = "exact amounts single people out; sensitive with a goal, or quasi, would publish it"
        return Match("number", Role.DROP, why, 0.5)
    return Match("number", Role.QUASI, "an amount that others may know", 0.5)
