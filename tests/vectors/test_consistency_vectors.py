"""Worked examples of the literature on releases judged together with their originals; tests name their vectors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.algorithms.topdown.ring import boxes_of_rows, ring
from tablecloak.attacks.linkage_knowing_everybody import link_chances
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.k_concealment import KConcealment
from tablecloak.models.k_one_anonymity import KOneAnonymity
from tablecloak.models.kk_anonymity import KKAnonymity
from tablecloak.models.one_k_anonymity import OneKAnonymity
from tablecloak.stats.consistency import Consistency

T7A = {
    "Age": [30, 28, 15, 48, 20],
    "Gender": ["M", "F", "M", "M", "M"],
    "Zip": ["10152", "10157", "10118", "10500", "10511"],
}
T7B = {
    "Age": ["15-30"] * 3 + ["20-48"] * 2,
    "Gender": ["*"] * 3 + ["M"] * 2,
    "Zip": ["10***"] * 3 + ["105**"] * 2,
}
T7C = {
    "Age": ["28-30", "15-28", "15-30", "20-48", "20-48"],
    "Gender": ["*", "*", "M", "M", "M"],
    "Zip": ["1015*", "10***", "10***", "105**", "105**"],
}
RING = [(28, 30), (15, 28), (15, 30), (20, 48), (20, 48)]
# of every original, the published rows that cover it
ADJACENCY_7B = [[1, 2, 3], [1, 2, 3], [1, 2, 3], [4, 5], [1, 2, 3, 4, 5]]
ADJACENCY_7C = [[1, 3], [1, 2], [2, 3], [4, 5], [2, 3, 4, 5]]
ADMISSIBLE_7C = [[1, 3], [1, 2], [2, 3], [4, 5], [4, 5]]


def graph(rows_of_original):
    """The graph of single rows, given the published rows (from 1) that cover each original."""
    n = len(rows_of_original)
    covered = [[o for o, rows in enumerate(rows_of_original) if row in rows] for row in range(1, n + 1)]
    return Consistency.of_rows(covered, n)


def policy(*goals):
    return tc.Policy(columns=tc.roles(quasi=["Age", "Gender", "Zip"]), goals=list(goals))


def achieved(published, goal):
    verdict = tc.verify(pl.DataFrame(published), policy(goal), original=pl.DataFrame(T7A)).verdicts[0]
    return verdict.achieved


@pytest.mark.parametrize("adjacency", [ADJACENCY_7B, ADJACENCY_7C], ids=["V07b", "V07c"])
def test_v07_degrees_and_concealment(adjacency):
    pairs = graph(adjacency)
    assert pairs.rows_per_original().min() == 2
    assert pairs.originals_per_row().min() == 2
    assert pairs.admissible_rows().min() == 2


def test_v07b_chances_over_its_12_perfect_matchings():
    """The fifth can be one of the first three rows in no matching, so it shares two rows with the fourth."""
    chances, is_counted = link_chances(graph(ADJACENCY_7B))
    assert chances.tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1 / 2, 1 / 2])
    assert is_counted.all()


def test_v07c_admissible_rows_and_chances():
    pairs = graph(ADJACENCY_7C)
    ok = pairs.is_admissible()
    found = [sorted(pairs.published[ok & (pairs.originals == o)] + 1) for o in range(5)]
    assert found == ADMISSIBLE_7C
    assert link_chances(pairs)[0].tolist() == [1 / 2] * 5  # over its 4 perfect matchings


@pytest.mark.parametrize("model", [OneKAnonymity, KOneAnonymity, KKAnonymity, KConcealment])
def test_v07c_read_from_published_cells(model):
    verified = tc.verify(pl.DataFrame(T7C), policy(model(k=2)), original=pl.DataFrame(T7A))
    assert verified.holds
    assert verified.verdicts[0].achieved == 2
    assert not tc.verify(pl.DataFrame(T7C), policy(model(k=3)), original=pl.DataFrame(T7A)).holds


def test_v07c_is_not_2_anonymous():
    assert not tc.verify(pl.DataFrame(T7C), policy(tc.KAnonymity(k=2)), original=pl.DataFrame(T7A)).holds


def test_v07b_read_from_published_cells():
    # row 3 is asked for, which classes of 2 do not show, so the graph decides
    assert achieved(T7B, OneKAnonymity(k=3)) == 2
    assert achieved(T7B, KConcealment(k=3)) == 2


def test_without_the_original_the_verdict_says_it_could_not_be_checked():
    verified = tc.verify(pl.DataFrame(T7C), policy(KConcealment(k=2)))
    assert not verified.holds
    assert any("could not be checked" in note for note in verified.notes)


def test_class_sizes_suffice_without_the_original():
    assert tc.verify(pl.DataFrame(T7B), policy(KConcealment(k=2))).holds


def test_v07c_ring_of_the_two_classes():
    def masked(values):
        return Hierarchy.from_paths([[z[: 5 - n] + "*" * n for n in range(6)] for z in values.to_list()])

    def flat(values):
        return Hierarchy.from_paths([[g, "*"] for g in values.to_list()])

    fitted = [
        fit_domain(pl.Series("Age", T7A["Age"]), ColumnType.INTEGER),
        fit_domain(pl.Series("Gender", T7A["Gender"]), ColumnType.TEXT, make_hierarchy=flat),
        fit_domain(pl.Series("Zip", T7A["Zip"]), ColumnType.TEXT, make_hierarchy=masked),
    ]
    codes = np.stack([c.astype(np.int64) for _, c in fitted], axis=1)
    lo, hi = boxes_of_rows(codes, ring(np.array([0, 3]), len(codes), 2, np.zeros(2, np.int64)))
    labels = [domain.labels(lo[:, i], hi[:, i]) for i, (domain, _) in enumerate(fitted)]
    ages = fitted[0][0].values.to_list()
    assert [(ages[a], ages[b]) for a, b in zip(lo[:, 0], hi[:, 0], strict=True)] == RING
    assert labels[1] == ["*", "*", "M", "M", "M"]
    assert labels[2] == ["1015*", "101**", "101**", "105**", "105**"]


def test_vd02_one_k_without_k_one():
    published = [(20, 20), (20, 22), (20, 22)]
    covered = [[i for i, x in enumerate([20, 21, 22]) if lo <= x <= hi] for lo, hi in published]
    pairs = Consistency.of_rows(covered, 3)
    assert pairs.rows_per_original().min() == 2
    assert pairs.originals_per_row().min() == 1
