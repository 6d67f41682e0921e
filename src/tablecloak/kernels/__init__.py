"""Counting on packed integer keys: numba kernels and their plain-numpy references, same names and results.

`choose(n)` returns the module to use for `n` tuples: small inputs never wait for the compiler.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

__all__ = ["at_hand", "choose", "preload"]

# Below this many tuples the numpy reference finishes before compiled kernels are even loaded.
COMPILED_FROM = 12_000
_loading: list[threading.Thread] = []


def choose(n_tuples: int, *, compiled: bool | None = None) -> ModuleType:
    """The kernels for a table of this many tuples; `compiled` forces one of the two."""
    if compiled is None:
        compiled = n_tuples >= COMPILED_FROM and importlib.util.find_spec("numba") is not None
    return importlib.import_module("tablecloak.kernels." + ("compiled" if compiled else "reference"))


def preload(n_tuples: int, *, refines: bool = False) -> None:
    """Begin loading the kernels that a table of this many tuples will need, while its file is being read."""

    def load() -> None:
        with _uncollected():
            choose(n_tuples).warm_up(refines=refines)

    loading = threading.Thread(target=load, daemon=True)
    _loading.append(loading)
    loading.start()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looks for garbage: loading a compiler makes a hundred thousand things that stay."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def at_hand(n_tuples: int) -> ModuleType:
    """The same as `choose`, but while compiled kernels are being loaded, those that need not be waited for."""
    _loading[:] = [thread for thread in _loading if thread.is_alive()]
    return choose(n_tuples, compiled=False if _loading else None)
