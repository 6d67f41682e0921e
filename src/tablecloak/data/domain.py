"""Values to integer codes and back: how one quasi-identifier is coded, published and priced.

Codes of a domain ascend along its order (numbers, dates), along its tree (depth first) or along the alphabet, so that a
class needs only an interval `[lo, hi]` of codes per column. The missing value is code 0 where a column has one.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.data.code_sets import CodeSets
from tablecloak.data.nominal_codes import are_codes
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.stats.classes import Counted, SensitiveDomain
from tablecloak.stats.value_labels import Labels, labels_of
from tablecloak.values.bounds import is_continuous, nearest_gaps, round_bounds, shares
from tablecloak.values.cell_grammar import format_all_but, format_exact, format_set, format_value, parse

Codes = NDArray[np.unsignedinteger[Any]]
# From the distinct values of a column (without null) to its hierarchy, or to None where it has none.
MakeHierarchy = Callable[[pl.Series], Hierarchy | None]

ANYTHING = "*"
# Integers in a range this small are coded by a look-up table instead of by sorting.
TABLE_RANGE = 1 << 22
# So many pairs of codes are told apart by a table with a place for each, if classes are not far fewer.
TABLE_UP_TO = 1 << 24
PLACES_PER_CLASS = 8
# A set of more members than this is named by the values it leaves out, where these are half as many at most.
LISTED_UP_TO = 5
# A set that leaves out more values than this, and less than a tenth of all, is published as *: nobody reads such lists.
LEFT_OUT_UP_TO, NEARLY_ALL = 10, 0.9


class DomainKind(enum.IntEnum):
    """How the codes of a domain relate to each other."""

    ORDERED = 0  # numbers and dates: published as intervals
    TREE = 1  # a hierarchy: published as its nodes
    SET = 2  # categories and codes without a hierarchy: published as sets of values


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The coded values of one quasi-identifier.

    Code `c` stands for `values[c - has_missing]`; with a hierarchy it is the leaf code.
    """

    name: str
    type: ColumnType
    kind: DomainKind
    has_missing: bool
    values: pl.Series  # distinct, ascending, without null; the text of the leaves where there is a hierarchy
    hierarchy: Hierarchy | None = None
    weight: float = 1.0
    spans: tuple[FloatArray, FloatArray] | None = None  # what intervals are priced by, if not by published bounds
    is_continuous: bool = field(init=False)  # published intervals get round bounds, which are nobody's value
    _bounds: list[NDArray[Any]] = field(init=False, default_factory=list, repr=False)  # found once: see `_ends`

    def __post_init__(self) -> None:
        is_line = self.kind is DomainKind.ORDERED
        continuous = is_line and is_continuous(self.values.to_physical().to_numpy(), self.type.value)
        object.__setattr__(self, "is_continuous", continuous)

    @property
    def n_codes(self) -> int:
        return self.hierarchy.n_leaves if self.hierarchy else len(self.values) + self.has_missing

    def positions(self) -> FloatArray:
        """Place of every code of an ordered domain on a line from 0 to 1, (n_codes,)."""
        if len(self.values) == 0:
            return np.zeros(self.n_codes)
        line = self.values.to_physical().to_numpy()
        return np.concatenate([np.zeros(int(self.has_missing)), shares(line[:1], line, line)])

    def reaches(self) -> tuple[FloatArray, FloatArray]:
        """Where intervals of an ordered domain begin and end, as published, on a line, (n_codes,) each.

        The first is by the code that an interval begins with, the second by the one it ends with. All values lie from 0
        to 1, bounds a little beyond.
        """
        if self.spans is not None:
            return self.spans
        line, every = self.values.to_physical().to_numpy(), np.arange(self.n_codes)
        lower, upper = self._ends(every, every)
        if not len(line):
            return np.zeros(self.n_codes), np.zeros(self.n_codes)
        # whole numbers are subtracted without a sign: from the lowest bound on
        below = shares(lower[:1], line[:1], line)
        return shares(lower[:1], lower, line) - below, shares(lower[:1], upper, line) - below

    def extents(self) -> tuple[FloatArray, FloatArray]:
        """The same of the first and last values that intervals cover, without the gaps that their bounds lie in."""
        if self.spans is not None:
            return self.spans
        places, (first, last) = self.positions(), self.covers()
        return places[first], places[last]

    def covered(self, lo: IntArray, hi: IntArray) -> tuple[IntArray, IntArray]:
        """The code intervals that published ones cover: where values lie side by side, bounds are farther out."""
        if not self.is_continuous:
            return lo, hi
        first, last = self.covers()
        return np.where(lo == hi, lo, first[lo]), np.where(lo == hi, hi, last[hi])

    def covers(self) -> tuple[IntArray, IntArray]:
        """The first code that intervals cover by the code they begin with, and the last by the one they end with."""
        every = np.arange(self.n_codes)
        if not self.is_continuous:
            return every, every
        offset = int(self.has_missing)
        below, above = nearest_gaps(self.values.to_physical().to_numpy(), self.type.value)
        return np.append(every[:offset], below + 1 + offset), np.append(every[:offset], above + offset)

    def line(self) -> FloatArray | None:
        """Place of every code of numbers or dates on a line from 0 to 1, NaN for the missing value; None for others.

        Unlike `positions`, also for codes that are leaves of a hierarchy.
        """
        if not self.type.is_ordered:
            return None
        if self.hierarchy is None:
            places = self.positions()
        else:
            leaves = self.hierarchy.leaf_labels
            places = np.array([np.nan if leaf is None else float(parse(leaf, self.type.value).lo) for leaf in leaves])
            places = places / 4  # the distance of the two largest floats is no float
            low = np.nanmin(places, initial=np.inf)
            width = np.nanmax(places, initial=-np.inf) - low
            places = (places - low) / width if width > 0 else places * 0
        if self.has_missing:
            places[0] = np.nan
        return places

    def loss(self, lo: IntArray, hi: IntArray) -> FloatArray:
        """Normalised certainty penalty of publishing code intervals, each in [0, 1]."""
        if self.hierarchy:
            return self.hierarchy.losses[self.nodes(lo, hi)]
        if self.kind is DomainKind.ORDERED:
            lower, upper = self.reaches()
            width = np.minimum(1.0, upper[hi] - lower[lo])
        else:
            return self._loss_of_sets(hi - lo + 1, lo)
        mixed = (lo == 0) & (hi > 0) if self.has_missing else np.zeros(len(lo), dtype=bool)
        return np.where(lo == hi, 0.0, np.where(mixed, 1.0, width))

    def set_loss(self, sets: CodeSets) -> FloatArray:
        """Normalised certainty penalty of publishing sets of codes, each in [0, 1]."""
        return self._loss_of_sets(sets.sizes, sets.first)

    def _loss_of_sets(self, sizes: IntArray, first: IntArray) -> FloatArray:
        n_values = max(1, self.n_codes - int(self.has_missing))
        return np.where(sizes < 2, 0.0, np.where(self._are_any(sizes, first), 1.0, sizes / n_values))

    def set_labels(self, sets: CodeSets) -> list[str | None]:
        """Published text of sets of codes; None is the missing cell."""
        are_any = self._are_any(sets.sizes, sets.first).tolist()
        pairs = zip(sets.lists(), are_any, strict=True)
        return [ANYTHING if is_any else self._set_label(members) for members, is_any in pairs]

    def _are_any(self, sizes: IntArray, first: IntArray) -> BoolArray:
        """Which sets are published as *: with the missing value, with every value, or with nearly every one of many."""
        n_values = self.n_codes - int(self.has_missing)
        has_missing = (first == 0) & self.has_missing
        is_nearly_all = (n_values - sizes > LEFT_OUT_UP_TO) & (sizes >= NEARLY_ALL * n_values)
        return np.asarray((sizes > 1) & (has_missing | (sizes == n_values) | is_nearly_all))

    def _set_label(self, members: list[int]) -> str | None:
        if len(members) == 1:
            return self.exact_label(members[0])
        n_left_out = self.n_codes - int(self.has_missing) - len(members)
        if self.hierarchy is None and len(members) > LISTED_UP_TO and 2 * n_left_out <= len(members):
            left_out = set(range(int(self.has_missing), self.n_codes)).difference(members)
            return format_all_but(str(self.text(c)) for c in left_out)
        masks = {str(self.text(c)) for c in members if self.hierarchy and c in self.hierarchy.coarse}
        return format_set((str(self.text(c)) for c in members), masks={m for m in masks if "," not in m})

    def text(self, code: int) -> str | None:
        """The value of a code as text; None for the missing one."""
        if self.hierarchy:
            return self.hierarchy.labels[code]
        return None if code < int(self.has_missing) else format_value(self.values[code - int(self.has_missing)])

    def exact_label(self, code: int) -> str | None:
        """Published text of one code."""
        return self.hierarchy.shown[code] if self.hierarchy else format_exact(self.text(code))

    def labels(self, lo: IntArray, hi: IntArray) -> list[str | None]:
        """Published text of code intervals; None is the missing cell."""
        if self.hierarchy:
            return [self.hierarchy.shown[node] for node in self.nodes(lo, hi)]
        if self.kind is DomainKind.SET:
            return self.set_labels(CodeSets.of_boxes(lo, hi))
        texts = self._interval_labels(lo, hi)
        if not self.has_missing:
            return texts
        return [ANYTHING if b and not a else text for a, b, text in zip(lo.tolist(), hi.tolist(), texts, strict=True)]

    @property
    def tells_intervals_apart(self) -> bool:
        """Whether intervals that cover different codes have different labels, each made of the texts of its ends."""
        return self.hierarchy is None and self.kind is DomainKind.ORDERED and not self.has_missing

    def nodes(self, lo: IntArray, hi: IntArray) -> IntArray:
        """The lowest hierarchy node that holds each code interval."""
        assert self.hierarchy is not None
        # many classes share few intervals, so each interval is looked up once
        first, last, of_class = distinct_intervals(lo, hi, self.n_codes)
        nodes: IntArray = self.hierarchy.lca_ranges(first, last)[of_class]
        return nodes

    def _interval_labels(self, lo: IntArray, hi: IntArray) -> list[str | None]:
        """Texts of intervals of an ordered column; where all values are one, of that."""
        is_exact = lo == hi
        exact = np.unique(lo[is_exact])
        begins, ends = np.unique(lo[~is_exact]), np.unique(hi[~is_exact])
        of_exact = {code: self.text(code) for code in exact.tolist()}
        line = self.values.to_physical().dtype
        sides = self._ends(begins, ends)
        lower, upper = (_texts(pl.Series(side).cast(line).cast(self.values.dtype)) for side in sides)
        of_begin = dict(zip(begins.tolist(), lower, strict=True))
        of_end = dict(zip(ends.tolist(), upper, strict=True))
        pairs = zip(lo.tolist(), hi.tolist(), strict=True)
        return [of_exact[a] if a == b else f"[{of_begin[a]}, {of_end[b]}]" for a, b in pairs]

    def _ends(self, begins: IntArray, ends: IntArray) -> tuple[NDArray[Any], NDArray[Any]]:
        """Where published intervals begin and end that begin and end with given codes, on the line of the values."""
        line = self.values.to_physical().to_numpy()
        first, last = (np.maximum(codes - int(self.has_missing), 0) for codes in (begins, ends))
        if not len(line):  # nothing but missing values
            return np.zeros(len(begins), line.dtype), np.zeros(len(ends), line.dtype)
        if not self.is_continuous:
            return line[first], line[last]
        if not self._bounds:
            every = np.arange(len(line))
            self._bounds.extend(round_bounds(line, every, every, self.type.value, may_overlap=True))
        lower, upper = self._bounds
        return lower[first], upper[last]

    def parted(self) -> BoolArray:
        """Whether an interval that begins with a code has no place in common with one that ends before it, by code."""
        every = np.arange(self.n_codes)
        lower, upper = self._ends(every, every)
        return np.append(True, upper[:-1] < lower[1:])

    def interval_ends(self, lo: IntArray, hi: IntArray) -> tuple[NDArray[Any], NDArray[Any]]:
        """First and last place of published intervals of an ordered column, on the line of its values."""
        lower, upper = self._ends(lo, hi)
        if not self.is_continuous:
            return lower, upper
        exact = self.values.to_physical().to_numpy()[np.maximum(lo - int(self.has_missing), 0)]
        return np.where(lo == hi, exact, lower), np.where(lo == hi, exact, upper)

    def codes(self, column: Distinct) -> Codes:
        """Codes of a column whose values all belong to this domain (others raise DataError)."""
        dtype = np.uint8 if self.n_codes <= 1 << 8 else np.uint16 if self.n_codes <= 1 << 16 else np.uint32
        return column.recoded(self.code_of(column.values).astype(dtype))

    def code_of(self, distinct: pl.Series) -> IntArray:
        """Code of each given value; the values are distinct and may include null."""
        if self.hierarchy:
            return self._leaf_codes(distinct)
        code_of_value = pl.DataFrame(
            {"value": self.values, "code": np.arange(len(self.values)) + int(self.has_missing)}
        )
        codes = pl.DataFrame({"value": distinct}).join(code_of_value, on="value", how="left", maintain_order="left")[
            "code"
        ]
        missing = distinct.is_null()
        if missing.any() and self.has_missing:
            codes = pl.select(pl.when(missing).then(0).otherwise(codes).alias("code"))["code"]
        if codes.null_count():
            raise DataError(f"column '{self.name}': {codes.null_count():,} distinct values are not in its domain")
        return codes.to_numpy().astype(np.int64)

    def _leaf_codes(self, distinct: pl.Series) -> IntArray:
        assert self.hierarchy is not None
        codes = self.hierarchy.codes(format_value(value) for value in distinct.to_list()).tolist()
        unknown = codes.count(-1)
        if unknown:
            n_leaves = self.hierarchy.n_leaves - int(self.hierarchy.has_missing)
            raise DataError(
                f"column '{self.name}': {unknown:,} of its {len(codes):,} distinct values are not among the "
                f"{n_leaves:,} leaves of its hierarchy",
                hint=f"add them to it, and check it with: tablecloak hierarchy check FILE DATA {self.name}",
            )
        return np.array(codes, dtype=np.int64)


