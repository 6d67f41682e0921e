"""The scorer of the benchmarks reads losses from labels, and knows nothing of the package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.score import Line, Tree, score

AGES = Tree.of([["1", "low", "*"], ["2", "low", "*"], ["3", "high", "*"], ["4", "high", "*"]])
TOWNS = Tree.of([["Bern, CH", "*"], ["Thun", "*"], ["Rome", "*"], ["Pisa", "*"]])


@pytest.mark.parametrize(
    ("label", "loss"),
    [("1", 0.0), ("low", 0.5), ("*", 1.0), ("{1, 3}", 0.5), ("all but {1}", 0.75), ("[2, 4]", 0.75), ("nobody's", 1.0)],
)
def test_a_label_of_a_tree_costs_its_share_of_the_leaves(label, loss):
    assert AGES.loss(label) == loss


def test_members_of_a_set_may_be_quoted():
    assert TOWNS.loss('{"Bern, CH", Rome, Thun}') == 0.75


@pytest.mark.parametrize(("label", "loss"), [("5", 0.0), ("[0, 5]", 0.5), ("[-2.5, 20]", 1.0), ("*", 1.0), ("", 1.0)])
def test_an_interval_costs_its_share_of_the_line(label, loss):
    assert Line(0.0, 10.0).loss(label) == loss


def test_records_that_are_left_out_cost_all(tmp_path):
    release = tmp_path / "release.csv"
    release.write_text("age;town;other\nlow;Rome;x\nlow;Rome;y\n*;*;z\n")
    result = score(release, {"age": AGES, "town": TOWNS}, n_rows=4, k=2)
    assert result.gcp == pytest.approx((0.25 + 0.25 + 1 + 1) / 4)
    assert (result.suppressed, result.c_avg) == (2, 1.0)
    assert result.discernibility == 2**2 + 2 * 4


def test_an_apostrophe_that_keeps_spreadsheets_quiet_is_not_scored(tmp_path):
    release = tmp_path / "release.csv"
    release.write_text("change\n'-1\n'-1\n")
    tree = Tree.of([["-1", "*"], ["1", "*"]])
    assert score(release, {"change": tree}, n_rows=2, k=2).gcp == 0.0
