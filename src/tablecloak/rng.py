"""One seed per run; every use of randomness is a named child stream."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["child"]


def child(seed: int, name: str) -> np.random.Generator:
    """The generator of a named use: the same seed and name give the same numbers on every engine."""
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "big"))
