"""Cuts, which say as which node of the hierarchy every item is published in all sets alike, and the search for one that
makes sets km-anonymous: itemsets of 1, 2, .. m items, rare ones generalised.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets
from tablecloak.data.itemsets import MOST_RARE, rare_itemsets, require_countable
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.progress import Progress, tell_better

LEFT_OUT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Cut:
    """A cut through a hierarchy: every leaf is published as one node above or at it, or left out of all sets."""

    hierarchy: Hierarchy
    node_of: IntArray  # (n_leaves,) LEFT_OUT where an item is left out

    @classmethod
    def identity(cls, hierarchy: Hierarchy) -> Cut:
        """Every item as it is."""
        return cls(hierarchy, np.arange(hierarchy.n_leaves))

    @classmethod
    def top(cls, hierarchy: Hierarchy) -> Cut:
        """Every item as the root."""
        return cls(hierarchy, np.full(hierarchy.n_leaves, hierarchy.root))

    @property
    def nodes(self) -> IntArray:
        """The nodes that are published."""
        return np.unique(self.node_of[self.node_of >= 0])

    def raised(self, node: int) -> Cut:
        """The cut with everything below a node published as that node; what is left out stays out."""
        below = slice(int(self.hierarchy.first[node]), int(self.hierarchy.last[node]) + 1)
        node_of = self.node_of.copy()
        node_of[below] = np.where(node_of[below] >= 0, node, LEFT_OUT)
        return replace(self, node_of=node_of)

    def without(self, node: int) -> Cut:
        """The cut with all items that are published as a node left out."""
        return replace(self, node_of=np.where(self.node_of == node, LEFT_OUT, self.node_of))

    def lowered(self, node: int) -> Cut:
        """The cut with a node replaced by its children."""
        node_of = self.node_of.copy()
        for child in self.hierarchy.children(node):
            leaves = np.arange(int(self.hierarchy.first[child]), int(self.hierarchy.last[child]) + 1)
            node_of[leaves[node_of[leaves] == node]] = child
        return replace(self, node_of=node_of)

    def publish(self, baskets: Baskets, *, copies: bool = False) -> Baskets:
        """Baskets of leaves as baskets of published nodes."""
        return baskets.recoded(self.node_of, self.hierarchy.n_nodes, copies=copies)

    def loss(self, occurrences: IntArray) -> float:
        """Normalized certainty penalty: the mean loss of what items are published as; an item left out loses 1.

        Args:
            occurrences: how often each leaf occurs in the sets, (n_leaves,).
        """
        losses = np.where(self.node_of >= 0, self.hierarchy.losses[self.node_of], 1.0)
        return float(occurrences @ losses / max(1, occurrences.sum()))

    def left_out(self, occurrences: IntArray) -> int:
        """How many occurrences of items are left out."""
        return int(occurrences[self.node_of == LEFT_OUT].sum())


Nodes = tuple[int, ...]  # of an itemset; copies stand side by side
Itemset = Counter[int]  # nodes, with the number of copies asked for
# Small itemsets generalise items, which leaves fewer large ones than the originals have; more is not tried.
HOPE = 20


class NoCutError(Exception):
    """Not even all items as one reach the goal."""


@dataclass(frozen=True, slots=True, eq=False)
class ItemProblem:
    """What a search of items must solve."""

    baskets: Baskets  # of leaves, equal ones merged
    hierarchy: Hierarchy
    goal: KmAnonymity
    most_left_out: int = 0  # occurrences of items that may be left out
    _memo: dict[tuple[int, int], IntArray] = field(default_factory=dict, repr=False)
    _index: list[IntArray] = field(default_factory=list, repr=False)

    def holders(self, node: int, copies: int = 1) -> IntArray:
        """The baskets that hold at least so many items below a node, ascending."""
        if (node, copies) not in self._memo:
            self._memo[node, copies] = self._holders(node, copies)
        return self._memo[node, copies]

    def _holders(self, node: int, copies: int) -> IntArray:
        if not self._index:
            order = np.argsort(self.baskets.items, kind="stable")
            ends = np.searchsorted(self.baskets.items[order], np.arange(1, self.hierarchy.n_leaves))
            self._index.extend(np.split(self.baskets.rows[order], ends))
        parts = self._index[int(self.hierarchy.first[node]) : int(self.hierarchy.last[node]) + 1]
        baskets, counts = np.unique(np.concatenate(parts), return_counts=True)
        return baskets[counts >= copies]

    def support(self, itemset: Itemset) -> int:
        """How many records hold an itemset of nodes."""
        parts = sorted((self.holders(node, n) for node, n in itemset.items()), key=len)
        common = parts[0]
        for part in parts[1:]:
            common = common[np.isin(common, part, assume_unique=True)]
        return int(self.baskets.weights[common].sum())


def find_cut(problem: ItemProblem, progress: Progress) -> Cut:
    """A cut that satisfies the goal, low in loss.

    Raises: NoCutError, IncompatibleChoice.
    """
    require_countable(problem.baskets, problem.goal.m, hope=HOPE)
    occurrences = problem.baskets.occurrences()
    cut = Cut.identity(problem.hierarchy)
    for size in range(1, problem.goal.m + 1):
        while rare := _rare(problem, cut, size):
            cut = _repaired(problem, cut, rare, occurrences)
            progress.advance(size - 1)
        progress.advance(size)
    tell_better(progress, cut.loss(occurrences))
    return _refined(problem, cut, occurrences, progress)


def _rare(problem: ItemProblem, cut: Cut, size: int) -> list[Nodes]:
    """Rare itemsets of a size, in the order of a count tree: frequent items first."""
    published = cut.publish(problem.baskets, copies=problem.goal.multiset)
    counts = published.occurrences()
    nodes = cut.nodes[np.argsort(-counts[cut.nodes], kind="stable")]
    return _named(nodes, _rare_in(published, nodes, size, problem.goal.k, None))


def _named(nodes: IntArray, places: list[tuple[int, ...]]) -> list[Nodes]:
    """Places in `nodes` as the nodes themselves."""
    of_place = nodes.tolist()
    return [tuple(of_place[place] for place in itemset) for itemset in places]


def _rare_in(published: Baskets, nodes: IntArray, size: int, k: int, n_roots: int | None) -> list[tuple[int, ...]]:
    """Rare itemsets of published baskets, as places in `nodes`; those of the first `n_roots` if that is given."""
    code_of = np.full(published.n_items, -1)
    code_of[nodes] = np.arange(len(nodes))
    merged = published.recoded(code_of, len(nodes), copies=True).distinct()[0]
    require_countable(merged, size)
    return rare_itemsets(merged, size, k, n_roots=n_roots)


def _repaired(problem: ItemProblem, cut: Cut, rare: Iterable[Nodes], occurrences: IntArray) -> Cut:
    """The cut after every rare itemset was generalised in the cheapest way, unless one before it did that already."""
    live = set(cut.nodes.tolist())
    for nodes in rare:
        if not live.issuperset(nodes):
            continue
        itemset = Counter(nodes)
        raised = _cheapest(problem, cut, itemset, occurrences) or _last_resort(problem, cut, itemset, occurrences)
        if raised is None:
            raise NoCutError
        cut = raised
        live = set(cut.nodes.tolist())
    return cut


def _cheapest(problem: ItemProblem, cut: Cut, itemset: Itemset, occurrences: IntArray) -> Cut | None:
    """The generalisation of an itemset that enough records hold and that loses least: the best is looked at first."""
    start = tuple(sorted(itemset.elements()))
    open_, seen = [(0.0, start)], {start}
    while open_:
        _, nodes = heapq.heappop(open_)
        reached = _joined(problem.hierarchy, nodes, is_multiset=problem.goal.multiset)
        if problem.support(reached) >= problem.goal.k:
            raised = cut
            for node in reached:
                raised = raised.raised(node)
            return raised
        for longer in _parents(problem.hierarchy, nodes):
            if longer not in seen:
                seen.add(longer)
                heapq.heappush(open_, (_cost(problem.hierarchy, cut, longer, occurrences), longer))
    return None


def _parents(hierarchy: Hierarchy, nodes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The itemset with one of its nodes replaced by its parent; copies of a node rise together."""
    for node in set(nodes):
        above = int(hierarchy.parent[node])
        if above >= 0:
            yield tuple(sorted(above if n == node else n for n in nodes))


