"""Runs under a limit of memory (`ulimit -v`): a second process watches, because libraries abort where memory ends."""

from __future__ import annotations

import os
import resource
import signal
import threading
import warnings

from tablecloak.errors import CloakError

__all__ = ["STARVED", "is_starved", "memory_limit", "watched"]

# How a watched process ends that got no more memory; it may have none left to say so itself.
STARVED = 99
FATAL = (signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP)
# Every thread of a library reserves address space, whether it is used or not.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "POLARS_MAX_THREADS", "NUMBA_NUM_THREADS")
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
    child = os.fork()
    if child == 0:
        # what libraries say that run short is said once, at the end
        threading.excepthook = lambda _: None
        warnings.simplefilter("ignore")
        return None
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells the child, too
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status):
        return os.WEXITSTATUS(status)
    number = os.WTERMSIG(status)
    return STARVED if number in FATAL else 128 + number


def is_starved(error: BaseException) -> bool:
    """Whether the system, or a library in its own words, refused more memory."""
    if isinstance(error, CloakError):  # in our words
        return False
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
        return True
    text = str(error).lower()  # which is looked at and never shown
    if any(words in text for words in REFUSALS):
        return True
    # libraries that cannot be loaded whole, and panics of those that were
    is_odd = isinstance(error, ImportError | SystemError) or type(error).__name__ == "PanicException"
    return is_odd and memory_limit() is not None
