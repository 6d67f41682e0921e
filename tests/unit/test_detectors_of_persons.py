"""National numbers and names: published examples are found, altered ones are not."""

from __future__ import annotations

import sys

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.profile.detectors import email, national_id, phone

# Examples that authorities or standards publish, and numbers whose check digits were computed by hand.
VALID = {
    "is_nhs": "943 476 5919",
    "is_bsn": "111222333",
    "is_dni": "12345678Z",
    "is_nir": "2 55 08 14 168 025 38",
    "is_codice_fiscale": "RSSMRA85T10A562S",
    "is_steuer_id": "86095742719",
    "is_personnummer": "811218-9876",
    "is_hetu": "131052-308T",
    "is_pesel": "44051401359",
    "is_cpf": "529.982.247-25",
    "is_resident_id": "11010519491231002X",
    "is_tfn": "123456782",
}


@pytest.mark.parametrize(("check", "number"), VALID.items())
def test_published_numbers_are_valid(check, number):
    assert getattr(national_id, check)(number)


@pytest.mark.parametrize(("check", "number"), VALID.items())
def test_one_altered_digit_is_noticed(check, number):
    is_valid = getattr(national_id, check)
    places = [i for i, c in enumerate(number) if c.isdigit()]
    altered = [number[:i] + str((int(number[i]) + 1) % 10) + number[i + 1 :] for i in places[-4:]]
    assert not any(is_valid(text) for text in altered)


def test_verhoeff_notices_every_altered_digit_and_swap():
    first = next(n for n in range(234123412340, 234123412350) if national_id.is_aadhaar(str(n)))
    text = str(first)
    for i in range(12):
        for d in "23456789" if i == 0 else "0123456789":
            other = text[:i] + d + text[i + 1 :]
            assert national_id.is_aadhaar(other) == (other == text)
    for i in range(1, 11):
        swapped = text[:i] + text[i + 1] + text[i] + text[i + 2 :]
        assert national_id.is_aadhaar(swapped) == (swapped == text)


def valid_numbers(check, numbers, n=60):
    return [str(x) for x in numbers if check(str(x))][:n]


def test_a_column_of_numbers_with_checksums_is_found_whatever_its_name():
    numbers = valid_numbers(national_id.is_pesel, range(44051401000, 44051402000))
    found = tc.inspect(pl.DataFrame({"x": numbers, "y": [i % 3 for i in range(len(numbers))]})).columns[0]
    assert found.role == "identifier"
    assert "PESEL" in found.advice.looks_like
    assert numbers[0] not in str(found.to_dict())


def test_arbitrary_numbers_are_no_national_numbers():
    frame = pl.DataFrame({"x": [str(44051401000 + 7 * i) for i in range(200)]})
    assert "checksum" not in tc.inspect(frame).columns[0].advice.looks_like


def test_names_are_found_without_a_telling_header():
    names = [f"{first} {last}" for first in ("Mary", "John", "Anna", "Peter", "Ali") for last in "ABCDEFGH"]
    found = tc.inspect(pl.DataFrame({"col1": names})).columns[0]
    assert (found.role, found.advice.detector) == ("identifier", "given-name")


def test_products_are_no_names():
    frame = pl.DataFrame({"col1": [f"Widget {i}" for i in range(40)]})
    assert tc.inspect(frame).columns[0].advice.detector != "given-name"


def test_addresses_and_phone_numbers_work_without_the_extra(monkeypatch):
    for module in ("email_validator", "phonenumbers", "stdnum"):
        monkeypatch.setitem(sys.modules, module, None)
    for cached in (email._check, phone._check, national_id._more):
        cached.cache_clear()
    frame = pl.DataFrame(
        {"a": [f"x{i}@example.org" for i in range(30)], "b": [f"+49 30 1234{i:03}" for i in range(30)]}
    )
    found = [c.advice.looks_like for c in tc.inspect(frame).columns]
    for cached in (email._check, phone._check, national_id._more):
        cached.cache_clear()
    assert found == ["e-mail address (100%)", "phone number (100%)"]


def test_with_the_extra_more_countries_are_known():
    pytest.importorskip("stdnum")
    numbers = [f"756.1234.{i:04}." for i in range(40)]  # Swiss, without the check digit
    check = national_id._more()["Swiss AHV number"]
    whole = [next(n + f"{x}{d}" for x in [5] for d in range(10) if check(n + f"{x}{d}")) for n in numbers]
    assert "Swiss AHV" in tc.inspect(pl.DataFrame({"x": whole})).columns[0].advice.looks_like
