"""OLA: halve sublattices, with tags that spread over the whole lattice."""

from __future__ import annotations

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._lattice import Lattice, Node
from tablecloak.algorithms.fulldomain._searched_lattice import UNKNOWN, SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain


@algorithm("ola")
class Ola(FullDomain):
    """Full-domain optimum by halving sublattices; one check tags all nodes above or below.

    Of all safe nodes the one that loses least is published, which is one of the minimal nodes if nothing is suppressed.
    Reference: El Emam et al., A globally optimal k-anonymity method, JAMIA 2009.
    """

    def visit(self, searched: SearchedLattice) -> None:
        # The middle row of a sublattice sends the search below its safe and above its unsafe nodes.
        open_parts = [(searched.lattice.bottom, searched.lattice.top)]
        seen = set(open_parts)
        while open_parts:
            low, high = open_parts.pop()
            if not _has_unknown(searched, low, high):
                continue
            for node in _middle(low, high):
                part = (low, node) if searched.is_safe(node) else (node, high)
                if part != (low, high) and part not in seen:
                    seen.add(part)
                    open_parts.append(part)
        for level in range(searched.lattice.n_rows):  # ends of sublattices of two rows
            for node in searched.untagged(list(searched.lattice.row(level))):
                if searched.tags[node] == UNKNOWN:
                    searched.check(node)


def _has_unknown(searched: SearchedLattice, low: Node, high: Node) -> bool:
    part = tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))
    return bool((searched.tags[part] == UNKNOWN).any())


def _middle(low: Node, high: Node) -> list[Node]:
    """Nodes of the middle row of a sublattice."""
    part = Lattice(tuple(b - a for a, b in zip(low, high, strict=True)))
    steps = part.row((part.n_rows - 1) // 2)
    return [tuple(a + step for a, step in zip(low, node, strict=True)) for node in steps]
