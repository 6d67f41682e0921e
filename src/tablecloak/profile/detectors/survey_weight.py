"""Weights of a survey."""

from __future__ import annotations

from tablecloak.profile.detector import Column, Match, Role, detector

WORDS = (
    "wgt", "fnlwgt", "pweight", "pweights", "sampleweight", "samplingweight", "surveyweight", "expansion",
    "hochrechnung", "hochrechnungsfaktor", "ponderation", "ponderacion",
)  # fmt: skip


@detector("survey-weight")
def survey_weight(column: Column) -> Match | None:
    """Sampling weights and expansion factors, by words of the header."""
    if not column.is_number or not (column.named(WORDS) or any(word.endswith("wgt") for word in column.words)):
        return None
    if column.singles_out:
        why = "exact weights single people out; round them until many share each, then role: weight"
        return Match("survey weight", Role.DROP, why, 0.7)
    return Match("survey weight", Role.WEIGHT, "how many people a record stands for", 0.7)
