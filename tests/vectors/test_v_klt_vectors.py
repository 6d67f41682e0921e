"""V-KAN and V-COLD as published, the distances of T-MSN, and what they leave open."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from effort import often
from tablecloak.algorithms.buckets._v_klt_shared import first_seen
from tablecloak.algorithms.buckets.t_msn import (
    printed_distance,
)
from tablecloak.algorithms.buckets.v_cold import (
    association,
    equitable,
    first_seen_codes,
    greedy,
    pair_columns,
    pearson,
)
from v_klt_tables import (
    FOUR_BY_THREE,
    T4_1,
    T4_8,
    T4_9,
    T4_27,
    by_bucket,
    corrected_distance,
    distances_of,
    ordered_emd,
    two_phase,
)

# --- distances -------------------------------------------------------------------------------------------------------

T3_1 = [[3, 4, 5], [6, 11, 8], [7, 9, 10]]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (printed_distance, [0.375, 0.166667, 0.208333]),
        (corrected_distance, [0.375, 0.166667, 0.208333]),
        (ordered_emd, [0.375, 0.166667, 0.236111]),
    ],
)
def test_distances_of_t3_1(distance, expected):
    everyone = [v for bucket in T3_1 for v in bucket]
    assert [float(distance(bucket, everyone)) for bucket in T3_1] == pytest.approx(expected, abs=1e-6)


def test_printed_distance_cannot_tell_a_tight_bucket_from_a_spread_one():
    buckets = [[7, 8, 9], [1, 8, 15], [2, 3, 19]]
    everyone = [v for bucket in buckets for v in bucket]
    assert [printed_distance(b, everyone) for b in buckets] == [0, 0, 0]
    assert [float(ordered_emd(b, everyone)) for b in buckets] == pytest.approx([0.1587, 0.0952, 0.1587], abs=5e-5)


def test_distances_against_the_whole_table():
    assert distances_of(FOUR_BY_THREE, corrected_distance) == [0.3788, 0.0455, 0.1061, 0.2273]
    assert distances_of(FOUR_BY_THREE, ordered_emd) == [0.4167, 0.125, 0.1458, 0.25]
    assert distances_of(T4_27, printed_distance) == [0.3106, 0.197, 0.2197, 0.0152]
    assert distances_of(T4_27, corrected_distance) == [0.1667, 0.0152, 0.0455, 0.2273]
    assert distances_of(T4_27, ordered_emd) == [0.2292, 0.1042, 0.1042, 0.25]


# --- V-KAN -----------------------------------------------------------------------------------------------------------


def test_v_kan_groups_in_order_of_first_appearance():
    keys = [np.array([m == "M" for m in [r["Gender"] for r in T4_1]]), *leaf_and_prefix()]
    assert by_bucket(first_seen([k.astype(np.int64) for k in keys])) == [[1, 3, 9], [2, 5, 8], [4, 6, 7]]


def leaf_and_prefix():
    ages = np.digitize([int(r["Age"]) for r in T4_1], [27, 31, 36])
    return ages, np.array([int(r["Zip"][:2]) for r in T4_1])


def frame(records):
    as_numbers = pl.col("ID", "Age", "Salary", "Loan").cast(pl.Int64, strict=False)
    return pl.DataFrame(records).with_columns(as_numbers) if "Loan" in records[0] else pl.DataFrame(records)


@pytest.mark.parametrize("variant", ["published", "sound"])
def test_v_kan_release_is_t4_7(people, variant):
    algorithm = {"kind": "v-kan", "variant": variant, "levels": {"Gender": 0, "Age": 1, "Zip": 3}}
    policy = tc.Policy(columns=people, goals=[tc.KAnonymity(k=3)], algorithm=algorithm)
    release = tc.anonymize(frame(T4_1), policy)
    published = release.frame.with_columns(pl.col("Gender", "Age", "Zip").cast(pl.String))
    keys = {"M": ("[20, 26]", "67***"), "F": ("[27, 30]", "68***"), "M2": ("[31, 35]", "75***")}
    expected = {1: "M", 3: "M", 9: "M", 2: "F", 5: "F", 8: "F", 4: "M2", 6: "M2", 7: "M2"}
    for row in published.iter_rows(named=True):
        assert row["Gender"] == expected[row["ID"]][0]
        assert (row["Age"], row["Zip"]) == keys[expected[row["ID"]]]
    assert release.report.verification.verdicts[0].achieved == 3


def test_v_kan_as_published_leaves_small_classes():
    assert len(set(first_seen([np.arange(9), np.arange(9)]).tolist())) == 9  # no generalisation: k = 1
    four = np.repeat(np.arange(4), 7)
    assert Counter(first_seen([four]).tolist()) == dict.fromkeys(range(4), 7)


def test_v_kan_sound_merges_what_is_too_small(people):
    wanted = {"columns": people, "goals": [tc.KAnonymity(k=3)]}
    raw = {"levels": {"Gender": 0, "Age": 0, "Zip": 0}}
    with pytest.raises(tc.GoalNotMet, match="reaches 1"):
        tc.anonymize(frame(T4_1), tc.Policy(**wanted, algorithm={"kind": "v-kan", "variant": "published", **raw}))
    release = tc.anonymize(frame(T4_1), tc.Policy(**wanted, algorithm={"kind": "v-kan", **raw}))
    assert release.report.verification.holds


# --- V-COLD ----------------------------------------------------------------------------------------------------------


def test_conversion_is_t4_9():
    columns = [[r[name] for r in T4_8] for name in T4_9]
    assert first_seen_codes(columns) == list(T4_9.values())


def test_pearson_of_the_conversion():
    expected = {
        ("Disease", "Treatment"): 0.843079,
        ("Disease", "DateDiagnosis"): 0.510277,
        ("Disease", "CureDate"): 0.510277,
        ("Treatment", "DateDiagnosis"): 0.398282,
        ("Treatment", "CureDate"): 0.398282,
        ("DateDiagnosis", "CureDate"): 1.0,
    }
    strength = np.zeros((4, 4))
    names = list(T4_9)
    for (a, b), r in expected.items():
        found = pearson(np.array(T4_9[a]), np.array(T4_9[b]))
        assert found == pytest.approx(r, abs=5e-7)
        strength[names.index(a), names.index(b)] = abs(found)
    assert pair_columns(strength) == [(0, 1), (2, 3)]


@pytest.mark.parametrize(
    ("order", "treatment", "date"),
    [
        (list(range(8, -1, -1)), 0.1387, 0.8032),
        (sorted(range(9), key=lambda i: T4_8[i]["Disease"]), 0.0241, 0.9359),
    ],
)
def test_pearson_of_labels_depends_on_the_order_of_rows(order, treatment, date):
    coded = {n: first_seen_codes([[T4_8[i][n] for i in order]])[0] for n in T4_9}
    assert pearson(np.array(coded["Disease"]), np.array(coded["Treatment"])) == pytest.approx(treatment, abs=1e-4)
    assert pearson(np.array(coded["Disease"]), np.array(coded["DateDiagnosis"])) == pytest.approx(date, abs=1e-4)


def test_association_does_not():
    expected = {
        ("Disease", "Treatment"): 0.638285,
        ("Disease", "DateDiagnosis"): 1.0,
        ("Disease", "CureDate"): 1.0,
        ("Treatment", "DateDiagnosis"): 0.7698,
        ("Treatment", "CureDate"): 0.7698,
        ("DateDiagnosis", "CureDate"): 1.0,
    }
    for (a, b), v in expected.items():
        for order in (np.arange(9), np.arange(8, -1, -1)):
            x, y = np.array(T4_9[a])[order], np.array(T4_9[b])[order]
            assert association(x, y) == pytest.approx(v, abs=5e-5)


def test_pearson_of_real_dates():
    dates = [[np.datetime64("-".join(reversed(r[n].split("/")))) for r in T4_8] for n in ("DateDiagnosis", "CureDate")]
    days = [np.array(d).astype("datetime64[D]").astype(int) for d in dates]
    assert pearson(*days) == pytest.approx(0.991279, abs=5e-7)


def test_buckets_of_the_source_and_of_its_pseudo_code():
    disease, treatment = np.array(T4_9["Disease"]), np.array(T4_9["Treatment"])
    printed = [[1, 4, 6], [2, 3, 8], [5, 7, 9]]
    assert by_bucket(greedy([disease, treatment])) == printed
    assert by_bucket(greedy([np.array(c) for c in T4_9.values()])) == printed
    assert by_bucket(two_phase(treatment, disease)) == printed
    assert by_bucket(two_phase(disease, treatment)) == [[1, 4, 6], [2, 3, 9], [5, 7], [8]]


def test_buckets_depend_on_the_order_of_what_is_left():
    """VCOLD-variants: what is left comes in the order in which it was put aside."""
    disease, treatment = np.array(T4_9["Disease"]), np.array(T4_9["Treatment"])
    assert by_bucket(two_phase(disease, treatment, put_order=True)) == [[1, 4, 6], [2, 3, 9], [7, 8], [5]]
    assert by_bucket(two_phase(treatment, disease, put_order=True)) == [[1, 4, 6], [3, 5], [7, 9], [2, 8]]


def test_pearson_of_labels_over_random_orders():
    """VCOLD-order-dependence: 2,000 orders reach from -0.473 to 0.877 and have a mean of 0.32."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(2_000):
        order = rng.permutation(9)
        a, b = (np.array(first_seen_codes([[T4_8[i][n] for i in order]])[0]) for n in ("Disease", "Treatment"))
        found.append(pearson(a, b))
    assert np.mean(found) == pytest.approx(0.32, abs=0.03)
    assert min(found) == pytest.approx(-0.473, abs=0.06)
    assert max(found) == pytest.approx(0.877, abs=0.06)


