"""T-MSN and PM-HCA as published, step by step, and their sound variants."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from effort import often
from tablecloak.algorithms.buckets.pm_hca import (
    is_consecutive,
    is_one_category,
    mix_categories,
    permute_flagged,
    superset_ncp,
)
from tablecloak.algorithms.buckets.t_msn import (
    exchange_minima,
    lower_distances,
    printed_distance,
)
from tablecloak.algorithms.buckets.v_cold import pearson
from v_klt_tables import (
    BLOCS,
    CATEGORY,
    FOUR_BY_THREE,
    LETTERS,
    NCP_AFTER,
    SALARY,
    T4_15_DISEASE,
    T4_27,
    T4_29_BUCKETS,
    T4_29_CODES,
    T4_30_BUCKETS,
    audit,
    careplans,
    corrected_distance,
    distances_of,
    ids,
    leaf_codes,
    ordered_emd,
    rows,
)

# --- T-MSN -----------------------------------------------------------------------------------------------------------


def test_t_msn_trace():
    buckets, rounds = exchange_minima(rows(FOUR_BY_THREE), SALARY)
    assert [r.distances for r in rounds[:3]] == [
        {1: Fraction(62, 132), 2: Fraction(20, 132), 3: Fraction(14, 132), 4: Fraction(2, 132)},
        {1: Fraction(18, 72), 2: Fraction(15, 72), 3: Fraction(3, 72)},
        {1: Fraction(14, 30), 2: Fraction(29, 30)},
    ]
    assert [r.selected for r in rounds] == [4, 3, 1, 2]
    swaps = [[((s.first, s.row + 1), (s.second, s.other + 1)) for s in r.swaps] for r in rounds]
    assert swaps == [[((1, 1), (2, 4)), ((2, 1), (3, 9))], [((1, 2), (2, 9)), ((1, 3), (2, 2))], [], []]
    assert ids(buckets) == T4_27


def test_t_msn_on_loans_is_the_same():
    by_loan, rounds = exchange_minima(rows(FOUR_BY_THREE), [300 * s for s in SALARY])
    assert ids(by_loan) == T4_27
    assert rounds[0].distances[1] == 300 * Fraction(62, 132)


@pytest.mark.parametrize(
    ("distance", "order", "expected", "distances"),
    [
        (
            printed_distance,
            [4, 3, 1, 2],
            {1: [4, 9, 3], 2: [2, 5, 6], 3: [7, 8, 1], 4: [10, 11, 12]},
            [{1: 0.4697, 2: 0.1515, 3: 0.1061, 4: 0.0152}, {1: 0.25, 2: 0.2083, 3: 0.0417}, {1: 0.5667, 2: 0.8667}],
        ),
        (
            corrected_distance,
            [2, 4, 1, 3],
            {1: [9, 10, 3], 2: [4, 5, 6], 3: [7, 8, 2], 4: [1, 11, 12]},
            [
                {1: 0.3788, 2: 0.0455, 3: 0.1061, 4: 0.2273},
                {1: 0.2917, 3: 0.1667, 4: 0.125},
                {1: 0.1, 3: 0.1},
                {3: 0.0},
            ],
        ),
        (
            ordered_emd,
            [2, 3, 1, 4],
            {1: [9, 1, 3], 2: [4, 5, 6], 3: [7, 8, 10], 4: [2, 11, 12]},
            [{1: 0.4167, 2: 0.125, 3: 0.1458, 4: 0.25}, {1: 0.2407, 3: 0.1667, 4: 0.1852}, {1: 0.1667, 4: 0.1667}],
        ),
    ],
)
def test_t_msn_with_one_pass(distance, order, expected, distances):
    buckets, rounds = exchange_minima(rows(FOUR_BY_THREE), SALARY, distance, passes_for_two=1)
    assert [r.selected for r in rounds] == order
    assert ids(buckets) == expected
    for found, wanted in zip(rounds, distances, strict=False):
        assert {b: float(d) for b, d in found.distances.items()} == pytest.approx(wanted, abs=5e-5)


X_MSN_SALARY = [30, 31, 33, 50, 52, 55, 70, 72, 75, 90, 40, 60]
X_MSN_STAY = [2, 9, 5, 1, 2, 3, 8, 4, 6, 7, 1, 9]


@pytest.mark.parametrize(
    ("distance", "passes", "salary", "salary_order", "stay", "stay_order", "both"),
    [
        (
            printed_distance, 2,
            {1: [4, 2, 3], 2: [11, 5, 6], 3: [7, 8, 9], 4: [10, 1, 12]}, [3, 2, 1, 4],
            {1: [4, 2, 3], 2: [11, 5, 6], 3: [7, 8, 9], 4: [10, 1, 12]}, [3, 1, 2, 4],
            {1: [11, 2, 3], 2: [1, 5, 6], 3: [7, 8, 9], 4: [10, 4, 12]},
        ),
        (
            corrected_distance, 1,
            {1: [7, 11, 3], 2: [4, 5, 6], 3: [2, 8, 9], 4: [10, 1, 12]}, [2, 4, 1, 3],
            {1: [1, 2, 3], 2: [8, 4, 6], 3: [7, 11, 9], 4: [10, 5, 12]}, [1, 3, 2, 4],
            {1: [7, 11, 3], 2: [8, 4, 6], 3: [2, 1, 9], 4: [10, 5, 12]},
        ),
    ],
)  # fmt: skip
def test_t_msn_on_two_columns(distance, passes, salary, salary_order, stay, stay_order, both):
    assert pearson(np.array(X_MSN_SALARY), np.array(X_MSN_STAY)) == pytest.approx(0.320237, abs=5e-7)
    start = rows(FOUR_BY_THREE)
    after_salary, rounds = exchange_minima(start, X_MSN_SALARY, distance, passes_for_two=passes)
    assert (ids(after_salary), [r.selected for r in rounds]) == (salary, salary_order)
    after_stay, rounds = exchange_minima(start, X_MSN_STAY, distance, passes_for_two=passes)
    assert (ids(after_stay), [r.selected for r in rounds]) == (stay, stay_order)
    assert ids(exchange_minima(after_salary, X_MSN_STAY, distance, passes_for_two=passes)[0]) == both


def test_t_msn_loses_a_disease():
    def diseases(buckets):
        return [len({T4_15_DISEASE[i - 1] for i in members}) for members in buckets.values()]

    assert diseases(FOUR_BY_THREE) == [3, 3, 3, 3]
    assert diseases(T4_27) == [3, 2, 3, 3]


def test_relative_spread():
    def spread(buckets):
        salaries = [[SALARY[i - 1] for i in members] for members in buckets.values()]
        return [(max(s) - min(s)) / (max(SALARY) - min(SALARY)) for s in salaries]

    assert spread(FOUR_BY_THREE) == pytest.approx([0.2, 0.3, 0.3, 0.5])
    assert spread(T4_27) == pytest.approx([0.4, 0.5, 0.8, 0.5])


def sound_t_msn(salaries, buckets):
    codes = np.unique(salaries, return_inverse=True)[1]
    labels = list(buckets)
    return lower_distances(
        buckets,
        codes,
        target=0.0,
        partners=lambda label: [other for other in labels if other != label],
        accepts=lambda *_: True,
    )[0]


def test_sound_t_msn_beats_the_source():
    buckets = ids(sound_t_msn(SALARY, rows(FOUR_BY_THREE)))
    reference = {
        i: [SALARY.index(s) + 1 for s in b] for i, b in enumerate([[3, 8, 10], [4, 8, 11], [5, 9, 11], [7, 9, 13]])
    }
    assert distances_of(reference, ordered_emd) == [0.125, 0.0833, 0.0833, 0.125]
    assert max(distances_of(buckets, ordered_emd)) < max(distances_of(T4_27, ordered_emd)) == 0.25


@pytest.mark.parametrize("seed", range(often(20)))
def test_sound_t_msn_never_raises_the_largest_distance(seed):
    rng = np.random.default_rng(seed)
    salaries = np.sort(rng.integers(0, 15, 18)).tolist()
    start = {b: list(range(3 * b, 3 * b + 3)) for b in range(6)}
    after = sound_t_msn(salaries, start)

    def largest(buckets):
        return max(ordered_emd([salaries[r] for r in members], salaries) for members in buckets.values())

    assert largest(after) <= largest(start)
    assert sorted(r for members in after.values() for r in members) == list(range(18))
    assert [len(m) for m in after.values()] == [3] * 6


# --- PM-HCA ----------------------------------------------------------------------------------------------------------


def test_flags_of_t3_2():
    buckets = [[211, 213, 212], [112, 212, 111], [112, 111, 113]]
    for flag in (is_consecutive, is_one_category):
        assert [flag(leaf_codes(b).tolist(), CATEGORY) for b in buckets] == [True, False, True]


@pytest.mark.parametrize(
    ("codes", "consecutive", "same"),
    [([111, 113], False, True), ([111], True, True), ([111] * 3, False, True), ([112, 113, 121], False, False)],
)
def test_what_the_consecutive_test_misses(codes, consecutive, same):
    assert is_consecutive(leaf_codes(codes).tolist(), CATEGORY) is consecutive
    assert is_one_category(leaf_codes(codes).tolist(), CATEGORY) is same


def test_tenth_sibling_follows_the_ninth():
    category = np.zeros(10, np.int64)  # paths 1/1/1 to 1/1/10, which codes made of digits tear apart
    assert is_one_category([8, 9], category)
    assert is_consecutive([8, 9], category)


def test_pm_hca_trace():
    codes = leaf_codes(T4_29_CODES)
    buckets, flagged, swaps = permute_flagged(rows(T4_29_BUCKETS), codes, CATEGORY)
    assert flagged == [1, 3, 4]
    assert [(s.first, s.row + 1, s.second, s.other + 1) for s in swaps] == [(1, 3, 3, 8), (3, 3, 4, 11)]
    assert {b: sorted(m) for b, m in ids(buckets).items()} == T4_30_BUCKETS
    after = {b: sorted(T4_29_CODES[r] for r in m) for b, m in buckets.items()}
    assert after == {1: [111, 211, 212], 2: [111, 112, 212, 222], 3: [112, 113, 121], 4: [122, 213]}


def test_published_pairing_fails_at_scale():
    codes, buckets = careplans()
    assert (len(buckets), len(codes)) == (397, 1086)
    after, flagged, swaps = permute_flagged(buckets, codes, CATEGORY)
    assert (len(flagged), len(swaps)) == (246, 123)
    assert audit(after, codes) == {
        "still_single_category": 244,
        "with_duplicate_codes": 244,
        "homogeneous": 104,
        "flagged_by_consecutive_test": 0,
    }
    after, _, _ = permute_flagged(buckets, codes, CATEGORY, pick=("min", "min"))
    found = audit(after, codes)
    assert found["still_single_category"] == found["flagged_by_consecutive_test"] == 244
    assert found["with_duplicate_codes"] == 0


def test_sound_pairing_leaves_no_bucket_vulnerable():
    codes, buckets = careplans()
    after, left, _ = mix_categories(
        buckets,
        codes,
        CATEGORY,
        nearest=lambda label, others: [o for o in others if o != label],
        accepts=lambda *_: True,
    )
    assert left == []
    assert audit(after, codes)["still_single_category"] == audit(after, codes)["with_duplicate_codes"] == 0
    assert Counter(codes[[r for m in after.values() for r in m]].tolist()) == Counter(codes.tolist())
    assert [len(m) for m in after.values()] == [len(m) for m in buckets.values()]


def generalised(values):
    for group in ("abc", "de", "fgh", "ij", "abcde", "fghij", LETTERS):
        if set(values) <= set(group):
            return frozenset(group)
    raise ValueError(values)


@pytest.mark.parametrize(
    ("blocs", "expected"),
    [
        ({"fgh": 1, "abgj": 1, "abc": 1, "de": 1}, 0.371429),
        ({"afg": 1, "abgj": 1, "bcd": 1, "eh": 1}, 0.846154),
        (BLOCS, 0.391849),
        (NCP_AFTER, 0.884494),
    ],
)
def test_ncp_as_the_source_weighs_it(blocs, expected):
    sets = [generalised(values) for values in blocs]
    assert superset_ncp(sets, list(blocs.values()), 10) == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize(("blocs", "expected"), [(BLOCS, 0.350436), (NCP_AFTER, 0.89923)])
def test_ncp_of_buckets_one_by_one_differs(blocs, expected):
    sets = [generalised(values) for values, n in blocs.items() for _ in range(n)]
    assert superset_ncp(sets, [1] * len(sets), 10) == pytest.approx(expected, abs=5e-7)
