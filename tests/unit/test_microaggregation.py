"""Ties, tree medians, missing numbers, dates, and the reference files of the literature."""

import os
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak.algorithms.micro._centers import spread_within
from tablecloak.algorithms.micro._points import Category, PointRecords
from tablecloak.algorithms.micro._tie import parse_tie
from tablecloak.algorithms.micro.mdav import mdav
from tablecloak.algorithms.micro.v_mdav import v_mdav
from tablecloak.progress import silent

FOLDER = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared" / "data")) / "microaggregation"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sum = Hours * Rate", 12.0),
        ("Sum=Hours+Rate-1", 6.0),
        ("Sum = -(Hours - Rate) / 2", 0.5),
        ("Sum = `net pay` * 2", 20.0),
        ("`gross.pay` = 2.5 * Hours", 7.5),
    ],
)
def test_tie_is_arithmetic(text, expected):
    values = {"Hours": np.array([3.0]), "Rate": np.array([4.0]), "net pay": np.array([10.0])}
    assert parse_tie(text)(values).tolist() == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Hours * Rate",
        "Sum = ",
        "Sum = Sum + 1",
        "Sum = 3",
        "Sum = Hours ** 2",
        "Sum = __import__('os').getcwd()",
        "Sum = Hours.real",
        "Sum = Hours[0]",
        "Sum = 'a' * Hours",
        "Sum = True * Hours",
        "Sum = Hours if Rate else 1",
        "Sum = (lambda: Hours)()",
        "a b = Hours",
    ],
)
def test_tie_refuses_everything_else(text):
    with pytest.raises(ValueError, match=r"formula|must read"):
        parse_tie(text)


def test_division_by_zero_gives_no_value():
    assert np.isnan(parse_tie("a = b / c")({"b": np.array([1.0]), "c": np.array([0.0])})).all()


def test_policy_says_what_is_wrong_with_a_tie():
    with pytest.raises(tc.PolicyError, match="may hold"):
        tc.Policy(
            columns=tc.roles(quasi=["a"]), goals=[tc.KAnonymity(k=2)], algorithm={"kind": "mdav", "tie": "a = b()"}
        )


def test_tie_of_an_unknown_column():
    policy = tc.Policy(
        columns=tc.roles(quasi=["a", "b"]), goals=[tc.KAnonymity(k=2)], algorithm={"kind": "mdav", "tie": "a = bb * 2"}
    )
    with pytest.raises(tc.IncompatibleChoice, match="did you mean 'b'"):
        tc.anonymize(pl.DataFrame({"a": [2, 4], "b": [1, 2]}), policy)


def test_center_of_categories_is_the_mode_or_the_median_of_the_tree():
    flat = Category(np.array([0, 1, 1, 2]), np.arange(3)[:, None], 1.0)
    assert flat.center(np.bincount(flat.codes)) == 1
    # leaves 0 and 1 share a parent, leaves 2 and 3 another; 2 is most frequent, but three of five are under the first
    levels = np.array([[0, 10], [1, 10], [2, 11], [3, 11]])
    tree = Category(np.array([0, 0, 1, 2, 2]), levels, 1.0)
    assert tree.center(np.bincount(tree.codes, minlength=4)) == 0
    assert tree.table(0).tolist() == [0.0, 0.5, 1.0, 1.0]


def test_missing_numbers_do_not_move_the_mean():
    data = pl.DataFrame({"x": [1.0, None, 3.0, 100.0, 101.0, None, None, None]})
    policy = tc.Policy(columns=tc.roles(quasi=["x"]), goals=[tc.KAnonymity(k=2)], algorithm="mdav")
    cells = tc.anonymize(data, policy).frame["x"].to_list()
    assert min(cells.count(c) for c in cells) >= 2
    assert set(cells) <= {None, 1.0, 2.0, 3.0, 100.5, 100.0, 101.0}


def test_mean_of_dates_is_a_date():
    days = [date(2020, 1, 1), date(2020, 1, 3), date(2021, 5, 1), date(2021, 5, 1)]
    policy = tc.Policy(columns=tc.roles(quasi=["day"]), goals=[tc.KAnonymity(k=2)], algorithm="univariate")
    published = tc.anonymize(pl.DataFrame({"day": days}), policy).frame["day"].cast(pl.String).to_list()
    assert published == ["2020-01-02", "2020-01-02", "2021-05-01", "2021-05-01"]


def test_v_mdav_grows_where_neighbours_are_close():
    points = PointRecords(np.array([[0.0], [0.1], [0.2], [10.0], [10.1], [10.2], [10.3]]))
    grown = v_mdav(points, 2, 2.0, silent)
    fixed = mdav(points, 2, silent)
    assert spread_within(points.numbers, grown) < spread_within(points.numbers, fixed)


# SSE / SST in percent of MDAV on standardised files, as the literature gives them (Domingo-Ferrer, Martinez-Balleste,
# Mateo-Sanz, Sebe, Efficient multivariate data-oriented microaggregation, VLDB Journal 15, 2006, and others after it).
# For EIA it speaks of eleven attributes without naming them. Ours were selected because they reproduce its figures, so
# that file tests that they stay reproduced; the other two, used with all their columns, test the method.
LITERATURE = {
    "CASCrefmicrodata.csv": {3: 5.69, 5: 9.09, 10: 14.16},
    "Tarragona.csv": {3: 16.93, 5: 22.46, 10: 33.19},
    "EIA.csv": {3: 0.48, 5: 1.67, 10: 3.84},
}


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the reference files of microaggregation are not here")
@pytest.mark.parametrize("name", LITERATURE)
def test_mdav_loses_what_the_literature_says(name):
    frame = pl.read_csv(FOLDER / name)
    columns = frame.columns if name != "EIA.csv" else ["UTILITYID", *frame.columns[5:]]
    raw = frame.select(columns).to_numpy().astype(float)
    points = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    for k, percent in LITERATURE[name].items():
        clusters = mdav(PointRecords(points), k, silent)
        assert np.bincount(clusters).min() >= k
        assert 100 * spread_within(points, clusters) == pytest.approx(percent, abs=0.006)
