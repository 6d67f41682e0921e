"""Transforms that cover values: against slow plain versions, and with what they must not show."""

from __future__ import annotations

import random
import re
import sys
import types

import polars as pl
import pytest
from pydantic import ValidationError

from tablecloak import registry
from tablecloak.errors import DataError, IncompatibleChoice, MissingExtra
from tablecloak.transforms import redact as redaction
from tablecloak.transforms._keys import key_of
from tablecloak.transforms.base import Stage
from transform_runs import applied, cells_of

pytestmark = pytest.mark.slow

KINDS = registry.known("transforms")
CARD = "4346 6454 0020 5379"
SEPARATORS = set(" \t\n-./()+")
ODD = [
    "",
    "a",
    "ab",
    "Zoë",
    "王芳李明",
    "a b-c.d",
    "  ",
    "- -",
    "x\ny z",
    "é",
    "*",
    "**a**",
    "a" * 300,
    "👩‍🚀 Ada",
    "$1",
]


def no_faults(made, chosen):
    faults = chosen.faults(made)
    return faults is None or not faults.any()


# mask -----------------------------------------------------------------------------------------------------------------


def plainly_masked(text, char, first, last, *, separators=False, fixed=False):
    kept = [i for i, c in enumerate(text) if not (separators and c in SEPARATORS)]
    if len(kept) <= first + last:
        return char * (5 if fixed else len(text))
    shown = {*kept[:first], *(kept[-last:] if last else [])}
    begin = kept[first - 1] + 1 if first else 0
    end = kept[-last] if last else len(text)
    if fixed:
        return text[:begin] + char * 5 + text[end:]
    hidden = {i for i in kept if i not in shown}
    return "".join(char if i in hidden else c for i, c in enumerate(text))


@pytest.mark.parametrize("separators", [False, True])
def test_characters_are_hidden_as_by_hand(separators):
    draw = random.Random(1)
    letters = "abcäß王🙂 -./()+19\n"
    texts = [*ODD, *("".join(draw.choice(letters) for _ in range(draw.randrange(20))) for _ in range(200))]
    for first, last in ((0, 0), (1, 0), (0, 4), (2, 3), (6, 4)):
        for char in "*X$":
            options = {"keep_first": first, "keep_last": last, "keep_separators": separators, "char": char}
            made, chosen = applied("mask", texts, **options)
            assert made.to_list() == [plainly_masked(t, char, first, last, separators=separators) for t in texts]
            assert no_faults(made, chosen)


def test_a_fixed_length_hides_the_length():
    made, chosen = applied("mask", ODD, keep_first=1, keep_last=1, length="fixed")
    assert made.to_list() == [plainly_masked(t, "*", 1, 1, fixed=True) for t in ODD]
    assert {len(cell) for cell in made} <= {5, 7}
    assert no_faults(made, chosen)


def test_the_card_of_the_specification():
    shown = "4346 XXXX XXXX 5379"
    assert cells_of("mask", [CARD], char="X", keep_first=4, keep_last=4, keep_separators=True) == [shown]
    assert cells_of("mask", [CARD], pattern="#### XXXX XXXX ####") == [shown]
    assert cells_of("mask", [CARD], format="card", keep_first=4, char="X") == [shown]


def test_values_that_do_not_fit_a_pattern_are_hidden_wholly():
    made, chosen = applied("mask", [CARD, CARD + "1", "12", "", None], pattern="#### XXXX XXXX ####")
    hidden = "**** XXXX XXXX ****"
    assert made.to_list() == ["4346 XXXX XXXX 5379", hidden, hidden, hidden, None]
    assert chosen.faults(pl.Series([CARD, hidden, None])).to_list() == [True, False, False]


def test_formats_keep_what_they_say():
    assert cells_of("mask", [CARD, CARD.replace(" ", ""), "4346-6454"], format="card") == [
        "**** **** **** 5379", "************5379", "*********",
    ]  # fmt: skip
    assert cells_of("mask", ["+49 (30) 123-4567", "030 1234567", "110"], format="phone") == [
        "+49 (3*) ***-****", "030 *******", "***",
    ]  # fmt: skip
    assert cells_of("mask", ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"], format="iban") == [
        "DE** **** **** **** **30 00", "GB****************5432",
    ]  # fmt: skip
    mails = ["ana.lopez@uni-bern.example.ch", "a@x.org", "王@例え.jp", "no mail", "a@b"]
    made, chosen = applied("mask", mails, format="email")
    assert made.to_list() == ["a***@***.ch", "a***@***.org", "王***@***.jp", "*****", "*****"]
    assert chosen.faults(pl.Series([*mails[:2], "a***@***.ch"])).to_list() == [True, True, False]


