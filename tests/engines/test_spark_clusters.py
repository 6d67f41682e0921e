"""Spark beyond this process: a server of Spark Connect, and a cluster of which a worker is lost in mid-run."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from test_spark import FIGURES, POLICIES, people, run

import clusters
from tablecloak.io.tabular import read_frame

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = pytest.mark.slow

PROGRAM = """
import json, sys
from pathlib import Path
from tablecloak import pipeline
from tablecloak.engines.spark import SparkEngine, tables
from tablecloak.policy.load import parse_policy

address, folder, text = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
tables.SLICE_ROWS = 500
engine = SparkEngine(address, memory=1 << 30)
policy = parse_policy(text, name="p", base=folder)
report = pipeline.run(policy.with_files(source=folder / "in.parquet", target=f"{folder}/spark/"), engine=engine)
print(json.dumps(report.to_dict()))
engine.close()
"""


def started(address: str, folder: Path, text: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, address, str(folder), text],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finished(process: subprocess.Popen[str]) -> dict[str, object]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err[-3000:]
    return dict(json.loads(out.splitlines()[-1]))


def same(report: dict[str, object], folder: Path, text: str) -> None:
    ours, here = run(text, folder, folder / "in.parquet", "local.parquet")
    assert {k: report[k] for k in FIGURES} == {k: ours[k] for k in FIGURES}
    assert read_frame(folder / "spark").equals(read_frame(here))


def test_spark_connect_releases_the_same(tmp_path: Path) -> None:
    people(4000).write_parquet(tmp_path / "in.parquet", row_group_size=500)
    with clusters.connect_server() as address:
        report = finished(started(address, tmp_path, POLICIES["k, l and t"]))
    same(report, tmp_path, POLICIES["k, l and t"])


def test_a_worker_that_is_lost_does_not_change_the_release(tmp_path: Path) -> None:
    frame = pl.concat([people(10_000, seed=i) for i in range(3)]).with_columns(id=pl.int_range(30_000))
    frame.write_parquet(tmp_path / "in.parquet", row_group_size=500)
    with clusters.running(2) as cluster:
        process = started(cluster.address, tmp_path, POLICIES["mondrian"])
        n_written = _killed_when_written(process, tmp_path, cluster.workers[0])
        report = finished(process)
    assert 0 < n_written < 60  # of 60 parts: the worker was lost while they were written
    same(report, tmp_path, POLICIES["mondrian"])


def _killed_when_written(process: subprocess.Popen[str], folder: Path, worker: clusters.Process) -> int:
    """Kill a worker as soon as parts of the release are there; how many there were."""
    while process.poll() is None:
        found = len(list(folder.glob(".*.parts/*.parquet")))
        if found:
            worker.kill()
            return found
        time.sleep(0.01)
    return 0
