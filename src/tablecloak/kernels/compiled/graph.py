"""The functions of `kernels/graph.py` as machine code."""

from __future__ import annotations

from typing import Any

from tablecloak.kernels import graph
from tablecloak.kernels.compiled.jit import jit

__all__ = ["components", "matching", "transport"]

components: Any = jit(graph.components)
matching: Any = jit(graph.matching)
transport: Any = jit(graph.transport)
