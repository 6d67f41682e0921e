"""What goes wrong in the middle of a run: nothing is published, nothing is left behind, and a killed run goes on."""

import errno
import os
import signal
import subprocess
import sys

import polars as pl
import pytest

from engine_tables import K, L, people, policy_of
from tablecloak import pipeline
from tablecloak.engines.disk import engine as duck
from tablecloak.engines.disk import stream
from tablecloak.errors import DataError, EngineError, IncompatibleChoice
from tablecloak.io import private as cleanup
from tablecloak.policy.load import parse_policy

pytestmark = pytest.mark.slow
PHASES = ["read people.csv", "values", "code", "group", "shard", "solve 0", "solve 1", "order", "write"]
# A run that kills itself the moment a phase is finished, as a machine without power would.
RUN = """
import os, signal, sys
from pathlib import Path
from tablecloak import pipeline
from tablecloak.engines import run_folder
from tablecloak.engines.disk import engine as duck, recount
from tablecloak.policy.load import parse_policy
duck.LEAST_WORK, duck.RESIDENT = 40_000, 10**18
folder, last, resume = Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "resume"
finish = run_folder.RunFolder.finish
def finishing(self, phase, **facts):
    finish(self, phase, **facts)
    print(phase, flush=True)
    if phase == last:
        os.kill(os.getpid(), signal.SIGKILL)
run_folder.RunFolder.finish = finishing
policy = parse_policy((folder / "policy.yaml").read_text(), name="policy.yaml", base=folder)
pipeline.run(policy, engine="duckdb", memory="1GB", resume=resume)
"""


def project(folder, **changes):
    folder.mkdir(exist_ok=True)
    people().write_csv(folder / "people.csv")
    (folder / "policy.yaml").write_text(policy_of("mondrian", [K, L], **changes))
    return parse_policy((folder / "policy.yaml").read_text(), name="policy.yaml", base=folder)


