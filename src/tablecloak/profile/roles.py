"""Roles: what a column probably means for privacy, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import Detection

__all__ = ["Advice", "advise"]

# Below this many rows it says nothing that all values differ.
ENOUGH_ROWS = 20
# A number with no more different values than this is a category others may know.
FEW_NUMBERS = 100


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggested role."""

    role: Role
    reason: str
    looks_like: str
    detector: str | None = None


def advise(column: Column, detection: Detection | None) -> Advice:
    """The suggested role of a column; the first rule that applies decides."""
    found = next(advice for rule in _RULES if (advice := rule(column, detection)))
    if found.role is Role.IDENTIFIER and column.is_unique and "unique" not in found.reason:
        return Advice(found.role, f"unique, {found.reason}", found.looks_like, found.detector)
    return found


def _empty(column: Column, detection: Detection | None) -> Advice | None:  # noqa: ARG001
    if column.n_distinct > 1:
        return None
    if column.n_distinct == 0:
        return Advice(Role.DROP, "every cell is empty", "empty")
    return Advice(Role.KEEP, "the same value everywhere", "constant")


def _direct(column: Column, detection: Detection | None) -> Advice | None:  # noqa: ARG001
    return _of(detection) if detection and detection.match.role in (Role.IDENTIFIER, Role.DROP) else None


def _unique(column: Column, detection: Detection | None) -> Advice | None:
    if detection or column.n_present < ENOUGH_ROWS:
        return None
    if column.type is ColumnType.TEXT and column.is_near_unique:
        return Advice(Role.IDENTIFIER, "unique" if column.is_unique else "near unique", "text")
    if column.type is ColumnType.INTEGER and column.is_unique:
        return Advice(Role.IDENTIFIER, "unique", "record number")
    return None


def _detected(column: Column, detection: Detection | None) -> Advice | None:  # noqa: ARG001
    return _of(detection) if detection else None


def _by_type(column: Column, detection: Detection | None) -> Advice:  # noqa: ARG001
    if column.type is ColumnType.BOOLEAN:
        return Advice(Role.QUASI, "others may know it", "yes or no")
    if column.type is ColumnType.TEXT:
        return Advice(Role.QUASI, f"{column.n_distinct:,} values that others may know", "category")
    if column.type is ColumnType.INTEGER and column.n_distinct <= FEW_NUMBERS:
        return Advice(Role.QUASI, f"{column.n_distinct:,} numbers that others may know", "number")
    return Advice(Role.KEEP, "a measurement; use quasi if others may know it", "number")


def _of(detection: Detection) -> Advice:
    return Advice(detection.match.role, detection.match.reason, detection.match.looks_like, detection.detector)


_Rule = Callable[[Column, Detection | None], Advice | None]
_RULES: tuple[_Rule, ...] = (_empty, _direct, _unique, _detected, _by_type)
