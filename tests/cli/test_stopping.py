"""Ctrl-C while `auto` refines, end to end: the process signals itself at a known moment, so nothing is timed."""

from __future__ import annotations

import subprocess
import sys

import polars as pl
import pytest

pytestmark = pytest.mark.slow
POLICY = """\
input: people.csv
columns: {age: quasi, sex: quasi, zip: {role: quasi, type: text, hierarchy: {kind: mask}}, illness: keep}
goals: [{model: k-anonymity, k: 3}]
algorithm: {kind: auto, effort: best}
output: {path: out/release.csv, certificate: out/certificate.json}
"""
# Signals itself N_SIGNALS times whenever a phase of the given name begins; tells which phases began.
SCRIPT = """\
import os, signal, sys
from tablecloak.cli import main, progress

begin = progress.RichProgress.start
phase, n_signals = sys.argv[1], int(sys.argv[2])

def start(self, name, total=None):
    begin(self, name, total)
    print("began", name, flush=True)
    if name == phase:
        for _ in range(n_signals):
            os.kill(os.getpid(), signal.SIGINT)

progress.RichProgress.start = start
sys.argv = ["tablecloak", "run", sys.argv[3]]
sys.exit(main.main())
"""


@pytest.fixture
def folder(tmp_path):
    row = pl.int_range(48, eager=True)
    pl.DataFrame(
        {
            "age": 18 + (row * 7919 % 41),
            "sex": (row % 3 == 0).cast(pl.String),
            "zip": (10000 + row * 104729 % 997).cast(pl.String),
            "illness": "i" + (row * 31 % 7).cast(pl.String),
        }
    ).write_csv(tmp_path / "people.csv")
    (tmp_path / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return tmp_path


def run(folder, phase, n_signals):
    command = [sys.executable, "-c", SCRIPT, phase, str(n_signals), str(folder / "policy.yaml")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def classes(folder):
    return pl.read_csv(folder / "out/release.csv").group_by("age", "sex", "zip").len()["len"].to_list()


def test_the_first_ctrl_c_publishes_the_best_so_far(folder):
    whole = run(folder, "refine", 0)
    assert whole.returncode == 0, whole.stderr
    assert "began auction" in whole.stdout
    (folder / "out/release.csv").unlink()
    (folder / "out/certificate.json").unlink()
    stopped = run(folder, "refine", 1)
    assert stopped.returncode == 0, stopped.stderr
    assert stopped.stdout.count("began refine") == 1
    assert "began auction" not in stopped.stdout
    assert stopped.stderr.count("the best release found so far is kept") == 1
    assert sum(classes(folder)) == 48
    assert min(classes(folder)) >= 3
    assert (folder / "out/certificate.json").exists()


def test_the_second_ctrl_c_abandons_the_run(folder):
    ended = run(folder, "refine", 2)
    assert ended.returncode == 130
    assert "Traceback" not in ended.stderr
    assert list(folder.glob("out/*")) == []


def test_ctrl_c_before_there_is_an_answer_ends_the_run(folder):
    ended = run(folder, "solve", 1)
    assert ended.returncode == 130
    assert "best release" not in ended.stderr
    assert list(folder.glob("out/*")) == []