def start(folder, last, *, resume=False):
    command = [sys.executable, "-c", RUN, str(folder), last, "resume" if resume else "anew"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def left_in(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_run_killed_in_any_phase_goes_on_to_the_same_release(tmp_path):
    whole = project(tmp_path / "whole")
    assert start(tmp_path / "whole", "never").stdout.split("\n")[: len(PHASES)] == PHASES
    folder = tmp_path / "killed"
    policy = project(folder)
    for last in PHASES:
        killed = start(folder, last)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert not policy.output_path.exists()
        resumed = start(folder, "never", resume=True)
        assert resumed.returncode == 0, resumed.stderr
        assert not set(resumed.stdout.split("\n")) & set(PHASES[: PHASES.index(last) + 1])
        assert policy.output_path.read_bytes() == whole.output_path.read_bytes()
        assert left_in(folder) == ["people.csv", "policy.yaml", "release.csv"]
        policy.output_path.unlink()


def test_a_killed_run_can_be_resumed(tmp_path, tiny):
    policy = project(tmp_path / "p")
    assert start(tmp_path / "p", "solve 0").returncode == -signal.SIGKILL
    assert [p for p in left_in(tmp_path / "p") if p.endswith("-run")]
    report = pipeline.run(policy, engine=tiny, memory="1GB", resume=True)
    assert report.verification.holds
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml", "release.csv"]


def test_what_a_killed_run_left_is_removed_by_the_next(tmp_path, tiny):
    policy = project(tmp_path / "p")
    start(tmp_path / "p", "write")
    assert len(left_in(tmp_path / "p")) == 4
    pipeline.run(policy, engine="local")
    left = left_in(tmp_path / "p")
    assert [p for p in left if p.endswith(".csv")] == ["people.csv", "release.csv"]
    policy.output_path.unlink()
    pipeline.run(policy, engine=tiny, memory="1GB")
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml", "release.csv"]


def test_a_resumed_run_needs_the_same_input_and_policy(tmp_path, tiny):
    policy = project(tmp_path / "p")
    start(tmp_path / "p", "code")
    other = policy.model_copy(update={"seed": 7})
    with pytest.raises(IncompatibleChoice, match="the policy changed"):
        pipeline.run(other, engine=tiny, memory="1GB", resume=True)
    people(401).write_csv(tmp_path / "p/people.csv")
    with pytest.raises(DataError, match="the input changed"):
        pipeline.run(policy, engine=tiny, memory="1GB", resume=True)
    assert not policy.output_path.exists()


def test_a_resumed_run_needs_the_same_table_of_a_database(tmp_path, tiny):
    pytest.importorskip("adbc_driver_sqlite", reason="the extra sql is not installed")
    address = f"sqlite:///{tmp_path}/data.db"
    rows = people().with_columns(pl.col("born").cast(pl.String))
    rows.write_database("people", address, engine="adbc")
    policy = project(tmp_path / "p", source=f"{address}?table=people")
    assert start(tmp_path / "p", "code").returncode == -signal.SIGKILL
    rows.reverse().write_database("people", address, engine="adbc", if_table_exists="replace")
    assert pipeline.run(policy, engine=tiny, memory="1GB", resume=True).verification.holds
    policy.output_path.unlink()
    assert start(tmp_path / "p", "code").returncode == -signal.SIGKILL
    older = rows.with_columns(pl.col("age") + 1)
    older.write_database("people", address, engine="adbc", if_table_exists="replace")
    with pytest.raises(DataError, match="the input changed since"):
        pipeline.run(policy, engine=tiny, memory="1GB", resume=True)
    assert not policy.output_path.exists()


def test_input_that_changes_between_phases_is_refused(tmp_path, monkeypatch):
    policy = project(tmp_path / "p")
    contingency = duck.DuckEngine.contingency

    def changing(self, *args, **kwargs):
        coding = contingency(self, *args, **kwargs)
        people(seed=9).write_csv(tmp_path / "p/people.csv")
        return coding

    monkeypatch.setattr(duck.DuckEngine, "contingency", changing)
    with pytest.raises(DataError, match="the input changed while"):
        pipeline.run(policy, engine="duckdb", memory="1GB")
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml"]


def test_a_parquet_input_that_changes_between_phases_is_refused(tmp_path, monkeypatch):
    policy = project(tmp_path / "p", source="people.parquet")
    people().write_parquet(tmp_path / "p/people.parquet")
    solve = duck.DuckEngine.solve

    def changing(self, *args):
        answer = solve(self, *args)
        people(seed=9).write_parquet(tmp_path / "p/people.parquet")
        return answer

    monkeypatch.setattr(duck.DuckEngine, "solve", changing)
    with pytest.raises(DataError, match="the input changed while"):
        pipeline.run(policy, engine="duckdb", memory="1GB")
    assert not policy.output_path.exists()


def test_a_full_spill_folder_is_named(tmp_path, monkeypatch):
    policy = project(tmp_path / "p")

    def full(*_args, **_kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(pl.LazyFrame, "sink_parquet", full)
    spill = tmp_path / "spill"
    spill.mkdir()
    with pytest.raises(EngineError, match="No space left"):
        pipeline.run(policy, engine="duckdb", memory="1GB", spill=spill)
    assert list(spill.iterdir()) == []
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml"]


def test_keys_that_find_no_space_are_named(tmp_path):
    """A real limit of the operating system: no file may grow beyond a few blocks."""
    folder = tmp_path / "p"
    project(folder)
    # bytecode that finds no space is cut off, and the next to import it fails
    limited = "import resource, signal, sys\nsys.dont_write_bytecode = True\n"
    limited += "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    limited += "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))\n"
    command = [sys.executable, "-c", limited + RUN, str(folder), "never", "anew"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 1
    assert "EngineError: " in found.stderr
    assert "could not be written" in found.stderr
    assert left_in(folder) == ["people.csv", "policy.yaml"]


def test_a_corrupt_parquet_file_is_refused(tmp_path):
    policy = project(tmp_path / "p", source="people.parquet")
    path = tmp_path / "p/people.parquet"
    people(20_000).write_parquet(path, row_group_size=2000, compression="uncompressed", use_pyarrow=False)
    whole = bytearray(path.read_bytes())
    whole[2000:30_000] = bytes(28_000)
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"Parquet|there when it was read first"):
        pipeline.run(policy, engine="duckdb", memory="1GB")
    assert not policy.output_path.exists()


def test_a_column_that_changes_its_type_far_below_is_refused(tmp_path):
    policy = project(tmp_path / "p")
    lines = (tmp_path / "p/people.csv").read_bytes().splitlines(keepends=True)
    wrong = b"77777,unknown,1980-01-01,Oslo,70.1,i1,n1\n"
    (tmp_path / "p/people.csv").write_bytes(b"".join([lines[0], *lines[1:] * 400, wrong, *lines[1:]]))
    with pytest.raises(DataError, match="do not fit the types") as failure:
        pipeline.run(policy, engine="duckdb", memory="1GB")
    assert "unknown" not in str(failure.value)
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml"]


def test_an_interrupt_removes_the_run_folder(tmp_path, monkeypatch):
    policy = project(tmp_path / "p")
    monkeypatch.setattr(stream, "write_stream", lambda *_a, **_k: None)

    def interrupted(*_args, **_kwargs):
        cleanup.discard_unfinished()
        raise KeyboardInterrupt

    monkeypatch.setattr(duck, "write_stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(policy, engine="duckdb", memory="1GB")
    assert left_in(tmp_path / "p") == ["people.csv", "policy.yaml"]
