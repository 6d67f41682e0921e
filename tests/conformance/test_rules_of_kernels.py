"""A quick rule in a kernel is held against the formula of its model, for every registered model and its examples."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from checks_models import DOMAIN, VALUES, instances, random_classes, stats_of

from tablecloak.algorithms.topdown.auto import rules_of
from tablecloak.data.coded import CodedTable, code_table
from tablecloak.data.domain import fit_domain
from tablecloak.data.table import ColumnType
from tablecloak.kernels.rules import judge, new_spare
from tablecloak.models.base import Goal
from tablecloak.models.l_diversity import LDiversity
from tablecloak.stats.classes import SensitiveDomain, count_classes

GAPS = SensitiveDomain("s", (None, *VALUES[:5]), is_ordered=True)


def admitted(form, rules, hists, sizes):
    spare = new_spare(rules)
    return np.array([form(rules, hist, int(n), spare)[0] for hist, n in zip(hists, sizes, strict=True)])


def plain(rules, hists, sizes):
    return admitted(judge.plain, rules, hists, sizes)


def compiled(rules, hists, sizes):
    return admitted(judge.sized(10**9), rules, hists, sizes)


KERNELS = [plain, pytest.param(compiled, marks=pytest.mark.slow)]


def table_of(counts, domain) -> CodedTable:
    """A table of classes given as counts of values, (n_classes, n_values): one quasi-identifier that numbers them."""
    numbers, codes = np.nonzero(counts)
    repeats = counts[numbers, codes]
    rows = np.repeat(numbers, repeats)
    quasi = fit_domain(pl.Series("q", rows), ColumnType.INTEGER)
    return code_table([quasi], [(domain, np.repeat(codes, repeats).astype(np.uint32))])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", instances(), ids=str)
def test_a_rule_says_what_the_formula_says(model, kernel):
    goal = Goal((model,))
    for seed in range(6):
        counts = random_classes(seed, 30)
        counts = np.vstack([counts, counts.sum(axis=0, keepdims=True)])
        rules, counted, is_whole = rules_of(goal, table_of(counts, DOMAIN))
        expected = goal.admits(stats_of(counts))
        width = len(VALUES) if counted else 0
        found = kernel(rules, np.ascontiguousarray(counts[:, :width]), counts.sum(axis=1))
        if is_whole:
            np.testing.assert_array_equal(found, expected)
        else:  # a rule that is not the whole goal may only admit more: what it rules out is ruled out
            assert not (expected & ~found).any()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("model", [m for m in instances() if m.rule() is not None], ids=str)
def test_a_rule_treats_empty_cells_as_the_formula_does(model, kernel):
    for seed in range(6):
        counts = random_classes(seed, 30)
        numbers, codes = np.nonzero(counts)
        stats = count_classes(numbers, len(counts), {"s": (codes, GAPS)}, weights=counts[numbers, codes])
        rules, _, is_whole = rules_of(Goal((model,)), table_of(counts, GAPS))
        assert is_whole
        found = kernel(rules, counts, counts.sum(axis=1))
        assert found.tolist() == Goal((model,)).admits(stats).tolist()


@pytest.mark.parametrize("domain", [DOMAIN, GAPS], ids=["values", "gaps"])
@pytest.mark.parametrize("model", instances(), ids=str)
def test_bounds_on_counts_hold_where_the_formula_does(model, domain):
    for seed in range(6):
        counts = random_classes(seed, 30)
        bounds = model.bounds(domain, counts.sum(axis=0))
        if bounds is None:
            return
        numbers, codes = np.nonzero(counts)
        stats = count_classes(numbers, len(counts), {"s": (codes, domain)}, weights=counts[numbers, codes])
        excess = bounds.excess(counts @ bounds.features, counts.sum(axis=1).astype(float))
        assert (excess == 0).tolist() == Goal((model,)).admits(stats).tolist()


def test_models_with_bounds_are_those_of_closeness():
    named = {m.name for m in instances() if m.bounds(DOMAIN, np.ones(len(VALUES), np.int64)) is not None}
    assert named == {"t-closeness", "beta-likeness"}


def test_models_with_a_rule_are_those_that_kernels_judge():
    named = {m.name for m in instances() if m.rule() is not None}
    assert named >= {"l-diversity", "t-closeness", "beta-likeness"}
    assert {m.name for m in instances() if m.in_search.size_decides} >= {"k-anonymity", "average-risk"}


def test_only_attributes_with_few_values_have_counts_in_every_class():
    quasi = fit_domain(pl.Series("q", np.arange(1000)), ColumnType.INTEGER)
    few = SensitiveDomain("few", tuple("abc"))
    many = SensitiveDomain("many", tuple(map(str, range(1000))))
    codes = np.arange(1000, dtype=np.uint32)
    table = code_table([quasi], [(many, codes), (few, codes % 3)])
    rules, counted, _ = rules_of(Goal((LDiversity(l=2),)), table)
    assert [table.sensitive[i].name for i in counted] == ["few", "many"]
    assert (rules.n_kept, rules.end.max()) == (3, 1003)
