"""Optional packages: imported when a file needs them, with the command that installs them when absent."""

from __future__ import annotations

import importlib
from types import ModuleType

from tablecloak.errors import MissingExtra

__all__ = ["require_package"]


def require_package(package: str, *, extra: str, purpose: str) -> ModuleType:
    """The package, or a MissingExtra that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as exc:
        raise MissingExtra(f"{purpose} needs the package {package}", hint=f"pip install 'tablecloak[{extra}]'") from exc
