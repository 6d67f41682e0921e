"""Runs on Spark Connect, also of drivers that are killed: the next goes on after the last finished phase."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_spark import POLICIES, people
from test_spark_clusters import finished, same

import clusters
from tablecloak import pipeline
from tablecloak.engines.run_folder import RunFolder
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.database import openers
from tablecloak.io.tabular import read_frame
from tablecloak.policy.load import parse_policy
from tablecloak.policy.schema import Policy

pytest.importorskip("pyspark", reason="the extra spark is not installed")
pytestmark = clusters.ON_SPARK
ROWS = 900
WHOLE = ["values", "code", "solve", "write"]
IN_SHARDS = ["values", "code", "tuples", "shard", "classes", "solve", "write"]
# A driver that kills itself when the files of a phase are there, before it can note that the phase is finished.
RUN = """
import json, os, signal, sys
from pathlib import Path
from tablecloak import pipeline
from tablecloak.engines import run_folder
from tablecloak.engines.spark import engine, publish, rows, session
from tablecloak.policy.load import parse_policy

address, folder, last, most, resume, small = sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]
rows.SLICE_ROWS = 300
engine.tuples_in = lambda memory: int(most)
settings = session._settings
session._settings = lambda *given: {**settings(*given), **json.loads(small)}
finish = run_folder.RunFolder.finish

def killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def finishing(self, phase, **facts):
    if phase == last:
        killed()
    finish(self, phase, **facts)
    print(phase, flush=True)

run_folder.RunFolder.finish = finishing
if last == "parts":
    publish.CombineTask = killed
if last == "verify":
    engine.SparkEngine.class_stats = killed
policy = parse_policy((folder / "policy.yaml").read_text(), name="policy.yaml", base=folder)
pipeline.run(policy, engine="spark", memory="1GB", spark=address, resume=resume == "resume")
"""


def project(folder: Path, name: str, target: str) -> Policy:
    folder.mkdir()
    people(ROWS).write_parquet(folder / "people.parquet", row_group_size=300)
    (folder / "policy.yaml").write_text(f"input: people.parquet\n{POLICIES[name]}\noutput: {target}\n")
    return parse_policy((folder / "policy.yaml").read_text(), name="policy.yaml", base=folder)


def start(address: str, folder: Path, last: str, most: int, *, resume: bool) -> tuple[int, list[str], str]:
    """How a driver ended, and which phases it finished; those that only count are left out."""
    how = "resume" if resume else "anew"
    command = [sys.executable, "-c", RUN, address, str(folder), last, str(most), how, json.dumps(clusters.SMALL)]
    light = {**os.environ, "JDK_JAVA_OPTIONS": clusters.LIGHT}
    found = subprocess.run(command, capture_output=True, text=True, check=False, env=light)
    finished = [line for line in found.stdout.splitlines() if not line.startswith("count ")]
    return found.returncode, finished, found.stderr[-3000:]


def left_in(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def released(policy: Policy) -> pl.DataFrame:
    place = policy.output_path
    assert place is not None
    return read_frame(place)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of Spark whose clients can be killed."""
    with clusters.connect_server() as found:
        yield found


def test_spark_connect_releases_the_same(address: str, tmp_path: Path) -> None:
    people(1000).write_parquet(tmp_path / "in.parquet", row_group_size=500)
    report = finished(address, tmp_path, POLICIES["k, l and t"])
    same(report, tmp_path, POLICIES["k, l and t"])


@pytest.mark.parametrize(
    ("name", "target", "most", "phases", "killed_in"),
    [
        ("mondrian", "{path: release/, format: csv}", 10_000, WHOLE, ["solve"]),
        ("auto", "release.parquet", 300, IN_SHARDS, ["tuples", "classes", "verify"]),
    ],
    ids=["whole", "in shards"],
)
def test_a_driver_killed_in_a_phase_goes_on_to_the_same_release(
    name: str, target: str, most: int, phases: list[str], killed_in: list[str], address: str, tmp_path: Path
) -> None:
    """Drivers are clients of one server, each killed in a later phase than the one before."""
    whole, policy = project(tmp_path / "whole", name, target), project(tmp_path / "killed", name, target)
    assert start(address, tmp_path / "whole", "never", most, resume=False)[:2] == (0, phases)
    n_finished = 0
    for number, last in enumerate(killed_in):
        code, finished, said = start(address, tmp_path / "killed", last, most, resume=number > 0)
        assert code == -signal.SIGKILL, said
        before = [*phases, "verify"].index(last)
        assert finished == phases[n_finished:before]
        n_finished = before
        assert len([p for p in left_in(tmp_path / "killed") if p.endswith("-run")]) == 1
    code, finished, said = start(address, tmp_path / "killed", "never", most, resume=True)
    assert (code, finished) == (0, phases[n_finished:]), said
    assert released(policy).equals(released(whole))
    assert left_in(tmp_path / "killed") == left_in(tmp_path / "whole")
    assert len(left_in(tmp_path / "killed")) == 3


def test_what_workers_of_a_killed_driver_wrote_is_found_and_removed(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    policy = project(folder, "mondrian", "release.parquet")
    code, finished, said = start("local[2]", folder, "parts", 10_000, resume=False)
    assert (code, finished) == (-signal.SIGKILL, WHOLE[:-1]), said
    (parts,) = folder.glob(".release.parquet.partial/release.parquet.parts")
    assert len(list(parts.iterdir())) == 1  # a small table is sorted as one part
    with pytest.raises(IncompatibleChoice, match="the policy changed"):
        pipeline.run(policy.model_copy(update={"seed": 7}), engine="spark", memory="1GB", resume=True)
    data, times = (folder / "people.parquet").read_bytes(), (folder / "people.parquet").stat()
    people(ROWS, seed=6).write_parquet(folder / "people.parquet")
    with pytest.raises(DataError, match="the input changed"):
        pipeline.run(policy, engine="spark", memory="1GB", resume=True)
    (folder / "people.parquet").write_bytes(data)
    os.utime(folder / "people.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    code, finished, said = start("local[2]", folder, "never", 10_000, resume=True)
    assert (code, finished) == (0, ["write"]), said
    assert left_in(folder) == ["people.parquet", "policy.yaml", "release.parquet"]
    local = policy.with_files(target=tmp_path / "local.parquet")
    pipeline.run(local, engine="local")
    assert released(policy).equals(released(local))


def test_input_that_changes_between_phases_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows in another order: workers cannot see it, the fingerprint of the file does."""
    monkeypatch.setitem(openers, "spark", openers["spark"])  # put back when the engine of this test is closed
    policy = project(tmp_path / "p", "mondrian", "release.parquet")
    source, target = policy.input_path, policy.output_path
    assert source is not None
    assert target is not None
    folder = RunFolder.of_run(target, None, {}, [source], resume=False)
    engine = type(spark)(session=spark.session, folder=folder)
    solve = engine.solve

    def changing(*given: Any) -> Any:
        people(ROWS).reverse().write_parquet(source, row_group_size=300)
        return solve(*given)

    monkeypatch.setattr(engine, "solve", changing)
    with pytest.raises(DataError, match="the input changed while"):
        pipeline.run(policy, engine=engine)
    engine.close()
    assert left_in(tmp_path / "p") == ["people.parquet", "policy.yaml"]
