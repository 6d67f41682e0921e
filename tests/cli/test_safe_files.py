"""Files that exist are safe: what a run reads is never written over, and nothing else without --force."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tablecloak import pipeline
from tablecloak.errors import PolicyError
from tablecloak.io.atomic import Outputs
from tablecloak.io.private import FolderInUse, PrivateFolder, remove_abandoned
from tablecloak.policy.load import load_policy

pytestmark = pytest.mark.slow
POLICY = """\
input: people.csv
columns:
  age: quasi
  sex: {role: quasi, hierarchy: sex.csv}
  zip: {role: quasi, type: text}
  illness: sensitive
population: register.csv
secret: {file: secret.txt}
goals: [{model: k-anonymity, k: 5}]
output: {path: out/release.csv, recoding: out/recoding.json}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    rows = [f"{20 + i % 40},{'mf'[i % 2]},{1000 + i % 7},i{i % 3}" for i in range(60)]
    (folder / "people.csv").write_text("\n".join(["age,sex,zip,illness", *rows]) + "\n")
    (folder / "register.csv").write_text("\n".join(["age,sex,zip,illness", *rows, *rows]) + "\n")
    (folder / "sex.csv").write_text("m;*\nf;*\n")
    (folder / "secret.txt").write_text("b7c9e0d1a2f3445566778899aabbccddeeff00112233445566778899a1b2c3d4")
    (folder / "secret.txt").chmod(0o600)
    (folder / "policy.yaml").write_text(POLICY)
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


READ = ["people.csv", "sex.csv", "register.csv", "secret.txt", "policy.yaml"]


def spelled_as_it_is(file: Path) -> str:
    return file.name


def spelled_with_detours(file: Path) -> str:
    return f"../{file.parent.name}/./out/../{file.name}"


def spelled_in_full(file: Path) -> str:
    return str(file)


def a_link(file: Path) -> str:
    (file.parent / "link").symlink_to(file)
    return "link"


def a_second_name(file: Path) -> str:
    os.link(file, file.parent / "second")
    return "second"


def through_a_linked_folder(file: Path) -> str:
    (file.parent.parent / "elsewhere").symlink_to(file.parent)
    return f"../elsewhere/{file.name}"


SPELLINGS = [spelled_as_it_is, spelled_with_detours, spelled_in_full, a_link, a_second_name, through_a_linked_folder]


@pytest.mark.parametrize(
    ("name", "spelling"),
    [*(("people.csv", way) for way in SPELLINGS), *((name, a_link) for name in READ[1:])],
)
@pytest.mark.parametrize("force", [[], ["--force"]])
def test_no_release_goes_over_a_file_that_the_run_reads(cloak, project, name, spelling, force):
    (project / "out").mkdir()
    target = spelling(project / name)
    before = contents(project)
    outcome = cloak("run", "policy.yaml", "-o", target, *force)
    assert outcome.code == 2
    assert "is a file that the run reads" in outcome.err
    assert contents(project) == before


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("key", ["report", "certificate", "recoding"])
def test_no_document_goes_over_a_file_that_the_run_reads(cloak, project, key, name):
    before = contents(project)
    outcome = cloak("run", "policy.yaml", "--force", "--set", f"output.{key}={name}")
    assert outcome.code == 2
    assert "is a file that the run reads" in outcome.err
    assert contents(project) == before


def test_a_side_table_does_not_go_over_the_input(cloak, project):
    shutil.move(project / "people.csv", project / "people.st.csv")
    before = contents(project)
    words = ["--set", "algorithm=anatomy", "--set", "output={path: people.csv}", "--force"]
    goals = ["--set", "goals=[{model: l-diversity, l: 2}]", "-i", "people.st.csv"]
    outcome = cloak("run", "policy.yaml", *words, *goals)
    assert outcome.code == 2, outcome.err
    assert "is a file that the run reads" in outcome.err
    assert contents(project) == before


def test_a_folder_with_the_input_in_it_is_not_replaced(cloak, project):
    before = contents(project)
    for target in ("../project/", "./", f"{project}/"):
        outcome = cloak("run", "policy.yaml", "-o", target, "--force", "--set", "output.recoding=null")
        assert outcome.code == 2, outcome.err
    assert contents(project) == before


