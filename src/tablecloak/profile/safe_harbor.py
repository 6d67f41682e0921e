"""HIPAA Safe Harbor: whether a table has any of the 18 kinds of identifiers, by the names and cells of its columns.

Reference: 45 CFR 164.514(b)(2)(i), (A) to (R); guidance of HHS on de-identification, 2012. That nothing is found is no
proof: nicknames, towns and ages under a header that does not say so have no pattern, and by (ii) the publisher must
know of no way to identify somebody.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from tablecloak.data.header_words import says, words_of
from tablecloak.profile.column import Column
from tablecloak.profile.text_patterns import every_pattern

# First three digits of ZIP codes where 20,000 people or fewer lived by the census of 2000 (guidance of HHS, 2012).
SPARSE_ZIPS = (
    "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884", "890",
    "893",
)  # fmt: skip
HIDDEN_ZIP = "000"
OLDEST = 89  # the last age that may be told
RULES = {
    "A": "names",
    "B": "places smaller than a state",
    "C": "dates other than years, and ages over 89",
    "D": "telephone numbers",
    "E": "fax numbers",
    "F": "e-mail addresses",
    "G": "social security numbers",
    "H": "medical record numbers",
    "I": "health plan beneficiary numbers",
    "J": "account numbers",
    "K": "certificate and license numbers",
    "L": "vehicle identifiers and license plates",
    "M": "device identifiers and serial numbers",
    "N": "web addresses",
    "O": "internet addresses",
    "P": "biometric identifiers",
    "Q": "photographs",
    "R": "other unique numbers and codes",
}
# By what a header says in one of eight languages, whatever the cells are.
_SAID = {
    "A": ("person-name",),
    "B": ("address", "place", "latitude", "longitude"),
    "D": ("phone",),
    "F": ("email",),
    "G": ("ssn",),
}
_FAX = ("fax", "faxnumber", "telefax")
_NO_PHONE = {*_FAX, "cell"}  # of a body, perhaps
# By other words of a header.
_NAMED = {
    "A": ("employer",),
    "B": ("precinct", "parish", "geocode"),
    "E": _FAX,
    "N": ("url", "website", "homepage", "web"),
    "O": ("ip", "ipaddress"),
    "P": ("biometric", "biometrics", "fingerprint", "voiceprint", "retina", "iris", "faceprint"),
    "Q": ("photo", "photograph", "picture", "portrait", "headshot", "image"),
}
# The same, where the cells are many: a few values are groups, such as kinds of insurance.
_NUMBERED = {
    "H": ("mrn", "medicalrecord", "medicalrecordnumber", "chart", "patientid", "patientnumber"),
    "I": (
        "beneficiary",
        "insurance",
        "subscriber",
        "member",
        "memberid",
        "healthplan",
        "policy",
        "medicare",
        "medicaid",
    ),
    "J": ("account", "accountnumber", "acct", "iban", "card", "creditcard"),
    "K": ("license", "licence", "certificate", "passport", "npi", "dea"),
    "L": ("vin", "vehicle", "plate", "licenseplate", "licenceplate", "registration"),
    "M": ("device", "deviceid", "serial", "imei", "imsi", "udi", "implant", "mac"),
    "R": ("id", "ids", "uuid", "guid", "key", "identifier", "username", "userid", "login", "code", "number"),
}
_FOUND = {
    "URL": "N", "EMAIL": "F", "ID": "R", "DEVICE": "M", "IP": "O", "IBAN": "J", "CARD": "J", "SSN": "G", "PLACE": "B",
    "DATE": "C", "PHONE": "D", "ADDRESS": "B", "AGE": "C", "NAME": "A",
}  # fmt: skip
_DATED = ("date", "dob", "birthdate", "birthday", "timestamp", "datetime", "admission", "discharge", "death", "birth")
# Of all names of states only this one is a given name; alone or in a set of states it is none.
_STATES = r"(?i)\b(?:west )?virginia\b"
_IS_STATES = pl.col("text").str.contains(rf"^(?:{_STATES}|\{{.*\}})$")
_STATELESS = pl.col("text").str.replace_all(_STATES, "[]")
MANY, MANY_VALUES = 0.2, 20  # from here on values are numbers of records or people, not of groups
ENOUGH_ROWS = 20  # below this many it says nothing that all values differ
NEARLY = 0.9
_VISIBLE = r"[\p{L}\p{N}]"
_NUMBER = r"\d+(?:\.\d+)?"
_COMPACT = (  # 19330209, 09021933 and 02091933; numbers have lost the first zero
    r"^(?:1[89]|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$",
    r"^(?:0?[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d\d$",
    r"^(?:0?[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d\d$",
)


@dataclass(frozen=True, slots=True)
class Violation:
    """Cells of a column that Safe Harbor does not let be published."""

    rule: str  # letter of the list
    column: str
    n_cells: int
    why: str  # without a value

    def __str__(self) -> str:
        return f"({self.rule}) {self.column}: {self.why} in {self.n_cells:,} cells"


def violations(frame: pl.DataFrame, *, year: int | None = None) -> list[Violation]:
    """What a table has that Safe Harbor does not let be published, column by column.

    Args:
        year: of publication, from which ages of birth years are counted; this year unless given.
    """
    now = dt.datetime.now(tz=dt.UTC).year if year is None else year
    return _violations([frame[name] for name in frame.columns], year=now)


def broken_rules(columns: Sequence[Column], *, year: int) -> dict[str, str]:
    """Why the sampled values of columns may not be published as they are, by column; the others are left out."""
    samples = [pl.Series(column.name, column.sample, pl.String) for column in columns]
    samples = [
        sample.cast(pl.Float64, strict=False) if column.is_number else sample
        for column, sample in zip(columns, samples, strict=True)
    ]
    found = _violations(samples, year=year, n_rows={column.name: column.n_present for column in columns})
    # a sample of different values says nothing about how many records share them
    return {each.column: f"({each.rule}) {each.why}" for each in reversed(found) if each.why != RULES["R"]}


def _violations(columns: Sequence[pl.Series], *, year: int, n_rows: Mapping[str, int] | None = None) -> list[Violation]:
    """What columns break; for every letter the rule that most cells break.

    Args:
        n_rows: where columns hold different values only: how many cells there are.
    """
    cells = {column.name: column.drop_nulls() for column in columns}
    texts = {name: _texts(column) for name, column in cells.items()}
    texts = {name: column.filter(column.str.contains(_VISIBLE)) for name, column in texts.items()}
    texts = {name: column for name, column in texts.items() if len(column)}
    content = _by_content({name: column for name, column in texts.items() if _is_text(cells[name])})
    violations = []
    for name, column in texts.items():
        n_cells = (n_rows or {}).get(name, len(column))
        found = [*_by_name(name, column, n_cells), *_dates(name, cells[name], column, year), *content.get(name, [])]
        worst: dict[str, tuple[int, str]] = {}
        for rule, n, why in found or _unique(cells[name], column):
            if n > worst.get(rule, (0, ""))[0]:
                worst[rule] = (n, why)
        violations += [Violation(rule, name, n, why) for rule, (n, why) in sorted(worst.items())]
    return violations


_Found = Iterator[tuple[str, int, str]]


def _is_text(cells: pl.Series) -> bool:
    return not (cells.dtype.is_numeric() or cells.dtype.is_temporal() or cells.dtype == pl.Boolean)


def _texts(cells: pl.Series) -> pl.Series:
    if cells.dtype.is_float():
        whole = cells.cast(pl.Int64, strict=False)
        return cells.cast(pl.String) if (whole != cells).any() or whole.has_nulls() else whole.cast(pl.String)
    return cells.cast(pl.String)


def _by_name(name: str, texts: pl.Series, n_rows: int) -> _Found:
    """Headers that say what a column is, unless one value stands for all."""
    words, n_values = words_of(name), texts.n_unique()
    if n_values < 2:
        return
    is_many = n_values > max(MANY_VALUES, MANY * n_rows)
    if says(name, "postcode"):
        yield from _zips(texts)
    for rule in sorted({*_SAID, *_NAMED}):
        is_said = any(says(name, kind) for kind in _SAID.get(rule, ())) and not (rule == "D" and words & _NO_PHONE)
        is_thing = rule == "A" and says(name, "thing")
        if (is_said or words & set(_NAMED.get(rule, ()))) and not is_thing:
            yield rule, len(texts), f"{RULES[rule]}, as the header says,"
    for rule, said in _NUMBERED.items():
        if is_many and words & set(said):
            yield rule, len(texts), f"{RULES[rule]}, as the header says,"


def _zips(texts: pl.Series) -> _Found:
    whole = pl.col("text").str.contains(r"^\d+$")  # three digits that were read as a number have lost their zeros
    padded = pl.when(whole).then(pl.col("text").str.zfill(3)).otherwise("text")
    runs = texts.to_frame("text").select(run=padded.str.extract_all(r"\d+")).with_row_index().explode("run")
    long = runs.filter(pl.col("run").str.len_chars() > 3)["index"].n_unique()
    yield "B", long, "more than three digits of a ZIP code"
    sparse = runs.filter(pl.col("run").is_in(SPARSE_ZIPS))["index"].n_unique()
    yield "B", sparse, "three digits of a ZIP code where 20,000 people or fewer live"


def _dates(name: str, cells: pl.Series, texts: pl.Series, year: int) -> _Found:
    """Days, months and times, however they are written; birth years and ages of people over 89."""
    words = words_of(name)
    if cells.dtype in (pl.Date, pl.Datetime):
        is_year = cells.dt.truncate("1y") == cells
        if not is_year.all():
            yield "C", len(cells), "dates other than years"
        if says(name, "birth"):
            yield "C", int((cells.dt.year() < year - OLDEST).sum()), "birth years of people over 89"
        return
    for written in _COMPACT:
        fits = texts.str.contains(written)
        if fits.sum() >= NEARLY * len(texts) and len(texts) > 1:
            yield "C", int(fits.sum()), "dates other than years"
    numbers = _numbers(texts)
    if words & set(_DATED):
        n = numbers.filter(pl.col("number") >= 10_000)["index"].n_unique()
        yield "C", n, "numbers that stand for days or moments"
    if says(name, "birth") or says(name, "birth-year"):
        is_old = pl.col("number").is_between(1600, year - OLDEST - 1)
        told = numbers.filter(is_old)["index"].n_unique()
        yield "C", told, "birth years of people over 89"
    if says(name, "age"):
        n = numbers.filter(pl.col("number") > OLDEST + 1)["index"].n_unique()
        yield "C", n, "ages over 89"


def _numbers(texts: pl.Series) -> pl.DataFrame:
    """Every number of every cell: the bounds of intervals, and those of open groups such as 90+ or <1937."""
    found = texts.to_frame("text").select(number=pl.col("text").str.extract_all(_NUMBER)).with_row_index()
    return found.explode("number").with_columns(pl.col("number").cast(pl.Float64, strict=False)).drop_nulls("number")


def _by_content(texts: Mapping[str, pl.Series]) -> dict[str, list[tuple[str, int, str]]]:
    """What patterns find in texts, by column; all columns at once, for reading the patterns takes longest."""
    found: dict[str, list[tuple[str, int, str]]] = {}
    counted = [
        column.rename("text").value_counts(name="n").with_columns(column=pl.lit(name)) for name, column in texts.items()
    ]
    if not counted:
        return found
    values = pl.concat(counted).with_columns(pl.when(_IS_STATES).then(_STATELESS).otherwise("text").alias("text"))
    for label, pattern in every_pattern():
        fits = values.filter(pl.col("text").str.contains(pattern))
        for name, n in fits.group_by("column").agg(pl.col("n").sum()).rows():
            found.setdefault(name, []).append((_FOUND[label], n, RULES[_FOUND[label]]))
        if fits.height:  # what is an SSN is not a date as well
            values = values.with_columns(pl.col("text").str.replace_all(pattern, "[]"))
    return found


def _unique(cells: pl.Series, texts: pl.Series) -> _Found:
    """Columns without a meaning of their own in which nearly every record has its own value."""
    if len(texts) < ENOUGH_ROWS or cells.dtype.is_float() or cells.dtype == pl.Boolean:
        return
    share = texts.n_unique() / len(texts)
    if share == 1 or (cells.dtype == pl.String and share >= NEARLY):
        yield "R", len(texts), RULES["R"]
