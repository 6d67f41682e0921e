"""Tables of a real PostgreSQL server, started for these tests."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import polars as pl
import pytest

import postgres
from tablecloak import pipeline
from tablecloak.data.table import ColumnType
from tablecloak.errors import CloakError, DataError, EngineError, PolicyError
from tablecloak.io.atomic import Outputs
from tablecloak.io.places import database_table
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy
from tablecloak.release import publish as publishing

pytestmark = pytest.mark.slow
pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")

PASSWORD = "CLOAK_TEST_PASSWORD"


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    with ExitStack() as stack:
        try:
            started = stack.enter_context(postgres.running())
        except postgres.NoServerError as reason:
            pytest.skip(str(reason))
        yield started


@pytest.fixture(autouse=True)
def password(server: postgres.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PASSWORD, server.password)


@pytest.fixture
def people(server: postgres.Server) -> Iterator[str]:
    server.sql("CREATE TABLE people (name text, age int, city varchar(10), disease text)")
    server.sql(
        "INSERT INTO people SELECT 'n' || i, 20 + i % 50, CASE WHEN i % 3 = 0 THEN 'Rome' ELSE 'Milan' END,"
        " 'd' || i % 4 FROM generate_series(1, 20000) AS i"
    )
    yield "people"
    server.sql("DROP TABLE IF EXISTS people, release")


def _source(server: postgres.Server, **named: str) -> Source:
    return Source.of(database_table(server.address, password=f"env:{PASSWORD}", **named))


def _policy(server: postgres.Server, folder: Path) -> Policy:
    text = f"""
input: {{uri: "{server.address}", table: people, password: "env:{PASSWORD}"}}
columns: {{name: identifier, age: quasi, city: quasi, disease: sensitive}}
goals: [{{model: k-anonymity, k: 5}}, {{model: l-diversity, l: 2}}]
output:
  uri: "{server.address}"
  table: release
  password: "env:{PASSWORD}"
  report: report.html
  certificate: certificate.json
  recoding: recoding.json
