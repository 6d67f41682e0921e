"""Sets of items judged slowly, in plain Python: combinations one by one, every cut through a tree."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product


def supports(sets, m, *, multiset=False):
    """How many sets hold each combination of 1 to m items that occurs; a combination is a sorted tuple."""
    found = Counter()
    for items in sets:
        kept = sorted(items) if multiset else sorted(set(items))
        found.update({c for size in range(1, m + 1) for c in combinations(kept, size)})
    return found


def max_k(sets, m, *, multiset=False):
    """The largest k for which sets are km-anonymous; None without items."""
    return min(supports(sets, m, multiset=multiset).values(), default=None)


def is_km_anonymous(sets, k, m, *, multiset=False):
    return all(count >= k for count in supports(sets, m, multiset=multiset).values())


def candidates(sets, m, *, multiset=False):
    """By size from 1 to m: of every set, how many sets hold its rarest combination of up to so many items."""
    counted = supports(sets, m, multiset=multiset)
    left = []
    for size in range(1, m + 1):
        kept = [sorted(items) if multiset else sorted(set(items)) for items in sets]
        combos = [[c for n in range(1, size + 1) for c in combinations(items, n)] for items in kept]
        left.append([min((counted[c] for c in each), default=len(sets)) for each in combos])
    return left


def possible(people, shown, m, tree):
    """The same for people, whose records are those among `shown` that can hold what is known of them.

    A record can hold an item if one of its labels covers it, or if no label of the release does. Combinations that no
    record can hold lead nowhere.
    """
    below = {node: set(leaves_of(tree, node)) for items in shown for node in items}
    told = set().union(*below.values()) if below else set()
    holds = [set().union(*(below[node] for node in items)) if items else set() for items in shown]
    left = []
    for size in range(1, m + 1):
        row = []
        for items in people:
            combos = [set(c) for n in range(1, size + 1) for c in combinations(sorted(set(items)), n)]
            counts = [sum(c & told <= held for held in holds) for c in combos]
            row.append(min((n for n in counts if n), default=len(shown)))
        left.append(row)
    return left


def leaves_of(tree, node):
    """Leaves below a node of {parent: [children]}."""
    return [leaf for child in tree[node] for leaf in leaves_of(tree, child)] if node in tree else [node]


def cuts(tree, node):
    """Every cut of the subtree of a node, as {leaf: published node}."""
    yield dict.fromkeys(leaves_of(tree, node), node)
    if node in tree:
        for parts in product(*[list(cuts(tree, child)) for child in tree[node]]):
            yield {leaf: up for part in parts for leaf, up in part.items()}


def published(sets, cut, *, multiset=False):
    """Sets as a cut publishes them; an item that the cut does not know is left out."""
    named = [[cut[item] for item in items if item in cut] for items in sets]
    return [sorted(items) if multiset else sorted(set(items)) for items in named]


def loss(sets, cut, tree, root, *, multiset=False):
    """Mean loss of the items of all sets: share of the leaves below what is published, 0 for a leaf, 1 if left out."""
    n_leaves = len(leaves_of(tree, root))

    def of(item):
        if item not in cut:
            return 1.0
        below = len(leaves_of(tree, cut[item]))
        return below / n_leaves if below > 1 else 0.0

    items = [item for one in sets for item in (one if multiset else set(one))]
    return sum(map(of, items)) / max(1, len(items))


def covers(before, after, tree, *, may_drop=()):
    """Every published item covers an item of its set, and every item is covered unless it may be left out."""
    for items, shown in zip(before, after, strict=True):
        below = [set(leaves_of(tree, node)) for node in shown]
        if not all(leaves & set(items) for leaves in below):
            return False
        if not all(item in may_drop or any(item in leaves for leaves in below) for item in items):
            return False
    return True
