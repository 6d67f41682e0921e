"""The grammar of published cells: how a value, an interval, a set, a mask or a group is written, read and compared.

| kind     | written                | also read                                                                       |
|----------|------------------------|---------------------------------------------------------------------------------|
| exact    | the value; in double   | without quotes where nothing else is meant                                      |
|          | quotes if it is a text |                                                                                 |
|          | that reads like a label|                                                                                 |
| any      | `*`                    | a cell of stars only                                                            |
| interval | `[20, 29]`, `[20, 30)` | `20-29` `[20-29]` `20..29` `20~29` `(20-30]` `[20, 30[` `<30` `>=40`, for dates |
|          |                        | also `2020` `2020-03` `2020-Q1`                                                 |
| mask     | `130**`                | one `*` stands for one hidden character, unless originals have stars            |
| node     | its label              |                                                                                 |
| set      | `{a, b, c}`            |                                                                                 |
| all but  | `all but {a, b}`       | every value but these                                                           |
"""

from __future__ import annotations

import calendar
import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Literal, Protocol, TypeAlias

Value: TypeAlias = int | float | bool | date | datetime | str
Kind: TypeAlias = Literal["exact", "any", "interval", "mask", "node", "set", "all but"]
Number: TypeAlias = int | float

ANY = "*"
ALL_BUT = "all but "
LONGEST_NUMBER = 300  # digits; what is longer fits no float, and is text
ORDERED_TYPES = frozenset({"integer", "float", "date", "datetime"})
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Labels(Protocol):
    """What the grammar asks of a hierarchy."""

    def leaves_of_label(self, label: str) -> frozenset[str] | None:
        """Leaf labels that a label stands for, or None if it is no label of the hierarchy."""

    def is_root_label(self, label: str) -> bool:
        """The label stands for every value, the missing one included."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A published cell, understood. Bounds are positions on the line of the column's type (see `position`)."""

    kind: Kind
    text: str | None  # as published, an exact value without its quotes; None for a missing cell
    lo: Number = -math.inf
    hi: Number = math.inf
    lo_open: bool = False
    hi_open: bool = False
    members: frozenset[str] = frozenset()  # of a node or a set; what is left out of all


def format_value(value: Value | None) -> str | None:
    """The canonical text of an original value; None stays None.

    >>> format_value(39), format_value(2.5), format_value(True), format_value(date(2020, 3, 1))
    ('39', '2.5', 'true', '2020-03-01')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, date):  # datetime is a date
        return value.isoformat()
    return str(value)


def format_exact(value: Value | None) -> str | None:
    """The published text of one original value: a text that reads like a label stands in double quotes.

    >>> format_exact(39), format_exact("Bern"), format_exact("A*02:01"), format_exact("10-20")
    ('39', 'Bern', '"A*02:01"', '"10-20"')
    """
    if isinstance(value, str):
        return quoted(value) if reads_like_label(value) else value
    return format_value(value)


def quoted(text: str) -> str:
    """The text in double quotes, those inside it doubled."""
    return '"' + text.replace('"', '""') + '"'


_QUOTED = re.compile(r'"((?:[^"]|"")*)"', re.DOTALL)
_IN_BRACKETS = re.compile(r"[\[(\]].*[,;].*[\])\[]", re.DOTALL)


def reads_like_label(text: str) -> bool:
    """Whether readers could take a text for something other than itself: a mask, a set, an interval, a quoted text.

    The empty text is among them, because it looks like a missing cell.
    """
    is_set = text.endswith("}") and text.removeprefix(ALL_BUT).startswith("{")
    if not text or ANY in text or text[0] == '"' or is_set:
        return True
    if text[0] in "[(]" and _IN_BRACKETS.fullmatch(text):
        return True
    if not _MAY_BE_ORDERED.search(text):
        return False
    # a year or a month alone is no interval of a text column
    is_span = any(
        pattern(kind).fullmatch(text) for kind in ("date", "datetime") for pattern in (_one_sided, _two_sided)
    )
    cell = _parse_ordered(text, "float")
    return is_span or (cell is not None and cell.kind == "interval")


_MAY_BE_ORDERED = re.compile(r"\d\s*(?:[-,;~–]|\.\.)|[<>≤≥]|inf")  # all other texts are told apart quickly


def format_interval(lo: Value, hi: Value, *, open_right: bool = False) -> str:
    """The text of an interval: `[20, 29]`, or `[20, 30)` if open on the right."""
    return f"[{format_value(lo)}, {format_value(hi)}{')' if open_right else ']'}"


def format_set(values: Iterable[str], *, masks: Collection[str] = ()) -> str:
    """The text of an explicit set, members sorted: `{a, b}`; one that could be misread stands in double quotes.

    Args:
        masks: members that are no values but masks, whose stars mean what they say.
    """
    return "{" + ", ".join(v if v in masks else format_member(v) for v in sorted(set(values), key=_by_number)) + "}"


def format_all_but(values: Iterable[str]) -> str:
    """The text of every value but some: `all but {a, b}`."""
    return ALL_BUT + format_set(values)


def _by_number(text: str) -> tuple[int, str]:
    """Whole numbers in their order, before all other texts."""
    return (int(text), text) if _WHOLE.fullmatch(text) else (_LAST, text)


_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_LAST = 10**18


def format_member(value: str) -> str:
    """A text as a member of a set, or as the bound of an interval of texts."""
    is_plain = value == value.strip() and not _SEPARATORS.search(value) and not reads_like_label(value)
    return value if is_plain else quoted(value)


_SEPARATORS = re.compile(r'[,{}\[\]"]')


_MEMBER = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,{}"]+?))\s*(,|$)')


def parse_set(text: str) -> frozenset[str] | None:
    """The members of an explicit set, or None if the text is not one."""
    if not (text.startswith("{") and text.endswith("}")) or len(text) < 2:
        return None
    body = text[1:-1]
    members: list[str] = []
    at, more = 0, bool(body.strip())
    while more:
        match = _MEMBER.match(body, at)
        if not match:
            return None
        members.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at, more = match.end(), match[3] == ","
    return frozenset(members)


def position(value: Value | None) -> Number | None:
    """Where a value lies on the line of its type: a number is itself, a date its days and a datetime its microseconds
    since 1970-01-01 (without a time zone read as UTC); None for other types."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (aware - EPOCH) // timedelta(microseconds=1)
    if isinstance(value, date):
        return (value - EPOCH.date()).days
    return value


