"""Algorithms: each searches a coded table for a recoding that satisfies any goal it accepts.

Every class can be imported from here by its name: `from tablecloak.algorithms import Mondrian`; it is loaded then.
"""

from __future__ import annotations

from typing import Any

from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.registry import by_class, class_names

__all__ = ["Algorithm", "Problem", "Solution"]


def __getattr__(name: str) -> Any:
    return by_class("algorithms", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *class_names("algorithms")])
