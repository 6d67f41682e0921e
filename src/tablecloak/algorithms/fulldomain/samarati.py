"""Samarati: the lowest row of the lattice with a safe node, found by halving the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import Field

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._judge import NodeVerdict
from tablecloak.algorithms.fulldomain._searched_lattice import UNSAFE, SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain

PREFERENCES: dict[str, Callable[[NodeVerdict], float]] = {
    "loss": lambda verdict: verdict.loss,
    "classes": lambda verdict: -verdict.n_classes,
    "suppression": lambda verdict: verdict.n_suppressed,
}


@algorithm("samarati")
class Samarati(FullDomain):
    """Full-domain generalisation of least height: as few levels, added up over the columns, as satisfy the goal.

    If a node satisfies the goal, so does one above it, so the rows of the lattice are halved: where a row has a safe
    node the search goes on below, else above. A node of least height is minimal, but neither the only minimal one nor
    always the one that loses least: columns with few levels and columns with many climb at the same price.

    Guarantee: no generalisation of smaller height satisfies the goal with so few records suppressed.
    Reference: Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13, 2001.
    Cost: at most as many nodes as the widest rows have, for log2 of the number of rows.
    """

    prefer: Annotated[
        Literal["loss", "classes", "suppression"],
        Field(description="of the safe nodes of this height: least loss, most classes, or fewest records suppressed"),
    ] = "loss"

    def visit(self, searched: SearchedLattice) -> None:
        low, high = 0, searched.lattice.n_rows - 1
        while low < high:
            middle = (low + high) // 2
            if any(searched.is_safe(node) for node in searched.lattice.row(middle)):
                high = middle
            else:
                low = middle + 1
        for node in searched.lattice.row(low):
            if searched.tags[node] != UNSAFE:
                searched.check(node)

    def choose(self, searched: SearchedLattice) -> NodeVerdict:
        safe = [verdict for verdict in searched.verdicts.values() if verdict.is_safe]
        if not safe:
            raise searched.judge.infeasible()
        return min(safe, key=lambda v: (sum(v.node), PREFERENCES[self.prefer](v), v.loss, v.node))
