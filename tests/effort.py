"""How hard the tests search: half as hard in `make check`, and for long where TABLECLOAK_THOROUGH is set."""

from __future__ import annotations

import os

IS_THOROUGH = bool(os.environ.get("TABLECLOAK_THOROUGH"))

factor = 4 if IS_THOROUGH else 1


def often(n: int) -> int:
    """`n` repetitions of a random search, or fewer or more."""
    return max(1, round(n * factor))
