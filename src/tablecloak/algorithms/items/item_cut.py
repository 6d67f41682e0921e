"""Cuts: which node of the hierarchy every item is published as, in all sets alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets
from tablecloak.hierarchy.hierarchy import Hierarchy

LEFT_OUT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A cut through a hierarchy: every leaf is published as one node above or at it, or left out of all sets."""

    hierarchy: Hierarchy
    node_of: IntArray  # (n_leaves,) LEFT_OUT where an item is left out

    @classmethod
    def identity(cls, hierarchy: Hierarchy) -> Cut:
        """Every item as it is."""
        return cls(hierarchy, np.arange(hierarchy.n_leaves))

    @classmethod
    def top(cls, hierarchy: Hierarchy) -> Cut:
        """Every item as the root."""
        return cls(hierarchy, np.full(hierarchy.n_leaves, hierarchy.root))

    @property
    def nodes(self) -> IntArray:
        """The nodes that are published."""
        return np.unique(self.node_of[self.node_of >= 0])

    def raised(self, node: int) -> Cut:
        """The cut with everything below a node published as that node; what is left out stays out."""
        below = slice(int(self.hierarchy.first[node]), int(self.hierarchy.last[node]) + 1)
        node_of = self.node_of.copy()
        node_of[below] = np.where(node_of[below] >= 0, node, LEFT_OUT)
        return replace(self, node_of=node_of)

    def without(self, node: int) -> Cut:
        """The cut with all items that are published as a node left out."""
        return replace(self, node_of=np.where(self.node_of == node, LEFT_OUT, self.node_of))

    def lowered(self, node: int) -> Cut:
        """The cut with a node replaced by its children."""
        node_of = self.node_of.copy()
        for child in self.hierarchy.children(node):
            leaves = np.arange(int(self.hierarchy.first[child]), int(self.hierarchy.last[child]) + 1)
            node_of[leaves[node_of[leaves] == node]] = child
        return replace(self, node_of=node_of)

    def publish(self, baskets: Baskets, *, copies: bool = False) -> Baskets:
        """Baskets of leaves as baskets of published nodes."""
        return baskets.recoded(self.node_of, self.hierarchy.n_nodes, copies=copies)

    def loss(self, occurrences: IntArray) -> float:
        """Normalized certainty penalty: the mean loss of what items are published as; an item left out loses 1.

        Args:
            occurrences: how often each leaf occurs in the sets, (n_leaves,).
        """
        losses = np.where(self.node_of >= 0, self.hierarchy.losses[self.node_of], 1.0)
        return float(occurrences @ losses / max(1, occurrences.sum()))

    def left_out(self, occurrences: IntArray) -> int:
        """How many occurrences of items are left out."""
        return int(occurrences[self.node_of == LEFT_OUT].sum())
