"""How hard the tests search: eight times as hard where TABLECLOAK_THOROUGH is set."""

from __future__ import annotations

import os

IS_THOROUGH = bool(os.environ.get("TABLECLOAK_THOROUGH"))

factor = 4 if IS_THOROUGH else 0.5


def often(n: int) -> int:
    """`n` repetitions of a random search, or fewer or more."""
    return max(1, round(n * factor))
