"""OLA: halve sublattices, with tags that spread over the whole lattice."""

from __future__ import annotations

from tablecloak.algorithms.fulldomain.explore import UNKNOWN, Exploration
from tablecloak.algorithms.fulldomain.lattice import Lattice, Node

__all__ = ["ola"]


def ola(known: Exploration) -> None:
    """Tag every node: the middle row of a sublattice sends the search below its safe and above its unsafe nodes."""
    open_parts = [(known.lattice.bottom, known.lattice.top)]
    seen = set(open_parts)
    while open_parts:
        low, high = open_parts.pop()
        if not _has_unknown(known, low, high):
            continue
        for node in _middle(low, high):
            part = (low, node) if known.is_safe(node) else (node, high)
            if part != (low, high) and part not in seen:
                seen.add(part)
                open_parts.append(part)
    for level in range(known.lattice.n_rows):  # ends of sublattices of two rows
        for node in known.untagged(list(known.lattice.row(level))):
            if known.tags[node] == UNKNOWN:
                known.check(node)


def _has_unknown(known: Exploration, low: Node, high: Node) -> bool:
    part = tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))
    return bool((known.tags[part] == UNKNOWN).any())


def _middle(low: Node, high: Node) -> list[Node]:
    """Nodes of the middle row of a sublattice."""
    part = Lattice(tuple(b - a for a, b in zip(low, high, strict=True)))
    steps = part.row((part.n_rows - 1) // 2)
    return [tuple(a + step for a, step in zip(low, node, strict=True)) for node in steps]
