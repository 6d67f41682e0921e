"""Whatever metric a search is to minimise: it reports what a slow count finds, and no node of a lattice has less."""

from __future__ import annotations

import itertools
from collections import defaultdict
from fractions import Fraction
from typing import get_args

import numpy as np
import polars as pl
import pytest

import lattice_tables as slow
import oracle
import oracle_metrics as om
import tablecloak as tc
from effort import often
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain._losses import LossName
from tablecloak.algorithms.fulldomain.best_first import BestFirst
from tablecloak.algorithms.fulldomain.flash import Flash
from tablecloak.algorithms.fulldomain.incognito import Incognito
from tablecloak.algorithms.fulldomain.ola import Ola
from tablecloak.algorithms.fulldomain.optimal import Optimal
from tablecloak.algorithms.topdown.mondrian import CHOSEN_LOSSES, Mondrian
from tablecloak.errors import Infeasible
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.progress import silent

pytestmark = pytest.mark.slow
LOSSES = get_args(get_args(LossName)[0])
# branches of different depth, values that do not occur, and a column of one value
QUASI = {
    "a": [["a1", "A1", "AA", "*"], ["a2", "A1", "AA", "*"], ["a3", "A3", "AA", "*"], ["a4", "*"], ["a5", "*"]],
    "b": [["b1", "B", "*"], ["b2", "B", "*"], ["b3", "*"]],
    "c": [["c1", "C", "*"], ["c2", "C", "*"], ["c3", "D", "*"], ["c4", "D", "*"], ["c5", "D", "*"]],
}
NESTED = {
    "a": {"AA": {"A1": ["a1", "a2"], "A3": ["a3"]}, "a4": [], "a5": []},
    "b": {"B": ["b1", "b2"], "b3": []},
    "c": {"C": ["c1", "c2"], "D": ["c3", "c4", "c5"]},
}
WEIGHTS = {"a": 1, "b": 3, "c": 2}


class Tree:
    """Labels, heights and leaves of a hierarchy, from its paths."""

    def __init__(self, paths):
        self.leaves, self.heights = defaultdict(set), defaultdict(int)
        for path in paths:
            for height, label in enumerate(path):
                self.leaves[label].add(path[0])
                self.heights[label] = max(self.heights[label], height)
        self.paths = {path[0]: path for path in paths}
        self.height = self.heights["*"]

    def at(self, value, level):
        """The highest label above a value that is at most `level` high."""
        return [label for label in self.paths[value] if self.heights[label] <= level][-1]


TREES = {name: Tree(paths) for name, paths in QUASI.items()}


def released(rows, node, passes):
    """The release of a node: classes that fail are left out."""
    levels = dict(zip(QUASI, node, strict=True))
    published = [{name: TREES[name].at(row[name], levels[name]) for name in QUASI} for row in rows]
    groups = defaultdict(list)
    for row, shown in zip(rows, published, strict=True):
        groups[tuple(shown.values())].append(row)
    return beside(rows, [shown if passes(groups[tuple(shown.values())]) else None for shown in published])


def beside(rows, published):
    """Originals beside what was published of them."""
    heights = {name: tree.height for name, tree in TREES.items()}
    covers = {name: dict(tree.leaves) for name, tree in TREES.items()}
    return om.Release(rows, published, list(QUASI), covers, {n: t.heights for n, t in TREES.items()}, heights, WEIGHTS)


def lost(r, loss, k):
    """The metric of a release as something to be kept low, by its definition."""

    def ncp(name, cell):
        n = len(r.covers[name][cell])
        return Fraction(0) if n == 1 else Fraction(n, len(r.values[name]))

    sizes = [len(rows) for rows in r.classes()]
    by_name = {
        "ncp": lambda: r.over_cells(ncp, lambda name: 1),
        "gcp": lambda: r.over_cells(ncp, lambda name: 1) / (r.n * len(r.columns)),
        "precision": lambda: 1 - om.precision(r),
        "total-il": lambda: om.total_il(r, {}, ()),
        "ambiguity-data": lambda: om.ambiguity_data(r),
        "discernibility": lambda: oracle.discernibility(sizes, k, r.n),
        "average-class-size": lambda: oracle.average_class_size(sizes, k),
        "classification": lambda: om.classification(r, "s"),
        "hce-tdr": lambda: om.hce_tdr(r, "s"),
        "igpl": lambda: -om.igpl(r, "s"),
        "iloss-domain": lambda: om.iloss(r, less=0),
    }
    value = by_name.get(loss) or (lambda: getattr(om, loss.replace("-", "_"))(r))
    return float(value())


