"""ff1: digits stay digits, dashes stay dashes, and the key leads back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.transforms._ff1 import FEWEST_NUMERALS, FF1, shortest
from tablecloak.transforms._pseudonyms import Replaced, Reversible, key_for
from tablecloak.transforms.base import Family, Fitting, Key, by_value, texts_of, transform

DIGITS = "0123456789"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ALPHABETS = {"digits": DIGITS, "alphanumeric": DIGITS + UPPER + UPPER.lower()}
AT_ONCE = 1 << 14  # texts that are looked at together: so many stay near the processor


@transform("ff1", Family.PSEUDONYM, types=(ColumnType.TEXT, ColumnType.INTEGER))
class Ff1(Reversible):
    """A number of the same form stands for a number: digits stay digits, dashes and spaces stay where they are.

    Cells show their length and what stands between digits. Another key leads back to other numbers, and nobody is told.

    Reference: FF1, NIST SP 800-38G (2016), with at least a million numerals as revision 1 (2025) asks.
    """

    knows_its_key = False

    alphabet: Annotated[
        str,
        Field(min_length=2, description="digits, alphanumeric (digits, A to Z, a to z), or the characters themselves"),
    ] = "digits"
    check: Annotated[
        Literal["luhn"] | None, Field(description="luhn: the last digit is a check digit, and stays a right one")
    ] = None

    @model_validator(mode="after")
    def _is_alphabet(self) -> Self:
        if len(set(self.characters)) < len(self.characters):
            raise ValueError("alphabet is digits, alphanumeric, or different characters")
        if self.check and self.characters != DIGITS:
            raise ValueError("check: luhn is for digits, and alphabet has other characters")
        return self

    @property
    def characters(self) -> str:
        return ALPHABETS.get(self.alphabet, self.alphabet)

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT  # in which zeros at the beginning stay

    def fit(self, fitting: Fitting) -> CellStep:
        odd = fitting.counts(_IsUnfit(self._form, fitting.type))
        unfit = self._form.unfit(texts_of(odd["value"], fitting.type))
        self._form.refuse(unfit, f"column '{fitting.column}'", odd["n"].to_numpy())
        return Replaced(self._permuted(fitting.column, fitting.key, is_undone=False), fitting.type)

    def undo(self, column: str, key: Key) -> CellStep:
        return Replaced(self._permuted(column, key, is_undone=True), ColumnType.TEXT)

    def _permuted(self, column: str, key: Key | None, *, is_undone: bool) -> _Permuted:
        domain = self.domain or column
        cipher = FF1(len(self.characters), key_for(key, "ff1", domain), domain.encode())
        return _Permuted(self._form, cipher, is_undone)

    @property
    def _form(self) -> _Form:
        return _Form(self.characters, has_check=self.check is not None)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        unfit = by_value(cells.cast(pl.String), lambda texts: pl.Series(self._form.unfit(texts).any(axis=0)))
        return unfit.fill_null(value=False)


@dataclass(frozen=True, slots=True)
class _Form:
    """What texts must look like."""

    characters: str  # of the alphabet
    has_check: bool

    @property
    def fewest(self) -> int:
        return shortest(len(self.characters)) + self.has_check

    def unfit(self, texts: pl.Series) -> NDArray[np.bool_]:
        """(3, n) texts that are too short, hold letters that would stay as they are, have a wrong check digit."""
        unfit = [self.unfit_of(_Numerals.of(part, self.characters)) for part in _parts(texts)]
        return np.hstack([np.zeros((3, 0), bool), *unfit])

    def unfit_of(self, numerals: _Numerals) -> NDArray[np.bool_]:
        """(3, n) the same of texts that were looked at."""
        is_short = numerals.n_digits < self.fewest
        is_wrong = np.zeros_like(is_short)
        if self.has_check:
            for rows, digits in numerals.by_length():
                if digits.shape[1] >= self.fewest:
                    is_wrong[rows] = digits[:, -1] != check_digits(digits[:, :-1])
        return np.stack([is_short, numerals.has_letters, is_wrong])

    def refuse(self, unfit: NDArray[np.bool_], whose: str, times: IntArray | None = None) -> None:
        """Raise DataError for texts that cannot be changed, saying how many; `times` is how often each occurs."""
        if not unfit.any():
            return
        times = np.ones(unfit.shape[1], np.int64) if times is None else times
        few = f"have fewer than {self.fewest} characters of the alphabet: fewer than {FEWEST_NUMERALS:,} are soon tried"
        reasons = [
            (few, "hmac or aes-siv; or alphabet: alphanumeric, if they hold letters"),
            (
                "hold letters or digits outside the alphabet, which would stay",
                "alphabet: alphanumeric, or a longer one",
            ),
            ("have a wrong check digit, which nothing would lead back to", "leave out check: luhn"),
        ]
        for is_unfit, (reason, hint) in zip(unfit, reasons, strict=True):
            if is_unfit.any():
                cells, different = int(times[is_unfit].sum()), int(is_unfit.sum())
                raise DataError(f"{whose}: {cells:,} cells ({different:,} different ones) {reason}", hint=hint)


@dataclass(frozen=True, slots=True)
class _IsUnfit:
    form: _Form
    type: ColumnType

    def __call__(self, cells: pl.Series) -> pl.Series:
        return pl.Series(self.form.unfit(texts_of(cells, self.type)).any(axis=0))


@dataclass(frozen=True, slots=True)
class _Permuted:
    """Texts whose digits others of the same number take the place of."""

    form: _Form
    cipher: FF1
    is_undone: bool

    def __call__(self, texts: pl.Series) -> pl.Series:
        made: list[str] = []
        unfit = [np.zeros((3, 0), bool)]
        for part in _parts(texts):
            numerals = _Numerals.of(part, self.form.characters)
            unfit.append(self.form.unfit_of(numerals))
            made += [] if unfit[-1].any() else self._made(numerals)
        self.form.refuse(np.hstack(unfit), "ff1")
        return pl.Series(texts.name, made, pl.String)

    def _made(self, numerals: _Numerals) -> list[str]:
        parts = [(rows, self._changed(digits)) for rows, digits in numerals.by_length()]
        if numerals.are_plain and len(parts) == 1:
            return numerals.read(parts[0][1])
        made = np.empty_like(numerals.digits)
        for rows, changed in parts:
            made[numerals.places(rows)] = changed
        return numerals.written(made)

    def _changed(self, digits: IntArray) -> IntArray:
        change = self.cipher.decrypted if self.is_undone else self.cipher.encrypted
        if not self.form.has_check:
            return change(digits)
        changed = change(digits[:, :-1])
        return np.hstack([changed, check_digits(changed)[:, None]])


def check_digits(digits: IntArray) -> IntArray:
    """(n,) the digits that end numbers so that they pass the check of Luhn (ISO/IEC 7812-1, annex B)."""
    added = digits.copy()
    added[:, ::-1][:, ::2] *= 2  # every other one, from the last
    added[added > 9] -= 9  # the sum of both digits
    check: IntArray = -added.sum(axis=1) % 10
    return check


@dataclass(frozen=True, slots=True, eq=False)
class _Numerals:
    """Texts as digits of an alphabet, and what stands between them."""

    characters: str
    codes: NDArray[np.uint32]  # (n_characters,) of all texts, one after the other
    ends: IntArray  # (n_texts,) where each of them ends
    is_digit: NDArray[np.bool_]  # (n_characters,) whether it is in the alphabet
    digits: NDArray[np.int32]  # (n_all_digits,) those of all texts
    n_digits: IntArray  # (n_texts,)
    has_letters: NDArray[np.bool_]  # (n_texts,) or digits that the alphabet does not have

    @classmethod
    def of(cls, texts: pl.Series, characters: str) -> _Numerals:
        codes = _codes(texts.str.join().item())
        lengths = texts.str.len_chars().to_numpy().astype(np.int64)
        ends = np.cumsum(lengths)
        own = _codes(characters)
        digit_of = np.full(int(max(own.max(), codes.max(initial=0))) + 1, -1, np.int32)
        digit_of[own] = np.arange(len(characters))
        digits = digit_of[codes]
        is_digit = digits >= 0
        if is_digit.all():
            return cls(characters, codes, ends, is_digit, digits, lengths, np.zeros(len(ends), bool))
        letters = [code for code in np.unique(codes[~is_digit]).tolist() if chr(code).isalnum()]
        has_letters = _sums(np.isin(codes, letters), ends) > 0 if letters else np.zeros(len(ends), bool)
        return cls(characters, codes, ends, is_digit, digits[is_digit], _sums(is_digit, ends), has_letters)

    def by_length(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Texts with equally many digits: which ones, and (n, length) their digits."""
        lengths = np.unique(self.n_digits).tolist()
        if len(lengths) == 1:
            yield np.arange(len(self.n_digits)), self.digits.reshape(len(self.n_digits), lengths[0]).astype(np.int64)
            return
        for length in lengths:
            rows = np.flatnonzero(self.n_digits == length)
            yield rows, self.digits[self.places(rows)].astype(np.int64)

    def places(self, rows: IntArray) -> IntArray:
        """(n, length) where the digits of texts of one length are."""
        starts = np.cumsum(self.n_digits) - self.n_digits
        places: IntArray = starts[rows][:, None] + np.arange(self.n_digits[rows[0]])
        return places

    @property
    def are_plain(self) -> bool:
        """They are digits and nothing else, and no digit is what ends a text."""
        return bool(self.is_digit.all()) and "\0" not in self.characters

    def read(self, digits: IntArray) -> list[str]:
        """(n, length) digits as texts, which are all of one length."""
        codes = _codes(self.characters)[digits]
        texts: list[str] = codes.view(f"<U{codes.shape[1]}")[:, 0].tolist()
        return texts

    def written(self, digits: NDArray[np.int32]) -> list[str]:
        """The same texts with other digits."""
        codes = self.codes.copy()
        codes[self.is_digit] = _codes(self.characters)[digits]
        joined, ends = codes.tobytes().decode("utf-32-le"), self.ends.tolist()
        return [joined[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _parts(texts: pl.Series) -> Iterator[pl.Series]:
    return (texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE))


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def _sums(flags: NDArray[np.bool_], ends: IntArray) -> IntArray:
    """How many flags each stretch has, given where stretches end."""
    total = np.concatenate([[0], np.cumsum(flags)])
    return np.diff(total[ends], prepend=0)
