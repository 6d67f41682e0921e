"""Worked examples of the literature on models; each test names the vector it was computed from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import oracle
from counted import stats_of, stats_of_classes, table
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness

KANON_1 = table("""
age,zipcode,diagnosis
[20-30),130**,Heart Disease
[20-30),130**,Heart Disease
[20-30),130**,Viral Inflection
[20-30),130**,Viral Inflection
[40-60),148**,Cancer
[40-60),148**,Heart Disease
[40-60),148**,Viral Inflection
[40-60),148**,Viral Inflection
[30-40),13***,Cancer
[30-40),13***,Cancer
[30-40),13***,Cancer
[30-40),13***,Cancer
""")
HOMO_1 = table("""
age,post_code,municipality,disease
(20 - 40],116**,Athens,Cancer
(20 - 40],116**,Athens,Cancer
(20 - 40],116**,Athens,Cancer
(40 - 60],151**,Marousi,Covid-19
(40 - 60],151**,Marousi,Covid-19
(40 - 60],151**,Marousi,Covid-19
(60 - 80],185**,Pireus,Anaemia
(60 - 80],185**,Pireus,Anaemia
(60 - 80],185**,Pireus,Broken Leg
""")
LDIV_1 = table("""
age,post_code,disease
[15 - 30),116**,Anaemia
[15 - 30),116**,Anaemia
[15 - 30),116**,Covid-19
[15 - 30),116**,Covid-19
[40 - 60),1858*,Cancer
[40 - 60),1858*,Anaemia
[40 - 60),1858*,Covid-19
[40 - 60),1858*,Covid-19
[30 - 40),116**,Cancer
[30 - 40),116**,Cancer
[30 - 40),116**,Cancer
[30 - 40),116**,Cancer
""")
LDIV_2 = table("""
age,post_code,disease
[15 - 40),1163*,Cancer
[15 - 40),1163*,Cancer
[15 - 40),1163*,Covid-19
[15 - 40),1163*,Anaemia
[40 - 60),1858*,Anaemia
[40 - 60),1858*,Covid-19
[40 - 60),1858*,Cancer
[40 - 60),1858*,Covid-19
[15 - 40),1169*,Covid-19
[15 - 40),1169*,Cancer
[15 - 40),1169*,Cancer
[15 - 40),1169*,Anaemia
""")
SIM_1 = table("""
age,post_code,monthly_income,disease
[15 - 30),476**,500,Lung Cancer
[15 - 30),476**,700,Pneumonia
[15 - 30),476**,650,Pulmonary Edema
[40 - 60),4790*,1200,Pneumonia
[40 - 60),4790*,1250,Anaemia
[40 - 60),4790*,980,Bronchitis
[30 - 40),476**,1450,Bronchitis
[30 - 40),476**,1000,Anaemia
[30 - 40),476**,1100,Lung Cancer
""")
T6B = table("""
Zip,Age,Nationality,Condition
130**,<30,*,Heart Disease
130**,<30,*,Heart Disease
130**,<30,*,Viral Infection
130**,<30,*,Viral Infection
148**,>40,*,Cancer
148**,>40,*,Heart Disease
148**,>40,*,Viral Infection
148**,>40,*,Viral Infection
130**,30-40,*,Cancer
130**,30-40,*,Cancer
130**,30-40,*,Cancer
130**,30-40,*,Cancer
""")
T12 = table("""
Zip,Age,Nationality,Condition
1305*,<=40,*,Heart Disease
1305*,<=40,*,Viral Infection
1305*,<=40,*,Cancer
1305*,<=40,*,Cancer
1485*,>40,*,Cancer
1485*,>40,*,Heart Disease
1485*,>40,*,Viral Infection
1485*,>40,*,Viral Infection
1306*,<=40,*,Heart Disease
1306*,<=40,*,Viral Infection
1306*,<=40,*,Cancer
1306*,<=40,*,Cancer
""")
B3 = table("""
age,salary,profession,disease
25-30,1800-2300,Public safety,A
25-30,1800-2300,Public safety,B
25-30,1800-2300,Public safety,B
31-35,2450-2800,Health service,A
31-35,2450-2800,Health service,A
31-35,2450-2800,Health service,B
""")
B5 = table("""
age,salary,profession,disease
25-30,1800-2450,Public safety,A
25-30,1800-2450,Public safety,A
25-30,1800-2450,Public safety,B
36-40,2750-3350,Health service,A
36-40,2750-3350,Health service,B
36-40,2750-3350,Health service,B
""")
TCLOSE_7 = table("""
zip,age,salary,disease
476**,2*,3,gastric ulcer
476**,2*,4,gastritis
476**,2*,5,stomach cancer
4790*,>=40,6,gastritis
4790*,>=40,11,flu
4790*,>=40,8,bronchitis
476**,3*,7,bronchitis
476**,3*,9,pneumonia
476**,3*,10,stomach cancer
""")
TCLOSE_8 = table("""
zip,age,salary,disease
4767*,<=40,3,gastric ulcer
4767*,<=40,5,stomach cancer
4767*,<=40,9,pneumonia
4790*,>=40,6,gastritis
4790*,>=40,11,flu
4790*,>=40,8,bronchitis
4760*,<=40,4,gastritis
4760*,<=40,7,bronchitis
4760*,<=40,10,stomach cancer
""")
SALARIES = [str(k) for k in range(3, 12)]
DISEASES = {
    "flu": "respiratory infection",
    "pneumonia": "respiratory infection",
    "bronchitis": "respiratory infection",
    "pulmonary edema": "vascular lung",
    "pulmonary embolism": "vascular lung",
    "gastric ulcer": "stomach",
    "stomach cancer": "stomach",
    "gastritis": "stomach",
    "colitis": "colon",
    "colon cancer": "colon",
    "respiratory infection": "respiratory",
    "vascular lung": "respiratory",
    "stomach": "digestive",
    "colon": "digestive",
    "respiratory": "respiratory & digestive",
    "digestive": "respiratory & digestive",
}


def holds(model, stats):
    return Goal((model,)).verdicts(stats)[0].holds


def achieved(model, stats):
    return Goal((model,)).verdicts(stats)[0].achieved


def one_class(*counts):
    return stats_of_classes([{f"v{i}": n for i, n in enumerate(counts)}])


def least_c(stats, l):  # noqa: E741
    return achieved(LDiversity(l=l, variant="recursive", c=1), stats)


def test_v_kanon_1():
    stats = stats_of(KANON_1, ["age", "zipcode"], ["diagnosis"])
    assert stats.size.tolist() == [4, 4, 4]
    assert holds(KAnonymity(k=4), stats)
    assert not holds(KAnonymity(k=5), stats)
    assert achieved(LDiversity(l=2), stats) == 1


def test_v_homo_1():
    stats = stats_of(HOMO_1, ["age", "post_code", "municipality"], ["disease"])
    assert achieved(KAnonymity(k=2), stats) == 3
    assert LDiversity(l=2).levels(stats).tolist() == [1, 1, 2]


def test_v_ldiv_1():
    stats = stats_of(LDIV_1, ["age", "post_code"], ["disease"])
    assert achieved(KAnonymity(k=2), stats) == 4
    assert LDiversity(l=2).levels(stats).tolist() == [2, 3, 1]
    entropies = np.log(LDiversity(l=2, variant="entropy").levels(stats))
    assert entropies == pytest.approx([0.693147, 1.039721, 0.0], abs=1e-6)


def test_v_ldiv_2():
    stats = stats_of(LDIV_2, ["age", "post_code"], ["disease"])
    assert achieved(LDiversity(l=3), stats) == 3
    assert LDiversity(l=3, variant="entropy").levels(stats) == pytest.approx([2.828427] * 3, abs=1e-6)
    assert not holds(LDiversity(l=3, variant="entropy"), stats)
    assert holds(LDiversity(l=2, variant="entropy"), stats)
    assert least_c(stats, 2) == 1
    assert least_c(stats, 3) == 2


def test_v_ldiv_3():
    stats = one_class(100, 100, 800)
    assert achieved(LDiversity(l=3), stats) == 3
    assert achieved(LDiversity(l=3, variant="entropy"), stats) == pytest.approx(1.894646, abs=1e-6)
    assert (least_c(stats, 2), least_c(stats, 3)) == (4, 8)


@pytest.mark.parametrize(("allowed", "expected"), [([], False), (["a"], True), (["a", "b"], True)])
def test_v_ldiv_d4_positive_disclosure(allowed, expected):
    stats = stats_of_classes([{"a": 5, "b": 3, "c": 2}])
    assert not holds(LDiversity(l=3, variant="recursive", c=2), stats)
    assert holds(LDiversity(l=3, variant="pd-recursive", c=2, allowed=allowed), stats) is expected


@pytest.mark.parametrize(("c2", "expected"), [(0.2, True), (0.25, False)])
def test_v_ldiv_d4_negative_disclosure(c2, expected):
    stats = stats_of_classes([{"a": 5, "b": 3, "c": 2}])
    model = LDiversity(l=3, variant="npd-recursive", c=2, c2=c2, allowed=["a"], forbidden=["c"])
    assert holds(model, stats) is expected


def test_v_skew_1():
    stats = stats_of_classes([{"Yes": 10, "No": 10}, {"No": 980}], totals={"Yes": 10, "No": 990})
    levels = [m.levels(stats)[0] for m in (LDiversity(l=2), LDiversity(l=2, variant="entropy"), TCloseness(t=0.2))]
    assert levels == pytest.approx([2, 2, 0.49])
    whole = stats.rollup(np.zeros(2, dtype=np.int64), 1)
    assert achieved(LDiversity(l=2, variant="entropy"), whole) == pytest.approx(1.057599, abs=1e-6)
    assert LDiversity(l=2, variant="recursive", c=2).levels(stats)[0] == 1


def test_v_sim_1():
    stats = stats_of(SIM_1, ["age", "post_code"], ["monthly_income", "disease"])
    assert achieved(KAnonymity(k=3), stats) == 3
    assert achieved(LDiversity(l=3), stats) == 3


@pytest.mark.parametrize(
    ("rows", "expected", "t"),
    [(TCLOSE_7, ["3/8", "1/6", "17/72"], "3/8"), (TCLOSE_8, ["1/6", "1/6", "1/12"], "1/6")],
)
def test_v_tclose_1(rows, expected, t):
    stats = stats_of(rows, ["zip", "age"], ["salary"], orders={"salary": SALARIES})
    levels = TCloseness(t=0.2, distance="ordered").levels(stats)
    assert levels == pytest.approx([float(Fraction(x)) for x in expected], abs=1e-12)
    assert holds(TCloseness(t=float(Fraction(t)), distance="ordered"), stats)
    assert not holds(TCloseness(t=float(Fraction(t)) - 1e-6, distance="ordered"), stats)


@pytest.mark.parametrize(
    ("rows", "expected"), [(TCLOSE_7, ["4/9", "8/27", "8/27"]), (TCLOSE_8, ["7/27", "8/27", "5/27"])]
)
def test_v_tclose_2(rows, expected):
    stats = stats_of(rows, ["zip", "age"], ["disease"], trees={"disease": DISEASES})
    levels = TCloseness(t=0.3, distance="hierarchical").levels(stats)
    assert levels == pytest.approx([float(Fraction(x)) for x in expected], abs=1e-12)


def test_v_tclose_2_with_uniform_baseline():
    uniform = dict.fromkeys(("gastric ulcer", "gastritis", "stomach cancer", "flu", "bronchitis", "pneumonia"), 1)
    classes = [["gastric ulcer", "gastritis", "stomach cancer"], ["gastric ulcer", "stomach cancer", "pneumonia"]]
    stats = stats_of_classes([dict.fromkeys(c, 1) for c in classes], tree=DISEASES, totals=uniform)
    levels = TCloseness(t=0.3, distance="hierarchical").levels(stats)
    assert levels == pytest.approx([1 / 2, 5 / 18], abs=1e-12)


def test_v_tclose_2_equal_distance():
    levels = [
        TCloseness(t=0.5).levels(stats_of(rows, ["zip", "age"], ["disease"]))[i]
        for rows, i in ((TCLOSE_7, 0), (TCLOSE_8, 0), (TCLOSE_8, 1), (TCLOSE_8, 2))
    ]
    assert levels == pytest.approx([4 / 9, 5 / 9, 4 / 9, 1 / 3], abs=1e-12)


def test_b3():
    stats = stats_of(B3, ["age", "salary", "profession"], ["disease"])
    assert stats.size.tolist() == [3, 3]
    assert achieved(LDiversity(l=2), stats) == 2
    assert achieved(LDiversity(l=2, variant="entropy"), stats) == pytest.approx(1.889882, abs=1e-6)
    assert not holds(LDiversity(l=2, variant="recursive", c=2), stats)
    assert holds(LDiversity(l=2, variant="recursive", c=2.0001), stats)


def test_b5():
    stats = stats_of(B5, ["age", "salary", "profession"], ["disease"])
    assert holds(KAnonymity(k=3), stats)
    assert holds(LDiversity(l=2), stats)
    assert not holds(LDiversity(l=2, variant="entropy"), stats)
    assert np.log(LDiversity(l=2, variant="entropy").levels(stats)) == pytest.approx([0.636514] * 2, abs=1e-6)
    assert [holds(LDiversity(l=2, variant="recursive", c=c), stats) for c in (1, 2, 2.0001, 3)] == [
        False,
        False,
        True,
        True,
    ]


# counts, distinct, entropy_l_real, degree of entropy, degree of recursive diversity for c = 0.5, 1, 2, 2.0001, 3
B6 = [
    ([2, 1], 2, 1.889882, 1, [0, 1, 1, 2, 2]),
    ([1, 1], 2, 2.0, 2, [0, 1, 2, 2, 2]),
    ([3], 1, 1.0, 1, [0, 0, 1, 1, 1]),
    ([400, 100], 2, 1.649385, 1, [0, 1, 1, 1, 1]),
    ([490, 10], 2, 1.103006, 1, [0, 1, 1, 1, 1]),
    ([1, 1, 1], 3, 3.0, 3, [1, 2, 3, 3, 3]),
    ([7, 7, 7], 3, 3.0, 3, [1, 2, 3, 3, 3]),
    ([5, 3, 2], 3, 2.800094, 2, [0, 1, 2, 2, 3]),
    ([1, 1, 1, 1, 1], 5, 5.0, 5, [3, 4, 5, 5, 5]),
]


@pytest.mark.parametrize(("counts", "distinct", "entropy_l", "entropy_degree", "recursive_degrees"), B6)
def test_b6(counts, distinct, entropy_l, entropy_degree, recursive_degrees):
    stats = one_class(*counts)
    assert achieved(LDiversity(l=2), stats) == distinct
    assert achieved(LDiversity(l=2, variant="entropy"), stats) == pytest.approx(entropy_l, abs=1e-6)
    for l in range(2, 6):  # noqa: E741
        assert holds(LDiversity(l=l, variant="entropy"), stats) == (entropy_degree >= l)
        for c, degree in zip((0.5, 1, 2, 2.0001, 3), recursive_degrees, strict=True):
            model = LDiversity(l=l, variant="recursive", c=c)
            assert holds(model, stats) == (degree >= l)
            assert model.degrees(stats).tolist() == [degree - l]


@pytest.mark.parametrize("l", range(2, 41))
def test_b6_uniform_classes_reach_their_size(l):  # noqa: E741
    assert holds(LDiversity(l=l, variant="entropy"), one_class(*[1] * l))


def test_b7_every_class_is_looked_at():
    assert not holds(KAnonymity(k=2), stats_of_classes([{"a": 5}, {"a": 1}]))


def test_b7_entropy_divides_by_the_class():
    stats = stats_of_classes([{"a": 4, "b": 3}, {"a": 1, "b": 2}])
    assert np.log(LDiversity(l=2, variant="entropy").levels(stats))[0] == pytest.approx(0.682908, abs=1e-6)
    assert not holds(LDiversity(l=2, variant="entropy"), stats)


def test_b7_recursive_counts_the_class():
    stats = stats_of_classes([{"A": 3, "B": 1}, {"A": 1, "B": 3}])
    assert LDiversity(l=2, variant="recursive", c=1.5).margin(stats).tolist() == [-1.5, -1.5]


def test_b7_recursive_sums_from_l():
    assert not holds(LDiversity(l=2, variant="recursive", c=1), one_class(99, 1))


def test_v06():
    stats = stats_of(T6B, ["Zip", "Age", "Nationality"], ["Condition"])
    assert stats.size.tolist() == [4, 4, 4]
    assert LDiversity(l=2, variant="entropy").levels(stats) == pytest.approx([2.0, 2.828427, 1.0], abs=1e-6)
    assert TCloseness(t=0.2).levels(stats) == pytest.approx([0.416667, 0.166667, 0.583333], abs=1e-6)
    assert achieved(LDiversity(l=2), stats) == 1
    assert [least_c(stats, l) for l in (2, 3)] == [math.inf, math.inf]  # noqa: E741
    assert not holds(LDiversity(l=2), stats)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (KAnonymity(k=4), True),
        (LDiversity(l=3), True),
        (LDiversity(l=3, variant="entropy"), False),
        (LDiversity(l=2.8, variant="entropy"), True),
        (LDiversity(l=3, variant="recursive", c=2), False),
        (LDiversity(l=3, variant="recursive", c=2.01), True),
        (LDiversity(l=2, variant="recursive", c=1), False),
        (TCloseness(t=0.17), True),
        (TCloseness(t=0.16), False),
    ],
)
def test_v12(model, expected):
    stats = stats_of(T12, ["Zip", "Age", "Nationality"], ["Condition"])
    assert holds(model, stats) is expected
    assert TCloseness(t=0.2).levels(stats) == pytest.approx([0.083333, 0.166667, 0.083333], abs=1e-6)
    assert (least_c(stats, 2), least_c(stats, 3)) == (1, 2)


@pytest.mark.parametrize(
    ("positive", "negative", "entropy_l", "c2", "t"), [(25, 25, 2.0, 1.0, 0.49), (49, 1, 1.103006, 49.0, 0.97)]
)
def test_vb07(positive, negative, entropy_l, c2, t):
    stats = stats_of_classes([{"pos": positive, "neg": negative}], totals={"pos": 100, "neg": 9900})
    assert achieved(LDiversity(l=2), stats) == 2
    assert achieved(LDiversity(l=2, variant="entropy"), stats) == pytest.approx(entropy_l, abs=1e-6)
    assert least_c(stats, 2) == c2
    assert achieved(TCloseness(t=0.5), stats) == pytest.approx(t)


@pytest.mark.parametrize(("table_counts", "class_counts"), [((40, 60), (50, 50)), ((1, 99), (11, 89))])
def test_vb09_sits_exactly_on_the_boundary(table_counts, class_counts):
    values = ("HIV", "Flu")
    stats = stats_of_classes(
        [dict(zip(values, class_counts, strict=True))], totals=dict(zip(values, table_counts, strict=True))
    )
    assert holds(TCloseness(t=0.1), stats)
    assert not holds(TCloseness(t=0.0999), stats)


@pytest.mark.parametrize(("members", "emd"), [([3, 4, 5], 0.375), ([6, 8, 11], 1 / 6)])
def test_vd10(members, emd):
    domain = list(range(3, 12))
    stats = stats_of_classes([dict.fromkeys(members, 1)], order=domain, totals=dict.fromkeys(domain, 1))
    assert achieved(TCloseness(t=0.5, distance="ordered"), stats) == pytest.approx(emd)


@pytest.mark.parametrize(
    ("buckets", "expected"),
    [
        ([[3, 4, 5], [6, 11, 8], [7, 9, 10]], [0.375, 0.166667, 0.236111]),  # EQ3.2-on-T3.1
        ([[7, 8, 9], [1, 8, 15], [2, 3, 19]], [0.1587, 0.0952, 0.1587]),  # X-eq32-mean-only
    ],
)
def test_ordered_distance_is_the_true_earth_movers(buckets, expected):
    order = sorted({x for bucket in buckets for x in bucket})
    stats = stats_of_classes([oracle.Counter(bucket) for bucket in buckets], order=order)
    assert TCloseness(t=0.5, distance="ordered").levels(stats) == pytest.approx(expected, abs=1e-4)


def test_b10_race_of_the_adult_table():
    counts = [38903, 4228, 1303, 435, 353]
    stats = one_class(*counts)
    assert achieved(LDiversity(l=2, variant="entropy"), stats) == pytest.approx(1.708815, abs=1e-6)
    least = [least_c(stats, l) for l in (2, 3, 4, 5)]  # noqa: E741
    assert least == pytest.approx([6.156512, 18.604974, 49.369289, 110.206799], abs=1e-6)
