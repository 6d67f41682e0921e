"""What a server keeps: projects, policies, datasets, runs and answers in one SQLite file, tables in private folders."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from tablecloak.errors import DataError
from tablecloak.io.formats import format_and_compression

SCHEMA = """
create table if not exists datasets (
  id text primary key, name text not null, file text not null, n_bytes integer not null, created text not null);
create table if not exists projects (
  id text primary key, name text not null, dataset text not null, version integer not null, position integer not null,
  created text not null, touched text not null);
create table if not exists policies (
  project text not null, position integer not null, text text not null, note text not null,
  primary key (project, position));
create table if not exists runs (
  id text primary key, project text not null, task text not null, status text not null, policy text not null,
  version integer not null, created text not null, ended text, result text, error text, events text);
create index if not exists runs_of_project on runs (project, created);
create table if not exists answers (owner text not null, key text not null, value text not null,
  primary key (owner, key));
create table if not exists looks (project text not null, what text not null, is_left integer not null,
  primary key (project, what));
create table if not exists sessions (hash text primary key, created text not null);
"""
MOST_UNDO = 200
OPEN = ("queued", "running")


class Unknown(Exception):  # noqa: N818
    """There is nothing of that name."""


class Stale(Exception):  # noqa: N818
    """Somebody else wrote since; carries the project as it is now."""

    def __init__(self, project: Project) -> None:
        super().__init__("the project has changed since")
        self.project = project


def new_id() -> str:
    """A name that nobody can guess."""
    return secrets.token_hex(8)


def now() -> str:
    """The time in UTC, ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A file that was loaded."""

    id: str
    name: str  # as its owner called it; may contain anything
    file: str  # as it is called on disk
    n_bytes: int
    created: str


@dataclass(frozen=True, slots=True)
class Project:
    """A dataset with a policy, which has a past and perhaps a future (undo and redo)."""

    id: str
    name: str
    dataset: str
    version: int  # grows with every write
    position: int  # of the policy in its history
    created: str
    touched: str
    policy: str = ""
    n_after: int = 0  # policies that can be redone
    note: str = ""  # what led to the present policy, and would be undone
    next_note: str | None = None  # what would be redone

    @property
    def can_undo(self) -> bool:
        return self.position > 0

    @property
    def can_redo(self) -> bool:
        return self.n_after > 0


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of work on a project and what became of it."""

    id: str
    project: str
    task: str  # run or lattice
    status: str  # queued, running, done, failed, cancelled or interrupted
    policy: str
    version: int
    created: str
    ended: str | None = None
    result: Any = None
    error: Any = None
    events: Any = None

    @property
    def is_open(self) -> bool:
        return self.status in OPEN


T = TypeVar("T", Dataset, Project, Run)
JSON_COLUMNS = ("result", "error", "events")


def _row(kind: type[T], row: sqlite3.Row) -> T:
    names = {f.name for f in fields(kind)}
    values = {name: row[name] for name in row.keys() if name in names}  # noqa: SIM118
    read = {n: json.loads(v) if n in JSON_COLUMNS and v is not None else v for n, v in values.items()}
    return kind(**read)


