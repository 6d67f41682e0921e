"""Bad and odd input through the command line: the exact message, the exit code, and never a cell of the data."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

import effort

POLICY = {
    "columns": {"age": "quasi", "sex": "quasi", "illness": "sensitive"},
    "goals": [{"model": "k-anonymity", "k": 2}],
}
GOOD = "age,sex,illness\n30,f,flu\n31,f,flu\n40,m,acne\n41,m,flu\n"


@pytest.fixture
def attempt(cloak, tmp_path):
    """Run a policy on the bytes of a file; nothing may appear unless it succeeds."""

    def call(data, *, name="data.csv", columns=None, words=(), command="run", **policy):
        (tmp_path / name).write_bytes(data.encode() if isinstance(data, str) else data)
        written = {**POLICY, **policy, "input": name, "output": {"path": "out/release.csv", "recoding": "out/r.json"}}
        written["columns"] = columns or POLICY["columns"]
        (tmp_path / "policy.yaml").write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
        outcome = cloak(command, tmp_path / "policy.yaml", *words)
        if outcome.code:
            assert not (tmp_path / "out").exists() or list((tmp_path / "out").iterdir()) == []
        return outcome

    return call


def rows_of(folder):
    return list(csv.DictReader(io.StringIO((folder / "out/release.csv").read_text(encoding="utf-8"))))


BROKEN = [
    ("", "the file is empty"),
    ("age,sex,illness\n", "has a header but no rows"),
    ("age,sex,illness\n30,f,flu\n31,f\n40,m,acne\n", "row 2 (line 3) has 2 fields, expected 3"),
    ("age,sex,illness\n30,f,flu\n31,f,flu,x\n", "row 2 (line 3) has 4 fields, expected 3"),
    ("age,sex,illness,age\n30,f,flu,1\n", "duplicate column names: 'age'"),
    ("age,sexx,illness\n30,f,flu\n", "there is no column 'sex'"),
    ('age,sex,illness\n30,"f,flu\n', "the quotes in row 1 (ending at line 2) do not match"),
    ("age,sex,illness\n30,f,fl\0u\n31,f,flu\n", "row 1 contains a NUL character"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN)
@pytest.mark.parametrize("command", ["run", "check"])
def test_broken_files(attempt, tmp_path, data, message, command):
    outcome = attempt(data, command=command)
    assert outcome.code == 5
    lines = outcome.err.splitlines()
    assert f"{tmp_path}/data.csv  {message}" in lines
    assert lines[-1].startswith("  try  ")
    as_json = attempt(data, command=command, words=["--json"])
    assert as_json.code == 5
    assert as_json.data["error"] == "data"
    assert as_json.data["message"] == message
    assert as_json.data["location"] == f"{tmp_path}/data.csv"
    assert as_json.data["hint"]


def test_a_missing_column_is_guessed(attempt):
    assert attempt("age,sexx,illness\n30,f,flu\n", words=["--json"]).data["hint"] == "did you mean 'sexx'?"


def test_a_missing_file(attempt, cloak, tmp_path):
    attempt(GOOD)
    outcome = cloak("run", tmp_path / "policy.yaml", "--input", tmp_path / "dat.csv", "--force")
    assert outcome.code == 5
    assert f"{tmp_path}/dat.csv  file not found" in outcome.err
    assert "did you mean 'data.csv'?" in outcome.err


def test_one_row(attempt):
    outcome = attempt("age,sex,illness\n30,f,flu\n", words=["--json"])
    assert outcome.code == 4
    assert outcome.data["message"] == (
        "infeasible  no release reaches k-anonymity 2 (best: 1, with all 1 records together)"
    )
    assert [b["achieved"] for b in outcome.data["best"]] == [1]


def test_k_beyond_the_table(attempt):
    outcome = attempt(GOOD, goals=[{"model": "k-anonymity", "k": 5}])
    assert outcome.code == 4
    assert outcome.err.splitlines()[-3:] == [
        "infeasible  no release reaches k-anonymity 5 (best: 4, with all 4 records together)",
        "  try  goals.0.k: 4  → feasible, loss 1.00",
        "  try  goals.0.k: 2  → feasible, loss 0.05",  # ages [30, 31] and [40, 41] of 30 to 41: 1/11 / 2 columns
    ]


def test_a_wrong_encoding(attempt, tmp_path):
    data = GOOD.replace("acne", "akné").encode("latin-1")
    outcome = attempt(data, words=["--set", "input={path: data.csv, encoding: utf-8}"])
    assert outcome.code == 5
    assert f"{tmp_path}/data.csv  not utf-8 text: byte 42 (row 3) cannot be decoded" in outcome.err


def test_the_right_encoding(attempt, tmp_path):
    data = GOOD.replace("acne", "akné").encode("latin-1")
    assert attempt(data, words=["--set", "input={path: data.csv, encoding: latin-1}"]).code == 0
    assert [row["illness"] for row in rows_of(tmp_path)] == ["flu", "flu", "akné", "flu"]


def test_an_unknown_encoding(attempt):
    outcome = attempt(GOOD, words=["--set", "input={path: data.csv, encoding: utf-9}"])
    assert outcome.code == 5
    assert "unknown encoding 'utf-9'" in outcome.err


def test_a_value_that_is_not_in_the_hierarchy(attempt, tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\n")
    outcome = attempt(GOOD, columns={"age": "quasi", "sex": {"role": "quasi", "hierarchy": "sex.csv"}})
    assert outcome.code == 5
    message = "column 'sex': 1 of its 2 distinct values are not among the 1 leaves of its hierarchy"
    assert message in outcome.err.splitlines()


def test_the_advice_about_a_hierarchy_works(attempt, cloak, tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\n")
    outcome = attempt(GOOD, columns={"age": "quasi", "sex": {"role": "quasi", "hierarchy": "sex.csv"}})
    advice = outcome.err.partition("with: tablecloak ")[2].strip().split()
    given = {"FILE": tmp_path / "sex.csv", "DATA": tmp_path / "data.csv"}
    checked = cloak(*(given.get(word, word) for word in advice))
    assert checked.code == 5
    assert "1 of 2 values of the column are not in the hierarchy" in checked.out


@pytest.mark.parametrize("cells", ["", '""'])
def test_an_empty_column(attempt, tmp_path, cells):
    data = "age,sex,illness\n" + f"{cells},f,flu\n" * 3
    assert attempt(data).code == 0
    assert [row["age"] for row in rows_of(tmp_path)] == [""] * 3


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("drop", "no rows are left: each has an empty cell where the policy says missing: drop"),
        ("error", "column 'age' has 3 empty cells and the policy says missing: error"),
    ],
)
def test_an_empty_column_that_may_not_be(attempt, tmp_path, missing, message):
    outcome = attempt("age,sex,illness\n" + ",f,flu\n" * 3, missing=missing)
    assert outcome.code == 5
    assert f"{tmp_path}/data.csv  {message}" in outcome.err.splitlines()


def test_not_a_number_is_missing(attempt, tmp_path):
    data = "age,sex,illness\n1.5,f,flu\n1.5,f,flu\nNaN,f,flu\nnan,f,flu\n"
    assert attempt(data, words=["--set", "columns.age={role: quasi, type: float}"]).code == 0
    assert [row["age"] for row in rows_of(tmp_path)] == ["", "", "1.5", "1.5"]  # by content


def test_not_a_number_in_parquet_is_missing(attempt, tmp_path):
    frame = pl.DataFrame({"age": [1.5, 1.5, float("nan"), None], "sex": ["f"] * 4, "illness": ["flu"] * 4})
    stream = io.BytesIO()
    frame.write_parquet(stream)
    assert attempt(stream.getvalue(), name="data.parquet").code == 0
    assert [row["age"] for row in rows_of(tmp_path)] == ["", "", "1.5", "1.5"]


@pytest.mark.parametrize("cell", ["inf", "-inf"])
def test_infinity(attempt, tmp_path, cell):
    data = f"age,sex,illness\n1.5,f,flu\n1.5,f,flu\n{cell},f,flu\n{cell},f,flu\n"
    outcome = attempt(data, words=["--set", "columns.age={role: quasi, type: float}"])
    assert outcome.code == 5
    message = "column 'age' has 2 infinite values, which no interval can hold"
    assert f"{tmp_path}/data.csv  {message}" in outcome.err.splitlines()


def test_integers_beyond_2_to_53_stay_exact(attempt, tmp_path):
    top = 2**53
    pairs = [top + 1, top + 2, top + 5, top + 6]
    data = "age,sex,illness\n" + "".join(f"{n},f,{n}\n" for n in pairs)
    assert attempt(data).code == 0
    rows = rows_of(tmp_path)
    assert [row["age"] for row in rows] == [f"[{top + 1}, {top + 2}]"] * 2 + [f"[{top + 5}, {top + 6}]"] * 2
    assert [int(row["illness"]) for row in rows] == pairs


def test_integers_beyond_64_bits_stay_exact_text(attempt, tmp_path):
    numbers = [2**64 + 1, 2**64 + 1, 2**70, 2**70]
    data = "age,sex,illness\n" + "".join(f"{n},f,{n}\n" for n in numbers)
    assert attempt(data).code == 0
    assert sorted((int(row["age"]), int(row["illness"])) for row in rows_of(tmp_path)) == [(n, n) for n in numbers]


@pytest.mark.slow
def test_thousands_of_columns(attempt, tmp_path):
    n = 10_000 if effort.IS_THOROUGH else 1000  # each is asked whether it looks like an identifier
    names = [f"c{i}" for i in range(n)]
    lines = [",".join(["age", "sex", "illness", *names])]
    lines += [",".join([age, "f", "flu", *(str(i) for i in range(n))]) for age in ("30", "31")]
    assert attempt("\n".join(lines) + "\n", others="keep").code == 0
    with (tmp_path / "out/release.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["age", "sex", "illness", *names]
    assert rows[1] == ["[30, 31]", "f", "flu", *(str(i) for i in range(n))]


def test_names_in_any_alphabet(attempt, tmp_path):
    names = {"Größe": "quasi", "性别": "quasi", "maladie 🙂": "sensitive"}
    data = "Größe,性别,maladie 🙂\n1,女,a\n2,女,b\n"
    outcome = attempt(data, columns=names, goals=[{"model": "l-diversity", "l": 2, "sensitive": "maladie 🙂"}])
    assert outcome.code == 0, outcome.err
    assert rows_of(tmp_path) == [
        {"Größe": "[1, 2]", "性别": "女", "maladie 🙂": "a"},
        {"Größe": "[1, 2]", "性别": "女", "maladie 🙂": "b"},
    ]


FORMULAS = ["=1+1", "+49 170", "-2+3", "@SUM(A1)", "'=x", "''=x", "\t=1", "-5", "'quiet"]


def test_formulas_are_defused_and_come_back(attempt, cloak, tmp_path):
    source = io.StringIO()
    writer = csv.writer(source, lineterminator="\n")
    writer.writerows([["age", "sex", "illness"], *([30, text, text] for text in FORMULAS for _ in range(2))])
    columns = {
        "age": "quasi",
        "sex": {"role": "quasi", "type": "text"},
        "illness": {"role": "sensitive", "type": "text"},
    }
    # the reader takes one apostrophe from what looks protected, so the original must be protected itself
    protected = source.getvalue().replace("'=x", "''=x")
    (tmp_path / "original.csv").write_text(protected)
    assert attempt(protected, columns=columns).code == 0
    for row in rows_of(tmp_path):
        for cell in (row["sex"], row["illness"]):
            assert cell == "-5" or cell[0] not in "=+-@\t\r"
    words = [
        "verify",
        tmp_path / "out/release.csv",
        "-p",
        tmp_path / "policy.yaml",
        "--original",
        tmp_path / "data.csv",
    ]
    assert cloak(*words, "--json").data["covers"] is True
    again = pl.read_csv(tmp_path / "out/release.csv", infer_schema=False)["illness"].to_list()
    expected = [text for text in FORMULAS for _ in range(2)]
    bare = [t[1:] if t.startswith("'") and t.lstrip("'")[:1] in "=+-@\t\r" else t for t in again]
    assert sorted(bare) == sorted(expected)


def test_truncated_parquet(attempt, tmp_path):
    stream = io.BytesIO()
    pl.DataFrame({"age": range(1000), "sex": ["f"] * 1000, "illness": ["flu"] * 1000}).write_parquet(stream)
    outcome = attempt(stream.getvalue()[:-50], name="data.parquet")
    assert outcome.code == 5
    assert f"{tmp_path}/data.parquet  the Parquet data is damaged or cut off" in outcome.err.splitlines()


# --- canaries -------------------------------------------------------------------------------------------------------

CANARY = "CANARY"


def planted(n=12):
    """A table with a recognisable value in every cell, each different; quasi-identifiers come in small groups."""
    lines = ["name,town,zip,born,illness,note"]
    lines += [
        f"{CANARY}name{i},{CANARY}town{i},9{i:02d}77,19{70 + i}-07-1{i % 9},{CANARY}ill{i % 5},{CANARY}note{i}"
        for i in range(n)
    ]
    return "\n".join(lines) + "\n"


COLUMNS = {
    "name": "identifier",
    "town": "quasi",
    "zip": {"role": "quasi", "type": "text", "hierarchy": {"kind": "mask"}},
    "born": "quasi",
    "illness": "sensitive",
}
SECRETS = ["CANARY", *(f"9{i:02d}77" for i in range(12)), *(f"19{70 + i}-07-1{i % 9}" for i in range(12))]
FAILING = [
    (["--set", "goals.0.k=50"], 4),
    (["--set", "goals=[{model: l-diversity, l: 9}]"], 4),
    (["--set", "columns.town={role: quasi, type: integer}"], 5),
    (["--set", "columns.town={role: quasi, type: date, format: '%d/%m/%Y'}"], 5),
    (["--set", "columns.town={role: quasi, hierarchy: {kind: tree, tree: {x: [y]}}}"], 5),
    (["--set", "columns.town={role: quasi, hierarchy: levels.csv}"], 5),
    (["--set", "columns.town={role: quasi, hierarchy: {kind: intervals, width: 5}}"], 2),
    (["--set", "columns.town={role: quasi, hierarchy: {kind: dates}}"], 2),
    (["--set", "goals=[{model: t-closeness, t: 0.1, distance: ordered}]"], 2),
    (["--set", "goals=[{model: t-closeness, t: 0.1, distance: hierarchical}]"], 2),
    (["--set", "columns.nmae=keep"], 5),
]


every_voice = pytest.mark.parametrize(
    "more", [pytest.param([], marks=pytest.mark.slow), ["-v"], pytest.param(["--json"], marks=pytest.mark.slow)]
)


@pytest.mark.parametrize(("words", "code"), FAILING)
@every_voice
def test_no_failure_shows_a_value(attempt, tmp_path, words, code, more):
    (tmp_path / "levels.csv").write_text("a;*\n")
    outcome = attempt(planted(), columns=COLUMNS, words=[*words, *more])
    assert outcome.code == code, outcome
    assert [s for s in SECRETS if s in outcome.out + outcome.err] == []


@pytest.mark.parametrize("damage", [("town3", 'to"wn'), ("town3,", "town3,,"), ("town3", "to\0wn"), ("town3", "\xff")])
def test_no_broken_file_shows_a_value(attempt, damage):
    outcome = attempt(planted().replace(*damage, 1).encode("latin-1"), columns=COLUMNS, words=["-v"])
    assert [s for s in SECRETS if s in outcome.out + outcome.err] == []


@every_voice
def test_no_success_shows_a_value(attempt, cloak, tmp_path, more):
    outcome = attempt(planted(), columns=COLUMNS, words=more)
    assert outcome.code == 0, outcome.err
    words = [tmp_path / "out/release.csv", "-p", tmp_path / "policy.yaml", "--original", tmp_path / "data.csv", *more]
    said = [
        outcome,
        cloak("check", tmp_path / "policy.yaml", *more),
        cloak("verify", *words),
        cloak("apply", tmp_path / "out/r.json", tmp_path / "data.csv", "-o", tmp_path / "again.csv", *more),
    ]
    assert [o.code for o in said] == [0, 0, 0, 0]
    assert [s for s in SECRETS for o in said if s in o.out + o.err] == []


def test_a_release_and_its_recoding_hold_only_what_is_published(attempt, tmp_path):
    """Bounds of intervals, members of sets and sensitive values are published; names, notes and the rest are not."""
    assert attempt(planted(), columns=COLUMNS, goals=[{"model": "k-anonymity", "k": 4}]).code == 0
    release = (tmp_path / "out/release.csv").read_text()
    recoding = (tmp_path / "out/r.json").read_text()
    assert f"{CANARY}name" not in release + recoding
    assert f"{CANARY}note" not in release + recoding
    assert f"{CANARY}ill" not in recoding
    shown = [s for s in (f"19{70 + i}-07-1{i % 9}" for i in range(12)) if s in recoding]
    assert [s for s in shown if s not in release] == []


def test_a_recoding_is_for_its_owner_only(attempt, tmp_path):
    """It lists the values of masked and listed columns, so that new rows find their class."""
    assert attempt(planted(), columns=COLUMNS, goals=[{"model": "k-anonymity", "k": 4}]).code == 0
    assert (tmp_path / "out/r.json").stat().st_mode & 0o777 == 0o600