def test_nothing_is_put_into_a_folder_that_is_read_as_a_whole(cloak, project):
    (project / "in").mkdir()
    shutil.move(project / "people.csv", project / "in" / "people.csv")
    before = contents(project)
    for source, target in [("in/", "in/"), ("in/", "in/release.csv"), ("in/*.csv", "in/release.csv")]:
        outcome = cloak("run", "policy.yaml", "-i", source, "-o", target, "--force", "--set", "output.recoding=null")
        assert outcome.code == 2, outcome.err
        assert re.search("reads", outcome.err)
    assert contents(project) == before
    assert (
        cloak("run", "policy.yaml", "-i", "in/*.csv", "-o", "in/release.tsv", "--set", "output.recoding=null").code == 0
    )


def test_apply_keeps_recoding_and_new_rows(cloak, project):
    assert cloak("run", "policy.yaml").code == 0
    before = contents(project)
    for target in ("out/recoding.json", "people.csv", "sex.csv"):
        outcome = cloak("apply", "out/recoding.json", "people.csv", "-o", target, "--force")
        assert outcome.code == 2, outcome.err
        assert "is a file that the run reads" in outcome.err
    assert contents(project) == before


def test_pages_and_policies_do_not_go_over_data(cloak, project):
    assert cloak("run", "policy.yaml").code == 0
    before = contents(project)
    released = "out/release.csv"
    for words in [
        ["init", "people.csv", "-o", "people.csv"],
        ["hierarchy", "build", "people.csv", "zip", "--kind", "mask", "-o", "people.csv"],
        ["compare", "people.csv", released, "--policy", "policy.yaml", "--html", released],
        ["compare", "people.csv", released, "--policy", "policy.yaml", "--html", "policy.yaml"],
        ["attack", "people.csv", released, "--policy", "policy.yaml", "--kind", "prosecutor", "--html", "people.csv"],
        ["attack", "people.csv", released, "--policy", "policy.yaml", "--kind", "prosecutor", "--html", "register.csv"],
        ["explore", "policy.yaml", "--vary", "k=2..3", "--html", "people.csv"],
        ["lattice", "policy.yaml", "--html", "policy.yaml", "--algorithm", "flash"],
    ]:
        outcome = cloak(*words, "--force")
        assert outcome.code == 2, (words, outcome.err)
        assert "is a file that the run reads" in outcome.err, words
    assert contents(project) == before


WORK = {
    "tablecloak.measure.two_releases.judge_files": ["compare", "people.csv", "out.csv", "--policy", "policy.yaml"],
    "tablecloak.measure.two_releases.contrast_files": ["compare", "a.csv", "out.csv", "--original", "people.csv"],
    "tablecloak.measure.attack.attack": ["attack", "people.csv", "out.csv", "--policy", "policy.yaml"],
    "tablecloak.measure.explore.explore_policy": ["explore", "policy.yaml", "--vary", "k=2..3"],
    "tablecloak.pipeline.explore": ["lattice", "policy.yaml"],
}


@pytest.mark.parametrize("work", WORK)
def test_a_page_that_cannot_be_written_is_refused_before_the_work(cloak, project, monkeypatch, work):
    def refuse(*_, **__):
        raise AssertionError("worked")

    monkeypatch.setattr(work, refuse)
    (project / "page.html").write_text("mine")
    before = contents(project)
    refused = {"page.html": "exists already", "people.csv": "is a file that the run reads", "people.csv/p.html": ""}
    for page, why in refused.items():
        outcome = cloak(*WORK[work], "--html", page)
        assert outcome.code in (2, 5), (page, outcome.err)
        assert why in outcome.err
    assert contents(project) == before
    assert "AssertionError" in cloak(*WORK[work], "--html", "new.html").err  # the test would notice
    assert contents(project) == before


def test_a_release_from_python_keeps_the_files_of_its_policy(project):
    import polars as pl

    release = pipeline.anonymize(pl.read_csv("people.csv"), load_policy("policy.yaml"))
    before = contents(project)
    for name in READ:
        with pytest.raises(PolicyError, match="is a file that the run reads"):
            release.write(name, force=True)
    assert contents(project) == before