class Store:
    """All that is remembered; every method is one transaction, from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.RLock()
        self.generation = 0  # grows with every write: as long as it stays, so does everything that was read
        self._base = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        path.chmod(0o600)
        self._base.row_factory = sqlite3.Row
        self._base.executescript("pragma journal_mode = wal; pragma synchronous = normal; pragma secure_delete = on;")
        self._base.executescript(SCHEMA)

    def close(self) -> None:
        with self._lock:
            self._base.close()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._base.execute("begin immediate")
            try:
                yield self._base
            except BaseException:
                self._base.execute("rollback")
                raise
            self._base.execute("commit")
            self.generation += 1

    def _all(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        with self._lock:
            return self._base.execute(sql, values).fetchall()

    def _one(self, sql: str, *values: Any) -> sqlite3.Row:
        rows = self._all(sql, *values)
        if not rows:
            raise Unknown
        return rows[0]

    # Datasets -------------------------------------------------------------------------------------------------------

    def add_dataset(self, dataset: Dataset) -> Dataset:
        with self._writing() as base:
            base.execute("insert into datasets values (?, ?, ?, ?, ?)",
                         (dataset.id, dataset.name, dataset.file, dataset.n_bytes, dataset.created))  # fmt: skip
        return dataset

    def dataset(self, id_: str) -> Dataset:
        return _row(Dataset, self._one("select * from datasets where id = ?", id_))

    def datasets(self) -> list[Dataset]:
        return [_row(Dataset, row) for row in self._all("select * from datasets order by created")]

    # Projects -------------------------------------------------------------------------------------------------------

    def add_project(self, name: str, dataset: str, policy: str, id_: str | None = None) -> Project:
        """A project on a dataset; Unknown if that was deleted meanwhile."""
        id_, time = id_ or new_id(), now()
        with self._writing() as base:
            self.dataset(dataset)
            base.execute("insert into projects values (?, ?, ?, 1, 0, ?, ?)", (id_, name, dataset, time, time))
            base.execute("insert into policies values (?, 0, ?, 'start')", (id_, policy))
        return self.project(id_)

    def project(self, id_: str) -> Project:
        return _row(Project, self._one(_PROJECT + " where p.id = ?", id_))

    def projects(self) -> list[Project]:
        return [_row(Project, row) for row in self._all(_PROJECT + " order by p.touched desc, p.id")]

    def write_policy(self, id_: str, text: str, *, version: int, note: str = "") -> Project:
        """Put a new policy after the present one; what could be redone is forgotten.

        Raises: Stale if the project is not at the given version any more.
        """
        with self._writing() as base:
            project = self._at_version(id_, version)
            if project.policy == text:
                return project
            at = project.position + 1
            base.execute("delete from policies where project = ? and position >= ?", (id_, at))
            base.execute("delete from policies where project = ? and position < ?", (id_, at - MOST_UNDO))
            base.execute("insert into policies values (?, ?, ?, ?)", (id_, at, text, note))
            self._move(base, project, at)
        return self.project(id_)

    def step(self, id_: str, by: int, *, version: int) -> Project:
        """Undo (-1) or redo (1); at the ends nothing happens."""
        with self._writing() as base:
            project = self._at_version(id_, version)
            at = project.position + by
            policy = base.execute("select 1 from policies where project = ? and position = ?", (id_, at)).fetchone()
            if policy is None:
                return project
            self._move(base, project, at)
        return self.project(id_)

    def _at_version(self, id_: str, version: int) -> Project:
        project = self.project(id_)
        if project.version != version:
            raise Stale(project)
        return project

    @staticmethod
    def _move(base: sqlite3.Connection, project: Project, position: int) -> None:
        base.execute(
            "update projects set position = ?, version = version + 1, touched = ? where id = ?",
            (position, now(), project.id),
        )

    def rename(self, id_: str, name: str) -> None:
        with self._writing() as base:
            base.execute("update projects set name = ?, touched = ? where id = ?", (name, now(), id_))

    def forget_project(self, id_: str) -> None:
        """Remove a project, its policies, runs and answers."""
        with self._writing() as base:
            base.execute("delete from projects where id = ?", (id_,))
            base.execute("delete from policies where project = ?", (id_,))
            base.execute("delete from runs where project = ?", (id_,))
            base.execute("delete from answers where owner = ?", (id_,))
            base.execute("delete from looks where project = ?", (id_,))

    def forget_dataset(self, id_: str) -> None:
        with self._writing() as base:
            base.execute("delete from datasets where id = ?", (id_,))
            base.execute("delete from answers where owner = ?", (id_,))

    # Runs -----------------------------------------------------------------------------------------------------------

    def add_run(self, project: Project, task: str) -> Run:
        """A run that waits; Unknown if the project was deleted meanwhile."""
        id_ = new_id()
        with self._writing() as base:
            self.project(project.id)
            base.execute(
                "insert into runs (id, project, task, status, policy, version, created)"
                " values (?, ?, ?, 'queued', ?, ?, ?)",
                (id_, project.id, task, project.policy, project.version, now()),
            )
            base.execute("update projects set touched = ? where id = ?", (now(), project.id))
        return self.run(id_)

    def run(self, id_: str) -> Run:
        return _row(Run, self._one("select * from runs where id = ?", id_))

    def runs(self, project: str, task: str | None = None) -> list[Run]:
        """Newest first."""
        rows = self._all("select * from runs where project = ? order by created desc, id", project)
        return [run for row in rows if (run := _row(Run, row)) and task in (None, run.task)]

    def open_runs(self) -> list[Run]:
        return [
            _row(Run, row) for row in self._all("select * from runs where status in (?, ?) order by created", *OPEN)
        ]

    def set_status(self, id_: str, status: str, *, only_from: tuple[str, ...] = OPEN, **values: Any) -> bool:
        """Change the status of a run that has one of the given ones; says whether it had."""
        written = {n: json.dumps(v) if n in JSON_COLUMNS and v is not None else v for n, v in values.items()}
        if status not in OPEN:
            written["ended"] = now()
        sets = "".join(f", {name} = ?" for name in written)
        marks = ", ".join("?" for _ in only_from)
        with self._writing() as base:
            changed = base.execute(
                f"update runs set status = ?{sets} where id = ? and status in ({marks})",
                (status, *written.values(), id_, *only_from),
            )
            return changed.rowcount > 0

    def has_run(self, id_: str) -> bool:
        return bool(self._all("select 1 from runs where id = ?", id_))

    # Answers: what was counted once and stays true -------------------------------------------------------------------

    def answer(self, owner: str, key: str) -> Any:
        """What was found before, or None."""
        rows = self._all("select value from answers where owner = ? and key = ?", owner, key)
        return json.loads(rows[0]["value"]) if rows else None

    def keep_answer(self, owner: str, key: str, value: Mapping[str, Any]) -> None:
        """Remember an answer about a project or dataset; of one that was deleted meanwhile nothing is kept."""
        with self._writing() as base:
            base.execute(
                "insert or replace into answers select ?, ?, ? where exists"
                " (select 1 from projects where id = ? union all select 1 from datasets where id = ?)",
                (owner, key, json.dumps(value), owner, owner),
            )

    # What somebody has looked at ------------------------------------------------------------------------------------

    def look_at(self, project: str, what: str) -> None:
        """Somebody is at a step of a project, and has left the others that were opened."""
        looks = {row["what"]: row["is_left"] for row in self._all("select * from looks where project = ?", project)}
        if what in looks and all(is_left for other, is_left in looks.items() if other != what):
            return
        with self._writing() as base:
            base.execute("update looks set is_left = 1 where project = ? and what != ?", (project, what))
            base.execute("insert or ignore into looks values (?, ?, 0)", (project, what))

    def looks(self, project: str) -> set[str]:
        """Steps that somebody has looked at and left."""
        return {row["what"] for row in self._all("select what from looks where project = ? and is_left", project)}

    def forget_looks(self, project: str, *what: str) -> None:
        """Steps that were written afresh are to be looked at again."""
        with self._writing() as base:
            for each in what:
                base.execute("delete from looks where project = ? and what = ?", (project, each))

    # Sessions -------------------------------------------------------------------------------------------------------

    def add_session(self, hash_: str) -> None:
        with self._writing() as base:
            base.execute("insert or replace into sessions values (?, ?)", (hash_, now()))

    def has_session(self, hash_: str, since: str) -> bool:
        return bool(self._all("select 1 from sessions where hash = ? and created >= ?", hash_, since))

    def forget_sessions(self) -> None:
        with self._writing() as base:
            base.execute("delete from sessions")


_PROJECT = """select p.*, t.text as policy, t.note as note,
  (select a.note from policies a where a.project = p.id and a.position = p.position + 1) as next_note,
  (select count(*) from policies a where a.project = p.id and a.position > p.position) as n_after
  from projects p join policies t on t.project = p.id and t.position = p.position"""
CHUNK = 1 << 20
LONGEST_NAME = 80


class TooLarge(Exception):  # noqa: N818
    """More bytes than the limit allows."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit


