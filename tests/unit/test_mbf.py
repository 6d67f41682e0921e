"""Maximum bucket first: what every class draws from, and where records go that are left."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.buckets.mbf import MaximumBucketFirst, uneven
from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.progress import silent
from tablecloak.rng import Secret

often = settings(max_examples=40, deadline=None, derandomize=True)
ILLS = {"lung": ["flu", "cold"], "gut": ["ulcer", "colic"], "skin": ["acne"]}
ORGAN = {ill: organ for organ, ills in ILLS.items() for ill in ills}
a_table = st.lists(st.tuples(st.integers(0, 30), st.sampled_from(sorted(ORGAN))), min_size=2, max_size=24)


def problem_of(rows, k=2, l=2):  # noqa: E741
    ages, ills = zip(*rows, strict=True)
    tree = Hierarchy.from_tree({"*": ILLS})
    age = fit_domain(pl.Series("age", ages), ColumnType.INTEGER)
    ill = fit_sensitive(pl.Series("ill", ills), ColumnType.TEXT, make_hierarchy=lambda _: tree)
    secret = Secret(b"known".ljust(32, b"."))
    return Problem(code_table([age], [ill], by_row=True), Goal((KAnonymity(k=k), LDiversity(l=l))), secret=secret)


def classes(solution, rows):
    """The organs of every class."""
    members = {}
    for c, (_, ill) in zip(solution.class_of_tuple.tolist(), rows, strict=True):
        members.setdefault(c, []).append(ORGAN[ill])
    return members


def spread_well(members, l):  # noqa: E741
    return all(n * l <= len(members) for n in Counter(members).values())


@often
@given(a_table, st.integers(2, 3), st.integers(2, 5), st.sampled_from([0.0, 0.99]))
def test_no_bucket_has_more_than_its_share_but_where_a_note_says_so(rows, l, k, limit):  # noqa: E741
    problem = problem_of(rows, k)
    if not problem.goal.admits(problem.table.whole()).all():
        return
    solution = MaximumBucketFirst(l=l, suppression_limit=limit).solve(problem, silent)
    found = classes(solution, rows)
    left = found.pop(-1, [])
    assert problem.goal.admits(solution.stats(problem.table)).all()
    assert len(left) <= limit * len(rows)
    n_uneven = sum(not spread_well(members, l) for members in found.values())
    assert len(solution.notes) == (n_uneven > 0)
    assert not n_uneven or solution.notes[0].startswith(f"{n_uneven} of {len(found)} classes")
    if limit and max(Counter(ORGAN[ill] for _, ill in rows).values()) * l <= len(rows) and k <= l:
        assert n_uneven == 0


def test_the_largest_buckets_come_first():
    """Five of lung, three of gut, two of skin and l = 2: the last buckets left are as even as can be."""
    rows = [(i, ill) for i, ill in enumerate(["flu", "cold"] * 2 + ["flu"] + ["ulcer"] * 3 + ["acne"] * 2)]
    found = classes(MaximumBucketFirst().solve(problem_of(rows), silent), rows)
    assert sorted(map(sorted, found.values())) == [["gut", "lung"]] * 3 + [["lung", "skin"]] * 2


def test_records_that_fit_nowhere_are_left_out_up_to_the_limit():
    rows = [(i, "flu") for i in range(6)] + [(6, "ulcer"), (7, "acne")]
    few = MaximumBucketFirst(suppression_limit=0.5).solve(problem_of(rows), silent)
    assert sorted(map(sorted, classes(few, rows).values())) == [["gut", "lung"], ["lung"] * 4, ["lung", "skin"]]
    assert (few.class_of_tuple < 0).sum() == 4
    assert few.notes == ()
    every = MaximumBucketFirst().solve(problem_of(rows), silent)
    assert (every.class_of_tuple >= 0).all()
    assert every.notes[0].endswith("classes have more than 1/2 of their records from one bucket")


def test_of_a_bucket_the_nearest_record_is_taken():
    rows = [(0, "flu"), (30, "cold"), (29, "ulcer"), (1, "colic")]
    found = MaximumBucketFirst().solve(problem_of(rows), silent).class_of_tuple
    assert found[0] == found[3]
    assert found[1] == found[2]


def test_values_are_buckets_of_their_own_at_level_0():
    rows = [(i, ill) for i, ill in enumerate(["flu", "cold", "flu", "cold"])]
    assert MaximumBucketFirst(level=0).solve(problem_of(rows), silent).n_classes == 2


def test_uneven_classes_are_counted_without_suppressed_records():
    assert uneven(np.array([0, 0, 1, 1, -1]), np.array([0, 1, 0, 0, 5]), 2).tolist() == [1]


def test_a_column_that_is_not_sensitive_is_refused():
    with pytest.raises(DataError, match="ilness"):
        MaximumBucketFirst(sensitive="ilness").solve(problem_of([(1, "flu"), (2, "acne")]), silent)
    assert "sensitive values" in MaximumBucketFirst().refuses(Goal((KAnonymity(k=2),)))
