"""`tablecloak key new|show-id` and `tablecloak reidentify`."""

from __future__ import annotations

import json
import os
import pwd
import stat
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

NAMES = ["Zoë", "王芳", "O'Neil, Pat", "=1+2", None, "Ana"]
CARDS = ["0000000001", "0123456789", "9999999999", "1234567890", "5555555555", "0000000001"]
POLICY = """
input: people.csv
columns:
  age: quasi
  name: {role: identifier, transform: {kind: aes-siv, key: "file:keys"}}
  card: {role: identifier, type: text, transform: {kind: ff1, key: "file:keys"}}
  town: {role: identifier, transform: hmac}
  score: keep
goals: [{model: k-anonymity, k: 2}]
output: out.csv
"""


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def log_of(folder):
    return [json.loads(line) for line in (folder / "out.csv.reidentify.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture
def released(tmp_path, cloak, monkeypatch):
    """A folder with a table, a key, a policy and a release."""
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {"age": [20, 20, 30, 30, 40, 40], "name": NAMES, "card": CARDS, "town": list("abcabc"),
         "score": ["1.10", "2.0", "3.00", "4", "05", "6.60"]}
    )  # fmt: skip
    frame.write_csv("people.csv")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    assert cloak("key", "new", "keys", "--id", "first").code == 0
    assert cloak("run", "policy.yaml", "--quiet").code == 0
    return tmp_path


# key -----------------------------------------------------------------------------------------------------------------


def test_a_new_key_is_in_a_file_of_its_owner_and_only_its_id_is_printed(cloak, tmp_path):
    file = tmp_path / "keys"
    outcome = cloak("key", "new", file)
    id_, _, digits = file.read_text().strip().partition(": ")
    assert outcome.code == 0
    assert outcome.out.strip() == id_
    assert len(bytes.fromhex(digits)) == 32
    assert digits[:6] not in outcome.out + outcome.err
    assert mode(file) == 0o600
    assert cloak("key", "show-id", f"file:{file}").out.strip() == id_


def test_a_second_key_comes_behind_the_first(cloak, tmp_path):
    file = tmp_path / "keys"
    first = cloak("key", "new", file, "--json").data["id"]
    before = file.read_text()
    assert cloak("key", "new", file, "--id", "2026").out.strip() == "2026"
    assert file.read_text().startswith(before)
    assert cloak("key", "show-id", f"file:{file}", "--json").data == {
        "id": "2026", "ids": [first, "2026"], "is_public": False,
    }  # fmt: skip
    assert cloak("key", "show-id", f"file:{file}#{first}").out.strip() == first


def test_a_file_that_holds_something_else_is_left_alone(cloak, tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("name\nAna\n")
    file.chmod(0o600)
    outcome = cloak("key", "new", file)
    assert outcome.code == 2
    assert "is no key" in outcome.err
    assert "Ana" not in outcome.err
    assert file.read_text() == "name\nAna\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["keys", "--id", "taken"], "a key is called 'taken' already"),
        (["keys", "--id", "a b"], "this cannot be the name of a key"),
        (["a#b"], "has no # in its name"),
        (["nowhere/keys"], "the key cannot be written: No such file"),
        (["public"], "others may read the file of keys"),
    ],
)
def test_a_key_that_cannot_be_made_is_refused(cloak, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    cloak("key", "new", "keys", "--id", "taken")
    cloak("key", "new", "public")
    (tmp_path / "public").chmod(0o644)
    before = (tmp_path / "keys").read_text()
    outcome = cloak("key", "new", *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert (tmp_path / "keys").read_text() == before


def test_a_key_that_others_may_read_is_told(cloak, tmp_path):
    file = tmp_path / "keys"
    cloak("key", "new", file)
    file.chmod(0o640)
    outcome = cloak("key", "show-id", f"file:{file}")
    assert outcome.code == 0
    assert "others than its owner may read" in outcome.err


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("file:keys#other", "no key in file:keys is called 'other'"),
        ("file:nothing", "the file of the key cannot be read"),
        ("env:NO_SUCH_KEY", "the variable NO_SUCH_KEY is not set"),
        ("keys", "name it as env:NAME or file:PATH"),
    ],
)
def test_a_key_that_is_not_there_is_explained(cloak, tmp_path, monkeypatch, place, message):
    monkeypatch.chdir(tmp_path)
    cloak("key", "new", "keys", "--id", "one")
    outcome = cloak("key", "show-id", place)
    assert outcome.code == 2
    assert message in outcome.err


# reidentify ----------------------------------------------------------------------------------------------------------


