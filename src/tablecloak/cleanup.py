"""What must not be left behind when the process ends without unwinding its stack."""

from __future__ import annotations

import weakref
from typing import Protocol

__all__ = ["Unfinished", "discard_unfinished", "unfinished"]


class Unfinished(Protocol):
    """Work on disk that nobody should find: temporary files, spill directories."""

    def discard(self) -> None:
        """Remove it; a second call does nothing."""


unfinished: weakref.WeakSet[Unfinished] = weakref.WeakSet()


def discard_unfinished() -> None:
    """Remove all unfinished work of this process."""
    for work in list(unfinished):
        work.discard()
