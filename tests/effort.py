"""How hard the tests search: quickly by default, for long where the variable TABLECLOAK_THOROUGH is set."""

from __future__ import annotations

import os

IS_THOROUGH = bool(os.environ.get("TABLECLOAK_THOROUGH"))
FACTOR = 4


def often(n: int) -> int:
    """`n` repetitions of a random search, or several times more."""
    return n * FACTOR if IS_THOROUGH else n
