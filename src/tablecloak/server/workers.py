"""Workers: processes that touch data, so that a broken file or a crash never takes the server down."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any, TypeVar, cast

from tablecloak.engines.run_folder import RunFolder
from tablecloak.errors import CloakError
from tablecloak.io.private import discard_unfinished, unfinished
from tablecloak.progress import Cancelled, Progress

# How long a worker may take to notice that its work was cancelled before it is ended.
GRACE_SECONDS = 2.0
Event = dict[str, Any]
Request = TypeVar("Request")
Answer = TypeVar("Answer")
# What a worker can do: a function of a module, with frozen values as its request and its answer.
Task = Callable[[Request, Progress], Answer]
# Modules that a worker reads before anybody asks, so that the first question is answered as fast as the second.
TASK_MODULES = tuple(
    f"tablecloak.server.steps.{screen}.task"
    for screen in ("home", "load", "roles", "hierarchies", "goals", "run", "compare", "export")
)


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

    def __init__(self, *, is_patient: bool = False) -> None:
        """A patient worker leaves the processor to others who need it now, such as the pages."""
        self._is_patient = is_patient
        self._lock = threading.Lock()  # held while something is asked
        self._sending = threading.Lock()  # held while it is settled what is asked, or told about that
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._number = 0  # of what is asked
        self._name = ""  # of what is asked, as the asker calls it
        self._is_cancelled = False
        self._is_closed = False

    def start(self) -> None:
        """Begin the process, which takes a second or two; asking does it, too."""
        with self._lock:
            self._ensure()

    def ask(
        self,
        task: Task[Request, Answer],
        request: Request,
        hear: Callable[[Event], None] = lambda _: None,
        *,
        name: str = "",
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """The answer of a task; `hear` gets its progress, and what nobody wants any more when its turn comes is left.

        Raises: Failed, Cancelled, Crashed.
        """
        with self._lock:
            line = self._ensure()
            try:
                self._begin(line, task, request, name, is_wanted)
                return cast(Answer, _answer(line, hear))
            except (EOFError, OSError):
                code = self._end()
                if self._is_cancelled:
                    raise Cancelled from None
                raise Crashed(f"the worker ended in the middle of its work (code {code})") from None
            finally:
                self._name = ""

    def _begin(
        self, line: Connection, task: Task[Any, Any], request: Any, name: str, is_wanted: Callable[[], bool]
    ) -> None:
        with self._sending:  # whoever cancels comes before, and it is not wanted, or after, and it is told
            if not is_wanted():
                raise Cancelled
            self._number += 1
            self._name, self._is_cancelled = name, False
            line.send((self._number, task, request))

    def cancel(self, name: str) -> bool:
        """Ask the work of that name to end; if it does not listen, end the process. Says whether it is at work."""
        is_at_work = self._tell(name, "cancel")
        if is_at_work:
            threading.Thread(target=self._end_later, args=(self._number,), daemon=True).start()
        return is_at_work

    def stop(self, name: str) -> bool:
        """Ask the work of that name to finish with the best it has; says whether it is at work."""
        return self._tell(name, "stop")

    def close(self) -> None:
        """End the process for good."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.terminate()
        if self._lock.acquire(timeout=GRACE_SECONDS):
            self._end()
            self._lock.release()
        elif process is not None:
            process.kill()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one."""
        return self._process.pid if self._process is not None else None

    def _tell(self, name: str, what: str) -> bool:
        with self._sending:
            if self._name != name or self._line is None:
                return False
            self._is_cancelled |= what == "cancel"
            with contextlib.suppress(OSError):
                self._line.send((self._number, what, None))
            return True

    def _end_later(self, number: int) -> None:
        deadline = time.monotonic() + GRACE_SECONDS
        while time.monotonic() < deadline:
            if self._number != number or not self._lock.locked():
                return
            time.sleep(0.05)
        process = self._process
        if self._number == number and self._lock.locked() and process is not None:
            process.kill()

    def _ensure(self) -> Connection:
        if self._is_closed:
            raise Crashed("the server is ending")
        if self._process is None or self._process.poll() is not None or self._line is None:
            self._end()
            ours, theirs = socket.socketpair()
            with theirs:
                number = theirs.fileno()
                command = [sys.executable, "-m", "tablecloak.server.workers", str(number)]
                command += ["patient"] if self._is_patient else []
                self._process = subprocess.Popen(command, pass_fds=[number], stdin=subprocess.DEVNULL)
            self._line = Connection(ours.detach())
        return self._line

    def _end(self) -> int | None:
        process, line = self._process, self._line
        self._process = self._line = None
        if line is not None:
            line.close()
        if process is None:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(GRACE_SECONDS)
        process.kill()
        return process.wait()


def _answer(line: Connection, hear: Callable[[Event], None]) -> Any:
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


# Progress is told at most this often.
SECONDS_BETWEEN = 0.1
PAUSE_GROWS = 1.1  # pauses between pictures
MOST_GROUPS = 80  # of a picture
NICENESS = 10


class LineProgress:
    """Progress that goes through the line; what the server says meanwhile is heard when work calls."""

    def __init__(self, line: Connection, number: int) -> None:
        self._line, self._number = line, number
        self._last = 0.0
        self._next_picture, self._pause = 0.0, SECONDS_BETWEEN
        self._is_cancelled = False
        self._is_stopping = False

    def start(self, phase: str, total: int | None = None) -> None:
        self._tell({"kind": "start", "phase": phase, "total": total})

    def advance(self, done: int) -> None:
        if time.monotonic() - self._last >= SECONDS_BETWEEN:
            self._tell({"kind": "advance", "done": int(done)})
        else:
            self._listen()

    def finish(self, note: str = "") -> None:
        self._tell({"kind": "finish", "note": note})

    def better(self, loss: float) -> None:
        self._tell({"kind": "best", "loss": float(loss)})

    def groups(self, sizes: Callable[[], Any]) -> None:
        """How large the groups are so far: the largest ones, the others together."""
        if self._is_time_for_a_picture():
            falling = sorted(sizes().tolist(), reverse=True)
            rest = sum(falling[MOST_GROUPS:])
            self._tell({"kind": "groups", "groups": len(falling), "sizes": falling[:MOST_GROUPS], "rest": rest})

    def nodes(self, rows: Callable[[], Any]) -> None:
        """How much of a lattice is known so far, row by row."""
        if self._is_time_for_a_picture():
            self._tell({"kind": "nodes", "rows": rows()})

    def _is_time_for_a_picture(self) -> bool:
        """Pictures come ever more seldom, so that a long run has not many more than a short one."""
        now = time.monotonic()
        if now < self._next_picture:
            return False
        self._pause *= PAUSE_GROWS
        self._next_picture = now + self._pause
        return True

    def stopping(self) -> bool:
        """Whether the best found so far is wanted now."""
        self._listen()
        return self._is_stopping

    def _tell(self, event: dict[str, Any]) -> None:
        self._last = time.monotonic()
        self._listen()
        self._line.send(("progress", event))

    def _listen(self) -> None:
        while not self._is_cancelled and self._line.poll():
            number, what, _ = self._line.recv()
            if number == self._number:
                self._is_cancelled |= what == "cancel"
                self._is_stopping |= what == "stop"
        if self._is_cancelled:
            raise Cancelled


def serve(line: Connection) -> None:
    """Tasks, one after the other, until the line is closed."""
    for module in TASK_MODULES:
        import_module(module)

    while True:
        number, task, request = line.recv()
        if request is None:  # a word about work that has ended
            continue
        line.send(_done(task, request, LineProgress(line, number)))


def _done(task: Task[Any, Any], request: Any, progress: LineProgress) -> tuple[str, Any]:
    try:
        return "result", task(request, progress)
    except Cancelled:
        return "cancelled", None
    except CloakError as error:
        return "failed", (error.to_dict(), error.exit_code)
    except MemoryError:
        return "failed", ({"error": "engine", "message": "there is not enough memory", "hint": None}, 1)
    except (EOFError, BrokenPipeError, SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # also a panic of polars
        # Its text might hold a cell of the data: only its type and place are told.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename.rpartition('/')[2]}:{frame.lineno}"
        message = f"unexpected {type(error).__name__} in {frame.name} ({place})"
        return "failed", ({"error": "error", "message": message, "hint": "this is a bug in tablecloak"}, 1)


def _end_now(number: int, _frame: object) -> None:
    """End, as the server does; runs that can go on later keep what they have finished."""
    for work in list(unfinished):
        if not (isinstance(work, RunFolder) and work.path.name.endswith(".tablecloak-run") and work.finished):
            work.discard()
    os._exit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server decides when workers end
    signal.signal(signal.SIGTERM, _end_now)
    os.umask(0o077)  # what workers write is for the owner of the server only
    if "patient" in sys.argv[2:]:
        os.nice(NICENESS)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        serve(Connection(int(sys.argv[1])))
    discard_unfinished()
