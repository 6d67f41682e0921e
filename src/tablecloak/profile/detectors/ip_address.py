"""Internet addresses of machines."""

from __future__ import annotations

import ipaddress

from tablecloak.profile.detector import Column, ColumnType, Match, Role, detector, percent


@detector("ip-address")
def ip_address(column: Column) -> Match | None:
    """IPv4 and IPv6 addresses."""
    share = column.share(_is_address) if column.type is ColumnType.TEXT else 0.0
    if share < 0.8:
        return None
    return Match(f"IP address ({percent(share)})", Role.IDENTIFIER, "leads to one household or machine", 0.95)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
