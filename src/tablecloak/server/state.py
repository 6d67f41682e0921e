"""The state of a server: settings, the lock on its folder, store, files and workers in one place."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic

from pydantic import TypeAdapter, ValidationError

from tablecloak.errors import CloakError, EngineError
from tablecloak.io.private import PrivateFolder, unfinished
from tablecloak.io.repositories import Remote
from tablecloak.progress import Cancelled
from tablecloak.server.jobs import Jobs
from tablecloak.server.steps.run.task import RunRequest
from tablecloak.server.store import Files, Project, Run, Store
from tablecloak.server.tables import Means, PolicyTable
from tablecloak.server.workers import Answer, Crashed, Event, Failed, Request, Task, Worker

DEFAULT_PORT = 8642
MB = 1_000_000
GB = 1_000 * MB


def default_directory() -> Path:
    """Where projects are kept unless another place is named."""
    from platformdirs import user_data_path

    return user_data_path("tablecloak", appauthor=False)


def _roots() -> tuple[Path, ...]:
    return (Path.home().resolve(), Path.cwd().resolve())


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Everything that does not change while a server runs."""

    directory: Path
    port: int = DEFAULT_PORT
    workers: int = 1
    threads: int | None = None  # of each job; None: all there are
    engine: str = "auto"  # of each job
    memory: int | None = None  # bytes of each job; None: that of the machine
    starts_early: bool = True  # workers begin before somebody asks
    is_ephemeral: bool = False  # everything is deleted when the server ends
    upload_limit_bytes: int = 4 * GB
    expanded_limit_bytes: int = 16 * GB  # of a compressed file once it is unpacked
    most_cells: int = 2 * GB  # of a table, whatever its file says
    retention_days: int | None = 30  # projects untouched for longer are deleted; None: never
    roots: tuple[Path, ...] = field(default_factory=_roots)  # folders that files may be opened from
    internet: frozenset[str] = frozenset()  # servers that may be asked for files; empty: nothing leaves this machine
    bearer: str | None = field(default_factory=lambda: os.environ.get("TABLECLOAK_TOKEN") or None, repr=False)

    @classmethod
    def ephemeral(cls, **options: object) -> ServerSettings:
        """Settings of a server that leaves nothing behind."""
        directory = PrivateFolder.temporary("tablecloak-serve-")
        return cls(directory.path, is_ephemeral=True, **options)  # type: ignore[arg-type]

    @property
    def hosts(self) -> frozenset[str]:
        """What a request may call this server; anything else is a page of somebody else that resolves to us."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self.hosts)


NAME = "server.lock"


class DirectoryLock:
    """Held from the beginning of a server to its end; a process that is killed loses it with everything else."""

    def __init__(self, directory: Path) -> None:
        """Take the lock; EngineError if another server has it."""
        self._file = (directory / NAME).open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = _holder(directory / NAME)
            self._file.close()
            raise EngineError(
                f"another tablecloak{holder} is using this folder",
                hint="use that one, end it, or choose another folder with --directory",
                location=str(directory),
            ) from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def release(self) -> None:
        """Let others have it; the file stays, so that nobody locks one that is being removed."""
        self._file.close()


def _holder(path: Path) -> str:
    number = path.read_text(encoding="ascii", errors="replace").strip()
    return f" (process {number})" if number.isdecimal() else ""


class Refused(CloakError):  # noqa: N818
    """A worker said no; carries what it said, exactly."""

    def __init__(self, error: dict[str, Any], exit_code: int = 1) -> None:
        super().__init__(error.get("message", ""), hint=error.get("hint"), location=error.get("location"))
        self.error = error
        self.code = exit_code

    def to_dict(self) -> dict[str, Any]:
        return self.error


def key_of(*parts: str) -> str:
    """A short name for an answer: of the same question it is the same."""
    return sha256("\x00".join(parts).encode()).hexdigest()[:32]


def _ask(
    worker: Worker, task: Task[Request, Answer], request: Request, is_wanted: Callable[[], bool] = lambda: True
) -> Answer:
    try:
        return worker.ask(task, request, is_wanted=is_wanted)
    except Failed as failed:
        raise Refused(failed.error, failed.exit_code) from None
    except Crashed:
        message = "reading this ended the worker"
        raise Refused({"error": "engine", "message": message, "hint": "is the file whole?"}) from None


@dataclass(frozen=True, slots=True)
class StoredAnswer(Generic[Answer]):
    """Where an answer is stored that stays true: with a project or dataset, under a key made of the question."""

    kind: type[Answer]
    owner: str
    key: str


AWHILE = 5.0  # seconds; pages that show an open question ask again every second


class OpenQuestion:
    """A question that a worker is busy with; says what it does."""

    def __init__(self, version: int) -> None:
        self.version = version  # of the project that it is about
        self.began = time.monotonic()
        self.phase = ""
        self.answer: Any = None
        self.error: dict[str, Any] | None = None
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._n_waiting, self._left = 0, self.began

    def wait(self, seconds: float | None) -> bool:
        """Until it is answered, or so long; says whether it is."""
        with self._lock:
            self._n_waiting += 1
        try:
            return self.ended.wait(seconds)
        finally:
            with self._lock:
                self._n_waiting -= 1
                self._left = time.monotonic()

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for it, or is about to ask again."""
        return self._n_waiting > 0 or time.monotonic() - self._left < AWHILE

    def hear(self, event: Event) -> None:
        if event["kind"] == "start":
            self.phase = str(event["phase"])

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class ServerState:
    """A server's state: store, files, the workers of runs and one worker for quick questions."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        if settings.is_ephemeral:
            unfinished.add(self)  # removed even if the process is ended before it can close
        self.files = Files(settings.directory)
        self._lock = DirectoryLock(settings.directory)  # before anything is read that another server may write
        self.remote = Remote(settings.internet, limit_bytes=settings.upload_limit_bytes)
        self.store = Store(settings.directory / "tablecloak.sqlite")
        self.jobs = Jobs(self.store, settings.workers, self.request_of, self._clear, starts_early=settings.starts_early)
        self._quick = Worker()
        self._fetching: set[Worker] = set()
        self._checker = Worker(is_patient=True)  # checks may take a while, and pages should not wait for them
        self._counter = Worker(is_patient=True)  # counts over whole tables that a page shows when they are there
        self._asking = threading.Lock()
        self._open: dict[str, OpenQuestion] = {}  # what the checker is asked, by name
        if settings.starts_early:
            threading.Thread(target=self._warm_up, daemon=True).start()

    def _warm_up(self) -> None:
        with contextlib.suppress(Crashed):
            self._quick.start()

    def ask(self, task: Task[Request, Answer], request: Request) -> Answer:
        """The answer of a quick task.

        Raises: Refused.
        """
        return _ask(self._quick, task, request)

    def fetch(self, task: Task[Request, Answer], request: Request) -> Answer:
        """The same by a worker of its own, for what waits on others: pages go on meanwhile."""
        worker = Worker(is_patient=True)
        self._fetching.add(worker)
        try:
            return _ask(worker, task, request)
        finally:
            self._fetching.discard(worker)
            worker.close()

    def ask_if_wanted(
        self, task: Task[Request, Answer], request: Request, is_wanted: Callable[[], bool]
    ) -> Answer | None:
        """The answer of a count that pages do not wait for; None if it was not wanted any more when its turn came.

        Raises: Refused.
        """
        try:
            return _ask(self._counter, task, request, is_wanted)
        except Cancelled:
            return None

    def begin(
        self, name: str, version: int, task: Task[Request, Answer], request: Request, keep: Callable[[Answer], None]
    ) -> OpenQuestion:
        """Ask what may take a while; a question of the same name about an earlier version is given up.

        Args:
            keep: gets the answer.
        """
        with self._asking:
            question = self._open.get(name)
            if question is not None and question.version == version:
                return question
            given_up = [other for other, asked in self._open.items() if other == name or not asked.is_awaited]
            question = self._open[name] = OpenQuestion(version)
        for other in given_up:  # of this project as it was before, and of projects that nobody looks at now
            self._checker.cancel(other)
        threading.Thread(target=self._answer, args=(name, question, task, request, keep), daemon=True).start()
        return question

    def _answer(
        self, name: str, question: OpenQuestion, task: Task[Request, Answer], request: Request,
        keep: Callable[[Answer], None],
    ) -> None:  # fmt: skip
        def is_wanted() -> bool:
            return self._open.get(name) is question and question.is_awaited

        try:
            question.answer = self._checker.ask(task, request, question.hear, name=name, is_wanted=is_wanted)
            keep(question.answer)
        except Cancelled:
            question.error = {"error": "stale", "message": "the project was changed since", "hint": None}
        except Failed as failed:
            question.error = failed.error
        except Crashed as crashed:
            question.error = {"error": "engine", "message": str(crashed), "hint": None}
        finally:
            with self._asking:
                if self._open.get(name) is question:
                    del self._open[name]
            question.ended.set()

    def ask_once(self, memo: StoredAnswer[Answer], task: Task[Request, Answer], request: Request) -> Answer:
        """The answer of a quick task, stored for good."""
        answer = self.stored(memo)
        if answer is None:
            answer = self.ask(task, request)
            self.keep(memo, answer)
        return answer

    def stored(self, memo: StoredAnswer[Answer]) -> Answer | None:
        """What was answered before; None if nothing was, or by a version that answered otherwise."""
        value = self.store.answer(memo.owner, memo.key)
        try:
            return None if value is None else TypeAdapter(memo.kind).validate_python(value)
        except ValidationError:
            return None

    def keep(self, memo: StoredAnswer[Answer], answer: Answer) -> None:
        """Store an answer."""
        self.store.keep_answer(memo.owner, memo.key, asdict(answer))  # type: ignore[call-overload]

    def table_of(self, owner: Project | Run) -> PolicyTable:
        """The table of a project, or of a run of one, as the policy of either reads it."""
        project = owner.id if isinstance(owner, Project) else owner.project
        return PolicyTable(owner.policy, self.files.project(project), self.means)

    @property
    def means(self) -> Means:
        return Means(self.settings.engine, self.settings.memory)

    def request_of(self, run: Run) -> RunRequest:
        """What the task of a run gets: a folder, empty unless an attempt before left something to go on with."""
        phases = self.files.left_of(run.project, run.id)
        folder = self.files.run(run.project, run.id) if phases else self.files.new_run(run.project, run.id)
        return RunRequest(self.table_of(run), folder, threads=self.settings.threads, phases=tuple(phases))

    def _clear(self, run: Run) -> None:
        """Remove what a run has written after it was forgotten, alone or with its project."""
        is_there = any(project.id == run.project for project in self.store.projects())
        self.files.forget(self.files.run(run.project, run.id) if is_there else self.files.project(run.project))

    def forget_project(self, project: Project) -> None:
        """Delete a project with everything that belongs to it, its dataset included unless another one uses it."""
        for run in self.store.runs(project.id):
            self.jobs.cancel(run.id)
        self.store.forget_project(project.id)
        self.files.forget(self.files.project(project.id))
        self.forget_dataset(project.dataset)

    def forget_dataset(self, id_: str) -> None:
        """Delete a dataset unless a project uses it."""
        if all(project.dataset != id_ for project in self.store.projects()):
            self.store.forget_dataset(id_)
            self.files.forget(self.files.dataset(id_))

    def forget_everything(self) -> None:
        for project in self.store.projects():
            self.forget_project(project)
        for dataset in self.store.datasets():
            self.forget_dataset(dataset.id)

    def forget_old(self) -> int:
        """Delete projects and datasets untouched for longer than the retention time; says how many projects."""
        if self.settings.retention_days is None:
            return 0
        before = (datetime.now(UTC) - timedelta(days=self.settings.retention_days)).isoformat()
        old = [p for p in self.store.projects() if p.touched < before]
        for project in old:
            self.forget_project(project)
        for dataset in self.store.datasets():
            if dataset.created < before:
                self.forget_dataset(dataset.id)
        return len(old)

    def close(self) -> None:
        self.jobs.close()
        for worker in (self._quick, self._checker, self._counter, *self._fetching):
            worker.close()
        self.store.close()
        self._lock.release()
        self.discard()

    def discard(self) -> None:
        """Remove everything a server that keeps nothing has written."""
        if self.settings.is_ephemeral:
            shutil.rmtree(self.settings.directory, ignore_errors=True)
