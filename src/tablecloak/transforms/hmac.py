"""hmac: keyed digests, which nobody without the key can compute or undo."""

from __future__ import annotations

import hmac as stdlib_hmac
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import Step
from tablecloak.data.table import ColumnType
from tablecloak.transforms._pseudonyms import Pseudonym, key_for
from tablecloak.transforms.base import ByValue, Family, Fitting, texts_of, transform


@transform("hmac", Family.PSEUDONYM)
class Hmac(Pseudonym):
    """A keyed digest stands for a value: equal values get equal pseudonyms, wherever the key and domain are the same.

    Reference: HMAC with SHA-256, RFC 2104 and 4231.
    """

    length: Annotated[int, Field(ge=8, le=64, description="hexadecimal digits of a pseudonym")] = 32

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> Step:
        return ByValue(_Digest(key_for(fitting, self.domain), self.length, fitting.type))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return ~cells.cast(pl.String).str.contains(rf"^[0-9a-f]{{{self.length}}}$").fill_null(value=True)


@dataclass(frozen=True, slots=True)
class _Digest:
    key: bytes = field(repr=False)
    length: int
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        digest = partial(stdlib_hmac.digest, self.key, digest="sha256")
        texts = texts_of(values, self.type).to_list()
        return pl.Series(values.name, [digest(text.encode()).hex()[: self.length] for text in texts], pl.String)