def test_an_input_that_is_linked_to_the_output_during_the_run_is_kept(project):
    before = (project / "people.csv").read_bytes()
    outputs = Outputs(reads=[project / "people.csv"], force=True)
    outputs.add(project / "new.csv").write_text("release")
    os.link(project / "people.csv", project / "new.csv")
    with pytest.raises(PolicyError, match="is a file that the run reads"):
        outputs.commit()
    assert (project / "people.csv").read_bytes() == before


# Databases ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def database(project):
    pytest.importorskip("adbc_driver_sqlite")
    with sqlite3.connect(project / "people.db") as connection:
        connection.execute("create table People (age int, sex text, zip text, illness text)")
        rows = [line.split(",") for line in (project / "people.csv").read_text().splitlines()[1:]]
        connection.executemany("insert into people values (?, ?, ?, ?)", rows)
        connection.execute("create view seen as select * from people")
        connection.execute("create table old (a int)")
    connection.close()
    return project / "people.db"


@pytest.mark.parametrize(
    ("source", "target", "says"),
    [
        ("sqlite:///people.db?table=people", "people.db", "is a file that the run reads"),
        ("sqlite:///people.db?table=people", "people.db-wal", "is a file that the run reads"),
        ("sqlite:///people.db?table=people", "sqlite:///people.db?table=PEOPLE", "replace a table that the run reads"),
        ("sqlite:///people.db?table=people", "sqlite:///./link.db?table=people", "replace a table that the run reads"),
        ("sqlite:///people.db?query=select * from people", "sqlite:///people.db?table=people", "by a query or a view"),
        ("sqlite:///people.db?table=seen", "sqlite:///people.db?table=people", "by a query or a view"),
        ("people.csv", "sqlite:///people.csv?table=people", "is a file that the run reads"),
    ],
)  # fmt: skip
def test_tables_that_are_read_stay(cloak, database, source, target, says):
    (database.parent / "link.db").symlink_to(database)
    before = contents(database.parent)
    words = ["-i", source, "-o", target, "--force", "--set", "output.recoding=null"]
    outcome = cloak("run", "policy.yaml", *words)
    assert outcome.code == 2, outcome.err
    assert says in outcome.err
    assert contents(database.parent) == before


def test_another_table_of_the_database_that_is_read_may_be_replaced(cloak, database):
    words = ["-i", "sqlite:///people.db?table=people", "-o", "sqlite:///people.db?table=old"]
    assert cloak("run", "policy.yaml", *words, "--set", "output.recoding=null").code == 2
    outcome = cloak("run", "policy.yaml", *words, "--force", "--set", "output.recoding=null")
    assert outcome.code == 0, outcome.err


# Meanwhile ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_appears_during_the_run_is_not_replaced(tmp_path, kind):
    target, beside = tmp_path / "release.csv", tmp_path / "report.html"
    outputs = Outputs(reads=[])
    outputs.add(beside).write_text("report")
    outputs.add(target).write_text("release")
    if kind == "file":
        target.write_text("mine")
    elif kind == "folder":
        target.mkdir()
    else:
        target.symlink_to(tmp_path / "nowhere")
    with pytest.raises(PolicyError, match="appeared while it was being made"):
        outputs.commit()
    assert [p.name for p in tmp_path.iterdir()] == ["release.csv"]  # nor does the report stay alone
    assert kind != "file" or target.read_text() == "mine"


def test_a_folder_that_appears_during_the_run_is_not_replaced(tmp_path):
    outputs = Outputs(reads=[])
    (outputs.add_folder(tmp_path / "release") / "part-00000.csv").write_text("a")
    (tmp_path / "release").mkdir()
    with pytest.raises(PolicyError, match="appeared while it was being made"):
        outputs.commit()
    assert list(tmp_path.iterdir()) == [tmp_path / "release"]
    assert list((tmp_path / "release").iterdir()) == []


