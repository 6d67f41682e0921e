"""apriori: sets of items, generalised until every small combination of them is frequent."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from tablecloak.algorithms.base import Problem, Solution, algorithm
from tablecloak.algorithms.items.cut_search import Cut, ItemProblem, find_cut
from tablecloak.errors import IncompatibleChoice
from tablecloak.models.base import Goal
from tablecloak.progress import Progress
from tablecloak.stats.classes import Evidence


@algorithm("apriori", minimizes="the normalized certainty penalty of items")
class Apriori:
    """Generalises items of sets along their hierarchy, one cut for all records, until itemsets are frequent.

    Itemsets of 1 item are looked at first, then of 2, up to m: what was generalised for small ones leaves few large
    ones. Each that fewer than k records hold gets the cheapest generalisation of its items that enough records hold,
    and with an item all items below the same node become that node. The count tree is walked depth first and its
    branches are not kept. At the end, nodes are opened again wherever the goal allows it.

    Guarantee: every record is published, every published item covers an item of its record, and what is left out is
    left out of all records, within `suppression_limit`.
    Cost: the itemsets of at most m items of all different sets, times a few; greedy, so the loss is not the least.
    Reference: Terrovitis, Mamoulis, Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 2008.
    """

    forms_classes: ClassVar[bool] = False
    suppression_limit: Annotated[
        float, Field(ge=0, le=1, description="share of the items of all sets that may be left out")
    ] = 0.0

    def refuses(self, goal: Goal) -> str | None:
        """Why this goal cannot be enforced, or None."""
        if Evidence.ITEMS not in goal.evidence:
            return "it generalises sets of items, which km-anonymity speaks of"
        return None

    def solve(self, problem: Problem, progress: Progress) -> Solution:  # noqa: ARG002
        """Not for tables of classes."""
        raise IncompatibleChoice("apriori generalises sets of items", hint="give role: items to a column of sets")

    def find(self, problem: ItemProblem, progress: Progress) -> Cut:
        """A cut through the hierarchy of items that satisfies the goal; raises NoCutError if there is none."""
        return find_cut(problem, progress)
