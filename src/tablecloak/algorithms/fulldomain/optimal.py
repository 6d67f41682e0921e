"""Optimal: the best node of a lattice for any loss and goal."""

from __future__ import annotations

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._searched_lattice import SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain
from tablecloak.models.base import Goal


@algorithm("optimal")
class Optimal(FullDomain):
    """Full-domain optimum for any loss and goal, suppression included, by branch and bound over the lattice.

    Nodes are ruled out by what coarser nodes must suppress and by what finer nodes lose. Goals that are not monotone
    rule out less, and their lattice is searched node by node where nothing else helps.
    """

    def refuses(self, goal: Goal) -> str | None:  # noqa: ARG002
        return None

    def visit(self, searched: SearchedLattice) -> None:
        searched.choose()
