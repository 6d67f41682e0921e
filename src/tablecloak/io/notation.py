"""Notation: how the values of a column are written, decided by all of its cells, and how such cells are read.

Dates in the orders of different countries and with names of months, decimal commas, thousands marks, units. A notation
is a value: found once for a column, written into a policy by `init`, applied to text by every engine in one way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import islice

import polars as pl

from tablecloak.data.table import ColumnType
from tablecloak.io.months import MONTHS

EXCEL = "excel"  # a date as the number of days that spreadsheets store
DATES = (ColumnType.DATE, ColumnType.DATETIME)
NUMBERS = (ColumnType.INTEGER, ColumnType.FLOAT)
THOUSANDS = (",", ".", " ", "'")
_FORMS = {" ": " \u00a0\u202f\u2009", "'": "'’", ",": ",", ".": "."}  # characters that stand for one mark
# What may stand before or behind every number of a column; other letters make it a code.
CURRENCIES = (
    "€", "$", "£", "¥", "₹", "₽", "zł", "kr", "CHF", "EUR", "USD", "GBP", "JPY", "SEK", "NOK", "DKK", "PLN", "CZK",
    "Fr.",
)  # fmt: skip
UNITS = (
    *CURRENCIES, "%", "‰", "kg", "g", "mg", "µg", "lb", "lbs", "km", "m", "cm", "mm", "mi", "ft", "in", "m²", "m2",
    "km²", "ha", "l", "ml", "dl", "cl", "°C", "°F", "°", "h", "min", "ms", "years", "yrs", "Jahre",
    "ans", "años", "anni", "anos", "jaar", "lat", "mmHg", "bpm", "kcal", "kJ", "kWh", "kW", "Hz", "mmol/l",
    "mg/dl", "g/dl", "kg/m2", "kg/m²", "km/h",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Notation:
    """How the cells of a column are written; keys of a policy, each None where it is as usual."""

    format: str | None = None  # of dates: dd.mm.yyyy, d mmmm yyyy, excel, or as strptime has it
    last_year: int | None = None  # of the hundred years that years of two digits stand for
    decimal: str | None = None  # "," or "."
    thousands: str | None = None  # what parts every three digits
    unit: str | None = None  # what stands beside every number

    @property
    def keys(self) -> dict[str, str | int]:
        """What a policy says."""
        pairs = {
            "format": self.format, "last_year": self.last_year, "decimal": self.decimal,
            "thousands": self.thousands, "unit": self.unit,
        }  # fmt: skip
        return {key: value for key, value in pairs.items() if value is not None}

    @property
    def type(self) -> ColumnType | None:
        """The type that a format says; numbers may be whole or not."""
        if self.format is None:
            return None
        return ColumnType.DATETIME if "%H" in strptime_of(self.format) else ColumnType.DATE

    @property
    def has_short_years(self) -> bool:
        return self.format is not None and "%y" in strptime_of(self.format)

    # Reading -------------------------------------------------------------------------------------------------------

    def parser(self, name: str, type_: ColumnType) -> pl.Expr:
        """A text column as values, null where a cell is not written so."""
        if type_ in DATES:
            return self._dates(name, type_).alias(name)
        return self._numbers(name, type_).alias(name)

    def _dates(self, name: str, type_: ColumnType) -> pl.Expr:
        column = pl.col(name).str.strip_chars()
        if self.format is None:
            return _iso(column, type_)
        if self.format == EXCEL:
            day = column.str.replace(r"\.0*$", "").cast(pl.Int32, strict=False)
            days = pl.lit(date(1899, 12, 30)) + pl.duration(days=day)
            read: pl.Expr = pl.when(day.is_between(61, 73_050)).then(days)  # before March 1900 Excel has a day too many
            return pl.coalesce(read, _iso(column, type_)) if type_ is ColumnType.DATE else read.cast(pl.Datetime("us"))
        form = strptime_of(self.format)
        text = _with_english_months(column) if "%b" in form and "%" not in self.format else column
        text = pl.when(text.str.contains(r"^\d{8}$")).then(text) if form == "%Y%m%d" else text  # it takes fewer digits
        if type_ is ColumnType.DATE:
            read = text.str.to_date(form, strict=False)
        else:
            read = text.str.to_datetime(form, strict=False, time_unit="us")
        read = _within_century(read, self.last_year) if self.has_short_years and self.last_year else read
        # a release has ISO dates beside those that were written in one way only
        return pl.coalesce(read, _iso(column, type_))

    def _numbers(self, name: str, type_: ColumnType) -> pl.Expr:
        text = _without_unit(pl.col(name).str.strip_chars(), self.unit)
        mark, point = self.thousands, self.decimal or "."
        text = pl.when(text.str.contains(_number_pattern(point, mark, is_strict=False))).then(text)
        if mark:
            text = text.str.replace_all(f"[{re.escape(_FORMS[mark])}]", "")
        text = text.str.replace(point, ".", literal=True).str.strip_prefix("+")
        if type_ is ColumnType.FLOAT:
            return text.cast(pl.Float64, strict=False)
        return text.str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)

    # Writing -------------------------------------------------------------------------------------------------------

    def written(self, value: pl.Expr, type_: ColumnType) -> pl.Expr:
        """A text that reads back as the value."""
        if type_ in DATES:
            form = strptime_of(self.format or "%Y-%m-%d") if self.format != EXCEL else "%b"
            is_plain = "%b" not in form and "%B" not in form and "%y" not in form
            iso = "%Y-%m-%d" if type_ is ColumnType.DATE else "%Y-%m-%dT%H:%M:%S%.f"
            return value.dt.to_string(form if is_plain else iso)
        text = value.cast(pl.String)
        if self.decimal and self.decimal != ".":
            text = text.str.replace(".", self.decimal, literal=True)
        if not self.unit:
            return text
        unit = pl.lit(self.unit)
        return pl.format("{} {}", *((unit, text) if self.unit in CURRENCIES else (text, unit)))


def _iso(column: pl.Expr, type_: ColumnType) -> pl.Expr:
    if type_ is ColumnType.DATE:
        is_iso = column.str.contains(r"^\d{4}-\d\d-\d\d$")
        return pl.when(is_iso).then(column).str.to_date("%Y-%m-%d", strict=False)
    text = column.str.replace(" ", "T", literal=True)
    is_iso = text.str.contains(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
    return pl.when(is_iso).then(text).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f", strict=False, time_unit="us")


def _with_english_months(column: pl.Expr) -> pl.Expr:
    """Cells such as `3. März 1950` and `March 3rd, 1950` as `3 Mar 1950` and `Mar 3 1950`."""
    text = column.str.to_lowercase().str.replace_all(r"(\d)(?:st|nd|rd|th|er|º|ª|\.)\b?", "$1 ")
    text = text.str.replace_all(r"(^|[\s,.\-/])(?:de|del|of|of the)[\s]", "$1 ")
    text = text.str.replace_many(list(MONTHS), list(MONTHS.values()), leftmost=True)
    return text.str.replace_all(r"[\s,.\-/]+", " ").str.strip_chars()


def _within_century(read: pl.Expr, last_year: int) -> pl.Expr:
    """Dates whose year of two digits was read as one of any century, in the hundred years up to the last."""
    year = read.dt.year()
    true_year = last_year - (last_year - year) % 100
    is_leap_day = (read.dt.month() == 2) & (read.dt.day() == 29)  # which a century may lack
    has_leap_day = (true_year % 4 == 0) & ((true_year % 100 != 0) | (true_year % 400 == 0))
    kept = pl.when(~is_leap_day | has_leap_day).then(read)
    return kept.dt.offset_by(pl.format("{}y", true_year - year))


def _without_unit(text: pl.Expr, unit: str | None) -> pl.Expr:
    """What is left of cells that have the unit before or behind a number; null for others."""
    if unit is None:
        return text
    escaped = re.escape(unit)
    before, after = rf"^([+-]?)\s*{escaped}\s*([+-]?)", rf"\s*{escaped}$"
    return (
        pl.when(text.str.contains(before)).then(text.str.replace(before, "$1$2"))
        .when(text.str.contains(after)).then(text.str.replace(after, ""))
    )  # fmt: skip


@cache
def _number_pattern(point: str, mark: str | None, *, is_strict: bool = True) -> str:
    """Numbers with a decimal mark and a thousands mark; without leading zeros, which are for codes.

    Args:
        is_strict: large numbers must have the thousands mark.
    """
    whole = r"(?:0|[1-9]\d*)" if mark is None or not is_strict else r"(?:0|[1-9]\d{0,2})"
    if mark is not None:
        whole = rf"(?:[1-9]\d{{0,2}}(?:[{re.escape(_FORMS[mark])}]\d{{3}})+|{whole})"
    return rf"^[+-]?{whole}(?:{re.escape(point)}\d{'+' if is_strict else '*'})?$"


# Formats of dates ----------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r"y+|m+|d+|h+|s+|[^a-z]+|[a-z]", re.IGNORECASE)
_DIRECTIVES = {
    "yyyy": "%Y", "yy": "%y", "mmmm": "%b", "mmm": "%b", "mm": "%m", "m": "%m", "dd": "%d", "d": "%d", "hh": "%H",
    "h": "%H", "ss": "%S", "s": "%S",
}  # fmt: skip


@cache
def strptime_of(format_: str) -> str:
    """A format as strptime has it: `dd.mm.yyyy` is %d.%m.%Y; one with % is taken as it is.

    >>> strptime_of("dd.mm.yyyy hh:mm"), strptime_of("d mmmm yy")
    ('%d.%m.%Y %H:%M', '%d %b %y')
    """
    if "%" in format_ or format_ == EXCEL:
        return format_
    parts, is_time = [], False
    for token in _TOKEN.findall(format_.lower()):
        is_time = is_time or token.startswith("h")
        parts.append("%M" if is_time and token in ("mm", "m") else _DIRECTIVES.get(token, token))
    form = "".join(parts)
    return re.sub(r"[\s,.\-/]+", " ", form) if "%b" in form else form


def is_format(format_: str) -> bool:
    """Whether a format says year, month and day."""
    form = strptime_of(format_)
    has = [any(d in form for d in kinds) for kinds in (("%Y", "%y", "%F", "%D"), ("%m", "%b", "%B", "%F", "%D", "%j"))]
    return form == EXCEL or (all(has) and any(d in form for d in ("%d", "%e", "%F", "%D", "%j")))


# Deciding ------------------------------------------------------------------------------------------------------------

YEARS = (1850, 2100)
ENOUGH_VALUES = 5  # different ones, of what may be codes
MIXED = 0.8  # of the cells: from here on a column is one of dates, some of which are written otherwise
_TWO, _ORDERS = r"\d{1,2}", ("dd{0}mm{0}yyyy", "mm{0}dd{0}yyyy", "yyyy{0}mm{0}dd")
_SHORT = ("dd{0}mm{0}yy", "mm{0}dd{0}yy", "yy{0}mm{0}dd")
_TIMES = {"": "", " hh:mm": r"[T ]\d{1,2}:\d\d", " hh:mm:ss": r"[T ]\d{1,2}:\d\d:\d\d"}
# Words of headers over numbers that may be days as spreadsheets count them.
DATE_WORDS = re.compile(
    r"date|birth|born|dob|admi|discharge|datum|geburt|geboren|naissance|fecha|nacimiento|data|nascita|nascimento|geboorte|urodzenia",
    re.IGNORECASE,
).search  # fmt: skip


@dataclass(frozen=True, slots=True)
class Candidate:
    """A notation that a column may have, and the form that its cells then have letter by letter."""

    notation: Notation
    type: ColumnType
    pattern: str
    is_code: bool = False  # what it looks like may be a code: it takes several values to tell

    def fits(self, cell: str = "cell") -> pl.Expr:
        """Which cells are written so."""
        form = pl.col(cell).str.strip_chars().str.contains(self.pattern)
        notation = replace(self.notation, last_year=2068) if self.notation.has_short_years else self.notation
        value = notation.parser(cell, self.type)
        read = value.is_not_null()
        if self.type in DATES and not self.notation.has_short_years:
            read &= value.dt.year().is_between(*YEARS)
        return (form & read).fill_null(False)


def _date_candidates() -> list[Candidate]:
    candidates = []
    for mark in (".", "/", "-"):
        for order in (*_ORDERS, *_SHORT):
            form = order.format(mark)
            if form in ("mm.dd.yyyy", "mm.dd.yy", "yy.mm.dd", "yyyy-mm-dd"):  # nobody writes so; ISO is no notation
                continue
            fields = {"yyyy": r"\d{4}", "yy": r"\d{2}"}
            pattern = re.escape(mark).join(fields.get(part, _TWO) for part in form.split(mark))
            for times, time_pattern in _TIMES.items():
                type_ = ColumnType.DATETIME if times else ColumnType.DATE
                is_code = "yyyy" not in form
                candidates.append(Candidate(Notation(form + times), type_, f"^{pattern}{time_pattern}$", is_code))
    for form in ("d mmmm yyyy", "mmmm d yyyy", "yyyy mmmm d", "d mmmm yy"):
        parts = {"d": r"\d{1,2}\S*", "mmmm": r"\S*[^\W\d_]{3}\S*", "yyyy": r"\d{4}", "yy": r"'?\d{2}"}
        between = r"[\s,.\-/]*(?:(?:de|del|of) )?"
        pattern = between.join(parts[part] for part in form.split())
        candidates.append(Candidate(Notation(form), ColumnType.DATE, rf"(?i)^{pattern}$", "yyyy" not in form))
    return [*candidates, Candidate(Notation("yyyymmdd"), ColumnType.DATE, r"^\d{8}$", True)]


DATE_CANDIDATES = tuple(_date_candidates())
ISO_DATE = Candidate(Notation(), ColumnType.DATE, r"^\d{4}-\d\d-\d\d$")
EXCEL_DATE = Candidate(Notation(EXCEL), ColumnType.DATE, r"^[1-7]?\d{4}(?:\.0*)?$", True)
WHOLE_FLOAT = Candidate(Notation(decimal="."), ColumnType.INTEGER, r"^-?(?:0|[1-9]\d*)(?:\.0*)?$")


def _number_candidates(unit: str | None) -> list[Candidate]:
    candidates = []
    for point in (".", ","):
        for mark in (None, *THOUSANDS):
            if mark == point or (mark is None and point == "." and unit is None):
                continue
            pattern = _number_pattern(point, mark).removeprefix("^").removesuffix("$")
            beside = "" if unit is None else re.escape(unit)
            full = rf"^(?:{pattern}\s*{beside}|[+-]?{beside}\s*{pattern})$" if unit else f"^{pattern}$"
            candidates.append(Candidate(Notation(None, None, point, mark, unit), ColumnType.FLOAT, full, True))
    return candidates


@dataclass(slots=True)
class _Tally:
    """How many cells fit a candidate, and what they show of its marks."""

    n_fitting: int = 0
    has_point: bool = False
    has_mark: bool = False
    has_fraction: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """What a column does not say about itself, in words without a cell, and what may be written in a policy."""

    text: str
    choices: tuple[Notation, ...] = ()
    looks_like: str = "date"

    def hint(self, column: str) -> str:
        """What to write."""
        written = [", ".join(f"{key}: {_quoted(value)}" for key, value in _asked(c).items()) for c in self.choices]
        options = " or ".join(f"{{{text}}}" for text in written)
        say = f"write in columns.{column}: {options}; " if options else "write all of them in one way; "
        return f"{say}or type: text, which publishes sets of texts"


def _asked(notation: Notation) -> dict[str, str | int]:
    """The keys of a notation, and those that nobody but the reader knows."""
    return {**notation.keys, **({"last_year": "YYYY"} if notation.has_short_years else {})}


def _quoted(value: str | int) -> str:
    return str(value) if isinstance(value, int) or re.fullmatch(r"[\w.][\w. /-]*", value) else f'"{value}"'


@dataclass(frozen=True, slots=True)
class Written:
    """What all cells of a column say about how they are written."""

    type: ColumnType | None = None  # None: the type that they have anyway
    notation: Notation | None = None
    question: Question | None = None


PLAIN = Written()


@dataclass(slots=True)
class CellEvidence:
    """What the cells of a column show, batch by batch."""

    name: str
    type: ColumnType  # without a notation
    candidates: list[Candidate] | None = None  # None: no cell was seen yet
    n_cells: int = 0
    values: set[int] = field(default_factory=set)  # hashes of some different values, as many as matter
    tallies: dict[Candidate, _Tally] = field(default_factory=dict)
    has_repeats: bool = True  # as far as was seen
    n_dates: int = 0  # cells that are a date in some way
    years_only: bool = True  # all numbers could be years

    def add(self, cells: pl.Series) -> None:
        """Look at more cells."""
        if self.candidates is None and cells.null_count() < len(cells):
            few = cells.drop_nulls().gather_every(max(1, (len(cells) - cells.null_count()) // 20))
            self.candidates = None if may_be_odd(self.name, self.type, few.cast(pl.String).to_list()) else []
        if self.candidates == []:
            self.n_cells += len(cells)  # which only says that there are some
            return
        counts = self._counted(cells.cast(pl.String).drop_nulls().alias("cell").to_frame())
        counts = counts.filter(pl.col("cell").str.strip_chars() != "")
        if not counts.height:
            return
        if self.candidates is None:
            self.candidates = self._candidates(counts["cell"])
        if len(self.values) < ENOUGH_VALUES:
            self.values.update(map(hash, counts["cell"].head(4 * ENOUGH_VALUES).to_list()))
        self.n_cells += int(counts["len"].sum())
        if not self.candidates:
            return
        fits = counts.select("cell", "len", *(c.fits().alias(str(i)) for i, c in enumerate(self.candidates)))
        for i, candidate in enumerate(self.candidates):
            self._count(candidate, fits.filter(pl.col(str(i))))
        dates = [str(i) for i, c in enumerate(self.candidates) if c.type in DATES]
        if dates:
            self.n_dates += int(fits.filter(pl.any_horizontal(dates))["len"].sum())
        if self.type in NUMBERS:
            self.years_only &= bool(counts["cell"].str.contains(r"^(?:18|19|20)\d\d(?:\.0*)?$").all())

    def _counted(self, cells: pl.DataFrame) -> pl.DataFrame:
        """Different cells with their number; where nearly all differ, finding equal ones takes longer than it saves."""
        if not self.has_repeats:
            return cells.with_columns(pl.lit(1).alias("len"))
        counts = cells.group_by("cell").len()
        self.has_repeats = 2 * counts.height <= cells.height
        return counts

    def _candidates(self, cells: pl.Series) -> list[Candidate]:
        """The notations that a first look leaves: a few of the cells have them."""
        if self.type is ColumnType.INTEGER:
            possible = [next(c for c in DATE_CANDIDATES if c.notation.format == "yyyymmdd")]
            possible += [EXCEL_DATE] if DATE_WORDS(self.name) else []
        elif self.type is ColumnType.FLOAT:
            possible = [WHOLE_FLOAT, *([EXCEL_DATE] if DATE_WORDS(self.name) else [])]
        else:
            possible = [*DATE_CANDIDATES, ISO_DATE, *_number_candidates(_unit_of(cells))]
        few = [cell.strip() for cell in cells.gather_every(max(1, len(cells) // 50)).head(60).to_list()]
        possible = [c for c in possible if any(map(_compiled(c.pattern).search, few))]  # far cheaper than to read them
        if not possible:
            return []
        looked = pl.DataFrame({"cell": few})
        fits = looked.select(c.fits().any().alias(str(i)) for i, c in enumerate(possible)).row(0)
        return [c for c, is_fitting in zip(possible, fits, strict=True) if is_fitting]

    def _count(self, candidate: Candidate, fitting: pl.DataFrame) -> None:
        tally = self.tallies.setdefault(candidate, _Tally())
        if not fitting.height:
            return
        tally.n_fitting += int(fitting["len"].sum())
        if candidate.type in DATES:
            return
        point, mark = candidate.notation.decimal or ".", candidate.notation.thousands
        cells = fitting["cell"]
        unit = candidate.notation.unit
        plain = cells.str.replace_all(unit, "", literal=True) if unit else cells
        tally.has_point |= bool(plain.str.contains(point, literal=True).any())
        tally.has_mark |= mark is not None and bool(plain.str.contains(rf"\d[{re.escape(_FORMS[mark])}]\d").any())
        tally.has_fraction |= bool(plain.str.contains(rf"{re.escape(point)}\d*[1-9]").any())

    @property
    def is_open(self) -> bool:
        """Whether more cells could still tell something."""
        if self.candidates is None:
            return True
        best = max((tally.n_fitting for tally in self.tallies.values()), default=0)
        return best == self.n_cells or self.n_dates >= MIXED * self.n_cells > 0

    # The answer ----------------------------------------------------------------------------------------------------

    def decided(self) -> Written:
        """What the cells say: one notation, a question, or nothing in particular."""
        if not self.n_cells:
            return PLAIN
        fitting = [
            c for c, tally in self.tallies.items()
            if tally.n_fitting == self.n_cells and (not c.is_code or len(self.values) >= ENOUGH_VALUES)
        ]  # fmt: skip
        dates = [c for c in fitting if c.type in DATES and c is not ISO_DATE]
        if dates:
            return self._dates(dates)
        numbers = [n for c in fitting if c.type in NUMBERS and (n := self._number(c)) is not None]
        numbers = list({n.notation: n for n in numbers}.values())
        if numbers:
            return self._numbers(numbers)
        return self._mixed()

    def _dates(self, dates: Sequence[Candidate]) -> Written:
        if dates == [EXCEL_DATE] and self.years_only:
            return PLAIN
        long = [c for c in dates if not c.notation.has_short_years] or dates
        notations = tuple(c.notation for c in long)
        if len(long) > 1:
            text = "dates of which no cell tells whether day or month comes first"
            text = f"{text}, and years have two digits" if all(n.has_short_years for n in notations) else text
            return Written(question=Question(text, notations))
        only = long[0]
        if only.notation.has_short_years:
            text = "dates whose years have two digits: which century is not said"
            return Written(question=Question(text, notations))
        return Written(only.type, only.notation)

    def _number(self, candidate: Candidate) -> Written | None:
        """A fitting notation with the marks that occur; None if it has one that does not."""
        tally, notation = self.tallies[candidate], candidate.notation
        if notation.thousands is not None and not tally.has_mark:
            return None
        if candidate is WHOLE_FLOAT:
            return Written(ColumnType.INTEGER, notation)
        if not tally.has_point:
            if notation.decimal == "," and notation.thousands is None and notation.unit is None:
                return None  # whole numbers as they are
            notation = replace(notation, decimal=None)
        return Written(ColumnType.FLOAT if tally.has_fraction else ColumnType.INTEGER, notation)

    def _numbers(self, numbers: Sequence[Written]) -> Written:
        notations = tuple(n.notation for n in numbers if n.notation is not None)
        if len(numbers) == 1:
            return numbers[0]
        text = "numbers of which no cell tells whether a mark parts thousands or begins the decimals"
        return Written(question=Question(text, notations, "number"))

    def _mixed(self) -> Written:
        """Dates most of which are written in some way, but not all in one."""
        tallies = {c: t for c, t in self.tallies.items() if c.type in DATES and t.n_fitting}
        if self.type is not ColumnType.TEXT or not tallies or self.n_dates < MIXED * self.n_cells:
            return PLAIN
        if len(self.values) < ENOUGH_VALUES and all(c.is_code for c in tallies):
            return PLAIN
        ways = sorted(tallies.items(), key=lambda pair: -pair[1].n_fitting)[:3]
        shown = ", ".join(f"{t.n_fitting:,} as {c.notation.format or 'yyyy-mm-dd'}" for c, t in ways)
        rest = self.n_cells - self.n_dates
        others = f", {rest:,} as no date" if rest else ""
        return Written(question=Question(f"dates written in several ways: of {self.n_cells:,} cells {shown}{others}"))


_compiled = cache(re.compile)


def _unit_of(cells: pl.Series) -> str | None:
    """The unit that all of some cells have, if it is one that we know."""
    sample = cells.head(1000).str.strip_chars()
    beside = sample.str.extract(r"^[+-]?[\d.,'’\s]*\d\s*([^\d\s.,'’][^\d]*\d?)$").fill_null("")
    before = sample.str.extract(r"^[+-]?([^\d\s+-][^\d+-]*?)\s*[+-]?\d[\d.,'’\s]*$").fill_null("")
    found = {text.strip() for text in (beside + before).unique().to_list()}
    only = next(iter(found)) if len(found) == 1 else None
    return only if only in UNITS else None


def with_last_year(written: Written, last_year: int) -> Written:
    """Dates of which only the century is not said, with the hundred years up to one."""
    question = written.question
    if question is None or len(question.choices) != 1 or not question.choices[0].has_short_years:
        return written
    notation = replace(question.choices[0], last_year=last_year)
    return Written(notation.type, notation)


def may_be_odd(name: str, type_: ColumnType, cells: Iterable[str]) -> bool:
    """A quick look at some cells: whether it is worth to look through the whole column for a notation."""
    few = list(islice(cells, 20))
    if type_ is ColumnType.TEXT:
        is_odd = any(not cell.strip().isdigit() for cell in few)  # digits alone are codes: numbers would be no text
        return is_odd and 2 * sum(map(_is_like_some, few)) >= len(few)
    if type_ is ColumnType.INTEGER:
        return bool(DATE_WORDS(name)) or all(len(cell) == 8 for cell in few)
    return type_ is ColumnType.FLOAT and (bool(DATE_WORDS(name)) or all(map(_whole_float, few)))


_like_date = re.compile(
    r"\s*(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[T ][\d:]+)?"  # 31.12.1999 14:05
    r"|\d{1,4}\W.*[^\W\d_]{3}.*\d{1,4}|[^\W\d_]{3,}\W.*\d{1,4}|\d{8})\s*"  # 3. May 1950, May 3 1950, 19500503
).fullmatch
_like_number = re.compile(r"\s*[+-]?([^\d+.,-]*)[+-]?\d[\d.,'’\s]*(\D\S*)?\s*").fullmatch


def _is_like_some(cell: str) -> bool:
    """Whether a cell may be a date, or a number with a unit that we know."""
    if _like_date(cell):
        return True
    match = _like_number(cell)
    return match is not None and all((part or "").strip() in ("", *UNITS) for part in match.groups())


_whole_float = re.compile(WHOLE_FLOAT.pattern).match
