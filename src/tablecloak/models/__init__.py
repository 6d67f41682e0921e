"""Privacy models: each file holds one definition, as a level per class and the level required.

Every class can be imported from here by its name: `from tablecloak.models import KAnonymity`; it is loaded then.
"""

from __future__ import annotations

from typing import Any

from tablecloak.models.base import Goal, Monotone, PrivacyModel, Sense, Verdict, model
from tablecloak.registry import by_class, class_names

__all__ = ["Goal", "Monotone", "PrivacyModel", "Sense", "Verdict", "model"]


def __getattr__(name: str) -> Any:
    return by_class("models", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *class_names("models")])
