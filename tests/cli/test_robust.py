"""What a run leaves behind when it is killed, interrupted, out of space, refused or repeated."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from tablecloak import pipeline, sample
from tablecloak.release.recount import Verification
from tablecloak.release.shapes import classes as release

pytestmark = pytest.mark.slow
POLICY = """\
input: people.{kind}
columns:
  age: quasi
  sex: quasi
  zip: {{role: quasi, type: text, hierarchy: {{kind: mask}}}}
  illness: sensitive
others: keep
goals:
  - {{model: k-anonymity, k: 5}}
  - {{model: l-diversity, l: 2}}
algorithm: {{kind: mondrian, mode: {mode}, suppression_limit: 0.01}}
output: {{path: out/release.{kind}, recoding: out/recoding.json, order: {order}, suppressed: star}}
seed: 42
"""


def people(n):
    row = pl.int_range(n, eager=True)
    return pl.DataFrame(
        {
            "age": 18 + (row * 7919 % 71),
            "sex": pl.select(pl.when(row % 3 == 0).then(pl.lit("f")).otherwise(pl.lit("m"))).to_series(),
            "zip": (10000 + row * 104729 % 997).cast(pl.String),
            "illness": ("i" + (row * 31 % 11).cast(pl.String)),
            "note": ("n" + row.cast(pl.String)),
        }
    )


def project(folder, *, n=3000, kind="csv", mode="strict", order="content"):
    folder.mkdir(exist_ok=True)
    (folder / "policy.yaml").write_text(POLICY.format(kind=kind, mode=mode, order=order))
    frame = people(n)
    frame.write_csv(folder / "people.csv") if kind == "csv" else frame.write_parquet(folder / "people.parquet")
    return folder


def command(folder, *more):
    return [sys.executable, "-m", "tablecloak.cli.main", "run", str(folder / "policy.yaml"), *more]


def final_files(folder):
    """Names in the output folder that are not marked as partial."""
    return sorted(p.name for p in (folder / "out").glob("*") if ".partial" not in p.name)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("mode", ["strict", "relaxed"])
def test_the_same_seed_gives_the_same_bytes_with_any_number_of_threads(cloak, tmp_path, kind, mode):
    made = []
    for threads in (1, 2):
        folder = project(tmp_path / f"p{len(made)}", kind=kind, mode=mode)
        outcome = cloak("run", folder / "policy.yaml", "--threads", threads)
        assert outcome.code == 0, outcome.err
        made.append([(folder / "out" / name).read_bytes() for name in (f"release.{kind}", "recoding.json")])
    assert made[0] == made[1]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_the_same_bytes_where_threads_share_the_work(cloak, tmp_path, kind):
    """More tuples than one job holds, so that compiled kernels run on several threads."""
    made = []
    sample.census(300_000, seed=1).write_csv(tmp_path / "people.csv")
    known = pl.read_csv(tmp_path / "people.csv", n_rows=1).columns
    columns = "{" + ", ".join(f"{name}: quasi" for name in known[:6]) + "}"
    goal = "goals: [{model: k-anonymity, k: 5}]\nalgorithm: mondrian\n"
    (tmp_path / "p.yaml").write_text(f"input: people.csv\ncolumns: {columns}\n{goal}")
    for threads in (1, 2):
        target = tmp_path / f"r{threads}.{kind}"
        assert cloak("run", tmp_path / "p.yaml", "-o", target, "--threads", threads).code == 0
        made.append(target.read_bytes())
    assert made[0] == made[1]


@pytest.mark.fresh_secrets
def test_a_random_order_does_not_come_from_the_seed(cloak, tmp_path):
    made = []
    for number in (1, 2):
        folder = project(tmp_path / f"p{number}", order="random")
        assert cloak("run", folder / "policy.yaml", "--seed", 7).code == 0
        made.append((folder / "out/release.csv").read_bytes())
    assert made[0] != made[1]
    assert sorted(made[0].splitlines()) == sorted(made[1].splitlines())


def started(folder, until):
    """A run in a process of its own, as far as `until` says."""
    process = subprocess.Popen(command(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not until(process):
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    return process


def has_partial_file(folder):
    def size(path):
        with contextlib.suppress(FileNotFoundError):  # it may get its final name at this moment
            return path.stat().st_size
        return 0

    return lambda _process: any(size(path) for path in (folder / "out").glob(".*.partial/*"))


def test_kill_9_leaves_nothing_under_the_final_name(cloak, tmp_path):
    folder = project(tmp_path / "p", n=250_000)
    process = started(folder, has_partial_file(folder))
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert final_files(folder) == []
    people(3000).write_csv(folder / "people.csv")
    outcome = cloak("run", folder / "policy.yaml")
    assert outcome.code == 0, outcome.err
    assert final_files(folder) == ["recoding.json", "release.csv"]


def test_ctrl_c_while_writing_leaves_nothing_at_all(tmp_path):
    folder = project(tmp_path / "p", n=250_000)
    process = started(folder, has_partial_file(folder))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert list((folder / "out").iterdir()) == []


def no_file_beyond(n_bytes):
    """A disk that is full after so many bytes, for whoever runs the tests."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # so that writing fails instead of killing
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))

    return limit


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_cannot_grow(tmp_path, kind):
    folder = project(tmp_path / "p", kind=kind)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        command(folder), capture_output=True, text=True, check=False, preexec_fn=no_file_beyond(4096), env=environment
    )
    assert (found.returncode, found.stdout) == (1, "")
    assert re.search(r"the file could not be written: (File too large|the disk took only a part of it)\n", found.stderr)
    assert "free some space" in found.stderr
    assert "Traceback" not in found.stderr
    assert list((folder / "out").iterdir()) == []