def safe_name(name: str) -> str:
    """A file name of plain characters; the extension is kept."""
    base = re.split(r"[\\/]", name)[-1]
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", base).strip("._") or "data"
    stem, dot, extension = plain.partition(".")
    return f"{stem[:LONGEST_NAME]}{dot}{extension[:LONGEST_NAME]}"


def inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a path, links followed, lies in one of the folders."""
    real = path.resolve()
    return any(real.is_relative_to(root.resolve()) for root in roots)


class Files:
    """The folders of a server: datasets and projects, readable by their owner only."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for folder in (directory, self._datasets, self._projects):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o700)

    @property
    def _datasets(self) -> Path:
        return self.directory / "datasets"

    @property
    def _projects(self) -> Path:
        return self.directory / "projects"

    def dataset(self, id_: str) -> Path:
        return self._datasets / id_

    def project(self, id_: str) -> Path:
        return self._projects / id_

    def run(self, project: str, run: str) -> Path:
        return self.project(project) / "runs" / run

    def receive(self, source: BinaryIO, id_: str, name: str, *, limit: int) -> Path:
        """Keep an upload; DataError for a kind of file that cannot be read, TooLarge beyond the limit."""
        return self._written(source, self._new_dataset(id_, name), limit)

    def receive_zip(self, source: BinaryIO, id_: str, *, limit: int) -> Path:
        """Keep an uploaded archive of images until it is unpacked."""
        folder = self.dataset(id_)
        folder.mkdir(mode=0o700)
        return self._written(source, folder / "upload.zip", limit)

    @staticmethod
    def _written(source: BinaryIO, target: Path, limit: int) -> Path:
        n_bytes = 0
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            while chunk := source.read(CHUNK):
                n_bytes += len(chunk)
                if n_bytes > limit:
                    raise TooLarge(limit)
                file.write(chunk)
        return target

    def _new_dataset(self, id_: str, name: str) -> Path:
        file = safe_name(name)
        try:
            format_and_compression(Path(file), None, None)
        except DataError as exc:
            raise DataError(exc.message, hint=exc.hint) from None
        folder = self.dataset(id_)
        folder.mkdir(mode=0o700)
        return folder / file

    def new_project(self, id_: str, dataset: str, file: str) -> Path:
        """A folder for a project, with its dataset in it under the same name."""
        folder = self.project(id_)
        folder.mkdir(mode=0o700)
        source = self.dataset(dataset) / file
        try:
            os.link(source, folder / file)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, folder / file)
        return folder

    def new_run(self, project: str, run: str) -> Path:
        """An empty folder for a run; a second attempt starts afresh. FileNotFoundError where the project is gone."""
        folder = self.run(project, run)
        shutil.rmtree(folder, ignore_errors=True)
        # not with `parents`: these would be open to others, and a deleted project would come back
        folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700)
        return folder

    def left_of(self, project: str, run: str) -> list[str]:
        """Phases that an attempt finished which was ended in the middle; a run folder remembers them."""
        for journal in self.run(project, run).glob(".*.tablecloak-run/journal.json"):
            return list(json.loads(journal.read_text(encoding="utf-8"))["phases"])
        return []

    def forget(self, folder: Path) -> None:
        """Delete a folder with everything in it."""
        shutil.rmtree(folder, ignore_errors=True)

    def n_bytes(self, folder: Path | None = None) -> int:
        """What the files take on disk; a file with two names counts once."""
        sizes: dict[tuple[int, int], int] = {}
        for path in (folder or self.directory).rglob("*"):
            if path.is_file() and not path.is_symlink():
                facts = path.stat()
                sizes[facts.st_dev, facts.st_ino] = facts.st_size
        return sum(sizes.values())
