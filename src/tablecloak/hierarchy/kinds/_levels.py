"""Levels as groups of sorted values: every level is an ascending array of group numbers, (n_values,)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import repeat
from typing import Any

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.hierarchy.hierarchy import Hierarchy, Level
from tablecloak.hierarchy.kinds.base import SortedColumn
from tablecloak.hierarchy.tree_nodes import ROOT_LABEL
from tablecloak.values import cell_grammar
from tablecloak.values.bounds import is_continuous, round_bounds, shares

MAX_SET_MEMBERS = 10  # a longer set of text values is written by its first and last member


def ranks(index: Any) -> IntArray:
    """Ascending keys as group numbers 0, 1, .."""
    changes = np.asarray(index[1:] != index[:-1], dtype=np.int64)
    return np.concatenate([[0], np.cumsum(changes)]) if len(index) else np.zeros(0, dtype=np.int64)


def coarsen(groups: IntArray, factors: Sequence[int] | None, default: int = 2) -> list[IntArray]:
    """The grouping and the coarser ones above it, as far as they have more than one group."""
    levels = []
    for factor in repeat(default) if factors is None else [*factors, 1]:
        if not len(groups) or groups[-1] == 0:
            break
        levels.append(groups)
        groups = groups // factor
    return levels


def edges(groups: IntArray) -> tuple[IntArray, IntArray]:
    """Index of the first and the last value of every group."""
    begin = np.flatnonzero(np.diff(groups, prepend=-1))
    return begin, np.append(begin[1:], len(groups)) - 1


def finish(column: SortedColumn, levels: list[Level], kind: str, root: str = ROOT_LABEL) -> Hierarchy:
    """The tree of levels from fine to coarse, under one root."""
    top = Level(np.zeros(len(column), dtype=np.int64), [root], np.array([float(len(column) > 1)]))
    return Hierarchy.from_levels(column.texts, [*levels, top], kind=kind)


def closed_level(column: SortedColumn, groups: IntArray) -> Level:
    """A level labelled by the first and last value of every group; text groups that are small list their members."""
    begin, end = edges(groups)
    if not column.is_ordered:
        return Level(groups, [_text_group(column.texts[b : e + 1]) for b, e in zip(begin, end, strict=True)])
    line = column.line
    lower, upper = line[begin], line[end]
    is_group = begin < end
    if is_continuous(line, column.type):
        lower[is_group], upper[is_group] = round_bounds(line, begin[is_group], end[is_group], column.type)
    pairs = zip(begin.tolist(), is_group.tolist(), lower.tolist(), upper.tolist(), strict=True)
    labels = [
        cell_grammar.format_interval(_value(lo, column.type), _value(hi, column.type)) if is_wide else column.texts[at]
        for at, is_wide, lo, hi in pairs
    ]
    return Level(groups, labels, np.minimum(1.0, shares(lower, upper, line)))


def _value(at: int | float, type_: str) -> cell_grammar.Value:
    """The value at a place of the line."""
    if type_ == "date":
        return cell_grammar.EPOCH.date() + timedelta(days=at)
    return cell_grammar.EPOCH.replace(tzinfo=None) + timedelta(microseconds=at) if type_ == "datetime" else at


def _text_group(texts: list[str]) -> str:
    if len(texts) == 1:
        return str(cell_grammar.format_exact(texts[0]))
    if len(texts) <= MAX_SET_MEMBERS:
        return cell_grammar.format_set(texts)
    return cell_grammar.format_interval(cell_grammar.format_member(texts[0]), cell_grammar.format_member(texts[-1]))
