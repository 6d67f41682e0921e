"""Sources and sinks that are no single file, on engines that read them in batches: as the local engine reads them."""

import sqlite3

import polars as pl
import pytest

from engine_tables import K, L, people, policy_of
from tablecloak import pipeline
from tablecloak.errors import DataError
from tablecloak.io.tabular import read_frame
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow
ROWS = 300


@pytest.fixture(params=["duckdb", "duckdb-tiny"])
def streaming(request):
    """DuckDB with room for the table, or for a few hundred rows of it."""
    return request.getfixturevalue("tiny") if request.param.endswith("tiny") else request.param


def released(folder, source, target, engine):
    text = policy_of("mondrian", [K, L], source=source, output="x.csv")
    policy = parse_policy(text, name="p", base=folder).with_files(source=source, target=target)
    return pipeline.run(policy, engine=engine, memory="1GB")


def same(folder, source, engine, kind="csv"):
    """Both releases hold the same rows in the same order, except that small shards may have other classes."""
    ours = released(folder, source, f"{folder}/local.{kind}", "local")
    theirs = released(folder, source, f"{folder}/other.{kind}", engine)
    here, there = (read_frame(folder / f"{name}.{kind}") for name in ("local", "other"))
    assert theirs.verification.holds
    assert theirs.verification.covers
    assert there["id"].to_list() == here["id"].to_list()
    assert there["note"].to_list() == here["note"].to_list()
    assert there.height == ROWS
    if theirs.verification.n_classes == ours.verification.n_classes:
        assert there.equals(here)
    assert [p.name for p in folder.iterdir() if p.name.startswith(".")] == []


def parts(folder, write):
    """The table as files of a folder for each illness, whose name holds the value."""
    frame = people(ROWS)
    for (illness,), rows in frame.group_by("illness", maintain_order=True):
        place = folder / "in" / f"illness={illness}"
        place.mkdir(parents=True)
        for i in range(2):
            write(rows.drop("illness").filter(pl.col("id") % 2 == i), place / f"{i}")


def test_a_partitioned_folder_of_parquet(streaming, tmp_path):
    parts(tmp_path, lambda rows, path: rows.write_parquet(f"{path}.parquet"))
    same(tmp_path, f"{tmp_path}/in", streaming)


def test_a_partitioned_folder_of_csv(streaming, tmp_path):
    parts(tmp_path, lambda rows, path: rows.write_csv(f"{path}.csv"))
    same(tmp_path, f"{tmp_path}/in", streaming)


def test_files_that_a_pattern_finds(streaming, tmp_path):
    (tmp_path / "in").mkdir()
    for i, rows in enumerate(people(ROWS).iter_slices(100)):
        rows.write_csv(tmp_path / "in" / f"part-{i}.csv")
    (tmp_path / "in" / "other.csv").write_text("something,else\n1,2\n")
    same(tmp_path, f"{tmp_path}/in/part-*.csv", streaming)


def test_a_folder_as_output(streaming, tmp_path):
    people(ROWS).write_csv(tmp_path / "people.csv")
    text = policy_of("mondrian", [K], source="people.csv", output="out/", extra=", format: csv, rows_per_file: 120")
    report = pipeline.run(parse_policy(text, name="p", base=tmp_path), engine=streaming, memory="1GB")
    assert report.verification.holds
    assert report.verification.covers
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [f"part-0000{i}.csv" for i in range(3)]
    assert sorted(read_frame(tmp_path / "out")["id"].to_list()) == list(range(ROWS))


def test_tables_of_sqlite_in_and_out(streaming, tmp_path):
    pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is not installed")
    frame = people(ROWS).with_columns(pl.col("born").cast(pl.String))
    frame.write_database("people", f"sqlite:///{tmp_path}/data.db", engine="adbc")
    source, target = (f"sqlite:///{tmp_path}/data.db?table={name}" for name in ("people", "release"))
    report = released(tmp_path, source, target, streaming)
    assert report.verification.holds
    assert report.verification.covers
    with sqlite3.connect(tmp_path / "data.db") as database:
        tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        rows = database.execute("SELECT id, note, illness FROM release ORDER BY rowid").fetchall()
        smallest = database.execute(
            "SELECT min(n) FROM (SELECT count(*) AS n FROM release GROUP BY age, born, town, weight)"
        ).fetchone()
    assert tables == {"people", "release"}
    assert sorted(rows) == frame.select("id", "note", "illness").rows()
    assert smallest[0] >= 4


def test_files_of_different_types_are_refused(streaming, tmp_path):
    (tmp_path / "in").mkdir()
    people(ROWS).write_parquet(tmp_path / "in" / "1.parquet")
    people(ROWS).with_columns(pl.col("age").cast(pl.String)).write_parquet(tmp_path / "in" / "2.parquet")
    with pytest.raises(DataError, match="age"):
        released(tmp_path, f"{tmp_path}/in", f"{tmp_path}/x.csv", streaming)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]
