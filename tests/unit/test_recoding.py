"""A stored recoding on rows it has seen and on rows it has not; expected classes are counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tablecloak
from tablecloak import pipeline
from tablecloak.algorithms.base import Solution
from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.errors import GoalNotMet
from tablecloak.policy.load import parse_policy
from tablecloak.release.recoding.classes import Recoding, read_recoding

AGES = [1, 9, 5, 4, 5, 6]
ILLNESSES = ["flu", "flu", "flu", "cold", "cold", "cold"]
POLICY = "columns: {age: quasi, illness: sensitive}\ngoals: [{model: k-anonymity, k: 2}]\n"


def recoding_of(classes, *, by_row=False, counted=True):
    """Class 0 holds ages 1 to 9, class 1 ages 4 to 6, which lie inside; age 5 occurs in both."""
    quasi = fit_domain(pl.Series("age", AGES), ColumnType.INTEGER)
    illness = [fit_sensitive(pl.Series("illness", ILLNESSES), ColumnType.TEXT)] if counted else []
    table = code_table([quasi], illness, by_row=by_row)
    codes = table.quasi_codes(0)
    rows = table.tuple_of_row if table.tuple_of_row is not None else np.arange(len(AGES))
    of_tuple = np.empty(table.n_tuples, np.int64)
    of_tuple[rows] = classes
    ends = [[codes[of_tuple == c].min(), codes[of_tuple == c].max()] for c in range(max(classes) + 1)]
    lo, hi = np.array(ends).T
    solution = Solution(of_tuple, lo[:, None], hi[:, None])
    return Recoding.of(solution, table.domains, parse_policy(POLICY, name="p", base=Path()), table)


def stored_again(recoding, folder):
    path = folder / "recoding.json"
    recoding.write(path)
    return read_recoding(path)


def rows(ages, illnesses=None):
    return pl.DataFrame({"age": ages, "illness": illnesses or ["flu"] * len(ages)})


def test_known_rows_have_their_class_again_where_classes_overlap(tmp_path):
    recoding = stored_again(recoding_of([0, 0, 0, 1, 1, 1]), tmp_path)
    assert recoding.classes_of(rows(AGES, ILLNESSES)).tolist() == [0, 0, 0, 1, 1, 1]
    backwards = recoding.classes_of(rows(AGES[::-1], ILLNESSES[::-1]))
    assert backwards.tolist() == [1, 1, 1, 0, 0, 0]


def test_new_rows_have_the_covering_class_of_least_loss_or_none(tmp_path):
    recoding = stored_again(recoding_of([0, 0, 0, 1, 1, 1]), tmp_path)
    # 5 with a new illness and 4 with flu were never seen: the narrower class covers them; 2 only the wider; 12 none
    found = recoding.classes_of(rows([5, 4, 2, 12, None], ["gout", "flu", "cold", "flu", "flu"]))
    assert found.tolist() == [1, 1, 0, -1, -1]


def test_rows_left_out_stay_left_out(tmp_path):
    recoding = stored_again(recoding_of([0, 0, 0, 1, -1, 1]), tmp_path)
    assert recoding.classes_of(rows(AGES, ILLNESSES)).tolist() == [0, 0, 0, 1, -1, 1]


def test_equal_rows_of_several_classes_are_dealt_out_as_before(tmp_path):
    recoding = stored_again(recoding_of([0, 0, 0, 1, 1, 1], by_row=True, counted=False), tmp_path)
    found = recoding.classes_of(pl.DataFrame({"age": AGES}))
    assert sorted(found[[2, 4]].tolist()) == [0, 1]
    four = recoding.classes_of(pl.DataFrame({"age": [5, 5, 5, 5]}))
    assert np.bincount(four).tolist() == [2, 2]


def test_a_recoding_without_known_rows_still_covers(tmp_path):
    """Files of older versions list no rows; a class that covers is then all that can be said."""
    path = tmp_path / "recoding.json"
    recoding_of([0, 0, 0, 1, 1, 1]).write(path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index(',"losses"')] + "}", encoding="utf-8")
    assert read_recoding(path).classes_of(rows(AGES)).tolist() == [0, 0, 1, 1, 1, 1]


def test_without_the_sensitive_column_rows_are_only_covered():
    assert recoding_of([0, 0, 0, 1, 1, 1]).classes_of(pl.DataFrame({"age": [1, 5]})).tolist() == [0, 1]


def test_the_file_names_no_row(tmp_path):
    recoding_of([0, 0, 0, 1, 1, 1]).write(tmp_path / "recoding.json")
    assert "flu" not in (tmp_path / "recoding.json").read_text(encoding="utf-8")


def people(seed, n):
    random = np.random.default_rng(seed)
    draw = random.integers
    return pl.DataFrame(
        {
            "age": draw(20, 60, n),
            "town": [f"t{i}" for i in draw(0, 6, n)],
            "illness": [f"i{i}" for i in draw(0, 4, n)],
        }
    )


GOALS = {
    "k": "[{model: k-anonymity, k: 4}]",
    "k and l": "[{model: k-anonymity, k: 4}, {model: l-diversity, l: 2, sensitive: illness}]",
}


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("labels", ["hierarchy", "set"])
def test_apply_publishes_the_rows_of_auto_again_and_new_ones_that_it_covers(goal, labels, tmp_path):
    people(1, 300).write_csv(tmp_path / "people.csv")
    text = (
        "input: people.csv\ncolumns: {age: quasi, town: quasi, illness: sensitive}\n"
        f"goals: {GOALS[goal]}\nalgorithm: {{kind: auto, labels: {labels}}}\n"
        "output: {path: out.csv, recoding: recoding.json}\n"
    )
    policy = parse_policy(text, name="p", base=tmp_path)
    pipeline.run(policy)
    again = tmp_path / "again.csv"
    pipeline.apply_file(tmp_path / "recoding.json", str(tmp_path / "people.csv"), str(again))
    assert again.read_bytes() == (tmp_path / "out.csv").read_bytes()
    # twice the rows, and some that lie outside every class
    both = pl.concat([people(1, 300), people(1, 300), people(2, 50).with_columns(pl.lit(99, pl.Int64).alias("age"))])
    both.write_csv(tmp_path / "more.csv")
    report = pipeline.apply_file(tmp_path / "recoding.json", str(tmp_path / "more.csv"), str(tmp_path / "more.out.csv"))
    assert report.verification.holds
    assert report.verification.covers
    assert pl.read_csv(tmp_path / "more.out.csv").height == 600


def test_apply_refuses_new_rows_whose_class_becomes_too_small(tmp_path):
    people(1, 300).write_csv(tmp_path / "people.csv")
    release = tablecloak.anonymize(
        people(1, 300),
        parse_policy(
            "columns: {age: quasi, town: quasi, illness: keep}\ngoals: [{model: k-anonymity, k: 4}]\nalgorithm: auto\n",
            name="p",
            base=tmp_path,
        ),
    )
    release.recoding.write(tmp_path / "recoding.json")
    people(1, 300).head(3).write_csv(tmp_path / "three.csv")
    with pytest.raises(GoalNotMet):
        pipeline.apply_file(tmp_path / "recoding.json", str(tmp_path / "three.csv"), str(tmp_path / "out.csv"))
    assert not (tmp_path / "out.csv").exists()


def test_apply_of_datafly_without_a_limit_leaves_out_at_most_as_many_rows_as_a_class_needs(tmp_path):
    people(1, 300).write_csv(tmp_path / "people.csv")
    text = (
        "input: people.csv\ncolumns: {age: {role: quasi, hierarchy: {kind: intervals, width: 10}}, illness: keep}\n"
        "goals: [{model: k-anonymity, k: 4}]\nalgorithm: datafly\noutput: {path: out.csv, recoding: recoding.json}\n"
    )
    pipeline.run(parse_policy(text, name="p", base=tmp_path))

    def applied(n_alone):
        """Forty of each of two ages, and a few of another one, fewer than a class needs or enough for several."""
        ages = [25] * 40 + [35] * 40 + [45] * n_alone
        pl.DataFrame({"age": ages, "illness": ["i"] * len(ages)}).write_csv(tmp_path / "new.csv")
        pipeline.apply_file(tmp_path / "recoding.json", str(tmp_path / "new.csv"), str(tmp_path / "n.csv"), force=True)
        return pl.read_csv(tmp_path / "n.csv").height

    assert applied(3) == 80
    assert applied(5) == 85
