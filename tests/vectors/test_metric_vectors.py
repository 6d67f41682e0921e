"""Worked examples of the literature on metrics; each test names the vector it was computed from."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import oracle
import tablecloak as tc
from counted import stats_of_classes, table
from tablecloak.data.coverage import Coverage
from tablecloak.metrics.average_class_size import average_class_size
from tablecloak.metrics.base import ReleaseCounts
from tablecloak.metrics.classification import classification
from tablecloak.metrics.discernibility import discernibility
from tablecloak.metrics.gcp import gcp
from tablecloak.metrics.hellinger import hellinger_distance
from tablecloak.metrics.igpl import igpl
from tablecloak.metrics.iloss import iloss
from tablecloak.metrics.iloss_domain import iloss_domain
from tablecloak.metrics.kl import kl_divergence
from tablecloak.metrics.lp_norm import lp_distance
from tablecloak.metrics.minimal_distortion import minimal_distortion
from tablecloak.metrics.ncp import ncp
from tablecloak.metrics.precision import precision
from tablecloak.metrics.release_details import ColumnDetails, Details, Target
from tablecloak.metrics.total import total
from tablecloak.metrics.total_il import total_il

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
        ([1, 1, 1, 2], None, 7),  # V07c
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


# --- metrics of levels, covered values, distributions and targets -----------------------------------------------------

T6A = """
Zip,Age,Nationality,Condition
13053,28,Russian,Heart Disease
13068,29,American,Heart Disease
13068,21,Japanese,Viral Infection
13053,23,American,Viral Infection
14853,50,Indian,Cancer
14853,55,Russian,Heart Disease
14850,47,American,Viral Infection
14840,49,American,Viral Infection
13053,31,American,Cancer
13053,37,Indian,Cancer
13068,36,Japanese,Cancer
13068,35,American,Cancer
"""
# rows of T6A in the order that Table 12 prints them
T12_ROWS = [1, 4, 9, 10, 5, 6, 7, 8, 2, 3, 11, 12]
T7A = """
Age,Gender,Zip,Disease
30,M,10152,Viral Infection
28,F,10157,Diabetes
15,M,10118,Cancer
48,M,10500,Heart Disease
20,M,10511,Flu
"""


def frame(text):
    rows = table(text)
    return pl.DataFrame(rows).with_columns(pl.col("Age").cast(pl.Int64))


def published(original, cells):
    """The original with other cells in its first columns."""
    columns = original.columns[: len(cells[0])]
    return pl.DataFrame(cells, schema=columns, orient="row").hstack(original.drop(columns))


def compared(original, release, k):
    quasi, sensitive = original.columns[:-1], original.columns[-1:]
    order = ["Age", "Gender", "Zip"] if "Gender" in quasi else quasi
    policy = tc.Policy(columns=tc.roles(quasi=order, sensitive=sensitive), goals=[tc.KAnonymity(k=k)])
    return {m.name: m for m in tc.compare(original, release, policy=policy).metrics}


def test_v06():
    cells = [("130**", "<30", "*")] * 4 + [("148**", ">40", "*")] * 4 + [("130**", "30-40", "*")] * 4
    found = compared(frame(T6A), published(frame(T6A), cells), 4)
    assert found["discernibility"].value == 48
    assert found["average-class-size"].value == 1
    assert found["classification"].value == pytest.approx(0.333333, abs=1e-6)
    assert found["ambiguity-data"].value == 4


def test_v12():
    original = frame(T6A)[[row - 1 for row in T12_ROWS]]
    cells = [("1305*", "<=40", "*")] * 4 + [("1485*", ">40", "*")] * 4 + [("1306*", "<=40", "*")] * 4
    found = compared(original, published(original, cells), 4)
    assert found["discernibility"].value == 48
    assert found["average-class-size"].value == 1
    assert found["classification"].value == 0.5


V07 = [
    (
        [("15-30", "*", "10***")] * 3 + [("20-48", "M", "105**")] * 2,
        {"ncp": 9.860606, "gcp": 0.657374, "iloss": 10.25, "ambiguity-data": 3.2, "ambiguity": 27.2},
    ),
    (
        [("28-30", "*", "1015*"), ("15-28", "*", "10***"), ("15-30", "M", "10***")] + [("20-48", "M", "105**")] * 2,
        {"ncp": 7.806061, "gcp": 0.520404, "iloss": 7.75, "ambiguity-data": 2.4, "ambiguity": 14.8},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("cells", "expected"), V07, ids=["V07b", "V07c"])
def test_v07(cells, expected):
    found = compared(frame(T7A), published(frame(T7A), cells), 2)
    assert {name: found[name].value for name in expected} == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("cells", "expected"), [(V07[0][0], 7.3), (V07[1][0], 5.6)], ids=["V07b", "V07c"])
def test_v07_iloss_with_the_other_denominator(cells, expected):
    columns = [column(name, [c[i] for c in cells]) for i, name in enumerate(("Age", "Gender", "Zip"))]
    counts = ReleaseCounts(
        np.ones(5, np.int64), np.zeros((5, 3)), ("Age", "Gender", "Zip"), look_closer=lambda: Details(tuple(columns))
    )
    assert iloss(counts, denominator="|D|").value == pytest.approx(expected, abs=1e-6)
    assert iloss_domain(counts).value == pytest.approx(expected, abs=1e-6)


def column(name, cells):
    """A column of Table 7 as it was published, one class per row."""
    values = sorted({row[name] for row in table(T7A)})
    covers = [[v for v in values if oracle.covers(cell, int(v) if name == "Age" else v)] for cell in cells]
    places = [[values.index(v) for v in held] for held in covers]
    lo, hi = np.array([min(p) for p in places]), np.array([max(p) for p in places])
    sets = {i: frozenset(p) for i, p in enumerate(places) if max(p) - min(p) + 1 != len(p)}
    counted = Counter(row[name] for row in table(T7A))
    originals = np.array([counted[v] for v in values])
    return ColumnDetails(name, np.arange(len(cells)), Coverage(lo, hi, sets), np.zeros(len(cells)), originals)


def levelled(sizes, levels, heights, *, ordered=(), losses=None, target=None):
    """A release of classes with given levels in columns a, b, ..."""
    names = tuple("abcdef"[: len(heights)])
    n = len(sizes)
    given = np.zeros((n, len(names))) if losses is None else np.array(losses, dtype=float)
    columns = tuple(
        ColumnDetails(
            name, np.arange(n), Coverage(np.zeros(n, np.int64), np.zeros(n, np.int64), {}), given[:, i],
            np.array([sum(sizes)]), is_ordered=name in ordered,
            levels=np.array([row[i] for row in levels]), height=heights[i],
        )
        for i, name in enumerate(names)
    )  # fmt: skip
    targets = {} if target is None else {"s": targeted(target)}
    return ReleaseCounts(np.array(sizes), given, names, look_closer=lambda: Details(columns, targets))


def targeted(classes):
    hist = stats_of_classes([Counter(values) for values in classes]).hist["s"]
    return Target("s", [hist], hist.totals)


def test_v_metric_1():
    assert total(levelled([7], [(0, 4)], (6, 4))).value == 0.5  # age as it is, diagnosis at the root


def test_v_metric_d1_total():
    counts = levelled([4, 4, 4], [(1, 2), (2, 2), (1, 3)], (3, 5))
    assert total(counts).value == pytest.approx(41 / 90)
    assert precision(counts).value == pytest.approx(49 / 90)


def test_vb01():
    assert minimal_distortion(levelled([1], [(1,)], (2,))).value == 1
    assert minimal_distortion(levelled([1, 1], [(2,), (2,)], (2,))).value == 4


def test_vb02():
    found = igpl(levelled([3, 3], [(0,), (0,)], (1,), target=[["p"] * 3, ["n"] * 3]))
    assert found.value == 0.25
    assert found.higher_is_better


@pytest.mark.parametrize(
    ("p", "q", "kl_q_p", "kl_p_q", "hellinger", "l1", "l2"),
    [
        ([0.4, 0.6], [0.5, 0.5], 0.020411, 0.020136, 0.071161, 0.2, 0.141421),
        ([0.01, 0.99], [0.11, 0.89], 0.168998, 0.08144, 0.167823, 0.2, 0.141421),
    ],
)
def test_vb09(p, q, kl_q_p, kl_p_q, hellinger, l1, l2):
    before, after = np.array(p), np.array(q)
    assert kl_divergence(after, before) == pytest.approx(kl_q_p, abs=1e-6)
    assert kl_divergence(before, after) == pytest.approx(kl_p_q, abs=1e-6)
    assert hellinger_distance(before, after) == pytest.approx(hellinger, abs=1e-6)
    assert lp_distance(before, after, 1) == pytest.approx(l1, abs=1e-6)
    assert lp_distance(before, after, 2) == pytest.approx(l2, abs=1e-6)


def test_a8_total_information_loss():
    losses = [[0, 1 / 11, 0], [0, 3 / 11, 0], [0, 4 / 11, 0]]  # gender and zip lose by their levels, age by its width
    counts = levelled([3, 2, 2], [(1, 0, 0), (1, 0, 1), (0, 0, 0)], (1, 1, 1), ordered="b", losses=losses)
    assert total_il(counts).value == pytest.approx(8.545455, abs=1e-6)


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["AAB", "ABB"], 1 / 3),  # A8.small, B3
        (["AAA", "BB", "CC"], 0.0),  # A8: one diagnosis in every class
    ],
)
def test_classification(classes, expected):
    sizes = [len(values) for values in classes]
    counts = levelled(sizes, [(0,)] * len(sizes), (1,), target=classes)
    assert classification(counts).value == pytest.approx(expected)


def test_a8_small_classification_with_a_suppressed_record():
    hist = stats_of_classes([Counter("AB"), Counter("ABB")]).hist["s"]
    details = Details((), {"s": Target("s", [hist], np.array([3, 3]))})
    counts = ReleaseCounts(np.array([2, 3]), np.zeros((2, 0)), (), n_suppressed=1, look_closer=lambda: details)
    assert classification(counts).value == 0.5


DISEASES = {"1": {"11": list("abc"), "12": list("de")}, "2": {"21": list("fgh"), "22": list("ij")}}
BLOCS = {"abc": 141, "bcd": 18, "bde": 28, "bdf": 13, "dfg": 5, "dgh": 24, "ghi": 26, "ghj": 37, "gh": 105}
SWAPPED = {"bcg": 141, "bcd": 18, "bde": 28, "bdf": 13, "dfg": 5, "dgh": 24, "ghi": 26, "ahj": 36, "ghj": 1, "ah": 105}


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ({"fgh": 1, "abgj": 1, "abc": 1, "de": 1}, 0.516667),
        ({"afg": 1, "abgj": 1, "bcd": 1, "eh": 1}, 0.875),
        (BLOCS, 0.441436),
        (SWAPPED, 0.899171),
    ],
)
def test_ncp_variants_record_weighted_is_gcp(buckets, expected):
    """NCP-variants: every record counts, so the buckets of many records count more."""

    records = [(letter, values) for values, n in buckets.items() for _ in range(n) for letter in values]
    before = pl.DataFrame({"disease": [letter for letter, _ in records]})
    after = pl.DataFrame({"disease": [_common_node(values) for _, values in records]})
    column = {"role": "quasi", "hierarchy": {"kind": "tree", "tree": DISEASES}}
    policy = tc.Policy(columns={"disease": column}, goals=[tc.KAnonymity(k=2)])
    assert tc.compare(before, after, policy=policy).loss == pytest.approx(expected, abs=5e-7)


def _common_node(values):
    nodes = {name: set("".join(leaves)) for group in DISEASES.values() for name, leaves in group.items()}
    nodes |= {top: set("".join("".join(leaves) for leaves in group.values())) for top, group in DISEASES.items()}
    return next((name for name, leaves in nodes.items() if set(values) <= leaves), "*")


def test_ncp_variants_ages():
    """age_numeric_NCP_T4.28_to_T4.32_domain_20_50: intervals of four buckets before, and after they were widened."""
    ages = [20, 22, 26, 27, 28, 29, 30, 31, 33, 35, 36, 50]
    first = ["[20, 26]"] * 3 + ["[27, 30]"] * 4 + ["[31, 35]"] * 3 + ["[36, 50]"] * 2
    swapped = {1: "[20, 35]", 2: "[20, 35]", 8: "[20, 35]", 4: "[27, 30]", 5: "[27, 30]", 6: "[27, 30]", 7: "[27, 30]",
               9: "[31, 50]", 10: "[31, 50]", 11: "[31, 50]", 3: "[20, 50]", 12: "[20, 50]"}  # fmt: skip
    original = pl.DataFrame({"age": ages})
    for labels, expected in ((first, 0.194444), ([swapped[i] for i in range(1, 13)], 0.483333)):
        found = tc.compare(original, pl.DataFrame({"age": labels}), quasi=["age"])
        assert found.loss == pytest.approx(expected, abs=5e-7)


def test_a_suppressed_record_gains_no_bits():
    """Of four records, two p and two n, the class of the p is published, the n are left out.

    What is published gains 2/4 of the bit that the table hides, and gives up 4 - 2 of anonymity.
    """
    hist = stats_of_classes([Counter({"n": 0, "p": 2})]).hist["s"]
    target = Target("s", [hist], np.array([2, 2]))
    counts = ReleaseCounts(np.array([2]), np.zeros((1, 1)), ("q",), 2, look_closer=lambda: Details((), {"s": target}))
    assert igpl(counts).value == pytest.approx(0.5 / 3)
