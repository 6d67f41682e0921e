"""Keys, dependencies and telling columns of tables in which they are known."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.profile.dependencies import find_structure, telling_of

CODES = {
    "a": np.array([0, 0, 1, 1, 2, 2, 0, 1], np.uint8),
    "b": np.array([0, 0, 1, 1, 1, 1, 0, 1], np.uint8),  # decided by a
    "c": np.array([0, 1, 0, 1, 0, 1, 2, 2], np.uint8),
    "d": np.array([5, 5, 5, 5, 5, 5, 5, 5], np.uint8),
}


def test_keys_and_dependencies():
    found = find_structure(CODES)
    assert found.keys == (("a", "c"),)
    assert [(d.columns, d.decides) for d in found.dependencies] == [(("a",), "b")]


def brute_force_keys(rows, names):
    def is_key(chosen):
        return len({tuple(row[n] for n in chosen) for row in rows}) == len(rows)

    sets = [c for size in (1, 2, 3) for c in itertools.combinations(names, size) if is_key(c)]
    return {c for c in sets if not any(set(other) < set(c) for other in sets)}


def test_random_keys():
    for seed in range(40):
        r = random.Random(seed)
        rows = [{n: r.randint(0, 5) for n in "abcd"} for _ in range(r.randint(2, 12))]
        codes = {n: np.array([row[n] for row in rows], np.uint8) for n in "abcd"}
        varied = [n for n in "abcd" if len({row[n] for row in rows}) > 1]
        assert set(find_structure(codes).keys) == brute_force_keys(rows, varied)


def uncertainty(xs, ys):
    """Theil's coefficient from its definition, less the expected gain of an unrelated column."""
    n = len(xs)
    joint, of_x, of_y = Counter(zip(xs, ys, strict=True)), Counter(xs), Counter(ys)
    whole = -sum(c / n * math.log(c / n) for c in of_y.values())
    rest = -sum(c / n * math.log(c / of_x[x]) for (x, _), c in joint.items())
    return (whole - rest - (len(of_x) - 1) * (len(of_y) - 1) / (2 * n)) / whole


def test_what_a_column_tells():
    r = random.Random(4)
    secret = [r.randint(0, 3) for _ in range(400)]
    known = [s if r.random() < 0.8 else r.randint(0, 3) for s in secret]
    noise = [r.randint(0, 3) for _ in range(400)]
    columns = {n: np.array(v, np.uint8) for n, v in (("known", known), ("noise", noise), ("secret", secret))}
    (found,) = telling_of(columns, ["secret"])
    assert (found.column, found.sensitive) == ("known", "secret")
    assert found.share == pytest.approx(uncertainty(known, secret))


def test_inspect_says_what_columns_tell_and_shows_evidence():
    r = random.Random(1)
    illness = [r.choice(["Canary1", "Canary2", "Canary3"]) for _ in range(300)]
    ward = [{"Canary1": "W1", "Canary2": "W2", "Canary3": "W3"}[x] for x in illness]
    frame = pl.DataFrame({"diagnosis": illness, "ward": ward, "age": [20 + r.randint(0, 30) for _ in range(300)]})
    profile = tc.inspect(frame)
    column = next(c for c in profile.columns if c.name == "ward")
    assert "decides diagnosis" in column.advice.reason or "tells" in column.advice.reason
    assert any("3 values in 300 cells" in e for e in column.evidence)
    assert "Canary" not in str(profile.to_dict())


def test_population_estimates_on_request():
    frame = pl.DataFrame({"age": [20 + i % 60 for i in range(200)], "sex": ["f", "m"] * 100})
    assert tc.inspect(frame).population == ()
    assert [e.method for e in tc.inspect(frame, population=10_000).population] == [
        "pitman",
        "zayatz",
        "negative-binomial",
    ]
