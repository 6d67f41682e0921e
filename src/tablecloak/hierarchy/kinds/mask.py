"""mask: characters hidden one by one."""

from __future__ import annotations

from itertools import repeat
from typing import Annotated, Literal

from pydantic import Field

from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kinds.base import HierarchySpec, SortedColumn, hierarchy_kind

MAX_MASK_CHARACTERS = 50_000_000  # distinct values x longest value


@hierarchy_kind("mask", offered=("text", "integer"))
class MaskSpec(HierarchySpec):
    """Characters hidden one by one: 13053, 1305*, 130**, .."""

    from_: Literal["right", "left"] = Field(default="right", alias="from", description="the side hidden first")
    char: Annotated[str, Field(min_length=1, max_length=1)] = "*"
    hide: Annotated[int, Field(ge=0, description="characters that are hidden in every published value")] = 0
    never: list[str] = Field(default=[], description="values that begin so (or end, from the left) are hidden wholly")

    def over(self, column: SortedColumn) -> Hierarchy:
        tree = self._whole_tree(column)
        if not self.hide and not self.never:
            return tree
        return tree.cut_off([self._shown(tree, leaf) for leaf in range(tree.n_leaves)])

    def _whole_tree(self, column: SortedColumn) -> Hierarchy:
        """Texts with ever more characters hidden, from none on."""
        from_right = self.from_ == "right"
        longest = max((len(text) for text in column.texts), default=1)
        if longest * len(column) > MAX_MASK_CHARACTERS:
            raise DataError(
                f"a mask of {len(column):,} values of up to {longest:,} characters needs too many levels",
                hint="use kind order for long texts",
            )
        texts = sorted(column.texts) if from_right else sorted(column.texts, key=lambda text: text[::-1])
        root = len(texts)
        labels, parent = [*texts, self.char * longest], [*repeat(root, len(texts)), -1]
        node = list(range(len(texts)))  # where every text is on the level reached
        active = node.copy()  # texts of which something is still visible
        for hidden in range(1, longest):
            stars = self.char * hidden
            active = [i for i in active if len(texts[i]) > hidden]
            number: dict[str, int] = {}
            for i in active:
                label = texts[i][:-hidden] + stars if from_right else stars + texts[i][hidden:]
                parent[node[i]] = node[i] = number.setdefault(label, len(labels) + len(number))
            labels.extend(number)
            parent.extend(repeat(root, len(number)))
        return Hierarchy.from_nodes(labels, parent, kind="mask")

    def _shown(self, tree: Hierarchy, leaf: int) -> int:
        """The lowest node above a text that hides enough of it."""
        text = str(tree.labels[leaf])
        if any(text.startswith(part) if self.from_ == "right" else text.endswith(part) for part in self.never):
            return tree.root
        return next((node for node in tree.ancestors(leaf) if tree.heights[node] >= self.hide), tree.root)
