"""Refinement kernels: compiled equals plain, prices only fall, and rules judge as the models do."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from counted import stats_of_classes
from effort import often
from kernel_forms import compiled, plain
from random_tables import coded_table
from tablecloak.kernels.box_search import make_levels
from tablecloak.kernels.prices import FULL, cell_prices, make_prices
from tablecloak.kernels.refining import Steps
from tablecloak.kernels.rules import RuleKind, make_rules, new_spare, only_size
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness

pytestmark = pytest.mark.slow
RULES = {
    "size": None,
    "distinct": (RuleKind.DISTINCT, 2.0, 0),
    "entropy": (RuleKind.ENTROPY, 1.5, 0),
    "recursive": (RuleKind.RECURSIVE, 3.0, 2),
    "equal": (RuleKind.EQUAL_DISTANCE, 0.45, 0),
    "ordered": (RuleKind.ORDERED_DISTANCE, 0.4, 0),
    "gain": (RuleKind.GAIN, 1.5, 0),
    "capped-gain": (RuleKind.GAIN, 1.5, 1),
}

HOW = {
    "steps": Steps(sweeps=2, near=3, pooled=60, alone=100, noise=0.3, turn=1, polishes=3),
    "seed": 5,
    "stop": np.zeros(1, np.int64),
}


def rules_with(name, min_size, shares, n_kept=None):
    if RULES[name] is None:
        return only_size(min_size)
    kind, limit, order = RULES[name]
    return make_rules(min_size, [(kind, 0, 0, len(shares), limit, order)], shares, n_kept=n_kept)


def block(seed, name, *, sets=False, min_size=3, n=72, near=False):
    """A random block whose classes all satisfy the rules: (codes, weights, values, classes, prices, rules)."""
    random = np.random.default_rng(seed)
    table = coded_table(random, n)
    is_set = np.array([sets and d.n_codes <= 64 and not d.type.is_ordered for d in table.domains])
    codes = np.stack([table.quasi_codes(d) for d in range(len(table.domains))], axis=1)
    if near:  # similar tuples in one class
        codes = codes[np.lexsort(codes.T)]
    codes = np.where(is_set, np.left_shift(1, np.minimum(codes, 63)), codes)
    weights = random.integers(1, 4, len(codes))
    sensitive = random.integers(0, 4, len(codes))
    shares = np.bincount(sensitive, weights=weights, minlength=4) / weights.sum()
    rules = rules_with(name, min_size, shares)
    values = sensitive[:, None] if len(rules.kind) else np.zeros((len(codes), 0), np.int64)
    classes = np.arange(len(codes)) // 8
    if not all(holds(rules, sensitive, weights, classes == c) for c in np.unique(classes)):
        classes = classes * 0
    return codes, weights, values, classes, make_prices(table.space, is_set), rules


def holds(rules, sensitive, weights, part):
    hist = np.bincount(sensitive[part], weights=weights[part], minlength=4).astype(np.int64)
    return plain.judge(rules, hist, int(weights[part].sum()), new_spare(rules))[0]


def price_of(codes, weights, classes, prices):
    """Total price by looking at every class on its own."""
    total = 0
    for c in np.unique(classes):
        part = codes[classes == c]
        for d in range(codes.shape[1]):
            lo, hi = part[:, d].min(), part[:, d].max()
            if prices.is_set(d):
                lo = np.bitwise_or.reduce(part[:, d])
            total += int(weights[classes == c].sum() * cell_prices(prices, d, np.array([lo]), np.array([hi]))[0])
    return total


def assert_compiled_equals_plain(given, how):
    codes, weights, values, classes, prices, rules = given
    one, other = classes.copy(), classes.copy()
    assert plain.refine(codes, weights, values, one, prices, rules, **how) == compiled.refine(
        codes, weights, values, other, prices, rules, **how
    )
    assert one.tolist() == other.tolist()


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(often(1)))
def test_compiled_equals_plain(seed, name, sets):
    assert_compiled_equals_plain(block(seed, name, sets=sets), HOW)


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("name", [name for name in RULES if RULES[name]])
@pytest.mark.parametrize("boxes", [0, 2])
def test_counts_made_when_asked_for_are_those_that_classes_keep(name, boxes, sets):
    codes, weights, values, classes, prices, rules = block(4, name, sets=sets)
    made = rules_with(name, rules.min_size, rules.shares, n_kept=0)
    change = compiled.refine
    if boxes:
        levels = make_levels(coded_table(np.random.default_rng(4), 72).space, prices, np.arange(codes.shape[1]), None)
        change = partial(compiled.search_boxes, levels=levels)
    how = HOW | {"steps": HOW["steps"]._replace(boxes=boxes, work=10**6)}
    found = []
    for each in (rules, made):
        found.append(classes.copy())
        change(codes, weights, values, found[-1], prices, each, **how)
    assert found[0].tolist() == found[1].tolist()
    assert boxes or found[0].tolist() != classes.tolist()


@pytest.mark.parametrize(("name", "sets"), [("size", False), ("distinct", True)])
def test_passing_by_bunches_of_classes_changes_nothing(name, sets):
    from tablecloak.kernels.class_state import LISTED_FROM

    given = block(6, name, sets=sets, n=10 * LISTED_FROM, near=True)
    assert given[3].max() >= LISTED_FROM
    assert_compiled_equals_plain(given, HOW | {"steps": Steps(sweeps=2)})


@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("seed", range(4, 4 + often(1)))
def test_refining_lowers_the_price_and_keeps_the_goal(seed, name, sets):
    codes, weights, values, classes, prices, rules = block(seed, name, sets=sets)
    start = price_of(codes, weights, classes, prices)
    before, after = plain.refine(codes, weights, values, classes, prices, rules, **HOW)
    assert (before, after) == (start, price_of(codes, weights, classes, prices))
    assert after < before
    for c in np.unique(classes):
        part = classes == c
        assert weights[part].sum() >= rules.min_size
        if len(rules.kind):
            assert holds(rules, values[:, 0], weights, part)


@pytest.mark.parametrize("form", [plain, compiled])
def test_nothing_changes_once_asked_to_stop(form):
    codes, weights, values, classes, prices, rules = block(3, "entropy")
    asked = HOW | {"stop": np.ones(1, np.int64)}
    before, after = form.refine(codes, weights, values, found := classes.copy(), prices, rules, **asked)
    assert before == after
    assert found.tolist() == classes.tolist()


@pytest.mark.parametrize("model", RULES)
def test_a_class_falls_short_exactly_when_its_rules_do_not_hold(model):
    random = np.random.default_rng(9)
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    rules = rules_with(model, 1, shares)
    for counts in random.integers(0, 5, (200, 4)):
        size = int(counts.sum())
        if size == 0 or len(rules.kind) == 0:
            continue
        short = plain.judge(rules, counts, size, new_spare(rules))[1]
        assert (short <= 1e-9) == plain.judge(rules, counts, size, new_spare(rules))[0] or model == "recursive"
        assert abs(short - compiled.judge(rules, counts, size, new_spare(rules))[1]) < 1e-9


@pytest.mark.parametrize("form", [plain, compiled])
def test_the_ordered_distance_over_gaps_is_the_sum_over_all_places(form):
    random = np.random.default_rng(3)
    for n_places in (1, 2, 7, 300):
        shares = random.random(n_places) * (random.random(n_places) < 0.6) + 1e-3
        shares /= shares.sum()
        rules = make_rules(1, [(RuleKind.ORDERED_DISTANCE, 0, min(1, n_places - 1), n_places, 0.0, 0)], shares)
        for _ in range(40):
            counts = random.integers(1, 4, n_places) * (random.random(n_places) < random.choice([0.01, 0.3, 0.9]))
            size, first = max(1, int(counts.sum())), min(1, n_places - 1)
            apart = np.abs(np.cumsum(counts[first:] / size) - np.cumsum(shares[first:]))[:-1]
            expected = apart.sum() / max(1, n_places - 1 - first)
            assert abs(form.judge(rules, counts, size, new_spare(rules))[1] - expected) < 1e-12


def test_prices_are_the_losses_of_the_domains():
    table = coded_table(np.random.default_rng(1), 400)
    prices = make_prices(table.space, np.zeros(table.space.n_dims, bool))
    random = np.random.default_rng(2)
    for d, domain in enumerate(table.domains):
        lo, hi = np.sort(random.integers(0, domain.n_codes, (2, 300)), axis=0)
        expected = domain.loss(lo, hi) * table.space.weight[d]
        assert np.abs(cell_prices(prices, d, lo, hi) / FULL - expected).max() < 2 / FULL


MODELS = [
    LDiversity(l=3),
    LDiversity(l=2.5, variant="entropy"),
    LDiversity(l=3, variant="recursive", c=2),
    LDiversity(l=2, variant="recursive", c=1),
    TCloseness(t=0.3),
    TCloseness(t=0.25, distance="ordered"),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_rules_judge_as_models_do(model):
    random = np.random.default_rng(5)
    counts = [c for c in random.integers(0, 6, (300, 5)) * (random.random((300, 5)) < 0.7) if c.sum()]
    named = [{v: int(n) for v, n in enumerate(c) if n} for c in counts]
    totals = {v: 10 + v for v in range(5)}
    stats = stats_of_classes(named, order=range(5), totals=totals)
    shares = np.array([10.0, 11, 12, 13, 14]) / 60
    kind, limit, order = model.rule()[:3]
    rules = make_rules(1, [(kind, 0, 0, 5, limit, order)], shares)
    expected = (model.margin(stats) >= 0).tolist()
    assert [plain.judge(rules, c, int(c.sum()), new_spare(rules))[0] for c in counts] == expected
    assert [compiled.judge(rules, c, int(c.sum()), new_spare(rules))[0] for c in counts] == expected
    assert 0 < sum(expected) < len(expected)
