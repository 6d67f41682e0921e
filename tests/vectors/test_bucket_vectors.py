"""V-ANATOMY-1, V-PERM-D1 and VD16: groups of exact values."""

import io
import math
from collections import Counter

import polars as pl
import pytest

import oracle
import tablecloak as tc
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.buckets.base import shuffled
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.release.plan import make_plan
from tablecloak.release.prepare import given_groups
from tablecloak.rng import Secret

TABLE = pl.read_csv(
    io.StringIO(
        "age,sex,zipcode,disease,class\n23,M,11000,pneumonia,1\n27,M,13000,dyspepsia,1\n35,M,59000,dyspepsia,1\n"
        "59,M,12000,pneumonia,1\n61,F,54000,flu,2\n65,F,25000,gastritis,2\n65,F,25000,flu,2\n70,F,30000,bronchitis,2\n"
    )
)
QIT = [
    (23, "M", 11000, 1), (27, "M", 13000, 1), (35, "M", 59000, 1), (59, "M", 12000, 1),
    (61, "F", 54000, 2), (65, "F", 25000, 2), (65, "F", 25000, 2), (70, "F", 30000, 2),
]  # fmt: skip
ST = [(1, "dyspepsia", 2), (1, "pneumonia", 2), (2, "bronchitis", 1), (2, "flu", 2), (2, "gastritis", 1)]
T6A = pl.DataFrame(
    {
        "Zip": [13053, 13068, 13068, 13053, 14853, 14853, 14850, 14840, 13053, 13053, 13068, 13068],
        "Age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35],
        "Condition": ["Heart Disease"] * 2 + ["Viral Infection"] * 2 + ["Cancer", "Heart Disease"]
        + ["Viral Infection"] * 2 + ["Cancer"] * 4,
    }
)  # fmt: skip


def policy(kind, diversity, **params):
    columns = {**tc.roles(quasi=["age", "sex", "zipcode"], sensitive=["disease"]), "class": "keep"}
    return tc.Policy(columns=columns, goals=[tc.LDiversity(l=diversity)], algorithm={"kind": kind, **params})


def test_anatomy_of_the_given_partition():
    release = tc.anonymize(TABLE, policy("anatomy", 2, groups="class"))
    assert release.frame.columns == ["age", "sex", "zipcode", "group_id"]
    first = dict(release.frame.select("age", "group_id").rows())[23]  # numbers are drawn: 1 and 2, or 2 and 1
    number = {first: 1, 3 - first: 2}
    assert Counter((*cells, number[group]) for *cells, group in release.frame.rows()) == Counter(QIT)
    assert release.side.columns == ["group_id", "disease", "count"]
    side = release.side.with_columns(pl.col("disease").cast(pl.String)).rows()
    assert sorted((number[group], *cells) for group, *cells in side) == ST
    assert release.report.verification.verdicts[0].achieved == 2


def test_what_the_groups_of_the_vector_tell():
    flu = {value: count for group, value, count in ST if group == 2}
    assert flu["flu"] / sum(flu.values()) == 0.5
    assert math.exp(oracle.entropy(Counter({"dyspepsia": 2, "pneumonia": 2}))) == pytest.approx(2.0)
    assert math.exp(oracle.entropy(Counter(flu))) == pytest.approx(2.828427, abs=5e-7)
    with pytest.raises(tc.GoalNotMet, match="1 of the 2 given groups"):
        tc.anonymize(TABLE, policy("anatomy", 3, groups="class"))


def test_permutation_keeps_every_column_of_every_group():
    release = tc.anonymize(TABLE, policy("permutation", 2, groups="class"))
    assert release.frame.columns == ["age", "sex", "zipcode", "group_id"]
    assert release.side.columns == ["group_id", "disease"]
    assert release.frame.height == release.side.height == 8
    first = release.frame.filter(pl.col("age") == 23)["group_id"].item()
    number = {first: 1, 3 - first: 2}
    for name, table in (
        ("age", release.frame),
        ("sex", release.frame),
        ("zipcode", release.frame),
        ("disease", release.side),
    ):
        rows = table.select("group_id", pl.col(name).cast(pl.String)).rows()
        published = Counter((number[group], cell) for group, cell in rows)
        assert published == Counter(TABLE.select("class", pl.col(name).cast(pl.String)).rows())


def test_permutation_shuffles_every_column_into_every_order():
    data = table_of(TABLE)
    plan = make_plan(policy("permutation", 2, groups="class"), TABLE.columns)
    coded = LocalEngine().contingency(data, plan.quasi_columns(data), plan.sensitive_columns(data), by_row=True).table
    groups = given_groups(LocalEngine(), data, plan)
    pairs = Counter()
    for i in range(480):
        problem = Problem(coded, plan.goal, secret=Secret.of(str(i).encode()))
        age, zipcode = (shuffled(problem, groups, (name,)).source for name in ("age", "zipcode"))
        pairs[tuple(age[:4].tolist()), tuple(zipcode[:4].tolist())] += 1
    for column in (0, 1):
        orders = Counter()
        for pair, n in pairs.items():
            orders[pair[column]] += n
        assert len(orders) == 24
        assert max(orders.values()) <= 45  # 20 expected; more has a chance below one in a hundred thousand
    assert len(pairs) > 250  # independent columns: 576 pairs of orders, few of them drawn twice


def test_knowing_even_the_secret_tells_nothing_about_the_old_order():
    def shuffled(table):
        release = tc.anonymize(table, policy("permutation", 2, groups="class"))
        side = release.side.with_columns(pl.col("disease").cast(pl.String))
        return release.frame.sort(release.frame.columns), side.sort(side.columns)

    other = TABLE[[3, 1, 0, 2, 7, 5, 4, 6]]
    assert all(a.equals(b) for a, b in zip(shuffled(TABLE), shuffled(other), strict=True))


@pytest.mark.parametrize(("diversity", "is_eligible"), [(2, True), (3, False)])
def test_eligibility(diversity, is_eligible):
    assert Counter(T6A["Condition"]) == {"Cancer": 5, "Viral Infection": 4, "Heart Disease": 3}
    wanted = tc.Policy(
        columns=tc.roles(quasi=["Zip", "Age"], sensitive=["Condition"]),
        goals=[tc.LDiversity(l=diversity)],
        algorithm="anatomy",
    )
    if is_eligible:
        assert tc.anonymize(T6A, wanted).report.verification.holds
    else:
        with pytest.raises(tc.Infeasible, match="5 of 12"):
            tc.anonymize(T6A, wanted)
