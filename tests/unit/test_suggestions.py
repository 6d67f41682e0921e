"""Suggestions err on the safe side: what is not understood is not suggested to be published as it is."""

from __future__ import annotations

import random
from datetime import date, timedelta

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.io.notation import strptime_of
from tablecloak.policy.load import parse_policy
from tablecloak.profile.profile import inspect_file
from tablecloak.profile.starter import starter_policy

N_PERSONS, N_YEARS = 200, 8


def panel(key="nr", as_key=lambda i: 13 + 7 * i):
    """Every person has a row for each of eight years; schooling and origin stay, the wage changes."""
    draw = random.Random(1)
    people = [(as_key(i), draw.randrange(8, 18), draw.choice("abc")) for i in range(N_PERSONS)]
    rows = [(nr, 1980 + y, s, o, round(draw.uniform(1, 99), 4)) for nr, s, o in people for y in range(N_YEARS)]
    return pl.DataFrame(rows, schema=[key, "year", "school", "origin", "points"], orient="row")


def roles(frame):
    return {column.name: str(column.role) for column in tc.inspect(frame).columns}


@pytest.mark.parametrize("key", ["nr", "x", "individual"])
def test_a_number_of_persons_with_several_rows_is_suggested_as_person(key):
    assert roles(panel(key))[key] == "person"


def test_a_key_of_persons_may_be_text_or_whole_decimals():
    assert roles(panel("x", lambda i: f"P{i:03}"))["x"] == "person"
    assert roles(panel("x", float))["x"] == "person"


def test_a_number_that_repeats_without_agreement_is_no_person():
    frame = panel().with_columns(pl.col("nr").shuffle(seed=1))
    assert roles(frame)["nr"] == "quasi"


def test_a_social_security_number_with_several_rows_is_a_person_not_only_dropped():
    frame = panel("ssn", lambda i: f"{100 + i}-{10 + i % 80}-{1000 + i}")
    assert roles(frame)["ssn"] == "person"


def test_only_one_column_is_the_person_and_its_twin_is_not_published():
    frame = panel().with_columns(name=pl.format("firm {}", "nr"))
    assert sorted(roles(frame)[name] for name in ("nr", "name")) == ["drop", "person"]


def test_a_household_amount_that_repeats_like_a_key_is_not_published():
    frame = panel("x", lambda i: i * 3.7 + 0.1)
    assert roles(frame)["x"] == "drop"


def test_nearly_unique_numbers_are_dropped_with_the_reason():
    advice = {column.name: column.advice for column in tc.inspect(panel()).columns}
    assert str(advice["points"].role) == "drop"
    assert "value of their own" in advice["points"].reason


def test_an_amount_on_which_records_stand_alone_is_not_kept():
    assert roles(tc.sample.patients())["cost"] == "drop"


def test_numbers_of_few_values_are_generalised_not_kept():
    frame = pl.DataFrame({"differ": [1.0, 2.0, None, 3.0] * 50, "sex": ["m", "f"] * 100})
    assert roles(frame)["differ"] == "quasi"


def test_nothing_but_a_constant_is_suggested_to_be_kept():
    frame = panel().with_columns(study=pl.lit("A"))
    assert [name for name, role in roles(frame).items() if role == "keep"] == ["study"]


def test_a_value_beside_empty_cells_is_no_constant():
    assert roles(pl.DataFrame({"x": ["a", None] * 50, "sex": ["m", "f"] * 50}))["x"] == "quasi"


def days():
    draw = random.Random(2)
    return [date(1930, 1, 1) + timedelta(days=draw.randrange(20_000)) for _ in range(400)]


def suggested(tmp_path, header, cells, delimiter=","):
    path = tmp_path / "people.csv"
    rows = "\n".join(f"{cell}{delimiter}{'mf'[i % 2]}" for i, cell in enumerate(cells))
    path.write_text(f"{header}{delimiter}sex\n{rows}\n", encoding="utf-8")
    return starter_policy(inspect_file(path), source="people.csv", output="out/people.csv").text


@pytest.mark.parametrize("form", ["%Y%m%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d"])
def test_dates_as_people_write_them_are_published_as_dates(tmp_path, form):
    policy = parse_policy(suggested(tmp_path, "geburtsdatum", [f"{d:{form}}" for d in days()]), name="p", base=tmp_path)
    spec = policy.columns["geburtsdatum"]
    assert (str(spec.role), str(spec.type), strptime_of(spec.format)) == ("quasi", "date", form)
    tc.run(policy)
    published = pl.read_csv(tmp_path / "out/people.csv", infer_schema=False)["geburtsdatum"]
    assert published.str.contains(r"^(\*|\d{4}(-\d\d)?s?|\[.*\])$").all()
    assert not published.is_in([f"{d:{form}}" for d in days()]).any()


def test_dates_whose_day_and_month_cannot_be_told_apart_are_not_published(tmp_path):
    cells = [f"{1 + i % 12:02}/{1 + i * 5 % 12:02}/{1950 + i % 40}" for i in range(400)]
    policy = parse_policy(suggested(tmp_path, "born", cells), name="p", base=tmp_path)
    assert str(policy.columns["born"].role) == "drop"


def test_numbers_with_decimal_commas_are_published_as_intervals_of_numbers(tmp_path):
    cells = [f"{10 + i % 15},{i % 10}" for i in range(400)]
    policy = parse_policy(suggested(tmp_path, "menge", cells, delimiter=";"), name="p", base=tmp_path)
    spec = policy.columns["menge"]
    assert (str(spec.role), str(spec.type), spec.decimal) == ("quasi", "float", ",")
    tc.run(policy)
    published = pl.read_csv(tmp_path / "out/people.csv", infer_schema=False)["menge"]
    assert published.str.contains(r"^(\*|[\d.]+|\[[\d.]+, [\d.]+\])$").all()


def test_dates_in_a_frame_that_are_stored_as_numbers_are_read_as_dates():
    frame = pl.DataFrame({"born": [int(f"{d:%Y%m%d}") for d in days()], "sex": ["m", "f"] * 200})
    policy = tc.suggest_policy(frame)
    assert (str(policy.columns["born"].role), policy.columns["born"].format) == ("quasi", "yyyymmdd")
    published = tc.anonymize(frame, policy).frame["born"].cast(pl.String)
    assert published.str.contains(r"^(\*|\d{4}(-\d\d)?s?|\[.*\])$").all()


def test_survey_weights_are_weights_unless_they_single_people_out():
    shared = pl.DataFrame({"fnlwgt": [100.0, 250.5] * 100, "sex": ["m", "f"] * 100})
    exact = shared.with_columns(fnlwgt=pl.int_range(200) * 1.7)
    assert roles(shared)["fnlwgt"] == "weight"
    assert roles(exact)["fnlwgt"] == "drop"
