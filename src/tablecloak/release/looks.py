"""How results look: as text, in notebooks, as the page of a report.

What is said is in the room `report`, above this one, which is found by its name, as the registry finds models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tablecloak.release.facts.subject import Subject


def page(subject: Subject) -> str:
    """The report of a release as a page."""
    text: str = import_module("tablecloak.report.looks").page(subject)
    return text


def text(result: Any) -> str:
    """A result as lines of text."""
    lines: str = import_module("tablecloak.report.looks").text(result)
    return lines


def rich(result: Any) -> Any:
    """A result as rich prints it."""
    return import_module("tablecloak.report.looks").rich(result)


def html(result: Any) -> str:
    """A result as a notebook shows it."""
    markup: str = import_module("tablecloak.report.looks").html(result)
    return markup
