"""Which class a failing one joins, against a search in plain Python that prices boxes column by column."""

from __future__ import annotations

import numpy as np
import pytest

from kernel_forms import compiled, plain
from random_tables import coded_table

both_forms = pytest.mark.parametrize(
    "kernels", [plain, pytest.param(compiled, marks=pytest.mark.slow)], ids=["plain", "compiled"]
)


def classes_of(seed):
    """A table, the class of each tuple as lists of tuples, and their boxes."""
    random = np.random.default_rng(seed)
    table = coded_table(random, 60)
    rows = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)], axis=1)
    members = [part.tolist() for part in np.array_split(random.permutation(len(rows)), 12)]
    lo, hi = (np.stack([edge(rows[m], axis=0) for m in members]) for edge in (np.min, np.max))
    return random, table, rows.tolist(), members, lo, hi


def cost(table, rows, members):
    """Weighted loss of one box around some tuples."""
    total = 0.0
    for dim, domain in enumerate(table.domains):
        codes = [rows[m][dim] for m in members]
        loss = domain.loss(np.array([min(codes)]), np.array([max(codes)]))[0]
        total += float(table.space.weight[dim]) * float(loss)
    return total


@both_forms
@pytest.mark.parametrize("seed", range(8))
def test_a_failing_class_joins_the_one_that_adds_least(seed, kernels):
    random, table, rows, members, lo, hi = classes_of(seed)
    failing = random.permutation(12)[:5]
    found = kernels.joins(table.space, lo, hi, np.array([len(m) for m in members]), failing).tolist()
    clusters, done = dict(enumerate(members)), set()
    for one in failing.tolist():
        if one in done:
            assert one in clusters  # it took another in, or was taken, and is judged again before it joins
            continue
        alone = len(clusters[one]) * cost(table, rows, clusters[one])

        def added(other, one=one, alone=alone):
            both = [*clusters[other], *clusters[one]]
            before = len(clusters[other]) * cost(table, rows, clusters[other])
            return len(both) * cost(table, rows, both) - before - alone

        chosen = found[one]
        assert added(chosen) == pytest.approx(min(added(c) for c in clusters if c != one), abs=1e-9)
        clusters[chosen] = [*clusters[chosen], *clusters.pop(one)]
        done |= {one, chosen}
    assert {c for c in range(12) if found[c] == c} == set(clusters)


@both_forms
@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_boxes_are_those_whose_union_loses_least(seed, kernels):
    random, table, rows, members, lo, hi = classes_of(seed)
    others = random.permutation(np.arange(1, 12))
    found = kernels.nearest_boxes(table.space, lo, hi, 0, others, 4).tolist()
    losses = {other: cost(table, rows, [*members[0], *members[other]]) for other in others.tolist()}
    assert [losses[f] for f in found] == pytest.approx(sorted(losses.values())[:4])
