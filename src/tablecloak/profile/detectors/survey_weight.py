"""Weights of a survey."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector


@detector("survey-weight")
def survey_weight(column: Column) -> Match | None:
    """Sampling weights and expansion factors, by words of the header."""
    if not column.is_number or not column.says("survey-weight"):
        return None
    if column.singles_out:
        # a weight is outside the goals, and with the quasi-identifiers it would single people out
        return Match("survey weight", Role.SENSITIVE, "exact weights single people out", 0.7)
    return Match("survey weight", Role.WEIGHT, "how many people a record stands for", 0.7)
