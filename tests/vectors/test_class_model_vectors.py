"""Worked examples of the literature on models of classes; each test names the vector it was computed from."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import oracle_models
from counted import stats_of, stats_of_classes, table
from tablecloak.models import Goal
from tablecloak.models.alpha_k_anonymity import AlphaKAnonymity
from tablecloak.models.beta_likeness import BetaLikeness
from tablecloak.models.ck_safety import CKSafety
from tablecloak.models.confidence_bounding import ConfidenceBounding
from tablecloak.models.delta_disclosure import DeltaDisclosure
from tablecloak.models.em_anonymity import EMAnonymity
from tablecloak.models.ke_anonymity import KEAnonymity
from tablecloak.models.lkc_privacy import LKCPrivacy
from tablecloak.models.p_plus_sensitive_k_anonymity import PPlusSensitiveKAnonymity
from tablecloak.models.p_sensitive_k_anonymity import PSensitiveKAnonymity, most_classes
from tablecloak.models.wgp import WorstGroupProtection
from tablecloak.models.xy_privacy import XYPrivacy
from tablecloak.stats import SensitiveDomain, count_classes

QUASI = ["Zip", "Age", "Nationality"]
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


def stats_with_labels(rows):
    """Statistics that know the published label of every class, as a recount does."""
    stats = stats_of(rows, QUASI, ["Condition"])
    classes = list(dict.fromkeys(tuple(row[q] for q in QUASI) for row in rows))
    names = {q: list(dict.fromkeys(row[q] for row in rows)) for q in QUASI}
    labels = {q: np.array([names[q].index(c[i]) for c in classes]) for i, q in enumerate(QUASI)}
    return replace(stats, labels=labels)


def numeric_stats(*classes):
    """Statistics of classes given as lists of numbers."""
    values = sorted({x for c in classes for x in c})
    domain = SensitiveDomain("s", tuple(map(str, values)), is_ordered=True, numbers=np.array(values, dtype=np.float64))
    numbers = np.array([i for i, c in enumerate(classes) for _ in c])
    codes = np.array([values.index(x) for c in classes for x in c])
    return count_classes(numbers, len(classes), {"s": (codes, domain)})


def holds(model, stats):
    return Goal((model,)).verdicts(stats)[0].holds


def test_v06():
    stats = stats_with_labels(T6B)
    assert AlphaKAnonymity(alpha=0.5, k=4).levels(stats).max() == 1.0
    assert not holds(AlphaKAnonymity(alpha=0.5, k=4), stats)
    assert not holds(ConfidenceBounding(x=QUASI, s="Cancer", h=0.8), stats)
    assert BetaLikeness(beta=1).levels(stats) == pytest.approx([1.0, 0.5, 1.4])
    assert not holds(BetaLikeness(beta=2, enhanced=True), stats)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (AlphaKAnonymity(alpha=0.5, k=4), True),
        (AlphaKAnonymity(alpha=0.49, k=4), False),
        (AlphaKAnonymity(alpha=0.5, k=5), False),
        (XYPrivacy(k=4, h=0.5, strict=True), False),
        (XYPrivacy(k=4, h=0.5, strict=False), True),
        (ConfidenceBounding(x=QUASI, s="Cancer", h=0.8), True),
        (BetaLikeness(beta=0.5), True),
        (BetaLikeness(beta=0.49), False),
        (BetaLikeness(beta=0.5, enhanced=True), True),
        (PSensitiveKAnonymity(p=3, k=4), True),
        (PSensitiveKAnonymity(p=4, k=4), False),
    ],
)
def test_v12(model, expected):
    assert holds(model, stats_with_labels(T12)) is expected


def test_v12_levels():
    stats = stats_with_labels(T12)
    assert BetaLikeness(beta=1).levels(stats) == pytest.approx([0.2, 0.5, 0.2])
    assert DeltaDisclosure(delta=1).levels(stats).max() == pytest.approx(0.510826, abs=1e-6)


@pytest.mark.parametrize(("k", "disclosure"), [(0, "1/2"), (1, "3/4"), (2, "1")])
def test_v12_max_disclosure_k_implications(k, disclosure):
    level = CKSafety(c=1, k=k).levels(stats_of(T12, QUASI, ["Condition"]))
    assert level.tolist() == pytest.approx([float(Fraction(disclosure))])


def test_implications_with_one_consequent_are_the_worst():
    for groups in (["aab"], ["aab", "bc"], ["abc", "ab"], ["ab", "cd"]):
        assert oracle_models.worst_disclosure(groups, 1) == oracle_models.worst_disclosure_of_any_implication(groups)


EXAMPLE_6 = [1000, 1030, 1050, 4000]


@pytest.mark.parametrize(("k", "e", "expected"), [(4, 3000, True), (4, 3001, False), (5, 1, False)])
def test_vb05_ke(k, e, expected):
    assert holds(KEAnonymity(k=k, e=e), numeric_stats(EXAMPLE_6)) is expected


@pytest.mark.parametrize(
    ("epsilon", "relative", "share"),
    [
        (10, False, 0.25), (19.999, False, 0.25), (20, False, 0.5), (30, False, 0.75), (50, False, 0.75),
        (3000, False, 1.0), (0.019, True, 0.25), (0.02, True, 0.5), (0.03, True, 0.75), (0.05, True, 0.75),
    ],
)  # fmt: skip
def test_vb05_shares(epsilon, relative, share):
    model = EMAnonymity(epsilon=epsilon, m=2, relative=relative)
    assert model.levels(numeric_stats(EXAMPLE_6)).tolist() == pytest.approx([1 / share])


@pytest.mark.parametrize(
    ("epsilon", "m", "expected"), [(50, 2, False), (20, 2, True), (20, 3, False), (19.999, 4, True)]
)
def test_vb05_em(epsilon, m, expected):
    assert holds(EMAnonymity(epsilon=epsilon, m=m), numeric_stats(EXAMPLE_6)) is expected


def test_vb05_worst_group_protection():
    assert WorstGroupProtection(protection=0, width=50).levels(numeric_stats(EXAMPLE_6)).tolist() == [0.25]


def test_vb06_most_classes():
    assert most_classes(np.array([9900, 100]), 2) == 100
    assert most_classes(np.array([9900, 100]), 3) == 0
    assert list(PSensitiveKAnonymity(p=2, k=2).remarks(stats_of_classes([{"neg": 9900, "pos": 100}]))) == [
        "p-sensitive-k-anonymity: at most 100 classes can hold 2 different values each"
    ]


@pytest.mark.parametrize(("positive", "negative", "gain", "delta"), [(25, 25, 49.0, 3.912023), (49, 1, 97.0, 4.584967)])
def test_vb07(positive, negative, gain, delta):
    stats = stats_of_classes([{"pos": positive, "neg": negative}], totals={"pos": 100, "neg": 9900})
    assert BetaLikeness(beta=1).levels(stats).tolist() == pytest.approx([gain])
    assert DeltaDisclosure(delta=1).levels(stats).tolist() == pytest.approx([delta], abs=1e-6)
    # the cap -ln 0.01 = 4.60517 is far below either gain
    assert not holds(BetaLikeness(beta=100, enhanced=True), stats)
    assert holds(BetaLikeness(beta=100), stats)


def test_vb08_similar_values_are_one_category():
    stats = stats_of_classes([{"gastric ulcer": 1, "gastritis": 1, "stomach cancer": 1}])
    stomach = ("gastric ulcer", "gastritis", "stomach cancer")
    model = PPlusSensitiveKAnonymity(p=2, k=3, categories=(stomach, ("flu",)))
    assert model.levels(stats).tolist() == [1]
    assert holds(PSensitiveKAnonymity(p=3, k=3), stats)
    assert not holds(model, stats)


@pytest.mark.parametrize(
    ("table_counts", "class_counts", "gain", "enhanced", "delta"),
    [((40, 60), (50, 50), 0.25, True, 0.223144), ((1, 99), (11, 89), 10.0, False, 2.397895)],
)
def test_vb09(table_counts, class_counts, gain, enhanced, delta):
    values = ("HIV", "Flu")
    stats = stats_of_classes(
        [dict(zip(values, class_counts, strict=True))], totals=dict(zip(values, table_counts, strict=True))
    )
    assert BetaLikeness(beta=1).levels(stats).tolist() == pytest.approx([gain])
    assert holds(BetaLikeness(beta=gain), stats)
    assert not holds(BetaLikeness(beta=gain - 0.001), stats)
    assert holds(BetaLikeness(beta=100, enhanced=True), stats) is enhanced
    assert DeltaDisclosure(delta=1).levels(stats).tolist() == pytest.approx([delta], abs=1e-6)


def test_vd08_union_of_satisfying_classes_violates():
    model = EMAnonymity(epsilon=10, m=2)
    assert model.levels(numeric_stats([0, 100], [-10, 10])).tolist() == [2, 2]
    assert model.levels(numeric_stats([0, 100, -10, 10])).tolist() == pytest.approx([1 / 0.75])
    assert not model.monotone
    assert not holds(model, numeric_stats([0, 100, -10, 10]))


def test_vd20():
    stats = stats_with_labels(T12)
    assert [holds(LKCPrivacy(l=3, k=k, c=c), stats) for k, c in ((4, 0.5), (5, 0.5), (4, 0.49))] == [True, False, False]
    assert [holds(LKCPrivacy(l=1, k=k, c=1), stats) for k in (4, 5)] == [True, False]
    assert holds(DeltaDisclosure(delta=0.510827), stats)
    assert not holds(DeltaDisclosure(delta=math.log(5 / 3)), stats)  # 0.510826, and the limit is strict
