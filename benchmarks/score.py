"""What a release loses, read from its labels alone by a program that shares no code with the package.

A column is a tree of labels, or a line of numbers. On a tree a label costs the share of the leaves that it stands for,
and one leaf costs nothing; on a line an interval costs its width over that of the original column. What stands for
anything costs 1, and so does a label that nobody knows. GCP is the mean over all cells, those of records that were left
out counting 1.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

INTERVAL = re.compile(r"\[(-?[\d.]+(?:e-?\d+)?), (-?[\d.]+(?:e-?\d+)?)\]")
SET = re.compile(r"(all but )?\{(.*)\}")


@dataclass(frozen=True)
class Tree:
    """Leaves below every label."""

    below: Mapping[str, frozenset[str]]
    n_leaves: int

    @classmethod
    def of(cls, paths: Iterable[Sequence[str]]) -> Tree:
        """From the labels above every leaf, the leaf first."""
        below: dict[str, set[str]] = {}
        leaves = set()
        for path in paths:
            leaves.add(path[0])
            for label in path:
                below.setdefault(label, set()).add(path[0])
        return cls({label: frozenset(own) for label, own in below.items()}, len(leaves))

    @classmethod
    def from_file(cls, file: Path) -> Tree:
        with file.open(encoding="utf-8", newline="") as text:
            return cls.of(csv.reader(text, delimiter=";"))

    def loss(self, label: str) -> float:
        n = self._n_leaves(label)
        return n / self.n_leaves if n > 1 else 0.0

    def _n_leaves(self, label: str) -> int:
        if label in self.below:
            return len(self.below[label])
        if named := SET.fullmatch(label):
            members = frozenset().union(*(self.below[m] for m in _members(named[2])))
            return self.n_leaves - len(members) if named[1] else len(members)
        if ends := INTERVAL.fullmatch(label):  # of leaves that are numbers
            return sum(float(ends[1]) <= float(leaf) <= float(ends[2]) for leaf in self._leaves())
        return self.n_leaves

    def _leaves(self) -> list[str]:
        return [label for label, own in self.below.items() if own == {label}]


@dataclass(frozen=True)
class Line:
    """The range of a column of numbers."""

    low: float
    high: float

    def loss(self, label: str) -> float:
        if ends := INTERVAL.fullmatch(label):
            return min(1.0, (float(ends[2]) - float(ends[1])) / max(self.high - self.low, 1e-300))
        return 1.0 if not label or label == "*" else 0.0


def _members(text: str) -> list[str]:
    return next(csv.reader(io.StringIO(text), skipinitialspace=True), [])


@dataclass(frozen=True)
class Score:
    """What a release loses, and how large its classes are."""

    gcp: float
    discernibility: int
    c_avg: float
    suppressed: int


def score(release: Path, columns: Mapping[str, Tree | Line], n_rows: int, k: int) -> Score:
    """The score of a released CSV file of a table of so many rows.

    Args:
        columns: those whose labels are scored, and which together tell classes apart.
    """
    labels = _labels(release, columns)
    lost = 0.0
    for name, column in columns.items():
        for label, n in labels.group_by(name).len().iter_rows():
            lost += n * column.loss(label)
    left_out = n_rows - labels.height
    nothing = pl.all_horizontal(pl.col(name) == "*" for name in columns)
    classes = labels.filter(~nothing).group_by(list(columns)).len()["len"]
    suppressed = left_out + int(labels.select(nothing.sum()).item())
    return Score(
        gcp=(lost / len(columns) + left_out) / n_rows,
        discernibility=int((classes.cast(pl.Int64) ** 2).sum()) + suppressed * n_rows,
        c_avg=float(classes.sum()) / max(1, len(classes)) / k,
        suppressed=suppressed,
    )


def _labels(release: Path, columns: Iterable[str]) -> pl.DataFrame:
    """The cells of some columns as the file has them; an apostrophe that keeps spreadsheets quiet is not a letter."""
    delimiter = ";" if ";" in release.open(encoding="utf-8").readline() else ","
    frame = pl.read_csv(release, separator=delimiter, infer_schema=False).fill_null("")
    cells = pl.col(*columns).str.replace(r"^'([=+\-@\t\r])", "$1")
    return frame.select(cells.cast(pl.Categorical))
