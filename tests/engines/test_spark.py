"""The Spark engine: the same releases and figures as the local engine, from any kind of source."""

from __future__ import annotations

import datetime as dt
import json
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.scale_spark import counted_bytes

import clusters
from tablecloak import pipeline
from tablecloak.engines.spark import text_files
from tablecloak.engines.spark.recount import _ClassesOnWorkers
from tablecloak.engines.spark.search import WorkerAnswer
from tablecloak.engines.spark.session import task_bytes
from tablecloak.errors import DataError, GoalNotMet, IncompatibleChoice, PolicyError
from tablecloak.io.places import place_of
from tablecloak.io.record_blocks import record_blocks
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame
from tablecloak.policy.load import parse_policy
from tablecloak.release import handover
from tablecloak.release import publish as publishing

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = clusters.ON_SPARK

FIGURES = (
    "status", "findings", "risk", "classes", "rows", "suppressed", "covers", "verdicts", "goals", "holds",
    "dropped_for_missing",
)  # fmt: skip
ROWS = 1200


def people(n: int = ROWS, seed: int = 5) -> pl.DataFrame:
    """People of every type of column, with missing cells."""
    draw = np.random.default_rng(seed)
    days = pl.Series([dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in draw.integers(0, 900, n)])
    frame = pl.DataFrame(
        {
            "id": np.arange(n),
            "name": [f"person {i}" for i in range(n)],
            "age": draw.integers(18, 90, n),
            "height": draw.integers(150, 190, n) / 100,
            "born": days,
            "sex": draw.choice(["F", "M"], n),
            "zip": [f"{z:05d}" for z in draw.integers(13000, 13060, n)],
            "smoker": draw.choice([True, False], n),
            "disease": draw.choice(["flu", "cold", "asthma", "=odd", "ulcer"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
            "cost": draw.integers(1, 9, n) * 100,
            "key": draw.integers(0, n // 2, n),
            "note": [None if i % 7 == 0 else f'x,"{i}' for i in range(n)],
        }
    )
    gaps = pl.Series(draw.random(n) < 0.02)
    return frame.with_columns(pl.when(gaps).then(None).otherwise(pl.col(c)).alias(c) for c in ("age", "sex", "disease"))


COLUMNS = "{id: keep, name: identifier, age: quasi, sex: quasi, zip: quasi, disease: sensitive, note: keep}"
LT = "{model: l-diversity, l: 2}, {model: t-closeness, t: 0.4}"
POLICIES = {
    "mondrian": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 5}}]\nalgorithm: mondrian",
    "k, l and t": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 4}}, {LT}]",
    "auto": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 5}}]\nalgorithm: {{kind: auto, effort: fast}}",
    "flash with stars": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 6}}]\n"
    "algorithm: {kind: flash, suppression_limit: 0.05}\noutput: {path: x, suppressed: star}",
    "every type": "columns: {id: keep, age: quasi, height: quasi, born: quasi, smoker: quasi, cost: sensitive}\n"
    "goals: [{model: k-anonymity, k: 8}, {model: l-diversity, l: 2}]",
    "missing left out": f"columns: {COLUMNS}\nmissing: drop\ngoals: [{{model: k-anonymity, k: 5}}]",
    "persons": "columns: {id: keep, key: person, age: quasi, sex: quasi, disease: sensitive}\n"
    "goals: [{model: k-anonymity, k: 5}]",
    "combinations": "columns: {id: keep, age: quasi, sex: quasi, disease: sensitive, cost: sensitive}\n"
    "goals: [{model: k-anonymity, k: 5}, {model: multi-l-diversity, l: 2}]",
    "starred identifier": "columns: {id: keep, name: {role: identifier, transform: star}, age: quasi, sex: quasi}\n"
    "goals: [{model: k-anonymity, k: 9}]",
}