def _texts(values: pl.Series) -> list[str]:
    return [str(format_value(value)) for value in values.to_list()]


def fit_domain(
    series: pl.Series, column_type: ColumnType, *, make_hierarchy: MakeHierarchy | None = None, weight: float = 1.0,
    may_be_codes: bool = False,
) -> tuple[Domain, Codes]:  # fmt: skip
    """The domain of a quasi-identifier and the codes of its rows, in one pass over the rows."""
    distinct = distinct_of(series)
    domain = domain_of(
        distinct.values, column_type, make_hierarchy=make_hierarchy, weight=weight, may_be_codes=may_be_codes
    )
    return domain, domain.codes(distinct)


def domain_of(
    distinct: pl.Series, column_type: ColumnType, *, make_hierarchy: MakeHierarchy | None = None, weight: float = 1.0,
    may_be_codes: bool = False,
) -> Domain:  # fmt: skip
    """The domain of a quasi-identifier, given its different values (null included).

    Args:
        may_be_codes: whole numbers that look like codes are categories.
    """
    hierarchy = make_hierarchy(distinct.drop_nulls()) if make_hierarchy else None
    is_nominal = may_be_codes and are_codes(distinct, column_type)
    return _domain_of(distinct.name, distinct, column_type, hierarchy, weight, is_nominal=is_nominal)


