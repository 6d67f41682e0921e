"""Hierarchies of masks: characters hidden one by one."""

from __future__ import annotations

from itertools import repeat

from tablecloak.errors import DataError
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.hierarchy.kind_specs import MaskSpec
from tablecloak.hierarchy.value_groups import SortedColumn

MAX_MASK_CHARACTERS = 50_000_000  # distinct values x longest value


def by_mask(spec: MaskSpec, column: SortedColumn) -> Hierarchy:
    """Texts with ever more characters hidden."""
    from_right = spec.from_ == "right"
    longest = max((len(text) for text in column.texts), default=1)
    if longest * len(column) > MAX_MASK_CHARACTERS:
        raise DataError(
            f"a mask of {len(column):,} values of up to {longest:,} characters needs too many levels",
            hint="use kind order for long texts",
        )
    texts = sorted(column.texts) if from_right else sorted(column.texts, key=lambda text: text[::-1])
    root = len(texts)
    labels, parent = [*texts, spec.char * longest], [*repeat(root, len(texts)), -1]
    node = list(range(len(texts)))  # where every text is on the level reached
    active = node.copy()  # texts of which something is still visible
    for hidden in range(1, longest):
        stars = spec.char * hidden
        active = [i for i in active if len(texts[i]) > hidden]
        number: dict[str, int] = {}
        for i in active:
            label = texts[i][:-hidden] + stars if from_right else stars + texts[i][hidden:]
            parent[node[i]] = node[i] = number.setdefault(label, len(labels) + len(number))
        labels.extend(number)
        parent.extend(repeat(root, len(number)))
    tree = Hierarchy.from_nodes(labels, parent, kind="mask")
    if not spec.hide and not spec.never:
        return tree
    return tree.cut_off([_shown(tree, leaf, spec) for leaf in range(tree.n_leaves)])


def _shown(tree: Hierarchy, leaf: int, spec: MaskSpec) -> int:
    """The lowest node above a text that hides enough of it."""
    text = str(tree.labels[leaf])
    if any(text.startswith(part) if spec.from_ == "right" else text.endswith(part) for part in spec.never):
        return tree.root
    return next((node for node in tree.ancestors(leaf) if tree.heights[node] >= spec.hide), tree.root)