def test_columns_come_back_letter_by_letter(cloak, released):
    outcome = cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv", "--reason", "a call of the doctor")
    assert outcome.code == 0
    assert "ff1 cannot tell one key from another: with a wrong one, card would be wrong" in outcome.out
    assert mode(released / "back.csv") == 0o600
    assert sorted(line.split(",")[-1] for line in (released / "back.csv").read_text("utf-8").splitlines()[1:]) == [
        "05", "1.10", "2.0", "3.00", "4", "6.60",
    ]  # fmt: skip
    from tablecloak.io.tabular import read_frame

    back = read_frame(released / "back.csv").with_columns(pl.col("card").cast(pl.String).str.zfill(10))
    assert sorted(zip(back["name"], back["card"], strict=True), key=str) == sorted(
        zip(NAMES, CARDS, strict=True), key=str
    )


def test_every_use_is_written_down_without_values(cloak, released):
    before = datetime.now(UTC) - timedelta(seconds=1)
    cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv", "--reason", "audit")
    cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "b2.csv", "--columns", "card")
    cloak("key", "new", "keys", "--id", "second")
    assert cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "b3.csv").code == 5
    first, second, third = log_of(released)
    assert before <= datetime.fromisoformat(first.pop("time")) <= datetime.now(UTC)
    assert first == {
        "user": pwd.getpwuid(os.getuid()).pw_name, "release": "out.csv", "columns": ["name", "card"], "records": 6,
        "keys": {"name": "first", "card": "first"}, "reason": "audit", "outcome": "restored",
    }  # fmt: skip
    assert (second["columns"], second["reason"], second["outcome"]) == (["card"], None, "restored")
    assert (third["keys"]["name"], third["outcome"]) == ("second", "refused")
    written = (released / "out.csv.reidentify.jsonl").read_text("utf-8")
    assert not any(value in written for value in [*filter(None, NAMES), *CARDS])
    assert mode(released / "out.csv.reidentify.jsonl") == 0o600
    assert not (released / "b3.csv").exists()


def test_a_wrong_key_is_refused_by_aes_siv_and_the_old_one_named(cloak, released):
    cloak("key", "new", "keys")
    outcome = cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv")
    assert outcome.code == 5
    assert "column 'name': 5 of 5 different pseudonyms cannot be opened" in outcome.err
    assert not (released / "back.csv").exists()
    words = ["reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv", "--key", "file:keys#first"]
    assert cloak(*words).code == 0


def test_a_wrong_key_of_ff1_gives_other_numbers_and_json_says_that_nobody_checked(cloak, released):
    cloak("key", "new", "keys", "--id", "second")
    outcome = cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "b.csv", "--columns", "card", "--json")
    assert outcome.code == 0
    assert outcome.data["unchecked"] == ["card"]
    assert outcome.data["keys"] == {"card": "second"}
    back = pl.read_csv(released / "b.csv", infer_schema=False)
    assert not set(back["card"]) & set(CARDS)


def test_nothing_is_written_over(cloak, released):
    words = ["reidentify", "out.csv", "-p", "policy.yaml", "-o"]
    (released / "mine.csv").write_text("mine")
    before = {file: file.read_bytes() for file in released.iterdir()}
    assert cloak(*words, "mine.csv").code == 2
    for target in ("out.csv", "people.csv", "policy.yaml", "keys"):
        assert cloak(*words, target, "--force").code == 2
        assert cloak(*words, "new.csv", "--log", target).code == 2
    assert {file: file.read_bytes() for file in released.iterdir()} == before
    assert cloak(*words, "mine.csv", "--force").code == 0
    outcome = cloak(*words, "other.csv", "--log", "mine.csv")
    assert outcome.code == 2
    assert "this file is no log" in outcome.err
    assert not (released / "other.csv").exists()


def test_a_log_can_be_elsewhere(cloak, released):
    words = ["reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv", "--log", "uses.jsonl"]
    assert cloak(*words).code == 0
    assert not (released / "out.csv.reidentify.jsonl").exists()
    assert len((released / "uses.jsonl").read_text().splitlines()) == 1
    assert mode(released / "uses.jsonl") == 0o600


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--columns", "town"], 2, "column 'town' cannot be restored: hmac cannot be undone"),
        (["--columns", "cards"], 2, "did you mean 'card'?"),
        (["--columns", " "], 2, "--columns ' ' is not a list of columns"),
        (["--key", "file:nothing"], 2, "the file of the key cannot be read"),
        (["--key", "file:keys#other"], 2, "no key in file:keys is called 'other'"),
    ],
)
def test_what_cannot_be_done_is_explained(cloak, released, words, code, message):
    outcome = cloak("reidentify", "out.csv", "-p", "policy.yaml", "-o", "back.csv", *words)
    assert outcome.code == code
    assert message in outcome.err
    assert not (released / "back.csv").exists()


