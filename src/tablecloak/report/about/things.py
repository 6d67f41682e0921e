"""What there is to choose from, what a registered thing means, what a hierarchy looks like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tablecloak.report.blocks import Block, Branch, Paragraph, Text, Tree, Words, table

if TYPE_CHECKING:
    from tablecloak.hierarchy.hierarchy import Hierarchy

MOST_CHILDREN = 12


def available(things: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[Block]:
    """One table per kind; parameters where anything of the kind has some."""
    for kind, entries in things.items():
        if any(entry["parameters"] for entry in entries):
            rows = [[entry["name"], ", ".join(entry["parameters"]), entry["summary"]] for entry in entries]
            yield table(("name", "parameters", "what it is"), rows, title=kind)
        else:
            yield table(("name", "what it is"), [[entry["name"], entry["summary"]] for entry in entries], title=kind)


def meaning(explanation: Mapping[str, Any]) -> Iterator[Block]:
    """What a model, algorithm or metric means."""
    yield Paragraph((Words(explanation["name"], is_strong=True), Words(f"  {explanation['kind']}", "faint")))
    yield Paragraph(explanation["definition"])
    if explanation["detail"]:
        yield Paragraph(f"\n{explanation['detail']}")
    if explanation["parameters"]:
        rows = [[entry["name"], _default(entry), entry["description"]] for entry in explanation["parameters"]]
        yield table(("name", "default", "what it is"), rows, title="\nparameters")
    for label, key in (("protects from", "protects_from"), ("not from", "not_from"), ("reference", "reference")):
        if explanation[key]:
            yield Paragraph((Words(f"\n{label}  ", is_strong=True), explanation[key]))


def _default(parameter: Mapping[str, Any]) -> str:
    if parameter["is_required"]:
        return "required"
    return "" if parameter["default"] is None else str(parameter["default"])


def linted(report: Mapping[str, Any]) -> Iterator[Block]:
    """What is wrong with a hierarchy file."""
    if report["ok"]:
        yield Paragraph((Words("ok  ", "good"), report["file"]))
    for problem in report["problems"]:
        place = f"{report['file']}:{problem['line']}" if problem["line"] else report["file"]
        hint = f"\n  try  {problem['hint']}" if problem["hint"] else ""
        yield Paragraph(f"{place}  {problem['severity']}: {problem['message']}{hint}")


def tree(hierarchy: Hierarchy, *, depth: int) -> Tree:
    """A hierarchy, large branches cut short."""
    return Tree(_branch(hierarchy, hierarchy.root, depth))


def _branch(hierarchy: Hierarchy, node: int, depth: int) -> Branch:
    children = hierarchy.children(node)
    below = [_branch(hierarchy, child, depth - 1) for child in children[:MOST_CHILDREN]] if depth else []
    if depth and len(children) > MOST_CHILDREN:
        below.append(Branch(Words(f"… {len(children) - MOST_CHILDREN:,} more", "faint")))
    return Branch(_label(hierarchy, node), tuple(below))


def _label(hierarchy: Hierarchy, node: int) -> Text:
    label = hierarchy.labels[node] or "(missing)"
    if not hierarchy.children(node):
        return label
    about = f"  {hierarchy.leaf_count(node):,} values, loss {hierarchy.losses[node]:.3g}"
    return (label, Words(about, "faint"))
