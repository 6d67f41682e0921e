"""Names to things: models, algorithms, metrics, attacks, detectors and findings register here, ours and others' alike.

A third-party package offers its classes through the entry-point groups `tablecloak.models`, `tablecloak.algorithms`,
`tablecloak.metrics`, `tablecloak.attacks`, `tablecloak.detectors` and `tablecloak.findings`; loading the entry point
must register the class or function.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, TypeVar

from tablecloak.errors import PolicyError, did_you_mean

__all__ = ["find", "known", "named", "register"]

T = TypeVar("T")
KINDS = ("models", "algorithms", "metrics", "attacks", "detectors", "findings")
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


class _Things(Mapping[str, Any]):
    """What is registered under a kind: one name loads its own module where that is called after it, all names all."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._package = f"tablecloak.{_PACKAGES.get(kind, kind)}"

    def __getitem__(self, name: str) -> Any:
        if name not in _known[self._kind] and self._kind not in _loaded:
            self._load(name)
        return _known[self._kind][name]

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        return iter(sorted(_known[self._kind]))

    def __len__(self) -> int:
        self._load_all()
        return len(_known[self._kind])

    def _load(self, name: str) -> None:
        module = name.replace("-", "_")
        if module.isidentifier() and importlib.util.find_spec(f"{self._package}.{module}") is not None:
            importlib.import_module(f"{self._package}.{module}")
        if name not in _known[self._kind]:
            self._load_all()

    def _load_all(self) -> None:
        if self._kind in _loaded:
            return
        _loaded.add(self._kind)
        package = importlib.import_module(self._package)
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
        for point in entry_points(group=f"tablecloak.{self._kind}"):
            point.load()


def known(kind: str) -> Mapping[str, Any]:
    """Everything registered under a kind, by name, in alphabetical order."""
    return dict(_Things(kind))


def named(kind: str) -> Mapping[str, Any]:
    """The same, loaded only as far as it is looked at."""
    return _Things(kind)


def find(kind: str, name: str) -> Any:
    """The thing registered under a name, or a PolicyError with the nearest name."""
    things = known(kind)
    if name in things:
        return things[name]
    hint = did_you_mean(name, things) or f"known {kind}: {', '.join(things)}"
    raise PolicyError(f"unknown {kind.removesuffix('s')} '{name}'", hint=hint)
