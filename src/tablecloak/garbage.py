"""Python's looks for garbage: seldom, while very much is made that stays."""

from __future__ import annotations

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
