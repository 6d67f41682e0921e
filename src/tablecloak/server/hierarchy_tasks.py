"""Hierarchies to look at and to edit: built from a column's values or read from a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from tablecloak.data.table import ColumnType
from tablecloak.errors import DataError
from tablecloak.hierarchy import edit
from tablecloak.hierarchy.build import build
from tablecloak.hierarchy.files import read_hierarchy, write_hierarchy
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.lint import lint
from tablecloak.io.frames import column_type
from tablecloak.io.sniff import sniff
from tablecloak.plan import source_of
from tablecloak.policy.load import parse_policy
from tablecloak.policy.problems import InvalidPolicyError, problems_of
from tablecloak.policy.schema import Policy, hierarchy_from
from tablecloak.progress import Progress
from tablecloak.server.frames import frame_of
from tablecloak.server.large import counted_values, is_large
from tablecloak.server.set_tasks import items_of
from tablecloak.values import format_value

__all__ = ["edit_hierarchy", "hierarchy", "hierarchy_file"]

Arguments = Mapping[str, Any]
# A larger tree is drawn from the top, as far as this many nodes go.
MOST_NODES = 400
MOST_VALUES_SHOWN = 8


def hierarchy(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """How the values of a column become coarser: levels with counts, and the tree.

    With `spec` the hierarchy that these parameters build, else the one of the policy.
    """
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    values, texts, counts, type_ = _values(policy, arguments)
    chosen = _checked(arguments["spec"]) if arguments.get("spec") else policy.hierarchy_of(arguments["column"])
    if chosen is None:
        return {"type": type_, "distinct": len(texts), "levels": [], "tree": None, "problems": [], "kind": None}
    tree = read_hierarchy(chosen) if isinstance(chosen, Path) else build(chosen, values, type_)
    return _described(tree, texts, counts, type_)


def edit_hierarchy(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """Change the hierarchy of a column by one edit, and write the result to a file."""
    policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
    values, texts, counts, type_ = _values(policy, arguments)
    chosen = policy.hierarchy_of(arguments["column"])
    if chosen is None:
        tree = Hierarchy.from_paths([[text, "*"] for text in texts])
    else:
        tree = read_hierarchy(chosen) if isinstance(chosen, Path) else build(chosen, values, type_)
    given = arguments["edit"]
    edited = _edit(tree, given, texts)
    write_hierarchy(edited, Path(arguments["target"]))
    return _described(edited, texts, counts, type_)


def hierarchy_file(arguments: Arguments, _progress: Progress) -> dict[str, Any]:
    """The hierarchy of a column as a file to download, or a given file read and written in our way."""
    target = Path(arguments["target"])
    if arguments.get("source"):
        tree = read_hierarchy(Path(arguments["source"]))
    else:
        policy = parse_policy(arguments["policy"], name="policy.yaml", base=Path(arguments["base"]))
        values, _, _, type_ = _values(policy, arguments)
        chosen = policy.hierarchy_of(arguments["column"])
        if chosen is None:
            raise DataError("this column has no hierarchy", hint="choose a kind first")
        tree = read_hierarchy(chosen) if isinstance(chosen, Path) else build(chosen, values, type_)
    write_hierarchy(tree, target)
    return {"values": tree.n_leaves, "height": tree.height}


def _values(policy: Policy, arguments: Arguments) -> tuple[list[Any], list[str], dict[str, int], str]:
    source, column = source_of(policy), arguments["column"]
    if column not in sniff(source).names:
        raise DataError(f"there is no column '{column}'")
    items = items_of(policy, column, source)
    if items is not None:
        counted = items.value_counts()
    else:
        is_whole = not is_large(source, arguments)
        counted = frame_of(source)[column].drop_nulls().value_counts() if is_whole else counted_values(source, column)
    cells = counted[column].cast(str) if str(counted[column].dtype).startswith("Categorical") else counted[column]
    values = cells.to_list()
    type_ = policy.columns[column].type or column_type(column, counted[column].dtype)
    if type_ is ColumnType.TEXT:
        values = [str(format_value(v)) for v in values]
    texts = [str(format_value(v)) for v in values]
    counts = dict(zip(texts, counted["count"].to_list(), strict=True))
    return values, sorted(texts), counts, str(type_)


def _checked(written: Mapping[str, Any]) -> Any:
    try:
        return hierarchy_from(written)
    except ValidationError as error:
        raise InvalidPolicyError(problems_of(error, dict(written))) from None


def _edit(tree: Hierarchy, given: Mapping[str, Any], texts: list[str]) -> Hierarchy:
    edits: dict[str, Callable[[], Hierarchy]] = {
        "add": lambda: edit.add(tree, given["parent"], given["label"]),
        "group": lambda: edit.group(tree, given["label"], given["members"]),
        "rename": lambda: edit.rename(tree, given["label"], given["new_label"]),
        "move": lambda: edit.move(tree, given["label"], given["parent"]),
        "delete": lambda: edit.delete(tree, given["label"], needed=texts),
    }
    return edits[given["action"]]()


def _described(tree: Hierarchy, texts: list[str], counts: Mapping[str, int], type_: str) -> dict[str, Any]:
    problems = [{"line": p.line, "message": p.message, "hint": p.hint, "severity": p.severity}
                for p in lint(tree, texts)]  # fmt: skip
    return {
        "type": type_,
        "kind": tree.kind,
        "distinct": len(texts),
        "leaves": tree.n_leaves,
        "levels": [_level(tree, level, counts) for level in range(tree.height + 1)],
        "tree": _drawn(tree, counts),
        "problems": problems,
    }


def _level(tree: Hierarchy, level: int, counts: Mapping[str, int]) -> dict[str, Any]:
    nodes, of_leaf = np.unique(tree.level_map(level), return_inverse=True)
    n_records = np.zeros(len(nodes), np.int64)
    for leaf, at in enumerate(of_leaf.tolist()):
        n_records[at] += counts.get(str(tree.labels[leaf]), 0)
    used = int((n_records > 0).sum())
    order = np.argsort(-n_records, kind="stable")[:MOST_VALUES_SHOWN].tolist()
    return {
        "level": level,
        "values": max(used, 1),
        "smallest": int(n_records[n_records > 0].min()) if used else 0,
        "shown": [{"label": tree.labels[int(nodes[i])], "records": int(n_records[i])} for i in sorted(order)],
    }


def _drawn(tree: Hierarchy, counts: Mapping[str, int]) -> dict[str, Any]:
    """The tree from the top; where it is too large, leaves are counted instead of listed."""
    budget = MOST_NODES

    def below(node: int) -> int:
        return sum(counts.get(str(tree.labels[leaf]), 0) for leaf in tree.leaves_under(node))

    def draw(node: int, depth: int) -> dict[str, Any]:
        nonlocal budget
        budget -= 1
        is_leaf = node < tree.n_leaves
        drawn: dict[str, Any] = {"label": tree.labels[node], "records": below(node), "leaf": is_leaf}
        if is_leaf:
            return drawn
        children = tree.children(node)
        fits = len(children) <= budget
        drawn["children"] = [draw(child, depth + 1) for child in children] if fits else []
        drawn["hidden"] = 0 if fits else len(children)
        return drawn

    return draw(tree.root, 0)
