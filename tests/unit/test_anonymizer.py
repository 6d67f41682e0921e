"""Learning from one table how rows are published, and publishing others in the same way."""

from __future__ import annotations

import re
from collections import Counter

import polars as pl
import pytest

import tablecloak as tc

K = 5


def table(seed, n=600):
    return tc.sample.patients(n, seed=seed).with_columns(age=2020 - pl.col("birth_date").dt.year()).select(
        "age", "sex", "diagnosis"
    )  # fmt: skip


def policy(**more):
    columns = tc.roles(quasi=["age", "sex"], sensitive=["diagnosis"])
    return tc.Policy(columns=columns, goals=[tc.KAnonymity(k=K)], **more)


def stands_for(cell, value):
    """Whether a published cell may be a value; written without our code."""
    if cell is None:
        return value is None
    interval = re.fullmatch(r"\[(-?\d+), (-?\d+)\]", cell)
    if interval:
        return value is not None and int(interval[1]) <= value <= int(interval[2])
    return cell in ("*", str(value)) or (cell.startswith("{") and str(value) in cell[1:-1].split(", "))


def require_honest(published, originals, k=K):
    """Classes are large enough, and every published record can be told from a record of its own."""
    sizes = Counter((row["age"], row["sex"]) for row in published)
    assert min(sizes.values()) >= k
    fits = [
        [i for i, o in enumerate(originals) if o["diagnosis"] == row["diagnosis"]
         and stands_for(row["age"], o["age"]) and stands_for(row["sex"], o["sex"])]
        for row in published
    ]  # fmt: skip
    owner = {}

    def finds_own(row, seen):
        for original in fits[row]:
            if original not in seen:
                seen.add(original)
                if original not in owner or finds_own(owner[original], seen):
                    owner[original] = row
                    return True
        return False

    assert all(finds_own(row, set()) for row in range(len(published)))


def test_fit_transform_gives_the_release():
    anonymizer, data = tc.Anonymizer(policy()), table(0)
    frame = anonymizer.fit_transform(data)
    assert frame.height == data.height
    assert anonymizer.release_.frame is frame
    require_honest(frame.cast(pl.String).to_dicts(), data.to_dicts())


def test_new_rows_are_published_in_the_classes_of_the_release():
    anonymizer = tc.Anonymizer(policy(), suppression_limit=0.6).fit(table(0))
    known = set(anonymizer.release_.frame.select("age", "sex").cast(pl.String).rows())
    new = table(1)
    published = anonymizer.transform(new)
    assert 0 < published.height <= new.height
    assert set(published.select("age", "sex").cast(pl.String).rows()) <= known
    assert anonymizer.report_.verification.holds
    assert anonymizer.report_.verification.n_rows == published.height
    require_honest(published.cast(pl.String).to_dicts(), new.to_dicts())


def test_rows_that_fit_nowhere_are_left_out():
    anonymizer = tc.Anonymizer(policy(), suppression_limit=1.0).fit(table(0))
    strangers = table(0).head(20).with_columns(age=pl.lit(900, pl.Int32))
    published = anonymizer.transform(pl.concat([table(0), strangers.cast(table(0).schema)]))
    assert published.height == table(0).height
    require_honest(published.cast(pl.String).to_dicts(), table(0).to_dicts())


def test_too_many_left_out_is_an_error_that_says_how_many():
    anonymizer = tc.Anonymizer(policy()).fit(table(0))
    with pytest.raises(tc.GoalNotMet, match="new rows do not satisfy the goal"):
        anonymizer.transform(table(1, n=30))


def test_the_frame_is_of_the_library_that_the_rows_came_from():
    pandas = pytest.importorskip("pandas")
    anonymizer = tc.Anonymizer(policy(), suppression_limit=0.9).fit(table(0))
    assert isinstance(anonymizer.transform(table(1).to_pandas()), pandas.DataFrame)
    assert isinstance(anonymizer.transform(table(1)), pl.DataFrame)


def test_nothing_is_transformed_before_something_was_learned():
    with pytest.raises(tc.IncompatibleChoice, match="fit"):
        tc.Anonymizer(policy()).transform(table(0))


def test_groups_of_exact_values_take_no_new_rows():
    columns = tc.roles(quasi=["age", "sex"], sensitive=["diagnosis"])
    goals = [{"model": "l-diversity", "l": 3, "sensitive": "diagnosis"}]
    grouped = tc.Policy.model_validate({"columns": columns, "goals": goals, "algorithm": {"kind": "anatomy"}})
    anonymizer = tc.Anonymizer(grouped)
    assert anonymizer.fit_transform(table(0)).height == table(0).height
    with pytest.raises(tc.IncompatibleChoice, match="no group"):
        anonymizer.transform(table(1))


def test_parameters_are_read_and_changed_as_scikit_learn_does():
    anonymizer = tc.Anonymizer(policy())
    assert anonymizer.get_params() == {"policy": anonymizer.policy, "suppression_limit": None}
    assert anonymizer.set_params(suppression_limit=0.2) is anonymizer
    assert tc.Anonymizer(**anonymizer.get_params()).get_params() == anonymizer.get_params()
    with pytest.raises(tc.PolicyError, match="no parameter"):
        anonymizer.set_params(limit=0.2)


def test_a_policy_may_be_a_file(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("columns: {age: quasi, sex: quasi, diagnosis: sensitive}\ngoals: [{model: k-anonymity, k: 5}]\n")
    assert tc.Anonymizer(path).fit(table(0)).release_.report.verification.holds


def test_its_repr_is_short():
    anonymizer = tc.Anonymizer(policy())
    assert repr(anonymizer) == "Anonymizer(k-anonymity(k=5))"
    assert "<code>" in anonymizer._repr_html_()
    anonymizer.fit(table(0))
    assert repr(anonymizer) == "Anonymizer(k-anonymity(k=5), fitted)"
    assert "tablecloak" in anonymizer._repr_html_()