def run(text: str, folder: Path, source: Path | str, target: str, engine: Any = None) -> tuple[dict[str, Any], Path]:
    """The figures of a run, and where its release is."""
    policy = parse_policy(text, name="p.yaml", base=folder).with_files(source=source, target=f"{folder}/{target}")
    certificate = folder / f"{target.strip('/')}.json"
    page = folder / f"{target.strip('/')}.html"
    policy = policy.with_documents(certificate=certificate, report=page)
    report = pipeline.run(policy, engine=engine or "local").to_dict()
    certified = json.loads(certificate.read_text())
    return {**{k: report[k] for k in FIGURES}, "loss": report["loss"], "again": {k: certified[k] for k in FIGURES}}, (
        folder / target
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    people().write_parquet(folder / "people.parquet", row_group_size=400)
    return folder / "people.parquet"


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "mondrian"])  # which folders are tested with
def test_spark_releases_what_the_local_engine_does(
    name: str, spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablecloak.engines.spark.rows.SLICE_ROWS", 400)
    ours, here = run(POLICIES[name], tmp_path, data, "local.parquet")
    theirs, there = run(POLICIES[name], tmp_path, data, "spark.parquet", spark)
    assert theirs == ours
    assert read_frame(there).equals(read_frame(here))


def noted(blocks: list[Any], lengths: list[int]) -> list[Any]:
    """The blocks; how many there are goes to the list."""
    lengths.append(len(blocks))
    return blocks


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_folders_in_and_out(kind: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tablecloak.engines.spark.publish.TOGETHER", 60)  # so that a small table has several parts
    monkeypatch.setattr("tablecloak.engines.spark.rows.BLOCK_BYTES", 2500)
    n_blocks: list[int] = []
    monkeypatch.setattr(text_files, "record_blocks", lambda *of: noted(record_blocks(*of), n_blocks))
    frame = people(300).with_columns(pl.col("note") + "\nand a line break")
    for (sex,), rows in frame.drop_nulls("sex").group_by("sex", maintain_order=True):
        folder = tmp_path / "in" / f"sex={sex}"
        folder.mkdir(parents=True)
        for i in range(2):
            part = rows.drop("sex").filter(pl.col("id") % 2 == i)
            part.write_csv(folder / f"{i}.csv") if kind == "csv" else part.write_parquet(folder / f"{i}.parquet")
    text = f"{POLICIES['mondrian']}\noutput: {{path: x, format: {kind}}}"
    ours, here = run(text, tmp_path, f"{tmp_path}/in", "local/")
    theirs, there = run(text, tmp_path, f"{tmp_path}/in", "spark/", spark)
    assert theirs == ours
    assert kind == "parquet" or min(n_blocks) > 1  # also of the release that is recounted
    assert 1 < len(list(there.iterdir())) <= theirs["rows"] // 60
    assert read_frame(there).equals(read_frame(here))
    assert read_frame(there)["note"].null_count() > 0
    single, file = run(text, tmp_path, f"{tmp_path}/in", f"one.{kind}", spark)
    assert single == ours
    assert read_frame(file).equals(read_frame(here))
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_tables_of_the_catalog_in_and_out(
    spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spark.session.read.parquet(str(data)).write.mode("overwrite").saveAsTable("people")
    text = f"{POLICIES['mondrian']}\noutput: {{uri: 'spark://', table: release}}"
    policy = parse_policy(text, name="p", base=tmp_path).with_files(source="spark://?table=people")
    try:
        report = pipeline.run(policy, engine=spark)
        assert report.verification.holds
        assert report.verification.covers
        assert report.output == "spark://?table=release"
        here = tmp_path / "local.parquet"  # without documents, as above
        on_files = parse_policy(POLICIES["mondrian"], name="p", base=tmp_path).with_files(source=data, target=here)
        ours = pipeline.run(on_files)
        release = pl.from_arrow(spark.session.table("release").toArrow())
        assert isinstance(release, pl.DataFrame)
        assert release.sort("id").equals(read_frame(here).sort("id"))
        assert report.verification.n_classes == ours.verification.n_classes
        with pytest.raises(PolicyError, match="exists already"):
            pipeline.run(policy, engine=spark)
        pipeline.run(policy, engine=spark, force=True)
        names = {table.name for table in spark.session.catalog.listTables()}
        assert names == {"people", "release"}
    finally:
        for name in ("people", "release"):
            spark.session.sql(f"DROP TABLE IF EXISTS {name}")
        import shutil

        shutil.rmtree(tmp_path / "spark-warehouse", ignore_errors=True)


def test_a_release_that_fails_leaves_nothing_behind(
    spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GoalNotMet("no", result={})

    monkeypatch.setattr(publishing, "recount", refuse)
    with pytest.raises(GoalNotMet):
        run(POLICIES["mondrian"], tmp_path, data, "spark.parquet", spark)
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_the_data_is_said_without_showing_it(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    text = "columns: {age: {role: quasi, type: integer}, sex: quasi}\ngoals: [{model: k-anonymity, k: 2}]"
    for name, cell in (("a", "1"), ("b", "secretvalue")):
        (tmp_path / "in" / f"{name}.csv").write_text(f"age,sex\n{cell},F\n2,M\n")
    with pytest.raises(DataError, match="column 'age' is declared integer, but 1 cells are not") as caught:
        run(text, tmp_path, f"{tmp_path}/in", "x.csv", spark)
    assert "secretvalue" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_damaged_part_is_named(spark: Any, data: Path, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    whole = data.read_bytes()
    (tmp_path / "in" / "1.parquet").write_bytes(whole)
    (tmp_path / "in" / "2.parquet").write_bytes(whole[:4000] + bytes(2000) + whole[6000:])
    with pytest.raises(DataError, match="damaged or cut off"):
        run(POLICIES["every type"], tmp_path, f"{tmp_path}/in", "x.parquet", spark)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]


@pytest.mark.parametrize("algorithm", ["k-member", "anatomy"])
def test_what_needs_all_rows_in_memory_is_refused(algorithm: str, spark: Any, data: Path, tmp_path: Path) -> None:
    goal = "{model: k-anonymity, k: 5}" if algorithm == "k-member" else "{model: l-diversity, l: 2}"
    text = f"columns: {COLUMNS}\ngoals: [{goal}]\nalgorithm: {algorithm}"
    policy = parse_policy(text, name="p", base=tmp_path).with_files(source=data, target=tmp_path / "x.parquet")
    with pytest.raises(IncompatibleChoice):
        pipeline.run(policy, engine=spark)


def test_databases_and_other_formats_are_refused(spark: Any, data: Path, tmp_path: Path) -> None:
    with pytest.raises(IncompatibleChoice, match="Spark"):
        run(POLICIES["mondrian"], tmp_path, data, "x.jsonl", spark)
    table = spark.read(Source(data), columns=None, categorical=())
    with pytest.raises(IncompatibleChoice, match="compressed"):
        spark.write(table, tmp_path / "x.csv.gz", kind=None, delimiter=None)
    with pytest.raises(IncompatibleChoice, match="postgresql"):
        spark.read(Source.of(place_of("postgresql://host/db?table=t")), columns=None, categorical=())
    assert list(tmp_path.iterdir()) == []


SHARDED = {
    "k, l and t": POLICIES["k, l and t"],
    "auto": POLICIES["auto"],
    "auto with sets": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 5}}]\n"
    "algorithm: {kind: auto, effort: fast, labels: set}",
    "mondrian leaves rows out": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 5}}, {LT}]\n"
    "algorithm: {kind: mondrian, suppression_limit: 0.05}",
}


