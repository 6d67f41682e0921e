"""Pseudonym reversal: looking up unsalted digests of values that can be listed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.values.cell_grammar import format_value

DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")
# Values of one column that are tried at most; a real attacker tries far more.
TRY_UP_TO = 200_000
NUMBERS_UP_TO = 100_000
TOKEN = re.compile(r"^(?:[0-9a-fA-F]{8,128}|[A-Za-z0-9+/_-]{20,88}={0,2})$")


@attack("pseudonym-reversal")
def pseudonym_reversal(case: Case) -> AttackSuccess:
    """How many pseudonyms of the release are plain digests of values that an attacker can list.

    Every value of the original or of the population, and small whole numbers, is hashed with common functions and
    looked up, also as the beginning of a digest of 8 characters or more. A victim's pseudonym is found.
    By guessing: no pseudonym is undone.
    Stopped by: random pseudonyms, or a secret key (HMAC, format-preserving encryption) that is kept or destroyed.
    Reference: Marx, Zimmer, Mueller, Blochberger, Federrath, Hashing of personally identifiable information is not
    sufficient, Sicherheit 2018.
    """
    assert case.frame is not None
    columns = {name: case.frame[name] for name in case.frame.columns if _looks_like_tokens(case.frame[name])}
    if not columns:
        raise DoesNotApplyError("no column of the release looks like pseudonyms")
    reversals = {name: _reversed(series, case) for name, series in columns.items()}
    name, (is_found, method) = max(reversals.items(), key=lambda item: float(item[1][0].sum()))
    details = {"column": name, "method": method, "columns_tried": sorted(columns)}
    return success_of(case, is_found.astype(np.float64), baseline=0.0, details=details)


def _looks_like_tokens(series: pl.Series) -> bool:
    """Whether nearly all values are long strings of digits and letters without meaning."""
    if series.dtype not in (pl.String, pl.Categorical):
        return False
    sample = series.cast(pl.String).drop_nulls().unique().head(200).to_list()
    fits = [bool(TOKEN.match(text)) and any(c.isdigit() for c in text) for text in sample]
    return len(sample) >= 2 and sum(fits) >= 0.95 * len(sample)


def _reversed(series: pl.Series, case: Case) -> tuple[np.ndarray[tuple[int], np.dtype[np.bool_]], str | None]:
    """Which rows have a pseudonym that some digest of some value gives, and by which function."""
    tokens = series.cast(pl.String)
    digests = {t.lower() for t in tokens.drop_nulls().unique().to_list()}
    raw = set(tokens.drop_nulls().unique().to_list())
    best: set[str] = set()
    method = None
    for name, encode in _functions(tokens):
        hits = {token for value in _dictionary(case) if (token := encode(value)) in digests or token in raw}
        if len(hits) > len(best):
            best, method = hits, name
    is_reversed = [t is not None and (t in best or t.lower() in best) for t in tokens.to_list()]
    return np.array(is_reversed, bool), method


def _functions(tokens: pl.Series) -> Iterator[tuple[str, Callable[[str], str]]]:
    """Digests that give texts as long as the pseudonyms."""
    lengths = tokens.drop_nulls().str.len_chars().unique().to_list()
    is_hex = all(re.fullmatch(r"[0-9a-fA-F]+", t) for t in tokens.drop_nulls().unique().head(200).to_list())
    for name in DIGESTS:
        for length in lengths:
            if is_hex and length <= 2 * hashlib.new(name).digest_size:
                yield name, _hex(name, length)
            elif not is_hex:
                yield f"{name}, base64", _base64(name)


def _hex(name: str, length: int) -> Callable[[str], str]:
    return lambda value: hashlib.new(name, value.encode()).hexdigest()[:length]


def _base64(name: str) -> Callable[[str], str]:
    return lambda value: base64.b64encode(hashlib.new(name, value.encode()).digest()).decode()


def _dictionary(case: Case) -> Iterator[str]:
    """Values that an attacker can list."""
    tables = [t for t in (case.original, case.dictionary) if t is not None]
    for table in tables:
        for name in table.columns:
            values = table[name].drop_nulls().unique().head(TRY_UP_TO).to_list()
            yield from (text for value in values if (text := format_value(value)) is not None)
    yield from map(str, range(NUMBERS_UP_TO))
