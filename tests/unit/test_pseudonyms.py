"""Pseudonyms: equal for equal values, different for different ones, and a way back for who has the key alone."""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import itertools
import json
import random
import stat

import numpy as np
import polars as pl
import pytest

import tablecloak as tc
from tablecloak import pipeline
from tablecloak.data.changed_columns import CellRows
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import DataError, IncompatibleChoice, PolicyError
from tablecloak.io.frames import column_type
from tablecloak.io.sources import Source
from tablecloak.policy.secrets import public_keys
from tablecloak.registry import named
from tablecloak.release.plan import make_plan
from tablecloak.release.transform import transformed
from tablecloak.rng import Secret
from tablecloak.transforms._keys import add_key, key_id, read_key, read_keys
from tablecloak.transforms._restore import returns
from tablecloak.transforms.base import Key
from tablecloak.transforms.random import drawn_tokens

HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
OTHER = HEX[::-1]
KEYED = ["hmac", "aes-siv", "ff1"]
KINDS = [*KEYED, "counter", "random"]


def policy_of(frame, base=None, secret=None, **transforms):
    columns = {name: {"role": "identifier", "transform": chosen} for name, chosen in transforms.items()}
    written = {"columns": {"age": "quasi", **columns}, "goals": [{"model": "k-anonymity", "k": 2}]}
    policy = tc.Policy.model_validate({**written, **({"secret": secret} if secret else {})})
    return policy if base is None else policy.at(base)


def made(frame, base=None, secret=b"s" * 32, **transforms):
    """The columns of a frame as transforms make them."""
    frame = frame.with_columns(pl.Series("age", [30] * frame.height))
    plan = make_plan(policy_of(frame, base, **transforms), frame.columns, secret=Secret(secret))
    engine = LocalEngine()
    table = engine.read(Source.in_memory(frame), columns=plan.read_columns, categorical=plan.categorical)
    table, plan = transformed(engine, table, plan)
    plan.keep_what_was_made()
    return engine.frame(table).select(list(transforms))


def one(values, kind, dtype=None, **params):
    """The pseudonyms of one column."""
    base, secret = params.pop("base", None), params.pop("secret", b"s" * 32)
    frame = pl.DataFrame({"x": pl.Series(values, dtype=dtype)})
    return made(frame, base, secret, x={"kind": kind, **params})["x"].to_list()


def undone(cells, kind, material, **params):
    step = named("transforms")[kind](**params).undo("x", Key(material))
    return step(pl.Series("x", cells, pl.String), CellRows(np.arange(len(cells)), pl.DataFrame())).to_list()


def expected_digest(key, use, text):
    """A digest by its definition: a key for kind and domain, then HMAC of the text."""
    derived = hmac.new(key, f"{use}\x01".encode("latin-1"), hashlib.sha256).digest()
    return hmac.new(derived, text.encode(), hashlib.sha256).hexdigest()[:32]


