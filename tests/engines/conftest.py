"""Engines under test, by name; `duckdb-tiny` has so little memory that tables of a few hundred rows are cut apart."""

import pytest

import clusters
from tablecloak.engines.disk import engine as duck
from tablecloak.engines.disk import recount

ENGINES = ["duckdb-tiny", *clusters.OTHER_ENGINES]


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """An engine, or its name, whose releases must equal those of the local one."""
    name, _, size = request.param.partition("-")
    if name == "spark":
        return request.getfixturevalue("spark")
    if size == "tiny":
        monkeypatch.setattr(duck, "LEAST_WORK", 40_000)
        monkeypatch.setattr(duck, "RESIDENT", 10**18)
        monkeypatch.setattr(recount, "BYTES_PER_ROW", 400)
    return name


@pytest.fixture
def tiny(monkeypatch):
    """DuckDB with memory for a few hundred rows."""
    monkeypatch.setattr(duck, "LEAST_WORK", 40_000)
    monkeypatch.setattr(duck, "RESIDENT", 10**18)
    return "duckdb"
