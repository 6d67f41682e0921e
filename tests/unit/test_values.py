"""The grammar of published cells."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.hierarchy import Hierarchy
from tablecloak.values.cell_grammar import (
    bounds,
    covers,
    format_exact,
    format_interval,
    format_set,
    format_value,
    parse,
    parse_set,
    position,
)

D = date


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39, "39"),
        (-4, "-4"),
        (2.5, "2.5"),
        (3.0, "3.0"),
        (0.1, "0.1"),
        (True, "true"),
        (False, "false"),
        (D(2020, 3, 1), "2020-03-01"),
        (datetime(2020, 1, 1, 10), "2020-01-01T10:00:00"),
        ("as is", "as is"),
        (None, None),
    ],
)
def test_format_value(value, text):
    assert format_value(value) == text


@pytest.mark.parametrize(
    ("text", "column_type", "inside", "outside"),
    [
        ("20-29", "integer", [20, 29], [19, 30]),
        ("[20, 29]", "integer", [20, 29], [19, 30]),
        ("[20-29]", "integer", [20, 29], [19, 30]),
        ("20..29", "integer", [20, 29], [19, 30]),
        ("20~29", "integer", [20, 29], [19, 30]),
        ("20 – 29", "integer", [20, 29], [19, 30]),
        ("[20, 30)", "integer", [20, 29], [19, 30]),
        ("[20-30)", "integer", [20, 29], [19, 30]),
        ("[20, 30[", "integer", [20, 29], [19, 30]),
        ("]20, 30]", "integer", [21, 30], [20, 31]),
        ("(20-30]", "integer", [21, 30], [20, 31]),
        ("(20 - 40]", "float", [20.1, 40], [20.0, 40.1]),
        ("0.5..2.25", "float", [0.5, 2.25], [0.4, 2.3]),
        ("1e-5", "float", [1e-5], [1, -5]),
        ("[1e-5, 1e5]", "float", [1e-5, 3, 1e5], [0, 1e6]),
        ("[0, inf)", "float", [0, 1e300], [-1]),
        ("<30", "integer", [29, -100], [30]),
        ("<=30", "integer", [30], [31]),
        (">40", "integer", [41], [40]),
        (">= 40", "integer", [40], [39]),
        ("≤30", "integer", [30], [31]),
        ("-5--1", "integer", [-5, -1], [0, -6]),
        ("-5-1", "integer", [-5, 0, 1], [2]),
        ("[-5, -1]", "integer", [-5, -1], [0, 1, 5]),
        ("-5", "integer", [-5], [5]),
        ("3", "float", [3.0, 3], [3.1]),
        ("3.0", "integer", [3], [4]),
        ("2*", "integer", [20, 29], [30, 2, 200]),
        ("[2020-01-01, 2020-03-31]", "date", [D(2020, 1, 1), D(2020, 3, 31)], [D(2019, 12, 31), D(2020, 4, 1)]),
        ("2020-01-01-2020-03-31", "date", [D(2020, 1, 1), D(2020, 3, 31)], [D(2020, 4, 1)]),
        ("2020-01-01", "date", [D(2020, 1, 1)], [D(2020, 1, 2)]),
        ("<2020-01-01", "date", [D(2019, 12, 31)], [D(2020, 1, 1)]),
        ("2020", "date", [D(2020, 1, 1), D(2020, 12, 31)], [D(2021, 1, 1)]),
        ("2020-02", "date", [D(2020, 2, 29)], [D(2020, 3, 1)]),
        ("2020-Q2", "date", [D(2020, 4, 1), D(2020, 6, 30)], [D(2020, 7, 1), D(2020, 3, 31)]),
        ("[2020, 2024]", "date", [D(2020, 1, 1), D(2024, 12, 31)], [D(2025, 1, 1)]),
        (">2020", "date", [D(2021, 1, 1)], [D(2020, 12, 31)]),
        ("2020-03-0*", "date", [D(2020, 3, 9)], [D(2020, 3, 10)]),
        ("2020-01-02", "datetime", [datetime(2020, 1, 2, 23, 59, 59, 999999)], [datetime(2020, 1, 3)]),
        ("2020", "datetime", [datetime(2020, 12, 31, 23)], [datetime(2021, 1, 1)]),
        ("[2020-01-01T10:00:00, 2020-01-01 11:00)", "datetime", [datetime(2020, 1, 1, 10)], [datetime(2020, 1, 1, 11)]),
        ("130**", "text", ["13053", "130**"], ["1305", "14053", "130533"]),
        ('"130**"', "text", ["130**"], ["13053"]),
        ("{a, b}", "text", ["a", "b"], ["c", "{a, b}"]),
        ('"{a, b}"', "text", ["{a, b}"], ["a", "b"]),
        ('{"A*02:01", "a, b", "say ""hi"""}', "text", ["A*02:01", "a, b", 'say "hi"'], ["A*02:01, a", "a"]),
        ('"say ""hi"""', "text", ['say "hi"'], ['"say ""hi"""']),
        ('"*"', "text", ["*"], ["a", None]),
        ("{1, 2}", "integer", [1, 2], [3]),
        ("{false, true}", "boolean", [True, False], []),
        ("true", "boolean", [True], [False]),
        ("20-29", "text", ["20-29"], ["25"]),  # text has no order
        ("29-20", "integer", [], [20, 25, 29]),  # no such interval
        ("20, 29", "integer", [], [20, 25, 29]),  # a comma needs brackets
        ("[20, 29", "integer", [], [25]),
        ("2021-02-29", "date", [], [D(2021, 2, 28)]),
        ("unknown", "integer", [], [0]),
        ("", "text", [""], ["a"]),
    ],
)
def test_cells_cover_what_they_say(text, column_type, inside, outside):
    cell = parse(text, column_type)
    assert [value for value in inside if not covers(cell, value)] == []
    assert [value for value in outside if covers(cell, value)] == []