@pytest.fixture
def keys(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text(f"{HEX}\n")
    file.chmod(0o600)
    return file


# What all kinds do ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_different_values_get_different_pseudonyms_and_equal_ones_the_same(kind):
    draw = random.Random(1)
    values = [f"{draw.randrange(3000):08d}" for _ in range(5000)]
    cells = one(values, kind)
    assert len(set(zip(values, cells, strict=True))) == len(set(values)) == len(set(cells))
    assert not set(map(str, cells)) & set(values)


@pytest.mark.parametrize("kind", KINDS)
def test_missing_cells_stay_missing(kind):
    cells = one(["12345678", None, "12345679", None], kind)
    assert [cell is None for cell in cells] == [False, True, False, True]


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_rows_changes_no_pseudonym(kind):
    values = [f"{i * 7919 % 100003:08d}" for i in range(500)]
    cells = dict(zip(values, one(values, kind), strict=True))
    assert dict(zip(values[::-1], one(values[::-1], kind), strict=True)) == cells


@pytest.mark.parametrize("kind", KEYED)
def test_columns_and_tables_of_one_domain_join_and_others_do_not(kind, keys):
    values = [f"{i:08d}" for i in range(200)]
    key = f"file:{keys}"
    shared = {"kind": kind, "key": key, "domain": "people"}
    frame = pl.DataFrame({"a": values, "b": values, "c": values, "d": values})
    here = made(frame, a=shared, b=shared, c={**shared, "domain": "else"}, d={"kind": kind, "key": key})
    there = made(frame.select("a"), secret=b"t" * 32, a=shared)
    assert here["a"].equals(here["b"], check_names=False)
    assert here["a"].equals(there["a"])
    for first, second in itertools.combinations(["a", "c", "d"], 2):
        assert not set(here[first]) & set(here[second])


def test_kinds_with_one_key_and_domain_tell_nothing_about_each_other(keys):
    """The key of each kind is another, so that one of them cannot be used to undo the other."""
    derived = {
        expected_digest(bytes.fromhex(HEX), f"{kind} pseudonyms of d", "x") for kind in ("hmac", "ff1", "aes-siv")
    }
    assert len(derived) == 3
    assert one(["x"], "hmac", key=f"file:{keys}", domain="d") == [
        expected_digest(bytes.fromhex(HEX), "hmac pseudonyms of d", "x")
    ]


def test_numbers_join_with_their_texts(keys):
    key = {"key": f"file:{keys}", "domain": "d"}
    for kind in ("hmac", "aes-siv"):
        assert one([10**18, -5], kind, **key) == one(["1000000000000000000", "-5"], kind, **key)
        assert one([1.0, 2.5], kind, **key) == one(["1", "2.5"], kind, **key)
        assert one([dt.date(1888, 2, 29)], kind, **key) == one(["1888-02-29"], kind, **key)
    assert one([10**18, 1234567], "ff1", **key) == one(["1000000000000000000", "1234567"], "ff1", **key)


def test_digests_that_are_too_short_for_so_many_values_are_refused(keys):
    values = [str(i) for i in range(120_000)]
    digests = {expected_digest(bytes.fromhex(HEX), "hmac pseudonyms of x", value)[:8] for value in values}
    n_merged = len(values) - len(digests)
    assert n_merged > 0
    with pytest.raises(DataError, match=f"too short for 120,000 different values: {n_merged} of them would"):
        one(values, "hmac", length=8, key=f"file:{keys}")
    assert len(set(one(values[:1000], "hmac", length=8, key=f"file:{keys}"))) == 1000


# Groups of columns ---------------------------------------------------------------------------------------------------


def test_one_pseudonym_stands_for_a_group_of_columns(keys):
    frame = pl.DataFrame(
        {"x": ["Ana", "Ana", None, None], "born": [dt.date(1888, 2, 29), None, None, dt.date(2000, 1, 1)],
         "pay": pl.Series([10**18, -5, None, None], dtype=pl.Int64)}
    )  # fmt: skip
    chosen = {"kind": "hmac", "key": f"file:{keys}", "domain": "d", "with": ["born", "pay"]}
    texts = ["3:Ana10:1888-02-2919:1000000000000000000", "3:Ana-2:-5", None, "-10:2000-01-01-"]
    use = "hmac of 3 columns pseudonyms of d"
    expected = [text and expected_digest(bytes.fromhex(HEX), use, text) for text in texts]
    assert made(frame, x=chosen)["x"].to_list() == expected


@pytest.mark.parametrize("kind", ["hmac", "counter", "random"])
def test_groups_are_told_apart_whatever_they_hold(kind):
    """Parts that look like lengths, marks of missing cells and each other."""
    parts = ["1", "1:", "1:1", "-", "--", "1:1-", ":", "é", "0:", None]
    rows = list(itertools.product(parts, parts, parts))
    frame = pl.DataFrame(rows, schema={"x": pl.String, "y": pl.String, "z": pl.String}, orient="row")
    cells = made(frame, x={"kind": kind, "with": ["y", "z"]})["x"].to_list()
    assert cells[-1] is None  # all three are missing
    assert len(set(cells)) == len(rows)


def test_a_column_is_not_in_a_group_with_itself_and_others_are_there():
    frame = pl.DataFrame({"x": ["a"], "y": ["b"]})
    with pytest.raises(IncompatibleChoice, match="in a group with itself"):
        made(frame, x={"kind": "counter", "with": ["x"]})
    with pytest.raises(DataError, match="needs the column 'z', which the table does not have"):
        made(frame, x={"kind": "hmac", "with": ["z"]})
    with pytest.raises(PolicyError, match="names a column twice"):
        made(frame, x={"kind": "hmac", "with": ["y", "y"]})


# counter -------------------------------------------------------------------------------------------------------------


def test_numbers_run_from_one_and_follow_neither_rows_nor_values():
    values = [f"v{i:04d}" for i in range(1000)]
    numbers = one(values, "counter")
    assert sorted(numbers) == list(range(1, 1001))
    # a random order has about n/2 ascents, with a deviation of sqrt(n/12)
    ascents = sum(a < b for a, b in itertools.pairwise(numbers))
    assert abs(ascents - 500) < 60
    assert one(values, "counter", secret=b"t" * 32) != numbers


def test_numbers_have_a_width_and_a_prefix():
    cells = one(["b", "a", "b", None], "counter", width=3, prefix="P-")
    assert cells[0] == cells[2]
    assert {cells[0], cells[1]} == {"P-001", "P-002"}
    assert cells[3] is None
    assert set(one(["a", "b"], "counter", prefix="N")) == {"N1", "N2"}


def test_a_width_that_is_too_small_is_refused():
    assert len(one([f"{i}" for i in range(9)], "counter", width=1)) == 9
    with pytest.raises(DataError, match="10 different values need 2 digits, and width is 1"):
        one([f"{i}" for i in range(10)], "counter", width=1)


# random --------------------------------------------------------------------------------------------------------------


def vault_of(path):
    return dict(pl.read_csv(path, infer_schema=False, empty_string_is_null=False).rows())


def test_a_vault_keeps_tokens_and_new_values_are_added(tmp_path):
    vault = tmp_path / "vault.csv"
    first = one(["Ana", "Zoë", None, 'say "hi",\nbye', " "], "random", vault="vault.csv", base=tmp_path)
    assert vault_of(vault) == {"Ana": first[0], "Zoë": first[1], 'say "hi",\nbye': first[3], " ": first[4]}
    assert stat.S_IMODE(vault.stat().st_mode) == 0o600
    # the same secret, or another: old tokens stay, and no new one is an old one
    for secret in (b"s" * 32, b"t" * 32):
        again = one(["王芳", "Zoë", "Ana", secret.hex()], "random", vault="vault.csv", base=tmp_path, secret=secret)
        assert again[1:3] == [first[1], first[0]]
        assert len(set(vault_of(vault).values())) == len(vault_of(vault))
    assert len(vault_of(vault)) == 7
    assert [file.name for file in tmp_path.iterdir()] == ["vault.csv"]


def test_only_a_release_that_holds_adds_to_a_vault(tmp_path):
    frame = pl.DataFrame({"age": [30, 31] * 10, "id": [f"P{i}" for i in range(20)]})
    columns = {"age": "quasi", "id": {"role": "identifier", "transform": {"kind": "random", "vault": "v"}}}
    frame.write_csv(tmp_path / "people.csv")
    written = {"input": "people.csv", "columns": columns, "output": "release.csv"}
    policy = tc.Policy.model_validate({**written, "goals": [{"model": "k-anonymity", "k": 2}]}).at(tmp_path)
    pipeline.check(policy)
    pipeline.run(policy, dry_run=True)
    strict = policy.model_copy(update={"strict": True})
    with pytest.raises(tc.GoalNotMet):
        pipeline.run(strict)
    assert not (tmp_path / "v").exists()
    pipeline.run(policy)
    assert set(vault_of(tmp_path / "v")) == set(frame["id"])
    assert set(pl.read_csv(tmp_path / "release.csv")["id"]) == set(vault_of(tmp_path / "v").values())


def test_a_vault_holds_whatever_a_cell_can_hold(tmp_path):
    values = ["a\rb", "a\r\nb", "a\nb", '"', '""', ",", "'", " a ", "\0", "", "NA", "007", "王芳", "#", "\ufeff"]
    chosen = {"vault": "v[1]*.csv", "base": tmp_path}
    first = one(values, "random", **chosen)
    assert len(set(first)) == len(values)
    assert one(values, "random", **chosen, secret=b"t" * 32) == first
    assert [file.name for file in tmp_path.iterdir()] == ["v[1]*.csv"]


def test_a_vault_that_knows_all_values_is_not_written_again(tmp_path):
    first = one(["a", "b"], "random", vault="v", base=tmp_path)
    before = (tmp_path / "v").stat()
    assert one(["b", "a"], "random", vault="v", base=tmp_path) == first[::-1]
    assert (tmp_path / "v").stat().st_ino == before.st_ino
    assert (tmp_path / "v").stat().st_mtime_ns == before.st_mtime_ns


def test_columns_join_through_a_vault(tmp_path):
    frame = pl.DataFrame({"a": ["1", "2", "3"], "b": [3, 1, 2]})
    chosen = {"kind": "random", "vault": "v", "length": 20}
    cells = made(frame, tmp_path, a=chosen, b=chosen)
    assert cells["a"].to_list() == [cells["b"][1], cells["b"][2], cells["b"][0]]


def test_without_a_vault_nothing_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert one(["a"], "random", base=tmp_path) != one(["a"], "random", base=tmp_path, secret=b"t" * 32)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_vault_is_left_alone(tmp_path):
    file = tmp_path / "v"
    for text, reason in [
        ("name,pay\nAna,3\n", "its columns are not value and token"),
        ("value,token\nAna,3\n", "tokens are not ours"),
        ("value,token\nAna,abcdefgh\nAna,abcdefgi\n", "stand there twice"),
        ("value,token\nAna,abcdefgh\nBo,abcdefgh\n", "stand there twice"),
        ("", "cannot be read"),
    ]:
        file.write_text(text)
        file.chmod(0o600)
        with pytest.raises(PolicyError, match=reason) as raised:
            one(["x"], "random", vault="v", base=tmp_path)
        assert "Ana" not in str(raised.value)
        assert file.read_text() == text
    assert [each.name for each in tmp_path.iterdir()] == ["v"]


def test_a_vault_that_others_may_read_is_refused(tmp_path):
    one(["a"], "random", vault="v", base=tmp_path)
    (tmp_path / "v").chmod(0o640)
    with pytest.raises(PolicyError, match="others than its owner may read the vault"):
        one(["a"], "random", vault="v", base=tmp_path)


def test_tokens_that_are_taken_are_drawn_again():
    stream = Secret(b"s" * 32).stream
    taken = drawn_tokens(stream("x"), 500, 8, pl.Series(dtype=pl.String))
    drawn = drawn_tokens(stream("x"), 500, 8, taken)  # which begins with those that are taken
    assert len({*taken, *drawn}) == 1000


def test_every_letter_of_a_token_is_equally_likely():
    tokens = drawn_tokens(Secret(b"s" * 32).stream("x"), 20_000, 25, pl.Series(dtype=pl.String))
    assert tokens.str.contains("^[a-z2-7]{25}$").all()
    for place in range(25):
        counts = tokens.str.slice(place, 1).value_counts()["count"].to_numpy()
        assert len(counts) == 32
        assert ((counts - 625) ** 2 / 625).sum() < 80  # chi-square, 31 degrees: 80 has a chance of 3e-6


# aes-siv -------------------------------------------------------------------------------------------------------------

ODD = ["", " ", "Zoë", "Zoe\u0308", "王芳", "a" * 300, "x" * 15, "x" * 16, "\0", "x\0", "\x80", "*", "-", "𝔘"]


def test_every_text_comes_back_with_the_key_alone(keys):
    texts = [*ODD, None]
    cells = one(texts, "aes-siv", key=f"file:{keys}")
    assert len(set(cells)) == len(texts)
    assert undone(cells, "aes-siv", bytes.fromhex(HEX)) == texts
    with pytest.raises(DataError, match=f"{len(texts) - 1} of {len(texts) - 1} different pseudonyms cannot be opened"):
        undone(cells, "aes-siv", bytes.fromhex(OTHER))
    with pytest.raises(DataError, match="the key or the domain is another"):
        undone(cells, "aes-siv", bytes.fromhex(HEX), domain="else")


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([10**18, -5, 0], ["1000000000000000000", "-5", "0"]),
        ([dt.date(1888, 2, 29), dt.date(1, 1, 1)], ["1888-02-29", "0001-01-01"]),
        ([dt.datetime(1888, 2, 29, 1, 2, 3, 45)], ["1888-02-29T01:02:03.000045"]),
        ([1.5, -0.25, 1e300], ["1.5", "-0.25", "1e+300"]),
        ([True, False], ["true", "false"]),
    ],
)
def test_values_of_every_type_come_back_as_texts(keys, values, texts):
    assert undone(one(values, "aes-siv", key=f"file:{keys}"), "aes-siv", bytes.fromhex(HEX)) == texts


