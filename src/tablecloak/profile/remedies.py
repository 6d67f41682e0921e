"""Remedies: which technique fits one column, what a policy says then, and what is published.

The first remedy is the one that fits by itself; the others are for those who need something of the column that it does
not leave. None publishes a column as it is that names people, and none shows a cell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tablecloak.data.table import ColumnType, Role
from tablecloak.profile.column import Column
from tablecloak.profile.detector import detect
from tablecloak.profile.roles import Advice

# Text with more values than this gets groups of neighbors in the alphabet; with fewer, sets of values stay readable.
FEW_TEXTS = 500
# Dates over more years than this may also become decades.
LONG_YEARS = 10
# The last age that the HIPAA Safe Harbor rule lets be published.
LAST_AGE = 89
# Of places on the map, in degrees: about 11 km.
PLACE_DEGREES = 0.1
# Rounded numbers have about so many different values, or up to ten times as many.
FEWEST_STEPS = 20
INTERVALS = "published as intervals of the values in a group"
KEY = "env:TABLECLOAK_KEY"
AVERAGED = {"kind": "microaggregate", "k": "auto"}
DATES = (ColumnType.DATE, ColumnType.DATETIME)

_CODE = re.compile(r"\d{3,12}").fullmatch
# Encryption that keeps the format needs at least a million numbers.
_DIGITS = re.compile(r"(\d[ .()/+-]*){6,}|[+(](\d[ .()/+-]*){6,}").fullmatch
_MASKED = {"credit-card": "card", "phone": "phone", "iban": "iban", "email": "email"}
_MADE_UP = {"person-name": "name", "given-name": "name", "email": "email", "phone": "phone", "address": "street"}
_BIRTH = ("date of birth", "date, perhaps of birth")
# Detectors of columns that nobody can publish as they are, although they say nothing about what a person is called.
_TELLING = ("free-text", "coordinates")


@dataclass(frozen=True, slots=True)
class Remedy:
    """A technique for one column."""

    technique: str | None  # of the catalogue; None: nothing has to be done
    rule: str  # of the catalogue
    spec: Mapping[str, Any]  # the column in a policy
    why: str
    publishes: str
    not_from: str
    when: str = ""  # what it is needed for, as in: to join tables

    @property
    def role(self) -> Role:
        return Role(self.spec["role"])

    @property
    def kind(self) -> str | None:
        """The transform that it asks for."""
        transform = self.spec.get("transform")
        return transform["kind"] if isinstance(transform, Mapping) else transform


def remedies(column: Column, advice: Advice, *, person: str | None = None) -> tuple[Remedy, ...]:
    """What fits a column, the best first; of a column that was not looked at, by its role alone.

    Args:
        person: the column that says whose a row is, where somebody has several.
    """
    found = next(found for rule in _RULES if (found := rule(column, advice, person)))
    return tuple(_as_read(remedy, advice) for remedy in found)


def is_identifying(advice: Advice) -> bool:
    """Whether a column leads to people by itself, so that it must not be published as it is."""
    if advice.role in (Role.IDENTIFIER, Role.PERSON) or advice.looks_like == "key with repeats":
        return True
    return advice.role is Role.DROP and advice.detector in _TELLING


def publication(column: Column, advice: Advice) -> tuple[dict[str, Any], str]:
    """What a starter policy says of a column beside its role, and what is then published of it."""
    if advice.role is Role.QUASI:
        settings, how = coarser(column, advice)
        return settings, f"coarser values: {how.removeprefix('published as ')}"
    if advice.role is Role.IDENTIFIER:
        return {"transform": "drop"}, "nothing"
    if advice.role in (Role.PERSON, Role.DROP):
        return {}, "nothing"
    if is_averaged(column, advice):
        return {"transform": dict(AVERAGED)}, "the mean of at least k neighbors"
    if advice.role is Role.SENSITIVE:
        return {}, "its values; goals hide whose they are"
    return {}, "its values"


def is_averaged(column: Column, advice: Advice) -> bool:
    """Whether a number would stand for single records, so that k of them share each that is published."""
    return advice.role in (Role.SENSITIVE, Role.WEIGHT) and column.is_number and column.singles_out


def coarser(column: Column, advice: Advice) -> tuple[dict[str, Any], str]:
    """How a quasi-identifier becomes coarser, and that in words."""
    if column.type in DATES or advice.reading.get("type") == "date":
        is_long = (column.years or 0) > LONG_YEARS or advice.looks_like == "date of birth"
        levels = ["month", "year", "decade"] if is_long else ["month", "quarter", "year"]
        return {"hierarchy": {"kind": "dates", "levels": levels}}, "days become " + ", ".join(f"{x}s" for x in levels)
    if advice.detector == "postcode":
        # leading digits matter, and a number would lose leading zeros
        typed = {"type": "text"} if column.type is ColumnType.INTEGER else {}
        return {**typed, "hierarchy": {"kind": "mask", "from": "right"}}, "hidden from the right"
    if column.type.is_ordered:
        how = (
            "codes, published as sets of values; type: integer if they are amounts" if column.is_nominal else INTERVALS
        )
        return {}, how
    if column.type is ColumnType.TEXT and _is_code(column):
        return {"hierarchy": {"kind": "mask", "from": "right"}}, "hidden from the right"
    if column.type is ColumnType.TEXT and column.n_distinct > FEW_TEXTS:
        return {"hierarchy": {"kind": "order", "fanout": 10}}, "groups of ten neighbors; a tree of meanings is better"
    return {}, "published as a set of values; a hierarchy gives them names"


def other_ways(column: Column, advice: Advice, *, person: str | None = None) -> str:
    """Transforms that leave more of a column than its role does, or protect it better, in a few words; or nothing."""
    found = remedies(column, advice, person=person)
    if advice.role in (Role.IDENTIFIER, Role.PERSON):
        chosen = [remedy for remedy in found if remedy.rule in ("join", "re-contact")]
    elif advice.role is Role.DROP:
        chosen = [remedy for remedy in found if remedy.kind][:1]
    else:
        chosen = [remedy for remedy in found[:1] if remedy.kind]
    if not chosen:
        return ""
    role = "" if chosen[0].role is advice.role else f"role: {chosen[0].role}, "
    return f"{role}transform: " + ", ".join(f"{remedy.kind} {remedy.when}" for remedy in chosen)


def _is_code(column: Column) -> bool:
    return bool(column.sample) and column.share(_CODE) == 1 and len({len(text) for text in column.sample}) == 1


def _as_read(remedy: Remedy, advice: Advice) -> Remedy:
    """With the keys that make a file read rightly, where the column is published."""
    if not advice.reading or remedy.role in (Role.DROP, Role.IDENTIFIER, Role.PERSON):
        return remedy
    role, *others = remedy.spec.items()
    return replace(remedy, spec=dict([role, *advice.reading.items(), *others]))


# What becomes of columns that name people ----------------------------------------------------------------------------


def _empty(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if not column.n_rows or column.n_distinct:
        return None
    return [_left_out("content-unimportant", "every cell is empty")]


def _left_out(rule: str, why: str, *, when: str = "") -> Remedy:
    not_from = "nothing has to be hidden of it, and people may still be found by other columns"
    return Remedy("suppression", rule, {"role": "drop"}, why, "nothing of the column", not_from, when)


def _free_text(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.detector != "free-text" or advice.role not in (Role.DROP, Role.IDENTIFIER):
        return None
    redacted = Remedy(
        "redaction",
        "free-text",
        {"role": "keep", "transform": "redact"},
        "names, numbers, dates and addresses can be found by patterns and taken out",
        "the texts with [NAME], [PHONE] and the like in place of what was found",
        "what patterns miss: rare names, nicknames, places, employers, the description of a person",
        "where texts are needed and readers promise not to look for people",
    )
    return [_left_out("free-text", "it may say anything about anyone"), redacted]


def _person(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.PERSON:
        return None
    counted = Remedy(
        "suppression",
        "identifier",
        {"role": "person"},
        "rows of one person must not count as several people, so goals count persons",
        "nothing of the column; goals are about persons",
        "rows that can be recognised as those of one person by what else they show",
    )
    return [counted, _numbered(Role.PERSON), *_pseudonyms(column, advice, Role.PERSON)]


def _identifier(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.IDENTIFIER:
        return None
    return _of_identifier(column, advice)


def _of_identifier(column: Column, advice: Advice) -> list[Remedy]:
    dropped = Remedy(
        "suppression",
        "identifier",
        {"role": "identifier", "transform": "drop"},
        "it names or numbers people, and no analysis of groups needs it",
        "nothing of the column",
        "people are still found by quasi-identifiers, which is what goals are for",
    )
    numbered = [] if column.is_unique else [_numbered(Role.IDENTIFIER)]  # numbers of single rows say nothing
    return [
        dropped,
        *numbered,
        *_pseudonyms(column, advice, Role.IDENTIFIER),
        *_look_alikes(advice),
    ]


def _numbered(role: Role) -> Remedy:
    return Remedy(
        "keyed-hash-key-deleted",
        "identifier",
        {"role": str(role), "transform": "counter"},
        "random numbers of this release keep rows of one person together and lead nowhere else",
        "a number from 1 on for every value, drawn anew by every run",
        "rows of one person stay together, and what they show in common may single somebody out",
        "to see which rows belong together",
    )


def _pseudonyms(column: Column, advice: Advice, role: Role) -> Iterator[Remedy]:
    yield Remedy(
        "keyed-hash",
        "join",
        {"role": str(role), "transform": {"kind": "hmac", "key": KEY}},
        "without the key nobody computes the pseudonym of somebody",
        "32 hexadecimal digits for every value, the same in all tables under the key",
        "who has the key, or another table under it, finds people: the release is pseudonymised, not anonymous",
        "to join tables",
    )
    if column.sample and column.share(_DIGITS) == 1:
        check = {"check": "luhn"} if advice.detector == "credit-card" else {}
        yield Remedy(
            "format-preserving-encryption",
            "re-contact",
            {"role": str(role), "transform": {"kind": "ff1", "key": KEY, **check}},
            "numbers stay numbers of the same form, and the key leads back",
            "another number of the same form for every number",
            "who has the key finds everybody: the release is pseudonymised, not anonymous",
            "to find values again, in their format",
        )
        return
    yield Remedy(
        "secret-key-encryption",
        "re-contact",
        {"role": str(role), "transform": {"kind": "aes-siv", "key": KEY}},
        "only encryption leads back to a value, for those who have the key",
        "an encrypted text for every value, equal ones for equal values",
        "who has the key finds everybody: the release is pseudonymised, not anonymous",
        "to find values again",
    )


def _look_alikes(advice: Advice) -> Iterator[Remedy]:
    if advice.detector in _MADE_UP:
        yield Remedy(
            "substitution",
            "content-unimportant",
            {"role": "identifier", "transform": {"kind": "substitute", "fake": _MADE_UP[advice.detector]}},
            "something that looks the same is enough where nobody reads the values",
            "made-up values, equal ones for equal values",
            "how often a value occurs, and a made-up value that happens to be somebody's",
            "to try software on",
        )
    if advice.detector in _MASKED:
        yield Remedy(
            "character-masking",
            "content-unimportant",
            {"role": "identifier", "transform": {"kind": "mask", "format": _MASKED[advice.detector]}},
            "a few characters are enough for people who know the value",
            "a few characters of each value, all others hidden",
            "what stays visible links records and narrows people down",
            "to recognise a value by eye",
        )


def _repeated_key(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.looks_like != "key with repeats":
        return None
    why = "it repeats like a number of persons or households, whose rows it would show together"
    return [_left_out("identifier", why), _numbered(Role.IDENTIFIER)]


# What becomes of columns that say nothing about one person -----------------------------------------------------------


def _constant(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.KEEP or column.n_distinct != 1:
        return None
    detection = detect(column)
    if detection is not None and detection.match.role in (Role.IDENTIFIER, Role.DROP):
        return _of_identifier(column, replace(advice, role=Role.IDENTIFIER, detector=detection.detector))
    return [_kept("keep", "the same value everywhere tells nothing about one person")]


def _kept(role: str, why: str) -> Remedy:
    return Remedy(None, "nothing-to-hide", {"role": role}, why, "the column as it is", "nothing")


def _weight(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.WEIGHT:
        return None
    if not column.singles_out:
        return [_kept("weight", "it says how many people a record stands for, and many records share each value")]
    return [_averaged("weight", "exact weights single people out, and the mean of k neighbors keeps their sum"),
            _left_out("content-unimportant", "weights that nobody needs")]  # fmt: skip


def _unreadable(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.DROP or advice.detector not in ("decimal-comma", "written-date"):
        return None
    return [_left_out("content-unimportant", f"it cannot be read as it is: {advice.reason}")]


# What becomes of dates, ages and places ------------------------------------------------------------------------------


def _birth_date(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.QUASI or advice.looks_like not in _BIRTH:
        return None
    in_years = Remedy(
        "generalisation",
        "quasi",
        {"role": "quasi", "transform": {"kind": "truncate", "to": "year"}},
        "the year says what an age says, and nobody's birthday",
        "years of birth, made coarser where fewer than k records share one with their other columns",
        "a year and other columns that others know, unless goals count them together",
        "where years are enough",
    )
    return [_generalised(column, advice), in_years]


def _event_date(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:
    if advice.role is not Role.QUASI or not (column.type in DATES or advice.reading.get("type") == "date"):
        return None
    generalised = _generalised(column, advice)
    if person is not None:
        shifted = Remedy(
            "date-shifting",
            "persons-over-time",
            {"role": "keep", "transform": {"kind": "shift-dates", "days": 365}},
            "people have several rows, and the time between two of their dates stays exact",
            "dates that moved by a secret number of days, the same for all rows of a person",
            "who knows one true date of a person learns all of theirs; seasons and long-run trends are blurred",
            "to keep the time between dates of a person",
        )
        return [shifted, replace(generalised, when="where no date of a person may be followed to another")]
    blurred = Remedy(
        "blurify",
        "quantitative",
        {"role": "keep", "transform": {"kind": "blur", "days": 120}},
        "dates may vary where single cells need not be true; goals come first, because they hold for every record",
        "dates up to 120 days away from the true ones",
        "who knows a date roughly and other columns as well, and extreme dates",
        "where single dates need not be true",
    )
    return [generalised, blurred]


def _age(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.QUASI or advice.detector not in ("age", "birth-year"):
        return None
    is_age = advice.detector == "age"
    at = {"at": LAST_AGE} if is_age and (column.highest or 0) > LAST_AGE else {"k": "auto"}
    coded = Remedy(
        "top-and-bottom-coding",
        "oldest",
        {"role": "quasi", "transform": {"kind": "top-code" if is_age else "bottom-code", **at, "label": False}},
        "the oldest are few and known for it, so they become one group before all ages are made coarser",
        "ages up to a bound, all above as the bound, in intervals where that is needed" if is_age
        else "years from a bound on, all before as the bound, in intervals where that is needed",
        "ages below the bound together with other columns, unless goals count them together",
        "so that the oldest are one group",
    )  # fmt: skip
    return [coded, replace(_generalised(column, advice), when="where nobody is very old")]


def _coordinate(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.detector != "coordinates":
        return None
    if advice.role is not Role.QUASI or not column.is_number:
        return [_left_out("quasi", "a place on the map leads to one home")]
    rounded = Remedy(
        "rounding",
        "quasi",
        {"role": "quasi", "transform": {"kind": "round", "base": PLACE_DEGREES}},
        "a place on the map leads to one home, and a tenth of a degree to a region",
        "places to about 11 km, in intervals where that is needed",
        "regions where few people live, unless goals count them",
        "to publish regions",
    )
    return [rounded, _left_out("content-unimportant", "places that nobody needs")]


# What becomes of everything else -------------------------------------------------------------------------------------


def _generalised(column: Column, advice: Advice) -> Remedy:
    settings, how = coarser(column, advice)
    is_masked = settings.get("hierarchy", {}).get("kind") == "mask"
    return Remedy(
        "k-anonymity-suppression" if is_masked else "k-anonymity-generalisation",
        "quasi",
        {"role": "quasi", **settings},
        "others may know it, so records must share it with k - 1 others together with all such columns",
        f"the column made coarser: {how.removeprefix('published ')}",
        "what all records of a class have in common: sensitive columns need goals of their own",
    )


def _sensitive(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.SENSITIVE:
        return None
    if column.is_number:
        return _of_sensitive_number(column, advice)
    kept = Remedy(
        "l-diversity",
        "sensitive",
        {"role": "sensitive"},
        "it is what the table is about, so it stays, and every class must have several values of it",
        "the values as they are, none of which belongs to a whole class",
        "values that differ and mean the same, and values that are rare in the table: t-closeness is about those",
    )
    return [*_rare_categories(column, advice), kept]


def _rare_categories(column: Column, advice: Advice) -> Iterator[Remedy]:
    if not column.singles_out or column.type is not ColumnType.TEXT:
        return
    if advice.detector == "icd":
        yield Remedy(
            "character-masking",
            "rare-categories",
            {"role": "sensitive", "transform": {"kind": "mask", "keep_first": 3}},
            "codes that single records have become codes of a group of diseases, which more records share",
            "the first three characters of each code",
            "groups of diseases that are rare themselves",
            "so that rare codes are shared",
        )
        return
    yield Remedy(
        "pram",
        "rare-categories",
        {"role": "sensitive", "transform": {"kind": "pram", "invariant": True}},
        "categories that single records have stand for them, and chance makes it uncertain whose they are",
        "categories of which some were drawn anew, with the same frequencies on average",
        "a rare category that is seen is probably true; a hierarchy of meanings would hide it",
        "so that a rare category need not be true",
    )


def _of_sensitive_number(column: Column, advice: Advice) -> list[Remedy]:
    kept = Remedy(
        "t-closeness",
        "sensitive",
        {"role": "sensitive"},
        "different numbers may be much the same, so every class must be spread about as the table is",
        "the numbers as they are",
        "who knows the number itself; a small t leaves little to learn",
    )
    if not column.singles_out:
        return [kept, *_perturbed()]
    why = "single records have numbers of their own, and one that k records share leads to none of them"
    dropped = _left_out("content-unimportant", "a number that nobody needs", when="where nobody needs it")
    is_unknown = advice.detector in (None, "amount")
    return [_averaged("sensitive", why), *_cut(column), *_perturbed(), *([dropped] if is_unknown else [])]


def _averaged(role: str, why: str) -> Remedy:
    return Remedy(
        "microaggregation",
        "alone-on-a-number",
        {"role": role, "transform": dict(AVERAGED)},
        why,
        "the mean of at least k neighbors on the line, in place of every number",
        "who knows the number roughly and other columns as well, unless a goal is about the column",
        "so that every number is shared by k records",
    )


def _cut(column: Column) -> Iterator[Remedy]:
    """Numbers that stay true: rounded, or without a tail."""
    base = _base(column)
    if base is not None:
        yield Remedy(
            "rounding",
            "alone-on-a-number",
            {"role": "sensitive", "transform": {"kind": "round", "base": base}},
            "rounded numbers stay true and are shared by more records",
            "multiples of a base",
            "large numbers that nobody shares even then",
            "where numbers must stay true",
        )
    yield Remedy(
        "top-and-bottom-coding",
        "alone-on-a-number",
        {"role": "sensitive", "transform": {"kind": "top-code", "k": "auto", "label": False}},
        "the largest numbers are those that people are known by",
        "exact numbers up to a bound, all above as the bound",
        "numbers below the bound that single records have",
        "where only the largest are known",
    )


def _perturbed() -> Iterator[Remedy]:
    yield Remedy(
        "noise-addition",
        "quantitative",
        {"role": "sensitive", "transform": {"kind": "noise", "relative": 0.1}},
        "numbers may be changed a little where single cells need not be true; goals come first",
        "numbers with a random amount added, of a tenth of their standard deviation",
        "outliers, and columns that are correlated with it and filter the noise out",
        "where single numbers need not be true",
    )
    yield Remedy(
        "rank-swapping",
        "faithful-copy",
        {"role": "sensitive", "transform": {"kind": "rank-swap", "window": 5}},
        "all numbers of the column stay, and each moves to a record of nearly the same rank",
        "the same numbers in other records, up to 5 percent of the ranks away",
        "what a number is roughly",
        "where the distribution must stay exact",
    )


def _base(column: Column) -> float | int | None:
    """A power of ten for rounding that says no more than how large numbers are."""
    if column.lowest is None or column.highest is None:
        return None
    width = float(column.highest) - float(column.lowest)
    if not math.isfinite(width) or width <= 0:
        return None
    power = math.floor(math.log10(width / FEWEST_STEPS))
    base = 10**power
    return int(base) if power >= 0 else None if column.is_whole else float(f"1e{power}")


def _quasi(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    return [_generalised(column, advice)] if advice.role is Role.QUASI else None


def _items(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:  # noqa: ARG001
    if advice.role is not Role.ITEMS:
        return None
    return [
        Remedy(
            "k-anonymity-generalisation",
            "items",
            {"role": "items"},
            "any few items may be known, so every such few must be in k sets",
            "items made coarser until every few of them are in k sets",
            "who knows more items of a set than the goal is about",
        )
    ]


def _kept_by_choice(column: Column, advice: Advice, person: str | None) -> list[Remedy] | None:
    """A column that is published as it is, and of which nothing else is known."""
    return _quasi(column, replace(advice, role=Role.QUASI), person) if advice.role is Role.KEEP else None


def _otherwise(column: Column, advice: Advice, person: str | None) -> list[Remedy]:  # noqa: ARG001
    return [_left_out("content-unimportant", advice.reason or "it is not published")]


_Rule = Callable[[Column, Advice, str | None], list[Remedy] | None]
_RULES: tuple[_Rule, ...] = (
    _empty, _free_text, _person, _repeated_key, _identifier, _constant, _weight, _unreadable, _birth_date, _event_date,
    _age, _coordinate, _sensitive, _items, _quasi, _kept_by_choice, _otherwise,
)  # fmt: skip
