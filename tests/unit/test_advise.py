"""Advice: the technique that fits each kind of column, lines that a policy takes, and never a cell."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta
from functools import cache

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.table import Role
from tablecloak.policy.sections import ColumnSpec
from tablecloak.profile.remedies import remedies
from tablecloak.profile.techniques import catalogue

pytestmark = pytest.mark.slow

N = 300
CANARY = "Zyxomma"


def letters(i):
    return "".join(chr(97 + i // 26**p % 26) for p in range(3))


def luhn(i):
    """A card number with a right check digit, by the schoolbook."""
    body = f"4{987_654_321 * (i + 7) % 10**14:014d}"
    total = sum(sum(divmod(int(d) * (2 if place % 2 == 0 else 1), 10)) for place, d in enumerate(reversed(body)))
    return body + str(-total % 10)


draw = random.Random(3)
DAYS = [date(2021, 1, 1) + timedelta(days=draw.randrange(700)) for _ in range(N)]
BIRTHS = [date(1930, 1, 1) + timedelta(days=draw.randrange(27_000)) for _ in range(N)]
AMOUNTS = [round(draw.lognormvariate(10, 1), 2) for _ in range(N)]
PROSE = [f"the {letters(i)} was seen with {letters(i * 7)} on the {letters(i * 3)} again" for i in range(N)]

DROPPED = {"role": "drop"}
NO_IDENTIFIER = {"role": "identifier", "transform": "drop"}
AVERAGED = {"role": "sensitive", "transform": {"kind": "microaggregate", "k": "auto"}}
# A column of each kind: its name, its cells, the technique and the line that are expected.
COLUMNS = {
    "names": ("name", [f"{CANARY} {letters(i).title()}" for i in range(N)], "suppression", NO_IDENTIFIER),
    "mail": ("contact", [f"{letters(i)}@example.org" for i in range(N)], "suppression", NO_IDENTIFIER),
    "phones": ("phone", [f"+1 202 555 {i:04d}" for i in range(N)], "suppression", NO_IDENTIFIER),
    "cards": ("card", [luhn(i) for i in range(N)], "suppression", NO_IDENTIFIER),
    "record numbers": ("x", list(range(1000, 1000 + N)), "suppression", NO_IDENTIFIER),
    "free text": ("notes", PROSE, "suppression", DROPPED),
    "empty": ("x", [None] * N, "suppression", DROPPED),
    "the same": ("country", ["CH"] * N, None, {"role": "keep"}),
    "one name": ("doctor_email", ["a.b@example.org"] * N, "suppression", NO_IDENTIFIER),
    "births": (
        "birth_date", BIRTHS, "k-anonymity-generalisation",
        {"role": "quasi", "hierarchy": {"kind": "dates", "levels": ["month", "year", "decade"]}},
    ),
    "days": (
        "visit", DAYS, "k-anonymity-generalisation",
        {"role": "quasi", "hierarchy": {"kind": "dates", "levels": ["month", "quarter", "year"]}},
    ),
    "old ages": (
        "age", [20 + i % 75 for i in range(N)], "top-and-bottom-coding",
        {"role": "quasi", "transform": {"kind": "top-code", "at": 89, "label": False}},
    ),
    "young ages": (
        "age", [20 + i % 60 for i in range(N)], "top-and-bottom-coding",
        {"role": "quasi", "transform": {"kind": "top-code", "k": "auto", "label": False}},
    ),
    "years of birth": (
        "birth_year", [1930 + i % 70 for i in range(N)], "top-and-bottom-coding",
        {"role": "quasi", "transform": {"kind": "bottom-code", "k": "auto", "label": False}},
    ),
    "zip texts": (
        "zip", [f"0{1000 + i % 50}" for i in range(N)], "k-anonymity-suppression",
        {"role": "quasi", "hierarchy": {"kind": "mask", "from": "right"}},
    ),
    "zip numbers": (
        "zip", [67540 + i % 50 for i in range(N)], "k-anonymity-suppression",
        {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask", "from": "right"}},
    ),
    "latitudes": (
        "latitude", [46 + i / 1000 for i in range(N)], "rounding",
        {"role": "quasi", "transform": {"kind": "round", "base": 0.1}},
    ),
    "points": ("where", [f"46.{1000 + i}, 7.{2000 + i}" for i in range(N)], "suppression", DROPPED),
    "incomes": ("income", AMOUNTS, "microaggregation", AVERAGED),
    "classes of income": ("income", [i % 9 * 1000 for i in range(N)], "t-closeness", {"role": "sensitive"}),
    "costs": ("cost", AMOUNTS, "microaggregation", AVERAGED),
    "numbers": ("thickness", AMOUNTS, "microaggregation", AVERAGED),
    "numbers of what": ("q17", AMOUNTS, "k-anonymity-generalisation", {"role": "quasi"}),
    "diagnoses": ("diagnosis", ["flu", "asthma", "angina"] * 100, "l-diversity", {"role": "sensitive"}),
    "rare codes": (
        "icd", [f"{chr(65 + i // 90)}{i % 90 + 10}.{i % 7}" for i in range(N)], "character-masking",
        {"role": "sensitive", "transform": {"kind": "mask", "keep_first": 3}},
    ),
    "rare illnesses": (
        "illness", [letters(i // 2) if i > 20 else letters(900 + i) for i in range(N)], "pram",
        {"role": "sensitive", "transform": {"kind": "pram", "invariant": True}},
    ),
    "weights": ("survey_weight", [1.5, 2.0, 2.5] * 100, None, {"role": "weight"}),
    "exact weights": (
        "survey_weight", [1 + i / 7 for i in range(N)], "microaggregation", {**AVERAGED, "role": "weight"},
    ),
    "categories": ("colour", ["red", "blue", "green"] * 100, "k-anonymity-generalisation", {"role": "quasi"}),
    "yes or no": ("smokes", [True, False, True] * 100, "k-anonymity-generalisation", {"role": "quasi"}),
    "few numbers": ("rooms", [1, 2, 3] * 100, "k-anonymity-generalisation", {"role": "quasi"}),
    "many categories": (
        "shop", [letters((i * 7 + i // 50) % 90) for i in range(N)], "k-anonymity-generalisation",
        {"role": "quasi"},
    ),
    "decimal commas": (
        "value", [f"{i},{i % 10}" for i in range(N)], "microaggregation",
        {"role": "sensitive", "type": "float", "decimal": ",", "transform": {"kind": "microaggregate", "k": "auto"}},
    ),
}  # fmt: skip


def frame_of(name, values):
    return pl.DataFrame({name: values, "pad": ["a", "b", "c"] * (N // 3)}, strict=False)


def advice_on(name, values):
    return tc.advise(frame_of(name, values))[name]


@cache
def advice_on_kind(kind):
    name, values, *_ = COLUMNS[kind]
    return advice_on(name, values)


def specs_of(advice):
    return [dict(remedy.spec) for remedy in advice.remedies]


def kinds_of(advice):
    return [remedy.kind for remedy in advice.remedies]


def visits(n_persons=60, n_each=5):
    """Persons with several rows each, of whom sex and town stay."""
    people = [(7000 + 13 * i, draw.choice("fm"), letters(i % 12)) for i in range(n_persons)]
    rows = [(*person, DAYS[(i * 5 + v) % N]) for i, person in enumerate(people) for v in range(n_each)]
    return pl.DataFrame(rows, schema=["nr", "sex", "ward", "visit"], orient="row")


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind_of_column_gets_the_technique_that_fits(kind):
    *_, technique, spec = COLUMNS[kind]
    best = advice_on_kind(kind).best
    assert (best.technique, dict(best.spec)) == (technique, spec)


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_line_is_one_that_a_policy_takes(kind):
    for remedy in advice_on_kind(kind).remedies:
        column = ColumnSpec.model_validate(dict(remedy.spec))
        assert column.role is remedy.role
        assert [each.name for each in column.transform] == [kind for kind in [remedy.kind] if kind]


@pytest.mark.parametrize("kind", COLUMNS)
def test_reasons_are_said_and_come_from_the_catalogue(kind):
    rules = {rule.name: rule for rule in catalogue().rules}
    techniques = {technique.name: technique for technique in catalogue().techniques}
    for remedy in advice_on_kind(kind).remedies:
        assert remedy.rule in rules
        assert all((remedy.why, remedy.publishes, remedy.not_from))
        if remedy.technique is None:
            continue
        offered = techniques[remedy.technique].offered
        if remedy.kind:
            assert remedy.kind in offered["transforms"]


def test_only_the_first_needs_no_occasion():
    for kind in COLUMNS:
        _, *others = advice_on_kind(kind).remedies
        assert all(remedy.when or remedy.role in (Role.DROP, Role.SENSITIVE, Role.QUASI) for remedy in others)


IDENTIFIERS = ["names", "mail", "phones", "cards", "record numbers", "free text", "one name"]


@pytest.mark.parametrize("kind", IDENTIFIERS)
def test_an_identifier_is_never_advised_to_be_published_as_it_is(kind):
    for remedy in advice_on_kind(kind).remedies:
        assert remedy.kind or remedy.role in (Role.DROP, Role.PERSON)
        assert remedy.role in (Role.IDENTIFIER, Role.PERSON, Role.DROP) or remedy.kind == "redact"


def test_identifiers_are_joined_by_digests_and_undone_by_encryption():
    assert kinds_of(advice_on_kind("record numbers")) == ["drop", "hmac", "aes-siv"]
    assert kinds_of(advice_on_kind("names")) == ["drop", "hmac", "aes-siv", "substitute"]
    assert kinds_of(advice_on_kind("mail")) == ["drop", "hmac", "aes-siv", "substitute", "mask"]
    rules = {remedy.kind: remedy.rule for remedy in advice_on_kind("names").remedies}
    assert (rules["hmac"], rules["aes-siv"]) == ("join", "re-contact")


def test_numbers_with_a_format_keep_it():
    assert kinds_of(advice_on_kind("cards")) == ["drop", "hmac", "ff1", "mask"]
    assert {"kind": "ff1", "key": "env:TABLECLOAK_KEY", "check": "luhn"} in [
        spec.get("transform") for spec in specs_of(advice_on_kind("cards"))
    ]
    assert kinds_of(advice_on("ssn", [f"{100 + i}-{10 + i % 80}-{1000 + i}" for i in range(N)])) == [
        "drop", "hmac", "ff1",
    ]  # fmt: skip
    # five digits are too few for it
    assert "ff1" not in kinds_of(advice_on("patient_id", [f"{10000 + i}" for i in range(N)]))


def test_free_text_is_dropped_or_redacted():
    assert specs_of(advice_on("notes", PROSE)) == [{"role": "drop"}, {"role": "keep", "transform": "redact"}]


def test_dates_of_persons_with_several_rows_are_shifted():
    report = tc.advise(visits())
    assert dict(report["nr"].best.spec) == {"role": "person"}
    assert kinds_of(report["nr"]) == [None, "counter", "hmac", "aes-siv"]
    assert report["visit"].best.technique == "date-shifting"
    assert dict(report["visit"].best.spec) == {"role": "keep", "transform": {"kind": "shift-dates", "days": 365}}
    assert report["visit"].remedies[1].technique == "k-anonymity-generalisation"


def test_a_birth_date_is_never_shifted():
    frame = visits().with_columns(birth_date=pl.Series([BIRTHS[i // 5] for i in range(N)]))
    assert "shift-dates" not in kinds_of(tc.advise(frame)["birth_date"])


def test_dates_as_people_write_them_come_with_their_format(tmp_path):
    frame = frame_of("visit", [day.strftime("%d.%m.%Y") for day in DAYS])
    frame.write_csv(tmp_path / "visits.csv")
    read = {"role": "quasi", "type": "date", "format": "dd.mm.yyyy"}
    assert read.items() <= dict(tc.advise(tmp_path / "visits.csv")["visit"].best.spec).items()
    assert read.items() <= dict(tc.advise(frame)["visit"].best.spec).items()


def test_money_may_be_rounded_cut_or_perturbed_too():
    kinds = kinds_of(advice_on("income", AMOUNTS))
    assert kinds == ["microaggregate", "round", "top-code", "noise", "rank-swap"]
    base = advice_on("income", AMOUNTS).remedies[1].spec["transform"]["base"]
    assert base in (1, 10, 100, 1000, 10_000, 100_000)
    assert 20 <= (max(AMOUNTS) - min(AMOUNTS)) / base < 200


def test_small_numbers_are_rounded_to_decimals():
    amounts = [i / 977 for i in range(N)]
    assert advice_on("income", amounts).remedies[1].spec["transform"] == {"kind": "round", "base": 0.01}


def test_a_key_of_households_is_not_published():
    frame = visits(120).with_columns(x=pl.col("nr").cast(pl.Float64) + 0.5)
    advice = tc.advise(frame)["x"]
    assert advice.best.role is Role.DROP
    assert all(remedy.role in (Role.DROP, Role.IDENTIFIER) for remedy in advice.remedies)


# The table as a whole ------------------------------------------------------------------------------------------------


def rules_of(report):
    return [advice.rule for advice in report.table]


def goals_of(report):
    return next(change.value for advice in report.table for change in advice.changes if change.place == "goals")


def test_only_quasi_identifiers_need_k_anonymity():
    report = tc.advise(frame_of("colour", ["red", "blue", "green"] * 100))
    assert rules_of(report) == ["only-quasi"]
    assert goals_of(report) == [{"model": "k-anonymity", "k": 5}]


def test_only_sensitive_columns_need_diversity_and_closeness():
    report = tc.advise(pl.DataFrame({"diagnosis": ["flu", "asthma", "angina"] * 100}))
    assert rules_of(report) == ["only-sensitive"]
    assert [goal["model"] for goal in goals_of(report)] == ["l-diversity", "t-closeness"]


def test_quasi_identifiers_and_sensitive_columns_need_all_three():
    report = tc.advise(frame_of("diagnosis", ["flu", "asthma", "angina"] * 100))
    assert rules_of(report) == ["quasi-and-sensitive", "faithful-copy"]
    assert goals_of(report) == [
        {"model": "k-anonymity", "k": 5},
        {"model": "l-diversity", "l": 3, "sensitive": "diagnosis"},
        {"model": "t-closeness", "t": 0.4, "sensitive": "diagnosis"},
    ]


def test_numbers_may_be_perturbed_and_k_anonymity_comes_first():
    report = tc.advise(frame_of("income", AMOUNTS))
    assert rules_of(report) == ["quasi-and-sensitive", "quantitative", "faithful-copy"]
    assert "k-anonymity comes first" in report.table[1].why
    assert [str(advice.status) for advice in report.table] == ["advised", "option", "option"]
    # of so many numbers no small group can be as mixed as the table
    assert [goal["model"] for goal in goals_of(report)] == ["k-anonymity", "l-diversity"]


def test_l_is_no_more_than_there_are_values():
    report = tc.advise(frame_of("hiv", ["yes", "no"] * (N // 2)))
    assert {"model": "l-diversity", "l": 2, "sensitive": "hiv"} in goals_of(report)


def test_patients():
    report = tc.advise(tc.sample.patients())
    assert {advice.name: advice.best.technique for advice in report.columns} == {
        "name": "suppression", "ssn": "suppression", "birth_date": "k-anonymity-generalisation",
        "sex": "k-anonymity-generalisation", "zip": "k-anonymity-suppression",
        "admission": "k-anonymity-generalisation", "diagnosis": "l-diversity",
        "insurance": "k-anonymity-generalisation", "cost": "microaggregation",
    }  # fmt: skip
    line = "columns.cost: {role: sensitive, transform: {kind: microaggregate, k: auto}}"
    assert report["cost"].to_dict()["line"] == line
    assert str(report).startswith("name: suppression (it names or numbers people")


def test_the_goals_that_are_advised_make_a_policy():
    frame = tc.sample.patients(300)
    report = tc.advise(frame)
    columns = {a.name: dict(a.best.spec) for a in report.columns}
    goals = [goal for goal in goals_of(report) if goal.get("sensitive", "diagnosis") in columns]
    policy = tc.Policy.model_validate({"columns": columns, "goals": goals, "algorithm": "mondrian"})
    assert tc.anonymize(frame, policy).report.verification.holds


# Under a policy ------------------------------------------------------------------------------------------------------


def policy_of(columns, goals=({"model": "k-anonymity", "k": 5},), **more):
    return tc.Policy.model_validate({"columns": columns, "goals": list(goals), **more})


def statuses(report):
    return {advice.name: str(advice.status) for advice in report.columns}


PATIENTS = {
    "name": "identifier", "ssn": "identifier", "birth_date": "quasi", "sex": "quasi", "zip": "quasi",
    "admission": "quasi", "diagnosis": "sensitive", "insurance": "quasi", "cost": "drop",
}  # fmt: skip
DIVERSE = {"model": "l-diversity", "l": 3, "sensitive": "diagnosis"}


def test_what_a_policy_does_well_is_fine():
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS))
    assert set(statuses(report).values()) == {"fine"}
    assert report["cost"].best.technique == "microaggregation"  # it could be published so
    assert report["cost"].now == "role: drop"


@pytest.mark.parametrize("role", ["keep", "quasi", "sensitive"])
def test_an_identifier_that_a_policy_publishes_is_unsafe(role):
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS | {"ssn": role}))
    assert report["ssn"].status == "unsafe"
    assert dict(report["ssn"].best.spec) == NO_IDENTIFIER


def test_a_pseudonym_is_fine_and_a_rounded_identifier_is_not():
    columns = {"x": {"role": "identifier", "transform": "hmac"}, "pad": "quasi"}
    frame = frame_of("x", list(range(N)))
    assert statuses(tc.advise(frame, policy_of(columns)))["x"] == "fine"
    columns["x"] = {"role": "identifier", "transform": {"kind": "round", "base": 1}}
    assert statuses(tc.advise(frame, policy_of(columns)))["x"] == "unsafe"


def test_exact_amounts_are_unsafe_as_they_are():
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS | {"cost": "keep"}))
    assert report["cost"].status == "unsafe"
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS | {"cost": "sensitive"}))
    assert report["cost"].status == "better"


def test_what_others_may_know_is_better_generalised_than_kept():
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS | {"insurance": "keep"}))
    assert (report["insurance"].status, report["insurance"].best.role) == ("better", Role.QUASI)


def test_a_policy_knows_what_is_sensitive():
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS | {"insurance": "sensitive"}))
    assert report["insurance"].best.technique == "l-diversity"


def test_goals_that_are_missing_are_named():
    report = tc.advise(tc.sample.patients(), policy_of(PATIENTS, [{"model": "k-anonymity", "k": 5}, DIVERSE]))
    assert (report.table[0].rule, report.table[0].status) == ("quasi-and-sensitive", "better")
    assert [change.to_dict() for change in report.table[0].changes] == [
        {"set": "goals.2", "to": {"model": "t-closeness", "t": 0.4, "sensitive": "diagnosis"}}
    ]
    report = tc.advise(policy_of(PATIENTS, [DIVERSE]))
    assert [change.value["model"] for change in report.table[0].changes] == ["t-closeness"]  # l: 3 asks for 3 alike
    report = tc.advise(policy_of(PATIENTS, [{"model": "t-closeness", "t": 0.3}]))
    assert [change.value["model"] for change in report.table[0].changes] == ["k-anonymity"]


def test_goals_that_are_there_are_fine():
    close = {"model": "t-closeness", "t": 0.3}
    report = tc.advise(policy_of(PATIENTS, [{"model": "k-anonymity", "k": 5}, DIVERSE, close]))
    assert (report.table[0].status, report.table[0].changes) == ("fine", ())


def test_persons_that_a_policy_does_not_count_are_unsafe():
    report = tc.advise(visits(), policy_of({"nr": "identifier", "sex": "quasi", "ward": "quasi", "visit": "quasi"}))
    persons = next(advice for advice in report.table if advice.rule == "persons")
    assert persons.status == "unsafe"
    assert [change.to_dict() for change in persons.changes] == [{"set": "columns.nr.role", "to": "person"}]
    report = tc.advise(visits(), policy_of({"nr": "person", "sex": "quasi", "ward": "quasi", "visit": "quasi"}))
    assert "persons" not in rules_of(report)


def test_columns_that_nobody_named_are_looked_at_where_they_are_published():
    columns = {name: role for name, role in PATIENTS.items() if name != "name"}
    report = tc.advise(tc.sample.patients(), policy_of(columns, others="keep"))
    assert statuses(report)["name"] == "unsafe"
    assert "unclassified" in rules_of(report)
    report = tc.advise(tc.sample.patients(), policy_of(columns))
    assert "name" not in statuses(report)


def test_without_data_roles_and_names_decide(tmp_path):
    columns = {"street": "keep", "diagnosis": "keep", "x": "keep", "ward": "quasi", "id": "identifier"}
    report = tc.advise(policy_of(columns, input="nowhere.csv").at(tmp_path))
    assert report.n_rows is None
    assert statuses(report) == {
        "street": "unsafe", "diagnosis": "better", "x": "better", "ward": "fine", "id": "fine",
    }  # fmt: skip
    assert report["diagnosis"].best.technique == "l-diversity"


def test_the_input_of_a_policy_is_looked_at(tmp_path):
    tc.sample.patients(600).write_csv(tmp_path / "patients.csv")
    policy = policy_of(PATIENTS, input="patients.csv").at(tmp_path)
    assert tc.advise(policy).n_rows == 600
    other = tmp_path / "other.csv"
    tc.sample.patients(500).write_csv(other)
    assert tc.advise(other, policy).n_rows == 500


def test_sets_of_items_are_a_case_of_their_own():
    goal = {"model": "km-anonymity", "k": 2, "m": 2}
    report = tc.advise(policy_of({"basket": "items"}, [goal]))
    assert (rules_of(report), report["basket"].best.rule) == (["items"], "items")


# Nothing of the data is shown ----------------------------------------------------------------------------------------


def marked(values):
    """The same cells with a mark in every text, and numbers that can be recognised."""

    def mark(value):
        if isinstance(value, str):
            return f"{value} {CANARY}"
        return value + 8_172_635 if isinstance(value, int) and not isinstance(value, bool) else value

    return [mark(value) for value in values]


def test_no_advice_shows_a_cell():
    columns = {f"{name} {i}": marked(values) for i, (name, values, *_) in enumerate(COLUMNS.values())}
    frame = pl.DataFrame(columns, strict=False)
    policy = policy_of(dict.fromkeys(frame.columns, "keep") | {"pad": "quasi"})
    for report in (tc.advise(frame), tc.advise(frame.with_columns(pad=pl.lit("a")), policy)):
        shown = f"{report} {report!r} {json.dumps(report.to_dict())}"
        assert CANARY not in shown
        assert "81726" not in shown
        assert not any(str(amount) in shown for amount in AMOUNTS)
        assert not any(str(day) in shown for day in (*DAYS, *BIRTHS))


def test_remedies_are_the_same_whatever_the_cells_are_called():
    one = tc.inspect(frame_of("colour", ["red", "blue", "green"] * 100)).columns[0]
    two = tc.inspect(frame_of("colour", ["rot", "blau", CANARY] * 100)).columns[0]
    assert remedies(one.column, one.advice) == remedies(two.column, two.advice)
