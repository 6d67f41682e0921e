"""MDAV and V-MDAV, plain and compiled, against a slow form that looks at all pairs of records."""

import numpy as np
import pytest

from effort import often
from tablecloak.algorithms.micro._points import Category, PointRecords
from tablecloak.algorithms.micro.mdav import mdav
from tablecloak.algorithms.micro.v_mdav import v_mdav
from tablecloak.progress import silent

# whole numbers: distances are exact, so ties are ties in every form
TREE = np.array([[0, 10], [1, 10], [2, 11], [3, 11], [4, 11]])


def draw(rng):
    n, k = int(rng.integers(1, 60)), int(rng.integers(1, 8))
    numbers = rng.integers(0, int(rng.choice([3, 10, 100])), (n, int(rng.integers(0, 3)))).astype(float)
    categories = [
        Category(rng.integers(0, 5, n), TREE, 2.0),
        Category(rng.integers(0, 3, n), np.arange(3)[:, None], 4.0),
    ]
    return PointRecords(numbers, tuple(categories[: int(rng.integers(0, 3))])), k


def apart(records, one, other):
    """Squared distance of two (numbers, codes)."""
    total = sum((x - y) ** 2 for x, y in zip(one[0], other[0], strict=True))
    for category, a, b in zip(records.categories, one[1], other[1], strict=True):
        differs = [x != y for x, y in zip(category.levels[a].tolist(), category.levels[b].tolist(), strict=True)]
        total += category.scale * sum(differs) / len(differs)
    return total


def row(records, i):
    return records.numbers[i].tolist(), [int(c.codes[i]) for c in records.categories]


def center(records, rows):
    numbers = [sum(records.numbers[i, d] for i in rows) / len(rows) for d in range(records.numbers.shape[1])]
    codes = []
    for category in records.categories:
        own = [int(category.codes[i]) for i in rows]
        n_shared = {
            c: sum(
                x == y
                for o in own
                for x, y in zip(category.levels[c].tolist(), category.levels[o].tolist(), strict=True)
            )
            for c in sorted(set(own))
        }
        codes.append(max(n_shared, key=n_shared.get))
    return numbers, codes


def nearest(records, point, rest, k):
    return sorted(sorted(rest, key=lambda i: (apart(records, row(records, i), point), i))[:k])


def farthest(records, point, rest):
    return max(rest, key=lambda i: (apart(records, row(records, i), point), -i))


def slow_mdav(records, k):
    rest, clusters = list(range(len(records))), []

    def take(point):
        clusters.append(nearest(records, point, rest, k))
        rest[:] = [i for i in rest if i not in clusters[-1]]

    while len(rest) >= 3 * k:
        extreme = row(records, farthest(records, center(records, rest), rest))
        take(extreme)
        take(row(records, farthest(records, extreme, rest)))
    if len(rest) >= 2 * k:
        take(row(records, farthest(records, center(records, rest), rest)))
    return [*clusters, rest]


def slow_v_mdav(records, k, gain):
    rest, clusters = list(range(len(records))), []
    middle = center(records, rest)
    while len(rest) >= k:
        cluster = nearest(records, row(records, farthest(records, middle, rest)), rest, k)
        rest = [i for i in rest if i not in cluster]
        while len(cluster) < 2 * k - 1 and len(rest) >= 2:
            to_cluster = {i: min(apart(records, row(records, i), row(records, m)) for m in cluster) for i in rest}
            near = min(rest, key=lambda i: (to_cluster[i], i))
            to_rest = min(apart(records, row(records, near), row(records, i)) for i in rest if i != near)
            if not to_cluster[near] < gain**2 * to_rest:
                break
            cluster.append(near)
            rest.remove(near)
        clusters.append(cluster)
    centers = [center(records, c) for c in clusters]
    for i in rest:
        clusters[min(range(len(centers)), key=lambda c: (apart(records, row(records, i), centers[c]), c))].append(i)
    return clusters


def as_sets(labels):
    return [set(np.flatnonzero(labels == c).tolist()) for c in range(int(labels.max(initial=-1)) + 1)]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_mdav_is_the_slow_one(compiled):
    rng = np.random.default_rng(5)
    for _ in range(often(60)):
        records, k = draw(rng)
        assert as_sets(mdav(records, k, silent, compiled=compiled)) == [set(c) for c in slow_mdav(records, k)]


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_v_mdav_is_the_slow_one(compiled):
    rng = np.random.default_rng(6)
    for _ in range(often(60)):
        records, k = draw(rng)
        gain = float(rng.choice([0.0, 0.5, 1.0, 3.0]))
        if len(records) < k:
            continue
        found = as_sets(v_mdav(records, k, gain, silent, compiled=compiled))
        assert found == [set(c) for c in slow_v_mdav(records, k, gain)]
