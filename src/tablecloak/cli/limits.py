"""Runs under a limit of memory (`ulimit -v`): a second process watches, because libraries abort where memory ends."""

from __future__ import annotations

import atexit
import os
import resource
import signal
import sys
import threading
import warnings
from pathlib import Path

from tablecloak.errors import CloakError

# How a watched process ends that got no more memory; it may have none left to say so itself.
STARVED = 99
SIGNALLED = 128  # and the number of a signal
FATAL = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)
# Every thread of a library reserves address space, whether it is used or not.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")
NEAR = 0.5  # of what it may have, a process has had when it may have been refused more
REFUSALS = (
    "start new thread", "cannot allocate memory", "out of memory", "os error 12", "failed to map segment",
    "memory allocation", "failed to spawn", "resource temporarily unavailable",
)  # fmt: skip


def memory_limit() -> int | None:
    """Bytes that this process may have at most; None: as many as there are."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((n for n in limits if n != resource.RLIM_INFINITY), default=None)


def watched() -> int | None:
    """Go on in a child process: None there; its exit code here, STARVED where it was not able to end by itself."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    os.environ["RUST_BACKTRACE"] = "0"
    listener, speaker = os.pipe()
    child = os.fork()
    if child == 0:
        atexit.register(os.write, speaker, b".")  # which a library that ends the process on its own passes by
        # what libraries say that run short is said once, at the end
        threading.excepthook = lambda _: None
        warnings.simplefilter("ignore")
        return None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells the child, too
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        code = os.WEXITSTATUS(status)
        return STARVED if code < SIGNALLED and not _is_told(listener) else code
    number = os.WTERMSIG(status)
    return STARVED if number in FATAL else SIGNALLED + number


def _is_told(listener: int) -> bool:
    os.set_blocking(listener, False)  # whatever the child started may still hold the other end
    try:
        return os.read(listener, 1) != b""
    except BlockingIOError:
        return False


def is_starved(error: BaseException) -> bool:
    """Whether the system, or a library in its own words, refused more memory."""
    if isinstance(error, CloakError):  # in our words
        return False
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    text = str(error).lower()  # which is looked at and never shown
    if any(words in text for words in REFUSALS):
        return True
    # libraries that could not be loaded whole fail in any way
    limit = memory_limit()
    return limit is not None and _most_so_far() > NEAR * limit


def _most_so_far() -> int:
    """The most address space that this process has had, in bytes; more than any limit where nothing says it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmPeak"))
    except (OSError, MemoryError, StopIteration):
        return sys.maxsize
