"""Workshop: what every service needs, in one place: settings, store, files, workers."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from tablecloak.cleanup import unfinished
from tablecloak.errors import CloakError
from tablecloak.io.remote import Remote
from tablecloak.progress import Cancelled
from tablecloak.server.files import Files
from tablecloak.server.jobs import Jobs
from tablecloak.server.lock import DirectoryLock
from tablecloak.server.settings import ServerSettings
from tablecloak.server.store import Project, Run, Store
from tablecloak.server.workers import Crashed, Failed, Worker

__all__ = ["Refused", "Workshop", "key_of"]


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


class Workshop:
    """A server's state: store, files, the workers of runs and one worker for quick questions."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        if settings.is_ephemeral:
            unfinished.add(self)  # removed even if the process is ended before it can close
        self.files = Files(settings.directory)
        self._lock = DirectoryLock(settings.directory)  # before anything is read that another server may write
        self.remote = Remote(settings.internet, limit_bytes=settings.upload_limit_bytes)
        self.store = Store(settings.directory / "tablecloak.sqlite")
        self.jobs = Jobs(
            self.store, settings.workers, self.arguments_of, self._clear, starts_early=settings.starts_early
        )
        self._quick = Worker()
        self._fetching: set[Worker] = set()
        self._checker = Worker(is_patient=True)  # checks may take a while, and pages should not wait for them
        if settings.starts_early:
            threading.Thread(target=self._warm_up, daemon=True).start()

    def _warm_up(self) -> None:
        with contextlib.suppress(Crashed):
            self._quick.start()

    def ask(self, task: str, arguments: Mapping[str, Any]) -> Any:
        """The result of a quick task.

        Raises: Refused.
        """
        return self._asked(self._quick, task, arguments)

    def fetch(self, task: str, arguments: Mapping[str, Any]) -> Any:
        """The same by a worker of its own, for what waits on others: pages go on meanwhile."""
        worker = Worker(is_patient=True)
        self._fetching.add(worker)
        try:
            return self._asked(worker, task, arguments)
        finally:
            self._fetching.discard(worker)
            worker.close()

    def _asked(self, worker: Worker, task: str, arguments: Mapping[str, Any]) -> Any:
        try:
            return worker.ask(task, arguments)
        except Failed as failed:
            raise Refused(failed.error, failed.exit_code) from None
        except Crashed:
            message = "reading this ended the worker"
            raise Refused({"error": "engine", "message": message, "hint": "is the file whole?"}) from None

    def check(self, arguments: Mapping[str, Any], is_wanted: Callable[[], bool]) -> Any:
        """The answer of a check; None if it was not wanted any more when its turn came.

        Raises: Refused.
        """
        try:
            return self._checker.ask("check", arguments, is_wanted=is_wanted)
        except Cancelled:
            return None
        except Failed as failed:
            raise Refused(failed.error, failed.exit_code) from None
        except Crashed as crashed:
            raise Refused({"error": "engine", "message": str(crashed), "hint": None}) from None

    def asked(self, owner: str, key: str, task: str, arguments: Mapping[str, Any]) -> Any:
        """The same, remembered for good under a key."""
        found = self.store.answer(owner, key)
        if found is None:
            found = self.ask(task, arguments)
            self.store.keep_answer(owner, key, found)
        return found

    def about(self, project: Project) -> dict[str, Any]:
        """What tasks need to know of a project."""
        return {"policy": project.policy, "base": str(self.files.project(project.id)), **self.means}

    @property
    def means(self) -> dict[str, Any]:
        """What tasks may use: decides what is looked at whole."""
        return {"engine": self.settings.engine, "memory": self.settings.memory}

    def arguments_of(self, run: Run) -> dict[str, Any]:
        """What the task of a run gets: a folder, empty unless an attempt before left something to go on with."""
        left = self.files.left_of(run.project, run.id)
        folder = self.files.run(run.project, run.id) if left else self.files.new_run(run.project, run.id)
        base, settings = str(self.files.project(run.project)), self.settings
        how = {"threads": settings.threads, **self.means}
        return {"policy": run.policy, "base": base, "folder": str(folder), "left": left, **how}

    def _clear(self, run: Run) -> None:
        """Remove what a run has written after it was forgotten, alone or with its project."""
        is_kept = any(project.id == run.project for project in self.store.projects())
        self.files.forget(self.files.run(run.project, run.id) if is_kept else self.files.project(run.project))

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
        for worker in (self._quick, self._checker, *self._fetching):
            worker.close()
        self.store.close()
        self._lock.release()
        self.discard()

    def discard(self) -> None:
        """Remove everything a server that keeps nothing has written."""
        if self.settings.is_ephemeral:
            shutil.rmtree(self.settings.directory, ignore_errors=True)