def test_without_hard_links_nothing_is_replaced_either(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    target = tmp_path / "release.csv"
    with Outputs(reads=[]) as outputs:
        outputs.add(target).write_text("release")
    assert target.read_text() == "release"
    outputs = Outputs(reads=[])
    outputs.add(tmp_path / "other.csv").write_text("other")
    (tmp_path / "other.csv").write_text("mine")
    with pytest.raises(PolicyError, match="appeared"):
        outputs.commit()
    assert (tmp_path / "other.csv").read_text() == "mine"


def test_with_force_all_are_replaced_or_none(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("old")
    outputs = Outputs(reads=[], force=True)
    for name in ("a.csv", "b.csv"):
        outputs.add(tmp_path / name).write_text("new")
    (tmp_path / "b.csv").unlink()
    (tmp_path / "b.csv").mkdir()
    (tmp_path / "b.csv" / "mine").write_text("")
    with pytest.raises(PolicyError, match="directory"):
        outputs.commit()
    assert (tmp_path / "a.csv").read_text() == "old"
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.csv", "b.csv", "mine"]


def test_of_two_runs_to_one_output_the_second_refuses(tmp_path):
    (tmp_path / "linked").symlink_to(tmp_path)
    first = Outputs(reads=[])
    first.add(tmp_path / "release.csv").write_text("first")
    with pytest.raises(PolicyError, match="another run is writing this output"):
        Outputs(reads=[], force=True).add(tmp_path / "linked" / "release.csv")
    first.commit()
    assert (tmp_path / "release.csv").read_text() == "first"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["linked", "release.csv"]
    with Outputs(reads=[], force=True) as third:
        third.add(tmp_path / "release.csv").write_text("third")


HOLDING = """\
import sys, time
from pathlib import Path
from tablecloak.io.atomic import Outputs
from tablecloak.io.private import PrivateFolder
outputs = Outputs(reads=[])
outputs.add(Path(sys.argv[1])).write_text("half")
folder = PrivateFolder.temporary()
(folder.path / "stdin.csv").write_text("raw")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """A process that writes an output and holds a temporary folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    words = [sys.executable, "-c", HOLDING, str(tmp_path / "release.csv")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        folder = Path(process.stdout.readline().strip())
        yield process, folder
        process.kill()


def test_what_a_killed_process_left_is_removed_by_the_next_and_not_before(tmp_path, holder):
    process, folder = holder
    remove_abandoned()
    assert (folder / "stdin.csv").read_text() == "raw"
    with pytest.raises(PolicyError, match="another run is writing this output"):
        Outputs(reads=[]).add(tmp_path / "release.csv")
    process.kill()
    process.wait()
    assert folder.exists()
    with PrivateFolder.temporary() as other:
        assert [p.name for p in (tmp_path / "tmp").iterdir()] == [other.name]
    with Outputs(reads=[]) as outputs:
        outputs.add(tmp_path / "release.csv").write_text("whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["release.csv", "tmp"]


def test_temporary_folders_of_somebody_else_are_not_touched(tmp_path, monkeypatch):
    (tmp_path / "tablecloak-mine").mkdir()
    (tmp_path / "tablecloak-mine" / "thesis").write_text("")
    (tmp_path / "tablecloak-link").symlink_to(tmp_path / "tablecloak-mine")
    remove_abandoned(tmp_path)
    assert (tmp_path / "tablecloak-mine" / "thesis").exists()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(PermissionError):
        PrivateFolder.take(tmp_path / "tablecloak-mine")


def test_a_folder_is_held_by_one(tmp_path):
    first = PrivateFolder.take(tmp_path / "work")
    with pytest.raises(FolderInUse):
        PrivateFolder.take(tmp_path / "work")
    first.discard()
    first.discard()
    assert list(tmp_path.iterdir()) == []
    PrivateFolder.take(tmp_path / "work").discard()


# Privacy -----------------------------------------------------------------------------------------------------------


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_temporary_files_are_private_and_releases_as_the_umask_says(tmp_path, umask):
    before = os.umask(umask)
    try:
        with Outputs(reads=[]) as outputs:
            release, recoding = outputs.add(tmp_path / "r.csv"), outputs.add(tmp_path / "s.json", is_private=True)
            parts = outputs.add_folder(tmp_path / "parts")
            for path in (release, recoding, parts / "part-00000.csv"):
                path.write_text("x")
            for path in (release, recoding, parts):
                assert mode_of(path.parent) == 0o700
        with PrivateFolder.temporary() as folder:
            assert mode_of(folder) == 0o700
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "r.csv") == 0o666 & ~umask
    assert mode_of(tmp_path / "parts") == 0o777 & ~umask
    assert mode_of(tmp_path / "parts" / "part-00000.csv") == 0o666 & ~umask
    assert mode_of(tmp_path / "s.json") == 0o600


def opened_to_others(folder: Path) -> list[str]:
    """Files that others could read, and the way to them, too."""

    def reachable(path: Path) -> bool:
        return all(mode_of(above) & 0o011 for above in path.parents if folder in above.parents)

    found = []
    # rglob ends where a folder is gone, walk goes on
    for path in (Path(above) / name for above, _, names in os.walk(folder) for name in names):
        try:
            if path.is_file() and mode_of(path) & 0o044 and reachable(path):
                found.append(str(path.relative_to(folder)))
        except OSError:  # it is gone already
            continue
    return found


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_nobody_else_reads_what_a_command_writes_meanwhile(project, engine):
    """Standard input, spill and release, looked at while the command runs, by its own umask of 0."""
    temporary = project / "tmp"
    temporary.mkdir()
    rows = [f"{20 + i % 60},{'mf'[i % 2]},{1000 + i * 7 % 900},i{i % 3}" for i in range(300_000)]
    given = "\n".join(["age,sex,zip,illness", *rows]) + "\n"
    words = ["-m", "tablecloak.cli.main", "run", "policy.yaml", "-i", "-", "--engine", engine]
    words += ["--set", "population=null", "--set", "output={path: out/release.csv, recoding: out/recoding.json}"]
    known = set(opened_to_others(project))
    process = subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "TMPDIR": str(temporary)}, umask=0,
    )  # fmt: skip
    process.stdin.write(given)
    process.stdin.close()
    seen: set[str] = set()
    while process.poll() is None:
        seen |= set(opened_to_others(project))
        time.sleep(0.002)
    assert process.returncode == 0, process.stderr.read()
    process.stderr.close()
    assert seen - known <= {"out/release.csv"}
    assert mode_of(project / "out/release.csv") == 0o666
    assert mode_of(project / "out/recoding.json") == 0o600
    assert list(temporary.iterdir()) == []


# Odd places --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("pipe", 2), ("folder", 2), ("folder/", 2), (".", 2),
        ("..", 2), ("../", 2), ("/", 2), ("", 2), ("loop", 2), ("loop/x.csv", 2), ("people.csv/x.csv", 5),
        ("n" * 251 + ".csv", 0), ("n" * 252 + ".csv", 2), ("/proc/x.csv", 2),
    ],
)  # fmt: skip
def test_odd_places_are_refused_in_our_words(cloak, project, target, code, force):
    os.mkfifo(project / "pipe")
    (project / "folder").mkdir()
    (project / "folder" / "mine").write_text("")
    (project / "loop").symlink_to("loop")
    words = ["--set", "output.format=csv", "--set", "output.recoding=null", "--set", "population=null"]
    outcome = cloak("run", "policy.yaml", "-o", target, *words, *force)
    assert (outcome.code == code) or (target == "loop" and force and outcome.code == 0), outcome.err
    assert "unexpected" not in outcome.err
    assert "try  " in outcome.err or outcome.code == 0
    assert sorted(p.name for p in project.iterdir() if p.name.startswith(".")) == []


