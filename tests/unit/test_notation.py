"""Dates and numbers as people write them: decided by the whole column, asked about where it does not say."""

from __future__ import annotations

import random
from datetime import date, timedelta

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy_files import lint, read_hierarchy
from tablecloak.io.cells import canonical_texts
from tablecloak.io.months import MONTHS
from tablecloak.io.notation import CellEvidence, Notation, is_format, strptime_of
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame
from tablecloak.policy.load import parse_policy
from tablecloak.policy.problems import InvalidPolicyError

DRAW = random.Random(5)
DAYS = [date(1925, 1, 1) + timedelta(days=DRAW.randrange(36_000)) for _ in range(300)]
NAMES = {
    "English": "January February March April May June July August September October November December",
    "German": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "French": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "Spanish": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "Italian": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "Portuguese": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "Dutch": "januari februari maart april mei juni juli augustus september oktober november december",
    "Polish": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia",
}


def written(cells, type_=ColumnType.TEXT, name="x"):
    evidence = CellEvidence(name, type_)
    evidence.add(pl.Series(name, cells))
    return evidence.decided()


def read(cells, notation, type_):
    return pl.DataFrame({"x": cells}).select(notation.parser("x", type_))["x"].to_list()


@pytest.mark.parametrize("language", NAMES)
@pytest.mark.parametrize("style", ["{d} {m} {y}", "{d}. {m} {y}", "{d} de {m} de {y}", "{m} {d}, {y}", "{d}-{m}-{y}"])
def test_months_by_name_are_read_in_eight_languages(language, style):
    months = NAMES[language].split()
    cells = [style.format(d=day.day, m=months[day.month - 1], y=day.year) for day in DAYS]
    answer = written(cells)
    assert answer.type is ColumnType.DATE
    assert read(cells, answer.notation, answer.type) == DAYS


def test_no_name_of_a_month_means_two():
    assert len(MONTHS) > 150
    for language, names in NAMES.items():
        for number, name in enumerate(names.split()):
            months = NAMES["English"].split()
            assert MONTHS[name.lower()] == months[number][:3], language


@pytest.mark.parametrize(
    ("form", "python"),
    [
        ("dd.mm.yyyy", "%d.%m.%Y"), ("dd/mm/yyyy", "%d/%m/%Y"), ("mm/dd/yyyy", "%m/%d/%Y"), ("yyyy/mm/dd", "%Y/%m/%d"),
        ("dd-mm-yyyy", "%d-%m-%Y"), ("yyyymmdd", "%Y%m%d"),
    ],
)  # fmt: skip
def test_orders_of_dates_are_decided_by_all_cells(form, python):
    cells = [day.strftime(python) for day in DAYS]
    answer = written(cells, ColumnType.INTEGER if form == "yyyymmdd" else ColumnType.TEXT)
    assert (answer.type, answer.notation) == (ColumnType.DATE, Notation(form))
    assert read(cells, answer.notation, ColumnType.DATE) == DAYS


@pytest.mark.parametrize("mark", ["/", "-"])
def test_dates_whose_day_and_month_no_cell_tells_apart_are_asked_about(mark):
    answer = written([f"{1 + i % 12}{mark}{1 + i * 5 % 12}{mark}{1950 + i}" for i in range(40)])
    assert answer.notation is None
    assert {c.format for c in answer.question.choices} == {f"dd{mark}mm{mark}yyyy", f"mm{mark}dd{mark}yyyy"}
    assert f"dd{mark}mm{mark}yyyy" in answer.question.hint("x")


def test_years_of_two_digits_are_asked_about_and_read_with_their_last_year():
    cells = [day.strftime("%d.%m.%y") for day in DAYS]
    question = written(cells).question
    assert [c.format for c in question.choices] == ["dd.mm.yy"]
    assert "last_year" in question.hint("x")
    assert read(cells, Notation("dd.mm.yy", last_year=2024), ColumnType.DATE) == DAYS


def test_a_leap_day_that_the_century_lacks_is_no_date():
    assert read(["29.02.00", "28.02.00"], Notation("dd.mm.yy", last_year=1950), ColumnType.DATE) == [
        None, date(1900, 2, 28),
    ]  # fmt: skip


def test_dates_written_in_several_ways_are_said_with_counts():
    cells = [d.isoformat() if i % 4 == 0 else d.strftime("%d.%m.%Y") for i, d in enumerate(DAYS)]
    answer = written([*cells, "unknown"])
    assert answer.notation is None
    assert "225 as dd.mm.yyyy" in answer.question.text
    assert "75 as yyyy-mm-dd" in answer.question.text
    assert "1 as no date" in answer.question.text


