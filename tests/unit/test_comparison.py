"""Comparisons, counted by hand."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.policy.load import load_policy
from tablecloak.profile.distribution_distances import distances
from tablecloak.sample import write_patients

ORIGINAL = pl.DataFrame({"age": [20, 30, 40, 60], "sex": ["f", "m", "f", "m"], "illness": ["a", "a", "b", "b"]})
RELEASE = pl.DataFrame(
    {
        "age": ["[20, 30]", "[20, 30]", "[40, 60]", "*"],
        "sex": ["f", "m", "*", "m"],
        "illness": ["a", "a", "b", "b"],
    }
)


def columns(comparison):
    return {column.name: column for column in comparison.columns}


def compared(release, **options):
    return tc.compare(ORIGINAL, release, quasi=["age", "sex"], **options)


def test_distances_of_two_coins():
    found = distances(np.array([1.0, 1.0]), np.array([1.0, 3.0]))  # (1/2, 1/2) and (1/4, 3/4)
    assert found.l1 == pytest.approx(0.5)
    assert found.kl == pytest.approx(0.5 * math.log(4 / 3))
    assert found.hellinger == pytest.approx(math.sqrt(1 - math.sqrt(1 / 8) - math.sqrt(3 / 8)))


def test_a_vanished_value_makes_kl_infinite():
    found = distances(np.array([1.0, 1.0]), np.array([1.0, 0.0]))
    assert found.kl is None
    assert found.l1 == pytest.approx(1.0)


def test_losses():
    found = columns(compared(RELEASE))
    assert found["age"].loss == pytest.approx((0.25 + 0.25 + 0.5 + 1) / 4)
    assert found["sex"].loss == pytest.approx(1 / 4)
    assert compared(RELEASE).loss == pytest.approx((0.5 + 0.25) / 2)


def test_missing_rows_are_suppressed_and_lose_everything():
    found = compared(RELEASE.head(3))
    assert found.n_suppressed == 1
    assert columns(found)["sex"].loss == pytest.approx((0 + 0 + 1 + 1) / 4)


def test_rows_of_stars_are_suppressed():
    stars = RELEASE.with_columns(pl.Series("sex", ["f", "m", "f", "*"]))
    found = compared(stars)
    assert (found.n_suppressed, found.after.n_records) == (1, 3)


def test_risk_before_and_after():
    alike = RELEASE.with_columns(pl.Series("sex", ["*"] * 4), pl.Series("age", ["<=30", "<=30", ">30", ">30"]))
    found = compared(alike)
    assert (found.before.n_unique, found.before.highest, found.before.average) == (4, 1.0, 1.0)
    assert (found.after.n_unique, found.after.highest, found.after.average) == (0, 0.5, 0.5)
    assert found.after.n_classes == 2


def test_labels_are_spread_evenly():
    found = columns(compared(RELEASE))["age"]
    # [20, 30] twice gives 1 each; [40, 60] gives 1/2 each; * gives 1/4 each
    after = np.array([1.25, 1.25, 0.75, 0.75]) / 4
    assert found.method == "spread"
    assert found.distances.l1 == pytest.approx(np.abs(after - 0.25).sum())


def test_values_published_as_they_are_keep_their_distribution():
    found = columns(compared(RELEASE))["illness"]
    assert (found.method, found.loss) == ("exact", None)
    assert (found.distances.l1, found.distances.hellinger, found.distances.kl) == (0, 0, 0)


def test_a_changed_sensitive_value_shows():
    swapped = RELEASE.with_columns(pl.Series("illness", ["a", "b", "b", "b"]))
    assert columns(compared(swapped))["illness"].distances.l1 == pytest.approx(0.5)


def test_masks_of_numbers_are_read():
    original = pl.DataFrame({"zip": [13053, 13068, 14850, 14853], "n": [1, 2, 3, 4]})
    release = pl.DataFrame({"zip": ["130**", "130**", "1485*", "1485*"], "n": [1, 2, 3, 4]})
    found = columns(tc.compare(original, release, quasi=["zip"]))["zip"]
    assert found.loss == pytest.approx(2 / 4)
    assert found.distances.l1 == pytest.approx(0)


def test_labels_that_cover_nothing_are_told():
    found = compared(RELEASE.with_columns(pl.Series("sex", ["f", "m", "Venus", "Venus"])))
    assert columns(found)["sex"].n_unread == 1
    assert columns(found)["sex"].loss == pytest.approx(2 / 4)
    assert any("'sex' cover no value" in note for note in found.notes)
    assert "Venus" not in str(found.notes)


def test_suggested_quasi_identifiers_are_said_to_be_so():
    found = tc.compare(ORIGINAL, RELEASE)
    assert set(found.quasi) >= {"age", "sex"}
    assert "suggested" in found.notes[0]


def test_an_unknown_column_is_refused():
    with pytest.raises(tc.DataError, match="no column 'agee'"):
        tc.compare(ORIGINAL, RELEASE, quasi=["agee"])


def test_the_loss_is_the_one_that_a_run_reports(tmp_path: Path) -> None:
    policy = load_policy(write_patients(tmp_path))
    frame = tc.sample.patients(800)
    release = tc.anonymize(frame, policy)
    found = tc.compare(frame, release.frame, policy=policy)
    assert found.loss == pytest.approx(release.report.loss)
    assert found.after.n_classes == release.report.verification.n_classes


def test_weights_count_in_the_loss():
    policy = tc.Policy(
        columns={"age": {"role": "quasi", "weight": 3}, "sex": {"role": "quasi"}}, goals=[tc.KAnonymity(k=2)]
    )
    assert tc.compare(ORIGINAL, RELEASE, policy=policy).loss == pytest.approx((3 * 0.5 + 0.25) / 4)


def test_a_release_in_groups_is_compared_and_says_what_risk_means_there():
    policy = tc.Policy(
        columns=tc.roles(quasi=["age", "sex"], sensitive=["ill"]),
        goals=[tc.LDiversity(l=2, variant="distinct", sensitive="ill")],
        algorithm={"kind": "anatomy"},
    )
    frame = pl.DataFrame({"age": [20, 30, 40, 50] * 3, "sex": ["f", "m"] * 6, "ill": ["a", "b", "c"] * 4})
    release = tc.anonymize(frame, policy)
    found = tc.compare(frame, release.frame, policy=policy)
    assert found.loss == 0
    assert any("in groups" in note for note in found.notes)


@pytest.mark.parametrize("verb", [tc.compare, tc.attack])
def test_sets_of_items_have_no_quasi_identifiers(verb):
    policy = tc.Policy(
        columns={"items": {"role": "items"}}, goals=[{"model": "km-anonymity", "k": 2, "m": 1}],
        algorithm={"kind": "apriori"},
    )  # fmt: skip
    frame = pl.DataFrame({"items": ["a b", "a"]})
    assert verb(frame, frame, policy=policy).to_dict()["quasi"] == []
    with pytest.raises(tc.IncompatibleChoice, match=r"`quasi` speaks of columns of records, .* sets of items"):
        verb(frame, frame, policy=policy, quasi=["items"])