@pytest.mark.parametrize("device", ["/dev/null", "/dev/full", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_devices_are_never_replaced(device):
    with pytest.raises(PolicyError, match="device, a pipe or a socket"):
        Outputs(reads=[], force=True).add(Path(device))  # and never committed: whoever tests this may be root


def test_a_name_with_nul_is_refused(cloak, project):
    (project / "nul.yaml").write_text(POLICY.replace("path: out/release.csv", 'path: "out/a\\0b.csv"'))
    outcome = cloak("run", "nul.yaml")
    assert outcome.code == 2
    assert "NUL" in outcome.err


def test_an_output_in_another_output_is_refused(cloak, project):
    words = ["--set", "output={path: out/, format: csv, report: out/report.html}"]
    outcome = cloak("run", "policy.yaml", *words)
    assert outcome.code == 2
    assert "an output lies in another one" in outcome.err
    assert not (project / "out").exists() or list((project / "out").iterdir()) == []


@pytest.mark.parametrize("engine", ["local", "duckdb"])
def test_a_release_may_be_called_as_its_input_is(cloak, project, engine):
    words = ["-o", "out/people.csv", "--engine", engine, "--set", "population=null"]
    outcome = cloak("run", "policy.yaml", *words)
    assert outcome.code == 0, outcome.err
