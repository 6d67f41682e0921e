"""Names to things: models, algorithms, metrics, attacks and detectors register here, ours and third parties' alike.

A third-party package offers its classes through the entry-point groups `tablecloak.models`, `tablecloak.algorithms`,
`tablecloak.metrics`, `tablecloak.attacks` and `tablecloak.detectors`; loading the entry point must register the class.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from tablecloak.errors import PolicyError, did_you_mean

__all__ = ["find", "known", "register"]

T = TypeVar("T")
KINDS = ("models", "algorithms", "metrics", "attacks", "detectors")
# Packages that are not called after their kind.
_PACKAGES = {"attacks": "risks", "detectors": "profile.detectors"}
_known: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
_loaded: set[str] = set()


def register(kind: str, name: str) -> Callable[[T], T]:
    """Register a class or function under a kebab-case name."""

    def add(thing: T) -> T:
        _known[kind][name] = thing
        return thing

    return add


def known(kind: str) -> Mapping[str, Any]:
    """Everything registered under a kind, by name, in alphabetical order."""
    if kind not in _loaded:
        _loaded.add(kind)
        package = importlib.import_module(f"tablecloak.{_PACKAGES.get(kind, kind)}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
        for point in entry_points(group=f"tablecloak.{kind}"):
            point.load()
    return dict(sorted(_known[kind].items()))


def find(kind: str, name: str) -> Any:
    """The thing registered under a name, or a PolicyError with the nearest name."""
    things = known(kind)
    if name in things:
        return things[name]
    hint = did_you_mean(name, things) or f"known {kind}: {', '.join(things)}"
    raise PolicyError(f"unknown {kind.removesuffix('s')} '{name}'", hint=hint)
