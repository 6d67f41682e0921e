"""Generalisation hierarchies: the tree, builders, files, checks and edits."""

from tablecloak.hierarchy.hierarchy import Hierarchy

__all__ = ["Hierarchy"]
