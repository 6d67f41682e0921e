"""Workers: processes that touch data, so that a broken file or a crash never takes the server down."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from tablecloak.errors import CloakError
from tablecloak.progress import Cancelled

__all__ = ["Crashed", "Failed", "Worker"]

# Progress is told at most this often.
SECONDS_BETWEEN = 0.1
# How long a worker may take to notice that its work was cancelled before it is ended.
GRACE_SECONDS = 2.0

Event = dict[str, Any]
_spawn = multiprocessing.get_context("spawn")


class Crashed(Exception):  # noqa: N818
    """The process ended in the middle of its work."""


class Failed(Exception):  # noqa: N818
    """The work ended with an error that has words; `error` is CloakError.to_dict()."""

    def __init__(self, error: dict[str, Any], exit_code: int = 1) -> None:
        super().__init__(error.get("message", ""))
        self.error = error
        self.exit_code = exit_code


class Worker:
    """One process and the line to it; it works on one thing at a time, and is replaced when it dies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: Any = None
        self._line: Connection | None = None
        self._cancel = _spawn.Event()
        self._stop = _spawn.Event()
        self._is_closed = False

    def start(self) -> None:
        """Begin the process, which takes a second or two; asking does it, too."""
        with self._lock:
            self._ensure()

    def ask(self, task: str, arguments: Mapping[str, Any], hear: Callable[[Event], None] = lambda _: None) -> Any:
        """The result of a task; `hear` gets its progress.

        Raises: Failed, Cancelled, Crashed.
        """
        with self._lock:
            line = self._ensure()
            self._cancel.clear()
            self._stop.clear()
            try:
                line.send((task, dict(arguments)))
                while True:
                    kind, value = line.recv()
                    if kind == "progress":
                        hear(value)
                    elif kind == "result":
                        return value
                    elif kind == "cancelled":
                        raise Cancelled
                    else:
                        raise Failed(*value)
            except (EOFError, OSError):
                was_cancelled = self._cancel.is_set()
                code = self._end()
                if was_cancelled:
                    raise Cancelled from None
                raise Crashed(f"the worker ended in the middle of its work (code {code})") from None

    def cancel(self) -> None:
        """Ask the present work to end; if it does not listen, end the process."""
        self._cancel.set()
        process = self._process
        threading.Thread(target=self._end_later, args=(process,), daemon=True).start()

    def _end_later(self, process: Any) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            if not self._lock.locked() or process is not self._process:
                return
            time.sleep(0.05)
        if self._cancel.is_set() and process is self._process and self._lock.locked():
            with contextlib.suppress(OSError, ValueError):
                process.kill()

    def stop(self) -> None:
        """Ask the present work to finish with the best it has."""
        self._stop.set()

    def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        process = self._process
        if process is not None and process.is_alive():
            process.terminate()
        if self._lock.acquire(timeout=GRACE_SECONDS):
            self._end()
            self._lock.release()
        elif process is not None:
            process.kill()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def _ensure(self) -> Connection:
        if self._is_closed:
            raise Crashed("the server is ending")
        if self._process is None or not self._process.is_alive() or self._line is None:
            self._end()
            ours, theirs = _spawn.Pipe()
            self._process = _spawn.Process(target=_serve, args=(theirs, self._cancel, self._stop), daemon=True)
            self._process.start()
            theirs.close()
            self._line = ours
        return self._line

    def _end(self) -> int | None:
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return None
        process.join(GRACE_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        code: int | None = process.exitcode
        process.close()
        return code


class _Telling:
    """Progress that goes through the line; it looks at the events when it is called."""

    def __init__(self, line: Connection, cancel: Any, stop: Any) -> None:
        self._line, self._cancel, self._stop = line, cancel, stop
        self._last = 0.0

    def start(self, phase: str, total: int | None = None) -> None:
        self._tell({"kind": "start", "phase": phase, "total": total})

    def advance(self, done: int) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self._tell({"kind": "advance", "done": int(done)})
        self._look()

    def finish(self, note: str = "") -> None:
        self._tell({"kind": "finish", "note": note})

    @property
    def stopping(self) -> bool:
        """Whether the best found so far is wanted now."""
        return bool(self._stop.is_set())

    def _tell(self, event: Event) -> None:
        self._last = time.monotonic()
        self._look()
        self._line.send(("progress", event))

    def _look(self) -> None:
        if self._cancel.is_set():
            raise Cancelled


def _serve(line: Connection, cancel: Any, stop: Any) -> None:
    """What a worker process does: tasks, one after the other, until the line is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when workers end
    signal.signal(signal.SIGTERM, _end_now)
    from tablecloak.server import tasks

    while True:
        try:
            task, arguments = line.recv()
        except (EOFError, OSError):
            return
        with contextlib.suppress(BrokenPipeError):
            line.send(_done(tasks.TASKS[task], arguments, _Telling(line, cancel, stop)))


def _done(task: Callable[..., Any], arguments: dict[str, Any], progress: _Telling) -> tuple[str, Any]:
    try:
        return "result", task(arguments, progress)
    except Cancelled:
        return "cancelled", None
    except CloakError as error:
        return "failed", (error.to_dict(), error.exit_code)
    except MemoryError:
        return "failed", ({"error": "engine", "message": "there is not enough memory", "hint": None}, 1)
    except Exception as error:  # its text might hold a cell of the data: only its type and place are told
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        message = f"unexpected {type(error).__name__} in {frame.name} ({place})"
        return "failed", ({"error": "error", "message": message, "hint": "this is a bug in tablecloak"}, 1)


def _end_now(number: int, _frame: object) -> None:
    from tablecloak.cleanup import discard_unfinished

    discard_unfinished()
    os._exit(128 + number)
