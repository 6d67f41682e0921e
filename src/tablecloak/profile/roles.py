"""Roles: what a column probably means for privacy, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak.data.header_words import says_nothing
from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Codes, Column
from tablecloak.profile.detector import Detection, detect, percent
from tablecloak.profile.detectors.survey_weight import may_be_weight
from tablecloak.profile.keys import RepeatedKey, is_key_type, is_one_to_one, repeated_keys, share_of_one

# Below this many rows it says nothing that all values differ.
ENOUGH_ROWS = 20
# A number with no more different values than this is a category others may know.
FEW_NUMBERS = 100
# Texts with more different values than this, of which so many records have one of their own, may be names of people.
FEW_TEXTS, ALONE_ON_TEXT = 50, 0.05
# The same for texts of which the header says what they are.
ALONE_ON_KNOWN_TEXT = 0.3
# Digits of numbers that all are as long, from which on they number something.
LONG_NUMBER, VERY_LONG_NUMBER = 5, 7
# The same of codes, such as those of occupations.
CODE_LENGTH = 3
# From here on numbers are spread so unevenly that they are amounts, if there are enough to tell.
UNEVEN, ENOUGH_AMOUNTS = 0.2, 100
# What a number looks like that is published so that k records share it.
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
    if advice.role in (Role.QUASI, Role.SENSITIVE) and may_be_weight(column):
        advice = replace(advice, reason=f"{advice.reason}; may be a survey weight: set role weight")
    if advice.role is Role.IDENTIFIER and column.is_unique and "unique" not in advice.reason:
        return replace(advice, reason=f"unique, {advice.reason}")
    return advice


def advise_all(columns: Mapping[str, Column], codes: Mapping[str, Codes]) -> dict[str, Advice]:
    """The suggested role of every column, by itself and by how its rows go together with others."""
    advice = {name: advise(column, detect(column)) for name, column in columns.items()}
    keys = [key for key in repeated_keys(columns, codes) if _may_be_key(key, columns[key.name], advice[key.name])]
    person = next((key for key in keys if is_key_type(columns[key.name]) and _counts_people(key)), None)
    for key in keys:
        advice[key.name] = _of_key(key, advice[key.name], is_person=key is person)
    if person is not None:
        advice.update(_beside(person, columns, codes, advice))
    return advice


def _may_be_key(key: RepeatedKey, column: Column, own: Advice) -> bool:
    """Whether a column has no meaning of its own, as a postcode has that decides the city, and a name that recurs."""
    if own.detector in ("person-name", "given-name") and not key.is_agreeing:
        return False
    says_key = column.says("household") or column.says("group") or column.says("person")
    return own.detector in KEY_DETECTORS or own.role is Role.IDENTIFIER or (own.detector == "demographic" and says_key)


def _counts_people(key: RepeatedKey) -> bool:
    """Whether goals should count the values of a key instead of rows: those of larger groups are hardly ever k."""
    return not key.is_group or key.is_household


def _of_key(key: RepeatedKey, own: Advice, *, is_person: bool) -> Advice:
    if is_person and key.is_group:
        why = f"{key.n_values:,} values that repeat; {key.why}: a household, whose rows count as one"
        return Advice(Role.PERSON, why, "key of households", own.detector)
    if is_person:
        why = f"{key.n_values:,} values that repeat; {key.why}: several rows of one person"
        return Advice(Role.PERSON, why, "key of persons", own.detector)
    is_small = key.n_values <= FEW_NUMBERS and not (key.is_said and not key.is_group)
    if own.role in (Role.IDENTIFIER, Role.DROP) or (is_small and not key.is_household):
        return own
    whose = "groups" if key.is_group else "persons or households"
    return Advice(Role.DROP, f"repeats like a key of {whose}; {key.why}", "key with repeats", own.detector)


def _beside(
    person: RepeatedKey, columns: Mapping[str, Column], codes: Mapping[str, Codes], advice: Mapping[str, Advice]
) -> dict[str, Advice]:
    """Columns that say as much as the key of persons: another number of theirs, or texts that are one person's."""
    changed = {}
    for name, column in columns.items():
        own = advice[name]
        if name == person.name or own.detector is not None or own.role is not Role.QUASI or not column.is_code:
            continue
        is_twin = is_one_to_one(codes[person.name], codes[name])
        is_text = column.type is ColumnType.TEXT and column.n_distinct > FEW_TEXTS
        if is_twin or (is_text and share_of_one(codes[name], codes[person.name]) > ALONE_ON_TEXT):
            changed[name] = Advice(Role.DROP, f"values of single persons, as {person.name} tells", "key with repeats")
    return changed


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
    if not (column.is_number and column.is_whole):
        return None
    if column.is_near_unique and _may_number(column):
        return Advice(Role.IDENTIFIER, "unique" if column.is_unique else "near unique", "record number")
    if column.n_distinct > FEW_NUMBERS and column.singles_out and _length(column) >= VERY_LONG_NUMBER:
        return Advice(Role.IDENTIFIER, "long numbers of one length, many of which one record has", "record number")
    return None


