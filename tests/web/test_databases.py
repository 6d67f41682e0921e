"""Tables of databases, opened through the API and the pages."""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack

import polars as pl
import pytest

import postgres

pytestmark = pytest.mark.slow
PASSWORD = "CLOAK_WEB_PASSWORD"


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("adbc_driver_postgresql", reason="the extra sql is not installed")
    with ExitStack() as stack:
        try:
            started = stack.enter_context(postgres.running())
        except postgres.NoServerError as reason:
            pytest.skip(str(reason))
        started.sql("CREATE TABLE people (age int, sex text, seen date, cost numeric)")
        started.sql(
            "INSERT INTO people SELECT 20 + i % 30, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END,"
            " date '2020-01-01' + i, i / 2.0 FROM generate_series(0, 299) AS i"
        )
        yield started


def opened(api, source):
    return api.post("/api/v1/datasets/open", json={"source": source})


def test_a_table_of_a_postgresql_server_becomes_a_project(server, api, pages, folder, monkeypatch):
    monkeypatch.setenv(PASSWORD, server.password)
    answer = opened(api, f"{server.address}?table=people&password=env:{PASSWORD}")
    assert answer.status_code == 201, answer.text
    assert answer.json()["name"] == "people.parquet"
    profile = api.get(f"/api/v1/datasets/{answer.json()['id']}/profile").json()
    assert profile["rows"] == 300
    types = {column["name"]: column["type"] for column in profile["columns"]}
    assert types == {"age": "integer", "sex": "text", "seen": "date", "cost": "float"}

    (folder / "secret.txt").write_text(f"{server.password}\n")
    page = pages.send(pages.get("/"), "/open/database", uri=server.address, table="people", password="file:secret.txt")
    assert page.status_code == 200, page.text
    assert "300 records, 4 columns" in page.text
    # what was typed is not what is kept: neither the password nor where it is
    kept = b"".join(path.read_bytes() for path in (folder / "server").glob("tablecloak.sqlite*"))
    assert server.password.encode() not in kept
    assert PASSWORD.encode() not in kept
    assert b"secret.txt" not in kept


def test_what_a_server_refuses_is_said_without_secrets(server, api, pages, folder, monkeypatch):
    monkeypatch.setenv(PASSWORD, "not-the-password")
    wrong = opened(api, f"{server.address}?table=people&password=env:{PASSWORD}")
    assert wrong.status_code == 422
    assert "refused the user or the password" in wrong.json()["message"]
    assert "not-the-password" not in wrong.text
    monkeypatch.setenv(PASSWORD, server.password)
    missing = opened(api, f"{server.address}?table=nobody&password=env:{PASSWORD}")
    assert "there is no table nobody" in missing.json()["message"]
    assert not any((folder / "server/datasets").iterdir())
    page = pages.send(pages.get("/"), "/open/database", uri=server.address, table="nobody", password=f"env:{PASSWORD}")
    assert page.status_code == 422
    assert "there is no table nobody" in page.text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("postgresql://me:hunter2@host/db?table=t", "password must not be written"),
        ("postgresql://me@host/db?table=t&password=hunter2", "password must not be written"),
        ("postgresql://me@host/db", "name a table"),
        ("postgresql://me@host/db?table=t&password=file:/etc/hostname", "no file to open"),
        ("postgresql://me@host/db?table=t&password=file:../../secret", "no file to open"),
        ("spark://host:7077?table=t", "cannot be opened here"),
        ("mysql://host/db?table=t", "no database is known as mysql"),
        ("postgresql://[host/db?table=t", "cannot be read"),
    ],
)
def test_passwords_are_named_and_other_databases_are_not_known(api, source, words):
    answer = opened(api, source)
    assert answer.status_code == 422
    assert words in answer.json()["message"]
    assert "hunter2" not in answer.text


def test_a_table_of_an_sqlite_file_can_be_opened(api, folder):
    rows = [(20 + i % 30, "fm"[i % 2]) for i in range(300)]
    base = sqlite3.connect(folder / "people.db")
    base.execute('create table "some people" (age integer, sex text)')
    base.executemany('insert into "some people" values (?, ?)', rows)
    base.commit()
    base.close()
    answer = opened(api, f"sqlite://{folder}/people.db#some people")
    assert answer.status_code == 201, answer.text
    profile = api.get(f"/api/v1/datasets/{answer.json()['id']}/profile").json()
    assert profile["rows"] == len(pl.DataFrame(rows, orient="row"))
    for source in (f"sqlite://{folder}/people.db#none", "sqlite:///etc/passwd#x"):
        assert opened(api, source).status_code == 422
