"""Optimal: the best node of a lattice for any loss and goal."""

from __future__ import annotations

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain.base import ForAnyGoal


@algorithm("optimal")
class Optimal(ForAnyGoal):
    """Full-domain optimum for any loss and goal, suppression included, by branch and bound over the lattice.

    Nodes are ruled out by what coarser nodes must suppress and by what finer nodes lose. Goals that are not monotone
    rule out less, and their lattice is searched node by node where nothing else helps.
    """
