"""substitute: values of a list, or made-up ones, in place of values."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Annotated, Literal, Self, TypeAlias

import polars as pl
from pydantic import Field, model_validator

from tablecloak.data.changed_columns import CellStep
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.extras import require_package
from tablecloak.rng import Secret
from tablecloak.transforms._pseudonyms import Keyed, key_for
from tablecloak.transforms.base import ByValue, Family, Fitting, texts_of, transform

Fake: TypeAlias = Literal["name", "first_name", "last_name", "city", "street", "company", "email", "phone"]
_METHODS = {"street": "street_name", "phone": "phone_number"}
POOL = 10_000  # made-up values that are drawn to choose from
MOST_DRAWS = 8  # for each unique value that is needed


@transform("substitute", Family.COVER)
class Substitute(Keyed):
    """Another value of a list, or a made-up one, stands for a value; equal values get equal ones, and never themselves.

    The key decides which, so that the same key and domain give the same substitutes in other tables. With `unique`,
    different values get different ones: the list must be as long as there are different values, and what a value gets
    also depends on which others there are. How often a value occurs is still seen. Made-up names, addresses and numbers
    may be those of somebody.
    """

    values: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...], Field(description="what values are replaced by")
    ] = ()
    file: Annotated[str | None, Field(min_length=1, description="file with one such value a line")] = None
    fake: Annotated[Fake | None, Field(description="what is made up")] = None
    locale: Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$", description="of made-up values")] = "en_US"
    unique: Annotated[bool, Field(description="different values get different ones")] = False

    @model_validator(mode="after")
    def _is_decided(self) -> Self:
        if sum((bool(self.values), self.file is not None, self.fake is not None)) != 1:
            raise ValueError("one of values, file and fake must be given")
        if self.values and len(set(self.values)) < 2:
            raise ValueError("at least two different values are needed, for none is replaced by itself")
        return self

    def result(self, type_: ColumnType) -> ColumnType:  # noqa: ARG002
        return ColumnType.TEXT

    def fit(self, fitting: Fitting) -> CellStep:
        key = key_for(fitting.key, "substitute", self.domain or fitting.column)
        if not self.unique:
            return ByValue(_Chosen(key, self._offered(fitting, POOL), fitting.type))
        texts = texts_of(fitting.counts()["value"], fitting.type).unique().sort().to_list()
        offered = self._offered(fitting, max(2, len(texts)))
        if len(texts) > len(offered):
            raise IncompatibleChoice(
                f"column '{fitting.column}' has {len(texts):,} different values, and there are {len(offered):,} to "
                "replace them by",
                hint=f"columns.{fitting.column}.transform: {len(texts) - len(offered):,} more, or unique: false",
            )
        return ByValue(_Assigned(assigned(texts, offered, key), fitting.type))

    def faults(self, cells: pl.Series) -> pl.Series | None:
        if not self.values:
            return None
        return ~cells.cast(pl.String).is_in(list(self.values)).fill_null(value=True)

    def _offered(self, fitting: Fitting, n: int) -> tuple[str, ...]:
        """The different values to choose from, at least two."""
        if self.values:
            return tuple(dict.fromkeys(self.values))
        if self.fake is not None:
            return made_up(self.fake, self.locale, n, MOST_DRAWS if self.unique else 1)
        assert self.file is not None
        path = fitting.resolve(self.file)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(
                f"column '{fitting.column}': the file with what values are replaced by cannot be read",
                hint=f"columns.{fitting.column}.transform.file: one value a line, in UTF-8", location=str(path),
            ) from error  # fmt: skip
        offered = tuple(dict.fromkeys(line.strip() for line in lines if line.strip()))
        if len(offered) < 2:
            raise DataError("at least two different values are needed", hint="one value a line", location=str(path))
        return offered


@dataclass(frozen=True, slots=True)
class _Chosen:
    """By the keyed digest of a value; the next one where that would be the value itself."""

    key: bytes = field(repr=False)
    offered: tuple[str, ...]
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        texts = texts_of(values, self.type).to_list()
        digest, n = partial(hmac.digest, self.key, digest="sha256"), len(self.offered)
        places = [int.from_bytes(digest(text.encode())[:16], "big") % n for text in texts]
        shown = (
            self.offered[i] if self.offered[i] != t else self.offered[i - 1] for i, t in zip(places, texts, strict=True)
        )
        return pl.Series(values.name, list(shown), pl.String)


@dataclass(frozen=True, slots=True, eq=False)
class _Assigned:
    shown: dict[str, str] = field(repr=False)
    type: ColumnType

    def __call__(self, values: pl.Series) -> pl.Series:
        texts = texts_of(values, self.type).to_list()
        return pl.Series(values.name, [self.shown.get(text) for text in texts], pl.String)


def assigned(texts: Sequence[str], offered: Sequence[str], key: bytes) -> dict[str, str]:
    """One of as many or more different values for each text, none for itself, by the key."""
    stream = Secret(key).stream("assigned")
    shown = [offered[i] for i in stream.permutation(len(offered)).tolist()]
    digest = partial(hmac.digest, key, digest="sha256")
    order = sorted(texts, key=lambda text: digest(text.encode()))
    for place, text in enumerate(order):
        if shown[place] == text:  # exchanging it with any other one leaves none at itself
            other = place + 1 if place + 1 < len(shown) else place - 1
            shown[place], shown[other] = shown[other], shown[place]
    return dict(zip(order, shown, strict=False))


@cache
def made_up(fake: Fake, locale: str, n: int, most_draws: int) -> tuple[str, ...]:
    """Up to n different made-up values, the same ones every time: the key hides which stands for what, not these.

    Args:
        most_draws: for each value that is needed, before we say that there are no more.

    Raises: MissingExtra, IncompatibleChoice.
    """
    faker = require_package("faker", extra="fake", purpose="making up values")
    try:
        maker = faker.Faker(locale)
    except AttributeError as error:
        raise IncompatibleChoice(
            f"there are no made-up values for the locale {locale}", hint="locale: en_US"
        ) from error
    maker.seed_instance(0)
    make = getattr(maker, _METHODS.get(fake, fake))
    offered: dict[str, None] = {}
    for _ in range(most_draws):
        offered.update(dict.fromkeys(make() for _ in range(n)))
        if len(offered) >= n:
            break
    return tuple(offered)[:n]
