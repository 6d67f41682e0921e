"""Diagnosis codes."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent

WORDS = ("icd", "cause", "causa", "ursache", "code")
_CODE = re.compile(r"[A-Z]\d[0-9AB](\.?[0-9A-Z]{1,4})?").fullmatch
_DOTTED = re.compile(r"[A-Z]\d[0-9AB]\.[0-9A-Z]{1,4}").fullmatch


@detector("icd")
def icd(column: Column) -> Match | None:
    """ICD-10 diagnosis codes: the dotted pattern, or the pattern under a telling header."""
    if column.type is not ColumnType.TEXT:
        return None
    share = column.share(_CODE)
    if share < 0.8 or not ((column.says("health") or column.named(WORDS)) or column.share(_DOTTED) >= 0.5):
        return None
    return Match(f"ICD code ({percent(share)})", Role.SENSITIVE, "a diagnosis", 0.9)
