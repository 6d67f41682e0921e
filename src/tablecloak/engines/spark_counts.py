"""From counts that workers sent to what the search and the recount look at. Nothing here needs Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak import kernels
from tablecloak.data.coded import CodedTable, make_space
from tablecloak.data.coder import Coder
from tablecloak.data.coverage import coverage_of
from tablecloak.data.domain import ANYTHING, Domain, domain_of, persons_of, sensitive_of
from tablecloak.data.labels import ClassLabels
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Answer, Coding, QuasiColumn, Recount, SensitiveColumn
from tablecloak.engines.shards import Node
from tablecloak.errors import DataError
from tablecloak.kernels.space import Layout, pack, plan_layout, unpack
from tablecloak.stats.classes import Counted, SensitiveDomain, count_classes, histogram_of
from tablecloak.stats.joint import combine

__all__ = [
    "Columns",
    "MakeTable",
    "Tuples",
    "boxes_are_covered",
    "coded_tuples",
    "covers_originals",
    "fit_columns",
    "fit_labels",
    "in_local_order",
    "nodes_of",
    "plain",
    "recounted",
    "with_persons",
]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """How the columns of a table are coded: quasi-identifiers or published labels first, then what is counted."""

    coders: tuple[Coder, ...]
    codes: tuple[IntArray, ...]  # by coder: the code of each different value
    widths: tuple[int, ...]
    domains: tuple[Domain, ...] = ()
    sensitive: tuple[SensitiveDomain, ...] = ()  # of the coders after those of the quasi-identifiers

    @property
    def packing(self) -> Layout:
        return plan_layout(self.widths)


def fit_columns(
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    quasi: Sequence[QuasiColumn],
    sensitive: Sequence[SensitiveColumn],
    location: str,
) -> Columns:
    """Domains and coders of columns, given their different values."""
    for name, known in values.items():
        if types[name] is ColumnType.FLOAT and known.is_infinite().any():
            raise DataError(
                f"column '{name}' has infinite values, which no interval can hold",
                hint="replace them by a number or by an empty cell",
                location=location,
            )
    domains = tuple(
        domain_of(values[q.name], types[q.name], make_hierarchy=q.make_hierarchy, weight=q.weight) for q in quasi
    )
    counted = [sensitive_of(values[s.name], types[s.name], make_hierarchy=s.make_hierarchy) for s in plain(sensitive)]
    coded = [*domains, *(domain for _, domain in counted)]
    codes = tuple(d.code_of(values[d.name]) for d in coded)
    coders = tuple(Coder(d.name, values[d.name], of_value) for d, of_value in zip(coded, codes, strict=True))
    widths = tuple([d.n_codes for d in domains] + [s.n_values for s, _ in counted])
    return Columns(coders, codes, widths, domains, tuple(s for s, _ in counted))


def plain(sensitive: Sequence[SensitiveColumn]) -> list[SensitiveColumn]:
    """Attributes that are columns of their own."""
    return [s for s in sensitive if not s.is_person and not s.joins]


def fit_labels(
    values: Mapping[str, pl.Series],
    types: Mapping[str, ColumnType],
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    location: str,
) -> Columns:
    """The same for a release: code i of a quasi-identifier is its label i."""
    places = tuple(np.arange(len(values[name])) for name in quasi)
    labels = tuple(Coder(name, values[name], of_label) for name, of_label in zip(quasi, places, strict=True))
    rest = {s.name: values[s.name] for s in plain(sensitive)}
    counted = fit_columns(rest, types, (), sensitive, location)
    widths = (*(max(1, len(values[name])) for name in quasi), *counted.widths)
    return Columns((*labels, *counted.coders), (*places, *counted.codes), widths, (), counted.sensitive)


@dataclass(frozen=True, slots=True, eq=False)
class Tuples:
    """Different combinations of codes and how many records have each, as workers counted them."""

    codes: tuple[IntArray, ...]  # by coder
    persons: IntArray | None  # numbers of persons, from 0
    weights: IntArray
    keys: pl.DataFrame  # what a worker tells rows apart by

    @classmethod
    def of(cls, found: pl.DataFrame, columns: Columns) -> Tuples:
        """In the order of their first rows."""
        found = found.sort("first")
        names = [name for name in found.columns if name.startswith("w")]
        words = np.stack([found[name].to_numpy() for name in names]).view(np.uint64)
        packing = columns.packing
        codes = tuple(unpack(words, packing, i) for i in range(len(columns.coders)))
        persons = np.unique(found["person"].to_numpy(), return_inverse=True)[1] if "person" in found.columns else None
        return cls(codes, persons, found["n"].to_numpy(), found.drop("n", "first"))


def in_local_order(tuples: Tuples, columns: Columns, sensitive: Sequence[SensitiveColumn]) -> Tuples:
    """The tuples as the local engine numbers them: a search may look at them one after the other."""
    keys = coded_tuples(tuples, columns, sensitive).keys
    n_rows = int(tuples.weights.sum())
    firsts, _ = kernels.choose(n_rows).group(keys, n_rows)
    return _only(tuples, firsts)


def coded_tuples(tuples: Tuples, columns: Columns, sensitive: Sequence[SensitiveColumn]) -> CodedTable:
    """What a search looks at."""
    n_quasi = len(columns.domains)
    known = dict(zip((s.name for s in columns.sensitive), tuples.codes[n_quasi:], strict=True))
    counted: list[tuple[SensitiveDomain, IntArray]] = []
    for s in sensitive:
        if s.is_person:
            assert tuples.persons is not None
            counted.append((persons_of(s.name, int(tuples.persons.max(initial=-1)) + 1), tuples.persons))
        elif s.joins:
            domain, codes = combine([pair for pair in counted if pair[0].name in s.joins], s.name)
            counted.append((domain, codes.astype(np.int64)))
        else:
            counted.append((next(d for d in columns.sensitive if d.name == s.name), known[s.name]))
    quasi = tuples.codes[:n_quasi]
    layout = plan_layout([d.n_codes for d in columns.domains] + [d.n_values for d, _ in counted])
    keys = pack([c.astype(np.uint32) for c in [*quasi, *(codes for _, codes in counted)]], layout)
    totals = {d.name: _total(codes, tuples.weights, d.n_values) for d, codes in counted}
    space = make_space(columns.domains, layout)
    return CodedTable(columns.domains, tuple(d for d, _ in counted), space, keys, tuples.weights, None, totals)


def _total(codes: IntArray, weights: IntArray, n: int) -> IntArray:
    return np.bincount(codes, weights=weights, minlength=n).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class MakeTable:
    """From the tuples of a shard to what a search looks at; all shards know the totals of the table."""

    columns: Columns
    sensitive: tuple[SensitiveColumn, ...]
    totals: Mapping[str, IntArray]

    def __call__(self, found: pl.DataFrame) -> CodedTable:
        tuples = in_local_order(Tuples.of(found, self.columns), self.columns, self.sensitive)
        return replace(coded_tuples(tuples, self.columns, self.sensitive), totals=self.totals)


def nodes_of(found: pl.DataFrame, widths: Sequence[int], n_shards: int, n_dims: int) -> list[Node]:
    """Counts of codes by shard, from what workers counted."""
    counts = [np.zeros((n_shards, width), np.int64) for width in widths]
    for dim, of_dim in enumerate(counts):
        part = found.filter(pl.col("dim") == dim)
        of_dim[part["shard"].to_numpy(), part["code"].to_numpy()] = part["n"].to_numpy()
    sizes = counts[0].sum(axis=1)
    return [Node([c[s] for c in counts], int(sizes[s]), np.zeros(n_dims, bool)) for s in range(n_shards)]


def boxes_are_covered(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> bool:
    """The same as `covers_originals` where only the boxes of classes are here: labels must cover all of their box."""
    released = np.flatnonzero(answer.sizes > 0)
    expected = _expected_labels(recount, labels, released)
    if expected is None:
        return False
    for dim, (domain, published) in enumerate(zip(coding.domains, expected, strict=True)):
        coverage = coverage_of(recount.labels[domain.name], domain)
        lo, hi = answer.solution.lo[released, dim], answer.solution.hi[released, dim]
        if coverage.sets or not ((lo >= coverage.lo[published]) & (hi <= coverage.hi[published])).all():
            return False
    return _same_counts(recount, expected, answer.sizes[released], [])


# Recount -----------------------------------------------------------------------------------------------------------


def recounted(
    tuples: Tuples,
    columns: Columns,
    values: Mapping[str, pl.Series],
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    *,
    stars_are_suppressed: bool,
    hidden: Sequence[tuple[str, ColumnType]],
) -> Recount:
    """What a release says, given how often each combination of its cells occurs."""
    n_suppressed = 0
    if stars_are_suppressed:
        is_star = _stars(tuples, columns, values, quasi, hidden)
        if is_star.any() and not is_star.all():
            n_suppressed = int(tuples.weights[is_star].sum())
            tuples = _only(tuples, np.flatnonzero(~is_star))
    labels = tuples.codes[: len(quasi)]
    packed = pack([c.astype(np.uint32) for c in labels], plan_layout(columns.widths[: len(quasi)]))
    firsts, classes = kernels.choose(packed.shape[1]).group(packed)
    counted = coded_tuples(replace(tuples, codes=tuples.codes[len(quasi) :]), replace(columns, domains=()),
                           [s for s in sensitive if not s.is_person])  # fmt: skip
    codes = {d.name: (counted.sensitive_codes(i), d) for i, d in enumerate(counted.sensitive)}
    stats = count_classes(classes, len(firsts), codes, weights=tuples.weights)
    published = {name: column[firsts] for name, column in zip(quasi, labels, strict=True)}
    stats = replace(stats, labels=published)
    return Recount((stats,), int(tuples.weights.sum()), n_suppressed, {name: values[name] for name in quasi})


def _only(tuples: Tuples, chosen: IntArray) -> Tuples:
    codes = tuple(column[chosen] for column in tuples.codes)
    persons = None if tuples.persons is None else tuples.persons[chosen]
    return Tuples(codes, persons, tuples.weights[chosen], tuples.keys[chosen])


def _stars(
    tuples: Tuples,
    columns: Columns,
    values: Mapping[str, pl.Series],
    quasi: Sequence[str],
    hidden: Sequence[tuple[str, ColumnType]],
) -> NDArray[np.bool_]:
    """Combinations that suppressed records are published with."""
    is_star = np.ones(len(tuples.weights), bool)
    asked = [*((name, ColumnType.TEXT) for name in quasi), *hidden]
    for codes, of_value, width, (name, type_) in zip(tuples.codes, columns.codes, columns.widths, asked, strict=True):
        known = values[name]
        looks = (known == ANYTHING).fill_null(value=False) if type_ is ColumnType.TEXT else known.is_null()
        of_code = np.zeros(width, bool)
        of_code[of_value] = looks.to_numpy()
        is_star &= of_code[codes]
    return is_star


# Originals ---------------------------------------------------------------------------------------------------------


def covers_originals(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> bool:
    """Whether the rows of a release can be its originals, every cell covering its own.

    Rows of one combination of labels must be as many as the originals that were given these labels, with as many of
    each sensitive value; and every such label, read back, must cover the codes of all of them.
    """
    table, classes = coding.table, answer.solution.class_of_tuple
    kept = np.flatnonzero(classes >= 0)
    weights = table.weights[kept]
    expected = _expected_labels(recount, labels, classes[kept])
    if expected is None:
        return False
    for dim, (domain, published) in enumerate(zip(coding.domains, expected, strict=True)):
        coverage = coverage_of(recount.labels[domain.name], domain)
        codes = table.quasi_codes(dim)[kept]
        ok = (codes >= coverage.lo[published]) & (codes <= coverage.hi[published])
        for label, members in coverage.sets.items():
            rows = np.flatnonzero(ok & (published == label))
            ok[rows] = np.isin(codes[rows], list(members))
        if not ok.all():
            return False
    return _same_counts(recount, expected, weights, [(d, codes[kept]) for d, codes in table.attributes()])


def _expected_labels(recount: Recount, labels: Mapping[str, ClassLabels], classes: IntArray) -> list[IntArray] | None:
    """Which label of the recount each original was given, by column; None if one was not found in the release."""
    expected = []
    for name, known in recount.labels.items():
        places = {text: i for i, text in enumerate(known.to_list())}
        of_class = labels[name]
        names = [places.get(_as_read(text, of_class), -1) for text in of_class.names]
        found = np.array([*names, places.get(None, -1)])[of_class.of_class[classes]]
        if (found < 0).any():
            return None
        expected.append(found)
    return expected


def _as_read(text: str, labels: ClassLabels) -> str:
    return str(float(text)) if labels.are_numbers else text


def _same_counts(
    recount: Recount, expected: list[IntArray], weights: IntArray, sensitive: list[tuple[SensitiveDomain, IntArray]]
) -> bool:
    stats = recount.stats
    assert stats.labels is not None
    number = class_numbers(recount, expected)
    if (number < 0).any() or not np.array_equal(_total(number, weights, stats.n_classes), stats.size):
        return False
    for domain, codes in sensitive:
        hist = stats.hist.get(domain.name)
        if hist is None:
            continue
        places = {label: i for i, label in enumerate(hist.domain.labels)}
        mapped = np.array([places.get(label, -1) for label in domain.labels])[codes]
        if (mapped < 0).any():
            return False
        meant = histogram_of(number, mapped, weights, stats.n_classes, hist.domain)
        same = np.array_equal(meant.codes, hist.codes) and np.array_equal(meant.counts, hist.counts)
        if not same or not np.array_equal(meant.indptr, hist.indptr):
            return False
    return True


def class_numbers(recount: Recount, expected: list[IntArray]) -> IntArray:
    """The class of the recount that has the given labels, -1 where there is none."""
    assert recount.stats.labels is not None
    names = [f"l{i}" for i in range(len(expected))]
    known = pl.DataFrame(dict(zip(names, recount.stats.labels.values(), strict=True)))
    known = known.with_columns(pl.Series("class", np.arange(recount.stats.n_classes)))
    asked = pl.DataFrame(dict(zip(names, expected, strict=True)))
    found = asked.join(known.cast(dict.fromkeys(names, pl.Int64)), on=names, how="left", maintain_order="left")["class"]
    return found.fill_null(-1).to_numpy()


def with_persons(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> Recount:
    """The recount with the persons of its classes, which no release publishes."""
    table, classes = coding.table, answer.solution.class_of_tuple
    person = next((i for i, d in enumerate(table.sensitive) if d.kind is Counted.PERSON), None)
    if person is None:
        return recount
    kept = np.flatnonzero(classes >= 0)
    expected = _expected_labels(recount, labels, classes[kept])
    number = np.zeros(0, np.int64) if expected is None else class_numbers(recount, expected)
    if expected is None or (number < 0).any():
        raise DataError("the release does not hold the rows that were published", hint="run again")
    domain, codes = table.sensitive[person], table.sensitive_codes(person)[kept]
    counted = histogram_of(number, codes, table.weights[kept], recount.stats.n_classes, domain)
    stats = replace(recount.stats, hist={**recount.stats.hist, domain.name: counted})
    return replace(recount, parts=(stats,))
