"""HTML by construction: text is escaped when it becomes part of an element, so nothing a table contains can run."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TypeAlias


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


Node: TypeAlias = "str | Html | Iterable[Node] | None"
VOID = frozenset({"meta", "br", "rect", "line", "path", "circle"})


def join(*nodes: Node) -> Html:
    """Nodes as markup; plain text is escaped."""
    return Html("".join(_markup(node) for node in nodes))


def el(tag: str, *children: Node, **attributes: str | float | None) -> Html:
    """An element; `class_` and `for_` are written without the underscore, other underscores as hyphens."""
    written = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    if tag in VOID and not children:
        return Html(f"<{tag}{written}/>")
    return Html(f"<{tag}{written}>{join(*children)}</{tag}>")


def _markup(node: Node) -> str:
    if node is None:
        return ""
    if isinstance(node, Html):
        return str(node)
    if isinstance(node, str):
        return escape(node)
    return "".join(_markup(child) for child in node)


def _plain(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
