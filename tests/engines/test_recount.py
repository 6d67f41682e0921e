"""Cells that publish sets are held against their originals one by one."""

import numpy as np

from tablecloak.engines.disk.recount import _are_listed

SETS = {2: frozenset({0, 3}), 5: frozenset({1, 4, 9})}


def test_codes_of_sets_must_be_members():
    labels, codes = np.array([2, 5, 0, 5, 2, 7]), np.array([3, 9, 8, 1, 0, 11])
    assert _are_listed(SETS, labels, codes)
    for row, code in ((0, 1), (0, 9), (1, 3), (3, 12), (4, 2)):
        wrong = codes.copy()
        wrong[row] = code
        assert not _are_listed(SETS, labels, wrong)


def test_other_labels_and_no_rows_say_nothing():
    assert _are_listed(SETS, np.array([0, 1, 3]), np.array([7, 7, 7]))
    assert _are_listed(SETS, np.zeros(0, np.int64), np.zeros(0, np.int64))
