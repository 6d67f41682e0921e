"""What every registered detector promises; ours and those of others."""

from __future__ import annotations

from datetime import date, timedelta

import polars as pl
import pytest
from checks_kinds import check_detector

from tablecloak.profile.column import column_of
from tablecloak.profile.detector import detect
from tablecloak.registry import known

N = 40


def letters(i: int) -> str:
    return "".join(chr(97 + i // 26**p % 26) for p in range(3))


DAYS = [date(1950, 1, 1) + timedelta(days=397 * i) for i in range(N)]
# Values that each detector must know, under a header that says no more than it has to.
EXAMPLES = {
    "email": ("contact", [f"{letters(i)}@example.org" for i in range(N)]),
    "phone": ("mobile", [f"0151 {1000000 + i}" for i in range(N)]),
    "person-name": ("patient_name", [f"{letters(i).title()} O'Neil-{letters(i + 7).title()}" for i in range(N)]),
    "ssn": ("x", [f"{100 + i}-{10 + i}-{1000 + i}" for i in range(N)]),
    "national-id": ("x", ["943 476 5919", "943 476 5870", "401 023 2137", "987 654 3210", "401 023 2145"]),
    "given-name": ("x", [f"{name} {letters(i)}" for i, name in enumerate(["Anna", "Peter", "Mary", "Ali"] * 10)]),
    "iban": ("x", ["DE89370400440532013000", "GB82 WEST 1234 5698 7654 32", "FR1420041010050500013M02606"]),
    "credit-card": ("x", ["4111111111111111", "5500 0055 5555 5559", "340000000000009"]),
    "ip-address": ("x", [f"10.0.0.{i}" for i in range(N)] + ["2001:db8::1"]),
    "url": ("x", [f"https://example.org/{i}" for i in range(N)]),
    "device": ("x", [f"00:1B:44:11:3A:{i:02X}" for i in range(N)]),
    "record-number": ("patientID", [f"P{i}" for i in range(N)]),
    "birth-date": ("dateOfBirth", DAYS),
    "birth-year": ("year_of_birth", [1950 + i for i in range(N)]),
    "date": ("admitted", DAYS),
    "postcode": ("zip", [10000 + 37 * i for i in range(N)]),
    "coordinates": ("lat", [50 + i / 100 for i in range(N)]),
    "free-text": ("x", [f"the patient said {letters(i)} to us yesterday" for i in range(N)]),
    "icd": ("x", [f"J{10 + i}.{i % 10}" for i in range(N)]),
    "health": ("main_diagnosis", ["flu", "asthma"] * 20),
    "income": ("salary-class", ["low", "high"] * 20),
    "belief": ("religion", ["a", "b"] * 20),
    "amount": ("total_cost", [1.5 * i for i in range(N)]),
    "written-date": ("x", [f"{day:%d.%m.%Y}" for day in DAYS]),
    "decimal-comma": ("x", [f"{i},50" for i in range(N)]),
    "survey-weight": ("fnlwgt", [100.0, 250.5] * 20),
    "age": ("age", list(range(20, 60))),
    "demographic": ("marital-status", ["single", "married"] * 20),
    "place": ("city", ["Bonn", "Ulm"] * 20),
    "address": ("street", [f"Main Street {i}" for i in range(N)]),
}


@pytest.mark.parametrize("name", known("detectors"))
def test_it_keeps_what_every_detector_promises(name):
    check_detector(known("detectors")[name], EXAMPLES[name])


def test_every_detector_has_an_example():
    assert set(EXAMPLES) == set(known("detectors"))


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_of_all_detectors_it_is_surest_of_its_own(name):
    finding = detect(column(*EXAMPLES[name]))
    assert finding is not None
    assert finding.detector == name


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"date"}))
def test_it_is_silent_about_plain_numbers(name):
    assert known("detectors")[name](column("x", [1000.5 + i for i in range(N)])) is None


def column(name, values):
    return column_of(pl.Series(name, values))[0]
