"""Consistency: which published rows could be which records of the original, as a sparse graph.

Equal originals, and equal published rows, are one node each with the number of rows it stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.kernels.graph import components, transport

# Without a known match of rows and originals one must be found, row by row.
MATCH_UP_TO = 5_000


@dataclass(frozen=True, slots=True, eq=False)
class Consistency:
    """Arc `i` says that published node `published[i]` covers original node `originals[i]`.

    `matched[i]` rows of the one really are, or may be, rows of the other: a perfect matching; None where none is known.
    """

    originals: IntArray  # (n_arcs,)
    published: IntArray  # (n_arcs,)
    n_of_original: IntArray  # (n_originals,) rows
    n_of_published: IntArray  # (n_published,) rows
    matched: IntArray | None = None  # (n_arcs,)

    @classmethod
    def of_rows(cls, covered: Sequence[Sequence[int]], n_originals: int) -> Consistency:
        """The graph of single rows: `covered[g]` are the originals that published row `g` covers."""
        published = np.repeat(np.arange(len(covered)), [len(c) for c in covered])
        originals = np.array([o for c in covered for o in c], np.int64)
        return cls(originals, published, np.ones(n_originals, np.int64), np.ones(len(covered), np.int64))

    def rows_per_original(self) -> IntArray:
        """Published rows that cover each original node: the level of (1,k)-anonymity is the least, (n_originals,)."""
        return _sums(self.originals, self.n_of_published[self.published], len(self.n_of_original))

    def originals_per_row(self) -> IntArray:
        """Originals that each published node covers: the level of (k,1)-anonymity is the least, (n_published,)."""
        return _sums(self.published, self.n_of_original[self.originals], len(self.n_of_published))

    def components(self) -> tuple[IntArray, IntArray] | None:
        """The part of every original and of every published node, between which no perfect matching goes.

        Both ends of an arc that some perfect matching uses are in one part, those of other arcs are not. None where no
        matching is known and the graph is too large to find one.

        Given one perfect matching, another arc is in some perfect matching exactly if it lies on an alternating cycle:
        if both its ends are in one strongly connected component, matched arcs leading back. Without any perfect
        matching every node is alone.
        """
        matched = self.matched if self.matched is not None else self._found_match()
        if matched is None:
            return None
        n, n_published, used = len(self.n_of_original), len(self.n_of_published), matched > 0
        if int(matched.sum()) < max(int(self.n_of_original.sum()), int(self.n_of_published.sum())):
            return np.arange(n), np.arange(n, n + n_published)
        tails = np.concatenate([self.originals, n + self.published[used]])
        heads = np.concatenate([n + self.published, self.originals[used]])
        order = np.argsort(tails, kind="stable")
        indptr = np.searchsorted(tails[order], np.arange(n + n_published + 1))
        label = components.sized(len(tails))(indptr.astype(np.int64), heads[order].astype(np.int64))
        return label[:n], label[n:]

    def is_admissible(self) -> BoolArray | None:
        """Arcs that some perfect matching uses, (n_arcs,); None where no matching is known."""
        components = self.components()
        return (
            None if components is None else np.asarray(components[0][self.originals] == components[1][self.published])
        )

    def admissible_rows(self) -> IntArray | None:
        """Published rows that each original is in some perfect matching; the level of k-concealment is the least."""
        ok = self.is_admissible()
        if ok is None:
            return None
        return _sums(self.originals[ok], self.n_of_published[self.published[ok]], len(self.n_of_original))

    def _found_match(self) -> IntArray | None:
        """Rows matched on every arc in a maximum matching of single rows."""
        n_rows = max(int(self.n_of_original.sum()), int(self.n_of_published.sum()))
        if n_rows > MATCH_UP_TO:
            return None
        order = np.argsort(self.published, kind="stable")
        indptr = np.searchsorted(self.published[order], np.arange(len(self.n_of_published) + 1)).astype(np.int64)
        matched = np.empty(len(order), np.int64)
        matched[order] = transport.sized(len(order))(
            indptr, self.originals[order].astype(np.int64), self.n_of_published, self.n_of_original
        )
        return matched


def _sums(nodes: IntArray, amounts: IntArray, n: int) -> IntArray:
    return np.bincount(nodes, weights=amounts, minlength=n).astype(np.int64)