def test_days_of_a_spreadsheet_need_a_header_that_says_date():
    cells = [str((day - date(1899, 12, 30)).days) for day in DAYS]
    answer = written(cells, ColumnType.INTEGER, "date of birth")
    assert answer.notation == Notation("excel")
    assert read(cells, answer.notation, ColumnType.DATE) == DAYS
    assert written(cells, ColumnType.INTEGER, "income").notation is None
    assert written([str(y) for y in range(1950, 1990)], ColumnType.INTEGER, "birth").notation is None


def people_write(value, decimal, thousands, unit):
    """A number with two decimals, by a rule of its own."""
    sign, cents = "-" * (value < 0), abs(value)
    digits = str(cents // 100)
    groups = [digits[max(0, end - 3) : end] for end in range(len(digits), 0, -3)][::-1]
    text = (thousands or "").join(groups) if thousands else digits
    number = f"{sign}{text}{decimal}{cents % 100:02}"
    return f"{number} {unit}" if unit else number


@pytest.mark.parametrize("unit", [None, "€", "kg", "%"])
@pytest.mark.parametrize(
    ("decimal", "thousands"), [(",", None), (",", "."), (",", " "), (",", "'"), (".", ","), (".", "'"), (".", " ")]
)
def test_marks_and_units_of_numbers_are_decided_by_all_cells(decimal, thousands, unit):
    cents = [DRAW.randrange(-(10**9), 10**9) for _ in range(200)]
    cells = [people_write(value, decimal, thousands, unit) for value in cents]
    answer = written(cells)
    assert answer.type is ColumnType.FLOAT
    assert (answer.notation.decimal, answer.notation.thousands, answer.notation.unit) == (decimal, thousands, unit)
    assert read(cells, answer.notation, answer.type) == [value / 100 for value in cents]


@pytest.mark.parametrize("mark", [",", "."])
def test_what_is_written_with_a_notation_reads_back(mark):
    values = pl.DataFrame({"x": [1.5, 1234.125, -0.25, 1000000.0]})
    notation = Notation(decimal=mark, thousands="." if mark == "," else ",", unit="€")
    texts = values.select(notation.written(pl.col("x"), ColumnType.FLOAT).alias("x"))
    assert texts.select(notation.parser("x", ColumnType.FLOAT))["x"].to_list() == values["x"].to_list()


@pytest.mark.parametrize("form", ["dd.mm.yyyy", "d mmmm yyyy", "excel", "yyyymmdd", "mm/dd/yy"])
def test_dates_that_are_written_with_a_notation_read_back(form):
    notation = Notation(form, last_year=2024 if form.endswith("/yy") else None)
    texts = pl.DataFrame({"x": DAYS}).select(notation.written(pl.col("x"), ColumnType.DATE).alias("x"))
    assert texts.select(notation.parser("x", ColumnType.DATE))["x"].to_list() == DAYS


@pytest.mark.parametrize(
    "cells",
    [
        ["01067", "01069", "80331", "10115", "04109"],
        ["12a", "13a", "14a", "15a", "16a"],
        ["1.2.3", "1.10.2", "2.0.1", "3.1.1", "4.5.6"],
        ["10-20", "20-30", "30-40", "40-50", "50-60"],
        ["A*02:01", "A*03:01", "B*07:02", "B*08:01", "C*01:02"],
        ["Bern", "Thun", "Olten", "Chur", "Basel"],
        ["079 123 45 67", "031 512 34 56", "079 444 55 66", "078 111 22 33", "031 999 88 77"],
        ["192.168.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"],
    ],
)
def test_codes_stay_text(cells):
    answer = written(cells)
    assert (answer.type, answer.notation, answer.question) == (None, None, None)


def test_a_thousands_mark_that_may_begin_decimals_is_asked_about():
    answer = written(["1,234", "2,345", "999", "4,111", "5,251"])
    assert {(c.decimal, c.thousands) for c in answer.question.choices} == {(",", None), (None, ",")}
    assert written(["1,234", "2,345", "999", "4,111", "1,000,251"]).notation == Notation(thousands=",")
    assert written(["1,234", "2,345", "999", "4,111", "5,25"]).notation == Notation(decimal=",")


@pytest.mark.parametrize(
    ("form", "is_good"),
    [("dd.mm.yyyy", True), ("excel", True), ("%d/%m/%Y", True), ("mm.yyyy", False), ("soon", False)],
)
def test_a_format_says_day_month_and_year(form, is_good):
    assert is_format(form) is is_good


def test_minutes_are_told_from_months():
    assert strptime_of("dd.mm.yyyy hh:mm:ss") == "%d.%m.%Y %H:%M:%S"


# Whole columns -------------------------------------------------------------------------------------------------------


def table(folder, cells, name="people.csv", header="seen"):
    rows = "".join(f"{cell};{'mf'[i % 2]}\n" for i, cell in enumerate(cells))
    (folder / name).write_text(f"{header};sex\n{rows}", encoding="utf-8")
    return folder / name


def many(last):
    return [*(f"{1 + i % 12:02}/{1 + i * 7 % 12:02}/{1950 + i % 50}" for i in range(90_000)), last]


@pytest.mark.parametrize(
    ("last", "form"), [("31/01/2000", "dd/mm/yyyy"), ("01/31/2000", "mm/dd/yyyy"), ("01/02/2000", None)]
)
def test_the_last_cell_of_a_large_file_decides(tmp_path, last, form):
    column = sniff(Source(table(tmp_path, many(last)))).column("seen")
    assert (column.notation and column.notation.format) == form
    assert (column.question is None) == (form is not None)


def test_floats_that_are_whole_up_to_the_last_row_stay_floats(tmp_path):
    path = table(tmp_path, [*(f"{20 + i % 50}.0" for i in range(90_000)), "20.5"])
    assert sniff(Source(path)).type_of("seen") is ColumnType.FLOAT
    path = table(tmp_path, [f"{20 + i % 50}.0" for i in range(90_000)], "whole.csv")
    assert sniff(Source(path)).type_of("seen") is ColumnType.INTEGER
    assert read_frame(path)["seen"].to_list()[:3] == [20, 21, 22]


def test_another_file_of_the_folder_decides(tmp_path):
    (tmp_path / "in").mkdir()
    table(tmp_path / "in", ["1/2/2000", "3/4/2000", "5/6/2000"], "a.csv")
    assert sniff(Source(tmp_path / "in")).column("seen").question is not None
    table(tmp_path / "in", ["31/1/2000", "30/4/2000"], "b.csv")
    frame = read_frame(tmp_path / "in")
    assert frame["seen"].to_list() == [
        date(2000, 2, 1), date(2000, 4, 3), date(2000, 6, 5), date(2000, 1, 31), date(2000, 4, 30),
    ]  # fmt: skip


def test_texts_of_a_parquet_file_are_read_alike(tmp_path):
    pl.DataFrame(
        {"born": [d.strftime("%d.%m.%Y") for d in DAYS], "n": [int(f"{d:%Y%m%d}") for d in DAYS]}
    ).write_parquet(tmp_path / "x.parquet")
    frame = read_frame(tmp_path / "x.parquet")
    assert frame["born"].to_list() == frame["n"].to_list() == DAYS


def test_a_declared_type_without_a_format_is_read_as_it_is_written(tmp_path):
    path = table(tmp_path, [d.strftime("%d.%m.%Y") for d in DAYS])
    assert read_frame(Source(path, types={"seen": ColumnType.DATE}))["seen"].to_list() == DAYS
    assert read_frame(Source(path, types={"seen": ColumnType.TEXT}))["seen"].dtype == pl.String


# Runs ----------------------------------------------------------------------------------------------------------------

POLICY = """
version: 1
input: people.csv
columns:
  seen: {spec}
  sex: quasi
goals: [{{model: k-anonymity, k: 5}}]
output: out.csv
"""


def policy(folder, spec):
    return parse_policy(POLICY.format(spec=spec), name="p", base=folder)


def covers(published, original):
    """Whether a published cell holds a date; written for this test alone."""
    if published == "*":
        return True
    lowest, _, highest = published.strip("[]").partition(", ")
    return lowest <= original.isoformat() <= (highest or lowest)


def test_a_run_reads_dates_without_being_told_as_with(tmp_path):
    table(tmp_path, [d.strftime("%d.%m.%Y") for d in DAYS])
    releases = []
    for spec in ("quasi", "{role: quasi, type: date, format: dd.mm.yyyy}", '{role: quasi, format: "%d.%m.%Y"}'):
        report = tc.run(policy(tmp_path, spec), force=True)
        assert report.verification.covers
        releases.append((tmp_path / "out.csv").read_bytes())
    assert releases[0] == releases[1] == releases[2]
    published = pl.read_csv(tmp_path / "out.csv", infer_schema=False)["seen"].to_list()
    assert len(published) == len(DAYS)
    for cell in set(published):
        inside = sum(covers(cell, day) for day in DAYS)
        assert inside >= published.count(cell)
    assert tc.verify(tmp_path / "out.csv", policy(tmp_path, "quasi"), original=tmp_path / "people.csv").holds


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([f"{1 + i % 12}/{1 + i * 5 % 12}/{1950 + i % 40}" for i in range(100)], "format: dd/mm/yyyy"),
        ([d.strftime("%m/%d/%y") for d in DAYS], "last_year"),
        ([d.isoformat() if i % 5 else d.strftime("%d.%m.%Y") for i, d in enumerate(DAYS)], "type: text"),
    ],
)
def test_a_run_asks_and_says_what_to_write(tmp_path, cells, said):
    table(tmp_path, cells)
    with pytest.raises(DataError) as asked:
        tc.run(policy(tmp_path, "quasi"))
    assert said in str(asked.value.hint)
    assert not any(cell in str(asked.value) for cell in cells)
    assert tc.run(policy(tmp_path, "{role: quasi, type: text}")).verification.holds


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_sensitive_numbers_are_published_as_letters_or_as_values(tmp_path, kind):
    cents = [DRAW.randrange(10**5, 10**7) for _ in DAYS]
    cells = [people_write(value, ",", ".", "€") for value in cents]
    rows = "".join(f"{day:%d.%m.%Y};{cell}\n" for day, cell in zip(DAYS, cells, strict=True))
    (tmp_path / "people.csv").write_text(f"seen;pay\n{rows}", encoding="utf-8")
    text = POLICY.format(spec="quasi").replace("sex: quasi", "pay: sensitive")
    text = text.replace("k: 5}]", "k: 5}, {model: t-closeness, t: 0.6, sensitive: pay}]")
    asked = parse_policy(text.replace("out.csv", f"out.{kind}"), name="p", base=tmp_path)
    assert tc.run(asked).verification.covers
    release = tmp_path / f"out.{kind}"
    assert tc.verify(release, asked, original=tmp_path / "people.csv").holds
    if kind == "csv":
        assert sorted(pl.read_csv(release, infer_schema=False)["pay"]) == sorted(cells)
    else:
        assert sorted(pl.read_parquet(release)["pay"]) == sorted(value / 100 for value in cents)


