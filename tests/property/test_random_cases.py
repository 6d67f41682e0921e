"""Random tables under every model, algorithm and option end in a right release or in an error of ours."""

from __future__ import annotations

import pytest

import effort
from random_cases import make_case, run_case
from random_sets import run_sets

pytestmark = pytest.mark.slow
N_CASES = 20_000 if effort.IS_THOROUGH else 300
N_SETS = 2_000 if effort.IS_THOROUGH else 60
AT_ONCE = 20


@pytest.mark.parametrize("first", range(0, N_CASES, AT_ONCE))
def test_random_cases_end_in_a_right_release_or_a_clear_refusal(first, tmp_path):
    bugs = []
    for number in range(first, first + AT_ONCE):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = run_case(make_case(number), folder)
        if outcome.is_bug:
            bugs.append(f"python tests/random_cases.py --first {number} --cases 1 --verbose: {outcome.complaint}")
    assert not bugs, "\n".join(bugs)


@pytest.mark.parametrize("first", range(0, N_SETS, AT_ONCE))
def test_random_sets_end_in_a_right_release_or_a_clear_refusal(first, tmp_path):
    bugs = []
    for number in range(first, first + AT_ONCE):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = run_sets(number, folder)
        if outcome.is_bug:
            bugs.append(f"python tests/random_sets.py --first {number} --cases 1: {outcome.complaint}")
    assert not bugs, "\n".join(bugs)
