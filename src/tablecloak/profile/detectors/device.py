"""Devices and vehicles."""

from __future__ import annotations

import re

from tablecloak.profile.detector import Column, Match, Role, detector

_MAC = re.compile(r"[0-9A-Fa-f]{2}([:-])([0-9A-Fa-f]{2}\1){4}[0-9A-Fa-f]{2}").fullmatch


@detector("device")
def device(column: Column) -> Match | None:
    """Numbers of devices and vehicles: MAC addresses, or a header that says so."""
    if not column.is_code:
        return None
    if column.share(_MAC) >= 0.8:
        return Match("MAC address", Role.IDENTIFIER, "names one device", 0.95)
    if column.says("device") and column.distinct_share > 0.2:
        return Match("device or vehicle number", Role.IDENTIFIER, "names one device", 0.6)
    return None
