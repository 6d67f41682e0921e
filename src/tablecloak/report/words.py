"""Numbers and names as people write them."""

from __future__ import annotations

from collections.abc import Sequence

NONE = "–"  # in place of a value


def percent(value: float) -> str:
    """A share with one decimal, or none where it is 0."""
    return f"{value:.1%}".replace(".0%", "%")


def share(value: float | None) -> str:
    """A share with one decimal, or the sign for none."""
    return NONE if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """A number with separators, in four digits where it is small; none where there is none."""
    if value is None:
        return "none"
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1e4 else f"{value:,.0f}"


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(n: int, what: str) -> str:
    """A number of things."""
    return f"{n} {what}" + ("" if n == 1 else "s")


def capitalized(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]
