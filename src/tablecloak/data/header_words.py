"""Words of headers in eight languages: what a header says about its column."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Callable
from functools import cache
from importlib.resources import files

_Matcher = Callable[[str], object]
# Letters that no accent can be taken from.
_PLAIN = str.maketrans({"ß": "ss", "ł": "l", "ø": "o", "æ": "ae", "œ": "oe", "đ": "d", "ı": "i"})
# A word of a header of so many letters may be the beginning of a longer one.
CUT_OFF = 6
# Kinds whose columns are published with their values: half a word is not enough for that.
WHOLE_WORDS = frozenset({"health", "belief", "income", "amount", "survey-weight", "any-weight"})
# Headers that say nothing: v1, x, q12b, col_3, Unnamed: 0, 17.
_SAYS_NOTHING = re.compile(
    r"[a-z]?|[a-z]{1,2}\d+[a-z]?|\d+|(?:var|col|column|field|feature|feat|attr|attribute|item|unnamed|spalte|champ|campo"
    r"|kolom|kolumna|variable)\d*"
).fullmatch


def plain(text: str) -> str:
    """A text in lower case, without accents."""
    decomposed = unicodedata.normalize("NFKD", text.lower().translate(_PLAIN))
    return "".join(c for c in decomposed if not unicodedata.combining(c))


@cache
def words_of(name: str) -> frozenset[str]:
    """The words of a header: `dateOfBirth` and `date_of_birth` give date, of, birth and dateofbirth."""
    spaced = re.sub(r"(?<=[^\W\d_A-Z])(?=[A-Z])|(?<=[a-z0-9])(?=[A-Z])", " ", name)
    words = re.findall(r"[^\W_]+", plain(spaced))
    # digits behind a word number columns: child1, sal87
    return frozenset([*words, *(word.rstrip("0123456789") for word in words), "".join(words)]) - {""}


@cache
def says(name: str, kind: str) -> bool:
    """Whether a header has a word of that kind, in any of the languages.

    >>> says("GebDat", "birth"), says("fecha_nac", "birth"), says("Płeć", "demographic"), says("x", "birth")
    (True, True, True, False)
    """
    words = words_of(name)
    whole, patterns, pairs = _entries(kind)
    if whole & words or any(pattern(word) for pattern in patterns for word in words):
        return True
    if kind not in WHOLE_WORDS and any(word in _beginnings(kind) for word in words if len(word) >= CUT_OFF):
        return True
    return any(all(any(part(word) for word in words) for part in parts) for parts in pairs)


@cache
def says_nothing(name: str) -> bool:
    """Whether a header is a letter, a number, or a name that programs give: v1, x, column_3."""
    return _SAYS_NOTHING("".join(re.findall(r"[^\W_]+", plain(name)))) is not None


@cache
def _entries(kind: str) -> tuple[frozenset[str], tuple[_Matcher, ...], tuple[tuple[_Matcher, ...], ...]]:
    """Whole words, patterns of words, and words that must all be there."""
    every = [word for words in header_words()[kind].values() for word in words]
    whole = frozenset(word for word in every if "*" not in word and " " not in word)
    patterns = tuple(_matcher(word) for word in every if "*" in word and " " not in word)
    pairs = tuple(tuple(_matcher(part) for part in word.split()) for word in every if " " in word)
    return whole, patterns, pairs


@cache
def _beginnings(kind: str) -> frozenset[str]:
    """Words of the kind without their last one to three letters, for headers that were cut off: `latitu`."""
    every = [word for words in header_words()[kind].values() for word in words if " " not in word]
    whole = [word.removesuffix("*") for word in every if not word.startswith("*")]
    return frozenset(word[:-n] for word in whole for n in (1, 2, 3))


def _matcher(word: str) -> _Matcher:
    """Whether a word is this one, whose `*` stand for any letters; hundreds of regular expressions compile too long."""
    first, *inner = word.split("*")
    if not inner:
        return word.__eq__
    last = inner.pop()

    def fits(text: str) -> bool:
        at, end = len(first), len(text) - len(last)
        if at > end or not (text.startswith(first) and text.endswith(last)):
            return False
        for part in inner:
            at = text.find(part, at, end) + len(part)
            if at < len(part):
                return False
        return True

    return fits


@cache
def header_words() -> dict[str, dict[str, list[str]]]:
    """The words by kind and language."""
    text = (files("tablecloak.data") / "header_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
