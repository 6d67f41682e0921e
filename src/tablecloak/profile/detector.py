"""The detector seam: a detector is a function from a column to what it looks like, or None."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Column
from tablecloak.registry import known, register

# With all that a detector is written with: what it looks at, and what it says.
__all__ = ["Column", "ColumnType", "Detection", "Match", "Role", "detect", "detector", "percent"]


@dataclass(frozen=True, slots=True)
class Match:
    """What a detector says about a column, in words that contain no value of it."""

    looks_like: str
    role: Role
    reason: str
    certainty: float  # of several matches the most certain counts; 0.5 is a word of the header alone
    reading: Mapping[str, str | int] = field(default_factory=dict)  # keys of a policy that make a file read rightly


@dataclass(frozen=True, slots=True)
class Detection:
    """A match and the detector it comes from."""

    detector: str
    match: Match


Detector: TypeAlias = Callable[[Column], Match | None]


def detector(name: str) -> Callable[[Detector], Detector]:
    """Register a function as a detector; line 1 of its docstring says what it looks for."""
    return register("detectors", name)


def detect(column: Column) -> Detection | None:
    """The most certain match for a column; of equals the first by name."""
    matches = [Detection(name, match) for name, look in known("detectors").items() if (match := look(column))]
    return max(matches, key=lambda detection: detection.match.certainty, default=None)


def percent(share: float) -> str:
    """A share for people: 97%."""
    return f"{share:.0%}" if share < 0.995 or share == 1 else ">99%"
