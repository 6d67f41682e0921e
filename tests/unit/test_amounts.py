"""Shares of a number of things, counted as they were written."""

from fractions import Fraction

import polars as pl
import pytest

from tablecloak import Policy, anonymize
from tablecloak.values.amounts import most_of


def test_a_share_of_any_number_is_what_its_decimals_say():
    for hundredths in range(101):
        for n in range(201):
            assert most_of(n, float(f"0.{hundredths:02}" if hundredths < 100 else "1")) == hundredths * n // 100


def test_shares_with_many_digits_and_large_tables_are_exact():
    assert most_of(10**12, 1e-7) == 10**5
    assert most_of(3, 1 / 3) == Fraction(repr(1 / 3)) * 3 // 1 == 0  # 0.3333333333333333 of 3 is less than 1
    assert most_of(10**17, 0.3) == 3 * 10**16


# 71 records of one place and 29 of another: to publish places exactly, 29 of 100 records must go.
PLACES = pl.DataFrame({"place": ["a"] * 71 + ["b"] * 29, "year": [2000] * 100})


@pytest.mark.parametrize("kind", ["optimal", "best-first", "mondrian", "suppression", "tds", "loukides-shao"])
def test_a_suppression_limit_of_29_hundredths_lets_29_of_100_records_go(kind):
    policy = Policy(
        columns={"place": {"role": "quasi"}, "year": {"role": "quasi"}},
        goals=[{"model": "k-anonymity", "k": 40}],
        algorithm={"kind": kind, "suppression_limit": 0.29, **({"unit": "records"} if kind == "suppression" else {})},
    )
    assert anonymize(PLACES, policy).frame["place"].cast(pl.String).to_list() == ["a"] * 71
