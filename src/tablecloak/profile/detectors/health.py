"""Health."""

from __future__ import annotations

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector

WORDS = (
    "diagnosis", "diagnoses", "disease", "illness", "condition", "symptom", "symptoms", "medication", "drug",
    "treatment", "therapy", "allergy", "allergies", "hiv", "cancer", "disability", "pregnant", "procedure",
    "disorder", "bmi",
)  # fmt: skip


@detector("health")
def health(column: Column) -> Match | None:
    """Health: diagnoses, treatments and the like, by words of the header."""
    if not column.named(WORDS):
        return None
    kind = "category" if column.type in (ColumnType.TEXT, ColumnType.BOOLEAN) else "number"
    return Match(kind, Role.SENSITIVE, "medical vocabulary", 0.6)
