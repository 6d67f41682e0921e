"""hmac: keyed digests, which nobody without the key can compute or undo."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import polars as pl
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.transforms._pseudonyms import Grouping, Keyed, hmac_digests, key_for
from tablecloak.transforms.base import Family, Fitting, transform

RARE = 1e-12  # a chance that two values get one digest below which nobody looks


@transform("hmac", Family.PSEUDONYM)
class Hmac(Keyed, Grouping):
    """A keyed digest stands for a value: equal values get equal pseudonyms, wherever the key and domain are the same.

    Reference: HMAC with SHA-256, RFC 2104 and 4231.
    """

    length: Annotated[int, Field(ge=8, le=64, description="hexadecimal digits of a pseudonym")] = 32

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        use = "hmac" if not self.with_ else f"hmac of {1 + len(self.with_)} columns"
        digest = _Digest(key_for(fitting.key, use, self.domain or fitting.column), self.length)
        if fitting.n_rows**2 / 2.0 ** (4 * self.length + 1) > RARE:
            self._refuse_equal(digest, fitting)
        return self.step(digest, fitting)

    def _refuse_equal(self, digest: _Digest, fitting: Fitting) -> None:
        texts = self.texts(fitting)
        n_merged = len(texts) - digest(texts).n_unique()
        if n_merged:
            raise DataError(
                f"column '{fitting.column}': digests of {self.length} digits are too short for {len(texts):,} "
                f"different values: {n_merged:,} of them would get the pseudonym of another",
                hint=f"columns.{fitting.column}.transform.length: {min(64, 2 * self.length)}",
            )

    def faults(self, cells: pl.Series) -> pl.Series | None:
        return ~cells.cast(pl.String).str.contains(rf"^[0-9a-f]{{{self.length}}}$").fill_null(value=True)


@dataclass(frozen=True, slots=True)
class _Digest:
    key: bytes = field(repr=False)
    length: int

    def __call__(self, texts: pl.Series) -> pl.Series:
        made = [digest.hex() for digest in hmac_digests(self.key, texts.to_list())]
        return pl.Series(texts.name, made, pl.String).str.head(self.length)