def parse(text: str | None, column_type: str, hierarchy: Labels | None = None, *, has_masks: bool = True) -> Cell:
    """Understand a published cell of a column of the given type.

    A label of the hierarchy wins over every other reading; text that is nothing else is an exact value.

    Args:
        has_masks: a star inside a text stands for a hidden character. Say False for a column whose original values
            have stars of their own and whose hierarchy is no mask.
    """
    if text is None:
        return Cell("exact", None, lo=math.nan, hi=math.nan)
    if text.strip(ANY) == "" and text:
        return Cell("any", text)
    if hierarchy is not None and (cell := _parse_label(text, hierarchy)):
        return cell
    if column_type in ORDERED_TYPES and (cell := _parse_ordered(text, column_type)):
        return cell
    return _parse_text(text, has_masks=has_masks)


def _parse_text(text: str, *, has_masks: bool) -> Cell:
    if _QUOTED.fullmatch(text):
        return Cell("exact", text[1:-1].replace('""', '"'), lo=math.nan, hi=math.nan)
    if (members := parse_set(text.removeprefix(ALL_BUT))) is not None:
        return Cell("all but" if text.startswith(ALL_BUT) else "set", text, members=members)
    if ANY in text and has_masks:
        return Cell("mask", text)
    return Cell("exact", text, lo=math.nan, hi=math.nan)  # nowhere on the line: equal to itself only


def _parse_label(text: str, hierarchy: Labels) -> Cell | None:
    if hierarchy.is_root_label(text):
        return Cell("any", text)
    leaves = hierarchy.leaves_of_label(text)
    # a leaf is read by its type, so that "39" also gets its bounds
    return None if leaves is None or leaves == {text} else Cell("node", text, members=leaves)


def _parse_ordered(text: str, column_type: str) -> Cell | None:
    span = _SPANS[column_type]
    if at := span(text.strip()):
        lo, hi = at
        return Cell("exact" if lo == hi else "interval", text, lo, hi)
    if match := _one_sided(column_type).fullmatch(text):
        at = span(match[2])
        return None if at is None else _half_line(text, match[1], at)
    if match := _two_sided(column_type).fullmatch(text):
        return _interval(text, match, span)
    return None


def _half_line(text: str, sign: str, at: tuple[Number, Number]) -> Cell:
    lo, hi = at
    if sign == "<":
        return Cell("interval", text, hi=lo, hi_open=True)
    if sign == ">":
        return Cell("interval", text, lo=hi, lo_open=True)
    return Cell("interval", text, hi=hi) if sign in ("<=", "≤") else Cell("interval", text, lo=lo)


Span: TypeAlias = Callable[[str], "tuple[Number, Number] | None"]


def _interval(text: str, match: re.Match[str], span: Span) -> Cell | None:
    left, lower, separator, upper, right = match.groups()
    low, high = span(lower), span(upper)
    if low is None or high is None or bool(left) != bool(right) or (separator in ",;" and not left):
        return None
    lo_open, hi_open = left in ("(", "]"), right in (")", "[")
    lo = low[1] if lo_open else low[0]  # a bound may itself be a month or a year
    hi = high[0] if hi_open else high[1]
    return None if lo > hi else Cell("interval", text, lo, hi, lo_open, hi_open)


