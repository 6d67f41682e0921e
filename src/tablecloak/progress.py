"""How long work tells what it is doing: phases, counts, notes, cancel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

# Phases of a search; all but the first already have an answer and only make it better.
CELLS, REFINE, SEARCH_BOXES, AUCTION = "cells", "refine", "search boxes", "auction"
HAVE_ANSWER = (REFINE, SEARCH_BOXES, AUCTION)


class Cancelled(Exception):  # noqa: N818
    """The user stopped the work."""


class Progress(Protocol):
    """What long work calls; adapters draw bars, fill queues or stay silent."""

    def start(self, phase: str, total: int | None = None) -> None:
        """A phase begins; `total` is in the unit of `advance`."""

    def advance(self, done: int) -> None:
        """`done` units of the current phase are finished so far. Raises Cancelled when asked to stop."""

    def finish(self, note: str = "") -> None:
        """The phase ends with a short remark (counts only, never values)."""

    def stopping(self) -> bool:
        """Whether the user wants the best answer so far; work that has none goes on."""
        return False


class Silent:
    """Says nothing."""

    def start(self, phase: str, total: int | None = None) -> None:
        pass

    def advance(self, done: int) -> None:
        pass

    def finish(self, note: str = "") -> None:
        pass

    def stopping(self) -> bool:
        return False


silent: Progress = Silent()


def tell_better(progress: Progress, loss: float) -> None:
    """Say that a better answer was found, to those who want to know: they have a method `better(loss)`."""
    tell = getattr(progress, "better", None)
    if tell is not None:
        tell(loss)


def tell_doing(progress: Progress, what: str) -> None:
    """Say what a phase is doing, to those who want to show it: they have a method `doing(what)`."""
    tell = getattr(progress, "doing", None)
    if tell is not None:
        tell(what)


def tell_groups(progress: Progress, sizes: Callable[[], Any]) -> None:
    """Say how many records the groups have so far, to those who want to draw them: they have a method `groups(sizes)`.

    Args:
        sizes: counts them, if somebody asks; an array of integers.
    """
    tell = getattr(progress, "groups", None)
    if tell is not None:
        tell(sizes)


def tell_nodes(progress: Progress, rows: Callable[[], Sequence[Sequence[int]]]) -> None:
    """Say how many nodes of each row of a lattice are safe, unsafe and unknown, to those who have `nodes(rows)`."""
    tell = getattr(progress, "nodes", None)
    if tell is not None:
        tell(rows)


class Timed:
    """Passes everything on and keeps the seconds of each phase."""

    def __init__(self, inner: Progress = silent) -> None:
        self.inner = inner
        self.seconds: dict[str, float] = {}

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[list[str]]:
        """One phase; the body may put its closing note in the yielded list."""
        self.inner.start(name, total)
        begin = time.perf_counter()
        notes: list[str] = []
        yield notes
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin
        self.inner.finish(notes[-1] if notes else "")
