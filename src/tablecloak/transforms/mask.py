"""mask: part of a text is hidden."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import polars as pl
from pydantic import Field, field_validator, model_validator

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.transforms.base import ByValue, Family, Fitting, Transform, texts_of, transform

HIDDEN = 5  # characters that stand for what is hidden where its length is hidden too
KEPT = "#"  # of a pattern: the character at this place stays
_SEPARATOR, _SYMBOL = r"[\s\-./()+]", r"[^\s\-./()+]"
_ANY, _NOTHING = r"[\s\S]", r"[^\s\S]"


@dataclass(frozen=True, slots=True)
class _Format:
    """What is kept of numbers of one kind, and how many digits or letters they have at least."""

    keep_first: int
    keep_last: int
    most_first: int  # that may be asked for
    most_last: int
    at_least: int


_FORMATS = {
    "card": _Format(0, 4, 6, 4, 12),  # first 6 and last 4: what PCI DSS allows to show
    "phone": _Format(3, 0, 6, 4, 7),
    "iban": _Format(2, 4, 4, 4, 15),
}


@transform("mask", Family.COVER)
class Mask(Transform):
    """Part of a text is hidden: 4346 6454 0020 5379 as 4346 XXXX XXXX 5379.

    Characters are those of Unicode. A value of no more characters than are kept is hidden wholly, and so is one that
    does not have the length of the pattern or is not written in the format. The length of what is hidden tells
    something, too: `length: fixed` hides it. What stays visible is published: masked columns still link records.

    Formats: `card` keeps the last four digits, `phone` the first three, `iban` the country and the last four, all with
    their separators; `email` the first letter and the ending of the domain, as in a***@***.org.
    """

    char: Annotated[str, Field(min_length=1, max_length=1, description="what stands for a hidden character")] = "*"
    keep_first: Annotated[int | None, Field(ge=0, le=100, description="characters that stay at the beginning")] = None
    keep_last: Annotated[int | None, Field(ge=0, le=100, description="characters that stay at the end")] = None
    keep_separators: Annotated[
        bool, Field(description="spaces and - . / ( ) + stay, and do not count as characters that are kept")
    ] = False
    pattern: Annotated[
        str | None, Field(min_length=1, description="# keeps the character at its place, all others are published")
    ] = None
    format: Annotated[Literal["card", "phone", "email", "iban"] | None, Field(description="how values are written")] = (
        None
    )
    length: Annotated[
        Literal["kept", "fixed"], Field(description="fixed: five characters stand for what is hidden, however long")
    ] = "kept"

    @field_validator("char")
    @classmethod
    def _hides(cls, char: str) -> str:
        if re.fullmatch(rf"\d|{_SEPARATOR}|{KEPT}", char):
            raise ValueError("a digit, a separator or # looks like a part of the value; use * or X")
        return char

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        counts = self.keep_first is not None or self.keep_last is not None or self.keep_separators
        if self.pattern is not None and (counts or self.format or self.length == "fixed"):
            raise ValueError("pattern says everything; it goes with char alone")
        if self.pattern is not None and set(self.pattern) <= {KEPT}:
            raise ValueError("the pattern hides nothing")
        if self.format == "email" and (counts or self.length == "fixed"):
            raise ValueError("format: email says what is kept; it goes with char alone")
        if self.length == "fixed" and (self.keep_separators or self.format):
            raise ValueError("kept separators tell the length; length: fixed goes without them and without format")
        limits = _FORMATS.get(self.format or "")
        if limits and ((self.keep_first or 0) > limits.most_first or (self.keep_last or 0) > limits.most_last):
            raise ValueError(
                f"of a {self.format} at most {limits.most_first} first and {limits.most_last} last are kept"
            )
        return self

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        return ByValue(_Masked(self, fitting.type))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        fits = rf"^(?:{self._written()})$"
        return ~cells.cast(pl.String).str.contains(fits).fill_null(value=True)

    def masked(self, texts: pl.Series) -> pl.Series:
        """Texts, none missing, with their parts hidden."""
        frame = pl.DataFrame({"text": texts})
        text = pl.col("text")
        if self.format == "email":
            shown = _Email(self.char)
            masked = pl.when(text.str.contains(shown.find)).then(text.str.replace(shown.find, shown.show))
            return frame.select(masked.otherwise(pl.lit(self.char * HIDDEN))).to_series()
        if self.pattern is not None:
            fits = text.str.len_chars() == len(self.pattern)
            hidden = self.pattern.replace(KEPT, self.char)
            return frame.select(pl.when(fits).then(self._by_pattern(text)).otherwise(pl.lit(hidden))).to_series()
        return frame.select(self._by_counts(text)).to_series()

    def _by_pattern(self, text: pl.Expr) -> pl.Expr:
        parts = [
            text.str.slice(match.start(), len(match[0])) if match[0][0] == KEPT else pl.lit(match[0])
            for match in re.finditer(rf"{KEPT}+|[^{KEPT}]+", self.pattern or "")
        ]
        return pl.concat_str(parts)

    def _by_counts(self, text: pl.Expr) -> pl.Expr:
        first, last, at_least = self._counts
        separator, symbol = self._classes
        n_symbols = text.str.count_matches(symbol)
        head = text.str.extract(rf"^((?:{separator}*{symbol}){{{first}}})")
        tail = text.str.extract(rf"((?:{symbol}{separator}*){{{last}}})$")
        begin = head.str.len_chars()
        middle = text.str.slice(begin, text.str.len_chars() - begin - tail.str.len_chars())
        if self.length == "fixed":
            middle, whole = pl.lit(self.char * HIDDEN), pl.lit(self.char * HIDDEN)
        else:
            middle, whole = middle.str.replace_all(symbol, self._literal), text.str.replace_all(_ANY, self._literal)
        is_enough = (n_symbols > first + last) & (n_symbols >= at_least)
        return pl.when(is_enough).then(pl.concat_str(head, middle, tail)).otherwise(whole)

    @property
    def _literal(self) -> str:
        return self.char.replace("$", "$$")

    @property
    def _counts(self) -> tuple[int, int, int]:
        """Symbols kept at the beginning and at the end, and how many there must be at least."""
        kept = _FORMATS.get(self.format or "", _Format(0, 0, 0, 0, 0))
        first = kept.keep_first if self.keep_first is None else self.keep_first
        return first, kept.keep_last if self.keep_last is None else self.keep_last, kept.at_least

    @property
    def _classes(self) -> tuple[str, str]:
        """Patterns of separators that stay, and of what is hidden."""
        return (_SEPARATOR, _SYMBOL) if self.keep_separators or self.format else (_NOTHING, _ANY)

    def _written(self) -> str:
        """The pattern of all that it makes."""
        char = re.escape(self.char)
        if self.format == "email":
            return rf"[\s\S]{char}{{3}}@{char}{{3}}\.[A-Za-z]{{2,}}|{char}{{{HIDDEN}}}"
        if self.pattern is not None:
            return "".join(_ANY if place == KEPT else re.escape(place) for place in self.pattern)
        first, last, _ = self._counts
        separator, symbol = self._classes
        head, tail = rf"(?:{separator}*{symbol}){{{first}}}", rf"(?:{symbol}{separator}*){{{last}}}"
        if self.length == "fixed":
            return rf"{head}{char}{{{HIDDEN}}}{tail}|{char}{{{HIDDEN}}}"
        return rf"{head}(?:{char}|{separator})*{char}(?:{char}|{separator})*{tail}|{char}*"


@dataclass(frozen=True, slots=True)
class _Masked:
    chosen: Mask
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        return self.chosen.masked(texts_of(values, self.type)).alias(values.name)


class _Email:
    """An e-mail address, and what is shown of it."""

    def __init__(self, char: str) -> None:
        hidden = char.replace("$", "$$") * 3
        self.find = r"^([^@\s])[^@\s]*@[^@\s]+(\.[A-Za-z]{2,})$"
        self.show = f"${{1}}{hidden}@{hidden}${{2}}"
