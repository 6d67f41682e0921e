"""Tables of SQLite databases, places and credentials; PostgreSQL has its own tests, with a server."""

from __future__ import annotations

import datetime as dt
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tablecloak import pipeline
from tablecloak.data.table import ColumnType
from tablecloak.errors import CloakError, DataError, GoalNotMet, PolicyError
from tablecloak.io.atomic import Outputs
from tablecloak.io.database import digest_of_table
from tablecloak.io.places import DatabaseTable, database_table, place_of, read_secret, redacted
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.policy.load import dump_policy, parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.release import publish as publishing

pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is not installed")

FRAME = pl.DataFrame(
    {
        "age": [34, None, 36],
        "height": [1.5, 1.75, None],
        "city": ["Rome", None, 'Ünä, "x"'],
        "born": [dt.date(1990, 1, 2), None, dt.date(1985, 12, 31)],
        "seen": [dt.datetime(2020, 1, 2, 3, 4, 5), None, dt.datetime(2021, 1, 1)],
    }
)


def _database(path: Path, *statements: str) -> Path:
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def _tables(path: Path) -> set[str]:
    with sqlite3.connect(path) as connection:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _uri(path: Path, table: str) -> str:
    return f"sqlite:///{path}?table={table}"


def test_a_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    place = place_of(_uri(tmp_path / "x.db", "odd name"))
    with Outputs(reads=[]) as outputs:
        write_frame(FRAME, outputs.add_place(place))
    assert read_frame(Source.of(place)).equals(FRAME)


def test_what_is_stored_decides_the_type_even_if_it_comes_late(tmp_path: Path) -> None:
    path = _database(tmp_path / "x.db", "CREATE TABLE t (a, b INTEGER, c)")
    with sqlite3.connect(path) as connection:
        rows: list[tuple[Any, ...]] = [(None, 1, None)] * 3000
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", [*rows, ("late", 2.5, None)])
    source = Source.of(place_of(_uri(path, "t")))
    assert sniff(source).types == {"a": ColumnType.TEXT, "b": ColumnType.FLOAT, "c": ColumnType.TEXT}
    frame = read_frame(source)
    assert frame.height == 3001
    assert frame.row(-1) == ("late", 2.5, None)
    assert frame["b"].sum() == 3000 + 2.5


def test_declared_types_win(tmp_path: Path) -> None:
    path = _database(tmp_path / "x.db", "CREATE TABLE t (zip, n)", "INSERT INTO t VALUES (13053, '7')")
    types = {"zip": ColumnType.TEXT, "n": ColumnType.INTEGER}
    assert read_frame(Source.of(place_of(_uri(path, "t")), types=types)).rows() == [("13053", 7)]


def test_a_query_stands_for_a_table(tmp_path: Path) -> None:
    path = _database(tmp_path / "x.db", "CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, 'x'), (2, 'y')")
    table = database_table(f"sqlite:///{path}", query="SELECT b, a * 10 AS ten FROM t WHERE a > 1;")
    assert read_frame(Source.of(table)).to_dict(as_series=False) == {"b": ["y"], "ten": [20]}


def test_an_empty_table_has_columns_and_no_rows(tmp_path: Path) -> None:
    path = _database(tmp_path / "x.db", "CREATE TABLE t (a INTEGER, b TEXT)")
    frame = read_frame(Source.of(place_of(_uri(path, "t"))))
    assert (frame.columns, frame.height) == (["a", "b"], 0)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    path = _database(tmp_path / "x.db", "CREATE TABLE t (a)")
    with pytest.raises(DataError, match="there is no table people"):
        sniff(Source.of(place_of(_uri(path, "people"))))
    with pytest.raises(DataError, match="the file of the database does not exist"):
        sniff(Source.of(place_of(_uri(tmp_path / "y.db", "t"))))
    assert not (tmp_path / "y.db").exists()
    with pytest.raises(DataError, match="does not understand the query"):
        sniff(Source.of(database_table(f"sqlite:///{path}", query="SELEKT")))


# Releases ----------------------------------------------------------------------------------------------------------

