"""Amounts as people write them: memory in bytes, times in seconds, and shares of a number of things."""

from __future__ import annotations

import re
from fractions import Fraction

from tablecloak.errors import PolicyError

UNITS = ("", "K", "M", "G", "T")
SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


def most_of(n: int, share: float) -> int:
    """The largest whole number that is at most a share of `n`, for the share as it was written.

    0.29 as a float is a little less than 29 hundredths, so that `int(0.29 * 100)` is 28; the shortest decimal that
    reads back as the float is what somebody wrote, and is counted with exactly.

    >>> most_of(100, 0.29)
    29
    """
    return int(Fraction(repr(float(share))) * n)


def parse_bytes(text: str | int) -> int:
    """Bytes from a number or a text such as 8GB or 512M."""
    if isinstance(text, int):
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", text, re.IGNORECASE)
    if match is None:
        raise PolicyError(f"--memory {text} is not an amount", hint="write --memory 8GB")
    base = 1024 if match[3] else 1000
    return int(float(match[1]) * base ** UNITS.index(match[2].upper()))


def parse_seconds(text: str, option: str) -> float:
    """Seconds from a text such as 500ms, 30s, 2min or 1.5h.

    >>> parse_seconds("2 min", "--budget")
    120.0
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h)\s*", text, re.IGNORECASE)
    seconds = float(match[1]) * SECONDS[match[2].lower()] if match else 0.0
    if not seconds:
        raise PolicyError(f"{option} {text} is not a time", hint=f"write {option} 30s, 500ms, 2min or 1h")
    return seconds


def show_seconds(seconds: float) -> str:
    """A time in about two digits.

    >>> show_seconds(8.31), show_seconds(600), show_seconds(54_000), show_seconds(1_000_000)
    ('8.3 s', '10 min', '15 h', '12 days')
    """
    for unit, size, next_size in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < next_size:
            return f"{seconds / size:.2g} {unit}" if seconds / size < 100 else f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:,.0f} days"


def show_bytes(n_bytes: int) -> str:
    """A size in few digits."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes / 1000:.3g} kB"


def show_size(n_bytes: float) -> str:
    """A size in whole units, for people who look at a file or at memory.

    >>> show_size(999), show_size(41_500_000), show_size(2_500_000_000)
    ('999 B', '42 MB', '2.5 GB')
    """
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} GB"


def show_amount(amount: float) -> str:
    """An expected number of records or a chance, in about four digits.

    >>> show_amount(51_943.7), show_amount(547.62), show_amount(0.01991)
    ('51,944', '547.6', '0.01991')
    """
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:.4g}"