_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf"
_DATE = r"\d{4}-\d{2}-\d{2}|\d{4}-Q[1-4]|\d{4}-\d{2}|\d{4}"
_DATETIME = rf"\d{{4}}-\d{{2}}-\d{{2}}[T ]\d{{2}}:\d{{2}}(?::\d{{2}}(?:\.\d+)?)?(?:Z|[+-]\d{{2}}:?\d{{2}})?|{_DATE}"
_PATTERNS = {"integer": _NUMBER, "float": _NUMBER, "date": _DATE, "datetime": _DATETIME}


@cache
def _one_sided(column_type: str) -> re.Pattern[str]:
    return re.compile(rf"\s*(<=|>=|<|>|≤|≥)\s*({_PATTERNS[column_type]})\s*")


@cache
def _two_sided(column_type: str) -> re.Pattern[str]:
    bound = f"({_PATTERNS[column_type]})"
    return re.compile(rf"\s*([\[(\]]?)\s*{bound}\s*(,|;|\.\.|~|-|–)\s*{bound}\s*([\])\[]?)\s*")


@cache
def _exact_number() -> re.Pattern[str]:
    return re.compile(_NUMBER)


def _number_span(text: str) -> tuple[Number, Number] | None:
    if len(text) > LONGEST_NUMBER or not _exact_number().fullmatch(text):
        return None
    digits = text.lstrip("+-")
    number: Number = int(text) if digits.isdecimal() else float(text)
    return number, number


def _date_span(text: str) -> tuple[Number, Number] | None:
    """First and last day, in days since 1970-01-01, of a day, month, quarter or year."""
    days = _days(text)
    return None if days is None else (days[0].toordinal() - _EPOCH_DAY, days[1].toordinal() - _EPOCH_DAY)


_EPOCH_DAY = EPOCH.date().toordinal()
_MICROSECONDS_A_DAY = 24 * 60 * 60 * 1_000_000


def _days(text: str) -> tuple[date, date] | None:
    match = re.fullmatch(r"(\d{4})(?:-Q([1-4])|-(\d{2})(?:-(\d{2}))?)?", text, re.ASCII)
    if not match:
        return None
    year, quarter, month, day = (int(part) if part else None for part in match.groups())
    try:
        if day is not None:
            return (only := date(year or 0, month or 0, day)), only
        begin = month if month is not None else 3 * quarter - 2 if quarter else 1
        end = month if month is not None else 3 * quarter if quarter else 12
        return date(year or 0, begin, 1), date(year or 0, end, calendar.monthrange(year or 0, end)[1])
    except ValueError:  # 2020-13 or 2021-02-29 is no date
        return None


def _datetime_span(text: str) -> tuple[Number, Number] | None:
    """First and last microsecond since 1970-01-01 of a moment, day, month, quarter or year."""
    if days := _date_span(text):
        return days[0] * _MICROSECONDS_A_DAY, (days[1] + 1) * _MICROSECONDS_A_DAY - 1
    try:
        at = position(datetime.fromisoformat(text))
    except ValueError:
        return None
    return None if at is None else (at, at)


_SPANS: dict[str, Span] = {
    "integer": _number_span,
    "float": _number_span,
    "date": _date_span,
    "datetime": _datetime_span,
}


def covers(cell: Cell, original: Value | None) -> bool:
    """The original value is one of those that the published cell stands for.

    A missing original is covered by a missing cell and by `*` only.
    """
    if cell.kind == "any":
        return True
    if original is None or cell.text is None:
        return original is None and cell.text is None
    text = format_value(original)
    return (cell.kind == "exact" and text == cell.text) or _COVERS[cell.kind](cell, original, text or "")


def _in_bounds(cell: Cell, original: Value, text: str) -> bool:  # noqa: ARG001
    at = position(original)
    if at is None:
        return False
    above = at > cell.lo if cell.lo_open else at >= cell.lo
    below = at < cell.hi if cell.hi_open else at <= cell.hi
    return above and below


def _in_mask(cell: Cell, original: Value, text: str) -> bool:  # noqa: ARG001
    mask = cell.text or ""
    return len(mask) == len(text) and all(m in (ANY, t) for m, t in zip(mask, text, strict=True))


def _in_members(cell: Cell, original: Value, text: str) -> bool:  # noqa: ARG001
    return text in cell.members


_COVERS: dict[str, Callable[[Cell, Value, str], bool]] = {
    "exact": _in_bounds,
    "interval": _in_bounds,
    "mask": _in_mask,
    "node": _in_members,
    "set": _in_members,
    "all but": lambda cell, original, text: not _in_members(cell, original, text),
}


def bounds(cell: Cell, column_type: str) -> tuple[float, float, bool, bool] | None:
    """The cell as an interval `(lo, hi, lo_open, hi_open)` of positions, or None if it is not one.

    Positions are those of `position`, as floats: integers beyond 2**53 are rounded.
    """
    if column_type not in ORDERED_TYPES:
        return None
    if cell.kind not in ("exact", "any", "interval") or math.isnan(cell.lo):
        return None
    return float(cell.lo), float(cell.hi), cell.lo_open, cell.hi_open
