"""Header repair: names for columns whose header is missing, doubled, empty, too long or full of quotes.

Nothing is repaired unless `input.repair` asks for it, and what is repaired says why, so that it can be shown before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

# Longer names are cut: no table shows them, and some databases refuse them.
LONGEST_NAME = 63
REPAIR_HINT = "say input.repair: true (without a policy: --repair; `inspect` then shows the names and why)"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that was repaired: in words that contain no cell, and the name it led to."""

    reason: str
    column: int | None = None  # from 1; None: it is about the file
    name: str | None = None  # that the column has now

    def to_dict(self) -> dict[str, str | int | None]:
        return {"column": self.column, "name": self.name, "reason": self.reason}


def left_out_above(n: int, what: str) -> tuple[Repair, ...]:
    """What was repaired where lines or rows stand above the table."""
    return (Repair(f"{n} {what}{'s' * (n > 1)} above the table left out"),) if n else ()


@dataclass(frozen=True, slots=True)
class Header:
    """Names of columns, and which of them were repaired."""

    names: tuple[str, ...]
    repairs: tuple[Repair, ...] = ()


def made_names(n_columns: int) -> tuple[str, ...]:
    """Names for columns that have none: column_1, column_2, ..."""
    return tuple(f"column_{number}" for number in range(1, n_columns + 1))


def repaired_names(written: Sequence[str]) -> Header:
    """Names that are there, differ, fit a line and have no quotes or line ends in them.

    >>> repaired_names(["age", "", "age", "'sex'"]).names
    ('age', 'column_2', 'age_2', 'sex')
    """
    plain = [_plain(name) for name in written]
    # Names that stay as they are come first: age, age_2, age must not take the name of the second.
    untouched = Counter(name for name, new in zip(written, plain, strict=True) if name == new and name)
    taken, names, repairs = set(untouched), list[str](), list[Repair]()
    first = dict[str, int]()
    for number, (old, new) in enumerate(zip(written, plain, strict=True), 1):
        reasons = []
        if old != new:
            reasons.append(_why(old))
        name = new or f"column_{number}"
        if name in first or (old != name and name in taken):
            reasons.append(f"the same name as column {first[name]}" if name in first else "the name of another column")
            name = _free(name, taken)
        elif not new and not reasons:
            reasons.append("no name")
        first.setdefault(name, number)
        taken.add(name)
        names.append(name)
        if reasons:
            repairs.append(Repair(" and ".join(reasons), number, name))
    return Header(tuple(names), tuple(repairs))


def _plain(name: str) -> str:
    """The name on one line, without quotes and spaces around it, cut if it is too long."""
    text = " ".join(re.sub(r"[\x00-\x1f\x7f\u2028\u2029\ufeff]+", " ", name).split())
    text = re.sub("[\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]", "", text).strip()
    return text if len(text) <= LONGEST_NAME else text[:LONGEST_NAME].rstrip()


def _why(name: str) -> str:
    """What was wrong with a name."""
    if not _plain(name):
        return "no name" if not name.strip() else "nothing but quotes"
    if len(" ".join(name.split())) > LONGEST_NAME:
        return f"longer than {LONGEST_NAME} characters"
    if re.search(r"[\x00-\x1f\x7f\u2028\u2029]", name):
        return "a line end or control character in the name"
    if re.search("[\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb]", name):
        return "quotes in the name"
    return "spaces around the name" if name != name.strip() else "odd spaces in the name"


def _free(name: str, taken: set[str]) -> str:
    """The name with the smallest number that makes it one of its own."""
    number = 2
    while (new := f"{name[: LONGEST_NAME - len(str(number)) - 1]}_{number}") in taken:
        number += 1
    return new
