"""Roles: what a column probably means for privacy, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Codes, Column
from tablecloak.profile.detector import Detection, detect, percent
from tablecloak.profile.keys import KEY_DETECTORS, RepeatedKey, repeated_keys

__all__ = ["UNKNOWN_NUMBER", "Advice", "advise", "advise_all"]

# Below this many rows it says nothing that all values differ.
ENOUGH_ROWS = 20
# A number with no more different values than this is a category others may know.
FEW_NUMBERS = 100
# What a number looks like that is left out because its values stand for single people.
UNKNOWN_NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Advice:
    """A suggested role."""

    role: Role
    reason: str
    looks_like: str
    detector: str | None = None
    reading: Mapping[str, str] = field(default_factory=dict)  # keys of a policy that make a file read rightly


def advise(column: Column, detection: Detection | None) -> Advice:
    """The suggested role of a column by itself; the first rule that applies decides.

    What is not understood is never suggested to be published as it is: it is generalised, or left out where single
    values stand for single people.
    """
    advice = next(advice for rule in _RULES if (advice := rule(column, detection)))
    if advice.role is Role.IDENTIFIER and column.is_unique and "unique" not in advice.reason:
        return replace(advice, reason=f"unique, {advice.reason}")
    return advice


def advise_all(columns: Mapping[str, Column], codes: Mapping[str, Codes]) -> dict[str, Advice]:
    """The suggested role of every column, by itself and by how its rows go together with others."""
    advice = {name: advise(column, detect(column)) for name, column in columns.items()}
    person: RepeatedKey | None = None
    for key in repeated_keys(columns, codes):
        column, own = columns[key.name], advice[key.name]
        if own.detector not in KEY_DETECTORS and own.role is not Role.IDENTIFIER:
            continue  # it has a meaning of its own, as a postcode that decides the city
        rows = f"its rows agree on {', '.join(key.agreeing[:3])}"
        if person is None and (column.is_whole or column.type is ColumnType.TEXT):
            person = key
            why = f"{key.n_values:,} values that repeat; {rows}: several rows of one person"
            advice[key.name] = Advice(Role.PERSON, why, "key of persons", own.detector)
        elif key.n_values > FEW_NUMBERS and own.role not in (Role.IDENTIFIER, Role.DROP):
            why = f"repeats like a key of persons or households; {rows}"
            advice[key.name] = Advice(Role.DROP, why, "key with repeats", own.detector)
    return advice


def _empty(column: Column, detection: Detection | None) -> Advice | None:  # noqa: ARG001
    if column.n_distinct > 1:
        return None
    if column.n_distinct == 0:
        return Advice(Role.DROP, "every cell is empty", "empty")
    if column.n_missing:
        return Advice(Role.QUASI, "one value, or nothing", "yes or nothing")
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
    if column.n_distinct > FEW_NUMBERS and column.singles_out:
        share = percent(column.n_alone / column.n_rows)
        why = f"{share} of records have a value of their own; sensitive with a goal, or quasi, would publish it"
        return Advice(Role.DROP, why, UNKNOWN_NUMBER)
    return Advice(Role.QUASI, f"{column.n_distinct:,} numbers that others may know", "number")


def _of(detection: Detection) -> Advice:
    match = detection.match
    return Advice(match.role, match.reason, match.looks_like, detection.detector, match.reading)


_Rule = Callable[[Column, Detection | None], Advice | None]
_RULES: tuple[_Rule, ...] = (_empty, _direct, _unique, _detected, _by_type)