def test_greedy_leaves_a_single_row_where_even_buckets_do_not():
    dates, cures = np.array(T4_9["DateDiagnosis"]), np.array(T4_9["CureDate"])
    assert by_bucket(greedy([dates, cures])) == [[1, 2, 3, 4, 6, 7], [5, 9], [8]]
    for a, b in ((dates, cures), (np.array(T4_9["Disease"]), np.array(T4_9["Treatment"]))):
        found = equitable(a, b)
        assert sorted(Counter(found.tolist()).values()) == [3, 3, 3]
        for bucket in range(3):
            assert len(set(a[found == bucket])) == len(set(b[found == bucket])) == 3


@pytest.mark.parametrize("seed", range(often(40)))
def test_even_buckets_are_as_large_as_can_be(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    a, b = rng.integers(0, rng.integers(1, 12), n), rng.integers(0, rng.integers(1, 12), n)
    found = equitable(a, b)
    most = max(np.bincount(a).max(), np.bincount(b).max())
    sizes = np.bincount(found, minlength=most)
    assert len(sizes) == most
    assert sizes.min() == n // most
    assert sizes.max() - sizes.min() <= 1
    for bucket in range(most):
        assert len(set(a[found == bucket])) == len(set(b[found == bucket])) == sizes[bucket]