def test_a_star_is_itself_where_values_have_stars():
    cell = parse("A*02", "text", has_masks=False)
    assert covers(cell, "A*02")
    assert not covers(cell, "AB02")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("A*02:01", '"A*02:01"'), ("10-20", '"10-20"'), ("[1, 5]", '"[1, 5]"'), ("{a}", '"{a}"'), ("*", '"*"'),
        ('"q"', '"""q"""'), ('"', '""""'), ("<30", '"<30"'), (">= 40", '">= 40"'), ("1..5", '"1..5"'), ("", '""'),
        ("[Ann, Zoe]", '"[Ann, Zoe]"'), ("2020-01-01..2020-02-01", '"2020-01-01..2020-02-01"'),
        # nothing else could be meant by these
        ("Bern", "Bern"), ("a, b", "a, b"), ("Biel-Bienne", "Biel-Bienne"), ("2020-01-05", "2020-01-05"), ('5"', '5"'),
        ("2020-03", "2020-03"), ("2020", "2020"), ("-5", "-5"), ("1.10", "1.10"), ("(unknown)", "(unknown)"),
        ("079 123-45", "079 123-45"), (39, "39"), (None, None), (True, "true"), (D(2020, 3, 1), "2020-03-01"),
    ],
)  # fmt: skip
def test_a_value_that_reads_like_a_label_is_published_in_quotes(value, text):
    assert format_exact(value) == text


@given(st.one_of(st.text(), st.text(alphabet='*"{}[](),;-.~<>=0123 ab', max_size=9)), st.booleans())
def test_a_text_that_is_published_alone_reads_back_as_itself_and_nothing_else(value, has_masks):
    cell = parse(format_exact(value), "text", has_masks=has_masks)
    assert cell.kind == "exact"
    assert covers(cell, value)
    assert not covers(cell, value + "x")


@pytest.mark.parametrize("text", ["*", "****", "*****"])
@pytest.mark.parametrize("original", [1, "13053", None, D(2020, 1, 1)])
def test_stars_cover_everything(text, original):
    assert covers(parse(text, "text"), original)


