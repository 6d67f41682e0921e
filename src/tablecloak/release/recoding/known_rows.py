"""Rows that a recoding has seen: digests of their cells, and the class that each of them was given.

Classes that were not found by cutting may overlap, so what a row is does not tell its class. A digest keeps the values
themselves out of the file; whoever can guess a row can still look it up, so the file is as private as the original.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, distinct_of
from tablecloak.values.cell_grammar import format_value

Digests = NDArray[np.uint64]
UNSEEN = -2
FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False)
class KnownRows:
    """Different rows with their classes; a row that was given several classes is listed with each."""

    columns: tuple[str, ...]  # what tells rows apart: quasi-identifiers, then sensitive attributes
    digests: Digests  # (n,) ascending
    classes: IntArray  # (n,) -1: suppressed
    counts: IntArray  # (n,) rows with this digest and this class

    @classmethod
    def of(cls, table: CodedTable, class_of_tuple: IntArray) -> KnownRows:
        """The tuples of a table with their classes."""
        columns = [(d.name, _texts(d), table.quasi_codes(i)) for i, d in enumerate(table.domains)]
        columns += [(s.name, list(s.labels), codes) for s, codes in table.attributes()]
        digests = _mixed([_digests(name, texts)[codes] for name, texts, codes in columns], table.n_tuples)
        weights = table.weights if len(table.weights) else np.ones(table.n_tuples, np.int64)
        order = np.lexsort((class_of_tuple, digests))
        digests, classes = digests[order], class_of_tuple[order]
        starts = np.flatnonzero(_differs(digests) | _differs(classes))
        counts = np.add.reduceat(weights[order], starts) if len(starts) else weights
        return cls(tuple(name for name, _, _ in columns), digests[starts], classes[starts], counts)

    def classes_of(self, frame: pl.DataFrame, leaves: Mapping[str, Mapping[str, str]]) -> IntArray:
        """The class that each row was given, UNSEEN for new ones; rows with several classes are dealt out alike.

        Args:
            leaves: by column, the leaf above every text that is coarser in the hierarchy than in the table.
        """
        digests = self._digests_of(frame, leaves)
        begin = np.searchsorted(self.digests, digests, side="left")
        end = np.searchsorted(self.digests, digests, side="right")
        upto = np.concatenate([[0], np.cumsum(self.counts)])
        turn = _turns(digests) % np.maximum(1, upto[end] - upto[begin])
        place = np.searchsorted(upto, upto[begin] + turn, side="right") - 1
        return np.where(begin < end, np.append(self.classes, UNSEEN)[place], UNSEEN)

    def _digests_of(self, frame: pl.DataFrame, leaves: Mapping[str, Mapping[str, str]]) -> Digests:
        parts = []
        for name in self.columns:
            distinct, above = distinct_of(frame[name]), leaves.get(name, {})
            texts = [format_value(v) for v in distinct.values.to_list()]
            parts.append(distinct.recoded(_digests(name, [above.get(text, text) if text else text for text in texts])))
        return _mixed(parts, frame.height)

    def to_dict(self) -> dict[str, Any]:
        arrays = {
            "digests": self.digests.astype("<u8"),
            "classes": self.classes.astype("<i8"),
            "counts": self.counts.astype("<i8"),
        }
        packed = {name: base64.b64encode(array.tobytes()).decode("ascii") for name, array in arrays.items()}
        return {"columns": list(self.columns), **packed}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> KnownRows:
        digests, classes, counts = (
            np.frombuffer(base64.b64decode(content[name]), dtype)
            for name, dtype in (("digests", "<u8"), ("classes", "<i8"), ("counts", "<i8"))
        )
        return cls(tuple(content["columns"]), digests, classes, counts)


def _texts(domain: Domain) -> list[str | None]:
    """The canonical text of every code."""
    if domain.hierarchy:
        return list(domain.hierarchy.leaf_labels)
    return [*([None] * int(domain.has_missing)), *(format_value(v) for v in domain.values.to_list())]


def _digests(column: str, texts: Sequence[str | None]) -> Digests:
    """A number for every value of a column that says nothing about it to whoever cannot guess it."""
    missing, here = b"\0", b"\1"
    cells = (missing if text is None else here + text.encode("utf-8", "surrogatepass") for text in texts)
    salt = hashlib.blake2b(column.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    numbers = [int.from_bytes(hashlib.blake2b(cell, digest_size=8, key=salt).digest(), "little") for cell in cells]
    return np.array(numbers, np.uint64)


def _mixed(parts: Sequence[Digests], n: int) -> Digests:
    """One number for each row from those of its cells."""
    mixed = np.zeros(n, np.uint64)
    for part in parts:
        mixed = (mixed ^ part) * FACTOR
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _differs(ascending: NDArray[Any]) -> BoolArray:
    """Where something other than before begins."""
    return np.concatenate([np.ones(min(1, len(ascending)), bool), ascending[1:] != ascending[:-1]])


def _turns(digests: Digests) -> IntArray:
    """How many rows with the same digest come earlier."""
    order = np.argsort(digests, kind="stable")
    begins = np.flatnonzero(_differs(digests[order]))
    lengths = np.diff(np.append(begins, len(order)))
    turns = np.empty(len(order), np.int64)
    turns[order] = np.arange(len(order)) - np.repeat(begins, lengths)
    return turns
