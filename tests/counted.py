"""ClassStats counted from small tables of dictionaries."""

from __future__ import annotations

import csv
import io

import numpy as np

from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.stats import ClassStats, SensitiveDomain, count_classes


def table(text):
    """Rows of a CSV text with a header, cells as text."""
    return [dict(row) for row in csv.DictReader(io.StringIO(text.strip()))]


def hierarchy_of(tree):
    """Hierarchy of a dictionary from child label to parent label."""
    labels = [*tree, *sorted(set(tree.values()) - set(tree))]
    return Hierarchy.from_nodes(labels, [labels.index(tree[label]) if label in tree else -1 for label in labels])


def domain_of(name, values, *, order=None, tree=None):
    """Domain of a sensitive column, and the code of each of its values."""
    if tree is not None:
        hierarchy = hierarchy_of(tree)
        labels = hierarchy.labels[: hierarchy.n_leaves]
        return SensitiveDomain(name, labels, hierarchy=hierarchy), {label: i for i, label in enumerate(labels)}
    distinct = list(order) if order is not None else sorted(set(values), key=str)
    domain = SensitiveDomain(name, tuple(map(str, distinct)), is_ordered=order is not None)
    return domain, {value: i for i, value in enumerate(distinct)}


def stats_of(rows, quasi, sensitive=(), *, orders=None, trees=None) -> ClassStats:
    """Statistics of the classes of published rows, in order of first appearance."""
    number = {}
    classes = np.array([number.setdefault(tuple(row[q] for q in quasi), len(number)) for row in rows], dtype=np.int64)
    coded = {}
    for name in sensitive:
        values = [row[name] for row in rows]
        domain, code = domain_of(name, values, order=(orders or {}).get(name), tree=(trees or {}).get(name))
        coded[name] = (np.array([code[v] for v in values], dtype=np.int64), domain)
    return count_classes(classes, len(number), coded)


def stats_of_classes(classes, *, order=None, tree=None, totals=None) -> ClassStats:
    """Statistics of classes given as {value: count}, on one sensitive column 's'.

    Args:
        totals: {value: count} of the whole table where the classes are only a part of it.
    """
    pairs = [(i, value, n) for i, counts in enumerate(classes) for value, n in counts.items()]
    values = [*(value for _, value, _ in pairs), *(totals or {})]
    domain, code = domain_of("s", values, order=order, tree=tree)
    given = {"s": np.array([(totals or {}).get(v, 0) for v in code], dtype=np.int64)} if totals else None
    return count_classes(
        np.array([i for i, _, _ in pairs], dtype=np.int64),
        len(classes),
        {"s": (np.array([code[v] for _, v, _ in pairs], dtype=np.int64), domain)},
        weights=np.array([n for _, _, n in pairs], dtype=np.int64),
        totals=given,
    )
