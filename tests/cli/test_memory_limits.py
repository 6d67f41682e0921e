"""Runs that may have too little memory end in a message that says so, wherever it runs out."""

from __future__ import annotations

import json
import subprocess
import sys

import polars as pl
import pytest

from tablecloak.cli import limits
from tablecloak.cli import main as command_line
from tablecloak.cli.limits import STARVED, is_starved

pytestmark = pytest.mark.slow
POLICY = """
input: people.csv
columns: {age: quasi, zip: quasi, illness: sensitive}
goals: [{model: k-anonymity, k: 5}]
algorithm: mondrian
output: {path: out.csv, report: report.html}
"""


def limited(folder, megabytes, *words):
    n = 20_000  # enough for compiled kernels
    people = {"age": [i * 7 % 71 for i in range(n)], "zip": [i * 7919 % 89_989 for i in range(n)]}
    pl.DataFrame(people).with_columns(illness=pl.lit("flu")).write_csv(folder / "people.csv")
    (folder / "policy.yaml").write_text(POLICY)
    program = "import sys; from tablecloak.cli.main import main; sys.exit(main())"
    return subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", sys.executable, "-c", program, *words],
        cwd=folder, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


# while libraries are loaded; where it ends in the midst of their work, they may also wait for ever
@pytest.mark.parametrize("megabytes", [100, 200, 300])
def test_too_little_memory_is_said_and_what_to_do(tmp_path, megabytes):
    ended = limited(tmp_path, megabytes, "run", "policy.yaml")
    assert ended.returncode == 1
    assert "there is not enough memory: this process may have" in ended.stderr
    assert "try  allow more" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "bug" not in ended.stderr
    assert sorted(tmp_path.glob("[!.]*")) == [tmp_path / "people.csv", tmp_path / "policy.yaml"]


def test_json_says_it_too(tmp_path):
    ended = limited(tmp_path, 200, "run", "policy.yaml", "--json")
    assert json.loads(ended.stdout)["error"] == "engine"


def test_other_errors_and_results_are_those_without_a_limit(tmp_path):
    assert "tablecloak" in limited(tmp_path, 4000, "--version").stdout
    missing = limited(tmp_path, 4000, "run", "nothing.yaml")
    assert missing.returncode == 2
    assert "memory" not in missing.stderr
    mistyped = limited(tmp_path, 60, "run", "--no-such-option")  # though little is left
    assert mistyped.returncode == 2
    assert "No such option" in mistyped.stderr


@pytest.mark.parametrize(
    ("ends", "code"), [("ctypes.CDLL(None).exit(1)", STARVED), ("os._exit(127)", STARVED), ("sys.exit(1)", 1), ("0", 0)]
)
def test_a_library_that_ends_the_process_is_told_from_an_error_of_ours(ends, code):
    """As OpenBLAS does, which prints a line and leaves with 1."""
    watch = "import ctypes, os, sys; from tablecloak.cli.limits import watched; code = watched()"
    script = f"{watch}; {ends} if code is None else sys.exit(code)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == code


def test_a_panic_is_a_short_message(monkeypatch, capsys):
    def panic(*_, **__):
        raise pl.exceptions.PanicException("called `Result::unwrap()` on an `Err` value: secret cell")

    monkeypatch.setattr(command_line, "_commands", lambda: panic)
    assert command_line.main(["list"]) == 1
    said = capsys.readouterr().err
    assert "unexpected PanicException" in said
    assert "secret cell" not in said


def test_refusals_of_memory_are_known_by_their_words():
    assert is_starved(MemoryError())
    assert is_starved(OSError(12, "Cannot allocate memory"))
    assert is_starved(pl.exceptions.PanicException("failed to spawn thread"))
    assert not is_starved(ValueError("no"))


def test_odd_errors_are_taken_for_refusals_where_little_is_left(monkeypatch):
    monkeypatch.setattr(limits, "memory_limit", lambda: 1000)
    for most, is_told in ((600, True), (400, False)):
        monkeypatch.setattr(limits, "_most_so_far", lambda most=most: most)
        assert is_starved(NameError("half a library")) is is_told
