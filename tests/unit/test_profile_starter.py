"""Starter policies: they load, they explain themselves, they can be carried out."""

from __future__ import annotations

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.errors import PolicyError
from tablecloak.policy.load import parse_policy
from tablecloak.profile.presets import presets
from tablecloak.profile.profile import inspect_frame
from tablecloak.profile.starter import release_name, starter_policy

pytestmark = pytest.mark.slow


def starter(frame, tmp_path, **options):
    text = starter_policy(inspect_frame(frame), source="a.csv", output="out/a.csv", **options).text
    return text, parse_policy(text, name="policy.yaml", base=tmp_path)


def test_patients_get_hierarchies_that_fit(tmp_path):
    _, policy = starter(tc.sample.patients(), tmp_path)
    kinds = {name: getattr(policy.hierarchy_of(name), "name", None) for name in policy.columns}
    assert kinds["birth_date"] == kinds["admission"] == "dates"
    assert kinds["zip"] == "mask"
    assert policy.hierarchy_of("birth_date").levels[-1] == "decade"
    assert policy.hierarchy_of("admission").levels[-1] == "year"
    assert [goal.name for goal in policy.goals] == ["k-anonymity", "l-diversity", "l-diversity"]


def test_every_line_says_why(tmp_path):
    text, policy = starter(tc.sample.patients(), tmp_path)
    lines = [line for line in text.splitlines() if line]
    assert lines[0] == "# yaml-language-server: $schema=./tablecloak-policy-1.json"
    assert all("# " in line for line in lines)
    assert len(policy.columns) == 9


@pytest.mark.parametrize("preset", sorted(presets()))
def test_every_preset_can_be_carried_out(preset):
    frame = tc.sample.patients(600)
    release = tc.anonymize(frame, tc.suggest_policy(frame, preset=preset))
    assert release.report.verification.holds
    assert "name" not in release.frame.columns
    numbers = release.frame["ssn"].to_list() if "ssn" in release.frame.columns else []  # pseudonyms
    assert not set(numbers) & set(frame["ssn"].to_list())


def test_census_can_be_carried_out():
    frame = tc.sample.census(1000)
    assert tc.anonymize(frame, tc.suggest_policy(frame)).report.verification.holds


def test_safe_harbor_publishes_no_day_and_no_place(tmp_path):
    """What cannot be coarsened as the rule allows is left out."""
    written = pl.col("birth_date").dt.strftime("born on %d %B %Y")
    frame = tc.sample.patients().with_columns(date_of_birth=written, city=pl.lit("Springfield"))
    _, policy = starter(frame, tmp_path, preset="hipaa-safe-harbor")
    roles = {name: str(column.role) for name, column in policy.columns.items()}
    kinds = {
        name: [each.name for each in policy.columns[name].transform] for name in ("birth_date", "admission", "zip")
    }
    assert kinds == {"birth_date": ["truncate", "bottom-code"], "admission": ["truncate"], "zip": ["zip3"]}
    assert [roles[name] for name in ("birth_date", "admission", "zip")] == ["quasi"] * 3
    assert roles["date_of_birth"] in ("drop", "identifier")
    assert [roles[name] for name in ("name", "ssn")] == ["identifier"] * 2


def test_k_only_asks_for_nothing_else(tmp_path):
    _, policy = starter(tc.sample.patients(), tmp_path, preset="k-only")
    assert [goal.name for goal in policy.goals] == ["k-anonymity"]


def test_an_unknown_preset_names_the_nearest():
    with pytest.raises(PolicyError, match="did you mean 'strict'"):
        tc.suggest_policy(tc.sample.patients(50), preset="strickt")


def test_l_is_no_more_than_there_are_values(tmp_path):
    frame = pl.DataFrame({"age": list(range(20, 60)), "diagnosis": ["flu", "asthma"] * 20})
    _, policy = starter(frame, tmp_path)
    assert policy.goals[1].l == 2


def test_odd_column_names_survive(tmp_path):
    names = ["a: b", "yes", "née", "x # y", 'say "hi"', "two\nlines", "{curly}", "1e3", "- dash"]
    frame = pl.DataFrame({name: ["a", "b", "c", "d"] * 10 for name in names})
    _, policy = starter(frame, tmp_path)
    assert list(policy.columns) == names


def test_a_zip_read_as_a_number_is_masked_as_text(tmp_path):
    frame = pl.DataFrame({"zip": [10115 + i % 30 for i in range(90)], "sex": ["f", "m"] * 45})
    text, policy = starter(frame, tmp_path)
    assert policy.columns["zip"].type == "text"
    assert policy.hierarchy_of("zip").name == "mask"
    assert "10115" not in text


def test_without_quasi_identifiers_numbers_are_generalized(tmp_path):
    frame = pl.DataFrame({"x": [i + 0.25 for i in range(30)]})
    _, policy = starter(frame, tmp_path)
    assert str(policy.columns["x"].role) == "quasi"


def test_a_table_of_identifiers_only_is_refused():
    with pytest.raises(tc.DataError, match="nothing to generalize"):
        tc.suggest_policy(pl.DataFrame({"email": [f"p{i}@example.org" for i in range(30)]}))


@pytest.mark.parametrize(
    ("data", "release"),
    [
        ("a.csv.gz", "a-release.csv"),
        ("b.sav", "b-release.sav"),
        ("c.parquet", "c-release.parquet"),
        ("d.xlsx", "d-release.xlsx"),
    ],
)
def test_a_release_has_a_format_we_can_write(tmp_path, data, release):
    assert release_name(tmp_path / data) == release


def test_a_column_of_decimals_with_missing_cells_can_be_carried_out():
    frame = pl.DataFrame({"age": [0.5 + i % 7 if i % 5 else None for i in range(60)], "sex": ["f", "m"] * 30})
    assert tc.anonymize(frame, tc.suggest_policy(frame)).report.verification.holds