def test_numbers_are_masked_as_they_are_written():
    assert cells_of("mask", [12345678, 5, None], keep_first=1) == ["1*******", "*", None]
    assert cells_of("mask", [12.0, 12.5], keep_first=1) == ["1*", "1***"]


def test_an_unmasked_position_is_a_fault():
    chosen = KINDS["mask"].model_validate({"keep_last": 4, "keep_separators": True})
    cells = ["**** **** **** 5379", "*** 1*** 5379", "5379", "****", None, CARD]
    assert chosen.faults(pl.Series(cells)).to_list() == [False, True, True, False, False, True]


@pytest.mark.parametrize(
    "params",
    [
        {"pattern": "####"}, {"pattern": "#X", "keep_first": 1}, {"char": "1"}, {"char": "-"}, {"char": "ab"},
        {"format": "card", "keep_first": 8}, {"format": "iban", "keep_last": 8}, {"format": "email", "keep_first": 2},
        {"keep_separators": True, "length": "fixed"}, {"keep_first": -1}, {"format": "name"},
    ],
)  # fmt: skip
def test_masks_that_hide_nothing_or_contradict_are_refused(params):
    with pytest.raises(ValidationError):
        KINDS["mask"].model_validate(params)


# redact ---------------------------------------------------------------------------------------------------------------

FOUND = {
    "EMAIL": ["ana.lopez@uni-bern.ch", "o'neil+x@example.co.uk"],
    "URL": ["https://example.org/a?b=c", "www.example.org"],
    "IP": ["192.168.0.1", "2001:db8:85a3:0:0:8a2e:370:7334", "fe80::1"],
    "IBAN": ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
    "CARD": [CARD, "4346645400205379", "3782-822463-10005"],
    "SSN": ["123-45-6789"],
    "DEVICE": ["00:1A:2b:3C:4d:5E"],
    "ID": ["123e4567-e89b-12d3-a456-426614174000", "MRN 12345", "RSSMRA85T10A562S", "12345678Z", "98765432101"],
    "PHONE": ["+49 30 1234567", "030 1234567", "(212) 555-0123", "212-555-0123", "06 12 34 56 78"],
    "DATE": [
        "2021-03-04", "04.03.2021", "3/4/2021", "3/4/21", "20210304", "4 March 2021", "March 4th, 2021", "4. März 2021",
        "le 4 mars 2021", "4 de marzo de 2021", "04-Mar-2021", "Mar 2021", "2021-03-04T05:06:07Z", "4 May", "2021-Q1",
    ],
    "ADDRESS": ["12 Main Street", "Hauptstraße 5", "221b Baker Street", "5 rue de la Paix"],
    "NAME": ["Anna Keller", "Keller, Anna", "Dr. Nakamura", "Mrs Okonkwo-Smith", "MARIA", "Anna von der Leyen"],
    "AGE": ["94 years old", "101-year"],
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(FOUND))
def test_what_identifies_people_is_taken_out_of_a_sentence(kind):
    for example in FOUND[kind]:
        (text,) = cells_of("redact", [f"seen: {example}, then home"])
        bare = example.removeprefix("le ")
        assert f"[{kind}]" in text, example
        assert bare not in text
        assert not any(word in text for word in re.findall(r"\w{4,}", bare)), (example, text)
        assert text.endswith("then home")


def test_what_detectors_accept_in_cells_is_found_in_texts():
    """National numbers of the detectors' own tests, with right check digits, and each other kind of number."""
    from tablecloak.profile.detectors import credit_card, iban, national_id

    valid = {
        "UK NHS number": "943 476 5919", "Dutch BSN": "111222333", "Spanish DNI or NIE": "12345678Z",
        "French NIR": "255081416802538", "Italian codice fiscale": "RSSMRA85T10A562S",
        "Finnish personal code": "131052-308T", "Polish PESEL": "44051401359", "Brazilian CPF": "111.444.777-35",
        "Canadian SIN": "130 692 544", "Swedish personal number": "811228-9874",
        "Chinese resident number": "11010519491231002X",
    }  # fmt: skip
    for name, number in valid.items():
        assert national_id.NUMBERS[name](number), name
        (text,) = cells_of("redact", [f"number {number} here"])
        assert not re.search(r"\d{3}", text), (name, text)
    assert credit_card.is_card("4111 1111 1111 1111")
    assert iban.is_iban("DE89 3704 0044 0532 0130 00")