def fit_sensitive(
    series: pl.Series, column_type: ColumnType, *, make_hierarchy: MakeHierarchy | None = None
) -> tuple[SensitiveDomain, Codes]:
    """The domain of a sensitive attribute and the codes of its rows; the missing value comes first."""
    distinct = distinct_of(series)
    counted, domain = sensitive_of(distinct.values, column_type, make_hierarchy=make_hierarchy)
    return counted, domain.codes(distinct)


def sensitive_of(
    distinct: pl.Series, column_type: ColumnType, *, make_hierarchy: MakeHierarchy | None = None
) -> tuple[SensitiveDomain, Domain]:
    """The domain of a sensitive attribute, given its different values (null included), and how these are coded."""
    domain = domain_of(distinct, column_type, make_hierarchy=make_hierarchy)
    if domain.hierarchy:
        labels: Labels = domain.hierarchy.labels[: domain.hierarchy.n_leaves]
    else:
        labels = labels_of(domain.values, has_missing=domain.has_missing)
    numbers = _numbers(domain, labels) if column_type.is_ordered else None
    return SensitiveDomain(distinct.name, labels, column_type.is_ordered, domain.hierarchy, numbers), domain


def _numbers(domain: Domain, labels: Sequence[str | None]) -> FloatArray:
    """Where every code lies on the line of its type, NaN for the missing value."""
    if domain.hierarchy:
        places = [np.nan if label is None else float(parse(label, domain.type.value).lo) for label in labels]
        return np.array(places, dtype=np.float64)
    present = domain.values.to_physical().cast(pl.Float64).to_numpy()
    return np.concatenate([np.full(int(domain.has_missing), np.nan), present])


