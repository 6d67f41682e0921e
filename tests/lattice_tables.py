"""Small coded tables, and a slow search of their lattices that shares nothing with the package."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl

from tablecloak.data.coded import code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy

TYPES = {int: ColumnType.INTEGER, float: ColumnType.FLOAT, str: ColumnType.TEXT}


def coded(rows, quasi, sensitive=(), *, by_row=False, weights=None):
    """CodedTable of rows (dictionaries).

    Args:
        quasi: column -> paths from leaf to root, or None for no hierarchy.
    """
    columns = []
    for name, paths in quasi.items():
        values = [row[name] for row in rows]
        kind = TYPES[next((type(v) for v in values if v is not None), str)]
        make = None if paths is None else (lambda _, p=paths: Hierarchy.from_paths(p))
        weight = (weights or {}).get(name, 1.0)
        columns.append(fit_domain(pl.Series(name, values), kind, make_hierarchy=make, weight=weight))
    counted = [fit_sensitive(pl.Series(n, [row[n] for row in rows]), ColumnType.TEXT) for n in sensitive]
    return code_table(columns, counted, by_row=by_row)


def labels_at(paths, level):
    """Value -> label at a level of a hierarchy whose paths are equally long."""
    return {path[0]: path[level] for path in paths}


def share_of_leaves(paths, level, value):
    """Loss of a cell: leaves below its label over all leaves, 0 for one leaf."""
    labels = labels_at(paths, level)
    n = sum(label == labels[value] for label in labels.values())
    return Fraction(0) if n == 1 else Fraction(n, len(labels))


def nodes_of(quasi):
    return list(itertools.product(*(range(len(paths[0])) for paths in quasi.values())))


def classes_at(rows, quasi, node):
    """Rows by their labels at a node."""
    maps = [(name, labels_at(paths, level)) for (name, paths), level in zip(quasi.items(), node, strict=True)]
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(labels[str(row[name])] for name, labels in maps)].append(row)
    return groups


def judge(rows, quasi, node, passes, budget, loss):
    """(is safe, records suppressed, loss) of a node, counted from rows."""
    groups = classes_at(rows, quasi, node).values()
    failing = [row for group in groups if not passes(group) for row in group]
    kept = [group for group in groups if passes(group)]
    n = len(rows)
    if loss == "gcp":
        cells = sum(
            share_of_leaves(paths, level, str(row[name]))
            for group in kept
            for row in group
            for (name, paths), level in zip(quasi.items(), node, strict=True)
        )
        value = (cells + len(failing) * len(quasi)) / Fraction(n * len(quasi))
    elif loss == "discernibility":
        value = sum(len(g) ** 2 for g in kept) + len(failing) * n
    elif loss == "height":
        value = sum(node)
    else:
        steps = [Fraction(level, len(paths[0]) - 1) for level, paths in zip(node, quasi.values(), strict=True)]
        value = (sum(steps) / len(steps) * (n - len(failing)) + len(failing)) / n
    return len(failing) <= budget, len(failing), value


def k_and_l(k, l, sensitive="s"):  # noqa: E741
    """Passes classes of k records with l different sensitive values."""
    return lambda group: len(group) >= k and len(Counter(row[sensitive] for row in group)) >= l


A = [["a1", "A1", "*"], ["a2", "A1", "*"], ["a3", "A2", "*"], ["a4", "A2", "*"]]
B = [["b1", "*"], ["b2", "*"], ["b3", "*"]]
C = [
    [str(i), f"[{i - (i - 1) % 2}, {i - (i - 1) % 2 + 1}]", "[1, 4]" if i <= 4 else "[5, 6]", "*"] for i in range(1, 7)
]
QUASI = {"a": A, "b": B, "c": C}
