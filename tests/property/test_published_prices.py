"""What a search prices is what readers of a release measure: intervals as they are published, round bounds and all."""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest

import oracle
import tablecloak as tc
from effort import often
from tablecloak.algorithms.topdown.mondrian import priced
from tablecloak.data.coded import code_table
from tablecloak.data.coverage import coverage_of
from tablecloak.data.domain import fit_domain
from tablecloak.io.frames import column_type
from tablecloak.kernels.prices import FULL, cell_prices, make_prices
from tablecloak.kernels.uniting import box_losses

TOWNS = ["Bern", "Chur", "Genf"]
N = 600


def drawn(seed, n=N):
    """Days that lie side by side, numbers with many and few different values, sparse whole numbers, missing cells."""
    rng = np.random.default_rng(seed)
    days = [date(1980, 2, 1) + timedelta(days=int(d)) for d in rng.integers(0, 90, n) ** 2 // 60]
    return pl.DataFrame(
        {
            "day": days,
            "height": rng.normal(170, 12, n).round(3),
            "share": [None if rng.random() < 0.1 else x for x in rng.random(n).round(2).tolist()],
            "income": rng.integers(0, 400, n) ** 2,
            "town": rng.choice(TOWNS, n),
        }
    )


def coded(frame):
    columns = [frame[name] for name in frame.columns]
    return code_table([fit_domain(c, column_type(c.name, c.dtype)) for c in columns], [])


def intervals(domain, seed):
    return np.sort(np.random.default_rng(seed).integers(0, domain.n_codes, (2, 60)), axis=0)


@pytest.mark.parametrize("seed", range(often(2)))
def test_prices_are_the_losses_that_readers_compute_from_labels(seed):
    frame = drawn(seed)
    table = coded(frame)
    prices = make_prices(table.space, np.zeros(table.space.n_dims, bool))
    boxes = [intervals(domain, seed) for domain in table.domains]
    read = []
    for d, (domain, (lo, hi)) in enumerate(zip(table.domains, boxes, strict=True)):
        column = frame[domain.name].to_list()
        read.append(np.array([float(oracle.ncp(label, column)) for label in domain.labels(lo, hi)]))
        assert domain.loss(lo, hi) == pytest.approx(read[-1], abs=1e-12)
        assert cell_prices(prices, d, lo, hi) / FULL == pytest.approx(read[-1], abs=2 / FULL)
    lo, hi = np.stack(boxes, axis=2)
    assert box_losses(table.space, lo, hi) == pytest.approx(np.sum(read, axis=0), abs=1e-12)


@pytest.mark.parametrize("seed", range(often(2)))
def test_prices_of_iloss_are_the_values_that_labels_cover(seed):
    table = coded(drawn(seed).drop("town"))
    for domain, other in zip(table.domains, priced(table, "iloss").domains, strict=True):
        lo, hi = intervals(domain, seed)
        covered = coverage_of(pl.Series(domain.labels(lo, hi)), domain).sizes()
        is_mixed = (lo == 0) & (hi > 0) & domain.has_missing
        shares = np.where(is_mixed, 1.0, (covered - 1) / (len(domain.values) - 1))
        assert other.loss(lo, hi) == pytest.approx(shares, abs=1e-12)


@pytest.mark.parametrize("kind", ["mondrian", "k-member"])
def test_a_release_and_its_labels_have_the_same_utility(kind):
    frame = drawn(5, 150)
    columns = {name: {"role": "quasi"} for name in frame.columns} | {"town": {"role": "sensitive"}}
    policy = tc.Policy(columns=columns, goals=[{"model": "k-anonymity", "k": 3}], algorithm={"kind": kind})
    release = tc.anonymize(frame, policy)
    read = {m.name: m for m in tc.compare(frame, release.frame, policy=policy).metrics}
    found = [m for m in release.measure() if m.reason is None]
    assert len(found) > 15
    for measured in found:
        assert measured.value == pytest.approx(read[measured.name].value, abs=1e-9), measured.name
