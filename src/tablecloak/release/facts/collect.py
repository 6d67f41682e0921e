"""Facts: what a report shows beyond the verdicts, counted while the originals are still at hand.

Only counts, shares and bins of at least `floor` records leave this module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.attacks.base import AttackResult
from tablecloak.data.coded import CodedTable
from tablecloak.data.coverage import Coverage
from tablecloak.data.domain import Domain
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Coding, Recount
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.models.base import PrivacyModel
from tablecloak.release.facts.attacked import Background, attacks_on
from tablecloak.release.facts.bins import BinShares, category_bins, ordered_bins, quasi_bins
from tablecloak.release.facts.public import floor_of
from tablecloak.stats.classes import ClassStats, Counted, Histogram, SensitiveDomain
from tablecloak.values.cell_grammar import parse

MOST_VALUES = 12
# A class is near the limit up to this many times the smallest size allowed.
NEAR = 1.2
DENSE_KEYS = 1 << 26


@dataclass(frozen=True, slots=True)
class Exposure:
    """How exposed records are to someone who knows all quasi-identifiers of a person."""

    n_records: int
    n_unique: int  # records that share their quasi-identifiers with no other
    highest: float  # chance of singling out the most exposed record
    average: float  # chance of singling out a record, on average

    @property
    def unique_share(self) -> float:
        return self.n_unique / max(1, self.n_records)


@dataclass(frozen=True, slots=True)
class QuasiFacts:
    """What happened to one quasi-identifier."""

    name: str
    distinct_before: int
    distinct_after: int
    changed: float  # share of the original cells that are not published as they were
    bins: BinShares | None
    is_coarse: bool = False  # values are counted, before and after, by the finest node that may be published


@dataclass(frozen=True, slots=True)
class SensitiveFacts:
    """How one sensitive column is distributed, in the table and inside classes."""

    name: str
    distinct_before: int
    distinct_after: int
    top_share: float  # share of the most frequent value in the release
    worst_top_share: float  # the largest share that one value has in a class
    n_skewed: int  # classes in which one value has a share of SKEWED or more
    bins: BinShares | None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything a report draws, as counts and shares."""

    floor: int
    before: Exposure
    after: Exposure
    class_sizes: tuple[tuple[int, int], ...]  # (size, number of classes), ascending
    n_near_limit: int  # classes hardly larger than the smallest allowed
    n_records_near_limit: int
    quasi: tuple[QuasiFacts, ...]
    sensitive: tuple[SensitiveFacts, ...]
    attacks: tuple[AttackResult, ...] = ()


SKEWED = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """The coded originals."""

    domains: Mapping[str, Domain]
    counts: Mapping[str, IntArray]  # records with each code, by quasi-identifier
    exposure: Exposure
    n_rows: int
    sensitive: Sequence[SensitiveDomain] = ()
    totals: Mapping[str, IntArray] = field(default_factory=dict)  # by sensitive column, over all originals

    @classmethod
    def of(cls, coding: Coding) -> Before:
        """What is said about the originals. Cost: one pass over the codes of each column."""
        domains = {d.name: d for d in coding.domains}
        counts = dict(zip(domains, coding.originals(), strict=True))
        return cls(domains, counts, _original_exposure(coding), coding.n_rows, coding.sensitive, coding.totals)


def collect(
    recount: Recount,
    coverage: Mapping[str, Coverage],
    before: Before,
    *,
    models: Sequence[PrivacyModel],
    types: Mapping[str, ColumnType],
    background: Background | None = None,
) -> Facts:
    """Count what a report shows.

    Args:
        background: the originals, as attackers may know them.
    """
    floor = floor_of(models, before.n_rows)
    quasi = tuple(_quasi(name, recount, coverage[name], before, floor) for name in recount.labels)
    alike = np.concatenate([part.size for part in recount.parts])
    facts = _facts(recount.parts, alike, quasi, before, models, types)
    return replace(facts, attacks=attacks_on(recount, background))


def collect_groups(
    stats: ClassStats,
    distinct: Mapping[str, int],
    alike: IntArray,
    before: Before,
    *,
    models: Sequence[PrivacyModel],
    types: Mapping[str, ColumnType],
) -> Facts:
    """The same for a release that publishes exact values in groups.

    Args:
        stats: counts of the groups.
        distinct: different values of every quasi-identifier in the release.
        alike: (n_combinations,) how many published records share each combination of quasi-identifiers.
    """
    quasi = tuple(
        QuasiFacts(name, int(np.count_nonzero(before.counts[name])), n, 0.0, None) for name, n in distinct.items()
    )
    return _facts([stats], alike, quasi, before, models, types)


def _facts(
    parts: Sequence[ClassStats],
    alike: IntArray,
    quasi: tuple[QuasiFacts, ...],
    before: Before,
    models: Sequence[PrivacyModel],
    types: Mapping[str, ColumnType],
) -> Facts:
    smallest = max((m.min_size for m in models), default=1)
    floor, sizes = floor_of(models, before.n_rows), np.concatenate([part.size for part in parts])
    is_near = sizes <= NEAR * smallest
    values, n_classes = np.unique(sizes, return_counts=True)
    return Facts(
        floor=floor,
        before=before.exposure,
        after=exposure(alike),
        class_sizes=tuple(zip(values.tolist(), n_classes.tolist(), strict=True)),
        n_near_limit=int(is_near.sum()),
        n_records_near_limit=int(sizes[is_near].sum()),
        quasi=quasi,
        sensitive=tuple(
            _sensitive([part.hist[n] for part in parts], types[n], before, floor)
            for n in parts[0].hist_of(Counted.SENSITIVE)
        ),
    )