@pytest.mark.parametrize("name", SHARDED)
def test_tuples_that_do_not_fit_the_driver_are_searched_by_workers(
    name: str, spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "most_tuples", 400)
    monkeypatch.setattr(spark, "shard_tuples", 400)
    whole, _ = run(SHARDED[name], tmp_path, data, "local.parquet")
    figures, there = run(SHARDED[name], tmp_path, data, "spark.parquet", spark)
    assert figures["holds"]
    assert figures["covers"]
    assert figures["rows"] + figures["suppressed"] == ROWS
    # every shard is searched for itself
    assert figures["loss"] < 1.5 * whole["loss"]
    release, k = read_frame(there), 4 if name == "k, l and t" else 5
    classes = release.group_by("age", "sex", "zip").agg(pl.len().alias("n"), pl.col("disease").n_unique().alias("l"))
    assert classes["n"].min() >= k  # type: ignore[operator]
    assert "auto" in name or classes["l"].min() >= 2  # type: ignore[operator]
    assert len(classes) == figures["classes"]
    release = release.sort("id")
    kept = people().filter(pl.col("id").is_in(release["id"].implode()))
    assert release["id"].to_list() == kept["id"].to_list()
    assert release["note"].to_list() == kept["note"].to_list()
    assert release["disease"].to_list() == kept["disease"].to_list()
    assert all(
        age_is_covered(cell, age) for cell, age in zip(release["age"].to_list(), kept["age"].to_list(), strict=True)
    )


