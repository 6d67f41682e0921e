"""Columns of a release, its original and a population, coded over one domain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.attacks.case import Quasi, Sensitive
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Domain, DomainKind, fit_domain, fit_sensitive
from tablecloak.engines.base import QuasiColumn, Recount, SensitiveColumn
from tablecloak.engines.local.engine import table_of
from tablecloak.errors import DataError
from tablecloak.io.frames import column_type
from tablecloak.release.plan import Plan
from tablecloak.stats.classes import SensitiveDomain


def quasi_of(
    plan: Plan, recount: Recount, original: pl.DataFrame | None, population: pl.DataFrame | None, *, is_original: bool
) -> Iterable[Quasi]:
    """The quasi-identifiers of a release, with the codes of original and population where they are known.

    Args:
        is_original: the release is the original itself, so that every cell stands for its own value.
    """
    basis = original if original is not None else population
    ways: Mapping[str, QuasiColumn] = {}
    if basis is not None:
        ways = {way.name: way for way in plan.quasi_columns(table_of(basis))}
    is_exact = plan.algorithm.publishes.is_bucketing
    for name, labels in recount.cells.items():
        published = labels.index.astype(np.int64)
        texts = tuple(labels.values.cast(pl.String).to_list())
        if basis is None:
            yield Quasi(name, published, texts)
            continue
        parts = [frame[name] for frame in (original, population) if frame is not None and name in frame.columns]
        if population is not None and name not in population.columns:
            raise DataError(f"there is no column '{name}'", location="the population")
        both = _stacked(parts)
        way, type_ = ways[name], column_type(name, both.dtype)
        domain, codes = fit_domain(both, type_, make_hierarchy=way.make_hierarchy, may_be_codes=way.may_be_codes)
        coded = codes.astype(np.int64)
        n = original.height if original is not None else 0
        if is_original:
            own = np.zeros(len(labels.values), np.int64)
            own[published] = coded[:n]
            coverage = Coverage(own, own, {})
        else:
            coverage = (_exact_coverage if is_exact else coverage_of)(labels.values, domain)
        yield Quasi(
            name, published, texts, domain, coverage,
            coded[:n] if original is not None else None, coded[n:] if population is not None else None,
        )  # fmt: skip


def _stacked(parts: Sequence[pl.Series]) -> pl.Series:
    """Columns of the same name, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if all(p.dtype.is_numeric() for p in parts) or len({p.dtype for p in parts} - {pl.Categorical}) == 1 == len(
        {p.dtype for p in parts}
    ):
        wide = pl.Float64 if any(p.dtype.is_float() for p in parts) else parts[0].dtype
        return pl.concat([p.cast(wide) for p in parts])
    return pl.concat([p.cast(pl.String) for p in parts]).cast(pl.Categorical)


def _exact_coverage(values: pl.Series, domain: Domain) -> Coverage:
    """What cells cover where groups publish original values as they are; a text stands for itself, whatever it is."""
    if domain.kind is not DomainKind.SET:
        return coverage_of(values, domain)
    offset = int(domain.has_missing)
    code_of = {text: code + offset for code, text in enumerate(domain.values.cast(pl.String).to_list())}
    codes = np.array([code_of.get(text, -1) for text in values.cast(pl.String).to_list()], np.int64)
    others = np.flatnonzero(codes < 0)
    read = coverage_of(values.gather(others), domain)
    lo, hi = codes.copy(), codes.copy()
    lo[others], hi[others] = read.lo, read.hi
    return Coverage(lo, hi, {int(others[i]): members for i, members in read.sets.items()})


@dataclass(frozen=True, slots=True, eq=False)
class Attribute:
    """A sensitive column and, where it stands in a table of its own, its codes there."""

    column: Sensitive
    beside: IntArray | None = None


def attribute_of(
    name: str, plan: Plan, rows: pl.DataFrame, original: pl.DataFrame | None, side: pl.DataFrame | None
) -> Attribute:
    """A sensitive column over the values of every table that has it."""
    holders = [f for f in (original, rows, side) if f is not None and name in f.columns]
    both = _stacked([f[name] for f in holders])
    basis = original if original is not None else rows
    way = next((s for s in plan.sensitive_columns(table_of(basis)) if s.name == name), None)
    domain, codes = _fit(both, way)
    parts: dict[int, IntArray] = {}
    begin = 0
    for frame in holders:
        parts[id(frame)] = codes[begin : begin + frame.height].astype(np.int64)
        begin += frame.height
    column = Sensitive(name, domain, parts.get(id(rows)), None if original is None else parts.get(id(original)))
    return Attribute(column, None if side is None else parts.get(id(side)))


def _fit(series: pl.Series, way: SensitiveColumn | None) -> tuple[SensitiveDomain, NDArray[np.unsignedinteger[Any]]]:
    kind = column_type(series.name, series.dtype)
    if way is not None and way.make_hierarchy is not None:
        try:
            return fit_sensitive(series, kind, make_hierarchy=way.make_hierarchy)
        except DataError:  # a release may publish nodes of the hierarchy, or values that it does not know
            pass
    return fit_sensitive(series, kind)
