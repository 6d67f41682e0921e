"""The worked examples of V-KLT: V-KAN, V-COLD, T-MSN and PM-HCA as published, and what they leave open."""

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import oracle
import tablecloak as tc
from counted import table
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.vklt.buckets import buckets_of, first_seen
from tablecloak.algorithms.vklt.pm_hca import (
    is_consecutive,
    is_one_category,
    mix_categories,
    permute_flagged,
    superset_ncp,
)
from tablecloak.algorithms.vklt.t_msn import (
    corrected_distance,
    exchange_minima,
    lower_distances,
    ordered_emd,
    printed_distance,
)
from tablecloak.algorithms.vklt.v_cold import (
    association,
    equitable,
    first_seen_codes,
    greedy,
    pair_columns,
    pearson,
    two_phase,
)
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.plan import given_groups, make_plan
from tablecloak.progress import silent

# T3.3: letter, name, code; the category of a leaf is its code without the last digit
DISEASES = {
    "a": ("Pulmonary emphysema", 111),
    "b": ("Asthma", 112),
    "c": ("Chronic obstructive bronchitis", 113),
    "d": ("Non-small cell carcinoma of lung TNM stage 4", 121),
    "e": ("Primary small cell malignant neoplasm of lung TNM stage 4", 122),
    "f": ("Concussion injury of brain", 211),
    "g": ("Stroke", 212),
    "h": ("Alzheimer", 213),
    "i": ("Primary malignant neoplasm of colon", 221),
    "j": ("Malignant tumor of colon", 222),
}
LETTERS = "abcdefghij"
CATEGORY = np.array([DISEASES[x][1] // 10 for x in LETTERS])
CODE = {DISEASES[x][1]: i for i, x in enumerate(LETTERS)}
NAME = {i: DISEASES[x][0] for i, x in enumerate(LETTERS)}

T4_1 = table("""
ID,Gender,Age,Zip,Salary,Loan,Disease
1,M,24,67540,3,900,Concussion injury of brain
2,F,28,68333,7,2100,Asthma
3,M,24,67001,4,1200,Alzheimer
4,M,32,75201,9,2700,Asthma
5,F,29,68301,9,2700,Stroke
6,M,31,75012,11,3300,Pulmonary emphysema
7,M,34,75111,8,2400,Chronic obstructive bronchitis
8,F,30,68032,10,3000,Pulmonary emphysema
9,M,21,67299,5,1500,Stroke
""")
T4_8 = table("""
ID,Disease,Treatment,DateDiagnosis,CureDate
1,Whiplash injury to neck,Recommendation to rest,04/09/2015,27/09/2015
2,Whiplash injury to neck,Musculoskeletal care,15/02/2008,17/03/2008
3,Fracture of forearm,Recommendation to rest,18/12/2007,04/02/2008
4,Gout,Healthy diet,18/01/1968,24/09/1975
5,Gout,Musculoskeletal care,18/01/1968,24/09/1975
6,Rheumatoid arthritis,Ice therapy,16/12/2005,13/08/2010
7,Whiplash injury to neck,Recommendation to rest,28/12/1942,05/02/1943
8,Gout,Healthy diet,18/01/1968,24/09/1975
9,Rheumatoid arthritis,Healthy diet,16/12/2005,13/08/2010
""")
T4_9 = {
    "Disease": [1, 1, 2, 3, 3, 4, 1, 3, 4],
    "Treatment": [5, 6, 5, 7, 6, 8, 5, 7, 7],
    "DateDiagnosis": [9, 10, 11, 12, 12, 13, 14, 12, 13],
    "CureDate": [15, 16, 17, 18, 18, 19, 20, 18, 19],
}
# T4.15 by ID: salary and disease; buckets of three in order
SALARY = [3, 4, 5, 7, 9, 10, 9, 11, 8, 8, 13, 11]
T4_15_DISEASE = "fhgbgabacahb"
FOUR_BY_THREE = {1: [1, 2, 3], 2: [4, 5, 6], 3: [7, 8, 9], 4: [10, 11, 12]}
T4_27 = {1: [4, 9, 2], 2: [3, 5, 6], 3: [7, 8, 1], 4: [10, 11, 12]}
# T4.29 (the rows of T4.28 sorted by code) by ID
T4_29_CODES = [211, 212, 213, 111, 112, 212, 222, 111, 112, 113, 121, 122]
T4_29_BUCKETS = {1: [1, 2, 3], 2: [4, 5, 6, 7], 3: [8, 9, 10], 4: [11, 12]}
T4_30_BUCKETS = {1: [1, 2, 8], 2: [4, 5, 6, 7], 3: [9, 10, 11], 4: [3, 12]}


def ids(buckets):
    return {label: [row + 1 for row in rows] for label, rows in buckets.items()}


def rows(buckets):
    return {label: [i - 1 for i in members] for label, members in buckets.items()}


def numbers(column):
    return np.array(first_seen_codes([column])[0])


def by_bucket(bucket_of):
    return [[i + 1 for i in np.flatnonzero(bucket_of == b)] for b in range(int(bucket_of.max()) + 1)]


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


def distances_of(buckets, distance):
    return [round(float(distance([SALARY[i - 1] for i in b], SALARY)), 4) for b in buckets.values()]


def test_distances_against_the_whole_table():
    assert distances_of(FOUR_BY_THREE, corrected_distance) == [0.3788, 0.0455, 0.1061, 0.2273]
    assert distances_of(FOUR_BY_THREE, ordered_emd) == [0.4167, 0.125, 0.1458, 0.25]
    assert distances_of(T4_27, printed_distance) == [0.3106, 0.197, 0.2197, 0.0152]
    assert distances_of(T4_27, corrected_distance) == [0.1667, 0.0152, 0.0455, 0.2273]
    assert distances_of(T4_27, ordered_emd) == [0.2292, 0.1042, 0.1042, 0.25]


# --- V-KAN -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path):
    """Hierarchies of F4.1 and ZIP_RULE, and the columns of the example tables."""
    leaves = {"[20, 26]": (20, 26), "[27, 30]": (27, 30), "[31, 35]": (31, 35), "[36, 50]": (36, 50)}
    ages = [f"{age};{label};[20, 50]" for label, (low, high) in leaves.items() for age in range(low, high + 1)]
    (tmp_path / "age.csv").write_text("\n".join(ages))
    (tmp_path / "gender.csv").write_text("M;*\nF;*\n")
    tree = [f"{name};{code // 10};{code // 100};all" for name, code in DISEASES.values()]
    (tmp_path / "disease.csv").write_text("\n".join(tree))
    return {
        "ID": "keep",
        "Gender": {"role": "quasi", "hierarchy": str(tmp_path / "gender.csv")},
        "Age": {"role": "quasi", "hierarchy": str(tmp_path / "age.csv")},
        "Zip": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask", "from": "right"}},
        "Disease": {"role": "sensitive", "hierarchy": str(tmp_path / "disease.csv")},
    }


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


@pytest.mark.parametrize("seed", range(40))
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


@pytest.mark.parametrize("seed", range(20))
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


def leaf_codes(codes):
    return np.array([CODE[c] for c in codes])


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


BLOCS = {"abc": 141, "bcd": 18, "bde": 28, "bdf": 13, "dfg": 5, "dgh": 24, "ghi": 26, "ghj": 37, "gh": 105}


def careplans():
    values = [LETTERS.index(x) for bloc, n in BLOCS.items() for _ in range(n) for x in bloc]
    sizes = [len(bloc) for bloc, n in BLOCS.items() for _ in range(n)]
    return np.array(values), buckets_of(np.repeat(np.arange(len(sizes)), sizes))


def audit(buckets, codes):
    held = [codes[members].tolist() for members in buckets.values()]
    return {
        "still_single_category": sum(is_one_category(h, CATEGORY) for h in held),
        "with_duplicate_codes": sum(len(set(h)) < len(h) for h in held),
        "homogeneous": sum(len(set(h)) == 1 for h in held),
        "flagged_by_consecutive_test": sum(is_consecutive(h, CATEGORY) for h in held),
    }


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


NCP_AFTER = {
    "bcg": 141,
    "bcd": 18,
    "bde": 28,
    "bdf": 13,
    "dfg": 5,
    "dgh": 24,
    "ghi": 26,
    "ahj": 36,
    "ghj": 1,
    "ah": 105,
}


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


# --- releases --------------------------------------------------------------------------------------------------------

# The source prints intervals only; these ages and codes are ends of them, so that a bucket's hull is the printed one.
T4_29 = [
    {"ID": i, "Gender": g, "Age": age, "Zip": z, "Disease": NAME[CODE[code]], "Bucket": bucket}
    for i, g, age, z, code, bucket in [
        (1, "M", 20, "67540", 211, 1), (2, "M", 26, "67001", 212, 1), (3, "M", 20, "67299", 213, 1),
        (4, "F", 27, "68333", 111, 2), (5, "F", 30, "68001", 112, 2), (6, "F", 28, "68501", 212, 2),
        (7, "F", 29, "68777", 222, 2), (8, "M", 35, "75201", 111, 3), (9, "M", 31, "75012", 112, 3),
        (10, "M", 35, "75111", 113, 3), (11, "F", 36, "48685", 121, 4), (12, "F", 50, "48111", 122, 4),
    ]
]  # fmt: skip


def labels_of(records, people, algorithm, goals):
    """Published quasi-identifiers by ID, verified or not."""
    columns = {n: spec for n, spec in people.items() if n in records[0]}
    columns = {**columns, "Age": "quasi", "Bucket": "keep"}
    policy = tc.Policy(columns=columns, goals=goals, algorithm=algorithm)
    data = table_of(pl.DataFrame(records))
    plan = make_plan(policy, data.frame.columns)
    coded = LocalEngine().contingency(data, plan.quasi_columns(data), plan.sensitive_columns(data), by_row=True).table
    solution = plan.algorithm.solve(Problem(coded, plan.goal, given=given_groups(LocalEngine(), data, plan)), silent)
    published = solution.published(coded.domains)
    cells = {n: published[n].publish(n, solution.class_of_tuple).to_list() for n in ("Gender", "Age", "Zip")}
    return {r["ID"]: tuple(cells[n][i] for n in cells) for i, r in enumerate(records)}, solution


def test_published_pm_hca_prints_t4_32(people):
    found, solution = labels_of(
        T4_29, people, {"kind": "pm-hca", "variant": "published", "groups": "Bucket"}, [tc.LDiversity(l=2)]
    )
    assert found[1] == found[2] == ("M", "[20, 35]", "67***")
    assert found[8] == ("M", "[20, 35]", "75***")
    assert found[4] == found[5] == found[6] == found[7] == ("F", "[27, 30]", "68***")
    assert found[9] == found[10] == ("M", "[31, 50]", "75***")
    assert found[11] == ("F", "[31, 50]", "48***")
    assert found[3] == ("M", "[20, 50]", "67***")
    assert found[12] == ("F", "[20, 50]", "48***")
    assert sorted(Counter(found.values()).values()) == [1, 1, 1, 1, 2, 2, 4]
    assert any("0.371 → 0.846" in note for note in solution.notes)


def test_bob_is_still_exposed_in_what_was_printed(people):
    found, _ = labels_of(
        T4_29, people, {"kind": "pm-hca", "variant": "published", "groups": "Bucket"}, [tc.LDiversity(l=2)]
    )
    bob = {"Zip": "48685", "Age": 48}
    matches = [
        i for i, (_, age, code) in found.items() if oracle.covers(age, bob["Age"]) and oracle.covers(code, bob["Zip"])
    ]
    assert matches == [11, 12]
    assert {T4_29_CODES[i - 1] // 10 for i in matches} == {12}
    by_age = {i for i, (_, age, _) in found.items() if oracle.covers(age, bob["Age"])}
    assert by_age == {9, 10, 11, 3, 12}  # T4.32-audit: what the source believes the attacker would see


def test_published_pm_hca_is_not_released(people):
    policy = tc.Policy(
        columns={**people, "Age": "quasi", "Bucket": "keep"},
        goals=[tc.KAnonymity(k=2), tc.LDiversity(l=2)],
        algorithm={"kind": "pm-hca", "variant": "published", "groups": "Bucket"},
    )
    with pytest.raises(tc.GoalNotMet, match="reaches 1"):
        tc.anonymize(pl.DataFrame(T4_29), policy)


def test_common_quasi_identifiers_are_t4_32_corrected(people):
    bucket_of = {i: b for b, members in T4_30_BUCKETS.items() for i in members}
    ages = {11: 50}  # so that the hull of the third bucket ends where the source's interval does
    moved = [{**r, "Bucket": bucket_of[r["ID"]], "Age": ages.get(r["ID"], r["Age"])} for r in T4_29]
    found, solution = labels_of(moved, people, {"kind": "pm-hca", "groups": "Bucket"}, [tc.LDiversity(l=2)])
    expected = {
        1: ("M", "[20, 35]", "*****"),
        2: ("F", "[27, 30]", "68***"),
        3: ("*", "[31, 50]", "*****"),
        4: ("*", "[20, 50]", "*****"),
    }
    assert found == {i: expected[b] for i, b in bucket_of.items()}
    assert Counter(found.values()) == {expected[1]: 3, expected[2]: 4, expected[3]: 3, expected[4]: 2}
    bob = [i for i, (_, age, code) in found.items() if oracle.covers(age, 48) and oracle.covers(code, "48685")]
    assert {T4_29_CODES[i - 1] for i in bob} == {112, 113, 121, 213, 122}
    assert {T4_29_CODES[i - 1] // 10 for i in bob} == {11, 12, 21}  # T4.32-corrected-audit
    assert "0 exchanges" in solution.notes[0]


T4_15 = [
    {"ID": i + 1, "Gender": "MFMF"[i // 3], "Age": age, "Zip": z, "Salary": SALARY[i],
     "Disease": DISEASES[T4_15_DISEASE[i]][0], "Bucket": i // 3 + 1}
    for i, (age, z) in enumerate(zip(
        [20, 20, 20, 27, 30, 30, 35, 35, 35, 36, 50, 40],
        ["67540", "67001", "67299", "68333", "68001", "68501", "75201", "75012", "75111", "48685", "48111", "48222"],
        strict=True,
    ))
]  # fmt: skip


# X-E2E-TMSN-then-PMHCA and X-E2E-PMHCA-then-TMSN: different buckets, the same common cells
@pytest.mark.parametrize("buckets", [T4_27, {1: [4, 3, 8], 2: [6, 2, 5], 3: [1, 7, 9], 4: [10, 12, 11]}])
def test_common_quasi_identifiers_after_t_msn(people, buckets):
    bucket_of = {i: b for b, members in buckets.items() for i in members}
    moved = [{**r, "Bucket": bucket_of[r["ID"]]} for r in T4_15]
    found, solution = labels_of(moved, people, {"kind": "pm-hca", "groups": "Bucket"}, [tc.LDiversity(l=2)])
    assert "0 exchanges" in solution.notes[0]
    expected = {
        1: ("*", "[20, 35]", "*****"),
        2: ("*", "[20, 30]", "6****"),
        3: ("M", "[20, 35]", "*****"),
        4: ("F", "[36, 50]", "48***"),
    }
    assert found == {i: expected[b] for i, b in bucket_of.items()}


def test_pm_hca_before_t_msn_keeps_every_distinct_value():
    codes = np.array([LETTERS.index(x) for x in T4_15_DISEASE])
    start = {b: sorted(m, key=lambda r: codes[r]) for b, m in rows(FOUR_BY_THREE).items()}
    mixed, flagged, swaps = permute_flagged(start, codes, CATEGORY)
    assert flagged == [1, 3]
    assert [(s.row + 1, s.other + 1) for s in swaps] == [(2, 8)]
    assert ids(mixed) == {1: [1, 3, 8], 2: [6, 4, 5], 3: [2, 7, 9], 4: [10, 12, 11]}
    after, rounds = exchange_minima(mixed, SALARY)
    assert [r.selected for r in rounds] == [4, 1, 3, 2]
    assert ids(after) == {1: [4, 3, 8], 2: [6, 2, 5], 3: [1, 7, 9], 4: [10, 12, 11]}
    assert [len(set(codes[m])) for m in after.values()] == [3, 3, 3, 3]
    assert [len({SALARY[r] for r in m}) for m in after.values()] == [3, 3, 3, 3]


def test_published_t_msn_protects_nothing(people):
    columns = {**people, "Salary": "sensitive"}
    found, solution = labels_of(
        T4_15,
        columns,
        {"kind": "t-msn", "variant": "published", "groups": "Bucket"},
        [tc.LDiversity(l=2, sensitive="Salary")],
    )
    linked = {}
    for i, cells in found.items():
        linked.setdefault(cells, []).append(SALARY[i - 1])
    assert sorted(sorted(v) for v in linked.values()) == [[3, 4, 5], [7, 9, 10], [8, 9, 11], [8, 11, 13]]
    assert any("restores the old buckets" in note for note in solution.notes)


@pytest.mark.parametrize("kind", ["t-msn", "pm-hca"])
def test_sound_variants_release_what_verifies(people, kind):
    columns = {**people, "Age": "quasi", "Bucket": "keep", "Salary": "sensitive"}
    goals = [tc.KAnonymity(k=3), tc.LDiversity(l=3), tc.TCloseness(t=0.3, distance="ordered", sensitive="Salary")]
    policy = tc.Policy(columns=columns, goals=goals, algorithm={"kind": kind, "groups": "Bucket"})
    verification = tc.anonymize(pl.DataFrame(T4_15), policy).report.verification
    assert verification.holds
    assert verification.covers is True


def test_v_klt_release_verifies(people):
    columns = {**people, "Salary": "sensitive"}
    goals = [tc.KAnonymity(k=3), tc.LDiversity(l=2), tc.TCloseness(t=0.3, distance="ordered", sensitive="Salary")]
    algorithm = {"kind": "v-klt", "levels": {"Gender": 0, "Age": 1, "Zip": 3}}
    release = tc.anonymize(pl.DataFrame(T4_15), tc.Policy(columns=columns, goals=goals, algorithm=algorithm))
    assert release.report.verification.holds
    assert release.report.verification.covers is True
    assert any("mixed the categories" in note for note in release.report.verification.notes)