def test_a_changed_pseudonym_is_refused(keys):
    (cell,) = one(["Ana"], "aes-siv", key=f"file:{keys}")
    for place in range(len(cell)):
        changed = cell[:place] + ("b" if cell[place] != "b" else "c") + cell[place + 1 :]
        with pytest.raises(DataError, match="1 of 2 different pseudonyms cannot be opened"):
            undone([cell, changed], "aes-siv", bytes.fromhex(HEX))
    for other in ("", "Ana", cell + "a", cell[:-1], cell.upper(), "é" * 52):
        with pytest.raises(DataError, match="1 of 1 different"):
            undone([other], "aes-siv", bytes.fromhex(HEX))


def test_pseudonyms_show_lengths_in_steps_of_sixteen_bytes_only():
    cells = one(["a" * n for n in range(1, 40)], "aes-siv")
    assert [len(cell) for cell in cells] == [52] * 15 + [77] * 16 + [103] * 8


# ff1 -----------------------------------------------------------------------------------------------------------------


def test_numbers_keep_their_form_and_come_back(keys):
    values = ["4111 1111-1111 1111", "0000000", "123-45-6789", "  9876543210  ", "1234567/89", "9" * 60, None]
    cells = one(values, "ff1", key=f"file:{keys}")
    for value, cell in zip(values[:-1], cells[:-1], strict=True):
        assert value != cell
        assert len(value) == len(cell)
        assert all(b.isdigit() if a.isdigit() else b == a for a, b in zip(value, cell, strict=True))
    assert undone(cells, "ff1", bytes.fromhex(HEX)) == values


