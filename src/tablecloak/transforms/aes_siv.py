"""aes-siv: encrypted values, equal ones alike, which the key leads back to."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.rng import Secret
from tablecloak.transforms._pseudonyms import LETTERS, Replaced, Reversible, equal_parts, key_for
from tablecloak.transforms._siv import BLOCK_BYTES, sealed
from tablecloak.transforms.base import Family, Fitting, Key, transform

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

AT_ONCE = 1 << 14  # values that are sealed together: so many stay near the processor
# The two letters of every ten bits.
_PAIRS = np.frombuffer("".join(a + b for a in LETTERS for b in LETTERS).encode(), np.uint16)
FEWEST_LETTERS = 52  # of a pseudonym: the seal and a block, five bits each


@transform("aes-siv", Family.PSEUDONYM)
class AesSiv(Reversible):
    """An encrypted value stands for a value: equal ones get equal pseudonyms, and who has the key finds the values.

    Pseudonyms tell the length of a value only in steps of 16 bytes. Another key, or a changed pseudonym, is refused.

    Reference: AES-SIV with 256-bit keys, RFC 5297; the domain is its associated data. Base32, RFC 4648.
    """

    knows_its_key = True

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        return Replaced(_Sealed(*self._secrets(fitting.column, fitting.key)), fitting.type)

    def undo(self, column: str, key: Key) -> CellStep:
        return Replaced(_Opened(*self._secrets(column, key)), ColumnType.TEXT)

    def _secrets(self, column: str, key: Key | None) -> tuple[bytes, bytes]:
        domain = self.domain or column
        secret = Secret(key_for(key, "aes-siv", domain))
        return secret.derived("mac") + secret.derived("encryption"), domain.encode()

    def faults(self, cells: pl.Series) -> pl.Series | None:
        is_own = cells.cast(pl.String).str.contains(f"^[{LETTERS}]{{{FEWEST_LETTERS},}}$")
        return ~is_own.fill_null(value=True)


@dataclass(frozen=True, slots=True)
class _Sealed:
    key: bytes = field(repr=False)
    domain: bytes

    def __call__(self, texts: pl.Series) -> pl.Series:
        made = [""] * len(texts)
        for rows, ended in _by_length(texts):
            for row, text in zip(rows.tolist(), base32(sealed(self.key, self.domain, ended)), strict=True):
                made[row] = text
        return pl.Series(texts.name, made, pl.String)


def _by_length(texts: pl.Series) -> Iterator[tuple[IntArray, NDArray[np.uint8]]]:
    """Texts with a mark of their end, filled up to whole blocks: which ones have one length, some at once, and they."""
    blocks = texts.str.len_bytes().to_numpy() // BLOCK_BYTES + 1
    for n_blocks in np.unique(blocks).tolist():
        rows = np.flatnonzero(blocks == n_blocks)
        for start in range(0, len(rows), AT_ONCE):
            part = rows[start : start + AT_ONCE]
            ended = [text.encode() + b"\x80" for text in texts[part].to_list()]
            joined = b"".join(text.ljust(n_blocks * BLOCK_BYTES, b"\0") for text in ended)
            yield part, np.frombuffer(joined, np.uint8).reshape(len(part), -1)


@dataclass(frozen=True, slots=True)
class _Opened:
    key: bytes = field(repr=False)
    domain: bytes

    def __call__(self, texts: pl.Series) -> pl.Series:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV

        siv = AESSIV(self.key)
        opened = [self._opened(siv, text) for text in texts.to_list()]
        n_failed = opened.count(None)
        if n_failed:
            raise DataError(
                f"{n_failed:,} of {len(texts):,} different pseudonyms cannot be opened: "
                "the key or the domain is another, or they were changed",
                hint="--key PLACE#ID names the key that was used then",
            )
        return pl.Series(texts.name, opened, pl.String)

    def _opened(self, siv: AESSIV, text: str) -> str | None:
        from cryptography.exceptions import InvalidTag

        try:
            seal = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
            plain = siv.decrypt(seal, [self.domain])
        except (ValueError, InvalidTag):
            return None
        # bits behind the last byte are not sealed
        return plain.rstrip(b"\0")[:-1].decode() if base32(np.frombuffer(seal, np.uint8)[None]) == [text] else None


def base32(values: NDArray[np.uint8]) -> list[str]:
    """(n, n_bytes) values as letters and digits, five bits each, without padding."""
    length = values.shape[1]
    fives = np.pad(values, ((0, 0), (0, -length % 5))).reshape(len(values), -1, 5).astype(np.uint64)
    words = np.zeros(fives.shape[:2], np.uint64)  # of 40 bits
    for i in range(5):
        words = (words << np.uint64(8)) | fives[:, :, i]
    pairs = np.stack([_PAIRS[(words >> np.uint64(shift)) & np.uint64(1023)] for shift in (30, 20, 10, 0)], axis=2)
    letters = pairs.view(np.uint8).reshape(len(values), -1)[:, : -(-8 * length // 5)]
    return equal_parts(letters.tobytes().decode(), letters.shape[1])
