"""Jobs: runs wait in a queue for one of the workers, tell what they do, and survive a restart as interrupted."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from tablecloak.progress import Cancelled
from tablecloak.server.steps.run.task import LatticeAnswer, RunAnswer, RunRequest, carry_out, search_lattice
from tablecloak.server.store import Run, Store, Unknown
from tablecloak.server.workers import Crashed, Event, Failed, Task, Worker

MOST_EVENTS = 5_000
# What a run may be of, by the name that the store and the API know it by.
TASKS: Mapping[str, Task[RunRequest, RunAnswer | LatticeAnswer]] = {"run": carry_out, "lattice": search_lattice}


class Jobs:
    """A queue of runs and the workers that take from it."""

    def __init__(
        self,
        store: Store,
        n_workers: int,
        prepare: Callable[[Run], RunRequest],
        clear: Callable[[Run], None],
        *,
        starts_early: bool = True,
    ) -> None:
        """`prepare` gives the request of a run's task, just before it begins; `clear` removes what a run that was
        forgotten meanwhile has left."""
        self._starts_early = starts_early
        self._store = store
        self._prepare = prepare
        self._clear = clear
        self._queue: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._events: dict[str, list[Event]] = {}
        self._began: dict[str, float] = {}
        self._at: dict[str, Worker] = {}
        self._unwanted: set[str] = set()
        self._is_closing = False
        self.n_events = 0  # events so far, of all runs
        self.n_stops = 0  # times that somebody asked for an early end
        for run in store.open_runs():  # of a server that was ended in the middle of them
            store.set_status(run.id, "interrupted")
        self.workers = [Worker(is_patient=True) for _ in range(n_workers)]
        self._threads = [threading.Thread(target=self._take, args=(w,), daemon=True) for w in self.workers]
        for thread in self._threads:
            thread.start()

    def submit(self, run: Run) -> None:
        """Put a run at the end of the queue."""
        self._events[run.id] = []
        self._tell(run.id, {"kind": "state", "status": "queued"})
        self._queue.put(run.id)

    def resume(self, run: Run) -> bool:
        """Queue a run again that was interrupted, cancelled or failed."""
        ended = ("interrupted", "cancelled", "failed")
        if not self._store.set_status(run.id, "queued", only_from=ended, error=None, result=None):
            return False
        self.submit(run)
        return True

    def cancel(self, id_: str) -> bool:
        """End a run, waiting or working; says whether there was something to end."""
        worker = self._at.get(id_)
        if worker is not None:
            self._unwanted.add(id_)  # if its work has not begun yet, it will not
            worker.cancel(id_)
            return True
        if self._store.set_status(id_, "cancelled", only_from=("queued",)):
            self._forget(id_)
            return True
        return False

    def stop(self, id_: str) -> bool:
        """Ask a run to publish the best it has found so far."""
        worker = self._at.get(id_)
        is_stopping = worker is not None and worker.stop(id_)
        if is_stopping:
            self._tell(id_, {"kind": "stopping"})
            self.n_stops += 1
        return is_stopping

    def live_events(self, id_: str, after: int = 0) -> list[Event] | None:
        """What was told about a run that waits or works, from a number on; None for any other."""
        events = self._events.get(id_)
        return None if events is None else events[after:]

    def events(self, run: Run, after: int = 0) -> list[Event]:
        """What was told about a run, from a number on."""
        events = self.live_events(run.id, after)
        return list((run.events or [])[after:]) if events is None else events

    def close(self) -> None:
        """End all work; what was in the middle is interrupted."""
        self._is_closing = True
        for _ in self._threads:
            self._queue.put(None)
        for worker in self.workers:
            worker.close()
        for thread in self._threads:
            thread.join(5)
        for run in self._store.open_runs():
            self._store.set_status(run.id, "interrupted")

    def _tell(self, id_: str, event: Event) -> None:
        self.n_events += 1
        events = self._events.setdefault(id_, [])
        if len(events) < MOST_EVENTS or event["kind"] == "state":
            begin = self._began.setdefault(id_, time.monotonic())
            events.append({"seq": len(events), "at": round(time.monotonic() - begin, 2), **event})

    def _forget(self, id_: str) -> None:
        """From now on, what was told about a run is what is stored."""
        self._events.pop(id_, None)
        self._began.pop(id_, None)
        self._unwanted.discard(id_)

    def _take(self, worker: Worker) -> None:
        if self._starts_early:
            with contextlib.suppress(Crashed):
                worker.start()
        while (id_ := self._queue.get()) is not None:
            # a run that was cancelled while it waited, or forgotten with its project
            self._at[id_] = worker
            try:
                if self._is_closing or not self._store.set_status(id_, "running", only_from=("queued",)):
                    self._forget(id_)
                    continue
                status, values = self._work(worker, id_)
            finally:
                del self._at[id_]
            self._tell(id_, {"kind": "state", "status": status, "error": values.get("error")})
            self._store.set_status(id_, status, events=self._events[id_], **values)
            self._forget(id_)

    def _work(self, worker: Worker, id_: str) -> tuple[str, dict[str, Any]]:
        self._began[id_] = time.monotonic()
        self._tell(id_, {"kind": "state", "status": "running"})
        try:
            run = self._store.run(id_)
        except Unknown:
            return "cancelled", {}
        try:
            return self._outcome(worker, run)
        finally:
            if not self._store.has_run(id_):
                self._clear(run)

    def _outcome(self, worker: Worker, run: Run) -> tuple[str, dict[str, Any]]:
        try:
            request = self._prepare(run)
            if request.phases:
                self._tell(run.id, {"kind": "resumed", "phases": len(request.phases)})
            answer = worker.ask(
                TASKS[run.task], request, lambda event: self._tell(run.id, event), name=run.id,
                is_wanted=lambda: run.id not in self._unwanted,
            )  # fmt: skip
        except Failed as failed:
            return "failed", {"error": {**failed.error, "exit_code": failed.exit_code}}
        except Cancelled:
            return "cancelled", {}
        except Crashed as crashed:
            return "interrupted", {"error": {"error": "engine", "message": str(crashed), "hint": "run it again"}}
        except OSError as error:  # no folder for its files: the disk is full, or its project was deleted
            message = f"the files of the run could not be written: {error.strerror}"
            return "failed", {"error": {"error": "engine", "message": message, "hint": None}}
        return "done", {"result": answer.to_dict()}