def test_ordinary_texts_stay():
    plain = ["took 40 mg twice, pressure 120/80", "no change since the last visit", "temperature 38.5, pulse 72", ""]
    assert cells_of("redact", [*plain, None]) == [*plain, None]


def test_dates_keep_their_year_or_all():
    texts = ["met on 3 May 2021 and 09.02.1933, call 030 1234567", "on 2/9/33", "in 2020-03 and 20210304"]
    assert cells_of("redact", texts, dates="year") == [
        "met on 2021 and 1933, call [PHONE]",
        "on [DATE]",
        "in 2020 and 2021",
    ]
    assert cells_of("redact", texts, dates="keep") == [
        "met on 3 May 2021 and 09.02.1933, call [PHONE]", *texts[1:],
    ]  # fmt: skip


def test_what_is_redacted_stays_as_it_is():
    """Redacting once more changes nothing, in all ways; so `verify` has nothing to complain about."""
    draw = random.Random(2)
    pieces = [
        *(e for examples in FOUND.values() for e in examples),
        "May",
        "12",
        "x",
        "Ana",
        ",",
        "2021",
        "+",
        "-",
        ".",
    ]
    texts = ["".join(draw.choice(pieces) + draw.choice(["", " "]) for _ in range(6)) for _ in range(300)]
    for dates in ("remove", "year", "keep"):
        made, chosen = applied("redact", texts, dates=dates)
        assert no_faults(made, chosen)
        assert cells_of("redact", made, dates=dates) == made.to_list()


def test_marks_in_texts_do_no_harm():
    assert cells_of("redact", ["\ue000ana@x.org\ue001 \ue002"], dates="keep") == ["[EMAIL] "]


def test_further_expressions_are_looked_for_first():
    made, chosen = applied("redact", ["ward B12, ana@x.org"], extra=[r"ward \w+"])
    assert made.to_list() == ["[OTHER], [EMAIL]"]
    assert chosen.faults(pl.Series(["ward B12", "x", None])).to_list() == [True, False, False]
    for wrong in ("(", "(?=a)b", "a*"):
        with pytest.raises(ValidationError):
            KINDS["redact"].model_validate({"extra": [wrong]})


def test_presidio_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="needs the package presidio_analyzer") as caught:
        applied("redact", ["a"], engine="presidio")
    assert "tablecloak[text]" in str(caught.value)


def test_what_presidio_finds_is_taken_out_before_our_patterns(monkeypatch):
    """With a stand-in that finds every word 'Bern', once inside a longer find."""

    class Analyzer:
        def analyze(self, text, language):
            assert language == "de"
            at = text.index("Bern")
            found = types.SimpleNamespace
            return [
                found(start=at, end=at + 4, entity_type="CITY"),
                found(start=at - 3, end=at + 4, entity_type="LOCATION"),
            ]

    module = types.ModuleType("presidio_analyzer")
    module.AnalyzerEngine = Analyzer
    module.__spec__ = types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "presidio_analyzer", module)
    redaction.recognizer.cache_clear()
    assert cells_of("redact", ["aus Bern, ana@x.org"], engine="presidio", language="de") == ["a[LOCATION], [EMAIL]"]
    redaction.recognizer.cache_clear()


# substitute -----------------------------------------------------------------------------------------------------------

NAMES = [f"n{i}" for i in range(50)]


def test_equal_values_get_equal_substitutes_and_never_themselves():
    draw = random.Random(3)
    values = [draw.choice([*NAMES, "other", "王芳", None]) for _ in range(2000)]
    made, chosen = applied("substitute", values, values=NAMES)
    pairs = {(v, m) for v, m in zip(values, made, strict=True)}
    assert len(pairs) == len(set(values))
    assert all(m in NAMES and m != v for v, m in pairs if v is not None)
    assert (None, None) in pairs
    assert no_faults(made, chosen)
    assert chosen.faults(pl.Series(["n1", "other", None])).to_list() == [False, True, False]


