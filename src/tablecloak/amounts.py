"""Amounts of memory as people write them."""

from __future__ import annotations

import re

from tablecloak.errors import PolicyError

__all__ = ["parse_bytes", "show_bytes"]

UNITS = ("", "K", "M", "G", "T")


def parse_bytes(text: str | int) -> int:
    """Bytes from a number or a text such as 8GB or 512M."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if match is None:
        raise PolicyError(f"--memory {text} is not an amount", hint="write --memory 8GB")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** UNITS.index(match[2].upper()))


def show_bytes(n_bytes: int) -> str:
    """A size in few digits."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes / 1000:.3g} kB"
