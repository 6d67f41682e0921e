"""Releases of the worked examples of V-KLT: cells as printed, as corrected, and who is still found."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import oracle
import tablecloak as tc
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.buckets.pm_hca import (
    permute_flagged,
)
from tablecloak.algorithms.buckets.t_msn import (
    exchange_minima,
)
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.progress import silent
from tablecloak.release.plan import make_plan
from tablecloak.release.prepare import given_groups
from v_klt_tables import (
    CATEGORY,
    CODE,
    DISEASES,
    FOUR_BY_THREE,
    LETTERS,
    NAME,
    SALARY,
    T4_15_DISEASE,
    T4_27,
    T4_29_CODES,
    T4_30_BUCKETS,
    ids,
    rows,
)

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
