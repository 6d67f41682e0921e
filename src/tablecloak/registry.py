"""Names to things: models, algorithms, metrics, attacks, transforms, detectors, findings, formats, hierarchies.

Ours and those of others alike: a third-party package offers its classes through the entry-point groups
`tablecloak.models`, `tablecloak.algorithms` and so on; loading the entry point must register the class, function or
value.

A registered name is the name of its file: `k-map` is in `k_map.py`, anywhere below the package of its kind, so one name
loads one module. Modules that start with `_` are helpers and are loaded by those that need them.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeVar

from tablecloak.errors import PolicyError, did_you_mean

T = TypeVar("T")
KINDS = ("models", "algorithms", "metrics", "attacks", "detectors", "findings", "formats", "hierarchies", "transforms")
# Packages that are not called after their kind.
_PACKAGES = {"detectors": "profile.detectors", "formats": "io.formats", "hierarchies": "hierarchy.kinds"}
# Names that people should read before others, in this order; all others follow in that of the alphabet.
_FIRST = {"hierarchies": ("intervals", "quantiles", "mask", "dates", "order", "tree", "auto")}
_known: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
_loaded: set[str] = set()
_loading: set[str] = set()  # by the thread that holds the lock
_lock = threading.RLock()


def register(kind: str, name: str) -> Callable[[T], T]:
    """Register a class or function under a kebab-case name."""

    def add(thing: T) -> T:
        _known[kind][name] = thing
        return thing

    return add


class _Things(Mapping[str, Any]):
    """What is registered under a kind: one name loads the module that is called after it, all names all."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._package = f"tablecloak.{_PACKAGES.get(kind, kind)}"

    def __getitem__(self, name: str) -> Any:
        if name not in _known[self._kind] and self._kind not in _loaded:
            self._load(name)
        return _known[self._kind][name]

    def __iter__(self) -> Iterator[str]:
        self._load_all()
        first = [name for name in _FIRST.get(self._kind, ()) if name in _known[self._kind]]
        return iter([*first, *sorted(_known[self._kind].keys() - first)])

    def __len__(self) -> int:
        self._load_all()
        return len(_known[self._kind])

    def _load(self, name: str) -> None:
        for module in _modules(self._package):
            if module.rpartition(".")[2] == name.replace("-", "_"):
                importlib.import_module(module)
        if name not in _known[self._kind]:
            self._load_all()

    def _load_all(self) -> None:
        if self._kind in _loaded:
            return
        with _lock:  # another thread may be loading them, and must not be overtaken
            if self._kind in _loaded or self._kind in _loading:
                return
            _loading.add(self._kind)
            try:
                for module in _modules(self._package):
                    importlib.import_module(module)
                for point in offered(self._kind):
                    point.load()
                _loaded.add(self._kind)
            finally:
                _loading.discard(self._kind)


def offered(kind: str) -> list[EntryPoint]:
    """What other packages offer under a kind."""
    return [point for point in _offers() if point.group == f"tablecloak.{kind}"]


@cache
def _offers() -> tuple[EntryPoint, ...]:
    """The same under all kinds, looked up once: all packages are asked, which takes a while."""
    points = entry_points()
    return tuple(point for kind in (*KINDS, "shapes") for point in points.select(group=f"tablecloak.{kind}"))


@cache
def _modules(package: str) -> tuple[str, ...]:
    """Modules anywhere below a package, found without importing any of them; helpers are left out."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    return tuple(_below(package, [Path(path) for path in spec.submodule_search_locations or ()]))


def _below(package: str, folders: list[Path]) -> Iterator[str]:
    for module in pkgutil.iter_modules([str(folder) for folder in folders]):
        if module.name.startswith("_"):
            continue
        if module.ispkg:
            yield from _below(f"{package}.{module.name}", [folder / module.name for folder in folders])
        else:
            yield f"{package}.{module.name}"


def known(kind: str) -> Mapping[str, Any]:
    """Everything registered under a kind, by name, in the order in which people read it."""
    return dict(_Things(kind))


def named(kind: str) -> Mapping[str, Any]:
    """The same, loaded only as far as it is looked at."""
    return _Things(kind)


def by_class(kind: str, name: str) -> Any:
    """What is registered under a kind and called so in Python, as in `KAnonymity`.

    Raises: AttributeError, as a module does that has no such name.
    """
    # most classes are called as their names in policies are, and then one module is loaded
    guess = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
    if getattr(_Things(kind).get(guess) if name[:1].isupper() else None, "__name__", None) == name:
        return _Things(kind)[guess]
    for thing in known(kind).values() if name[:1].isupper() else ():
        if thing.__name__ == name:
            return thing
    raise AttributeError(f"module 'tablecloak.{_PACKAGES.get(kind, kind)}' has no attribute '{name}'")


def class_names(kind: str) -> list[str]:
    """What everything registered under a kind is called in Python."""
    return sorted(thing.__name__ for thing in known(kind).values())


def noun(kind: str) -> str:
    """What one thing of a kind is called."""
    return "hierarchy" if kind == "hierarchies" else kind.removesuffix("s")


def find(kind: str, name: str) -> Any:
    """The thing registered under a name, or a PolicyError with the nearest name."""
    things = known(kind)
    if name in things:
        return things[name]
    hint = did_you_mean(name, things) or f"known {kind}: {', '.join(things)}"
    raise PolicyError(f"unknown {noun(kind)} '{name}'", hint=hint)
