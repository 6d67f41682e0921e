"""Spark beyond this process: a cluster of which a worker is lost in mid-run. Spark Connect: test_spark_resume.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_spark import FIGURES, POLICIES, people, run

import clusters
from tablecloak.io.tabular import read_frame

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = clusters.ON_SPARK
HANGS_AFTER = 1200  # seconds

PROGRAM = """
import json, os, signal, sys
from pathlib import Path
from tablecloak import pipeline
from tablecloak.engines.spark import publish, rows
from tablecloak.engines.spark.engine import SparkEngine
from tablecloak.engines.spark.publish import WriteTask
from tablecloak.policy.load import parse_policy

address, folder, text, small, is_lost = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
rows.SLICE_ROWS = 500

class Lost(WriteTask):
    '''The first worker that has written a part is lost with all it started, before it can say so.'''

    def __call__(self, batches):
        for said in super().__call__(batches):
            try:
                os.close(os.open(folder / "lost", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield said
            else:
                os.killpg(os.getsid(0), signal.SIGKILL)
                os.kill(os.getpid(), signal.SIGKILL)

if is_lost == "lost":
    publish.WriteTask = Lost
engine = SparkEngine(address, memory=1 << 30)
for key, value in json.loads(small).items():
    engine.session.conf.set(key, value)
policy = parse_policy(text, name="p", base=folder)
report = pipeline.run(policy.with_files(source=folder / "in.parquet", target=f"{folder}/spark/"), engine=engine)
print(json.dumps(report.to_dict()))
engine.close()
"""


def finished(address: str, folder: Path, text: str, is_lost: str = "") -> dict[str, object]:
    """What a run in a process of its own says."""
    command = [sys.executable, "-c", PROGRAM, address, str(folder), text, json.dumps(clusters.SMALL), is_lost]
    light = {**os.environ, "JDK_JAVA_OPTIONS": clusters.LIGHT}
    found = subprocess.run(command, capture_output=True, text=True, timeout=HANGS_AFTER, check=False, env=light)
    assert found.returncode == 0, found.stderr[-3000:]
    return dict(json.loads(found.stdout.splitlines()[-1]))


def same(report: dict[str, object], folder: Path, text: str) -> None:
    ours, here = run(text, folder, folder / "in.parquet", "local.parquet")
    assert {k: report[k] for k in FIGURES} == {k: ours[k] for k in FIGURES}
    assert read_frame(folder / "spark").equals(read_frame(here))


def test_a_worker_that_is_lost_does_not_change_the_release(tmp_path: Path) -> None:
    people(3000).write_parquet(tmp_path / "in.parquet", row_group_size=500)
    with clusters.running(2) as cluster:
        report = finished(cluster.address, tmp_path, POLICIES["mondrian"], "lost")
        is_gone = [worker.process.poll() is not None for worker in cluster.workers]
    assert sorted(is_gone) == [False, True]
    assert len(list((tmp_path / "spark").iterdir())) == 1  # a small table is sorted as one part
    same(report, tmp_path, POLICIES["mondrian"])
