"""What identifies people inside texts: patterns of what detectors look for in whole cells, and wider ones.

They are written for the regular expressions of polars, and err on the safe side: a number need not have a right check
digit to count. They miss what has no pattern: rare names, nicknames, descriptions of a person.
"""

from __future__ import annotations

from collections.abc import Iterator

from tablecloak.data.given_names import NAMES

_YEAR = r"((?:1[6-9]|20)\d{2})"
_DAY, _MONTH = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])"
_TIME = r"(?:[T ,]{1,2}\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
_ORDINAL, _OF = r"(?:st|nd|rd|th|er|\.|º)?", r"(?:(?:of|de|del) )?"
_MONTHS = (
    r"(?:jan(?:uary|uar|vier)?|feb(?:ruary|ruar|braio|rero)?|f[ée]v(?:rier)?|m[aä]r(?:ch|z|s|zo)?|a[pvb]r(?:il|ile)?|"
    r"mai|mayo|maggio|june?|juni|juin|junio|giu(?:gno)?|july?|juli|juillet|julio|lug(?:lio)?|aug(?:ust)?|ao[uû]t|"
    r"ago(?:sto)?|sept?(?:ember|embre|iembre)?|set(?:tembre)?|o[ck]t(?:ober|obre|ubre)?|ott(?:obre)?|"
    r"nov(?:ember|embre|iembre)?|de[cz](?:ember)?|d[ée]c(?:embre)?|dic(?:embre|iembre)?|enero|gen(?:naio)?)"
)
_NAMED = rf"(?:(?i:{_MONTHS})|May|MAY)"  # the month in capitals only, for it is a frequent word
# Dates with the part that is their year; of the last ones no year can be told.
DATES_WITH_YEAR = (
    rf"\b{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}{_TIME}\b",
    rf"\b\d{{1,2}}\s?[-/.]\s?\d{{1,2}}\s?[-/.]\s?{_YEAR}{_TIME}\b",
    rf"\b{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:T?\d{{4,6}}Z?)?\b",
    rf"\b{_DAY}{_ORDINAL}[\s\-/]*{_OF}(?:{_NAMED}|may)\.?,?[\s\-/]*{_OF}{_YEAR}{_TIME}\b",
    rf"\b(?:{_NAMED}|may)\.?[\s\-]+{_DAY}{_ORDINAL},?[\s\-]+{_YEAR}{_TIME}\b",
    rf"\b(?:{_NAMED}|may)\.?,?[\s\-/]*{_OF}{_YEAR}\b",
    rf"\b{_YEAR}[\s\-/]+(?:{_NAMED}|may)(?:[\s\-/]+{_DAY})?\b",
    rf"\b{_YEAR}(?:[-/](?:0[1-9]|1[0-2])|-?Q[1-4]|-?W\d{{1,2}})\b",
    rf"\b(?:Q[1-4]|{_MONTH})[ /.\-]{_YEAR}\b",
)
DATES_WITHOUT_YEAR = (
    r"\b\d{1,2}[-/.]\d{1,2}[-/.]\d{2}\b",
    rf"\b{_DAY}{_ORDINAL}[\s\-/]*{_OF}{_NAMED}(?:[\s\-/.]+'?\d{{2}})?\b",
    rf"\b{_NAMED}\.?[\s\-]+{_DAY}{_ORDINAL}\b",
    rf"\b{_DAY}\.(?:0?[1-9]|1[0-2])\.",
)
# What is found before dates, which would take it for one, and after them.
BEFORE_DATES = (
    ("URL", r"(?i)\b(?:(?:https?|ftp)://|www\.)[^\s<>\x22']+"),
    ("EMAIL", r"[^\s@<>(),;:\x22\[\]]+@[^\s@<>(),;:\x22\[\]]+\.\p{L}{2,}"),
    ("ID", r"(?i)\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b"),
    ("DEVICE", r"(?i)\b[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}\b"),
    ("IP", r"\b(?:\d{1,3}\.){3}\d{1,3}\b"),
    ("IP", r"(?i)\b(?:[0-9a-f]{1,4}:){3,7}(?::|[0-9a-f]{1,4}\b)|(?i)[0-9a-f:]*::(?:[0-9a-f]{1,4}:)*[0-9a-f]{1,4}\b"),
    ("IBAN", r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b"),
    ("CARD", r"\b\d(?:[ \-]?\d){12,18}\b"),
    ("SSN", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("PLACE", r"-?\b\d{1,2}\.\d{3,}[,;]\s?-?\d{1,3}\.\d{3,}\b"),
)
_WORD = r"\p{Lu}[\p{L}'’\-]+"
_GIVEN = "|".join(sorted({form for name in NAMES for form in (name.capitalize(), name.upper())}))
_TITLE = r"(?:Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Herr|Herrn|Frau|Hr|Fr|Mme|Mlle|Monsieur|Madame|Señora?|Sra?|Sig|Dott|Don|Doña)"
_NUMBERED = r"mrn|ssn|id|member|account|acct|policy|passport|licen[cs]e|plate|vin|serial"
_STREET = "Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Square|Sq|Terrace"
_PARTICLE = r"(?:(?:de|da|di|van|von|der|del|la|bin|al|el)\s+){0,2}"
AFTER_DATES = (
    ("PHONE", r"\+\d[\d\s().\-/]{5,17}\d\b"),
    ("PHONE", r"\(?\b0\d{1,5}\)?[\s\-/.]{0,2}\d[\d\s\-/.]{3,12}\d\b"),
    ("PHONE", r"\(\d{3}\)\s?\d{3}[\s.\-]?\d{4}\b|\b\d{3,5}[ \-/.]\d{3}[ \-.]?\d{2,5}\b|\b\d{2,5}[ \-/]\d{5,9}\b"),
    ("ID", r"\b[A-Za-z]{0,6}-?\d{7,}-?[A-Za-z]{0,3}\b|\b[A-Z]{1,6}-?\d{5,}[A-Z]?\b|\b\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]\b"),
    ("ID", r"\b[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z]\b|\b[12378]\d{4}(?:\d{2}|2[AB])\d{8}\b"),
    ("ID", r"\b\d{2,3}[ .]\d{3}[ .]\d{3}[ .\-]?\d{1,3}\b"),
    ("ID", rf"(?i)\b(?:{_NUMBERED})(?: ?(?:no|nr|number|#))?\.?\s?[:#]?\s?[a-z\-]*\d[a-z0-9\-]{{2,}}\b"),
    ("ADDRESS", rf"\b\d{{1,5}}[a-z]?\s+(?:\p{{Lu}}[\p{{L}}.']*\s+){{1,4}}(?:{_STREET})\b\.?"),
    ("ADDRESS", r"\b\p{Lu}[\p{L}\-]*(?:[Ss]tra(?:ß|ss)e|str\.|weg|gasse|platz|allee)\s+\d{1,4}[a-z]?\b"),
    ("ADDRESS", r"(?i)\b\d{1,4}(?: bis)?,? (?:rue|avenue|boulevard|place|chemin|via|calle|piazza)(?: \p{L}+){1,4}\b"),
    ("PLACE", r"\b\d{5}-\d{4}\b|\b[A-Z]{2},? \d{5}\b"),
    ("AGE", r"(?i)\b(?:9\d|1[0-2]\d)[ -]?(?:years?|yrs?|y|jahre|ans|años)[ -]?(?:old|of age|o|alt)?\b"),
    ("NAME", rf"\b{_TITLE}\.?\s+{_WORD}(?:\s+{_WORD}){{0,2}}"),
    ("NAME", rf"(?:{_WORD},\s+)?\b(?:{_GIVEN})\b(?:[\s\-]+{_PARTICLE}{_WORD}){{0,2}}"),
)


def every_pattern() -> Iterator[tuple[str, str]]:
    """What is found, and its pattern, in the order in which they are looked for."""
    yield from BEFORE_DATES
    yield from (("DATE", pattern) for pattern in (*DATES_WITH_YEAR, *DATES_WITHOUT_YEAR))
    yield from AFTER_DATES
