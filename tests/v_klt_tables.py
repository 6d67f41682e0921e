"""Tables, buckets and columns of the worked examples of V-KLT."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from counted import table
from tablecloak.algorithms.buckets._v_klt_shared import buckets_of
from tablecloak.algorithms.buckets.pm_hca import is_consecutive, is_one_category

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


def by_bucket(bucket_of):
    return [[i + 1 for i in np.flatnonzero(bucket_of == b)] for b in range(int(bucket_of.max()) + 1)]


def leaf_codes(codes):
    return np.array([CODE[c] for c in codes])


BLOCS = {"abc": 141, "bcd": 18, "bde": 28, "bdf": 13, "dfg": 5, "dgh": 24, "ghi": 26, "ghj": 37, "gh": 105}
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


def distances_of(buckets, distance):
    return [round(float(distance([SALARY[i - 1] for i in b], SALARY)), 4) for b in buckets.values()]


def column_specs(folder):
    """Hierarchies of F4.1 and ZIP_RULE, and the columns of the example tables."""
    leaves = {"[20, 26]": (20, 26), "[27, 30]": (27, 30), "[31, 35]": (31, 35), "[36, 50]": (36, 50)}
    ages = [f"{age};{label};[20, 50]" for label, (low, high) in leaves.items() for age in range(low, high + 1)]
    (folder / "age.csv").write_text("\n".join(ages))
    (folder / "gender.csv").write_text("M;*\nF;*\n")
    tree = [f"{name};{code // 10};{code // 100};all" for name, code in DISEASES.values()]
    (folder / "disease.csv").write_text("\n".join(tree))
    return {
        "ID": "keep",
        "Gender": {"role": "quasi", "hierarchy": str(folder / "gender.csv")},
        "Age": {"role": "quasi", "hierarchy": str(folder / "age.csv")},
        "Zip": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask", "from": "right"}},
        "Disease": {"role": "sensitive", "hierarchy": str(folder / "disease.csv")},
    }


def corrected_distance(bucket, table):
    """|mean(w) - mean(v)| / (n - 1): what the printed distance means to be; it does not see how values spread."""
    n, m = len(table), len(bucket)
    if n < 2 or m == 0:
        return Fraction(0)
    return abs(n * total_of(bucket) - m * total_of(table)) / (m * n * (n - 1))


def ordered_emd(bucket, table):
    """Earth mover's distance of the shares, neighbouring different values of the table 1/(K - 1) apart."""
    values = sorted(set(table))
    if len(values) < 2 or not bucket:
        return Fraction(0)
    running, total = Fraction(0), Fraction(0)
    for value in values:
        running += Fraction(list(bucket).count(value), len(bucket)) - Fraction(list(table).count(value), len(table))
        total += abs(running)
    return total / (len(values) - 1)


def total_of(values):
    return sum(map(Fraction, values), Fraction(0))


def two_phase(first, second, *, put_order=False):
    """The bucket of every row: the first row of each value of one column, of those the first of each of the other.

    Args:
        put_order: rows that are left come in the order in which they were put aside, not in that of the table.
    """
    bucket_of = np.full(len(first), -1)
    rest, n_buckets = np.arange(len(first)), 0
    while len(rest):
        candidates = rest[np.sort(np.unique(first[rest], return_index=True)[1])]
        chosen = candidates[np.sort(np.unique(second[candidates], return_index=True)[1])]
        bucket_of[chosen] = n_buckets
        aside = [rest[~np.isin(rest, candidates)], candidates[~np.isin(candidates, chosen)]]
        rest, n_buckets = np.concatenate(aside), n_buckets + 1
        rest = rest if put_order else np.sort(rest)
    return bucket_of