POLICY = """
input: {{uri: "sqlite:///data.db", table: people}}
columns: {{age: quasi, city: quasi, disease: sensitive}}
goals: [{{model: k-anonymity, k: {k}}}]
output: {{uri: "sqlite:///out.db", table: release, certificate: certificate.json}}
"""


def _people(folder: Path) -> None:
    statements = [
        "CREATE TABLE people (age INTEGER, city TEXT, disease TEXT)",
        *(f"INSERT INTO people VALUES ({20 + i}, '{'Rome' if i % 2 else 'Milan'}', 'd{i % 3}')" for i in range(12)),
    ]
    _database(folder / "data.db", *statements)


def _policy(folder: Path, k: int = 3) -> Policy:
    return parse_policy(POLICY.format(k=k), name="policy.yaml", base=folder)


def test_a_release_goes_from_table_to_table(tmp_path: Path) -> None:
    _people(tmp_path)
    report = pipeline.run(_policy(tmp_path))
    assert report.verification.holds
    assert report.output == "sqlite:///out.db?table=release"
    assert _tables(tmp_path / "out.db") == {"release"}
    release = read_frame(Source.of(place_of(_uri(tmp_path / "out.db", "release"))))
    assert release.height == 12
    assert min(n for n in release.group_by("age", "city").len()["len"]) >= 3
    place = place_of(_uri(tmp_path / "out.db", "release"))
    original = place_of(_uri(tmp_path / "data.db", "people"))
    checked = pipeline.verify_certificate(place, tmp_path / "certificate.json", original=original)
    assert checked.holds
    assert checked.verification.covers


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_certificate_tells_whether_tables_are_the_ones_it_was_made_of(
    tmp_path: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _people(tmp_path)
    monkeypatch.setenv("HIDING", "".join(f"{i * 37 % 256:02x}" for i in range(32)))
    text = POLICY.format(k=3) + "secret: {env: HIDING}\n"
    pipeline.run(parse_policy(text, name="policy.yaml", base=tmp_path), engine=engine, memory="1GB")
    release, original = (place_of(_uri(tmp_path / f"{db}.db", t)) for db, t in (("out", "release"), ("data", "people")))

    def checked() -> dict[str, bool | None]:
        found = pipeline.verify_certificate(release, tmp_path / "certificate.json", original=original)
        return {check.claim: check.ok for check in found.checks if check.claim.endswith("is the certified file")}

    both = {"release is the certified file": True, "input is the certified file": True}
    assert {claim: ok for claim, ok in checked().items() if ok is not None} == both
    # the same rows in another order, then a cell that moved to another column, then what it was
    _database(tmp_path / "data.db", "CREATE TABLE t AS SELECT * FROM people ORDER BY age DESC", "DELETE FROM people",
              "INSERT INTO people SELECT * FROM t")  # fmt: skip
    assert checked()["input is the certified file"]
    _database(tmp_path / "data.db", "UPDATE people SET city = disease, disease = city WHERE age = 20")
    assert checked()["input is the certified file"] is False
    _database(tmp_path / "data.db", "UPDATE people SET city = disease, disease = city WHERE age = 20")
    assert checked()["input is the certified file"]
    _database(tmp_path / "out.db", "INSERT INTO release SELECT * FROM release LIMIT 1")
    assert checked()["release is the certified file"] is False


def test_rows_that_look_alike_side_by_side_have_other_digests(tmp_path: Path) -> None:
    rows = ["('ab', 'c')", "('a', 'bc')", "('abc', '')", "(NULL, 'abc')", "('-', 'abc')"]
    found = []
    for i, row in enumerate(rows):
        path = _database(tmp_path / f"{i}.db", "CREATE TABLE t (x TEXT, y TEXT)", f"INSERT INTO t VALUES {row}")
        found.append(digest_of_table(database_table(f"sqlite:///{path}", table="t")))
    assert len(set(found)) == len(rows)


def test_a_table_that_exists_is_replaced_only_when_forced(tmp_path: Path) -> None:
    _people(tmp_path)
    _database(tmp_path / "out.db", "CREATE TABLE release (x)", "CREATE TABLE other (x)")
    with pytest.raises(PolicyError, match="exists already"):
        pipeline.run(_policy(tmp_path))
    pipeline.run(_policy(tmp_path), force=True)
    assert _tables(tmp_path / "out.db") == {"release", "other"}
    assert read_frame(Source.of(place_of(_uri(tmp_path / "out.db", "release")))).columns == ["age", "city", "disease"]


def test_a_run_that_fails_leaves_no_table_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _people(tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise GoalNotMet("no", result={})

    monkeypatch.setattr(publishing, "recount", refuse)
    with pytest.raises(GoalNotMet):
        pipeline.run(_policy(tmp_path))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.db"]
    _database(tmp_path / "out.db", "CREATE TABLE release (x)")
    with pytest.raises(GoalNotMet):
        pipeline.run(_policy(tmp_path), force=True)
    with sqlite3.connect(tmp_path / "out.db") as connection:
        assert connection.execute("SELECT sql FROM sqlite_master").fetchall() == [("CREATE TABLE release (x)",)]


def test_a_folder_in_and_a_folder_out(tmp_path: Path) -> None:
    for year in (2020, 2021):
        folder = tmp_path / "in" / f"year={year}"
        folder.mkdir(parents=True)
        (folder / "a.csv").write_text("age,city\n" + "".join(f"{20 + i},Rome\n" for i in range(10)))
    text = """
input: in/
columns: {age: quasi, year: quasi, city: keep}
goals: [{model: k-anonymity, k: 4}]
output: {path: out/, format: csv, rows_per_file: 8, certificate: certificate.json, recoding: recoding.json}
"""
    policy = parse_policy(text, name="policy.yaml", base=tmp_path)
    assert pipeline.run(policy).verification.holds
    assert [p.name for p in sorted((tmp_path / "out").iterdir())] == [f"part-0000{i}.csv" for i in range(3)]
    with pytest.raises(PolicyError, match="exists already"):
        pipeline.run(policy)
    (tmp_path / "out" / "part-00007.csv").write_text("")
    pipeline.run(policy, force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["certificate.json", "in", "out", "recoding.json"]
    assert not (tmp_path / "out" / "part-00007.csv").exists()
    (tmp_path / "out" / "thesis.doc").write_text("")
    with pytest.raises(PolicyError, match="folder with other things in it"):
        pipeline.run(policy, force=True)
    (tmp_path / "out" / "thesis.doc").unlink()
    checked = pipeline.verify_certificate(tmp_path / "out", tmp_path / "certificate.json", original=tmp_path / "in")
    assert [c.claim for c in checked.checks if c.ok is False] == []
    assert [c.ok for c in checked.checks if c.claim.startswith(("release is", "input is"))] == [True, True]
    (tmp_path / "out" / "part-00001.csv").write_text("age,city,year\n*,Rome,2020\n")
    changed = pipeline.verify_certificate(tmp_path / "out", tmp_path / "certificate.json")
    assert not changed.holds


# Credentials -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "postgresql://me:hunter2@host/db?table=t",
        "postgresql://host/db?table=t&password=hunter2",
        "postgresql://host/db?table=t&sslpassword=hunter2",
        {"uri": "postgresql://me@host/db", "table": "t", "password": "hunter2"},
    ],
)
def test_a_password_is_refused_and_never_shown(spec: Any) -> None:
    text = {"input": spec, "columns": {"a": "quasi"}, "goals": [{"model": "k-anonymity", "k": 2}]}
    with pytest.raises(PolicyError) as caught:
        Policy.model_validate(text)
    assert "env:NAME" in str(caught.value)
    assert "hunter2" not in str(caught.value) + repr(caught.value) + str(caught.value.to_dict())
    assert caught.value.__cause__ is None


def test_a_password_on_the_command_line_is_never_shown(tmp_path: Path) -> None:
    minimal = "columns: {a: quasi}\ngoals: [{model: k-anonymity, k: 2}]\n"
    for change in ("input=postgresql://me:hunter2@host/db?table=t", "input.password=hunter2", "seed.x=a:hunter2@b"):
        with pytest.raises(CloakError) as caught:
            parse_policy(
                minimal, name="p.yaml", base=tmp_path, overrides=[change.replace("seed.x=a:", "seed.x=x://a:")]
            )
        assert "hunter2" not in str(caught.value)


def test_secrets_come_from_a_variable_or_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("p@ss word\n")
    monkeypatch.setenv("CLOAK_TEST_SECRET", "other")
    assert read_secret("file:secret", tmp_path) == "p@ss word"
    assert read_secret("env:CLOAK_TEST_SECRET", tmp_path) == "other"
    monkeypatch.delenv("CLOAK_TEST_SECRET")
    with pytest.raises(PolicyError, match="CLOAK_TEST_SECRET is not set"):
        read_secret("env:CLOAK_TEST_SECRET", tmp_path)
    with pytest.raises(PolicyError, match="cannot be read"):
        read_secret("file:nowhere", tmp_path)


def test_redacting_keeps_references() -> None:
    assert redacted("x=postgresql://u:p@h/d") == "x=postgresql://u:***@h/d"
    assert redacted("password=abc&x=1") == "password=***&x=1"
    assert redacted("input.password=env:NAME") == "input.password=env:NAME"


# Places ------------------------------------------------------------------------------------------------------------


def test_uris_and_paths_are_told_apart() -> None:
    assert place_of("data/x.csv") == Path("data/x.csv")
    assert place_of(r"c:/x.csv") == Path("c:/x.csv")
    table = place_of("postgresql://me@host:5433/db?table=s.people&sslmode=require&password=env:PW")
    assert table == DatabaseTable("postgresql://me@host:5433/db?sslmode=require", "s.people", None, "env:PW")
    assert str(table) == "postgresql://me@host:5433/db?sslmode=require&table=s.people"


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("mysql://host/db?table=t", "no database is known as mysql"),
        ("postgresql://host/db", "name a table"),
        ("sqlite://x.db?table=t", "is a file"),
    ],
)
def test_uris_that_name_nothing_are_refused(uri: str, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        place_of(uri)


def test_a_path_has_no_table_and_a_place_has_one_name() -> None:
    rest = {"columns": {"a": "quasi"}, "goals": [{"model": "k-anonymity", "k": 2}]}
    for spec in ({"path": "x.csv", "table": "t"}, {"format": "csv"}, {"path": "x.csv", "uri": "sqlite:///x?table=t"}):
        with pytest.raises(PolicyError):
            Policy.model_validate({"input": spec, **rest})


def test_relative_files_of_a_database_follow_the_policy(tmp_path: Path) -> None:
    text = """
input: {uri: "sqlite:///data.db", table: people, password: "file:secret"}
columns: {a: quasi}
goals: [{model: k-anonymity, k: 2}]
output: "sqlite:////elsewhere/out.db?table=t"
"""
    policy = parse_policy(text, name="p", base=tmp_path / "here")
    moved = policy.rebased(tmp_path / "there" / "deep")
    assert moved.input is not None
    assert moved.output is not None
    assert (moved.input.uri, moved.input.password) == ("sqlite:///../../here/data.db", "file:../../here/secret")
    assert moved.output.uri == "sqlite:////elsewhere/out.db"
    again = parse_policy(dump_policy(moved), name="p", base=moved.base)
    for found in (policy, moved, again):
        place = found.input_place
        assert isinstance(place, DatabaseTable)
        assert place.file.resolve() == (tmp_path / "here" / "data.db").resolve()


def test_files_of_a_command_replace_those_of_a_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = _policy(tmp_path / "policies").with_files(source="x.csv", target="out/")
    assert policy.input_place == tmp_path / "x.csv"
    assert policy.output is not None
    assert policy.output.is_folder
    back = policy.with_files(source="sqlite:///y.db?table=t")
    place = back.input_place
    assert isinstance(place, DatabaseTable)
    assert place.file == tmp_path / "y.db"
