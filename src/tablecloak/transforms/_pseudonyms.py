"""What pseudonyms have in common: a key, a domain that separates uses of it, and what they stand for."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import Field, field_validator

from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.frames import column_type
from tablecloak.policy.secrets import split_place
from tablecloak.rng import Secret
from tablecloak.transforms.base import Fitting, Key, Transform, by_value, texts_of

BLOCK_BYTES = 64  # of SHA-256
_is_place = re.compile(r"(env|file):.+").fullmatch
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"  # of base32: no two look alike, and no spreadsheet takes them for numbers


class Keyed(Transform):
    """Stands for a value; the same key and domain give the same pseudonyms in other tables and releases."""

    is_drawn = True

    key: Annotated[
        str | None,
        Field(pattern=r"^(env|file):.+", description="where the key is, as env:NAME, file:PATH or file:PATH#ID"),
    ] = None
    domain: Annotated[
        str | None, Field(min_length=1, description="where it and the key are the same, columns join; else its name")
    ] = None

    @field_validator("key", mode="before")
    @classmethod
    def _is_reference(cls, value: Any) -> Any:
        # what was written in place of a reference may be a key, and reaches no message
        if value is not None and not (isinstance(value, str) and _is_place(value)):
            raise ValueError("a key must not be written in a policy; say where it is: env:NAME or file:PATH")
        return value

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.key is None else files_of_place(self.key)


class Reversible(Keyed):
    """Stands for a value, and leads back to it with the key."""

    is_reversible = True
    knows_its_key: ClassVar[bool]  # another key is found out, instead of leading to other values

    @abstractmethod
    def undo(self, column: str, key: Key) -> CellStep:
        """How published cells become texts of what they stand for; the step raises DataError where that fails."""

    def warnings(self, fitting: Fitting) -> list[str]:
        if fitting.is_key_kept:
            return []
        named = f"columns.{fitting.column}.transform.key: file:PATH, or a secret"
        return [f"its key is drawn for this run and thrown away, so nobody can restore it later; name one: {named}"]


class Grouping(Transform):
    """Stands for a value, or for those of several columns together."""

    with_: Annotated[
        tuple[str, ...],
        Field(alias="with", description="other columns: one pseudonym stands for this one and them together"),
    ] = ()

    @field_validator("with_")
    @classmethod
    def _are_different(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(names)) < len(names):
            raise ValueError("names a column twice")
        return names

    def needs(self, person: str | None) -> tuple[str, ...]:  # noqa: ARG002
        return self.with_

    def texts(self, fitting: Fitting) -> pl.Series:
        """What pseudonyms have to stand for: different texts, none missing, in an order that rows do not change."""
        if fitting.column in self.with_:
            message = f"column '{fitting.column}' is in a group with itself"
            raise IncompatibleChoice(message, hint=f"columns.{fitting.column}.transform.with: name other columns")
        if not self.with_:
            return texts_of(fitting.counts()["value"], fitting.type)
        rows = fitting.rows([fitting.column, *self.with_])
        return group_texts(rows.get_columns()).drop_nulls().unique().sort()

    def step(self, pseudonyms: Callable[[pl.Series], pl.Series], fitting: Fitting) -> CellStep:
        """The step that puts pseudonyms in place of what they stand for."""
        return Replaced(pseudonyms, fitting.type, self.with_)


@dataclass(frozen=True, slots=True, eq=False)
class Replaced:
    """A step that puts a pseudonym in place of a value, or of those of several columns; missing ones stay missing."""

    pseudonyms: Callable[[pl.Series], pl.Series]  # of different texts
    type: ColumnType
    with_: tuple[str, ...] = ()

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        if not self.with_:
            return by_value(cells, lambda values: self.pseudonyms(texts_of(values, self.type)))
        others = [rows.beside[name] for name in self.with_]
        return by_value(group_texts([cells, *others]), self.pseudonyms).alias(cells.name)


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Pseudonyms from a list."""

    texts: pl.Series
    pseudonyms: pl.Series

    def __call__(self, texts: pl.Series) -> pl.Series:
        known = pl.DataFrame({"text": self.texts, "made": self.pseudonyms})
        made = pl.DataFrame({"text": texts}).join(known, on="text", how="left", maintain_order="left")["made"]
        if made.null_count():
            message = f"{made.null_count():,} values were not there when pseudonyms were given"
            raise DataError(message, hint="the data changed during the run: run it again")
        return made.alias(texts.name)


def hmac_digests(key: bytes, texts: Sequence[str]) -> list[bytes]:
    """HMAC-SHA-256 of texts, by the definition of RFC 2104: Python's own sets up the key every time, at three times
    the cost.
    """
    key = (key if len(key) <= BLOCK_BYTES else sha256(key).digest()).ljust(BLOCK_BYTES, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in key) for pad in (0x36, 0x5C))
    return [sha256(outer + sha256(inner + text.encode()).digest()).digest() for text in texts]


def group_texts(columns: Sequence[pl.Series]) -> pl.Series:
    """Cells of several columns as one text, from which each can be told; missing where all are missing.

    A cell is its number of bytes, a colon and itself; a missing one is a dash.
    """
    texts = [texts_of(each, column_type(each.name, each.dtype)).alias(str(i)) for i, each in enumerate(columns)]
    cells = [pl.col(text.name) for text in texts]
    parts = [pl.concat_str(cell.str.len_bytes().cast(pl.String), pl.lit(":"), cell).fill_null("-") for cell in cells]
    is_missing = pl.all_horizontal(cell.is_null() for cell in cells)
    return pl.DataFrame(texts).select(pl.when(~is_missing).then(pl.concat_str(parts)).alias("text"))["text"]


def first_of_group(text: str) -> str | None:
    """The first cell of what `group_texts` made one text of.

    >>> first_of_group("4:Anna-2:17"), first_of_group("-2:17")
    ('Anna', None)
    """
    if text.startswith("-"):
        return None
    length, _, rest = text.partition(":")
    return rest.encode()[: int(length)].decode()


def equal_parts(text: str, length: int) -> list[str]:
    """A text cut into parts of one length."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def files_of_place(place: str) -> tuple[str, ...]:
    """The file that a place of keys is, if it is one."""
    kind, _, name = split_place(place)[0].partition(":")
    return (name,) if kind == "file" else ()


def key_for(key: Key | None, use: str, domain: str) -> bytes:
    """32 bytes for the pseudonyms of one kind and domain; they tell nothing about those of another."""
    assert key is not None
    return Secret(key.material).derived(f"{use} pseudonyms of {domain}")
