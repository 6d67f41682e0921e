"""Pairs of rows that T-MSN exchanges, plain and compiled, against trying every exchange."""

import numpy as np
import pytest

from effort import often
from kernel_forms import compiled, plain


def distance(codes, shares):
    own = np.bincount(codes, minlength=len(shares)) / len(codes)
    return sum(abs(sum(own[: v + 1]) - sum(shares[: v + 1])) for v in range(len(shares)))


@pytest.mark.parametrize("form", [plain, pytest.param(compiled, marks=pytest.mark.slow)])
def test_best_pairs_are_those_of_trying_all(form):
    best_pairs = form.best_pairs
    rng = np.random.default_rng(3)
    for _ in range(often(80)):
        n_values = int(rng.integers(2, 9))
        table = rng.integers(0, n_values, 40)
        shares = np.bincount(table, minlength=n_values) / len(table)
        one, two = (rng.integers(0, n_values, int(rng.integers(1, 7))) for _ in range(2))
        gaps = [np.cumsum(np.bincount(b, minlength=n_values)) / len(b) - np.cumsum(shares) for b in (one, two)]
        limit = distance(one, shares) - 1e-12
        found = best_pairs(gaps[0], one, gaps[1], two, limit=limit, most=5).tolist()
        scores = {}
        for a in range(len(one)):
            for b in range(len(two)):
                x, y = one.copy(), two.copy()
                x[a], y[b] = two[b], one[a]
                scores[a, b] = max(distance(x, shares), distance(y, shares))
        wanted = sorted(s for s in scores.values() if s < limit - 1e-9)[:5]
        assert [scores[a, b] for a, b in found][: len(wanted)] == pytest.approx(wanted)
        assert len(wanted) <= len(found) <= 5
        assert all(scores[a, b] < limit + 1e-9 for a, b in found)


@pytest.mark.slow
def test_plain_and_compiled_pairs_are_the_same():
    rng = np.random.default_rng(4)
    for _ in range(often(80)):
        one, two = (rng.integers(0, 6, int(rng.integers(1, 30))) for _ in range(2))
        gaps = [np.cumsum(np.bincount(b, minlength=6)) / len(b) - np.linspace(1 / 6, 1, 6) for b in (one, two)]
        limit = float(np.abs(gaps[0]).sum())
        sides = [
            best(gaps[0], one, gaps[1], two, limit=limit, most=32).tolist()
            for best in (plain.best_pairs, compiled.best_pairs)
        ]
        assert sides[0] == sides[1]