def test_another_key_leads_to_other_numbers(keys):
    values = [f"{i:010d}" for i in range(500)]
    cells = one(values, "ff1", key=f"file:{keys}")
    assert not set(undone(cells, "ff1", bytes.fromhex(OTHER))) & set(values)


def test_values_that_are_too_short_are_counted_and_refused():
    values = ["123456", "12345", "12-345", "12345", "1234567", None]
    with pytest.raises(
        DataError, match=r"column 'x': 3 cells \(2 different ones\) have fewer than 6 characters"
    ) as raised:
        one(values, "ff1")
    assert "12345" not in str(raised.value)
    assert one([123456, -1234567, None], "ff1")[2] is None
    with pytest.raises(DataError, match=r"1 cells \(1 different ones\) have fewer than 4"):
        one(["abc1", "abc"], "ff1", alphabet="alphanumeric")
    with pytest.raises(DataError, match="fewer than 20 characters"):
        one(["01" * 9], "ff1", alphabet="01")


def test_letters_that_would_stay_as_they_are_are_refused():
    for values in (["DE12345678", "1234567"], ["1234567é", "1234567"], ["1234567٣", "1234567"]):
        with pytest.raises(DataError, match=r"1 cells \(1 different ones\) hold letters or digits outside"):
            one(values, "ff1")
    cells = one(["DE12345678", "de 12345678"], "ff1", alphabet="alphanumeric")
    assert cells[1][2] == " "
    assert all(cell.replace(" ", "").isalnum() for cell in cells)


