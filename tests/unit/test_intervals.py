"""Intervals that many classes share are listed once, whether by a table or by sorting."""

import numpy as np
import pytest

from tablecloak.data.domain import distinct_intervals


@pytest.mark.parametrize(("n_codes", "n"), [(3, 200), (40, 60), (5000, 300), (1, 5), (7, 0)])
def test_intervals_are_listed_once_in_ascending_order(n_codes: int, n: int) -> None:
    random = np.random.default_rng(n_codes)
    lo = random.integers(0, n_codes, n).astype(np.int16)
    hi = np.maximum(lo, random.integers(0, n_codes, n)).astype(np.int16)
    first, last, place = distinct_intervals(lo, hi, n_codes)
    expected = sorted(set(zip(lo.tolist(), hi.tolist(), strict=True)))
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == expected
    assert [expected[p] for p in place.tolist()] == list(zip(lo.tolist(), hi.tolist(), strict=True))