def test_missing_is_covered_by_missing_and_any_only():
    assert covers(parse(None, "integer"), None)
    assert not covers(parse(None, "integer"), 3)
    assert not covers(parse("[0, 9]", "integer"), None)
    assert not covers(parse("{a}", "text"), None)


def test_label_wins_over_interval_syntax():
    tree = Hierarchy.from_paths([["1", "0-4", "*"], ["2", "0-4", "*"], ["7", "5-9", "*"]])
    assert not covers(parse("0-4", "integer", tree), 3)
    assert covers(parse("0-4", "integer"), 3)
    assert covers(parse("0-4", "integer", tree), 2)


def test_label_on_nested_nodes_stands_for_the_widest():
    tree = Hierarchy.from_paths([["sausage", "sausage", "*"], ["ham", "sausage", "*"], ["milk", "milk", "*"]])
    assert covers(parse("sausage", "text", tree), "ham")
    assert parse("milk", "text", tree).kind == "exact"


def test_root_label_covers_missing():
    tree = Hierarchy.from_tree({"all": ["a", "b"]}).with_missing()
    assert covers(parse("all", "text", tree), None)
    assert covers(parse("all", "text", tree), "a")


def test_bounds_are_positions():
    assert bounds(parse("39", "integer"), "integer") == (39.0, 39.0, False, False)
    assert bounds(parse("[20, 30)", "integer"), "integer") == (20.0, 30.0, False, True)
    assert bounds(parse(">40", "integer"), "integer") == (40.0, math.inf, True, False)
    assert bounds(parse("*", "integer"), "integer") == (-math.inf, math.inf, False, False)
    assert bounds(parse("1970-01-02", "date"), "date") == (1.0, 1.0, False, False)
    assert bounds(parse("1970-01-01T00:00:01", "datetime"), "datetime") == (1e6, 1e6, False, False)


@pytest.mark.parametrize("text", ["2*", "{1, 2}", "abc", None])
def test_other_cells_have_no_bounds(text):
    assert bounds(parse(text, "integer"), "integer") is None


def test_text_columns_have_no_bounds():
    assert bounds(parse("*", "text"), "text") is None


def test_position_reads_times_without_zone_as_utc():
    assert position(datetime(1970, 1, 2)) == position(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400_000_000


def test_set_is_sorted_and_quoted():
    assert format_set(["b", "a", "x, y", 'q"']) == '{a, b, "q""", "x, y"}'
    assert parse_set("not a set") is None
    assert parse_set("{a,}") is None
    assert parse_set("{}") == frozenset()


@given(st.sets(st.one_of(st.text(max_size=8), st.text(alphabet='*"{}[](),-0123 ab', max_size=6)), max_size=6))
def test_set_text_reads_back(members):
    assert parse_set(format_set(members)) == members


@given(st.integers(), st.integers(), st.integers())
def test_integer_interval_reads_back(a, b, value):
    lo, hi = min(a, b), max(a, b)
    assert covers(parse(format_interval(lo, hi), "integer"), value) == (lo <= value <= hi)
    assert covers(parse(format_interval(lo, hi, open_right=True), "integer"), value) == (lo <= value < hi)


@given(*[st.floats(allow_nan=False)] * 3)
def test_float_interval_reads_back(a, b, value):
    lo, hi = min(a, b), max(a, b)
    assert covers(parse(format_interval(lo, hi), "float"), value) == (lo <= value <= hi)
    assert covers(parse(format_value(value), "float"), value)


@given(*[st.dates()] * 3)
def test_date_interval_reads_back(a, b, value):
    lo, hi = min(a, b), max(a, b)
    assert covers(parse(format_interval(lo, hi), "date"), value) == (lo <= value <= hi)


@given(*[st.datetimes()] * 3)
def test_datetime_interval_reads_back(a, b, value):
    lo, hi = min(a, b), max(a, b)
    assert covers(parse(format_interval(lo, hi), "datetime"), value) == (lo <= value <= hi)