def test_other_formats_keep_the_types_of_other_columns(cloak, released):
    pl.read_csv("out.csv", schema_overrides={"card": pl.String, "score": pl.String}).write_parquet("out.parquet")
    assert cloak("reidentify", "out.parquet", "-p", "policy.yaml", "-o", "back.parquet").code == 0
    back = pl.read_parquet("back.parquet")
    assert back.schema["age"] == pl.Int64
    assert sorted(back["name"].drop_nulls()) == sorted(filter(None, NAMES))
    assert sorted(back["card"]) == sorted(CARDS)


# vaults --------------------------------------------------------------------------------------------------------------

WRITTEN = sorted("'=1+2" if name == "=1+2" else name for name in NAMES if name)  # no file begins a formula
VAULTED = """
input: people.csv
columns:
  age: quasi
  name: {role: identifier, transform: {kind: random, vault: names.vault}}
  town: {role: identifier, transform: {kind: random, vault: towns.vault, with: [age]}}
  card: {role: identifier, type: text, transform: random}
goals: [{model: k-anonymity, k: 2}]
output: out.csv
"""


@pytest.fixture
def vaulted(released, cloak):
    (released / "vaulted.yaml").write_text(VAULTED, encoding="utf-8")
    assert cloak("run", "vaulted.yaml", "--quiet", "--force").code == 0
    return released


def test_the_vault_of_a_policy_leads_back(cloak, vaulted):
    outcome = cloak("reidentify", "out.csv", "-p", "vaulted.yaml", "-o", "back.csv", "--reason", "asked", "--json")
    assert outcome.code == 0
    assert outcome.data["columns"] == ["name", "town"]
    back, release = (pl.read_csv(name, infer_schema=False) for name in ("back.csv", "out.csv"))
    assert sorted(filter(None, back["name"])) == WRITTEN
    assert sorted(back["town"]) == sorted("abcabc")
    assert back["card"].equals(release["card"])
    vault = dict(pl.read_csv("names.vault", infer_schema=False).select("token", "value").rows())
    for token, name in zip(release["name"], back["name"], strict=True):
        assert (vault[token] if token else None) == (name and name.removeprefix("'"))
    (entry,) = log_of(vaulted)
    assert entry["vaults"] == {"name": "names.vault", "town": "towns.vault"}
    assert entry["keys"] == {}
    assert mode(vaulted / "back.csv") == 0o600
    assert not any(name in outcome.out + json.dumps(entry) for name in filter(None, NAMES))


def test_another_vault_may_be_named(cloak, vaulted):
    (vaulted / "names.vault").rename("elsewhere")
    words = ["reidentify", "out.csv", "-p", "vaulted.yaml", "-o", "back.csv", "--columns", "name"]
    outcome = cloak(*words)
    assert outcome.code == 2
    assert "the vault of column 'name' is not there" in outcome.err
    assert cloak(*words, "--vault", "elsewhere").code == 0
    assert sorted(filter(None, pl.read_csv("back.csv")["name"])) == WRITTEN


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--columns", "card"], 2, "column 'card' cannot be restored: random has no vault"),
        (["--columns", "name", "--vault", "towns.vault"], 5, "different tokens are not in the vault"),
        (["--columns", "name", "--vault", "people.csv"], 2, "may read the vault"),
        (["--columns", "name", "-o", "names.vault", "--force"], 2, "names.vault"),
    ],
)
def test_a_vault_that_does_not_lead_back_is_told(cloak, vaulted, words, code, message):
    before = (vaulted / "names.vault").read_bytes()
    outcome = cloak("reidentify", "out.csv", "-p", "vaulted.yaml", "-o", "back.csv", *words)
    assert outcome.code == code
    assert message in outcome.err
    assert "Ana" not in outcome.err
    assert not (vaulted / "back.csv").exists()
    assert (vaulted / "names.vault").read_bytes() == before


def test_check_and_run_tell_that_a_key_is_thrown_away(cloak, released):
    text = POLICY.replace('{kind: aes-siv, key: "file:keys"}', "aes-siv")
    (released / "drawn.yaml").write_text(text, encoding="utf-8")
    for verb in (["check"], ["run", "--force"]):
        outcome = cloak(verb[0], "drawn.yaml", *verb[1:])
        assert outcome.code == 0
        said = " ".join(outcome.out.split())
        assert "name: its key is drawn for this run and thrown away, so nobody can restore it later" in said
        assert "card: its key" not in said
