"""Individual and global risk of surveys, as sdcMicro and mu-Argus publish them, and by other ways to compute them.

The table `francdat` is the example of Capobianchi, Polettini and Lucarelli; its frequencies fk and Fk and the risks rk
are those that the reference of sdcMicro 5.7.9 prints for `freqCalc` and `indivRisk`
(sdctools.github.io/sdcMicro/reference/indivRisk.html), those of `testdata` what it prints for `measure_risk`.
"""

from __future__ import annotations

import io
import math
import random

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from oracle_models import individual_risk as by_adding_up
from tablecloak.measure.attack import attack
from tablecloak.models import Goal
from tablecloak.models.global_risk import GlobalRisk
from tablecloak.models.population_risk import PopulationRisk
from tablecloak.stats.classes import Counted, SensitiveDomain, count_classes
from tablecloak.stats.individual_risk import (
    expected_population_uniques,
    expected_reidentifications,
    individual_risk,
)

FRANCDAT = pl.read_csv(
    io.StringIO(
        """
key1,key2,key3,key4,w
1,2,5,1,18.0
1,2,1,1,45.5
1,2,1,1,39.0
3,3,1,5,17.0
4,3,1,4,541.0
4,3,1,1,8.0
6,2,1,5,5.0
1,2,5,1,92.0
""".strip()
    )
)
KEYS = ["key1", "key2", "key3", "key4"]
FK = [2, 2, 2, 1, 1, 1, 1, 2]
FK_POPULATION = [110.0, 84.5, 84.5, 17.0, 541.0, 8.0, 5.0, 110.0]
RK = [0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426]
# measure_risk(testdata, keyVars = urbrur, roof, walls, water, sex, w = sampling_weight): risk, fk, Fk
TESTDATA = [
    (2.793218e-05, 359, 35900),
    (2.857061e-05, 351, 35100),
    (6.249609e-05, 161, 16100),
    (6.710959e-05, 150, 15000),
]
POLICY = tc.Policy(
    columns={**dict.fromkeys(KEYS, "quasi"), "w": "weight"}, goals=[{"model": "population-risk", "threshold": 0.5}]
)


def one(f, people):
    return float(individual_risk(np.array([f]), np.array([float(people)]))[0])


def sdcmicro(f, people):
    """What `indivRisk` does unless asked for more: exact up to two records, a bound of the series beyond."""
    p = f / people
    if f == people:
        return 1 / f
    if f == 1:
        return p / (1 - p) * math.log(1 / p)
    if f == 2:
        return p / (1 - p) - (p / (1 - p)) ** 2 * math.log(1 / p)
    return p / (f - (1 - p))


def integrated(f, people, n=20_000):
    """The risk as an integral over s of f s^(f-1) / (f + (F - f) s), by Simpson's rule."""
    heights = [f * (i / n) ** (f - 1) / (f + (people - f) * i / n) for i in range(n + 1)]
    return (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])) / (3 * n)


def classes_of_francdat():
    number = {}
    classes = np.array([number.setdefault(row, len(number)) for row in FRANCDAT.select(KEYS).iter_rows()])
    weights = FRANCDAT["w"].unique().sort()
    domain = SensitiveDomain("w", tuple(map(str, weights)), numbers=weights.to_numpy(), kind=Counted.WEIGHT)
    codes = weights.search_sorted(FRANCDAT["w"]).to_numpy().astype(np.int64)
    return classes, count_classes(classes, len(number), {"w": (codes, domain)})


def test_classes_of_francdat_have_the_printed_frequencies():
    classes, stats = classes_of_francdat()
    assert stats.size[classes].tolist() == FK
    assert stats.weighed[classes].tolist() == FK_POPULATION


def test_records_of_francdat_have_the_printed_risks():
    classes, stats = classes_of_francdat()
    assert PopulationRisk(threshold=0.5).levels(stats)[classes] == pytest.approx(RK, abs=5e-9)


def test_the_global_risk_of_francdat_is_the_mean_of_the_printed_risks():
    _, stats = classes_of_francdat()
    (verdict,) = Goal((GlobalRisk(limit=0.2),)).verdicts(stats)
    assert verdict.achieved == pytest.approx(sum(RK) / 8, abs=1e-8)
    assert expected_reidentifications(stats.size, stats.weighed) == pytest.approx(sum(RK), abs=5e-8)


