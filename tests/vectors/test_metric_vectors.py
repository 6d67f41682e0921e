"""Worked examples of the literature on metrics; each test names the vector it was computed from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import oracle
from tablecloak.metrics.base import ReleaseCounts
from tablecloak.metrics.classes import average_class_size, discernibility
from tablecloak.metrics.loss import gcp, ncp

B1 = [
    {"age": 24, "salary": 1800, "profession": "Police officer"},
    {"age": 35, "salary": 2450, "profession": "Teacher"},
    {"age": 30, "salary": 1900, "profession": "Firefighter"},
    {"age": 57, "salary": 3100, "profession": "Nurse"},
    {"age": 50, "salary": 2750, "profession": "Teacher"},
    {"age": 62, "salary": 3350, "profession": "Doctor"},
]
PROFESSIONS = {
    "Police officer": "Public safety",
    "Firefighter": "Public safety",
    "Nurse": "Health service",
    "Doctor": "Health service",
    "Teacher": "Education",
    "Public safety": "Root",
    "Health service": "Root",
    "Education": "Root",
}
# classes of each run: rows, age, salary, profession
B8 = [
    (
        2,
        [
            ([1, 3], "24-30", "1800-1900", "Public safety"),
            ([2, 5], "35-50", "2450-2750", "Teacher"),
            ([4, 6], "57-62", "3100-3350", "Health service"),
        ],
        12,
        1.0,
        0.211507,
    ),
    (
        3,
        [([1, 2, 3], "24-35", "1800-2450", "Root"), ([4, 5, 6], "50-62", "2750-3350", "Root")],
        18,
        1.0,
        0.568619,
    ),
    (4, [([1, 2, 3, 4, 5, 6], "24-62", "1800-3350", "Root")], 36, 1.5, 1.0),
]


def counts_of(sizes, k=None, *, losses=None, n_suppressed=0, columns=()):
    matrix = np.zeros((len(sizes), len(columns))) if losses is None else np.array(losses, dtype=float)
    return ReleaseCounts(np.array(sizes), matrix, columns, n_suppressed=n_suppressed, k=k)


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [
        ([3, 3], 3, 18),  # B9
        ([4, 1], 2, 21),  # B9
        ([3, 2, 1], 2, 19),  # A8.small
        ([3, 2, 2], 2, 17),  # A8
        ([4, 4, 4], 4, 48),  # V06, V12
        ([3, 2], None, 13),  # V07b
        ([45222], 7, 2045029284),  # B10.race
    ],
)
def test_discernibility(sizes, k, expected):
    assert discernibility(counts_of(sizes, k)).value == expected
    assert oracle.discernibility(sizes, k or 1, sum(sizes)) == expected


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [([45222], 7, 6460.285714), ([3, 3], 3, 1.0), ([3, 2, 2], 2, 1.166667), ([4, 4, 4], 4, 1.0)],  # B9, B9, A8, V06
)
def test_average_class_size(sizes, k, expected):
    assert average_class_size(counts_of(sizes, k)).value == pytest.approx(expected, abs=1e-6)
    assert float(oracle.average_class_size(sizes, k)) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("k", "classes", "dm", "c_avg", "expected"), B8)
def test_b8(k, classes, dm, c_avg, expected):
    columns = ("age", "salary", "profession")
    originals = {name: [row[name] for row in B1] for name in columns}
    losses = [
        [
            float(oracle.ncp(cell, originals[name], tree=PROFESSIONS if name == "profession" else None))
            for name, cell in zip(columns, cells, strict=True)
        ]
        for _, *cells in classes
    ]
    counts = counts_of([len(rows) for rows, *_ in classes], k, losses=losses, columns=columns)
    assert gcp(counts).value == pytest.approx(expected, abs=1e-6)
    assert discernibility(counts).value == dm
    assert average_class_size(counts).value == c_avg


def test_b2_and_b9_numeric_ncp():
    ages = [row["age"] for row in B1]
    cells = [float(oracle.ncp(cell, ages)) for cell in ("24-30", "35-50", "57-62")]
    assert cells == pytest.approx([0.157895, 0.394737, 0.131579], abs=1e-6)
    assert gcp(counts_of([2, 2, 2], losses=[[x] for x in cells], columns=("age",))).value == pytest.approx(
        0.22807, abs=1e-6
    )
    assert oracle.ncp("5-5", [5, 5]) == 0


def test_b9_everything_at_the_root_loses_everything():
    assert gcp(counts_of([6], losses=[[1, 1, 1]], columns=("a", "b", "c"))).value == 1


def test_a8_normalised_information_loss():
    losses = [[1, 1 / 11, 0], [1, 3 / 11, 1], [0, 4 / 11, 0]]
    counts = counts_of([3, 2, 2], losses=losses, columns=("gender", "age", "zip"))
    assert gcp(counts).value == pytest.approx(0.406926, abs=1e-6)
    assert ncp(counts).value == pytest.approx(8.545455, abs=1e-6)


def test_v07b():
    losses = [[15 / 33, 1, 1], [28 / 33, 0, 2 / 5]]
    counts = counts_of([3, 2], losses=losses, columns=("age", "gender", "zip"))
    assert ncp(counts).value == pytest.approx(9.860606, abs=1e-6)
    assert gcp(counts).value == pytest.approx(0.657374, abs=1e-6)


def test_v_metric_d1():
    counts = counts_of([4, 4, 4], losses=[[0.1, 0.4], [0.2, 0.4], [0.1, 0.6]], columns=("age", "zipcode"))
    assert gcp(counts).value == pytest.approx(0.3)
    zips = ["13053", "13068", "13222", "14850", "14853"]
    assert [oracle.ncp(mask, zips) for mask in ("130**", "148**", "13***")] == [
        Fraction(2, 5),
        Fraction(2, 5),
        Fraction(3, 5),
    ]