def test_the_key_and_domain_decide():
    values = [f"v{i}" for i in range(100)]
    one = cells_of("substitute", values, values=NAMES, domain="d")
    assert one == cells_of("substitute", [*values[50:], *values[:50]], values=NAMES, domain="d")[50:] + one[50:]
    assert one != cells_of("substitute", values, values=NAMES, domain="e")
    assert one != cells_of("substitute", values, values=NAMES, domain="d", key=b"l" * 32)
    assert one == cells_of("substitute", values, values=NAMES, domain="d", secret=b"t" * 32)


def test_unique_substitutes_are_different_and_none_is_itself():
    for n in (2, 3, 10, 50):
        for values in (NAMES[:n], [f"v{i}" for i in range(n)]):
            for key in (b"a" * 32, b"b" * 32, b"c" * 32):
                made = cells_of("substitute", values, values=NAMES[: max(2, n)], unique=True, key=key)
                assert len(set(made)) == n
                assert all(a != b for a, b in zip(values, made, strict=True))


def test_a_list_that_is_too_short_is_refused_with_the_numbers():
    with pytest.raises(IncompatibleChoice, match="has 1,234 different values, and there are 50") as caught:
        applied("substitute", [f"v{i}" for i in range(1234)], values=NAMES, unique=True)
    assert "1,184 more" in str(caught.value)
    applied("substitute", [f"v{i}" for i in range(1234)], values=NAMES)


def test_substitutes_come_from_a_file(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("Zoë\n\n  Ana \nAna\r\n王芳\n", encoding="utf-8")
    made = cells_of("substitute", NAMES, file=str(path))
    assert set(made) == {"Zoë", "Ana", "王芳"}
    path.write_text("one\n")
    with pytest.raises(DataError, match="at least two different"):
        applied("substitute", NAMES, file=str(path))
    with pytest.raises(DataError, match="cannot be read"):
        applied("substitute", NAMES, file=str(tmp_path / "none.txt"))


@pytest.mark.parametrize("fake", ["name", "first_name", "last_name", "city", "street", "company", "email", "phone"])
def test_made_up_values_of_every_kind(fake):
    pytest.importorskip("faker")
    values = [*NAMES[:20], None]
    made = cells_of("substitute", values, fake=fake, locale="de_DE", unique=True)
    assert made[-1] is None
    assert len(set(made)) == 21
    assert made == cells_of("substitute", values, fake=fake, locale="de_DE", unique=True)


def test_made_up_values_run_out_with_the_numbers():
    pytest.importorskip("faker")
    with pytest.raises(IncompatibleChoice, match=r"has 1,500 different values, and there are [\d,]+ to replace"):
        applied("substitute", list(range(1500)), fake="first_name", unique=True)


def test_faker_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "faker", None)
    with pytest.raises(MissingExtra, match="needs the package faker") as caught:
        applied("substitute", NAMES, fake="company", locale="fr_FR")
    assert "tablecloak[fake]" in str(caught.value)


def test_an_unknown_locale_is_refused():
    pytest.importorskip("faker")
    with pytest.raises(IncompatibleChoice, match="locale xx_XX"):
        applied("substitute", NAMES, fake="name", locale="xx_XX")


@pytest.mark.parametrize("params", [{}, {"values": ["a"]}, {"values": ["a", "b"], "fake": "name"}, {"fake": "pet"}])
def test_substitutes_must_be_decided(params):
    with pytest.raises(ValidationError):
        KINDS["substitute"].model_validate(params)


def test_goals_judge_covered_columns_as_they_were():
    examples = {"mask": {}, "redact": {}, "substitute": {"values": ["a", "b"]}}
    assert {KINDS[kind].model_validate(params).stage for kind, params in examples.items()} == {Stage.PUBLISHING}


def test_a_substitute_has_a_key_and_does_not_show_it():
    from tablecloak.rng import Secret

    chosen = KINDS["substitute"].model_validate({"values": ["a", "b"]})
    key = key_of(None, chosen, Secret(b"s" * 32))
    assert key is not None
    assert key_of(None, KINDS["mask"].model_validate({}), Secret(b"s" * 32)) is None
    assert repr(key.material) not in repr(key)
