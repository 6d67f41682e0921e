"""From batches to packed keys: the different values of columns in one pass, the codes of all rows in the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coder import Coder, Values
from tablecloak.data.domain import Codes, Domain, domain_of, persons_of, sensitive_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import QuasiColumn, SensitiveColumn
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.kernels.space import Keys, Layout
from tablecloak.stats.classes import SensitiveDomain

__all__ = ["Coders", "collect_values", "quasi_coders", "refuse_infinite", "sensitive_coders"]

IntArray = NDArray[np.int64]


def collect_values(
    batches: Iterable[pl.DataFrame], columns: Sequence[str], *, all_categories: bool, seen: Callable[[int], None]
) -> dict[str, pl.Series]:
    """The different values of columns, the missing one included; `seen` is told the rows of every batch."""
    values = {name: Values(name, all_categories=all_categories) for name in columns}
    for batch in batches:
        for name in columns:
            values[name].add(batch[name])
        seen(batch.height)
    return {name: found.series() for name, found in values.items()}


def refuse_infinite(values: pl.Series, location: str) -> None:
    """Raise DataError if there is an infinite number, which no interval can hold."""
    if values.dtype.is_float() and values.is_infinite().any():
        raise DataError(
            f"column '{values.name}' has infinite values, which no interval can hold",
            hint="replace them by a number or by an empty cell",
            location=location,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """Combinations of attributes that were coded before: their names, and the combinations that occur."""

    parts: tuple[str, ...]
    widths: tuple[int, ...]
    known: IntArray  # ascending mixed-radix numbers

    def numbers(self, codes: Mapping[str, Codes]) -> IntArray:
        total = np.zeros(len(codes[self.parts[0]]), np.int64)
        for part, width in zip(self.parts, self.widths, strict=True):
            total = total * width + codes[part]
        return total

    def codes(self, codes: Mapping[str, Codes]) -> Codes:
        return np.searchsorted(self.known, self.numbers(codes)).astype(np.uint32)


@dataclass(frozen=True, slots=True, eq=False)
class Coders:
    """How columns of a batch become codes, one array per column."""

    columns: tuple[str, ...]
    coders: tuple[Coder | _Joint, ...]

    def codes(self, batch: pl.DataFrame) -> dict[str, Codes]:
        """Codes of every column, (n_rows,) each."""
        found: dict[str, Codes] = {}
        for name, coder in zip(self.columns, self.coders, strict=True):
            found[name] = coder.codes(found) if isinstance(coder, _Joint) else coder.codes(batch[name])
        return found

    def keys(self, batch: pl.DataFrame, layout: Layout) -> Keys:
        """The same, packed as the first dimensions of a layout, (n_words, n_rows)."""
        keys = np.zeros((int(layout.word.max(initial=0)) + 1, batch.height), np.uint64)
        self.add_codes(keys, batch, layout, 0)
        return keys

    def add_codes(self, keys: Keys, batch: pl.DataFrame, layout: Layout, first: int) -> None:
        """Put the codes of every column into keys; the first column is dimension `first` of the layout."""
        joint = next((i for i, coder in enumerate(self.coders) if isinstance(coder, _Joint)), len(self.coders))
        for i, name in enumerate(self.columns[:joint], start=first):
            coder = self.coders[i - first]
            assert isinstance(coder, Coder)
            coder.add_codes(keys[layout.word[i]], batch[name], layout.shift[i])
        rest = list(self.codes(batch).values())[joint:] if joint < len(self.coders) else []
        for i, codes in enumerate(rest, start=first + joint):
            keys[layout.word[i]] |= codes.astype(np.uint64) << layout.shift[i]

    @property
    def read(self) -> list[str]:
        """The columns that a batch must have."""
        pairs = zip(self.columns, self.coders, strict=True)
        return list(dict.fromkeys(name for name, coder in pairs if not isinstance(coder, _Joint)))


def quasi_coders(
    quasi: Sequence[QuasiColumn], values: Mapping[str, pl.Series], types: Mapping[str, ColumnType]
) -> tuple[tuple[Domain, ...], Coders]:
    """Domains and coders of quasi-identifiers."""
    domains = tuple(
        domain_of(values[q.name], types[q.name], make_hierarchy=q.make_hierarchy, weight=q.weight) for q in quasi
    )
    coders = tuple(Coder(d.name, values[d.name], d.code_of(values[d.name])) for d in domains)
    return domains, Coders(tuple(d.name for d in domains), coders)


def sensitive_coders(
    sensitive: Sequence[SensitiveColumn],
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    batches: Callable[[list[str]], Iterable[pl.DataFrame]],
) -> tuple[tuple[SensitiveDomain, ...], Coders]:
    """Domains and coders of counted attributes; combinations cost a pass over the rows."""
    domains: list[SensitiveDomain] = []
    coders: list[Coder | _Joint] = []
    for s in sensitive:
        if s.joins:
            known = Coders(tuple(d.name for d in domains), tuple(coders))
            domain, joint = _join(s, domains, known, batches(known.read))
            domains.append(domain)
            coders.append(joint)
            continue
        found = values[s.name]
        if s.is_person:
            domains.append(persons_of(s.name, len(found)))
            coders.append(Coder(s.name, found, np.arange(len(found))))
        else:
            counted, domain_ = sensitive_of(found, types[s.name], make_hierarchy=s.make_hierarchy)
            domains.append(counted)
            coders.append(Coder(s.name, found, domain_.code_of(found)))
    return tuple(domains), Coders(tuple(d.name for d in domains), tuple(coders))


def _join(
    column: SensitiveColumn, domains: Sequence[SensitiveDomain], known: Coders, batches: Iterable[pl.DataFrame]
) -> tuple[SensitiveDomain, _Joint]:
    joined = [d for d in domains if d.name in column.joins]
    parts, widths = tuple(d.name for d in joined), tuple(d.n_values for d in joined)
    if np.prod(widths, dtype=np.float64) >= 2.0**62:
        raise IncompatibleChoice("there are too many combinations of sensitive values", hint="name fewer of them")
    joint = _Joint(parts, widths, np.zeros(0, np.int64))
    occurring = np.zeros(0, np.int64)
    for batch in batches:
        occurring = np.union1d(occurring, joint.numbers(known.codes(batch)))
    codes, rest = {}, occurring
    for name, width in zip(reversed(parts), reversed(widths), strict=True):
        rest, codes[name] = np.divmod(rest, width)
    domain = SensitiveDomain(column.name, (None,) * len(occurring), kind=column.kind, parts=codes)
    return domain, _Joint(parts, widths, occurring)
