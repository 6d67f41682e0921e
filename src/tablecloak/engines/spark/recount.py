"""From counts of published cells to the classes of a release, held against their originals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coverage import coverage_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Answer, Coding, Recount, SensitiveColumn
from tablecloak.engines.equal_rows import suppressed_rows
from tablecloak.engines.spark.coding import CodedColumns, CountedTuples, coded_tuples, only, total_of
from tablecloak.errors import DataError
from tablecloak.kernels.keys import group_keys
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.stats.classes import Counted, SensitiveDomain, count_classes, histogram_of
from tablecloak.stats.persons import as_published


def recounted(
    tuples: CountedTuples,
    columns: CodedColumns,
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
            tuples = only(tuples, np.flatnonzero(~is_star))
    labels = tuples.codes[: len(quasi)]
    packed = pack([c.astype(np.uint32) for c in labels], plan_layout(columns.widths[: len(quasi)]))
    firsts, classes = group_keys.sized(packed.shape[1])(packed)
    counted = coded_tuples(replace(tuples, codes=tuples.codes[len(quasi) :]), replace(columns, domains=()),
                           [s for s in sensitive if not s.is_person])  # fmt: skip
    codes = {d.name: (counted.sensitive_codes(i), d) for i, d in enumerate(counted.sensitive)}
    stats = count_classes(classes, len(firsts), codes, weights=tuples.weights)
    published = {name: column[firsts] for name, column in zip(quasi, labels, strict=True)}
    stats = replace(stats, labels=published)
    return Recount((stats,), int(tuples.weights.sum()), n_suppressed, {name: values[name] for name in quasi})


def _stars(
    tuples: CountedTuples,
    columns: CodedColumns,
    values: Mapping[str, pl.Series],
    quasi: Sequence[str],
    hidden: Sequence[tuple[str, ColumnType]],
) -> BoolArray:
    """Combinations that suppressed records are published with."""
    is_star = np.ones(len(tuples.weights), bool)
    typed = [*((name, ColumnType.TEXT) for name in quasi), *hidden]
    for codes, of_value, width, (name, type_) in zip(tuples.codes, columns.codes, columns.widths, typed, strict=True):
        of_code = np.zeros(width, bool)
        of_code[of_value] = suppressed_rows(values[name].to_frame(), [], [name], {name: type_})
        is_star &= of_code[codes]
    return is_star


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


def boxes_are_covered(recount: Recount, coding: Coding, answer: Answer, labels: Mapping[str, ClassLabels]) -> bool:
    """The same as `covers_originals` where only the boxes of classes are here: labels must cover all of their box."""
    released = np.flatnonzero(answer.sizes > 0)
    expected = _expected_labels(recount, labels, released)
    if expected is None:
        return False
    for dim, (domain, published) in enumerate(zip(coding.domains, expected, strict=True)):
        coverage = coverage_of(recount.labels[domain.name], domain)
        lo, hi = answer.solution.lo[released, dim], answer.solution.hi[released, dim]
        sets = answer.solution.sets.get(dim)
        if not coverage.holds_boxes(published, lo, hi, None if sets is None else sets.of_classes(released)):
            return False
    return _same_counts(recount, expected, answer.sizes[released], [])
