"""Suggestions err on the safe side: what is not understood is not suggested to be published as it is."""

from __future__ import annotations

import random
from datetime import date, timedelta

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.header_words import header_words, plain, says_nothing
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
    frame = panel("x").with_columns(pl.col("x").shuffle(seed=1))
    assert roles(frame)["x"] == "quasi"


@pytest.mark.parametrize("key", ["nr", "PatNr", "id_paciente", "Proband", "num_assure", "leerlingnummer"])
def test_a_header_that_says_whose_rows_they_are_is_enough(key):
    frame = panel("x").with_columns(pl.col("x").shuffle(seed=1)).rename({"x": key})
    assert roles(frame)[key] == "person"


def test_a_social_security_number_with_several_rows_is_a_person_not_only_dropped():
    frame = panel("ssn", lambda i: f"{100 + i}-{10 + i % 80}-{1000 + i}")
    assert roles(frame)["ssn"] == "person"


def test_only_one_column_is_the_person_and_its_twin_is_not_published():
    frame = panel().with_columns(name=pl.format("firm {}", "nr"))
    assert sorted(roles(frame)[name] for name in ("nr", "name")) == ["drop", "person"]


def test_a_household_amount_that_repeats_like_a_key_is_not_published():
    frame = panel("x", lambda i: i * 3.7 + 0.1)
    assert roles(frame)["x"] == "drop"


def test_nearly_unique_numbers_are_sensitive_with_the_reason():
    column = next(column for column in tc.inspect(panel()).columns if column.name == "points")
    assert str(column.role) == "sensitive"
    assert "value of their own" in column.advice.reason
    assert column.to_dict()["publishes"] == "the mean of at least k neighbors"


def test_nearly_unique_numbers_are_quasi_where_the_header_does_not_say_what_they_are():
    assert roles(panel().rename({"points": "v5"}))["v5"] == "quasi"


@pytest.mark.parametrize("header", ["cost", "points", "Einkommen", "poids_sondage"])
def test_every_published_number_of_its_own_is_that_of_k_records(header):
    """Counted from the release, not asked of the program."""
    frame = panel().rename({"points": header})
    policy = tc.suggest_policy(frame)
    published = tc.anonymize(frame, policy).frame[header].to_list()
    assert min(published.count(number) for number in set(published)) >= 5
    is_named = any(goal.sensitive_columns == (header,) for goal in policy.goals)
    assert is_named == (header != "poids_sondage")  # goals look at sums of weights at most


def test_an_amount_on_which_records_stand_alone_is_not_published_as_it_is():
    policy = tc.suggest_policy(tc.sample.patients())
    assert str(policy.columns["cost"].role) == "sensitive"
    assert [each.name for each in policy.columns["cost"].transform] == ["microaggregate"]


def test_too_few_numbers_for_groups_are_left_out():
    frame = pl.DataFrame({"points": [i + 0.5 for i in range(150)] + [None] * 1850, "sex": ["m", "f"] * 1000})
    assert str(tc.suggest_policy(frame).columns["points"].role) == "sensitive"
    sparse = frame.with_columns(pl.when(pl.int_range(2000) < 22).then("points").alias("points"))
    assert str(tc.suggest_policy(sparse).columns["points"].role) != "sensitive"


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


def test_exact_survey_weights_are_weights_that_k_records_share():
    shared = pl.DataFrame({"fnlwgt": [100.0, 250.5] * 100, "sex": ["m", "f"] * 100})
    exact = shared.with_columns(fnlwgt=pl.int_range(200) * 1.7)
    assert roles(shared)["fnlwgt"] == "weight"
    assert tc.suggest_policy(shared).columns["fnlwgt"].transform == ()
    assert str(tc.suggest_policy(exact).columns["fnlwgt"].role) == "weight"
    assert [each.name for each in tc.suggest_policy(exact).columns["fnlwgt"].transform] == ["microaggregate"]


