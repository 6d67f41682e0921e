"""Every kernel has one result: its plain form and its compiled form are held against each other, whatever its topic."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from effort import often
from kernel_forms import BY_NAME
from random_tables import coded_table
from tablecloak.algorithms.clustering.base import Clusters, Points
from tablecloak.algorithms.one_pass.pile_dealing import PileSet, make_blocks, make_tree
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.auction import AuctionSteps
from tablecloak.kernels.box_search import make_levels
from tablecloak.kernels.clustering import FAR, Wishes
from tablecloak.kernels.packed_codes import ClassCost, pack, plan_layout
from tablecloak.kernels.prices import make_prices
from tablecloak.kernels.refining import Steps
from tablecloak.kernels.rules import RuleKind, make_rules, new_spare, only_size
from tablecloak.kernels.squares import Trees

TREE = Hierarchy.from_tree({"*": {"n": {"x": ["a", "b"], "y": ["c"]}, "s": ["d", "e"]}})


def nodes_of(random, n):
    bounds = np.unique([0, *random.integers(0, n, 3), n]).astype(np.int64)
    return bounds[:-1], bounds[1:]


def cutting(random):
    table = coded_table(random, int(random.integers(20, 150)))
    if random.random() < 0.5:  # only the own dimension is priced
        table = replace(table, space=table.space._replace(exact_up_to=0))
    return table, table.keys, table.weights, *nodes_of(random, table.n_tuples)


def rule_of(random):
    by_saving = bool(random.random() < 0.6)
    cost = random.choice(list(ClassCost)) if by_saving else ClassCost.CELLS
    relaxed = not by_saving and bool(random.random() < 0.5)
    return {
        "min_size": int(random.integers(1, 6)),
        "by_saving": by_saving,
        "relaxed": relaxed,
        "cost": ClassCost(int(cost)),
    }


def propose(random):
    table, keys, weights, starts, ends = cutting(random)
    tried = random.random((len(starts), table.space.n_dims)) < 0.2
    return (keys, weights, starts, ends, table.space, tried), rule_of(random)


def split(random):
    (keys, weights, starts, ends, space, tried), rule = propose(random)
    dims, cuts, ties, _, _ = BY_NAME["propose"].plain(keys, weights, starts, ends, space, tried, **rule)
    goes = dims >= 0
    ids = np.arange(keys.shape[1], dtype=np.uint32)
    return (keys, ids, weights, starts[goes], ends[goes], space, dims[goes], cuts[goes], ties[goes]), {}


def descend(random):
    (keys, weights, _, _, space, _), rule = propose(random)
    n = keys.shape[1]
    return (keys, np.arange(n, dtype=np.uint32), weights, 0, n, space), rule


def sizes(random):
    _, _, weights, starts, ends = cutting(random)
    return (weights, starts, ends), {}


def count_codes(random):
    table, keys, weights, starts, ends = cutting(random)
    return (keys, weights, starts, ends, table.space, 0, int(table.space.n_codes[0])), {}


def cut_of_counts(random):
    table = coded_table(random, 150)
    counts = [random.integers(0, 4, int(n)) for n in table.space.n_codes]
    return (table.space, counts, random.random(table.space.n_dims) < 0.2, int(random.integers(1, 6))), {}


def packed(random, n=300):
    widths = random.integers(2, 40, 4).tolist()
    layout = plan_layout([*widths, 2**60])  # the last one needs a second word
    columns = [random.integers(0, w, n).astype(np.uint64) for w in widths]
    return widths, layout, columns, pack([*columns, np.zeros(n, np.uint64)], layout)


def add_codes(random):
    kind = random.choice([np.uint8, np.uint16, np.uint32, np.int16, np.int64])
    table = random.integers(0, 100, 64).astype(np.uint64) << np.uint64(7)
    words = random.integers(0, 128, 200).astype(np.uint64)
    return (words, random.integers(3, 60, 200).astype(kind), int(random.integers(0, 4)), table), {}


def covers(random):
    widths, layout, columns, keys = packed(random)
    lo, hi = np.sort(random.integers(0, 40, (2, widths[1])), axis=0)
    shown = plan_layout([widths[1]])
    return (pack([columns[1]], shown), shown, 0, lo, hi, keys, layout, 0), {}


def leaves_of(random):
    widths, layout, _, keys = packed(random)
    cut = np.array([widths[0] // 2, widths[1] // 2, widths[0] // 2])
    return (keys, layout, np.array([0, 1, 0]), cut, np.array([1, ~0, ~2]), np.array([2, ~1, ~3])), {}


def count_leaves(random):
    widths, layout, _, keys = packed(random)
    ends = np.cumsum(widths)
    leaves = random.integers(0, 4, keys.shape[1]).astype(np.uint16)
    return (keys, layout, leaves, ends - widths, np.ones((4, int(ends[-1])), np.int64)), {}


def group_keys(random):
    keys = random.integers(0, random.choice([2, 50, 2**60]), (int(random.integers(1, 4)), 300))
    return (keys.astype(np.uint64),), {}


def block(random, *, sets, n=40):
    """Codes, weights, values, classes, prices and rules of a block that is one admitted class after another."""
    table = coded_table(random, n)
    is_set = np.array([sets and d.n_codes <= 64 and not d.type.is_ordered for d in table.domains])
    codes = np.stack([table.quasi_codes(d) for d in range(len(table.domains))], axis=1)
    codes = np.where(is_set, np.left_shift(1, np.minimum(codes, 63)), codes)
    prices = make_prices(table.space, is_set)
    rules, values = rules_of(random, n)
    return table, prices, (codes, random.integers(1, 4, n), values, np.zeros(n, np.int64), prices, rules)


def rules_of(random, n):
    if random.random() < 0.3:
        return only_size(3), np.zeros((n, 0), np.int64)
    kind, limit, order = [
        (RuleKind.DISTINCT, 2.0, 0), (RuleKind.ENTROPY, 1.5, 0), (RuleKind.RECURSIVE, 3.0, 2),
        (RuleKind.EQUAL_DISTANCE, 0.45, 0), (RuleKind.ORDERED_DISTANCE, 0.4, 0),
        (RuleKind.GAIN, 1.5, 0), (RuleKind.GAIN, 1.5, 1),
    ][int(random.integers(7))]  # fmt: skip
    values = np.arange(n)[:, None] % 4
    shares = np.full(4, 0.25)
    return make_rules(3, [(kind, 0, 0, 4, limit, order)], shares, n_kept=int(random.choice([0, 4]))), values


def refine(random):
    _, _, given = block(random, sets=bool(random.random() < 0.5))
    steps = Steps(sweeps=2, near=3, pooled=60, alone=100, noise=0.3, turn=1, polishes=3)
    return given, {"steps": steps, "seed": 5, "stop": np.zeros(1, np.int64)}


def trim_blocks(random):
    (codes, weights, values, classes, prices, rules), how = refine(random)
    BY_NAME["refine"].plain(codes, weights, values, classes, prices, rules, **how)
    classes = np.unique(classes, return_inverse=True)[1].reshape(-1)
    twice = [np.concatenate([part, part]) for part in (codes, weights, values, classes)]
    starts, n_classes = np.array([0, len(codes), 2 * len(codes)]), np.full(2, classes.max() + 1)
    return (*twice, starts, n_classes, prices, rules), {"stop": np.zeros(1, np.int64)}


def search_boxes(random):
    table, prices, given = block(random, sets=bool(random.random() < 0.5))
    levels = make_levels(table.space, prices, np.arange(table.space.n_dims), None)
    steps = Steps(sweeps=0, boxes=2, plain=1, work=10_000)
    return given, {"steps": steps, "seed": 1, "stop": np.zeros(1, np.int64), "levels": levels}


def auction(random):
    table, prices, (codes, weights, _, classes, _, _) = block(random, sets=False)
    levels = make_levels(table.space, prices, np.arange(table.space.n_dims), None, has_windows=False)
    least = int(np.bincount(classes, weights=weights).min())
    how = {"levels": levels, "steps": AuctionSteps(100_000, 20_000), "seed": 1, "stop": np.zeros(1, np.int64)}
    return (codes, weights, classes, prices, least), how


def judge(random):
    rules, _ = rules_of(random, 4)
    counts = random.integers(0, 5, len(rules.shares))
    return (rules, counts, max(1, int(counts.sum())), new_spare(rules)), {}


def points(random, n=70):
    columns = {
        "number": (pl.Series(random.integers(0, 30, n)), ColumnType.INTEGER, None),
        "measure": (pl.Series([None, *random.random(n - 1).round(2).tolist()]), ColumnType.FLOAT, None),
        "place": (pl.Series(random.choice(list("abcde"), n).tolist()), ColumnType.TEXT, lambda _: TREE),
        "job": (pl.Series([None, *random.choice(["p", "q", "r"], n - 1).tolist()]), ColumnType.TEXT, None),
    }
    fitted = [fit_domain(s.rename(name), t, make_hierarchy=h) for name, (s, t, h) in columns.items()]
    return Points([d for d, _ in fitted], [c.astype(np.int64) for _, c in fitted], compiled=False)


def boxes(table):
    found = Clusters(table, [[0, 3, 4], [1], [5, 6]])
    return np.ascontiguousarray(found.lo), np.ascontiguousarray(found.hi)


def one_box(table):
    return table.codes[:, [8, 9]].min(axis=1), table.codes[:, [8, 9]].max(axis=1)


def unions(random):
    table = points(random)
    return (table.lines, *boxes(table), *one_box(table)), {}


def joined(random):
    table = points(random)
    return (table.lines, table.codes, *one_box(table)), {}


def grow(random):
    table = points(random)
    is_gone = random.random(table.n) < 0.2
    is_gone[4] = False
    limit = FAR // 2 if random.random() < 0.5 else int(0.3 * table.unit)
    target = random.integers(0, 3, table.n).astype(np.int32)
    how = {"size": 80, "limit": limit, "target": target, "penalty": int(random.integers(0, 2)) * table.unit}
    return (table.lines, table.codes, is_gone, 4), how


def candidates(random):
    table = points(random)
    return (table.lines, table.codes, random.random(table.n) < 0.5, *boxes(table), int(random.choice([1, 4, 50]))), {}


def look_around(random):
    table = points(random)
    is_gone = random.random(table.n) < 0.4
    return (table.lines, table.codes, is_gone, np.array([0, 7, 9]), int(random.choice([1, 6, 80])), 5), {}


def grow_listed(random):
    given, _ = look_around(random)
    nearest, costs, _ = BY_NAME["look_around"].plain(*given)
    lines, codes, is_gone, seeds, *_ = given
    target = random.integers(0, 3, codes.shape[1]).astype(np.int32)
    how = {"size": int(random.integers(2, 6)), "target": target, "penalty": int(random.integers(0, 2)) * 1000}
    return (lines, codes, is_gone, seeds, nearest, costs), how


def choose_wishes(random):
    table = points(random)
    lo, hi = boxes(table)
    rows, costs = BY_NAME["candidates"].plain(table.lines, table.codes, np.zeros(table.n, bool), lo, hi, 6)
    wishes = Wishes(rows, costs[:, -1], random.random(3) < 0.3)
    lo = np.minimum(lo, table.codes[:, [20, 21, 22]])  # boxes that have grown since
    return (table.lines, table.codes, random.random(table.n) < 0.7, lo, hi, wishes), {}


def nearest(random):
    table = points(random)
    centroids = Clusters(table, [[0, 3, 4], [1], [5, 6], [0]]).centroids
    return (table.lines, table.codes, centroids, np.array([1.0, 0.5, 2.0, 1.0]), np.array([1.0, 1.5, 1.0, 1.0])), {}


def piles_of(table, n):
    piles = PileSet(table.lines)
    piles.grow(n)
    piles.refill(np.arange(n), table.codes[:, :n])
    return piles


def deal(random):
    table = points(random, 200)
    piles = piles_of(table, 60)
    how = {"size_weight": float(random.choice([0.0, 0.7])), "limit": int(random.choice([4, 1000])),
           "most_blocks": int(random.choice([1, 1000]))}  # fmt: skip
    return (table.lines, table.codes[:, 60:], piles.arrays, 60, make_blocks(piles)), how


def deal_by_tree(random):
    table = points(random, 200)
    piles = piles_of(table, 60)
    tree = make_tree(piles, float(random.choice([0.05, 0.5, 1.0])))
    return (table.lines, table.codes[:, 60:], piles.arrays, tree), {"size_weight": 0.3}


def cut(random):
    table = points(random)
    return (table.lines, table.lines, table.codes, np.array([0, 30, table.n]), int(random.integers(2, 6))), {}


def classes_in(random):
    """A space and boxes of classes in it."""
    table = coded_table(random, int(random.integers(40, 150)))
    n_classes = int(random.integers(3, 30))
    codes = np.stack([table.quasi_codes(d) for d in range(table.space.n_dims)], axis=1)
    of_class = random.integers(0, n_classes, len(codes))
    of_class[:n_classes] = np.arange(n_classes)
    boxes = [np.stack([edge(codes[of_class == c], axis=0) for c in range(n_classes)]) for edge in (np.min, np.max)]
    return table.space, *boxes, np.bincount(of_class)


def joins(random):
    space, lo, hi, size = classes_in(random)
    return (space, lo, hi, size, random.permutation(len(size))[: int(random.integers(1, len(size)))]), {}


def nearest_boxes(random):
    space, lo, hi, size = classes_in(random)
    others = random.permutation(np.arange(1, len(size)))
    return (space, lo, hi, 0, others, int(random.choice([1, 4, 100]))), {}


def records(random, n=60):
    numbers = random.random((2, n))
    codes = random.integers(0, 4, (2, n)).astype(np.int32)
    levels = np.tile(np.array([[0, 0], [1, 0], [2, 1], [3, 1]]), (2, 1))
    return numbers, codes, Trees(np.array([0, 4]), levels, np.array([2, 2]), np.array([1.0, 0.5]))


def squared_distances(random):
    numbers, codes, _ = records(random)
    return (numbers, codes, random.random(2), random.random((2, 4))), {}


def nearest_outside(random):
    numbers, codes, trees = records(random)
    members = np.array([0, 5, 7])
    tables = np.stack([(trees.levels[:4] != trees.levels[c[0]]).mean(axis=1) for c in codes]) * trees.scale[:, None]
    from_extreme = BY_NAME["squared_distances"].plain(numbers, codes, numbers[:, 0], tables)
    is_gone = random.random(numbers.shape[1]) < 0.3
    is_gone[members], is_gone[20] = True, False
    return (numbers, codes, is_gone, members, from_extreme, trees), {}


def best_pairs(random):
    one, two = (random.integers(0, 6, int(random.integers(1, 30))) for _ in range(2))
    gaps = [np.cumsum(np.bincount(b, minlength=6)) / len(b) - np.linspace(1 / 6, 1, 6) for b in (one, two)]
    return (gaps[0], one, gaps[1], two), {"limit": float(np.abs(gaps[0]).sum()), "most": 32}


def arcs(random, n):
    heads = [np.flatnonzero(random.random(n) < 0.1) for _ in range(n)]
    return np.cumsum([0, *map(len, heads)]).astype(np.int64), np.concatenate(heads).astype(np.int64)


def components(random):
    return arcs(random, 40), {}


def transport(random):
    return (*arcs(random, 40), random.integers(0, 5, 40), random.integers(0, 5, 40)), {}


INPUTS = {
    f.__name__: f
    for f in (
        propose, split, descend, sizes, count_codes, cut_of_counts, add_codes, covers, leaves_of, count_leaves,
        group_keys, refine, trim_blocks, search_boxes, auction, judge, unions, joined, grow, candidates, choose_wishes,
        look_around, grow_listed,
        nearest, deal, deal_by_tree, cut,
        joins, nearest_boxes, squared_distances, nearest_outside, best_pairs, components, transport,
    )
}  # fmt: skip


def flat(value):
    """Arrays and numbers in whatever holds them."""
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [part for v in value for part in flat(v)] if isinstance(value, tuple | list) else [value]


def told(name, result):
    """What a result says; groups may be numbered in any order."""
    if name != "group_keys":
        return result
    firsts, group = result
    return np.sort(firsts), firsts[group]


def test_every_kernel_has_inputs():
    assert INPUTS.keys() == BY_NAME.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", INPUTS)
def test_both_forms_do_the_same(name):
    kernel = BY_NAME[name]
    for seed in range(often(6)):
        args, how = INPUTS[name](np.random.default_rng(seed))
        results = []
        for form in (kernel.plain, kernel.compiled):
            own, options = copy.deepcopy((args, how))
            result = told(name, form(*own, **options))
            if name == "deal":
                own = own[:4]  # the plain form leaves blocks alone where it looks at all piles
            results.append(flat([result, own, options]))
        assert len(results[0]) == len(results[1])
        for one, other in zip(*results, strict=True):
            if np.issubdtype(np.asarray(one).dtype, np.floating):  # sums in another order
                np.testing.assert_allclose(one, other, rtol=1e-12)
            elif one is not None and not isinstance(one, Hierarchy):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [n for n in INPUTS if n not in ("refine", "search_boxes")])
def test_kernels_keep_nothing_between_two_calls(name):
    args, how = INPUTS[name](np.random.default_rng(1))
    one, other = (
        flat([BY_NAME[name].plain(*own, **options)]) for own, options in (copy.deepcopy((args, how)) for _ in range(2))
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)
