"""Dealing of the disk-based clustering algorithm once more, slowly: dicts of lists, fractions, no shared code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Path = Sequence[str]  # of a value: itself, its ancestors, the root


class Numbers:
    """A column in a range hierarchy: a centroid is the mean, the distance |u - v| over the range of the table."""

    def __init__(self, name, values):
        self.name, self.width = name, max(values) - min(values)

    def distance(self, value, members):
        mean = Fraction(sum(members), len(members))
        return abs(value - mean) / self.width if self.width else Fraction(0)


class Categories:
    """A column in a distinct hierarchy: a centroid is the lowest common ancestor, the distance its height."""

    def __init__(self, name, paths: Mapping[str, Path]):
        self.name, self.paths = name, paths
        self.height = max(len(path) - 1 for path in paths.values())

    def distance(self, value, members):
        lowest = next(node for node in self.paths[value] if all(node in self.paths[m] for m in members))
        return Fraction(max(path.index(lowest) for path in self.paths.values() if lowest in path), self.height)


def apart(columns, record, members):
    """Distance of a record from the centroid of others."""
    return sum(c.distance(record[c.name], [m[c.name] for m in members]) for c in columns)


def dealt(columns, rows, seeds, waiting, k):
    """The classic mode of the source: clusters of row numbers.

    Args:
        seeds: (cluster by cluster) rows that each begins with; `waiting`: the others, in the order they come.
    """
    clusters = [[(row, Fraction(0)) for row in cluster] for cluster in seeds]

    def nearest(row, *, not_at=None):
        best = None
        for number, members in enumerate(clusters):
            if members and number != not_at:
                away = apart(columns, rows[row], [rows[m] for m, _ in members])
                if best is None or away < best[1]:
                    best = (number, away)
        return best

    def split(number):
        members = sorted(clusters[number], key=lambda m: (m[1], m[0]))
        clusters[number] = members[: len(members) // 2]
        clusters.append(members[len(members) // 2 :])

    for row in waiting:
        number, away = nearest(row)
        clusters[number].append((row, away))
        if len(clusters[number]) >= 2 * k:
            split(number)
    while (small := [n for n, c in enumerate(clusters) if 0 < len(c) < k]) and sum(map(bool, clusters)) > 1:
        has_received = set()
        for number in small:
            if number in has_received or sum(map(bool, clusters)) < 2:
                continue
            moving, clusters[number] = sorted(clusters[number]), []
            for row, _ in moving:
                target, away = nearest(row)
                clusters[target].append((row, away))
                has_received.add(target)
        number = 0
        while number < len(clusters):
            if len(clusters[number]) >= 2 * k:
                split(number)
            else:
                number += 1
    return {frozenset(row for row, _ in members) for members in clusters if members}


def down_the_tree(columns, record, piles, width):
    """The pile that the tree over all piles leads to, and others as near below the same parent.

    Args:
        piles: lists of records; a parent has the mean of the means, and the common ancestor of all, of `width` nodes.
    """
    levels = [[[pile] for pile in piles]]  # a node is a tree of lists
    while len(levels[0]) > width:
        below = levels[0]
        levels.insert(0, [[("parent", below[i : i + width])] for i in range(0, len(below), width)])

    def flat(node):
        (what,) = node
        return [r for child in what[1] for r in flat(child)] if isinstance(what, tuple) else what

    def mean(node, name):
        (what,) = node
        if isinstance(what, tuple):
            return sum((mean(child, name) for child in what[1]), Fraction(0)) / len(what[1])
        return Fraction(sum(r[name] for r in what), len(what))

    def away(node):
        total = Fraction(0)
        for c in columns:
            if isinstance(c, Numbers):
                total += abs(record[c.name] - mean(node, c.name)) / c.width
            else:
                total += c.distance(record[c.name], [r[c.name] for r in [*flat(node), record]])
        return total

    here = levels[0]
    while True:
        node = min(here, key=away)
        (what,) = node
        if not isinstance(what, tuple):
            nearest = [n[0] for n in here if away(n) == away(node)]
            return {i for i, pile in enumerate(piles) if any(pile is n for n in nearest)}
        here = what[1]


def least_loss_of_halves(cost, records):
    """The least that two halves of some tuples lose, cut in the middle of their order by one column.

    Args:
        cost: of a list of tuples in one cluster, for each of them.
    """
    half = len(records) // 2
    orders = [sorted(records, key=lambda r, c=c: r[c]) for c in range(len(records[0]))]
    return min(half * cost(o[:half]) + (len(records) - half) * cost(o[half:]) for o in orders)