def beside_sex(name, numbers):
    return pl.DataFrame({name: numbers, "sex": ["m", "f"] * (len(numbers) // 2)})


DRAW = random.Random(5)
EXPANSION = [round(DRAW.lognormvariate(6, 0.6), 2) if i % 6 else 400.0 for i in range(1200)]
ADDING_UP = [x * 1200 / sum(EXPANSION) for x in EXPANSION]


@pytest.mark.parametrize("numbers", [EXPANSION, ADDING_UP], ids=["people", "mean one"])
@pytest.mark.parametrize(
    "header",
    ["wt", "weight", "pweight", "Gewicht", "poids", "peso", "waga", "hhwt", "finalwgt", "fnlwgt", "WTFA_SA", "PERWT"],
)
def test_survey_weights_that_nearly_all_differ_are_weights(header, numbers):
    assert 900 < len(set(numbers)) < 1200
    assert roles(beside_sex(header, numbers))[header] == "weight"


@pytest.mark.parametrize("header", ["wt", "weight", "Gewicht", "poids", "peso"])
def test_weights_of_bodies_are_no_survey_weights(header):
    draw = random.Random(6)
    kilograms = [round(draw.gauss(72, 13), 1) for _ in range(1200)]
    children = [round(draw.uniform(3, 80), 1) for _ in range(1200)]
    grams = [draw.gauss(3300, 500) for _ in range(1200)]
    for numbers in (kilograms, children, grams):
        assert roles(beside_sex(header, numbers))[header] == "quasi"


def test_a_header_that_does_not_decide_gets_a_hint_at_weights():
    def reason(name, numbers):
        return tc.inspect(beside_sex(name, numbers)).columns[0].advice.reason

    hint = "may be a survey weight: set role weight"
    draw = random.Random(6)
    assert hint in reason("weight", [draw.gauss(72, 13) for _ in range(1200)])
    assert hint in reason("v7", ADDING_UP)
    assert hint not in reason("v7", EXPANSION)
    assert hint not in reason("income", [draw.gauss(0, 1) for _ in range(1200)])
    assert hint not in reason("fnlwgt", EXPANSION)  # which says it


def test_whole_numbers_stored_as_decimals_are_whole_numbers():
    frame = pl.DataFrame({"x": [1000.0 + 3 * i for i in range(200)], "zip": [10115.0 + i % 30 for i in range(200)]})
    assert roles(frame) == {"x": "identifier", "zip": "quasi"}


def pupils(key="klasse"):
    """Forty classes of 25; the teacher's years are those of the class, sex and points those of the pupil."""
    draw = random.Random(3)
    rows = [(k, t, draw.choice("mf"), draw.randrange(40)) for k in range(40) for t in [draw.randrange(30)] * 25]
    return pl.DataFrame(rows, schema=[key, "years", "sex", "points"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )


@pytest.mark.parametrize("key", ["klasse", "x"])
def test_a_class_whose_rows_differ_on_sex_is_no_person(key):
    assert roles(pupils(key))[key] != "person"


def test_a_household_counts_as_one_where_there_is_no_key_of_persons():
    draw = random.Random(4)
    homes = [(h, draw.randrange(900), draw.choice("abcdef")) for h in range(300)]
    rows = [(h, rent, town, draw.choice("mf"), draw.randrange(90)) for h, rent, town in homes for _ in range(3)]
    frame = pl.DataFrame(rows, schema=["hhnr", "rent", "town", "sex", "age"], orient="row")
    column = tc.inspect(frame).columns[0]
    assert (str(column.role), column.advice.looks_like) == ("person", "key of households")


def test_agreement_by_chance_makes_no_key():
    """Forty ages with fifty rows each: all ages have both sexes, and rows of one age agree no more than others."""
    draw = random.Random(5)
    frame = pl.DataFrame(
        {
            "x1": [draw.randrange(20, 60) for _ in range(1500)],
            "x2": [draw.choice("mf") for _ in range(1500)],
            "x3": [draw.choice("abc") for _ in range(1500)],
        }
    )
    assert roles(frame)["x1"] == "quasi"


def test_a_row_for_every_wave_is_a_panel():
    draw = random.Random(6)
    rows = [(i, w, draw.randrange(5)) for i in range(60) for w in range(6)]
    draw.shuffle(rows)
    assert roles(pl.DataFrame(rows, schema=["x1", "x2", "x3"], orient="row"))["x1"] == "person"


def test_texts_that_single_records_have_are_not_listed():
    draw = random.Random(7)
    words = ["".join(draw.choice("abcdefgh") for _ in range(5)) for _ in range(400)]
    frame = pl.DataFrame({"x": [draw.choice(words) for _ in range(800)], "sex": ["m", "f"] * 400})
    assert roles(frame)["x"] == "drop"


def test_icd_codes_under_a_german_header_are_sensitive():
    frame = pl.DataFrame({"Diagnose": ["I10", "E11", "J45", "M54"] * 50, "sex": ["m", "f"] * 100})
    assert (roles(frame)["Diagnose"], tc.inspect(frame).columns[0].advice.detector) == ("sensitive", "icd")


BIRTH = ["GebDat", "geb_datum", "date_naiss", "fecha_nac", "DataNascita", "dt_nasc", "geboortedatum", "data_ur", "DOB"]


@pytest.mark.parametrize("header", BIRTH)
def test_dates_of_birth_are_recognised_by_their_header_in_eight_languages(header):
    assert tc.inspect(pl.DataFrame({header: days()})).columns[0].advice.looks_like == "date of birth"


def test_every_kind_of_header_words_has_eight_languages():
    languages = {"en", "de", "fr", "es", "it", "pt", "nl", "pl"}
    assert {kind for kind, words in header_words().items() if not languages <= set(words)} == {"ssn"}


def test_header_words_are_written_without_accents_and_in_lower_case():
    every = [word for kinds in header_words().values() for words in kinds.values() for word in words]
    assert [word for word in every if plain(word) != word] == []


@pytest.mark.parametrize("header", ["v1", "x", "q12b", "Column_3", "Unnamed: 0", "17", "V_01"])
def test_headers_that_say_nothing(header):
    assert says_nothing(header)


@pytest.mark.parametrize("header", ["age", "time", "bmi", "höhe", "lab_7"])
def test_headers_that_say_something(header):
    assert not says_nothing(header)


def spread(n=1000, digits=None):
    """Whole numbers that look like amounts, or like codes of so many digits; about a tenth of them recur."""
    draw = random.Random(8)
    if digits:
        return [draw.randrange(10 ** (digits - 1), 10**digits) for _ in range(n * 9 // 10)] + [10**digits - 1] * (
            n // 10
        )
    return [round(draw.lognormvariate(8, 2)) for _ in range(n)]


@pytest.mark.parametrize(
    ("header", "cells", "role"),
    [
        ("umlage", spread(), "sensitive"),
        ("v7", spread(), "identifier"),  # nobody knows, and nearly all differ
        ("umlage", spread(digits=9), "identifier"),
        ("isco", spread(digits=4), "quasi"),
        ("GebDat", [20_000 + i * i % 7919 for i in range(1000)], "quasi"),
        ("easting", [400_000.5 + i * i % 7919 for i in range(1000)], "quasi"),
        ("alter_in_tagen", [9_000 + i * i % 7919 for i in range(1000)], "quasi"),
        ("hhnr", [i * 3 // 4 for i in range(1000)], "identifier"),
    ],
)
def test_numbers_of_which_many_differ_are_what_they_look_like(header, cells, role):
    assert roles(pl.DataFrame({header: cells, "sex": ["m", "f"] * 500}))[header] == role