def age_is_covered(cell: str | None, age: int | None) -> bool:
    """A published age, read by hand: a number, [low, high], * or an empty cell."""
    if cell is None or age is None:
        return (cell in (None, "*") and age is None) or cell == "*"
    ends = [int(end) for end in re.findall(r"\d+", cell)]
    return cell == "*" or ends[0] <= age <= ends[-1]


def test_classes_of_shards_are_judged_by_workers_and_do_not_reach_the_driver(
    spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "most_tuples", 400)
    monkeypatch.setattr(spark, "shard_tuples", 400)
    monkeypatch.setattr(handover, "MOST_ROWS", 100)  # of the sample that findings look at
    policy = parse_policy(POLICIES["mondrian"], name="p", base=tmp_path)
    policy = policy.with_files(source=data, target=tmp_path / "x.parquet")
    fetched: list[str] = []
    monkeypatch.setattr(WorkerAnswer, "_whole", property(lambda _: fetched.append("answer")))
    monkeypatch.setattr(_ClassesOnWorkers, "_fetch", lambda *_: fetched.append("classes"))
    few: dict[str, Any] = {}
    many: dict[str, Any] = {}
    with counted_bytes(few):
        report = pipeline.run(policy, engine=spark)
    people(4 * ROWS).write_parquet(tmp_path / "more.parquet", row_group_size=400)
    more_people = policy.with_files(source=tmp_path / "more.parquet", target=tmp_path / "y.parquet")
    with counted_bytes(many):
        more = pipeline.run(more_people, engine=spark)
    assert fetched == []
    assert more.verification.n_classes > 3 * report.verification.n_classes
    # some hundred bytes for each shard of 400 tuples; no class and no combination of values
    assert many["driver_bytes"] - few["driver_bytes"] < 2 * 3 * ROWS
    release = read_frame(tmp_path / "x.parquet")
    sizes = release.group_by("age", "sex", "zip").len()["len"]
    measured = {m.name: m.value for m in report.measurements}
    assert report.verification.n_classes == len(sizes)
    assert report.verification.verdicts[0].achieved == sizes.min()
    assert measured["discernibility"] == (sizes.cast(pl.Int64) ** 2).sum()
    assert measured["average-class-size"] == pytest.approx(ROWS / (len(sizes) * 5))


@pytest.mark.parametrize("change", ["labels", "values", "rows"])
def test_a_release_of_shards_that_was_changed_covers_its_originals_no_more(
    change: str, spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "most_tuples", 400)
    monkeypatch.setattr(spark, "shard_tuples", 400)
    write = spark.write

    def changing(table: Any, place: Any, **how: Any) -> None:
        write(table, place, **how)
        frame = read_frame(place)
        if change == "rows":
            frame = frame.head(frame.height - 1)
        else:  # two rows of different classes exchange cells
            name = "age" if change == "labels" else "disease"
            cells, zips = frame[name].to_list(), frame["zip"].to_list()
            first = next(i for i in range(frame.height) if cells[i] != cells[0] and zips[i] != zips[0])
            cells[0], cells[first] = cells[first], cells[0]
            frame = frame.with_columns(pl.Series(name, cells))
        frame.write_parquet(place)

    monkeypatch.setattr(spark, "write", changing)
    policy = parse_policy(POLICIES["k, l and t"], name="p", base=tmp_path)
    policy = policy.with_files(source=data, target=tmp_path / "x.parquet")
    with pytest.raises(GoalNotMet) as caught:
        pipeline.run(policy, engine=spark)
    assert caught.value.result["covers"] is False


def test_pandas_is_not_warned_of(spark: Any) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        engine = type(spark)(session=spark.session)
        engine.session.range(1).mapInArrow(lambda batches: batches, "id bigint")
    assert [str(w.message) for w in caught if "pandas" in str(w.message)] == []


@pytest.mark.parametrize(
    ("settings", "n_bytes"),
    [
        ({"spark.master": "spark://host:7077", "spark.executor.memory": "8g", "spark.executor.cores": "4"}, 2 << 30),
        ({"spark.master": "local[2]", "spark.driver.memory": "1024m"}, 512 << 20),
        ({"spark.master": "yarn"}, 1 << 30),
    ],
)
def test_a_shard_may_take_the_memory_of_one_task_of_an_executor(settings: dict[str, str], n_bytes: int) -> None:
    class Session:
        class conf:  # noqa: N801 - as Spark calls it
            get = staticmethod(settings.get)

    assert task_bytes(Session) == n_bytes
