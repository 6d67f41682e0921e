"""Postal codes."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, Match, Role, detector

_US = re.compile(r"\d{5}(-\d{4})?").fullmatch
_ANY = re.compile(r"[A-Za-z0-9][A-Za-z0-9 -]{1,9}").fullmatch
COUNTRIES = (
    ("UK postcode", re.compile(r"[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}").fullmatch),
    ("Canadian postal code", re.compile(r"[A-CEGHJ-NPR-TVXY]\d[A-Z] ?\d[A-Z]\d").fullmatch),
    ("Dutch postcode", re.compile(r"[1-9]\d{3} ?[A-Z]{2}").fullmatch),
    ("Polish postcode", re.compile(r"\d{2}-\d{3}").fullmatch),
    ("Portuguese postcode", re.compile(r"\d{4}-\d{3}").fullmatch),
    ("Brazilian postcode", re.compile(r"\d{5}-\d{3}").fullmatch),
)


@detector("postcode")
def postcode(column: Column) -> Match | None:
    """Postal codes: a telling header, or the pattern of a country whose codes look like nothing else."""
    if not column.is_code:
        return None
    reason = "where a person lives is widely known"
    for name, pattern in COUNTRIES:
        if column.share(pattern) >= 0.9:
            return Match(name, Role.QUASI, reason, 0.85)
    if not column.says("postcode") or column.share(_ANY) < 0.8:
        return None
    is_us = column.named(("zip", "zipcode")) and column.share(_US) >= 0.8
    return Match("US ZIP" if is_us else "postal code", Role.QUASI, reason, 0.85)