def _joined(hierarchy: Hierarchy, nodes: Iterable[int], *, is_multiset: bool) -> Itemset:
    """An itemset in which nodes below another are that other; of a set, each counts once."""
    counts: Itemset = Counter(nodes)
    for node in sorted(counts):  # parents have larger numbers
        above = next(
            (n for n in counts if n > node and hierarchy.first[n] <= hierarchy.first[node] <= hierarchy.last[n]), None
        )
        if above is not None:
            counts[above] += counts.pop(node)
    return counts if is_multiset else Counter(set(counts))


def _cost(hierarchy: Hierarchy, cut: Cut, nodes: Iterable[int], occurrences: IntArray) -> float:
    """What raising the cut to nodes loses, summed over all occurrences of items."""
    total, done = 0.0, -1
    for node in sorted(set(nodes), key=lambda n: (hierarchy.first[n], -hierarchy.last[n])):
        if hierarchy.first[node] <= done:
            continue  # below one that was counted
        below = slice(int(hierarchy.first[node]), int(hierarchy.last[node]) + 1)
        done = int(hierarchy.last[node])
        published = cut.node_of[below]
        more = np.where(published >= 0, hierarchy.losses[node] - hierarchy.losses[published], 0.0)
        total += float(occurrences[below] @ np.maximum(more, 0.0))
    return total


