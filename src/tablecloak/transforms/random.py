"""random: tokens that stand in no relation to values; only a vault, if one is kept, knows which is whose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, PolicyError
from tablecloak.io.atomic import Outputs, writing
from tablecloak.policy.secrets import others_may_read
from tablecloak.rng import Stream
from tablecloak.transforms._pseudonyms import LETTERS, Grouping, Listed, Replaced, equal_parts, first_of_group
from tablecloak.transforms.base import Family, Fitting, transform

IN_A_WORD = 12  # letters of 5 bits
SHORTEST, LONGEST = 8, 32
VAULT = {"value": pl.String, "token": pl.String}


@transform("random", Family.PSEUDONYM)
class Random(Grouping):
    """A random token stands for a value; who has the vault finds it again, and without a vault nobody does.

    Columns, tables and releases that share a vault have the same tokens for the same values.
    """

    is_drawn = True

    length: Annotated[int, Field(ge=SHORTEST, le=LONGEST, description="letters and digits of a token")] = 16
    vault: Annotated[
        str | None,
        Field(min_length=1, description="file of values and their tokens, for its owner only; new values are added"),
    ] = None

    @property
    def files(self) -> tuple[str, ...]:
        return () if self.vault is None else (self.vault,)

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        texts = self.texts(fitting)
        if self.vault is None:
            tokens = drawn_tokens(fitting.secret.stream("tokens"), len(texts), self.length, pl.Series(dtype=pl.String))
            return self.step(Listed(texts, tokens), fitting)
        known = self._kept(fitting.resolve(self.vault).expanduser(), texts, fitting)
        return self.step(Listed(known["value"], known["token"]), fitting)

    def _kept(self, path: Path, texts: pl.Series, fitting: Fitting) -> pl.DataFrame:
        """What a vault holds, and tokens for new values, which are added to it once the release holds."""
        before = read_vault(path)
        pending: _Pending = fitting.run.setdefault(f"vault {path}", _Pending(before.height, before.clear()))
        known = pl.concat([before, pending.added])
        new = texts.filter(~texts.is_in(known["value"].implode()))
        if not len(new):
            return known
        stream = fitting.secret.stream(f"tokens after {known.height}")
        tokens = drawn_tokens(stream, len(new), self.length, known["token"])
        if pending.added.is_empty():
            fitting.afterwards.append(partial(extend_vault, path, pending))
        pending.added = pl.concat([pending.added, pl.DataFrame({"value": new, "token": tokens})])
        return pl.concat([before, pending.added])

    def undo(self, path: Path) -> CellStep:
        """How tokens become texts of what they stand for, by a vault; the step raises DataError for unknown ones."""
        known = read_vault(path)
        values = known["value"]
        if self.with_:  # a token stands for a group, of which this column is the first
            values = values.map_elements(first_of_group, return_dtype=pl.String)
        return Replaced(_LookedUp(known["token"], values), ColumnType.TEXT)

    def faults(self, cells: pl.Series) -> pl.Series | None:
        # a vault may have tokens of another length, from a time when the policy asked for that
        length = str(self.length) if self.vault is None else f"{SHORTEST},{LONGEST}"
        return ~cells.cast(pl.String).str.contains(f"^[{LETTERS}]{{{length}}}$").fill_null(value=True)


@dataclass(frozen=True, slots=True, eq=False)
class _LookedUp:
    """Values from a vault by their tokens."""

    tokens: pl.Series = field(repr=False)
    values: pl.Series = field(repr=False)

    def __call__(self, texts: pl.Series) -> pl.Series:
        n_unknown = int((~texts.is_in(self.tokens.implode())).sum())
        if n_unknown:
            raise DataError(
                f"{n_unknown:,} of {len(texts):,} different tokens are not in the vault",
                hint="--vault FILE names the one that the run had",
            )
        known = pl.DataFrame({"token": self.tokens, "value": self.values})
        found = pl.DataFrame({"token": texts}).join(known, on="token", how="left", maintain_order="left")
        return found["value"].alias(texts.name)


@dataclass(slots=True, eq=False)
class _Pending:
    """Tokens of a run that are not in the vault yet."""

    n_known: int  # how many it had
    added: pl.DataFrame


def extend_vault(path: Path, pending: _Pending) -> None:
    """Add the tokens of a run to a vault.

    Raises: PolicyError where another run added to it meanwhile, which may have given other tokens to the same values.
    """
    outputs = Outputs(reads=[], force=True)
    written = outputs.add(path, is_private=True)  # until it is in place, no other run adds to this vault
    try:
        known = read_vault(path)
        if known.height != pending.n_known:
            raise PolicyError("another run added to the vault meanwhile", hint="run again", location=str(path))
        with writing(path):
            pl.concat([known, pending.added]).sort("token").write_csv(written, quote_style="always")
        outputs.commit()
    finally:
        outputs.discard()


def drawn_tokens(stream: Stream, n: int, length: int, taken: pl.Series) -> pl.Series:
    """Random tokens, no two alike and none that is taken."""
    tokens = _tokens(stream, n, length)
    while True:
        is_free = tokens.is_first_distinct() & ~tokens.is_in(taken.implode())
        again = np.flatnonzero(~is_free.to_numpy())
        if not len(again):
            return tokens
        tokens = tokens.scatter(again, _tokens(stream, len(again), length))


def _tokens(stream: Stream, n: int, length: int) -> pl.Series:
    n_words = -(-length // IN_A_WORD)
    words = stream.words(n * n_words).reshape(n, n_words, 1)
    shifts = np.arange(IN_A_WORD, dtype=np.uint64) * np.uint64(5)
    digits = ((words >> shifts) & np.uint64(31)).reshape(n, n_words * IN_A_WORD)[:, :length]
    letters: NDArray[np.uint8] = np.frombuffer(LETTERS.encode(), np.uint8)[digits]
    return pl.Series("token", equal_parts(letters.tobytes().decode(), length), pl.String)


def read_vault(path: Path) -> pl.DataFrame:
    """The values and tokens of a vault; none where there is no file yet.

    Raises: PolicyError for a file that others may read, or that is no vault.
    """
    if not path.exists():
        return pl.DataFrame(schema=VAULT)
    if others_may_read(path):
        hint = f"chmod 600 {path}; or another vault, if somebody may have read it"
        raise PolicyError("others than its owner may read the vault", hint=hint, location=str(path))
    hint = "name another file; a vault is made by the first run"
    try:
        known = pl.read_csv(path, infer_schema=False, empty_string_is_null=False, glob=False)
    except (OSError, pl.exceptions.PolarsError):  # which may quote what is in the file
        raise PolicyError("the vault cannot be read", hint=hint, location=str(path)) from None
    if known.columns != list(VAULT):
        raise PolicyError("the file is no vault: its columns are not value and token", hint=hint, location=str(path))
    is_token = known["token"].str.contains(f"^[{LETTERS}]{{{SHORTEST},{LONGEST}}}$")
    if not is_token.all() or any(known[name].is_duplicated().any() for name in VAULT):
        raise PolicyError(
            "the file is no vault: tokens are not ours, or stand there twice", hint=hint, location=str(path)
        )
    return known
