"""From counts of published cells to the classes of a release, held against their originals."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import mixed
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Answer, ClassesElsewhere, Coding, Recount, SensitiveColumn
from tablecloak.engines.equal_rows import suppressed_rows
from tablecloak.engines.spark.coding import (
    CodedColumns,
    CountedTuples,
    coded_tuples,
    framed,
    only,
    total_of,
    words_in,
    words_of,
)
from tablecloak.engines.spark.publish import CLASS, LABEL
from tablecloak.engines.spark.rows import Guarded, batches_of, frame_of
from tablecloak.engines.spark.session import explained
from tablecloak.errors import DataError
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import KeyLayout, pack, plan_layout, unpack
from tablecloak.stats.classes import ClassStats, Counted, SensitiveDomain, count_classes, histogram_of, without_classes
from tablecloak.stats.persons import as_published

R = TypeVar("R")


@dataclass(frozen=True, slots=True, eq=False)
class StarsShown:
    """Which codes of every column are what suppressed records are published with."""

    of_code: tuple[BoolArray, ...]  # by coder, (width,)

    @classmethod
    def of(
        cls,
        columns: CodedColumns,
        values: Mapping[str, pl.Series],
        quasi: Sequence[str],
        hidden: Sequence[tuple[str, ColumnType]],
    ) -> StarsShown:
        """Those of labels, which are texts, and of counted columns."""
        shown = []
        typed = [*((name, ColumnType.TEXT) for name in quasi), *hidden]
        for of_value, width, (name, type_) in zip(columns.codes, columns.widths, typed, strict=True):
            of_code = np.zeros(width, bool)
            of_code[of_value] = suppressed_rows(values[name].to_frame(), [], [name], {name: type_})
            shown.append(of_code)
        return cls(tuple(shown))

    def rows(self, codes: Sequence[IntArray]) -> BoolArray:
        """Combinations that suppressed records are published with."""
        is_star = np.ones(len(codes[0]), bool)
        for of_code, column in zip(self.of_code, codes, strict=True):
            is_star &= of_code[column]
        return is_star


def recounted(
    tuples: CountedTuples,
    columns: CodedColumns,
    values: Mapping[str, pl.Series],
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    shows: StarsShown | None,
) -> Recount:
    """What a release says, given how often each combination of its cells occurs.

    Args:
        shows: what suppressed records show; None: there are none.
    """
    n_suppressed = 0
    if shows is not None:
        is_star = shows.rows(tuples.codes)
        if is_star.any() and not is_star.all():
            n_suppressed = int(tuples.weights[is_star].sum())
            tuples = only(tuples, np.flatnonzero(~is_star))
    stats = _stats(tuples, columns, quasi, [s for s in sensitive if not s.is_person])
    return Recount((stats,), int(tuples.weights.sum()), n_suppressed, {name: values[name] for name in quasi})


def _stats(
    tuples: CountedTuples,
    columns: CodedColumns,
    quasi: Sequence[str],
    sensitive: Sequence[SensitiveColumn],
    totals: Mapping[str, IntArray] | None = None,
) -> ClassStats:
    """Statistics of the classes that combinations of labels and values form."""
    labels = tuples.codes[: len(quasi)]
    packed = pack([c.astype(np.uint32) for c in labels], plan_layout(columns.widths[: len(quasi)]))
    firsts, classes = group_keys.sized(packed.shape[1])(packed)
    counted = coded_tuples(
        replace(tuples, codes=tuples.codes[len(quasi) :]), replace(columns, domains=()), sensitive
    )  # fmt: skip
    codes = {d.name: (counted.sensitive_codes(i), d) for i, d in enumerate(counted.sensitive)}
    stats = count_classes(classes, len(firsts), codes, weights=tuples.weights, totals=totals)
    return replace(stats, labels={name: column[firsts] for name, column in zip(quasi, labels, strict=True)})


# Classes that stay with the workers ----------------------------------------------------------------------------------

COUNTS = "kind int, code bigint, is_star boolean, n bigint"
_RECORDS, _COMBINATIONS = -1, -2


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseClasses:
    """How combinations of published labels and counted values become classes, on the worker that holds them.

    A class lies on one worker, who judges it; sums, verdicts and what is drawn by lot come back.
    """

    columns: CodedColumns
    quasi: tuple[str, ...]
    shows: StarsShown | None  # what suppressed records show; None: there are none

    def recounted(self, grouped: Any, values: Mapping[str, pl.Series], most: int, location: str) -> Recount:
        """What a release says.

        Args:
            grouped: a DataFrame of different combinations with their number.
            most: combinations that one worker may hold.
        """
        with explained("counting classes", location):
            counted = grouped.mapInArrow(Guarded(_CountTask(self)), COUNTS).groupBy("kind", "code", "is_star").sum("n")
            frame = frame_of(counted.toArrow().rename_columns(["kind", "code", "is_star", "n"]))
        of_records = frame.filter(pl.col("kind") == _RECORDS)
        n_all, n_stars = int(of_records["n"].sum()), int(of_records.filter("is_star")["n"].sum())
        drops = 0 < n_stars < n_all
        frame = frame.filter(~pl.col("is_star")) if drops else frame
        totals = {d.name: self._total(frame, i, d.n_values) for i, d in enumerate(self.columns.sensitive)}
        n_combinations = int(frame.filter(pl.col("kind") == _COMBINATIONS)["n"].sum())
        n_parts = -(-n_combinations // most) or 1
        task = _PartTask(self, n_parts, drops_stars=drops)
        schema = ", ".join([*(f"{w} bigint" for w in words_in(self.columns.packing)), "n bigint, part int"])
        parts = grouped.mapInArrow(Guarded(task), schema)
        classes = _ClassesOnWorkers(parts, n_parts, _MakeStats(self, totals), location)
        n_rows = n_all - (n_stars if drops else 0)
        return Recount(classes, n_rows, n_all - n_rows, {name: values[name] for name in self.quasi})

    def codes(self, frame: pl.DataFrame) -> list[IntArray]:
        """The codes of combinations, by coder."""
        packing = self.columns.packing
        words = words_of(frame, packing)
        return [unpack(words, packing, i) for i in range(len(self.columns.coders))]

    @staticmethod
    def _total(frame: pl.DataFrame, kind: int, n: int) -> IntArray:
        of_kind = frame.filter(pl.col("kind") == kind)
        return np.bincount(of_kind["code"], weights=of_kind["n"], minlength=n).astype(np.int64)

    def cover(self, grouped: Any, recount: Recount, originals: Coding, location: str) -> bool:
        """Whether the rows of a release can be its originals, every cell covering its own: as `covers_originals` says.

        Workers add up the rows of every combination in the release, take away those of the originals that were given
        it, and nothing must be left.
        """
        from pyspark.sql import functions as f

        rows, labels = originals.rows, recount.labels
        coverage = tuple(coverage_of(labels[d.name], d) for d in originals.domains)
        values = {d.name: i for i, d in enumerate(originals.sensitive)}
        shared = [values[d.name] for d in self.columns.sensitive if d.name in values]
        if len(shared) < len(self.columns.sensitive):
            raise DataError("the release has counted columns that its original has not", hint="run again")
        in_release = tuple(
            (i, originals.sensitive[i].codes_in(d)) for i, d in zip(shared, self.columns.sensitive, strict=True)
        )
        words = words_in(self.columns.packing)
        task = _ExpectTask(self, rows.task.packing, coverage, in_release, [d.name for d in originals.domains], labels)
        schema = ", ".join([*(f"{w} bigint" for w in words), "n bigint, wrong bigint"])
        expected = rows.classes.where(f"{CLASS} >= 0").mapInArrow(Guarded(task), schema)
        shown = _PartTask(self, 1, drops_stars=recount.n_suppressed > 0)
        release = grouped.mapInArrow(Guarded(shown), schema.replace("wrong bigint", "part int"))
        both = release.select(*words, "n", f.lit(0).cast("bigint").alias("wrong")).unionByName(expected)
        left = both.groupBy(*words).agg(f.sum("n").alias("n"), f.sum("wrong").alias("wrong"))
        with explained("holding classes against their originals", location):
            found = left.where("n <> 0 OR wrong <> 0").limit(1).toArrow()
        return not found.num_rows


@dataclass(frozen=True, slots=True, eq=False)
class _CountTask:
    """How often each counted value occurs, and how many records and combinations there are."""

    of: ReleaseClasses

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(frame_of, batches):
            codes = self.of.codes(frame)
            is_star = self.of.shows.rows(codes) if self.of.shows else np.zeros(frame.height, bool)
            nothing, one = np.zeros(frame.height, np.int64), np.ones(frame.height, np.int64)
            kinds = [(_RECORDS, nothing, frame["n"].to_numpy()), (_COMBINATIONS, nothing, one)]
            values = codes[len(self.of.quasi) :]
            kinds += [(i, column.astype(np.int64), frame["n"].to_numpy()) for i, column in enumerate(values)]
            for kind, code, n in kinds:
                cells = pl.DataFrame({"code": code, "is_star": is_star, "n": n})
                summed = cells.group_by("code", "is_star").agg(pl.col("n").sum())
                yield from batches_of(summed.select(pl.lit(kind, pl.Int32).alias("kind"), "code", "is_star", "n"))


@dataclass(frozen=True, slots=True, eq=False)
class _PartTask:
    """Combinations with the part that their class lies in, those of suppressed records left out."""

    of: ReleaseClasses
    n_parts: int
    drops_stars: bool

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        for frame in map(frame_of, batches):
            codes = self.of.codes(frame)
            labels = np.stack(codes[: len(self.of.quasi)]).astype(np.uint64)
            part = pl.Series("part", (mixed(labels) % np.uint64(self.n_parts)).astype(np.int32))
            parted = frame.drop("first").with_columns(part)
            if self.drops_stars and self.of.shows is not None:
                parted = parted.filter(pl.Series(~self.of.shows.rows(codes)))
            yield from batches_of(parted)


@dataclass(frozen=True, slots=True, eq=False)
class _ExpectTask:
    """Combinations that originals were given, to be taken away from those of the release: their number is negative."""

    of: ReleaseClasses
    packing: KeyLayout  # of the originals
    coverage: tuple[Coverage, ...]  # by quasi-identifier
    in_release: tuple[tuple[int, IntArray], ...]  # attributes of the originals, and the codes of values in the release
    domains: list[str]
    labels: Mapping[str, pl.Series]  # of the release, code i being label i

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        n_dims = len(self.domains)
        for frame in map(frame_of, batches):
            words = words_of(frame, self.packing)
            codes, wrong = [], np.zeros(frame.height, bool)
            for name, values in self.labels.items():
                dim = self.domains.index(name)
                places = values.to_frame("value").with_row_index("place")
                cells = frame[f"{LABEL}{dim}"].to_frame("value")
                found = cells.join(places, on="value", how="left", nulls_equal=True, maintain_order="left")["place"]
                wrong |= found.is_null().to_numpy()
                label = found.fill_null(0).to_numpy().astype(np.int64)
                wrong |= ~self.coverage[dim].holds(label, unpack(words, self.packing, dim))
                codes.append(label)
            for number, in_release in self.in_release:
                code = in_release[unpack(words, self.packing, n_dims + number)]
                wrong |= code < 0
                codes.append(np.maximum(code, 0))
            packed = framed(pack([c.astype(np.uint32) for c in codes], self.of.columns.packing))
            told = packed.with_columns(-frame["n"], pl.Series("wrong", wrong.astype(np.int64)))
            yield from batches_of(told.group_by(packed.columns).sum())


@dataclass(frozen=True, slots=True, eq=False)
class _MakeStats:
    """From the combinations of a part to the statistics of its classes, which all know the totals of the release."""

    of: ReleaseClasses
    totals: Mapping[str, IntArray]
    changes: tuple[Callable[[ClassStats], ClassStats], ...] = ()

    def __call__(self, frame: pl.DataFrame) -> ClassStats:
        sensitive = [SensitiveColumn(d.name) for d in self.of.columns.sensitive]
        tuples = CountedTuples(tuple(self.of.codes(frame)), None, frame["n"].to_numpy(), frame)
        stats = _stats(tuples, self.of.columns, self.of.quasi, sensitive, self.totals)
        for change in self.changes:
            stats = change(stats)
        return stats


class _ClassesOnWorkers(ClassesElsewhere):
    """Classes of a release in parts, each of which is put together by the worker that is to look at it."""

    def __init__(self, combinations: Any, n: int, make: _MakeStats, location: str) -> None:
        self._combinations, self._make_stats, self._location = combinations, make, location
        super().__init__(n, self._fetch)
        self.nothing = without_classes(
            make(pl.DataFrame(schema=dict.fromkeys([*words_in(make.of.columns.packing), "n"], pl.Int64)))
        )

    def _fetch(self, index: int) -> ClassStats:
        with explained("fetching classes", self._location):
            return self._make_stats(frame_of(self._combinations.where(f"part = {index}").toArrow()))

    def changed(self, change: Callable[[ClassStats], ClassStats]) -> _ClassesOnWorkers:
        make = replace(self._make_stats, changes=(*self._make_stats.changes, change))
        return _ClassesOnWorkers(self._combinations, len(self), make, self._location)

    def results(self, look: Callable[[ClassStats, int], R]) -> list[R]:
        make = self._make_stats

        def looking(table: Any) -> Any:  # Spark counts the arguments
            frame = frame_of(table)
            number = int(frame["part"][0])
            found = pl.DataFrame(
                {"part": [number], "found": [pickle.dumps(look(make(frame), number))]},
                schema_overrides={"part": pl.Int32},
            )
            import pyarrow as pa

            return pa.Table.from_batches(list(batches_of(found)))

        with explained("judging classes", self._location):
            rows = self._combinations.groupBy("part").applyInArrow(looking, "part int, found binary").toArrow()
        found = dict(zip(rows.column("part").to_pylist(), rows.column("found").to_pylist(), strict=True))
        return [pickle.loads(found[i]) if i in found else look(self.nothing, i) for i in range(len(self))]


# Originals ---------------------------------------------------------------------------------------------------------


def covers_originals(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> bool:
    """Whether the rows of a release can be its originals, every cell covering its own.

    Rows of one combination of labels must be as many as the originals that were given these labels, with as many of
    each sensitive value; and every such label, read back, must cover the codes of all of them.
    """
    table, classes = coding.table, answer.solution.class_of_tuple
    shown = np.flatnonzero(classes >= 0)
    weights = table.weights[shown]
    expected = _expected_labels(recount, labels, classes[shown])
    if expected is None:
        return False
    for dim, (domain, published) in enumerate(zip(coding.domains, expected, strict=True)):
        coverage = coverage_of(recount.labels[domain.name], domain)
        if not coverage.holds(published, table.quasi_codes(dim)[shown]).all():
            return False
    return _same_counts(recount, expected, weights, [(d, codes[shown]) for d, codes in table.attributes()])


def _expected_labels(recount: Recount, labels: Mapping[str, ClassLabels], classes: IntArray) -> list[IntArray] | None:
    """Which label of the recount each original was given, by column; None if one was not found in the release."""
    expected = []
    for name, labels_of_column in recount.labels.items():
        places = {text: i for i, text in enumerate(labels_of_column.to_list())}
        of_class = labels[name]
        names = [places.get(_as_read(text, of_class), -1) for text in of_class.names]
        places_of_rows = np.array([*names, places.get(None, -1)])[of_class.of_class[classes]]
        if (places_of_rows < 0).any():
            return None
        expected.append(places_of_rows)
    return expected


def _as_read(text: str, labels: ClassLabels) -> str:
    return str(float(text)) if labels.are_numbers else text


def _same_counts(
    recount: Recount, expected: list[IntArray], weights: IntArray, sensitive: list[tuple[SensitiveDomain, IntArray]]
) -> bool:
    stats = recount.stats
    assert stats.labels is not None
    number = class_numbers(recount, expected)
    if (number < 0).any() or not np.array_equal(total_of(number, weights, stats.n_classes), stats.size):
        return False
    for domain, codes in sensitive:
        hist = stats.hist.get(domain.name)
        if hist is None:
            continue
        mapped = domain.codes_in(hist.domain)[codes]
        if (mapped < 0).any():
            return False
        own = histogram_of(number, mapped, weights, stats.n_classes, hist.domain)
        same = np.array_equal(own.codes, hist.codes) and np.array_equal(own.counts, hist.counts)
        if not same or not np.array_equal(own.indptr, hist.indptr):
            return False
    return True


def class_numbers(recount: Recount, expected: list[IntArray]) -> IntArray:
    """The class of the recount that has the given labels, -1 where there is none."""
    assert recount.stats.labels is not None
    names = [f"l{i}" for i in range(len(expected))]
    classes = pl.DataFrame(dict(zip(names, recount.stats.labels.values(), strict=True)))
    classes = classes.with_columns(pl.Series("class", np.arange(recount.stats.n_classes)))
    rows = pl.DataFrame(dict(zip(names, expected, strict=True)))
    numbers = rows.join(classes.cast(dict.fromkeys(names, pl.Int64)), on=names, how="left", maintain_order="left")[
        "class"
    ]
    return numbers.fill_null(-1).to_numpy()


def with_persons(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> Recount:
    """The recount with the persons of its classes, which no release publishes."""
    table, classes = coding.table, answer.solution.class_of_tuple
    kinds = (Counted.PERSON, Counted.HOLDING)
    unpublished = [(i, d) for i, d in enumerate(table.sensitive) if d.kind in kinds]
    if not unpublished:
        return recount
    published = np.flatnonzero(classes >= 0)
    expected = _expected_labels(recount, labels, classes[published])
    number = np.zeros(0, np.int64) if expected is None else class_numbers(recount, expected)
    if expected is None or (number < 0).any():
        raise DataError("the release does not hold the rows that were published", hint="run again")
    hist = dict(recount.stats.hist)
    for i, domain in unpublished:
        # that classes show the values of their originals, `covers_originals` counts
        is_holding = domain.kind is Counted.HOLDING
        own = as_published(domain, table.sensitive, [h.domain for h in hist.values()]) if is_holding else domain
        codes = table.sensitive_codes(i)[published]
        hist[domain.name] = histogram_of(number, codes, table.weights[published], recount.stats.n_classes, own)
    return replace(recount, parts=(replace(recount.stats, hist=hist),))
