"""What becomes of single columns: covered, replaced by pseudonyms, made coarser, perturbed; one file for each kind.

Every class can be imported from here by its name: `from tablecloak.transforms import Noise`; it is loaded then.
"""

from __future__ import annotations

from typing import Any

from tablecloak.registry import by_class, class_names

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    return by_class("transforms", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *class_names("transforms")])