def test_an_alphabet_can_be_any_characters(keys):
    greek, values = "αβγδεζηθικλμ", ["αβγδεζ", "μλκ-ιθη", "αααααα"]
    cells = one(values, "ff1", alphabet=greek, key=f"file:{keys}")
    assert set("".join(cells)) <= set(greek + "-")
    assert undone(cells, "ff1", bytes.fromhex(HEX), alphabet=greek) == values


def passes_luhn(text):
    digits = [int(c) for c in text if c.isdigit()][::-1]
    return sum(digits[::2] + [sum(divmod(2 * d, 10)) for d in digits[1::2]]) % 10 == 0


def test_card_numbers_stay_valid(keys):
    draw = random.Random(3)
    payloads = ["".join(draw.choices("0123456789", k=draw.choice([14, 15, 18]))) for _ in range(300)]
    values = [next(p + c for c in "0123456789" if passes_luhn(p + c)) for p in payloads]
    values += ["4111-1111-1111-1111", None]
    cells = one(values, "ff1", check="luhn", key=f"file:{keys}")
    assert all(passes_luhn(cell) for cell in cells[:-1])
    assert not set(values[:-1]) & set(cells)
    assert undone(cells, "ff1", bytes.fromhex(HEX), check="luhn") == values
    with pytest.raises(DataError, match=r"1 cells \(1 different ones\) have a wrong check digit"):
        one([*values, "4111-1111-1111-1112"], "ff1", check="luhn")


