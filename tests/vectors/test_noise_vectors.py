"""Noise and randomised response: worked examples; each test names the vector it was computed from."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

from tablecloak import registry
from tablecloak.data.changed_columns import CellRows
from tablecloak.data.table import ColumnType
from tablecloak.measure.perturbed import (
    estimated_product,
    estimated_shares,
    estimated_sum,
    factor_variance,
    noise_variance,
    response_matrix,
)
from tablecloak.rng import Secret
from tablecloak.transforms._draws import Alone, Distribution
from tablecloak.transforms._noisy import Noisy

V_NOISE_D1 = json.loads(
    '{"additive":{"v":[10,20,30],"r":[0.5,-1,0.5],"u":[10.5,19,30.5]},'
    '"multiplicative":{"v":[10,20],"r":[1.1,0.9],"u":[11,18],"var_u_given_v":{"v":20,"sigma_r":0.1,"expected":4.0}}}'
)
VB10 = json.loads(
    '{"laplace":[{"b":2.0,"variance":8.0},{"b":1.0,"variance":2.0},{"b":20.0,"variance":800.0}],'
    '"randomised_response":['
    '{"epsilon":1.098612,"domain":2,"p":0.75,"q":0.25,"observed_share":0.4,"estimate":0.3},'
    '{"epsilon":1.0,"domain":4,"p":0.475367,"q":0.174878,"observed_share":0.4,"estimate":0.749186}]}'
)
VB11 = {"sigma": 10, "n": [100, 10_000, 1_000_000], "relative_sd_expected": [0.025, 0.0025, 0.00025]}
SECRET = Secret(b"v" * 32)


class Given:
    """Amounts that are not drawn."""

    def __init__(self, amounts):
        self.amounts = np.array(amounts, float)

    def __call__(self, numbers):
        return self.amounts[numbers]


def noisy(values, amounts, **how):
    step = Noisy("x", ColumnType.FLOAT, Given(amounts), 1.0, SECRET, **how)
    return step(pl.Series(values, dtype=pl.Float64), CellRows(np.arange(len(values)), pl.DataFrame())).to_list()


def test_v_noise_d1_amounts_are_added():
    case = V_NOISE_D1["additive"]
    assert noisy(case["v"], case["r"]) == case["u"]


def test_v_noise_d1_values_are_multiplied():
    case = V_NOISE_D1["multiplicative"]
    assert noisy(case["v"], [r - 1 for r in case["r"]], is_share=True) == case["u"]


def test_v_noise_d1_variance_of_a_value_that_is_multiplied():
    case = V_NOISE_D1["multiplicative"]["var_u_given_v"]
    assert factor_variance([case["v"]], case["sigma_r"]).tolist() == pytest.approx([case["expected"]])
    n = 50_000
    draw = Alone(SECRET, Distribution.NORMAL, case["sigma_r"])
    step = Noisy("x", ColumnType.FLOAT, draw, case["sigma_r"], SECRET, is_share=True)
    cells = step(pl.Series([float(case["v"])] * n), CellRows(np.arange(n), pl.DataFrame())).to_numpy()
    assert abs(cells.var() / case["expected"] - 1) < 5 * math.sqrt(2 / n)
    assert abs(cells.mean() - case["v"]) < 5 * math.sqrt(case["expected"] / n)


def test_vb10_variance_of_laplace_noise():
    for case in VB10["laplace"]:
        assert noise_variance("laplace", case["b"]) == case["variance"]


def test_vb10_and_v_dp_1_randomised_response():
    for case in VB10["randomised_response"]:
        m = case["domain"]
        truth = math.exp(case["epsilon"]) / (math.exp(case["epsilon"]) + m - 1)
        matrix = response_matrix(m, truth)
        assert (matrix[0, 0], matrix[0, 1]) == pytest.approx((case["p"], case["q"]), abs=1e-6)
        share = case["observed_share"]
        counts = [share * 10_000, *[(1 - share) * 10_000 / (m - 1)] * (m - 1)]
        assert estimated_shares(counts, matrix)[0].value == pytest.approx(case["estimate"], abs=1e-5)


@pytest.mark.parametrize("i", range(3))
def test_vb11_the_relative_error_of_a_noisy_sum_vanishes(i):
    n, bound = VB11["n"][i], VB11["relative_sd_expected"][i]
    values = np.random.default_rng(i).uniform(20, 60, n)
    noise = registry.known("transforms")["noise"].model_validate({"scale": VB11["sigma"]})
    step = Noisy("x", ColumnType.FLOAT, Alone(SECRET, noise.distribution, noise.scale), noise.scale, SECRET)
    found = estimated_sum(step(pl.Series(values), CellRows(np.arange(n), pl.DataFrame())).to_numpy(), noise.scale**2)
    assert found.deviation == pytest.approx(VB11["sigma"] * math.sqrt(n))
    assert found.deviation / values.sum() == pytest.approx(bound, rel=0.1)
    assert abs(found.value - values.sum()) / values.sum() < 5 * bound


@pytest.mark.parametrize("i", range(3))
def test_vb11_the_relative_error_of_a_noisy_scalar_product_vanishes(i):
    """The same values and noise, twice: with zero-sum noise, the product of the noisy columns is near that of them."""
    n, bound = VB11["n"][i], VB11["relative_sd_expected"][i]
    draw = np.random.default_rng(10 + i)
    a, b = draw.uniform(20, 60, n), draw.uniform(20, 60, n)
    r, v = draw.normal(0, VB11["sigma"], (2, n))
    truth, variance = float(a @ b), VB11["sigma"] ** 2
    found = estimated_product(a + r - r.mean(), b + v - v.mean(), (variance, variance), zero_sum=True)
    # uniform(20, 60) has the variance 40^2 / 12; around the means, products of noise and values are what is left
    spread = math.sqrt(n * (2 * variance * 40**2 / 12 + variance**2))
    assert found.deviation == pytest.approx(spread, rel=0.3)
    assert found.deviation / truth < bound
    assert abs(found.value - truth) / truth < 5 * bound
    assert found.low < found.value < found.high
