"""Metrics beyond the worked examples: suppression, weights, empty releases, the registry."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tablecloak.metrics import Measurement, ReleaseCounts, measure
from tablecloak.metrics.classes import average_class_size, discernibility, suppressed_records
from tablecloak.metrics.loss import gcp, ncp

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
