"""How kernels are compiled: cached on disk, and without the interpreter lock so that threads run side by side."""

from __future__ import annotations

from typing import Any

from numba import njit

__all__ = ["jit", "leaf_jit"]

jit: Any = njit(cache=True, nogil=True)
leaf_jit: Any = njit(cache=True, nogil=True, inline="never")
