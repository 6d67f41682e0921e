"""Metrics beyond the worked examples: suppression, weights, empty releases, the registry."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType
from tablecloak.metrics import Details, Measurement, ReleaseCounts, every, measure
from tablecloak.metrics.ambiguity import ambiguity
from tablecloak.metrics.average_class_size import average_class_size
from tablecloak.metrics.classification import classification
from tablecloak.metrics.compared_records import unit_line
from tablecloak.metrics.discernibility import discernibility
from tablecloak.metrics.gcp import gcp
from tablecloak.metrics.iloss import iloss
from tablecloak.metrics.ncp import ncp
from tablecloak.metrics.non_uniform_entropy import non_uniform_entropy
from tablecloak.metrics.release_details import column_of_boxes
from tablecloak.metrics.star_count import star_count
from tablecloak.metrics.suppressed_records import suppressed_records

LOSSES = np.array([[0.5, 0.0], [1.0, 0.25]])


def release(**changes):
    given = {"sizes": np.array([3, 2]), "losses": LOSSES, "columns": ("age", "zip")} | changes
    return ReleaseCounts(**given)


def test_suppressed_record_loses_everything():
    counts = release(n_suppressed=5)
    assert gcp(counts).per_column == pytest.approx({"age": (1.5 + 2 + 5) / 10, "zip": (0.5 + 5) / 10})
    assert gcp(counts).value == pytest.approx(0.7)
    assert suppressed_records(counts).value == 5


def test_gcp_is_ncp_per_cell():
    counts = release(n_suppressed=1, weights=(3.0, 1.0))
    assert gcp(counts).value == pytest.approx(ncp(counts).value / (6 * 2))


def test_weights_are_relative():
    assert gcp(release(weights=(3.0, 1.0))).value == pytest.approx(gcp(release(weights=(30.0, 10.0))).value)
    assert gcp(release(weights=(3.0, 1.0))).value == pytest.approx(0.75 * 3.5 / 5 + 0.25 * 0.5 / 5)


def test_small_classes_and_suppressed_records_pay_the_table():
    assert discernibility(release(k=3, n_suppressed=1)).value == 9 + 2 * 6 + 1 * 6


def test_empty_release():
    counts = release(sizes=np.zeros(0, dtype=np.int64), losses=np.zeros((0, 2)), n_suppressed=4, k=2)
    assert gcp(counts).value == 1
    assert discernibility(counts).value == 16
    assert np.isnan(average_class_size(counts).value)
    assert average_class_size(counts).to_dict()["value"] is None


def test_all_metrics_are_registered_and_serialisable():
    found = {m.name: m for m in measure(release(k=2))}
    assert {"average-class-size", "discernibility", "gcp", "ncp", "suppressed-records"} <= set(found)
    assert all(isinstance(m, Measurement) and m.description.strip() for m in found.values())
    json.dumps([m.to_dict() for m in found.values()])


def test_named_metrics_come_in_the_order_asked():
    assert [m.name for m in measure(release(), ["ncp", "gcp"])] == ["ncp", "gcp"]


def closer(domain, lo, hi, originals, **changes):
    details = Details((column_of_boxes(domain, np.array(lo), np.array(hi), np.array(originals)),))
    given = {"sizes": np.array([2] * len(lo)), "losses": np.zeros((len(lo), 1)), "columns": (domain.name,)} | changes
    return ReleaseCounts(**given, look_closer=lambda: details)


def colors(*, has_missing):
    return Domain("color", ColumnType.TEXT, DomainKind.SET, has_missing, pl.Series(["blue", "green", "red"]))


def test_a_cell_that_hides_whether_a_value_is_missing_says_nothing():
    counts = closer(colors(has_missing=True), [0, 0, 1, 1], [0, 1, 2, 3], [1, 3, 2, 2])
    # missing alone, missing or blue (published as *), blue or green, any color (published as *)
    assert iloss(counts).value == 2 * (0 + 1 + 1 / 2 + 1)
    assert star_count(counts).value == 2 * 2
    assert ambiguity(counts).value == (1 + 4 + 2 + 4) / 4


def test_suppressed_records_may_be_anything():
    counts = closer(colors(has_missing=False), [0], [1], [1, 1, 2], n_suppressed=2)
    assert iloss(counts).value == 2 * 1 / 2 + 2 * 1
    assert iloss(counts, denominator="|D|").value == pytest.approx(2 * 1 / 3 + 2 * 2 / 3)
    assert star_count(counts).value == 2
    assert ambiguity(counts).value == (2 * 2 + 2 * 3) / 4
    assert non_uniform_entropy(counts).value == pytest.approx(2 * 1 + (2 * 2 - 2 * 1))  # 1 of 2; 4 of 4 less 2 of 2


def test_what_does_not_apply_says_why():
    found = {m.name: m for m in measure(closer(colors(has_missing=False), [0], [2], [1, 1, 0]), every())}
    assert found["height"].reason == "column 'color' has no hierarchy"
    assert found["classification"].reason == "there is no target: no sensitive column was counted"
    assert found["ambiguity-data"].reason == "the originals were not kept"
    assert found["height"].to_dict()["value"] is None
    assert found["iloss"].reason is None
    assert "reason" not in found["iloss"].to_dict()


def test_counts_without_details_skip_what_needs_them():
    (found,) = measure(release(), ["iloss"])
    assert found.reason == "only class sizes and losses were counted"


def test_details_are_counted_only_on_request():
    def never():
        pytest.fail("nobody asked")

    names = [m.name for m in measure(release(look_closer=never))]
    assert names == ["average-class-size", "discernibility", "gcp", "ncp", "suppressed-records"]
    assert set(names) < set(every())


def test_a_target_that_was_not_counted():
    (found,) = [classification(release(look_closer=lambda: Details((), {"s": None})), target="other")]
    assert found.reason == "column 'other' was not counted"


@pytest.mark.parametrize(
    ("numbers", "places"),
    [
        ([-1.7e308, 0.0, 1.7e308], [0, 0.5, 1]),  # further apart than a float can say
        ([0.0, 5e-324], [0, 1]),  # of which there is no half
        ([3.0, np.nan, 3.0], [0, np.nan, 0]),
        ([1.0, np.nan, 5.0, 2.0], [0, np.nan, 1, 0.25]),
    ],
)
def test_every_number_has_a_place_between_0_and_1(numbers, places):
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert np.array_equal(unit_line(np.array(numbers)), places, equal_nan=True)
