"""National numbers of persons: citizens', tax, social insurance and health numbers, by their checksums."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial

from tablecloak.profile.detector import Column, Match, Role, detector, percent

# Of arbitrary numbers one in ten or eleven has a right check digit, so nearly all must.
ENOUGH, FEWEST = 0.9, 5
Check = Callable[[str], bool]


@detector("national-id")
def national_id(column: Column) -> Match | None:
    """National numbers of persons of 15 countries, by pattern and checksum; with the extra `pii`, of many more."""
    if not column.is_code or len(column.sample) < FEWEST:
        return None
    if not (column.is_near_unique or column.says("national-id")):  # before the checks, which take long to load
        return None
    for name, check in {**NUMBERS, **_more()}.items():
        share = column.share(check, at_least=ENOUGH)
        if share >= ENOUGH:
            looks_like = f"{name} ({percent(share)} with a valid checksum)"
            return Match(looks_like, Role.IDENTIFIER, "names one person", 0.97 if share > 0.98 else 0.93)
    return None


def _digits(text: str, n: int) -> list[int] | None:
    """The digits of a number of exactly n digits, separators aside."""
    compact = re.sub(r"[ .\-/]", "", text)
    return [int(c) for c in compact] if len(compact) == n and compact.isascii() and compact.isdigit() else None


def _weighted(digits: list[int], weights: tuple[int, ...]) -> int:
    return sum(d * w for d, w in zip(digits, weights, strict=False))


def is_nhs(text: str) -> bool:
    """United Kingdom: weights 10 to 2, the check digit completes the sum to a multiple of 11."""
    digits = _digits(text, 10)
    return digits is not None and any(digits) and (_weighted(digits, tuple(range(10, 1, -1))) + digits[9]) % 11 == 0


def is_bsn(text: str) -> bool:
    """Netherlands: weights 9 to 2 and -1 for the last digit give a multiple of 11."""
    digits = _digits(text, 9)
    return digits is not None and any(digits) and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def is_dni(text: str) -> bool:
    """Spain: the letter is given by the number modulo 23; X, Y and Z of foreigners count as 0, 1 and 2."""
    match = re.fullmatch(r"([XYZ]?)(\d{7,8})-?([A-Z])", text.strip().upper())
    if not match or len(match[1] + match[2]) != 8:
        return False
    number = int(("XYZ".index(match[1]) if match[1] else 0) * 10**7 + int(match[2]))
    return match[3] == "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23]


def is_nir(text: str) -> bool:
    """France: the last two digits are 97 minus the number before them modulo 97; Corsica has 2A and 2B."""
    compact = re.sub(r"[ .\-]", "", text.upper())
    if not re.fullmatch(r"[12378]\d{4}(\d{2}|2[AB])\d{8}", compact):
        return False
    number = int(compact[:13].replace("2A", "19").replace("2B", "18"))
    return 97 - number % 97 == int(compact[13:])


def is_codice_fiscale(text: str) -> bool:
    """Italy: places with odd numbers count by a table, even ones by their value; the letter is the sum modulo 26."""
    compact = text.strip().upper()
    if not re.fullmatch(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", compact):
        return False
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    values = [int(c) if c.isdigit() else ord(c) - 65 for c in compact[:15]]
    total = sum(odd[value] if place % 2 == 0 else value for place, value in enumerate(values))
    return compact[15] == chr(65 + total % 26)


def is_steuer_id(text: str) -> bool:
    """Germany: check digit of ISO 7064, MOD 11, 10."""
    digits = _digits(text, 11)
    if digits is None or digits[0] == 0:
        return False
    product = 10
    for digit in digits[:10]:
        total = (digit + product) % 10 or 10
        product = 2 * total % 11
    return (11 - product) % 10 == digits[10]


def is_personnummer(text: str) -> bool:
    """Sweden: a date, and a Luhn check digit over the last ten digits."""
    compact = re.sub(r"[ +\-]", "", text)
    if not re.fullmatch(r"(\d{2})?\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01]|[6-8]\d|9[01])\d{4}", compact):
        return False
    return _luhn([int(c) for c in compact[-10:]])


def is_hetu(text: str) -> bool:
    """Finland: a date, a century sign, three digits, and a character given by the number modulo 31."""
    match = re.fullmatch(r"([0-3]\d[01]\d{3})[-+ABCDEFYXWVU](\d{3})([0-9A-Y])", text.strip().upper())
    return bool(match) and "0123456789ABCDEFHJKLMNPRSTUVWXY"[int(match[1] + match[2]) % 31] == match[3]  # type: ignore[index]


def is_fodselsnummer(text: str) -> bool:
    """Norway: a date and two check digits modulo 11."""
    digits = _digits(text, 11)
    if digits is None or not any(digits):
        return False
    first = -_weighted(digits, (3, 7, 6, 1, 8, 9, 4, 5, 2)) % 11
    second = -_weighted(digits, (5, 4, 3, 2, 7, 6, 5, 4, 3, 2)) % 11
    return (first, second) == (digits[9], digits[10])


def is_pesel(text: str) -> bool:
    """Poland: weights 1, 3, 7, 9 in turn; the check digit completes the sum to a multiple of 10."""
    digits = _digits(text, 11)
    return digits is not None and any(digits) and (_weighted(digits[:10], (1, 3, 7, 9) * 3) + digits[10]) % 10 == 0


def is_cpf(text: str) -> bool:
    """Brazil: two check digits modulo 11."""
    digits = _digits(text, 11)
    if digits is None or len(set(digits)) == 1:
        return False
    first = 10 * _weighted(digits, tuple(range(10, 1, -1))) % 11 % 10
    second = 10 * _weighted(digits, tuple(range(11, 1, -1))) % 11 % 10
    return (first, second) == (digits[9], digits[10])


def is_aadhaar(text: str) -> bool:
    """India: twelve digits, the first from 2 to 9, with the check digit of Verhoeff."""
    digits = _digits(text, 12)
    if digits is None or digits[0] < 2:
        return False
    state = 0
    for place, digit in enumerate(reversed(digits)):
        state = _D5[state][_permuted(digit, place)]
    return state == 0


def is_resident_id(text: str) -> bool:
    """China: eighteen characters, the last by ISO 7064, MOD 11-2."""
    compact = text.strip().upper()
    if not re.fullmatch(r"[1-9]\d{5}(18|19|20)\d{2}(0[1-9]|1[0-2])([0-2]\d|3[01])\d{3}[\dX]", compact):
        return False
    total = sum(int(c) * pow(2, 17 - place, 11) for place, c in enumerate(compact[:17]))
    return compact[17] == "10X98765432"[total % 11]


def is_sin(text: str) -> bool:
    """Canada: nine digits with a Luhn check digit, the first not 0 or 8."""
    digits = _digits(text, 9)
    return digits is not None and digits[0] not in (0, 8) and _luhn(digits)


def is_tfn(text: str) -> bool:
    """Australia: weights 1, 4, 3, 7, 5, 8, 6, 9, 10 give a multiple of 11."""
    digits = _digits(text, 9)
    return digits is not None and any(digits) and _weighted(digits, (1, 4, 3, 7, 5, 8, 6, 9, 10)) % 11 == 0


def _luhn(digits: list[int]) -> bool:
    backwards = digits[::-1]
    return (sum(backwards[::2]) + sum(2 * d - 9 * (d > 4) for d in backwards[1::2])) % 10 == 0


def _dihedral() -> list[list[int]]:
    """The multiplication table of the dihedral group of a pentagon."""
    table = [[(a + b) % 5 if b < 5 else 5 + (a + b) % 5 for b in range(10)] for a in range(5)]
    return table + [[5 + (a - b) % 5 if b < 5 else (a - b) % 5 for b in range(10)] for a in range(5, 10)]


_D5 = _dihedral()


def _permuted(digit: int, times: int) -> int:
    for _ in range(times % 8):
        digit = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)[digit]
    return digit


NUMBERS: dict[str, Check] = {
    "UK NHS number": is_nhs,
    "Dutch BSN": is_bsn,
    "Spanish DNI or NIE": is_dni,
    "French NIR": is_nir,
    "Italian codice fiscale": is_codice_fiscale,
    "German tax number": is_steuer_id,
    "Swedish personal number": is_personnummer,
    "Finnish personal code": is_hetu,
    "Norwegian birth number": is_fodselsnummer,
    "Polish PESEL": is_pesel,
    "Brazilian CPF": is_cpf,
    "Indian Aadhaar": is_aadhaar,
    "Chinese resident number": is_resident_id,
    "Canadian SIN": is_sin,
    "Australian TFN": is_tfn,
}
# Modules of python-stdnum with a checksum, and what people call their numbers.
MORE = {
    "at.vnr": "Austrian insurance number",
    "be.nn": "Belgian national number",
    "bg.egn": "Bulgarian EGN",
    "ch.ssn": "Swiss AHV number",
    "cl.rut": "Chilean RUT",
    "cz.rc": "Czech birth number",
    "ee.ik": "Estonian personal code",
    "hr.oib": "Croatian OIB",
    "ie.pps": "Irish PPS number",
    "il.idnr": "Israeli identity number",
    "is_.kennitala": "Icelandic kennitala",
    "kr.rrn": "Korean resident number",
    "lt.asmens": "Lithuanian personal code",
    "lv.pk": "Latvian personal code",
    "mx.curp": "Mexican CURP",
    "pt.cc": "Portuguese citizen card",
    "ro.cnp": "Romanian CNP",
    "si.emso": "Slovenian EMSO",
    "tr.tckimlik": "Turkish identity number",
    "tw.ubn": "Taiwanese number",
    "za.idnr": "South African identity number",
}


@cache
def _more() -> dict[str, Check]:
    """Checks of further countries, where python-stdnum is installed (the extra `pii`)."""
    import importlib

    checks: dict[str, Check] = {}
    for module, name in MORE.items():
        try:
            is_valid = importlib.import_module(f"stdnum.{module}").is_valid
        except ImportError:
            continue
        checks[name] = partial(_is_portuguese, is_valid) if module == "pt.cc" else is_valid
    return checks


def _is_portuguese(is_valid: Check, text: str) -> bool:
    """Twelve characters; stdnum takes any length, and so every card number."""
    return sum(character.isalnum() for character in text) == 12 and is_valid(text)