def drawn(random):
    n = int(random.integers(4, 24))
    values = {"a": ["a1", "a2", "a3", "a4"], "b": ["b1", "b2", "b3"], "c": ["c1", "c2", "c3", "c4"], "s": ["x", "y"]}
    return [{name: of[int(random.random() ** 2 * len(of))] for name, of in values.items()} for _ in range(n)]


def problem_of(rows, *models):
    return Problem(slow.coded(rows, QUASI, ["s"], weights=WEIGHTS), Goal(models))


def losses_of_safe_nodes(rows, loss, k, passes, budget):
    found = {}
    for node in itertools.product(*(range(tree.height + 1) for tree in TREES.values())):
        release = released(rows, node, passes)
        if len(release.suppressed()) <= budget:
            found[node] = lost(release, loss, k)
    return found


def check(problem, searches, safe):
    for search in searches:
        if not safe:
            with pytest.raises(Infeasible):
                search.solve(problem, silent)
            continue
        view = search.view(problem, silent)
        best = next(node for node in view.nodes if node.levels == view.best)
        assert best.loss == pytest.approx(safe[view.best]), type(search).__name__
        assert best.loss == pytest.approx(min(safe.values())), type(search).__name__
        for node in view.nodes:
            if node.was_checked and node.is_safe:
                assert node.loss == pytest.approx(safe[node.levels])
            elif node.is_safe and node.loss_at_least is not None:
                assert node.loss_at_least <= safe[node.levels] + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("limit", [0.0, 0.4])
def test_every_search_finds_the_least_loss_of_all_safe_nodes(loss, limit):
    for seed in range(often(4)):
        random = np.random.default_rng([seed, LOSSES.index(loss)])
        rows, k = drawn(random), int(random.integers(2, 4))
        safe = losses_of_safe_nodes(rows, loss, k, lambda group, k=k: len(group) >= k, int(limit * len(rows)))
        kinds = [Optimal, BestFirst, [Flash, Incognito, Ola][seed % 3]]
        check(problem_of(rows, KAnonymity(k=k)), [kind(loss=loss, suppression_limit=limit) for kind in kinds], safe)


@pytest.mark.parametrize("loss", LOSSES)
def test_goals_about_sensitive_values_do_not_change_what_is_least(loss):
    for seed in range(often(3)):
        random = np.random.default_rng([seed, 77, LOSSES.index(loss)])
        rows = drawn(random)
        safe = losses_of_safe_nodes(rows, loss, 2, slow.k_and_l(2, 2), int(0.3 * len(rows)))
        problem = problem_of(rows, KAnonymity(k=2), LDiversity(l=2))
        check(problem, [Optimal(loss=loss, suppression_limit=0.3)], safe)


def by_mondrian(rows, loss, k):
    columns = {
        name: {"role": "quasi", "weight": WEIGHTS[name], "hierarchy": {"kind": "tree", "tree": tree}}
        for name, tree in NESTED.items()
    }
    goals = [{"model": "k-anonymity", "k": k}]
    algorithm = {"kind": "mondrian", "loss": loss}
    output = {"path": "out.csv", "order": "keep"}
    policy = tc.Policy(columns={**columns, "s": {"role": "sensitive"}}, goals=goals, algorithm=algorithm, output=output)
    release = tc.anonymize(pl.DataFrame(rows), policy)
    return release, beside(rows, release.frame.select(list(QUASI)).to_dicts())


@pytest.mark.parametrize("loss", get_args(Mondrian.__pydantic_fields__["loss"].annotation))
def test_mondrian_reports_what_a_slow_count_finds(loss):
    for seed in range(often(2)):
        random = np.random.default_rng([seed, 5, len(loss)])
        rows, k = drawn(random), 2
        release, shown = by_mondrian(rows, loss, k)
        found = release.measure(loss)[0]
        value = 1 - found.value if loss == "precision" else -found.value if loss == "igpl" else found.value
        assert value == pytest.approx(lost(shown, loss, k))
        if loss in CHOSEN_LOSSES:
            _, by_ncp = by_mondrian(rows, "ncp", k)
            assert lost(shown, loss, k) <= lost(by_ncp, loss, k) + 1e-9