def test_population_uniques_of_francdat_are_one_over_the_weights_of_those_alone():
    _, stats = classes_of_francdat()
    assert expected_population_uniques(stats.size, stats.weighed) == pytest.approx(1 / 17 + 1 / 541 + 1 / 8 + 1 / 5)


def test_the_attack_on_francdat_reaches_the_printed_risks():
    found = attack(None, FRANCDAT, policy=POLICY, kinds=["population-linkage"]).after[0].finding
    assert found.highest == pytest.approx(max(RK), abs=5e-9)
    assert found.average == pytest.approx(sum(RK) / 8, abs=1e-8)
    assert (found.worst[0], found.n_victims) == (7, 0)
    assert found.baseline == pytest.approx(1 / FRANCDAT["w"].sum())
    assert found.details["expected_links"] == pytest.approx(sum(RK), abs=5e-8)


def test_metrics_of_francdat_as_it_stands():
    compared = tc.compare(FRANCDAT, FRANCDAT, policy=POLICY)
    metrics = {m.name: m for m in compared.metrics}
    assert metrics["individual-risk"].value == pytest.approx(max(RK), abs=5e-9)
    assert metrics["reidentification-rate"].value == pytest.approx(sum(RK) / 8, abs=1e-8)
    assert metrics["expected-population-uniques"].value == pytest.approx(1 / 17 + 1 / 541 + 1 / 8 + 1 / 5)
    assert metrics["weighted-loss"].value == 0


@pytest.mark.parametrize(("risk", "f", "people"), TESTDATA)
def test_large_classes_have_the_risk_that_sdcmicro_approximates(risk, f, people):
    assert sdcmicro(f, people) == pytest.approx(risk, rel=1e-6)
    assert one(f, people) == pytest.approx(risk, rel=1e-6)


@pytest.mark.parametrize(("f", "people"), [(1, 2), (1, 17), (1, 541), (2, 84.5), (2, 3), (2, 2), (5, 5)])
def test_up_to_two_records_and_in_a_census_sdcmicro_is_exact(f, people):
    assert one(f, people) == pytest.approx(sdcmicro(f, people), rel=1e-11)


def test_beyond_two_records_sdcmicro_overstates_the_risk():
    for f, people in ((3, 30), (3, 4), (4, 400), (10, 25.5)):
        assert one(f, people) < sdcmicro(f, people) < 1.04 * one(f, people)


@pytest.mark.parametrize("p", [0.001, 0.02, 0.3, 0.49, 0.51, 0.9, 0.999])
def test_three_records_have_the_closed_form_of_mu_argus(p):
    q = 1 - p
    closed = p / (2 * q**3) * (q * (3 * q - 2) - 2 * p * p * math.log(p))
    assert one(3, 3 / p) == pytest.approx(closed, rel=1e-6 if p > 0.9 else 1e-10)


def test_it_is_the_expectation_over_everything_that_the_population_may_be():
    draw = random.Random(1)
    for _ in range(60):
        f = draw.choice([1, 2, 3, 4, 8, 31, 32, 33, 60])
        people = f * (1 + draw.choice([0.0, 0.01, 0.7, 1.0, 9.0, 60.0]) * draw.random())
        assert one(f, people) == pytest.approx(by_adding_up(f, people), rel=1e-9), (f, people)


def test_it_is_the_integral():
    for f, people in ((1, 1.5), (1, 20.0), (2, 7.3), (3, 100.0), (31, 400.0), (32, 400.0), (200, 1000.0)):
        assert one(f, people) == pytest.approx(integrated(f, people), rel=1e-7), (f, people)


def test_it_falls_with_records_and_with_people():
    f, people = np.meshgrid(np.arange(1, 80), np.geomspace(1, 1e7, 200))
    risks = individual_risk(f.ravel(), people.ravel()).reshape(f.shape)
    assert (np.diff(risks, axis=1) < 0).all()
    assert (np.diff(risks, axis=0) <= 0).all()


def test_fewer_people_than_records_are_as_many_as_these():
    assert one(4, 1.5) == one(4, 0) == 0.25