def _length(column: Column) -> int:
    """Of numbers that all have as many digits; 0 if they have not."""
    lengths = {len(value) for value in column.sample}
    return lengths.pop() if len(lengths) == 1 else 0


def _may_number(column: Column) -> bool:
    """Whether whole numbers, nearly all of which differ, may be numbers of records.

    Amounts are not spread evenly, are of different lengths, and records are not in their order.
    """
    if (column.lowest or 0) < 0:
        return False
    if says_nothing(column.name) or column.is_ascending or column.n_present < ENOUGH_AMOUNTS:
        return True
    return _length(column) >= LONG_NUMBER or _unevenness(column) < UNEVEN


def _unevenness(column: Column) -> float:
    """How far numbers are from being spread evenly between the lowest and the highest (Kolmogorov, Smirnov), 0 to 1."""
    numbers = np.sort(np.array([float(value) for value in column.sample]))
    width = numbers[-1] - numbers[0]
    places = np.arange(len(numbers)) / max(1, len(numbers) - 1)
    return float(np.abs((numbers - numbers[0]) / width - places).max()) if width > 0 else 0.0


def _lonely_text(column: Column, detection: Detection | None) -> Advice | None:
    """Texts that may be anybody's name: what is not understood must not be listed."""
    if column.type is not ColumnType.TEXT or column.n_distinct <= FEW_TEXTS:
        return None
    most = ALONE_ON_TEXT if detection is None else ALONE_ON_KNOWN_TEXT
    if column.n_alone <= most * column.n_rows or (detection and detection.detector in _LISTED):
        return None
    share = percent(column.n_alone / column.n_rows)
    why = f"{share} of records have a text of their own; role: quasi with a hierarchy would publish groups of them"
    return Advice(Role.DROP, why, "text", detection.detector if detection else None)


def _detected(column: Column, detection: Detection | None) -> Advice | None:  # noqa: ARG001
    return _of(detection) if detection else None


def _by_type(column: Column, detection: Detection | None) -> Advice:  # noqa: ARG001
    if column.type is ColumnType.BOOLEAN:
        return Advice(Role.QUASI, "others may know it", "yes or no")
    if column.type is ColumnType.TEXT:
        return Advice(Role.QUASI, f"{column.n_distinct:,} values that others may know", "category")
    if column.n_distinct <= FEW_NUMBERS or not column.singles_out:
        return Advice(Role.QUASI, f"{column.n_distinct:,} numbers that others may know", "number")
    why = f"{percent(column.n_alone / column.n_rows)} of records have a value of their own"
    if says_nothing(column.name):  # it may be an age or a place
        return Advice(Role.QUASI, f"{why}, and the header does not say what it is", UNKNOWN_NUMBER)
    if column.is_whole and _length(column) >= CODE_LENGTH:
        return Advice(Role.QUASI, f"{why}, and all are of one length, as codes are", UNKNOWN_NUMBER)
    return Advice(Role.SENSITIVE, why, UNKNOWN_NUMBER)


def _of(detection: Detection) -> Advice:
    match = detection.match
    return Advice(match.role, match.reason, match.looks_like, detection.detector, match.reading)


_Rule = Callable[[Column, Detection | None], Advice | None]
_RULES: tuple[_Rule, ...] = (_empty, _direct, _unique, _lonely_text, _detected, _by_type)
# Detectors of texts that are published in groups although many people have their own.
_LISTED = ("place", "postcode", "icd", "written-date", "decimal-comma")
# Detectors whose columns are numbers of something, or that have not been recognized at all.
KEY_DETECTORS = (None, "record-number")