def test_published_cells_that_cannot_be_its_own_are_faults():
    luhn = named("transforms")["ff1"](check="luhn")
    cells = pl.Series(["4111-1111-1111-1111", "4111-1111-1111-1112", "41", "Ana", None, "4111 1111 1111 111x"])
    assert luhn.faults(cells).to_list() == [False, True, True, True, False, True]
    assert luhn.faults(pl.Series([4111111111111111, 4111111111111112])).to_list() == [False, True]
    for kind, own, other in [
        ("hmac", "0" * 32, "Ana"), ("random", "a" * 16, "Ana"), ("counter", "7", "07"), ("aes-siv", "a" * 52, "a" * 51),
    ]:  # fmt: skip
        faults = named("transforms")[kind]().faults(pl.Series([own, other, None]))
        assert faults.to_list() == [False, True, False]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"alphabet": "0012345"}, "different characters"),
        ({"alphabet": "alphanumeric", "check": "luhn"}, "luhn is for digits"),
        ({"alphabet": "x"}, "alphabet"),
        ({"check": "iban"}, "luhn"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(params, message):
    with pytest.raises(PolicyError, match=message):
        policy_of(pl.DataFrame(), x={"kind": "ff1", **params})


# Keys ----------------------------------------------------------------------------------------------------------------


def test_the_last_key_of_a_file_is_in_use_and_others_are_named(tmp_path):
    file = tmp_path / "keys"
    file.write_text(f"# of the trial\nold: {HEX}\n\n{OTHER.upper()}  \r\n")
    assert [key.id for key in read_keys("file:keys", tmp_path)] == ["old", key_id(bytes.fromhex(OTHER))]
    assert read_key("file:keys", tmp_path).material == bytes.fromhex(OTHER)
    assert read_key("file:keys#old", tmp_path).material == bytes.fromhex(HEX)
    assert read_key(f"file:keys#{key_id(bytes.fromhex(OTHER))}", tmp_path).material == bytes.fromhex(OTHER)


def test_keys_can_be_in_variables(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYS", f"a: {HEX}\nb: {OTHER}")
    assert read_key("env:KEYS", tmp_path).id == "b"
    assert read_key("env:KEYS#a", tmp_path).material == bytes.fromhex(HEX)
    monkeypatch.delenv("KEYS")
    with pytest.raises(PolicyError, match="the variable KEYS is not set"):
        read_key("env:KEYS", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEX[:-2], "the key in line 1 of file:keys has 31 bytes, 32 are needed"),
        (HEX + "a", "the key in line 1 of file:keys has 32.5 bytes, 32 are needed"),
        (f"{HEX}\nnew: {HEX[:20]}", "the key in line 2 of file:keys has 10 bytes, 32 are needed"),
        (f"a: {HEX}\na: {OTHER}", "two keys in file:keys are called 'a'"),
        (f"{HEX}\n{HEX}", "two keys in file:keys are called"),
        ("hunter2 is no key", "line 1 of file:keys is no key"),
        ("ab" * 32, "is not random"),
        ("# nothing\n", "there is no key in file:keys"),
    ],
)
def test_what_is_wrong_with_a_file_of_keys_is_said_without_showing_it(tmp_path, content, message):
    (tmp_path / "keys").write_text(content)
    with pytest.raises(PolicyError) as raised:
        read_key("file:keys", tmp_path)
    assert message in str(raised.value)
    assert HEX[:8] not in json.dumps(raised.value.to_dict())
    assert "hunter" not in json.dumps(raised.value.to_dict())


def test_a_key_that_is_not_there_is_named(tmp_path):
    with pytest.raises(PolicyError, match="the file of the key cannot be read: No such file"):
        read_key("file:keys", tmp_path)
    (tmp_path / "keys").write_bytes(bytes(range(200, 232)))
    with pytest.raises(PolicyError, match="it is no text"):
        read_key("file:keys", tmp_path)
    (tmp_path / "keys").write_text(f"2025-a: {HEX}\n2026-a: {OTHER}\n")
    with pytest.raises(PolicyError, match="no key in file:keys is called '2026'") as raised:
        read_key("file:keys#2026", tmp_path)
    assert "2026-a" in str(raised.value)


def test_a_key_in_a_policy_is_refused_and_not_repeated():
    for written in (HEX, f"hex:{HEX}", 12345678901234567890, [HEX]):
        with pytest.raises(PolicyError, match="a key must not be written in a policy") as raised:
            policy_of(pl.DataFrame(), x={"kind": "hmac", "key": written})
        assert HEX not in json.dumps(raised.value.to_dict())
        assert "1234567890" not in json.dumps(raised.value.to_dict())