@contextlib.contextmanager
def tiny_disk(folder, size):
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_full_disk(cloak, tmp_path, kind):
    folder = project(tmp_path / "p", kind=kind)
    with tiny_disk(tmp_path / "disk", "8k") as disk:
        outcome = cloak("run", folder / "policy.yaml", "-o", disk / f"release.{kind}")
        assert outcome.code == 1
        reasons = r"(No space left on device|the disk took only a part of it)"
        assert re.search(rf"the file could not be written: {reasons}\n", outcome.err)
        assert list(disk.iterdir()) == []


def test_a_disk_that_is_full_when_the_recoding_is_written(cloak, tmp_path):
    folder = project(tmp_path / "p")
    with tiny_disk(tmp_path / "disk", "8k") as disk:
        outcome = cloak("run", folder / "policy.yaml", "--set", f"output.recoding={disk}/recoding.json")
        assert outcome.code == 1
        assert "the file could not be written: No space left on device" in outcome.err
        assert list(disk.iterdir()) == []
    assert final_files(folder) == []


@pytest.mark.parametrize("name", ["release.csv", "recoding.json"])
def test_what_exists_is_refused_without_force(cloak, tmp_path, name):
    folder = project(tmp_path / "p")
    (folder / "out").mkdir()
    (folder / "out" / name).write_text("mine")
    refused = cloak("run", folder / "policy.yaml")
    assert refused.code == 2
    assert "the output exists already" in refused.err
    assert [p.name for p in (folder / "out").iterdir()] == [name]
    assert (folder / "out" / name).read_text() == "mine"
    assert cloak("run", folder / "policy.yaml", "--force").code == 0
    assert (folder / "out" / name).read_text() != "mine"


def test_output_is_untouched_when_the_recount_fails(cloak, tmp_path, monkeypatch):
    folder = project(tmp_path / "p")
    (folder / "out").mkdir()
    (folder / "out/release.csv").write_text("mine")
    recount = release.verify

    def one_cell_wrong(*given):
        found = recount(*given)
        return Verification(found.verdicts, found.n_classes, found.n_rows, found.n_suppressed, covers=False)

    monkeypatch.setattr(release, "verify", one_cell_wrong)
    outcome = cloak("run", folder / "policy.yaml", "--force")
    assert outcome.code == 3
    assert "a published cell does not cover its original" in outcome.err
    assert "nothing was written" in outcome.err
    assert [p.name for p in (folder / "out").iterdir()] == ["release.csv"]
    assert (folder / "out/release.csv").read_text() == "mine"


def test_a_release_spoiled_while_written_is_caught(cloak, tmp_path, monkeypatch):
    """What is recounted is the file itself: a writer that loses rows cannot pass."""
    folder = project(tmp_path / "p")
    write = pipeline.LocalEngine.write

    def lossy(self, table, path, **how):
        write(self, table, path, **how)
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(lines[:2]))

    monkeypatch.setattr(pipeline.LocalEngine, "write", lossy)
    outcome = cloak("run", folder / "policy.yaml")
    assert outcome.code == 3, outcome.err
    assert list((folder / "out").iterdir()) == []
