"""Pseudonym reversal: from pseudonyms and masks back to values, by looking up digests, by format, by frequency."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.base import AttackSuccess, attack, mean_chance, success_of
from tablecloak.attacks.case import Case, How
from tablecloak.errors import DoesNotApplyError
from tablecloak.values.cell_grammar import format_value

DIGESTS = ("md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_256", "blake2b", "blake2s")
# Values of one column that are tried at most; a real attacker tries far more.
TRY_UP_TO = 200_000
NUMBERS_UP_TO = 100_000
TOKEN = re.compile(r"^(?:[0-9a-fA-F]{8,128}|[A-Za-z0-9+/_-]{20,88}={0,2})$")
MASKED = r"[*•#]|X{3}"
MOST_KEPT = 32  # characters at one end of a text


@dataclass(frozen=True, slots=True, eq=False)
class Recovery:
    """What one way to undo a column reaches."""

    method: str | None  # a digest, format or frequency; None: no digest fits
    chances: FloatArray  # (n_rows,)
    baseline: float  # what a guess without the column reaches

    @property
    def average(self) -> float:
        return mean_chance(self.chances)

    @property
    def excess(self) -> float:
        return self.average - self.baseline


@attack("pseudonym-reversal")
def pseudonym_reversal(case: Case) -> AttackSuccess:
    """How many pseudonyms and masked cells of the release lead back to their values.

    Three ways are tried on every column. By dictionary: every value of the original or of the population, and small
    whole numbers, is hashed with common functions and looked up, also as the beginning of a digest of 8 characters or
    more. By format, where rows can be told apart: whoever has a list of the values takes the most frequent one that
    fits what is visible, which is all of a masked cell, and of other pseudonyms the characters at both ends that stay
    in every row, and which characters are digits or letters, if that stays, or the cell itself. By frequency: values
    and pseudonyms that occur equally often, and as often as few others, belong together; among equally frequent ones
    one is drawn. The column and the way that gain most over guessing are told.
    By guessing: by dictionary, no pseudonym is undone; otherwise the most frequent value, for whoever knows how often
    values occur takes that (of values that all differ, one of them).
    Stopped by: random pseudonyms, or a secret key (HMAC, format-preserving encryption) that is kept or destroyed; for
    values that differ in frequency, a pseudonym of its own for every row; fewer visible characters.
    Reference: Marx, Zimmer, Mueller, Blochberger, Federrath, Hashing of personally identifiable information is not
    sufficient, Sicherheit 2018; of frequencies: Naveed, Kamara, Wright, Inference attacks on property-preserving
    encrypted databases, CCS 2015.
    """
    columns = _columns(case)
    if not columns:
        raise DoesNotApplyError("no column of the release looks like pseudonyms")
    # of equal gains the first: digests before formats before frequencies
    best = {name: max(_recoveries(name, how, case), key=lambda r: r.excess) for name, how in columns.items()}
    name = max(best, key=lambda n: (best[n].excess, best[n].average))
    by_column = {n: {"method": r.method, "average": r.average, "baseline": r.baseline} for n, r in best.items()}
    details = {
        "column": name, "method": best[name].method, "columns_tried": sorted(columns), "by_column": by_column,
    }  # fmt: skip
    return success_of(case, best[name].chances, baseline=best[name].baseline, details=details)


def _columns(case: Case) -> dict[str, How]:
    """Columns to undo: as a run says, or those that look like pseudonyms or, beside their originals, like masks."""
    if case.changed:
        return {c.name: c.how for c in case.changed if c.how is not How.PERTURBED}
    assert case.frame is not None
    tokens = [name for name in case.frame.columns if _looks_like_tokens(case.frame[name])]
    quasi = [column.name for column in case.quasi]  # generalised ones, which goals speak of
    others = [name for name in case.frame.columns if name not in (*quasi, *tokens)] if _pairs(case) else []
    masked = [name for name in others if name in _pairs(case) and _looks_masked(case.frame[name])]
    return {**dict.fromkeys(tokens, How.STANDS_FOR), **dict.fromkeys(masked, How.COVERED)}


def _pairs(case: Case) -> Mapping[str, tuple[pl.Series, pl.Series]]:
    """Columns before and after, row by row, where rows can be told apart."""
    if case.changed:
        return {c.name: (c.before, c.after) for c in case.changed}
    before, after = case.original, case.frame
    if before is None or after is None or before.height != after.height or not case.is_in_order:
        return {}
    return {name: (before[name], after[name]) for name in after.columns if name in before.columns}


def _recoveries(name: str, how: How, case: Case) -> Iterator[Recovery]:
    """What every way to undo a column reaches."""
    pair = _pairs(case).get(name)
    cells = pair[1] if pair else case.frame[name]  # type: ignore[index]
    if _looks_like_tokens(cells):
        yield _by_dictionary(cells, case)
    if pair is None:
        return
    before, after = (_texts(side) for side in pair)
    if how is How.COVERED:
        yield _by_format(before, before, after.fill_null(""))
        return
    yield Recovery("format", (before == after).fill_null(value=False).to_numpy().astype(np.float64), _top_share(before))
    yield _by_format(before, after, _visible(before, after))
    yield _by_frequency(before, after)


def _texts(cells: pl.Series) -> pl.Series:
    return cells.cast(pl.String)


def _top_share(values: pl.Series) -> float:
    """The share of the records with the most frequent value."""
    return float(_n_of(values.drop_nulls()).max(initial=0)) / max(1, len(values))


def _n_of(values: pl.Series) -> IntArray:
    """How often every different value occurs."""
    return values.value_counts()["count"].to_numpy().astype(np.int64)


def _looks_like_tokens(series: pl.Series) -> bool:
    """Whether nearly all values are long strings of digits and letters without meaning."""
    if series.dtype not in (pl.String, pl.Categorical):
        return False
    sample = series.cast(pl.String).drop_nulls().unique().head(200).to_list()
    fits = [bool(TOKEN.match(text)) and any(c.isdigit() for c in text) for text in sample]
    return len(sample) >= 2 and sum(fits) >= 0.95 * len(sample)


def _looks_masked(series: pl.Series) -> bool:
    """Whether nearly all texts have a character that hides others."""
    if series.dtype not in (pl.String, pl.Categorical):
        return False
    texts = series.cast(pl.String).drop_nulls()
    return len(texts) > 1 and texts.n_unique() > 1 and float(texts.str.contains(MASKED).mean() or 0) >= 0.95  # type: ignore[arg-type]


# By format ------------------------------------------------------------------------------------------------------------


def _visible(before: pl.Series, after: pl.Series) -> pl.Series:
    """What every pseudonym shows of its value: the ends that stay in all rows, and its shape if that stays in all."""
    both = pl.DataFrame({"before": before, "after": after}).drop_nulls().unique()
    n_first, n_last = (_n_kept(both, end) for end in (_head, _tail))
    shape = _shape(pl.col("after"))
    if not both.select((_shape(pl.col("before")) == shape).all()).item():
        shape = pl.lit("")
    ends = pl.col("after").str.head(n_first), pl.col("after").str.tail(n_last)
    return after.to_frame("after").select(pl.concat_str(*ends, shape, separator="\0").fill_null("")).to_series()


def _n_kept(both: pl.DataFrame, end: Callable[[pl.Expr, int], pl.Expr]) -> int:
    """How many characters at one end are the same before and after, in all rows."""
    n = 0
    while n < MOST_KEPT and both.select((end(pl.col("before"), n + 1) == end(pl.col("after"), n + 1)).all()).item():
        n += 1
    return n


def _head(text: pl.Expr, n: int) -> pl.Expr:
    return text.str.head(n)


def _tail(text: pl.Expr, n: int) -> pl.Expr:
    return text.str.tail(n)


def _shape(text: pl.Expr) -> pl.Expr:
    """A text with every digit and letter as one sign of its kind."""
    digits = text.str.replace_all(r"\p{N}", "0")
    return digits.str.replace_all(r"\p{Lu}", "A").str.replace_all(r"\p{Ll}", "a")


def _by_format(before: pl.Series, after: pl.Series, visible: pl.Series) -> Recovery:
    """Taking the most frequent value of those that show the same; of equally frequent ones, one is drawn."""
    rows = pl.DataFrame({"value": before, "shown": visible, "is_there": before.is_not_null() & after.is_not_null()})
    there = rows.filter("is_there").group_by("shown", "value").len()
    most = pl.col("len").max().over("shown")
    top = there.filter(pl.col("len") == most).with_columns(chance=1 / pl.len().over("shown")).drop("len")
    found = rows.join(top, on=["shown", "value"], how="left", maintain_order="left")["chance"].fill_null(0.0)
    return Recovery("format", found.to_numpy(), _top_share(before))


# By frequency ---------------------------------------------------------------------------------------------------------


def _by_frequency(before: pl.Series, after: pl.Series) -> Recovery:
    """Matching values with pseudonyms in the order of how often they occur, equally frequent ones by chance.

    A value has any of the places of its frequency, and so has a pseudonym: they meet in each place that both may have.
    """
    rows = pl.DataFrame({"before": before, "after": after})
    for side in ("before", "after"):
        counts = rows.drop_nulls().group_by(side).agg(n=pl.len().cast(pl.Int64))
        ordered = np.sort(-counts["n"].to_numpy())
        first, last = (np.searchsorted(ordered, -counts["n"].to_numpy(), end) for end in ("left", "right"))
        places = counts.select(side, pl.Series(f"{side}_first", first), pl.Series(f"{side}_last", last))
        rows = rows.join(places, on=side, how="left", maintain_order="left")
    begin, end = pl.max_horizontal("before_first", "after_first"), pl.min_horizontal("before_last", "after_last")
    n_places = [pl.col(f"{side}_last") - pl.col(f"{side}_first") for side in ("before", "after")]
    shared = (end.cast(pl.Int64) - begin.cast(pl.Int64)).clip(0)
    is_there = pl.col("before").is_not_null() & pl.col("after").is_not_null()
    chances = rows.select(pl.when(is_there).then(shared / (n_places[0] * n_places[1])).fill_null(0.0)).to_series()
    return Recovery("frequency", chances.to_numpy(), _top_share(before))


# By dictionary --------------------------------------------------------------------------------------------------------


def _by_dictionary(series: pl.Series, case: Case) -> Recovery:
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
    return Recovery(method, np.array(is_reversed, np.float64), 0.0)


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
    if not case.changed:  # where it is known what was changed, its values are known
        yield from map(str, range(NUMBERS_UP_TO))
