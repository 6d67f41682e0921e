"""From published labels and coded originals to the graph of which could be which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tablecloak.arrays import IntArray
from tablecloak.data.coverage import Coverage
from tablecloak.stats.consistency import Consistency

# Originals are compared with published rows bit by bit; beyond this many rows it is not attempted.
PAIRS_UP_TO = 200_000


def consistency_of(
    columns: Sequence[tuple[Coverage, NDArray[np.integer], NDArray[np.integer]]], *, is_in_order: bool
) -> Consistency:
    """Which originals each published row covers.

    Args:
        columns: by quasi-identifier what its labels cover, the label of every published row, the code of each original.
        is_in_order: row i of the release is original i and covers it.
    """
    published, node_of_row = _distinct([labels for _, labels, _ in columns])
    originals, node_of_original = _distinct([codes for _, _, codes in columns])
    masks = [_Masks(coverage, originals[i]) for i, (coverage, _, _) in enumerate(columns)]
    n = originals.shape[1]
    covered = []
    for node in range(published.shape[1]):
        bits = masks[0].of(int(published[0, node])).copy()
        for mask, label in zip(masks[1:], published[1:, node].tolist(), strict=True):
            bits &= mask.of(label)
        covered.append(np.flatnonzero(np.unpackbits(bits, count=n)))
    arcs = np.concatenate([*covered, np.zeros(0, np.int64)]).astype(np.int64)
    rows = np.repeat(np.arange(len(covered)), [len(c) for c in covered])
    matched = _matched(rows, arcs, node_of_row, node_of_original, n) if is_in_order else None
    return Consistency(arcs, rows, np.bincount(node_of_original), np.bincount(node_of_row), matched)


def _distinct(columns: Sequence[NDArray[np.integer]]) -> tuple[IntArray, IntArray]:
    """Different rows, (n_columns, n_different), and which of them each row is."""
    distinct, inverse = np.unique(np.stack([c.astype(np.int64) for c in columns]), axis=1, return_inverse=True)
    return distinct, inverse.reshape(-1).astype(np.int64)


def _matched(rows: IntArray, arcs: IntArray, row_nodes: IntArray, original_nodes: IntArray, n: int) -> IntArray:
    """How many rows lie on each arc, which ascend; a row that does not cover its own original lies on none."""
    keys, own = rows * n + arcs, row_nodes * n + original_nodes
    places = np.searchsorted(keys, own)
    is_arc = places < len(keys)
    is_arc[is_arc] = keys[places[is_arc]] == own[is_arc]
    return np.bincount(places[is_arc], minlength=len(arcs))


class _Masks:
    """For every label of a column the originals that it covers, as bits."""

    def __init__(self, coverage: Coverage, codes: IntArray) -> None:
        self.coverage = coverage
        self.codes = codes
        self.masks: dict[int, NDArray[np.uint8]] = {}

    def of(self, label: int) -> NDArray[np.uint8]:
        if label not in self.masks:
            self.masks[label] = np.packbits(self.coverage.holds(label, self.codes))
        return self.masks[label]
