"""Python's looks for garbage: seldom, while very much is made that stays."""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# Things made between two looks.
MADE = 100_000
_lock = Lock()
_before: list[tuple[int, int, int]] = []  # as it was, once for everybody within


@contextmanager
def seldom_collected() -> Iterator[None]:
    """With few looks for garbage: each goes through all modules and kernels that were loaded."""
    with _lock:
        _before.append(gc.get_threshold())
        gc.set_threshold(MADE, *_before[0][1:])
    try:
        yield
    finally:
        with _lock:
            first = _before[0]
            _before.pop()
            if not _before:
                gc.set_threshold(*first)


def keep_what_was_loaded() -> None:
    """Count what there is among what is old: modules and compilers stay, and nobody has to look whether they do."""
    if not gc.get_freeze_count():  # else somebody else keeps what they froze
        gc.freeze()
        gc.unfreeze()


def never_collected_at_end() -> None:
    """For a process of our own: few looks for garbage, and none when it ends, for the system takes everything back."""
    gc.set_threshold(MADE, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
