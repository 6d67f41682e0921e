"""MinGen: all minimal generalisations, and the best of them."""

from __future__ import annotations

from tablecloak.algorithms.base import algorithm
from tablecloak.algorithms.fulldomain._judge import NodeVerdict
from tablecloak.algorithms.fulldomain._losses import LossName
from tablecloak.algorithms.fulldomain._searched_lattice import UNKNOWN, SearchedLattice
from tablecloak.algorithms.fulldomain.base import FullDomain
from tablecloak.algorithms.fulldomain.lattice_view import minimal_nodes


@algorithm("mingen")
class MinGen(FullDomain):
    """The best of the minimal full-domain generalisations: those of which no specialisation satisfies the goal.

    With records suppressed another node may lose less than every minimal one, which `optimal` finds and this does not:
    it takes no level that is not needed. The source generalises cell by cell and tries all ways; this is its rule for
    whole columns.

    Guarantee: no specialisation of the release satisfies the goal with so few records suppressed.
    Reference: Sweeney, Achieving k-anonymity privacy protection using generalization and suppression, IJUFKS 10, 2002.
    Cost: every node of the lattice that is unsafe or minimal.
    """

    loss: LossName = "precision"

    def visit(self, searched: SearchedLattice) -> None:
        for level in range(searched.lattice.n_rows):
            for node in searched.lattice.row(level):
                if searched.tags[node] == UNKNOWN:
                    searched.check(node)

    def choose(self, searched: SearchedLattice) -> NodeVerdict:
        minimal = [searched.check(node) for node in minimal_nodes(searched.tags)]
        if not minimal:
            raise searched.judge.infeasible()
        return min(minimal, key=lambda v: (v.loss, v.node))
