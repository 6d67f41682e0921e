"""Roles: what a column probably means for privacy, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tablecloak.arrays import IntArray
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Codes, Column
from tablecloak.profile.detector import Detection, detect, percent

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
    reading: Mapping[str, str | int] = field(default_factory=dict)  # keys of a policy that make a file read rightly


def advise(column: Column, detection: Detection | None) -> Advice:
    """The suggested role of a column by itself; the first rule that applies decides.

    What is not understood is never suggested to be published as it is: it is generalised, or left out where single
    values stand for single people.
    """
    advice = next(advice for rule in _RULES if (advice := rule(column, detection)))
    advice = replace(advice, reading={**column.reading, **advice.reading})
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
# Detectors whose columns are numbers of something, or that have not been recognized at all.
KEY_DETECTORS = (None, "record-number")
# Columns with fewer values than this share of the rows are categories, not keys.
MANY_VALUES = 0.02
# Below this many rows that repeat a value, agreement is chance.
ENOUGH_REPEATS = 20
# How much more than by chance rows of one value agree on another column, from 0 to 1.
AGREES = 0.9
# Of one column that agrees, with at least this many values, no other evidence is needed.
TELLING_VALUES = 10
# What a key decides has fewer values than it; amounts that follow from an amount have as many.
COARSER = 0.5
MOST_ROWS = 200_000


@dataclass(frozen=True, slots=True)
class RepeatedKey:
    """A column whose values repeat, and the columns on which rows of one value agree."""

    name: str
    n_values: int
    agreeing: tuple[str, ...]


def repeated_keys(columns: Mapping[str, Column], codes: Mapping[str, Codes]) -> list[RepeatedKey]:
    """The columns that repeat like keys of persons or households, the one with the most values first.

    Rows of one value agree on other columns far more often than rows of different values do. For the rows that repeat a
    value, the share that brings no new combination with another column is compared with what chance gives.
    """
    n_rows = len(next(iter(codes.values()), ()))
    if n_rows > MOST_ROWS:  # whole keys, so that their rows stay together, would need a sort: the first rows do
        codes = {name: of_column[:MOST_ROWS] for name, of_column in codes.items()}
        n_rows = MOST_ROWS
    sizes = {name: class_sizes([of_column]) for name, of_column in codes.items()}
    evidence = [
        RepeatedKey(name, len(sizes[name]), _agreeing(name, codes, sizes))
        for name in columns
        if _may_be_key(sizes[name], n_rows)
    ]
    keys = [key for key in evidence if _is_enough(key, sizes)]
    return sorted(keys, key=lambda key: -key.n_values)


def _may_be_key(sizes: IntArray, n_rows: int) -> bool:
    n_values = len(sizes)
    return n_values >= MANY_VALUES * n_rows and n_rows - n_values >= max(ENOUGH_REPEATS, 0.01 * n_rows)


def _is_enough(key: RepeatedKey, sizes: Mapping[str, IntArray]) -> bool:
    return len(key.agreeing) > 1 or any(len(sizes[name]) >= TELLING_VALUES for name in key.agreeing)


def _agreeing(key: str, codes: Mapping[str, Codes], sizes: Mapping[str, IntArray]) -> tuple[str, ...]:
    n_rows, n_keys = len(codes[key]), len(sizes[key])
    agreeing = []
    for other, of_other in codes.items():
        if other == key or not 1 < len(sizes[other]) <= COARSER * n_keys:
            continue
        by_chance = float(((sizes[other] / n_rows) ** 2).sum())
        n_new = len(class_sizes([codes[key], of_other])) - n_keys
        agreement = 1 - n_new / (n_rows - n_keys)
        if agreement - by_chance >= AGREES * (1 - by_chance):
            agreeing.append(other)
    return tuple(agreeing)
