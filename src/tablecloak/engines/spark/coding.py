"""Rows as packed codes, united by the worker that holds them, and counts of workers as what a search looks at."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.coder import Coder
from tablecloak.data.domain import Domain, domain_of, persons_of, sensitive_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import QuasiColumn, SensitiveColumn
from tablecloak.engines.disk.coding import refuse_infinite
from tablecloak.engines.spark.rows import ROW, WorkerRows, batches_of
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import KeyLayout, pack, plan_layout, unpack
from tablecloak.stats.classes import SensitiveDomain
from tablecloak.stats.joint import combine

WORD = "__tablecloak_code"  # columns of packed keys, which no column of a table is called


@dataclass(frozen=True, slots=True)
class CodeTask:
    """Packed codes of rows, equal ones of a batch united: (words, person, records, first row)."""

    rows: WorkerRows
    coders: tuple[Coder, ...]
    packing: KeyLayout
    person: str | None = None

    @property
    def columns(self) -> list[str]:
        return [coder.name for coder in self.coders]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        names = list(dict.fromkeys([*self.columns, *([self.person] if self.person else [])]))
        for frame in self.rows.frames(batches, names, numbered=True):
            keys = self.keys(frame).with_columns(frame[ROW].alias("first"))
            words = [name for name in keys.columns if name != "first"]
            yield from batches_of(keys.group_by(words).agg(pl.len().cast(pl.Int64).alias("n"), pl.col("first").min()))

    def keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        """What tells rows apart: their words and, where persons are counted, who they belong to."""
        codes = [coder.codes(frame[coder.name]) for coder in self.coders]
        packed = pack(codes, self.packing) if codes else np.zeros((1, frame.height), np.uint64)
        keys = framed(packed)
        return keys if self.person is None else keys.with_columns(person_keys(frame[self.person]))


def person_keys(series: pl.Series) -> pl.Series:
    """A number for every person: equal for equal keys on every worker; an empty cell is one person."""
    if series.dtype == pl.Int64:
        return series.fill_null(-(1 << 62)).alias("person")
    distinct = series.unique()
    texts = distinct.cast(pl.String).to_list()
    numbers = [0 if text is None else digest(text.encode()) for text in texts]
    persons = pl.DataFrame({"key": distinct, "person": pl.Series(numbers, dtype=pl.Int64)})
    return series.to_frame("key").join(persons, on="key", how="left", nulls_equal=True, maintain_order="left")["person"]


def digest(content: bytes) -> int:
    """64 bits that tell contents apart, on every worker."""
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little", signed=True)


def words_in(packing: KeyLayout) -> list[str]:
    """Names of the columns that hold packed keys."""
    return [f"{WORD}{i}" for i in range(int(packing.word.max(initial=0)) + 1)]


def words_of(frame: pl.DataFrame, packing: KeyLayout) -> NDArray[np.uint64]:
    """The packed keys of tuples, (n_words, n)."""
    return np.stack([frame[word].to_numpy() for word in words_in(packing)]).view(np.uint64)


def codes_of(frame: pl.DataFrame, packing: KeyLayout, n_dims: int) -> IntArray:
    """The codes of quasi-identifiers that packed keys hold, (n_dims, n)."""
    words = words_of(frame, packing)
    return np.stack([unpack(words, packing, dim) for dim in range(n_dims)])


def framed(words: NDArray[np.uint64]) -> pl.DataFrame:
    """Packed keys as columns, as Spark has them."""
    return pl.DataFrame({f"{WORD}{i}": word.view(np.int64) for i, word in enumerate(words)})


__all__ = [
    "CodedColumns", "CountedTuples", "MakeTable", "coded_tuples", "counts_in", "fit_columns", "fit_labels",
    "in_local_order", "only", "plain", "total_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumns:
    """How the columns of a table are coded: quasi-identifiers or published labels first, then what is counted."""

    coders: tuple[Coder, ...]
    codes: tuple[IntArray, ...]  # by coder: the code of each different value
    widths: tuple[int, ...]
    domains: tuple[Domain, ...] = ()
    sensitive: tuple[SensitiveDomain, ...] = ()  # of the coders after those of the quasi-identifiers

    @property
    def packing(self) -> KeyLayout:
        return plan_layout(self.widths)


def fit_columns(
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    quasi: Sequence[QuasiColumn],
    sensitive: Sequence[SensitiveColumn],
    location: str,
) -> CodedColumns:
    """Domains and coders of columns, given their different values."""
    for name, series in values.items():
        if types[name] is ColumnType.FLOAT:
            refuse_infinite(series, location)
    domains = tuple(
        domain_of(
            values[q.name], types[q.name], make_hierarchy=q.make_hierarchy, weight=q.weight, may_be_codes=q.may_be_codes
        )
        for q in quasi
    )
    counted = [sensitive_of(values[s.name], types[s.name], make_hierarchy=s.make_hierarchy) for s in plain(sensitive)]
    coded = [*domains, *(domain for _, domain in counted)]
    codes = tuple(d.code_of(values[d.name]) for d in coded)
    coders = tuple(Coder(d.name, values[d.name], of_value) for d, of_value in zip(coded, codes, strict=True))
    widths = tuple([d.n_codes for d in domains] + [s.n_values for s, _ in counted])
    kinds = [s.kind for s in plain(sensitive)]
    attributes = tuple(replace(s, kind=kind) for (s, _), kind in zip(counted, kinds, strict=True))
    return CodedColumns(coders, codes, widths, domains, attributes)


def plain(sensitive: Sequence[SensitiveColumn]) -> list[SensitiveColumn]:
    """Attributes that are columns of their own."""
    return [s for s in sensitive if not s.is_person and not s.joins]


def fit_labels(
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    location: str,
) -> CodedColumns:
    """The same for a release: code i of a quasi-identifier is its label i."""
    places = tuple(np.arange(len(values[name])) for name in quasi)
    labels = tuple(Coder(name, values[name], of_label) for name, of_label in zip(quasi, places, strict=True))
    rest = {s.name: values[s.name] for s in plain(sensitive)}
    counted = fit_columns(rest, types, (), sensitive, location)
    widths = (*(max(1, len(values[name])) for name in quasi), *counted.widths)
    return CodedColumns((*labels, *counted.coders), (*places, *counted.codes), widths, (), counted.sensitive)


@dataclass(frozen=True, slots=True, eq=False)
class CountedTuples:
    """Different combinations of codes and how many records have each, as workers counted them."""

    codes: tuple[IntArray, ...]  # by coder
    persons: IntArray | None  # numbers of persons, from 0
    weights: IntArray
    keys: pl.DataFrame  # what a worker tells rows apart by

    @classmethod
    def of(cls, frame: pl.DataFrame, columns: CodedColumns) -> CountedTuples:
        """In the order of their first rows."""
        frame = frame.sort("first")
        packing = columns.packing
        words = words_of(frame, packing)
        codes = tuple(unpack(words, packing, i) for i in range(len(columns.coders)))
        persons = np.unique(frame["person"].to_numpy(), return_inverse=True)[1] if "person" in frame.columns else None
        return cls(codes, persons, frame["n"].to_numpy(), frame.drop("n", "first"))


def in_local_order(tuples: CountedTuples, columns: CodedColumns, sensitive: Sequence[SensitiveColumn]) -> CountedTuples:
    """The tuples as the local engine numbers them: a search may look at them one after the other."""
    keys = coded_tuples(tuples, columns, sensitive).keys
    n_rows = int(tuples.weights.sum())
    firsts, _ = group_keys.sized(n_rows)(keys, n_rows)
    return only(tuples, firsts)


def coded_tuples(tuples: CountedTuples, columns: CodedColumns, sensitive: Sequence[SensitiveColumn]) -> CodedTable:
    """What a search looks at."""
    n_quasi = len(columns.domains)
    codes_of = dict(zip((s.name for s in columns.sensitive), tuples.codes[n_quasi:], strict=True))
    counted: list[tuple[SensitiveDomain, IntArray]] = []
    for s in sensitive:
        if s.is_person:
            assert tuples.persons is not None
            counted.append((persons_of(s.name, int(tuples.persons.max(initial=-1)) + 1), tuples.persons))
        elif s.joins:
            domain, codes = combine([pair for pair in counted if pair[0].name in s.joins], s.name, s.kind)
            counted.append((domain, codes.astype(np.int64)))
        else:
            counted.append((next(d for d in columns.sensitive if d.name == s.name), codes_of[s.name]))
    quasi = tuples.codes[:n_quasi]
    layout = plan_layout([d.n_codes for d in columns.domains] + [d.n_values for d, _ in counted])
    keys = pack([c.astype(np.uint32) for c in [*quasi, *(codes for _, codes in counted)]], layout)
    totals = {d.name: total_of(codes, tuples.weights, d.n_values) for d, codes in counted}
    space = make_space(columns.domains, layout)
    return CodedTable(columns.domains, tuple(d for d, _ in counted), space, keys, tuples.weights, None, totals)


def total_of(codes: IntArray, weights: IntArray, n: int) -> IntArray:
    """Records with each code, (n,)."""
    return np.bincount(codes, weights=weights, minlength=n).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class MakeTable:
    """From the tuples of a shard to what a search looks at; all shards know the totals of the table."""

    columns: CodedColumns
    sensitive: tuple[SensitiveColumn, ...]
    totals: Mapping[str, IntArray]

    def __call__(self, frame: pl.DataFrame) -> CodedTable:
        tuples = in_local_order(CountedTuples.of(frame, self.columns), self.columns, self.sensitive)
        return replace(coded_tuples(tuples, self.columns, self.sensitive), totals=self.totals)


def counts_in(frame: pl.DataFrame, widths: Sequence[int]) -> list[IntArray]:
    """Records with each code, by column of codes, from sums that workers told as `dim`, `code` and `n`."""
    counts = [np.zeros(width, np.int64) for width in widths]
    for (dim,), part in frame.group_by("dim"):
        counts[int(str(dim))][part["code"].to_numpy()] = part["n"].to_numpy()
    return counts


def only(tuples: CountedTuples, chosen: IntArray) -> CountedTuples:
    """The chosen tuples, in the order they are named."""
    codes = tuple(column[chosen] for column in tuples.codes)
    persons = None if tuples.persons is None else tuples.persons[chosen]
    return CountedTuples(codes, persons, tuples.weights[chosen], tuples.keys[chosen])
