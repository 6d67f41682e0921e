"""US social security numbers."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, Match, Role, detector, percent

_DASHED = re.compile(r"\d{3}-\d{2}-\d{4}").fullmatch
_PLAIN = re.compile(r"\d{3}-?\d{2}-?\d{4}").fullmatch
# The Social Security Administration never issues area 000, 666 or 9xx, group 00 or serial 0000.
_ISSUABLE = re.compile(r"(?!000|666|9)\d{3}-?(?!00)\d{2}-?(?!0000)\d{4}").fullmatch


@detector("ssn")
def ssn(column: Column) -> Match | None:
    """US social security numbers: the dashed pattern, or nine digits under a telling header."""
    if not column.is_code:
        return None
    if column.share(_PLAIN if column.says("ssn") else _DASHED) < 0.8:
        return None
    return Match(f"US SSN ({_issued(column.share(_ISSUABLE))})", Role.IDENTIFIER, "names one person", 0.95)


def _issued(share: float) -> str:
    if share == 0:
        return "none ever issued"
    return "valid" if share == 1 else f"{percent(share)} valid"
