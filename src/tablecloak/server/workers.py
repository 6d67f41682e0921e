"""Workers: processes that touch data, so that a broken file or a crash never takes the server down."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from tablecloak.progress import Cancelled

__all__ = ["Crashed", "Event", "Failed", "Worker"]

# How long a worker may take to notice that its work was cancelled before it is ended.
GRACE_SECONDS = 2.0

Event = dict[str, Any]


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
        task: str,
        arguments: Mapping[str, Any],
        hear: Callable[[Event], None] = lambda _: None,
        *,
        name: str = "",
        is_wanted: Callable[[], bool] = lambda: True,
    ) -> Any:
        """The result of a task; `hear` gets its progress, and what nobody wants any more when its turn comes is left.

        Raises: Failed, Cancelled, Crashed.
        """
        with self._lock:
            line = self._ensure()
            try:
                self._begin(line, task, arguments, name, is_wanted)
                return _answer(line, hear)
            except (EOFError, OSError):
                code = self._end()
                if self._is_cancelled:
                    raise Cancelled from None
                raise Crashed(f"the worker ended in the middle of its work (code {code})") from None
            finally:
                self._name = ""

    def _begin(
        self, line: Connection, task: str, arguments: Mapping[str, Any], name: str, is_wanted: Callable[[], bool]
    ) -> None:
        with self._sending:  # whoever cancels comes before, and it is not wanted, or after, and it is told
            if not is_wanted():
                raise Cancelled
            self._number += 1
            self._name, self._is_cancelled = name, False
            line.send((self._number, task, dict(arguments)))

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
                command = [sys.executable, "-m", "tablecloak.server.worker", str(number)]
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