def test_keys_that_others_may_read_are_found(keys):
    policy = policy_of(
        pl.DataFrame(),
        keys.parent,
        x={"kind": "hmac", "key": "file:keys.txt"},
        y={"kind": "ff1", "key": "file:keys.txt#a"},
        z={"kind": "hmac", "key": "env:KEY"},
    )
    assert public_keys(policy) == []
    keys.chmod(0o604)
    assert public_keys(policy) == ["file:keys.txt", "file:keys.txt#a"]


def test_new_keys_come_behind_old_ones(tmp_path):
    file = tmp_path / "keys"
    first, second = add_key(file), add_key(file, "second")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [key.material for key in read_keys("file:keys", tmp_path)] == [first.material, second.material]
    assert first.id == key_id(first.material)
    assert first.material != second.material
    file.write_text(file.read_text().rstrip("\n"))
    third = add_key(file)
    assert read_key("file:keys", tmp_path).material == third.material


# Back ----------------------------------------------------------------------------------------------------------------


def test_columns_whose_only_transform_is_reversible_are_restored(keys):
    key = {"key": "file:keys.txt"}
    frame = pl.DataFrame({"x": ["Ana", None, "Bo"], "y": ["1234567", "7654321", None], "z": ["a", "b", "c"]})
    chosen = {"x": {"kind": "aes-siv", **key}, "y": {"kind": "ff1", **key}, "z": {"kind": "hmac", **key}}
    release = made(frame, keys.parent, **chosen)
    policy = policy_of(frame, keys.parent, **chosen)
    ways = returns(policy, release.columns)
    assert [(way.column, way.knows_its_key) for way in ways] == [("x", True), ("y", False)]
    for way in ways:
        assert way.restored(release[way.column]).equals(frame[way.column])
    starred = pl.Series("x", ["*", release["x"][0]])  # a suppressed record
    assert ways[0].restored(starred).to_list() == ["*", "Ana"]
    with pytest.raises(PolicyError, match="column 'z' cannot be restored: hmac cannot be undone"):
        returns(policy, release.columns, columns=["z"])
    with pytest.raises(PolicyError, match="column 'age' has no transform to undo"):
        returns(policy, release.columns, columns=["age"])
    with pytest.raises(PolicyError, match="the policy has no column 'w'"):
        returns(policy, release.columns, columns=["w"])
    with pytest.raises(DataError, match="there is no column 'y'"):
        returns(policy, ["x"], columns=["y"])


def test_the_secret_of_a_policy_leads_back_and_one_that_was_drawn_does_not(monkeypatch):
    monkeypatch.setenv("HIDING", HEX)
    frame, chosen = pl.DataFrame({"x": ["Ana"]}), {"kind": "aes-siv"}
    release = made(frame, secret=Secret.of(HEX.encode()).key, x=chosen)
    (way,) = returns(policy_of(frame, secret={"env": "HIDING"}, x=chosen), ["x"])
    assert way.restored(release["x"]).to_list() == ["Ana"]
    with pytest.raises(PolicyError, match="was drawn by the run and thrown away"):
        returns(policy_of(frame, x=chosen), ["x"])


def test_keys_appear_in_no_text_about_them(keys):
    key = read_key(f"file:{keys}", keys.parent)
    frame = pl.DataFrame({"x": ["1234567"]})
    chosen = named("transforms")["ff1"](key=f"file:{keys}")
    step = chosen.undo("x", key)
    (way,) = returns(policy_of(frame, x={"kind": "ff1", "key": f"file:{keys}"}), ["x"])
    shown = f"{key!r} {step!r} {way!r} {named('transforms')['aes-siv']().undo('x', key)!r}"
    assert HEX not in shown
    assert repr(bytes.fromhex(HEX))[2:20] not in shown
    derived = hmac.new(bytes.fromhex(HEX), b"ff1 pseudonyms of x\x01", hashlib.sha256).digest()
    assert repr(derived)[2:20] not in shown


def test_types_are_those_of_the_transforms():
    assert column_type("x", pl.Series(one(["a"], "counter")).dtype) == "integer"
    assert column_type("x", pl.Series(one(["a"], "counter", width=2)).dtype) == "text"
