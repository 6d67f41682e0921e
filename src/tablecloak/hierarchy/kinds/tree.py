"""tree: a hierarchy written out in the policy."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator

from tablecloak.errors import CloakError, DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds.base import HierarchySpec, SortedColumn, hierarchy_kind


@hierarchy_kind("tree", offered=())  # forms draw trees themselves
class TreeSpec(HierarchySpec):
    """A tree written out: {Europe: [Italy, Spain], America: [Brazil]}."""

    tree: dict[Any, Any] | list[Any]

    @field_validator("tree")
    @classmethod
    def _readable(cls, tree: dict[Any, Any] | list[Any]) -> dict[Any, Any] | list[Any]:
        try:
            Hierarchy.from_tree(tree)
        except CloakError as exc:
            raise ValueError(f"{exc.message}; {exc.hint}") from exc
        return tree

    def over(self, column: SortedColumn) -> Hierarchy:
        tree = Hierarchy.from_tree(self.tree)
        n_unknown = int((tree.codes(column.texts) < 0).sum())
        if n_unknown:
            raise DataError(
                f"{n_unknown} of {len(column)} distinct values are not leaves of the tree",
                hint="add them to the tree, or correct them in the data",
            )
        return tree
