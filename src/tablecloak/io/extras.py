"""Optional packages: imported when a file needs them, with the command that installs them when absent."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from tablecloak.errors import MissingExtra


def require_package(package: str, *, extra: str, purpose: str) -> ModuleType:
    """The package, or a MissingExtra that says how to get it."""
    try:
        return importlib.import_module(package)
    except ImportError as exc:
        raise _missing(package, extra, purpose) from exc


def require_installed(package: str, *, extra: str, purpose: str) -> None:
    """Raise the same where the package is not there; what loads it is the first use, if there is any."""
    if importlib.util.find_spec(package) is None:
        raise _missing(package, extra, purpose)


def _missing(package: str, extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(f"{purpose} needs the package {package}", hint=f"pip install 'tablecloak[{extra}]'")