def exposure(sizes: IntArray) -> Exposure:
    """The exposure of records in classes of the given sizes."""
    n = int(sizes.sum())
    highest = 1 / int(sizes.min()) if n else 0.0
    return Exposure(n, int((sizes == 1).sum()), highest, len(sizes) / max(1, n))


def _original_exposure(coding: Coding) -> Exposure:
    """The exposure of the originals; equal combinations of quasi-identifiers are in one shard."""
    widths = [d.n_codes for d in coding.domains]
    if coding.codes:
        return exposure(original_sizes([coding.codes[d.name] for d in coding.domains], widths))
    parts = [exposure(_shard_sizes(shard)) for shard in coding.shards]
    combinations = sum(part.average * part.n_records for part in parts)
    return Exposure(
        coding.n_rows,
        sum(part.n_unique for part in parts),
        max((part.highest for part in parts), default=0.0),
        combinations / max(1, coding.n_rows),
    )


def _shard_sizes(shard: CodedTable) -> IntArray:
    """How many records share each combination of quasi-identifiers in a shard."""
    columns: list[NDArray[Any]] = [shard.quasi_codes(dim) for dim in range(shard.space.n_dims)]
    if len(shard.weights) == 0:
        return original_sizes(columns, shard.space.n_codes.tolist())
    keys = pack(columns, plan_layout(shard.space.n_codes.tolist()))
    firsts, combination = group_keys.sized(shard.n_tuples)(keys)
    return np.bincount(combination, weights=shard.weights, minlength=len(firsts)).astype(np.int64)


def original_sizes(columns: Sequence[NDArray[Any]], widths: Sequence[int]) -> IntArray:
    """How many records share each combination of codes, (n_combinations,)."""
    n_rows = len(columns[0])
    if np.prod(widths, dtype=np.float64) <= min(DENSE_KEYS, 16 * n_rows):
        key = np.zeros(n_rows, np.int64)
        for codes, width in zip(columns, widths, strict=True):
            key *= width
            key += codes
        counts = np.bincount(key)
        return counts[counts > 0]
    keys = pack(columns, plan_layout(widths))
    if len(keys) == 1:  # one word: sorting is the fastest way to find equal keys
        ordered = np.sort(keys[0])
        begins = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
        return np.diff(np.concatenate([[0], begins, [len(ordered)]]))
    firsts, combination = group_keys.sized(n_rows)(keys)
    return np.bincount(combination, minlength=len(firsts))


def _quasi(name: str, recount: Recount, coverage: Coverage, before: Before, floor: int) -> QuasiFacts:
    domain, labels = before.domains[name], recount.labels[name]
    counts: IntArray = np.sum([_records_by_label(part, name, len(labels)) for part in recount.parts], axis=0)
    originals = before.counts[name]
    names = labels.to_list()
    n_same = int(counts[_is_exact(names, coverage, domain)].sum())
    return QuasiFacts(
        name,
        distinct_before=int((originals > 0).sum()),
        distinct_after=int((counts > 0).sum()),
        changed=1 - n_same / max(1, before.n_rows),
        bins=quasi_bins(domain, originals, coverage, names=names, counts=counts, floor=floor),
        is_coarse=bool(domain.hierarchy and domain.hierarchy.inside),
    )


def _records_by_label(stats: ClassStats, name: str, n_labels: int) -> IntArray:
    assert stats.labels is not None
    return np.bincount(stats.labels[name], weights=stats.size, minlength=n_labels).astype(np.int64)


def _is_exact(names: Sequence[str | None], coverage: Coverage, domain: Domain) -> BoolArray:
    """Labels that publish an original value as it was; `[20, 24]` does not, though 22 be the only one inside."""
    is_one: BoolArray = coverage.lo == coverage.hi
    tree = domain.hierarchy
    if tree is not None and tree.inside:
        return np.zeros(len(names), bool)
    for i in np.flatnonzero(is_one).tolist():
        if tree is not None:
            is_one[i] = names[i] == tree.labels[int(coverage.lo[i])]
        else:
            is_one[i] = parse(names[i], domain.type.value).kind == "exact"
    return is_one


def _sensitive(parts: Sequence[Histogram], column: ColumnType, before: Before, floor: int) -> SensitiveFacts:
    hist = parts[0]  # all know domain and totals of the release
    tops = [h.max_by_class(h.shares()) for h in parts]
    return SensitiveFacts(
        hist.domain.name,
        distinct_before=int((before.totals[hist.domain.name] > 0).sum()),
        distinct_after=int((hist.totals > 0).sum()),
        top_share=float(hist.total_shares().max(initial=0)),
        worst_top_share=max((float(top.max(initial=0)) for top in tops), default=0.0),
        n_skewed=sum(int((top >= SKEWED).sum()) for top in tops),
        bins=_sensitive_bins(hist, column, before, floor),
    )


def _sensitive_bins(hist: Histogram, column: ColumnType, before: Before, floor: int) -> BinShares | None:
    name, labels = hist.domain.name, hist.domain.labels
    sensitive = next((s for s in before.sensitive if s.name == name), None)
    if sensitive is None:
        return None
    n_before = np.append(before.totals[name], 0)[hist.domain.codes_in(sensitive)].astype(np.int64)
    if not (hist.domain.is_ordered and len(labels) > MOST_VALUES):
        return category_bins(labels, n_before, hist.totals, floor)
    is_value = np.fromiter((label is not None for label in labels), np.bool_, len(labels))
    places = np.fromiter((float(parse(label, column.value).lo) for label in labels if label is not None), np.float64)
    return ordered_bins(places, column, n_before[is_value], hist.totals[is_value], floor)
