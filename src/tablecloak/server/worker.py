"""The process of a worker: takes tasks from a line, tells what they do, answers. Run as `python -m`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from tablecloak.cleanup import discard_unfinished, unfinished
from tablecloak.engines.rundir import RunFolder
from tablecloak.errors import CloakError
from tablecloak.progress import Cancelled

__all__ = ["serve"]

# Progress is told at most this often.
SECONDS_BETWEEN = 0.1
PAUSE_GROWS = 1.1  # pauses between pictures
MOST_GROUPS = 80  # of a picture
NICENESS = 10


class Telling:
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
            found = sorted(sizes().tolist(), reverse=True)
            rest = sum(found[MOST_GROUPS:])
            self._tell({"kind": "groups", "groups": len(found), "sizes": found[:MOST_GROUPS], "rest": rest})

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
    from tablecloak.server.tasks import TASKS

    while True:
        number, task, arguments = line.recv()
        if arguments is None:  # a word about work that has ended
            continue
        line.send(_done(TASKS[task], arguments, Telling(line, number)))


def _done(task: Callable[..., Any], arguments: dict[str, Any], progress: Telling) -> tuple[str, Any]:
    try:
        return "result", task(arguments, progress)
    except Cancelled:
        return "cancelled", None
    except CloakError as error:
        return "failed", (error.to_dict(), error.exit_code)
    except MemoryError:
        return "failed", ({"error": "engine", "message": "there is not enough memory", "hint": None}, 1)
    except (EOFError, BrokenPipeError, SystemExit, KeyboardInterrupt):
        raise
    except (
        BaseException
    ) as error:  # also a panic of polars; its text might hold a cell of the data: only its type and place are told
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