"""
    return parse_policy(text, name="policy.yaml", base=folder)


def test_types_arrive_as_ours(server: postgres.Server) -> None:
    query = (
        "SELECT 1::int2 AS a, 2::int8 AS b, 1.25::numeric(10, 3) AS c, 0.5::float4 AS d, true AS e, 'x'::char(3) AS f,"
        " DATE '2020-01-02' AS g, TIMESTAMP '2020-01-02 03:04:05' AS h, '{}'::json AS i,"
        " 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid AS j, NULL::int AS k, TIMESTAMPTZ '2020-01-02 03:04:05+02' AS l"
    )
    frame = read_frame(_source(server, query=query))
    moments = dt.datetime(2020, 1, 2, 3, 4, 5), dt.datetime(2020, 1, 2, 1, 4, 5)
    assert frame.row(0) == (
        1, 2, 1.25, 0.5, True, "x", dt.date(2020, 1, 2), moments[0], "{}", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        None, moments[1],
    )  # fmt: skip
    assert sniff(_source(server, query=query)).type_of("i") is ColumnType.TEXT


def test_tables_are_found_by_schema_and_odd_names(server: postgres.Server) -> None:
    server.sql('CREATE SCHEMA IF NOT EXISTS "Odd"')
    server.sql('CREATE TABLE "Odd"."my ""table" ("a b" int)')
    server.sql('INSERT INTO "Odd"."my ""table" VALUES (7)')
    assert read_frame(_source(server, table='Odd.my "table')).to_dict(as_series=False) == {"a b": [7]}
    server.sql('DROP SCHEMA "Odd" CASCADE')


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_release_goes_from_table_to_table(server: postgres.Server, people: str, tmp_path: Path, engine: str) -> None:
    report = pipeline.run(_policy(server, tmp_path), engine=engine, memory="1GB")
    assert report.engine == engine
    assert report.verification.holds
    assert report.verification.covers
    assert server.tables() == {people, "release"}
    assert server.sql("SELECT count(*) FROM release") == [(20000,)]
    smallest = server.sql(
        "SELECT min(n), min(d) FROM (SELECT count(*) n, count(DISTINCT disease) d FROM release GROUP BY age, city) c"
    )
    assert smallest[0][0] >= 5  # type: ignore[operator]
    assert smallest[0][1] >= 2  # type: ignore[operator]
    place = _source(server, table="release").table
    assert place is not None
    original = _source(server, table="people").table
    checked = pipeline.verify_certificate(place, tmp_path / "certificate.json", original=original)
    assert checked.verification.holds


def test_engines_make_the_same_release(server: postgres.Server, people: str, tmp_path: Path) -> None:
    assert people == "people"
    found = []
    for engine in ("local", "duckdb"):
        report = pipeline.run(_policy(server, tmp_path), engine=engine, memory="1GB", force=True)
        rows = server.sql("SELECT age, city, disease FROM release ORDER BY age, city, disease")
        certificate = json.loads((tmp_path / "certificate.json").read_text())
        found.append((rows, report.loss, certificate["verdicts"], certificate["classes"]))
    assert found[0] == found[1]


def test_no_document_shows_a_password(server: postgres.Server, people: str, tmp_path: Path) -> None:
    report = pipeline.run(_policy(server, tmp_path), force=True)
    texts = [path.read_text() for path in tmp_path.iterdir()]
    assert len(texts) == 3
    said = " ".join([*texts, json.dumps(report.to_dict()), str(report)])
    assert server.password not in said
    assert f"env:{PASSWORD}" in said


def test_rows_are_streamed_in_batches(server: postgres.Server) -> None:
    frame = pl.DataFrame({"a": range(200_000), "b": ["x" * 20] * 200_000})
    target = database_table(server.address, table="big", password=f"env:{PASSWORD}")
    with Outputs(reads=[]) as outputs:
        write_frame(frame, outputs.add_place(target))
    assert read_frame(Source.of(target), columns=["a"])["a"].sort().to_list() == list(range(200_000))
    server.sql("DROP TABLE big")


@pytest.mark.parametrize("moment", ["write", "verify"])
def test_a_connection_that_is_cut_leaves_nothing_behind(
    server: postgres.Server, people: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    name = {"write": "write_release", "verify": "recount"}[moment]
    original = getattr(publishing, name)

    def cut_first(*arguments: object, **more: object) -> object:
        server.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND datname = 'postgres'"
        )
        return original(*arguments, **more)

    monkeypatch.setattr(publishing, name, cut_first)
    with pytest.raises(EngineError, match="connection to the database was cut while") as caught:
        pipeline.run(_policy(server, tmp_path))
    assert server.password not in str(caught.value)
    assert server.tables() == {people}
    assert list(tmp_path.iterdir()) == []


def test_a_connection_that_is_cut_while_reading_is_said(server: postgres.Server) -> None:
    cut = "SELECT pg_terminate_backend(pg_backend_pid()) AS x, generate_series(1, 10) AS y"
    with pytest.raises(EngineError, match="connection to the database was cut while"):
        read_frame(_source(server, query=f"SELECT y FROM ({cut}) AS q WHERE x"))


def test_a_release_without_rights_is_refused(server: postgres.Server, people: str, tmp_path: Path) -> None:
    server.sql("CREATE ROLE reader LOGIN PASSWORD 'readerpass'")
    server.sql("GRANT SELECT ON people TO reader")
    (tmp_path / "secret").write_text("readerpass\n")
    address = server.address.replace(postgres.USER, "reader")
    policy = _policy(server, tmp_path).with_files(target=f"{address}?table=release&password=file:{tmp_path}/secret")
    with pytest.raises(EngineError, match="permission was denied"):
        pipeline.run(policy)
    assert server.tables() == {people}
    server.sql("DROP OWNED BY reader")
    server.sql("DROP ROLE reader")


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        (("", ""), EngineError, "refused the user or the password"),
        (("/postgres", "/nowhere"), DataError, "there is no such database"),
        ((":", ":1"), EngineError, "cannot be reached"),
    ],
)
def test_what_does_not_connect_says_why(
    server: postgres.Server,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[str, str],
    kind: type[CloakError],
    message: str,
) -> None:
    if change == ("", ""):
        monkeypatch.setenv(PASSWORD, "wrongpassword")
    address = server.address
    if change[0] == ":":
        address = address.replace(f":{server.port}", ":1")
    elif change[0]:
        address = address.replace(*change)
    with pytest.raises(kind, match=message) as caught:
        sniff(Source.of(database_table(address, table="people", password=f"env:{PASSWORD}")))
    assert "wrongpassword" not in str(caught.value)
    assert server.password not in str(caught.value)


def test_what_is_missing_is_said(server: postgres.Server, people: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no table nothing"):
        sniff(_source(server, table="nothing"))
    with pytest.raises(DataError, match="does not understand the query"):
        sniff(_source(server, query="SELEKT"))
    server.sql("CREATE TABLE release (x int)")
    with pytest.raises(PolicyError, match="exists already"):
        pipeline.run(_policy(server, tmp_path))
    pipeline.run(_policy(server, tmp_path), force=True)
    assert server.sql("SELECT count(age) FROM release") == [(20000,)]
