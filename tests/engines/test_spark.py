"""The Spark engine: the same releases and figures as the local engine, from any kind of source."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tablecloak import pipeline
from tablecloak.errors import DataError, GoalNotMet, IncompatibleChoice, PolicyError
from tablecloak.io.tabular import read_frame
from tablecloak.policy.load import parse_policy

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = pytest.mark.slow

FIGURES = ("classes", "rows", "suppressed", "covers", "verdicts", "goals", "holds", "dropped_for_missing")
ROWS = 3000


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from tablecloak.engines.spark import SparkEngine

    engine = SparkEngine("local[2]", memory=1 << 30)
    yield engine
    engine.close()


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
POLICIES = {
    "mondrian": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 5}}]",
    "k, l and t": f"columns: {COLUMNS}\ngoals: [{{model: k-anonymity, k: 4}}, {{model: l-diversity, l: 2}}, {{model: t-closeness, t: 0.4}}]",
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
    report = pipeline.run(policy, engine=engine).to_dict()
    certified = json.loads(certificate.read_text())
    return {**{k: report[k] for k in FIGURES}, "loss": report["loss"], "again": {k: certified[k] for k in FIGURES}}, (
        folder / target
    )


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    people().write_parquet(folder / "people.parquet", row_group_size=800)
    return folder / "people.parquet"


@pytest.mark.parametrize("name", POLICIES)
def test_spark_releases_what_the_local_engine_does(
    name: str, spark: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tablecloak.engines.spark.SLICE_ROWS", 700)
    ours, here = run(POLICIES[name], tmp_path, data, "local.parquet")
    theirs, there = run(POLICIES[name], tmp_path, data, "spark.parquet", spark)
    assert theirs == ours
    assert read_frame(there).equals(read_frame(here))