def test_a_frame_is_read_as_a_file_is(tmp_path):
    frame = pl.DataFrame({"seen": [d.strftime("%d.%m.%Y") for d in DAYS], "sex": ["m", "f"] * 150})
    release = tc.anonymize(frame, policy(tmp_path, "quasi"))
    assert release.report.verification.covers
    assert all(
        cell == "*" or cell[:1] == "[" or cell[4] == "-" for cell in release.frame["seen"].cast(pl.String).to_list()
    )
    assert tc.verify(release.frame, policy(tmp_path, "quasi"), original=frame).holds


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{role: quasi, format: dd.mm.yy}", "last_year"),
        ("{role: quasi, format: soon}", "a day, a month and a year"),
        ("{role: quasi, type: text, decimal: ','}", "only numbers"),
        ("{role: quasi, format: dd.mm.yyyy, unit: kg}", "only numbers"),
        ("{role: quasi, decimal: ',', thousands: ','}", "same mark"),
        ("{role: quasi, type: float, format: dd.mm.yyyy}", "only dates"),
    ],
)
def test_ways_of_writing_that_do_not_fit_are_refused(tmp_path, spec, said):
    with pytest.raises(InvalidPolicyError, match=said):
        policy(tmp_path, spec)


# Hierarchies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "type_", "canonical"),
    [
        (["32.60", "7", "1e1", "x"], ColumnType.FLOAT, ["32.6", "7.0", "10.0", "x"]),
        (["34.0", "35", "07"], ColumnType.INTEGER, ["34", "35", "7"]),
        (["09.02.1933", "1960-03-05"], ColumnType.DATE, ["09.02.1933", "1960-03-05"]),
        (["09.02.1933", "31.12.1960"], ColumnType.DATE, ["1933-02-09", "1960-12-31"]),
        (["007", "32.60"], ColumnType.TEXT, ["007", "32.60"]),
    ],
)
def test_leaves_stand_for_values_of_the_column(texts, type_, canonical):
    assert canonical_texts(texts, type_) == canonical


def test_a_hierarchy_of_numbers_binds_by_value(tmp_path):
    file = tmp_path / "bmi.csv"
    file.write_text("32.60;30-34;*\n33;30-34;*\n20.10;20-24;*\n", encoding="utf-8")

    def as_floats(texts):
        return canonical_texts(texts, ColumnType.FLOAT)

    assert read_hierarchy(file, as_column=as_floats).codes(["32.6", "33.0", "20.1"]).min() >= 0
    assert lint(file, ["32.6", "33.0", "20.1"], as_column=as_floats) == []
    assert lint(file, ["32.6"])[0].severity == "error"


def test_two_writings_of_one_value_must_agree_on_its_path(tmp_path):
    file = tmp_path / "bmi.csv"
    file.write_text("32.60;30-34;*\n32.6;35-39;*\n", encoding="utf-8")
    with pytest.raises(DataError, match="second path"):
        read_hierarchy(file, as_column=lambda texts: canonical_texts(texts, ColumnType.FLOAT))
