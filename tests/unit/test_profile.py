"""Profiles: what columns look like, which roles are suggested, who stands alone."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.data.domain import distinct_of
from tablecloak.data.table import Role
from tablecloak.profile.column import column_of, words_of
from tablecloak.profile.detector import detect
from tablecloak.profile.detectors.credit_card import is_card
from tablecloak.profile.detectors.iban import is_iban
from tablecloak.profile.uniqueness import risk_of_frame, singling_sets

N = 40


def letters(i: int) -> str:
    return "".join(chr(97 + i // 26**p % 26) for p in range(3))


def column(name, values):
    return column_of(pl.Series(name, values))[0]


def test_checksums_must_hold():
    assert is_iban("DE89370400440532013000")
    assert not is_iban("DE89370400440532013001")
    assert is_card("4111111111111111")
    assert not is_card("4111111111111112")


def test_a_thing_with_a_name_is_no_person():
    finding = detect(column("product_name", ["Apple", "Pear"] * 20))
    assert finding is None or finding.detector != "person-name"


def test_words_of_headers():
    assert {"date", "of", "birth", "dateofbirth"} <= words_of("dateOfBirth")
    assert {"marital", "status"} <= words_of("marital-status")
    assert "zip" in words_of("ZIP5")


def role_of(name, values):
    return tc.inspect(pl.DataFrame({name: values, "pad": ["a", "b"] * (len(values) // 2)})).columns[0].advice


def test_roles_by_uniqueness():
    assert role_of("x", list(range(N))).role is Role.IDENTIFIER
    assert role_of("x", [letters(i) for i in range(N)]).role is Role.IDENTIFIER
    assert role_of("x", [letters(i // 2 if i < 4 else i) for i in range(N)]).reason == "near unique"
    assert role_of("x", [i + 0.5 for i in range(N)]).role is Role.QUASI
    assert role_of("x", ["a"] * N).role is Role.KEEP
    assert role_of("x", [None] * N).role is Role.DROP
    assert role_of("x", ["a", "b", "c", "d"] * 10).role is Role.QUASI


def test_few_rows_say_nothing_about_uniqueness():
    assert role_of("x", ["a", "b", "c", "d"]).role is Role.QUASI


def test_patients_roles():
    profile = tc.inspect(tc.sample.patients())
    assert {c.name: str(c.role) for c in profile.columns} == {
        "name": "identifier", "ssn": "identifier", "birth_date": "quasi", "sex": "quasi", "zip": "quasi",
        "admission": "quasi", "diagnosis": "sensitive", "insurance": "quasi", "cost": "sensitive",
    }  # fmt: skip


def test_counts_of_a_column_with_missing_cells():
    found = column("x", ["a", None, "b", "a"])
    assert (found.n_distinct, found.n_missing, found.missing_share) == (2, 1, 0.25)


@pytest.mark.parametrize("values", [[0.5, None, 1.5, 0.5], ["b", None, "a", "b"], [2**40, None, 1, 2**40]])
def test_distinct_values_with_missing_cells(values):
    distinct = distinct_of(pl.Series("x", values))
    assert [distinct.values[int(i)] for i in distinct.index] == values
    assert distinct.recoded(np.arange(3)).tolist() == distinct.index.tolist()


def test_categories_that_do_not_occur_are_not_counted():
    series = pl.Series("x", ["a", "c", "a"], dtype=pl.Enum(["a", "b", "c", "d"]))
    assert column_of(series)[0].n_distinct == 2


def test_risk_counted_by_hand():
    frame = pl.DataFrame({"a": [1, 1, 1, 2, 2, 3], "b": ["x", "x", "y", "y", "y", None]})
    risk = risk_of_frame(frame, ["a", "b"])  # classes of 2, 1, 2, 1
    assert (risk.n_records, risk.n_unique, risk.n_classes) == (6, 2, 4)
    assert (risk.highest, risk.average) == (1.0, pytest.approx(4 / 6))


def random_codes(rng, n_rows, sizes):
    return {f"c{i}": rng.integers(0, size, n_rows).astype(np.uint32) for i, size in enumerate(sizes)}


@pytest.mark.parametrize("sizes", [(3, 4), (2**31, 2**31, 2**20), (5,)])
def test_class_sizes_equal_a_plain_count(sizes):
    codes = random_codes(np.random.default_rng(1), 300, sizes)
    rows = Counter(zip(*(c.tolist() for c in codes.values()), strict=True))
    assert sorted(class_sizes(list(codes.values())).tolist()) == sorted(rows.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_sets_found_are_the_worst_ones(seed):
    codes = random_codes(np.random.default_rng(seed), 200, (2, 3, 7, 12, 30, 90))
    every = []
    for size in (1, 2, 3):
        for chosen in combinations(codes, size):
            rows = Counter(zip(*(codes[c].tolist() for c in chosen), strict=True))
            every.append(sum(count == 1 for count in rows.values()))
    found = singling_sets(codes, most=6)
    assert [s.n_unique for s in found] == sorted(every, reverse=True)[:6]


def test_a_profile_contains_no_value():
    frame = pl.DataFrame(
        {
            "name": [f"Canary{letters(i)}" for i in range(N)],
            "illness": [f"Canary{i % 3}" for i in range(N)],
            "zip": [f"{77000 + i % 5}" for i in range(N)],
            "amount": [98765.25 + i for i in range(N)],
        }
    )
    profile = tc.inspect(frame)
    said = json.dumps(profile.to_dict()) + str(profile) + repr(profile)
    assert not any(secret in said for secret in ("Canary", "7700", "98765", "98804"))


def test_an_empty_table_is_refused():
    with pytest.raises(tc.DataError):
        tc.inspect(pl.DataFrame({"a": []}))
