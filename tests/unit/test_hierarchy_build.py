"""Hierarchies built from the values of a column."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.hierarchy.kinds.base import build
from tablecloak.policy.problems import InvalidPolicyError
from tablecloak.policy.sections import hierarchy_from
from tablecloak.values.cell_grammar import covers, format_value, parse


def make(spec, values, column_type):
    return build(hierarchy_from(spec), values, column_type)


def path(tree, label):
    return [tree.labels[node] for node in tree.ancestors(tree.code(label))]


def assert_covering(tree, values, column_type, *, without_tree=True):
    """Every node covers its leaves, with the hierarchy at hand and by its text alone."""
    for value in values:
        for node in tree.ancestors(tree.code(format_value(value))):
            assert covers(parse(tree.shown[node], column_type, tree), value)
            assert not without_tree or covers(parse(tree.shown[node], column_type), value)


def test_intervals_double_until_one_is_left():
    tree = make({"kind": "intervals", "width": 10}, range(17, 91), "integer")
    assert path(tree, "17") == ["17", "[10, 20)", "[0, 20)", "[0, 40)", "[0, 80)", "*"]
    assert tree.losses[tree.find("[10, 20)")] == pytest.approx(10 / 73)
    assert tree.losses[tree.find("[80, 160)")] == 1.0


def test_intervals_keep_numeric_order():
    tree = make({"kind": "intervals", "width": 10}, [100, 9, 20], "integer")
    assert tree.leaf_labels == ("9", "20", "100")


def test_closed_intervals_with_factors():
    tree = make({"kind": "intervals", "width": 10, "factors": [2], "closed": True}, range(100), "integer")
    assert path(tree, "25") == ["25", "[20, 29]", "[20, 39]", "*"]
    assert_covering(tree, range(100), "integer")


def test_intervals_can_start_anywhere():
    tree = make({"kind": "intervals", "width": 7, "start": 3, "factors": [3]}, [-50, 0, 3, 9, 10], "integer")
    assert path(tree, "-50") == ["-50", "[-53, -46)", "[-60, -39)", "*"]
    assert path(tree, "10") == ["10", "[10, 17)", "[3, 24)", "*"]


def test_float_intervals_are_exact_in_decimals():
    values = [i / 10 for i in range(-20, 33)]
    tree = make({"kind": "intervals", "width": 0.1}, values, "float")
    assert path(tree, "0.3")[1] == "[0.3, 0.4)"
    assert_covering(tree, values, "float")


@given(
    st.sets(st.floats(-1e9, 1e9), min_size=1, max_size=20),
    st.floats(1e-3, 1e6),
    st.one_of(st.none(), st.floats(-1e6, 1e6)),
)
def test_float_intervals_cover_their_values(values, width, start):
    tree = make({"kind": "intervals", "width": width, "start": start}, list(values), "float")
    assert_covering(tree, values, "float")


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20), st.integers(1, 10**6))
def test_integer_intervals_cover_their_values(values, width):
    tree = make({"kind": "intervals", "width": width}, list(values), "integer")
    assert_covering(tree, values, "integer")


def test_quantiles_hold_equally_many_values():
    tree = make({"kind": "quantiles", "groups": 4}, [1, 2, 3, 4, 10, 20, 30, 40], "integer")
    assert path(tree, "10") == ["10", "[10, 20]", "[10, 40]", "*"]
    assert tree.losses[tree.find("[1, 4]")] == pytest.approx(3 / 39)


def test_quantiles_of_dates():
    values = [date(2020, 1, 1) + timedelta(days=i) for i in range(50)]
    tree = make({"kind": "quantiles", "groups": 5, "factors": [5]}, values, "date")
    assert path(tree, "2020-01-01") == ["2020-01-01", "[2019-12-31, 2020-01-10]", "*"]
    assert_covering(tree, values, "date")


def test_mask_hides_one_character_per_level():
    tree = make({"kind": "mask"}, ["13053", "13068"], "text")
    assert path(tree, "13053") == ["13053", "1305*", "130**", "13***", "1****", "*****"]


def test_mask_from_the_left():
    tree = make({"kind": "mask", "from": "left", "char": "#"}, ["ab", "cb"], "text")
    assert path(tree, "ab") == ["ab", "#b", "##"]


@given(st.sets(st.text("ab*", max_size=4), min_size=1, max_size=12), st.sampled_from(["left", "right"]))
def test_mask_covers_values_of_any_length(values, side):
    tree = make({"kind": "mask", "from": side}, list(values), "text")
    assert set(tree.leaf_labels) == values
    assert_covering(tree, values, "text")


def test_mask_of_whole_numbers():
    tree = make({"kind": "mask"}, [5, 42, 47, 123], "integer")
    assert path(tree, "42") == ["42", "4*", "***"]
    assert path(tree, "5") == ["5", "***"]


def test_dates_by_calendar():
    values = [date(2019, 12, 31), date(2020, 3, 14), date(2020, 4, 1), date(2031, 1, 1)]
    levels = ["day", "month", "quarter", "half-year", "year", "5 years", "decade", "century"]
    tree = make({"kind": "dates", "levels": levels}, values, "date")
    assert path(tree, "2020-03-14") == [
        "2020-03-14",
        "2020-03-14",
        "2020-03",
        "2020-Q1",
        "[2020-01, 2020-06]",
        "2020",
        "[2020, 2024]",
        "[2020, 2029]",
        "*",  # all values lie in one century
    ]
    assert_covering(tree, values, "date")


@given(st.sets(st.datetimes(), min_size=1, max_size=12))
def test_datetime_periods_cover_their_values(values):
    tree = make({"kind": "dates", "levels": ["day", "month", "year", "decade", "century"]}, list(values), "datetime")
    assert_covering(tree, values, "datetime")


def test_order_of_text_lists_small_groups():
    tree = make({"kind": "order", "fanout": 4}, list("abcdefghijklmnopqrst"), "text")
    assert path(tree, "a") == ["a", "{a, b, c, d}", "[a, p]", "*"]
    assert_covering(tree, list("abt"), "text", without_tree=False)


def test_order_of_numbers_is_intervals():
    tree = make({"kind": "order", "fanout": 2}, [1, 5, 7, 30], "integer")
    assert path(tree, "5") == ["5", "[1, 5]", "*"]


def test_auto_names_blocks_of_ages_by_the_ages_they_hold():
    tree = make({"kind": "auto", "fanout": 5}, range(20, 61), "integer")
    inner = tree.labels[tree.n_leaves :]
    assert "[20, 24]" in inner
    assert "[20, 44]" in inner
    assert not {str(number) for number in range(61, 80)} & set(inner)
    for node in range(tree.n_leaves, tree.n_nodes - 1):
        ages = {int(tree.labels[leaf]) for leaf in tree.leaves_under(node)}
        lo, _, hi = tree.labels[node].strip("[]").partition(", ")
        assert ages == set(range(int(lo), int(hi or lo) + 1))


def test_auto_names_blocks_of_texts_by_their_members():
    tree = make({"kind": "auto", "fanout": 2}, ["Thun", "Bern", "Chur", "Biel, Bienne"], "text")
    assert tree.labels[tree.n_leaves :] == ('{Bern, "Biel, Bienne"}', "{Chur, Thun}", "*")


@pytest.mark.parametrize(("column_type", "values"), [
    ("integer", [20, 30, 60]), ("float", [1.5, 2.5]), ("date", [date(2020, 1, 1), date(2020, 1, 2)])
])  # fmt: skip
def test_numbers_as_labels_are_refused_where_they_would_be_taken_for_values(column_type, values):
    with pytest.raises(IncompatibleChoice, match="taken for values"):
        make({"kind": "auto", "labels": "numbers"}, values, column_type)


def test_numbers_as_labels_of_texts_begin_after_every_number_among_them():
    tree = make({"kind": "auto", "fanout": 2, "labels": "numbers"}, ["x", "7", "y", "z"], "text")
    assert tree.labels[tree.n_leaves :] == ("8", "9", "10")


def test_a_value_that_reads_like_the_text_of_a_group_is_told_from_it():
    tree = make({"kind": "order", "fanout": 2}, ["a", "b", "{a, b}", "~"], "text")
    assert tree.leaves_of_label("{a, b}") == {"a", "b"}
    assert tree.leaves_of_label('"{a, b}"') == {"{a, b}"}


def test_a_value_with_a_star_is_told_from_a_mask():
    tree = make({"kind": "mask"}, ["A*", "AB", "AC"], "text")
    assert tree.leaves_of_label("A*") == {"A*", "AB", "AC"}
    assert tree.leaves_of_label('"A*"') == {"A*"}


def test_auto_range_takes_round_widths():
    tree = make({"kind": "auto", "method": "range"}, range(18, 101), "integer")
    assert path(tree, "45") == ["45", "[40, 50)", "[0, 100)", "*"]


@pytest.mark.parametrize("method", ["distinct", "group", "mask"])
@pytest.mark.parametrize(
    ("values", "column_type"),
    [(range(30), "integer"), ([0.5, 1.5, 7.25], "float"), (list("abcdefghijkl"), "text"), ([True, False], "boolean")],
)
def test_auto_works_on_every_type(method, values, column_type):
    tree = make({"kind": "auto", "method": method, "fanout": 3}, list(values), column_type)
    assert_covering(tree, values, column_type, without_tree=False)


def test_auto_range_of_dates_is_calendar():
    tree = make({"kind": "auto", "method": "range"}, [date(2020, 1, 1), date(2021, 1, 1)], "date")
    assert path(tree, "2020-01-01") == ["2020-01-01", "2020-01", "2020", "*"]


def test_tree_keeps_leaves_that_do_not_occur():
    tree = make({"kind": "tree", "tree": {"Europe": ["Italy", "Spain"], "Asia": ["Japan"]}}, ["Italy"], "text")
    assert tree.n_leaves == 3


def test_tree_without_some_values_is_refused_by_count():
    with pytest.raises(DataError) as caught:
        make({"kind": "tree", "tree": ["a", "b"]}, ["a", "secret"], "text")
    assert caught.value.message == "1 of 2 distinct values are not leaves of the tree"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["intervals", "quantiles", "mask", "dates", "order", "auto"])
@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_constant_columns(kind, n):
    extra = {"intervals": {"width": 5}, "quantiles": {"groups": 3}}.get(kind, {})
    column_type = "date" if kind == "dates" else "integer"
    values = [date(2020, 1, 1) if kind == "dates" else 7][:n]
    tree = make({"kind": kind, **extra}, values, column_type)
    assert tree.n_leaves == n
    assert tree.height == n
    assert tree.with_missing().n_leaves == n + 1


@pytest.mark.parametrize(
    ("spec", "column_type"),
    [
        ({"kind": "intervals", "width": 5}, "text"),
        ({"kind": "intervals", "width": 5}, "date"),
        ({"kind": "quantiles", "groups": 5}, "text"),
        ({"kind": "dates"}, "integer"),
        ({"kind": "intervals", "width": 0.5, "closed": True}, "integer"),
        ({"kind": "auto", "method": "range"}, "text"),
    ],
)
def test_kinds_that_do_not_fit_the_type_are_refused(spec, column_type):
    with pytest.raises(IncompatibleChoice) as caught:
        make(spec, [], column_type)
    assert caught.value.hint


def test_infinite_numbers_are_refused():
    with pytest.raises(DataError, match="1 values are infinite"):
        make({"kind": "quantiles", "groups": 2}, [1.0, float("inf")], "float")


@pytest.mark.parametrize(
    "spec",
    [
        {"kind": "msk"},
        {"kind": "mask", "frm": "left"},
        {"kind": "mask", "char": "**"},
        {"kind": "intervals"},
        {"kind": "intervals", "width": 0},
        {"kind": "intervals", "width": float("inf")},
        {"kind": "intervals", "width": 1, "factors": [1]},
        {"kind": "dates", "levels": ["year", "month"]},
        {"kind": "dates", "levels": ["2 years", "5 years"]},
        {"kind": "dates", "levels": ["fortnight"]},
        {"kind": "order", "fanout": 1},
        {"kind": "tree", "tree": {"a": ["x"], "b": ["x"]}},
    ],
)
def test_bad_specs_are_refused(spec):
    with pytest.raises(InvalidPolicyError):
        hierarchy_from(spec)


@pytest.mark.slow
def test_hundred_thousand_values():
    values = [f"{i:05d}" for i in range(100_000)]
    tree = make({"kind": "mask"}, values, "text")
    assert tree.ends().shape == (100_000, 6)
    stamps = [datetime(2000, 1, 1) + timedelta(hours=i) for i in range(100_000)]
    assert make({"kind": "dates"}, stamps, "datetime").n_leaves == 100_000
    assert make({"kind": "intervals", "width": 100, "factors": [10, 10]}, range(100_000), "integer").height == 4
