"""Cells that publish sets are held against their originals one by one; what is not written may not be counted."""

import numpy as np
import polars as pl
import pytest

from tablecloak.data.code_sets import CodeSets
from tablecloak.data.coverage import Coverage
from tablecloak.data.domain import Distinct
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.kernels.packed_codes import pack, plan_layout
from tablecloak.pipeline import check
from tablecloak.policy.schema import Policy

SETS = {2: frozenset({0, 3}), 5: frozenset({1, 4, 9})}
BOUNDS = {2: (0, 3), 5: (1, 9), 6: (0, -1)}  # the others cover 0 to 31
COVERAGE = Coverage(
    *(np.array(side) for side in zip(*(BOUNDS.get(label, (0, 31)) for label in range(8)), strict=True)), SETS
)


def packed(numbers):
    layout = plan_layout([32])
    return pack([numbers.astype(np.uint32)], layout), layout, 0


WAYS = {
    "places": COVERAGE.holds,
    "rows": lambda labels, codes: COVERAGE.holds_rows(Distinct(None, np.arange(8), labels), codes.astype(np.uint8)),
    "packed": lambda labels, codes: np.array([COVERAGE.holds_all(packed(labels), packed(codes))]),
    "boxes": lambda labels, codes: np.array(
        [COVERAGE.holds_boxes(labels, codes, codes, CodeSets.of_boxes(codes, codes))]
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_codes_of_sets_must_be_members(way):
    labels, codes = np.array([2, 5, 0, 5, 2, 7]), np.array([3, 9, 8, 1, 0, 11])
    assert WAYS[way](labels, codes).all()
    for row, code in ((0, 1), (0, 9), (1, 3), (3, 12), (3, 17), (4, 2)):
        wrong = codes.copy()
        wrong[row] = code
        assert not WAYS[way](labels, wrong).all()


@pytest.mark.parametrize("way", WAYS)
def test_other_labels_and_no_rows_say_nothing(way):
    assert WAYS[way](np.array([0, 1, 3]), np.array([7, 7, 7])).all()
    assert WAYS[way](np.zeros(0, np.int64), np.zeros(0, np.int64)).all()


@pytest.mark.parametrize("way", WAYS)
def test_a_label_that_covers_nothing_covers_no_code(way):
    assert not WAYS[way](np.array([0, 6]), np.array([0, 0])).all()


def test_every_label_is_held_against_every_code():
    labels, codes = np.arange(8), np.arange(32)
    held = COVERAGE.holds(labels[:, None], codes)
    assert held.shape == (8, 32)
    assert held[2].nonzero()[0].tolist() == [0, 3]
    assert [int(held[label].sum()) for label in labels] == COVERAGE.sizes().tolist()


def test_a_set_covers_boxes_that_list_their_codes_and_no_intervals():
    labels, lo, hi = np.array([5]), np.array([1]), np.array([4])
    for members, is_covered in (([1, 4], True), ([1, 2, 4], False), ([], False)):
        listed = CodeSets(np.array([0, len(members)]), np.array(members, np.int64))
        assert COVERAGE.holds_boxes(labels, lo, hi, listed) is is_covered
    assert not COVERAGE.holds_boxes(labels, lo, hi, None)


@pytest.mark.parametrize("can", [True, False])
def test_a_check_recounts_only_where_the_engine_can(can, tmp_path, monkeypatch):
    pl.DataFrame({"age": [20, 21, 30, 31] * 3, "illness": ["a", "b", "c"] * 4}).write_csv(tmp_path / "t.csv")
    columns = {"age": {"role": "quasi"}, "illness": {"role": "sensitive"}}
    policy = Policy(columns=columns, goals=[{"model": "k-anonymity", "k": 3}], input=str(tmp_path / "t.csv"))
    counted, count = [], LocalEngine.class_stats
    monkeypatch.setattr(LocalEngine, "recounts_unwritten", can)
    monkeypatch.setattr(LocalEngine, "class_stats", lambda *a, **more: counted.append(1) or count(*a, **more))
    assert check(policy).feasible is True
    assert bool(counted) is can
