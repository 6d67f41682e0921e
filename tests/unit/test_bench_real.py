"""The scores of benchmarks/real.py, counted by hand on small columns."""

from __future__ import annotations

import datetime as dt
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # benchmarks are not part of the installed package

from benchmarks import real  # noqa: E402
from benchmarks.roles import Labelled  # noqa: E402

from tablecloak.policy.load import parse_policy  # noqa: E402

AGES = real.scale_of(["20", "30", "40", "60", ""])
TOWNS = real.scale_of(["Bern", "Thun", "Biel", "a, b", "[1, 2]"])
DATES = real.scale_of(["1988-10-03", "1990-04-01", "1991-07-01"])


@pytest.mark.parametrize(
    ("text", "scale", "covered", "loss"),
    [
        ("30", AGES, {30.0}, 0.0),
        ("[20, 40]", AGES, {20.0, 30.0, 40.0}, 0.5),
        ("*", AGES, {20.0, 30.0, 40.0, 60.0, ""}, 1.0),
        ("", AGES, {""}, 0.0),
        ("all but {20}", AGES, {30.0, 40.0, 60.0}, 0.6),
        ("{20, 60}", AGES, {20.0, 60.0}, 0.4),
        ("Bern", TOWNS, {"Bern"}, 0.0),
        ('{"a, b", Thun}', TOWNS, {"a, b", "Thun"}, 0.4),
        ("all but {Bern}", TOWNS, {"Thun", "Biel", "a, b", "[1, 2]"}, 0.8),
        ('"[1, 2]"', TOWNS, {"[1, 2]"}, 0.0),
        ("1988-Q4", DATES, {float(dt.date(1988, 10, 3).toordinal())}, 89 / 1001),
        ("1990-04", DATES, {float(dt.date(1990, 4, 1).toordinal())}, 29 / 1001),
    ],
)
def test_a_label_stands_for_what_the_grammar_says(text, scale, covered, loss):
    label = real.label_of(text, scale)
    assert {value for value in scale.domain if real.covers(label, value)} == covered
    assert real.loss_of(label, scale) == pytest.approx(loss)


def test_a_label_of_values_that_do_not_occur_is_refused():
    with pytest.raises(ValueError, match="do not occur"):
        real.label_of("{Bern, Basel}", TOWNS)


def test_a_query_takes_its_share_of_a_label():
    whole = real.scale_of(["20", "21", "60", ""])
    assert real.share_within(real.label_of("[20, 39]", whole), 20, 24, whole) == 5 / 20
    assert real.share_within(real.label_of("{20, 60}", whole), 50, 90, whole) == 0.5
    assert real.share_within(real.label_of("30", whole), 31, 90, whole) == 0
    tenths = real.scale_of(["0.2", "0.8", "1.1", "3.0"])
    assert tenths.step == pytest.approx(0.1)
    assert real.share_within(real.label_of("[0.75, 1.22]", tenths), 1.1, 1.1, tenths) == 1 / 5


def test_exact_columns_have_no_error_and_single_everybody_out():
    codes = np.arange(4)
    exact = real.Column(real.scale_of(list("abcd")), [real.Label(values=frozenset(c)) for c in "abcd"], codes)
    alike = real.Column(exact.scale, [exact.scale.everything()], np.zeros(4, dtype=np.int64))
    assert real.query_error({"x": exact}, ["x"], 4) == 0
    assert real.query_error({"x": alike}, ["x"], 4) == 0  # every value is as frequent
    assert real.singled_out([exact], 4) == 1
    assert real.singled_out([alike], 4) == 0


def test_labels_overlap_where_they_share_a_value():
    labels = [real.label_of(text, AGES) for text in ("[20, 30]", "[40, 60]", "*")]
    column = real.Column(AGES, labels, np.zeros(5, dtype=np.int64))
    assert not real._overlap(column)
    assert real._overlap(real.Column(AGES, [*labels, real.label_of("[30, 40]", AGES)], column.codes))


def test_a_column_leads_to_persons_only_as_it_was():
    numbers = [str(n) for n in range(10)] * 2
    assert real._leads(numbers, numbers[::-1], "person")
    assert not real._leads(numbers, numbers, "sensitive")
    assert real._leads(numbers[:10], numbers[:10], "amount")
    assert not real._leads(numbers[:10], ["4.5"] * 10, "amount")


def test_roles_are_the_same_for_both_versions(tmp_path):
    table = Labelled(
        "t", pl.DataFrame({"age": [1], "id": [2], "pay": [3.5]}), {"age": "quasi", "id": "person", "pay": "amount"}
    )
    policy = parse_policy(real.same_policy(table), name="same", base=tmp_path)
    assert {name: str(spec.role) for name, spec in policy.columns.items()} == {"age": "quasi", "pay": "quasi"}
    assert policy.others == "drop"
    assert policy.goals[0].k == 5


def test_kept_figures_are_of_all_five_tables():
    kept = [real.Score(**entry) for entry in json.loads(real.KEPT.read_text(encoding="utf-8"))]
    assert {(score.table, score.roles) for score in kept} == {
        (table, roles) for table in real.TABLES for roles in (real.DEFAULT, real.SAME)
    }
    with pytest.raises(ValueError, match="other rows of adult"):
        real.kept_scores([replace(kept[0], checksum=0)])
