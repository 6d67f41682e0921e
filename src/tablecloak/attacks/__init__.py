"""Attacks: what an attacker can still learn from a release, and who stands out in a table.

One file per attack; each is a function from a `Case` to an `AttackSuccess` that registers under a name.
Each is in a module of its name: `from tablecloak.attacks.prosecutor import prosecutor`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tablecloak.registry import known


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"module 'tablecloak.attacks' has no attribute '{name}'")
    return import_module(f"tablecloak.attacks.{name}")


def __dir__() -> list[str]:
    ours = [attack for attack in known("attacks").values() if attack.__module__.startswith(f"{__name__}.")]
    return sorted(attack.__name__ for attack in ours)
