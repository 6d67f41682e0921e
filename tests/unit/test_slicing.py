"""Blocks of related columns, and swaps that never make what cannot be."""

from collections import Counter

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.algorithms.buckets.swapping import random_matching


def related(n=200):
    rng = np.random.default_rng(1)
    a, c = rng.integers(0, 4, n), rng.integers(0, 4, n)
    return pl.DataFrame(
        {
            "a": [f"a{v}" for v in a],
            "b": [f"b{v // 2}" for v in a],
            "c": [f"c{v}" for v in c],
            "d": [f"d{v // 2}" for v in c],
            "illness": rng.choice(["flu", "asthma", "ulcer"], n).tolist(),
        }
    )


def test_related_columns_share_a_block():
    policy = tc.Policy(
        columns=tc.roles(quasi=["a", "c", "b", "d"], sensitive=["illness"]),
        goals=[tc.LDiversity(l=2)],
        algorithm="slicing",
    )
    release = tc.anonymize(related(), policy)
    assert "blocks: a + b; c + d; illness" in release.report.verification.notes
    assert all(row["a"] in ("a0", "a1") or row["b"] == "b1" for row in release.frame.to_dicts())


def people():
    rng = np.random.default_rng(2)
    sex = rng.choice(["f", "m"], 60).tolist()
    illness = [rng.choice(["flu", "asthma", "ulcer"] + (["prostate cancer"] if s == "m" else [])) for s in sex]
    teams = [i // 12 for i in range(60)]  # women and men together
    return pl.DataFrame(
        {"sex": sex, "age": rng.integers(20, 80, 60), "illness": [str(i) for i in illness], "team": teams}
    )


def swapped(data, forbidden, seed=0):
    policy = tc.Policy(
        columns=tc.roles(quasi=["sex", "age"], sensitive=["illness"], keep=["team"]),
        goals=[tc.LDiversity(l=2)],
        algorithm={"kind": "swapping", "forbidden": forbidden, "groups": "team"},
        seed=seed,
    )
    return tc.anonymize(data, policy).frame.with_columns(pl.col("sex", "illness").cast(pl.String))


CANNOT_BE = [{"sex": "f", "illness": "prostate cancer"}]


def test_swaps_never_make_a_forbidden_combination():
    for seed in range(10):
        published = swapped(people(), CANNOT_BE, seed)
        assert published.filter((pl.col("sex") == "f") & (pl.col("illness") == "prostate cancer")).height == 0
        assert Counter(published["illness"]) == Counter(people()["illness"])
        assert Counter(published["age"]) == Counter(people()["age"])


def test_swaps_would_make_it_if_it_were_allowed():
    made = sum(
        swapped(people(), [], seed).filter((pl.col("sex") == "f") & (pl.col("illness") == "prostate cancer")).height
        for seed in range(10)
    )
    assert made > 0


def test_every_row_could_have_several_values():
    published = swapped(people(), CANNOT_BE).to_dicts()
    groups = {}
    for row in published:
        groups.setdefault(row["group_id"], []).append(row)
    for rows in groups.values():
        values = {row["illness"] for row in rows}
        if any(row["sex"] == "f" for row in rows):
            values -= {"prostate cancer"}
        assert len(values) >= 2


def test_table_that_holds_a_forbidden_combination_is_refused():
    with pytest.raises(tc.DataError, match="rows of the table hold a forbidden combination"):
        swapped(people(), [{"sex": "m", "illness": "flu"}])


def test_forbidden_names_a_column():
    with pytest.raises(tc.IncompatibleChoice, match="did you mean 'sex'"):
        swapped(people(), [{"sexx": "f"}])


def test_matching_uses_allowed_pairs_only():
    rng = np.random.default_rng(0)
    for _ in range(50):
        allowed = rng.random((6, 6)) < 0.4
        np.fill_diagonal(allowed, val=True)
        found = random_matching(allowed, rng)
        assert sorted(found.tolist()) == list(range(6))
        assert allowed[np.arange(6), found].all()


def test_matching_that_does_not_exist():
    with pytest.raises(ValueError, match="no assignment"):
        random_matching(np.array([[True, False], [True, False]]), np.random.default_rng(0))