def _last_resort(problem: ItemProblem, cut: Cut, itemset: Itemset, occurrences: IntArray) -> Cut | None:
    """The cut without the rarest node of an itemset, if so much may be left out."""
    rarest = min(itemset, key=lambda node: (int(occurrences[cut.node_of == node].sum()), node))
    without = cut.without(rarest)
    return without if without.left_out(occurrences) <= problem.most_left_out else None


def _refined(problem: ItemProblem, cut: Cut, occurrences: IntArray, progress: Progress) -> Cut:
    """The cut with nodes replaced by their children wherever the goal still holds, the largest gain first.

    Later rules often make earlier ones needless. Opening one node only makes itemsets rarer, so each is tried once.
    Where a few rare children are in the way, they are left out if the limit allows it and less is lost in all.
    """
    hierarchy = problem.hierarchy
    open_ = [(-_gain(cut, node, occurrences), int(node)) for node in cut.nodes if node >= hierarchy.n_leaves]
    heapq.heapify(open_)
    while open_ and not progress.stopping():
        _, node = heapq.heappop(open_)
        progress.advance(problem.goal.m)  # where a run is cancelled
        lowered = _opened(problem, cut, node, occurrences)
        if lowered is None:
            continue
        cut = lowered
        tell_better(progress, cut.loss(occurrences))
        for child in hierarchy.children(node):
            if child >= hierarchy.n_leaves:
                heapq.heappush(open_, (-_gain(cut, child, occurrences), child))
    return cut


def _gain(cut: Cut, node: int, occurrences: IntArray) -> float:
    """The loss of a node that opening it could save."""
    return float(occurrences[cut.node_of == node].sum() * cut.hierarchy.losses[node])


def _opened(problem: ItemProblem, cut: Cut, node: int, occurrences: IntArray) -> Cut | None:
    """The cut with a node opened, children left out that are in the way; None if that is not possible or no gain."""
    lowered = cut.lowered(node)
    rare = _rare_around(problem, lowered, node)
    if not rare:
        return lowered
    if not problem.most_left_out or len(rare) >= MOST_RARE:
        return None
    children = set(problem.hierarchy.children(node))
    dropped: set[int] = set()
    for itemset in rare:
        if dropped.isdisjoint(itemset):
            inside = [n for n in itemset if n in children]
            dropped.add(min(inside, key=lambda n: (int(occurrences[lowered.node_of == n].sum()), n)))
    for child in dropped:
        lowered = lowered.without(child)
    is_allowed = lowered.left_out(occurrences) <= problem.most_left_out
    return lowered if is_allowed and lowered.loss(occurrences) < cut.loss(occurrences) else None


def _rare_around(problem: ItemProblem, cut: Cut, node: int) -> list[Nodes]:
    """Rare itemsets with a child of a node that was opened; no other itemset has changed."""
    children = problem.hierarchy.children(node)
    around = problem.baskets.take(problem.holders(node))
    published = cut.publish(around, copies=problem.goal.multiset)
    there = np.flatnonzero(published.occurrences())
    is_new = np.isin(there, children)
    nodes = np.concatenate([there[is_new], there[~is_new]])
    return _named(nodes, _rare_in(published, nodes, problem.goal.m, problem.goal.k, int(is_new.sum())))
