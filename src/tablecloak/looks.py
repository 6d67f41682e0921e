"""How results look: as text, in notebooks, as the page of a report.

What is said is in the room `report`, above all others, which is found by its name, as the registry finds models.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class ShowsItself:
    """A result that shows itself: in one line among other values, with tables and charts in a notebook."""

    __slots__ = ()

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        return html(self)


def page(subject: Any) -> str:
    """The report of a release as a page."""
    text: str = _report().page(subject)
    return text


def text(result: Any) -> str:
    """A result as lines of text."""
    lines: str = _report().text(result)
    return lines


def brief(result: Any) -> str:
    """A result in one line, without any cell."""
    line: str = _report().brief(result)
    return line


def rich(result: Any) -> Any:
    """A result as rich prints it."""
    return _report().rich(result)


def html(result: Any) -> str:
    """A result as a notebook shows it."""
    markup: str = _report().html(result)
    return markup


def _report() -> Any:
    return import_module("tablecloak.report.looks")
