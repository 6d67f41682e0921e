"""Files that are odd rather than wrong: nested without end, wider than any sample, in letters of another locale."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow
DEPTH = 100_000
DEEP = {"lists": "[" * DEPTH + "]" * DEPTH, "objects": '{"a":' * DEPTH + "1" + "}" * DEPTH}
TABLE = "age,sex\n" + "".join(f"{20 + i % 4},{'fm'[i % 2]}\n" for i in range(40))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(TABLE)
    return tmp_path


def policy(**more):
    written = {"input": "data.csv", "columns": {"age": "quasi", "sex": "quasi"}, "output": "out.csv"}
    return json.dumps({**written, "goals": [{"model": "k-anonymity", "k": 2}], **more})


@pytest.mark.parametrize("kind", DEEP)
@pytest.mark.parametrize(
    "words",
    [
        ["run", "deep.json"],
        ["run", "policy.json"],
        ["hierarchy", "show", "deep.json"],
        ["hierarchy", "check", "deep.json"],
        ["apply", "deep.json", "data.csv", "-o", "out.csv"],
        ["verify", "data.csv", "--certificate", "deep.json"],
        ["inspect", "deep.jsonl"],
    ],
    ids=" ".join,
)
def test_files_nested_without_end_are_refused_in_our_words(cloak, folder, words, kind):
    for name in ("deep.json", "deep.jsonl"):
        (folder / name).write_text(DEEP[kind] + "\n")
    (folder / "policy.json").write_text(
        policy(columns={"age": "quasi", "sex": {"role": "quasi", "hierarchy": "deep.json"}})
    )
    outcome = cloak(*words)
    assert outcome.code in (2, 5)
    assert "unexpected" not in outcome.err
    assert len(outcome.err + outcome.out) < 2000


def test_a_header_wider_than_the_sample(cloak, folder):
    names = [f"measurement_of_the_quantity_with_the_number_{i:06d}" for i in range(12_000)]
    rows = [",".join(str((i * j) % 3) for i in range(len(names))) for j in range(6)]
    (folder / "data.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    assert len(",".join(names)) > 1 << 19
    (folder / "policy.json").write_text(policy(columns={names[0]: "quasi", names[-1]: "quasi"}))
    outcome = cloak("run", "policy.json", "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.data["rows"] == 6


def test_letters_that_the_terminal_does_not_know(folder):
    (folder / "data.csv").write_text("größe,статус\n" + "".join(f"{i % 4},{'яЖ'[i % 2]}\n" for i in range(40)))
    (folder / "policy.yaml").write_text(policy(columns={"größe": "quasi", "статус": "sensitive"}))
    old = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (["run", "policy.yaml"], ["run", "policy.yaml", "--force", "--json"], ["inspect", "data.csv"]):
        done = subprocess.run(
            [sys.executable, "-m", "tablecloak.cli.main", *words], env=old, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert "größe" in (folder / "out.csv").read_text(encoding="utf-8")


def test_names_of_files_that_the_locale_does_not_know_are_refused_in_our_words(folder):
    shutil.copy("data.csv", "größe.csv")
    (folder / "policy.yaml").write_text(policy())
    (folder / "other.yaml").write_text(policy(input="größe.csv"), encoding="utf-8")
    old = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (
        ["inspect", "größe.csv"],
        ["run", "other.yaml"],
        ["run", "policy.yaml", "-i", "größe.csv"],
        ["run", "policy.yaml", "-o", "größe.out.csv"],
        ["run", "policy.yaml", "--report", "größe.html"],
    ):
        done = subprocess.run(
            [sys.executable, "-m", "tablecloak.cli.main", *words], env=old, capture_output=True, check=False
        )
        assert done.returncode == 5, done.stderr
        assert b"the locale has file names in ascii" in done.stderr
        assert b"PYTHONUTF8=1" in done.stderr
    assert not (folder / "out.csv").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux only")
@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "data\udcff.csv"],
        ["run", "policy.yaml", "-i", "data\udcff.csv"],
        ["run", "policy.yaml", "-o", "out\udcff.csv"],
        ["run", "policy.yaml", "--report", "report\udcff.html"],
        ["run", "policy.yaml", "--certificate", "certificate\udcff.json"],
        ["run", "folder\udcff/policy.yaml"],
        ["verify", "data\udcff.csv", "-p", "policy.yaml"],
    ],
)
def test_names_of_files_that_are_no_text_are_refused_in_our_words(cloak, folder, words):
    (folder / "policy.yaml").write_text(policy())
    shutil.copy("data.csv", "data\udcff.csv")
    (folder / "folder\udcff").mkdir()
    shutil.copy("data.csv", "folder\udcff/data.csv")
    shutil.copy("policy.yaml", "folder\udcff/policy.yaml")
    outcome = cloak(*words)
    assert outcome.code == 5
    assert "the name of the file is not UTF-8" in outcome.err
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), OSError(12, "Cannot allocate memory")]
)
def test_too_little_memory_is_no_bug(cloak, folder, monkeypatch, error):
    from tablecloak import pipeline

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(pipeline, "run", fail)
    (folder / "policy.json").write_text(policy())
    outcome = cloak("run", "policy.json")
    assert outcome.code == 1
    assert "there is not enough memory" in outcome.err
    assert "try  --engine duckdb" in outcome.err