def fit_persons(series: pl.Series) -> tuple[SensitiveDomain, Codes]:
    """The keys of persons as a counted attribute; empty cells count as one person, so no crowd is overstated."""
    distinct = distinct_of(series)
    n = len(distinct.values)
    return persons_of(series.name, n), distinct.recoded(np.arange(n, dtype=np.uint32))


def persons_of(name: str, n: int) -> SensitiveDomain:
    """The domain of so many persons."""
    return SensitiveDomain(name, (None,) * n, kind=Counted.PERSON)


def _domain_of(
    name: str, distinct: pl.Series, column_type: ColumnType, hierarchy: Hierarchy | None, weight: float, *,
    is_nominal: bool,
) -> Domain:  # fmt: skip
    has_missing = distinct.null_count() > 0
    values = distinct.drop_nulls()
    if hierarchy is not None:
        full = hierarchy.with_missing() if has_missing else hierarchy
        return Domain(name, column_type, DomainKind.TREE, has_missing, values.cast(pl.String), full, weight)
    kind = DomainKind.ORDERED if column_type.is_ordered and not is_nominal else DomainKind.SET
    if not column_type.is_ordered and values.dtype != pl.Boolean:
        values = values.cast(pl.String)
    return Domain(name, column_type, kind, has_missing, values.sort(), None, weight)


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The distinct values of a column (null included, in any fixed order) and where each row finds its own.

    Row `i` has value `values[table[raw[i]]]`; keeping the two steps apart lets a column be recoded in one look-up.
    """

    values: pl.Series
    table: NDArray[np.integer[Any]]
    raw: NDArray[np.integer[Any]]  # (n_rows,)

    @property
    def index(self) -> NDArray[np.integer[Any]]:
        """Which distinct value each row has."""
        index: NDArray[np.integer[Any]] = self.table[self.raw]
        return index

    def recoded(self, new: NDArray[Any]) -> NDArray[Any]:
        """`new[i]` for every row whose value is `values[i]`."""
        return new[self.table][self.raw] if len(new) else np.zeros(len(self.raw), new.dtype)

    def only(self, rows: NDArray[np.integer[Any]]) -> Distinct:
        """The same for some of the rows."""
        return Distinct(self.values, self.table, self.raw[rows])


def distinct_of(series: pl.Series) -> Distinct:
    """Find the distinct values of a column without sorting rows where that can be avoided."""
    if isinstance(series.dtype, pl.Enum):
        return _distinct_enum(series, series.dtype)
    if isinstance(series.dtype, pl.Categorical):
        return _distinct_categories(series)
    if series.dtype.is_integer() or series.dtype in (pl.Date, pl.Boolean):
        small = _distinct_small_range(series)
        if small is not None:
            return small
    values = series.unique().sort(nulls_last=False)
    rank = series.rank("dense").cast(pl.UInt32).fill_null(0).to_numpy()  # ranks begin at 1
    table = np.arange(len(values)) if values.null_count() else np.arange(len(values) + 1) - 1
    return Distinct(values, table, rank)


def _distinct_enum(series: pl.Series, dtype: pl.Enum) -> Distinct:
    """Every category counts as a value, whether or not it occurs."""
    physical = series.to_physical()
    values = dtype.categories.rename(series.name)
    if series.null_count():
        values = values.append(pl.Series(series.name, [None], dtype=pl.String))
        physical = physical.cast(pl.UInt32).fill_null(len(values) - 1)
    return Distinct(values, np.arange(len(values)), physical.to_numpy())


def _distinct_categories(series: pl.Series) -> Distinct:
    """Values are sorted as text: places of categories depend on what else this process has read."""
    physical = series.to_physical().cast(pl.UInt32)
    distinct = series.unique()
    texts = distinct.cast(pl.String)
    order = texts.arg_sort()
    places = distinct.to_physical().cast(pl.UInt32)[order]
    top = int(places.max() or 0) + 1  # type: ignore[arg-type]
    table = np.zeros(top + 1, dtype=np.int64)
    table[places.fill_null(top).to_numpy()] = np.arange(len(distinct))
    return Distinct(texts[order], table, physical.fill_null(top).to_numpy())


def _distinct_small_range(series: pl.Series) -> Distinct | None:
    if series.dtype == pl.UInt64:
        return None
    numbers = series.to_physical().cast(pl.Int64)
    low, high = cast("int | None", numbers.min()), cast("int | None", numbers.max())
    if low is None or high is None or high - low >= TABLE_RANGE:
        return None
    top = high - low + 1
    raw = (numbers - low).fill_null(top).to_numpy()
    is_present = np.zeros(top + 1, dtype=bool)
    is_present[raw] = True
    present = np.flatnonzero(is_present)
    table = np.zeros(top + 1, dtype=np.int64)
    table[present] = np.arange(len(present))
    values = pl.Series(series.name, [None if p == top else p + low for p in present.tolist()], dtype=pl.Int64)
    return Distinct(values.cast(series.dtype), table, raw)


def distinct_intervals(
    lo: NDArray[np.integer[Any]], hi: NDArray[np.integer[Any]], n_codes: int
) -> tuple[IntArray, IntArray, NDArray[np.integer[Any]]]:
    """The different intervals in ascending order, and which of them each one is: (lo, hi, (n,) places)."""
    n_pairs = n_codes * n_codes
    pairs = lo.astype(np.int64) * n_codes
    pairs += hi
    place: NDArray[np.integer[Any]]
    if n_pairs > min(TABLE_UP_TO, PLACES_PER_CLASS * len(pairs)):
        different, place = np.unique(pairs, return_inverse=True)
    else:  # no sorting
        is_there = np.zeros(n_pairs, np.bool_)
        is_there[pairs] = True
        different = np.flatnonzero(is_there)
        places = np.zeros(n_pairs, np.uint32)
        places[different] = np.arange(len(different), dtype=np.uint32)
        place = places[pairs]
    return *np.divmod(different, n_codes), place
