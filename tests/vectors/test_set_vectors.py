"""Worked examples about sets of items, with their numbers; ids are those of the vectors."""

from __future__ import annotations

import pytest

import oracle_sets
from tablecloak.algorithms.items.cut_search import ItemProblem, find_cut
from tablecloak.data.coded_baskets import Baskets
from tablecloak.data.itemsets import count_itemsets, rare_itemsets
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.km_anonymity import KmAnonymity
from tablecloak.pipeline import anonymize
from tablecloak.policy.schema import Policy
from tablecloak.progress import silent

PAYMENTS = [[11000, 11000, 20000, 40000, 40000], [11000, 30500, 40000], [11000, 11000, 40000, 40000], [11000], [20000]]
LOW, HIGH = "(10000-20000]", "(30000-40000]"
V_KM_1_PRINTED = [[LOW, LOW, HIGH, HIGH, HIGH], [LOW, HIGH, HIGH], [LOW, LOW, HIGH, HIGH], [LOW], [LOW]]
V_KM_1_CORRECT = [[LOW, LOW, LOW, HIGH, HIGH], [LOW, HIGH, HIGH], [LOW, LOW, HIGH, HIGH], [LOW], [LOW]]
RARE = "[20000-30500]"
V_KM_2 = [["11000", "11000", RARE, "40000", "40000"], ["11000", RARE, "40000"], ["11000", "11000", "40000", "40000"],
          ["11000"], [RARE]]  # fmt: skip
V_KM_3 = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
V_KM_3_TREE = {"ALL": ["A", "B"], "A": ["a1", "a2"], "B": ["b1", "b2"]}
VD04 = [["beer", "diapers", "milk"], ["beer", "diapers", "milk"], ["beer", "milk"], ["diapers", "milk"],
        ["beer", "diapers"]]  # fmt: skip


def coded(sets, *, multiset=False):
    labels = sorted({str(item) for items in sets for item in items})
    codes = [[labels.index(str(item)) for item in items] for items in sets]
    return Baskets.from_lists(codes, len(labels), copies=multiset), labels


def count(sets, m, k=2, *, multiset=False):
    return count_itemsets(coded(sets, multiset=multiset)[0], m, k=k)


def holds(sets, k, m, *, multiset=False):
    model = KmAnonymity(k=k, m=m, multiset=multiset)
    found = model.check(count(sets, m, k, multiset=multiset))
    assert found == oracle_sets.is_km_anonymous(sets, k, m, multiset=multiset)
    return found


def test_v_km_1_input_has_five_rare_combinations():
    baskets, labels = coded(PAYMENTS)
    rare = {tuple(int(labels[code]) for code in itemset) for itemset in rare_itemsets(baskets, 2, 2)}
    # (30500, 40000) is the fifth: it begins with 30500, which stands for it
    assert rare == {(30500,), (11000, 20000), (11000, 30500), (20000, 40000)}
    assert count(PAYMENTS, 2).n_rare == (1, 4)
    assert not holds(PAYMENTS, 2, 2)


@pytest.mark.parametrize("output", [V_KM_1_PRINTED, V_KM_1_CORRECT], ids=["printed", "correct"])
def test_v_km_1_outputs_are_2_2_anonymous_and_as_multisets_not_2_3(output):
    assert holds(output, 2, 2)
    assert holds(output, 2, 2, multiset=True)
    assert not holds(output, 2, 3, multiset=True)


def test_v_km_2_output_of_a_dynamic_hierarchy():
    assert holds(V_KM_2, 2, 2)
    assert holds(V_KM_2, 2, 2, multiset=True)
    assert holds(V_KM_2, 2, 3)
    assert not holds(V_KM_2, 2, 3, multiset=True)


def test_v_km_2_is_what_a_range_around_the_rare_values_gives():
    tree = {RARE: ["20000", "30500"], "11000 or 40000": ["11000", "40000"]}
    column = {"role": "items", "hierarchy": {"kind": "tree", "tree": tree}}
    for is_multiset in (True, False):
        goal = KmAnonymity(k=2, m=2, multiset=is_multiset)
        policy = Policy(columns={"items": column}, goals=[goal], output={"path": "out.csv", "order": "keep"})
        release = anonymize([[str(item) for item in items] for items in PAYMENTS], policy)
        shown = [sorted(cell.split(";")) for cell in release.frame["items"]]
        assert shown == [sorted(items if is_multiset else set(items)) for items in V_KM_2]
    generalized = [
        [item.startswith(("[", "(")) for items in sets for item in items] for sets in (V_KM_2, V_KM_1_CORRECT)
    ]
    assert list(map(sum, generalized)) == [3, 14]


def test_v_km_3_supports_and_violations():
    expected = {("a1",): 2, ("a2",): 3, ("b1",): 3, ("b2",): 3, ("a1", "b1"): 1, ("a1", "b2"): 2, ("a1", "a2"): 1,
                ("a2", "b1"): 2, ("a2", "b2"): 2, ("b1", "b2"): 2}  # fmt: skip
    assert oracle_sets.supports(V_KM_3, 2) == expected
    baskets, labels = coded(V_KM_3)
    rare = {tuple(labels[code] for code in itemset) for itemset in rare_itemsets(baskets, 2, 2)}
    assert rare == {("a1", "a2"), ("a1", "b1")}
    assert rare_itemsets(baskets, 1, 2) == []


def test_v_km_3_apriori_raises_a_and_nothing_else():
    hierarchy = Hierarchy.from_tree({"ALL": {"A": ["a1", "a2"], "B": ["b1", "b2"]}})
    codes = [[hierarchy.code(item) for item in items] for items in V_KM_3]
    problem = ItemProblem(Baskets.from_lists(codes, 4), hierarchy, KmAnonymity(k=2, m=2))
    cut = find_cut(problem, silent)
    assert [hierarchy.labels[node] for node in cut.node_of] == ["A", "A", "b1", "b2"]


def test_v_km_3_release():
    hierarchy = {"kind": "tree", "tree": {"ALL": {"A": ["a1", "a2"], "B": ["b1", "b2"]}}}
    policy = Policy(columns={"items": {"role": "items", "hierarchy": hierarchy}}, goals=[KmAnonymity(k=2, m=2)])
    release = anonymize(V_KM_3, policy)
    shown = [sorted(cell.split(";")) for cell in release.frame["items"]]
    assert sorted(shown) == [["A", "b1"], ["A", "b1", "b2"], ["A", "b1", "b2"], ["A", "b2"]]


def test_v_km_3_other_cuts():
    only_b = oracle_sets.published(V_KM_3, {"a1": "a1", "a2": "a2", "b1": "B", "b2": "B"})
    both = oracle_sets.published(V_KM_3, {"a1": "A", "a2": "A", "b1": "B", "b2": "B"})
    assert not holds(only_b, 2, 2)
    assert holds(both, 2, 2)


def test_vd04_largest_k_by_m():
    assert {m: KmAnonymity(k=2, m=m).measure(count(VD04, m)) for m in (1, 2, 3)} == {1: 4, 2: 3, 3: 2}
    more = [*VD04, ["milk", "tea"]]
    assert {m: KmAnonymity(k=2, m=m).measure(count(more, m)) for m in (1, 2, 3)} == {1: 1, 2: 1, 3: 1}


def test_vb04_k_records_are_enough():
    sets = [["milk", "beer", "diapers"]] * 5
    assert holds(sets, 5, 3)
    assert not holds(sets[:4], 5, 3)


def test_a12_requirement_before_and_after():
    sets = [["Asthma", "Eye"], ["Asthma", "Eye", "Beef"], ["Eye", "Beef"], ["Asthma", "Skin", "Beef"],
            ["Asthma", "Beef"], ["Eye", "Bread"], ["Skin", "Beef"]]  # fmt: skip
    hierarchy = Hierarchy.from_tree({"G1": ["Asthma", "Eye"], "G2": ["Beef", "Bread", "Skin"]})
    codes = [[hierarchy.code(item) for item in items] for items in sets]
    problem = ItemProblem(Baskets.from_lists(codes, hierarchy.n_leaves), hierarchy, KmAnonymity(k=4, m=2))
    assert problem.support({hierarchy.code("Asthma"): 1, hierarchy.code("Skin"): 1}) == 1
    assert problem.support({hierarchy.find("G1"): 1, hierarchy.find("G2"): 1}) == 5
    group_of = {item: group for group in ("G1", "G2") for item in hierarchy.leaves_of_label(group)}
    shown = [sorted(items) for items in oracle_sets.published(sets, group_of)]
    assert sorted(shown) == [["G1"], *[["G1", "G2"]] * 5, ["G2"]]
    assert sum({"G1", "G2"} <= set(items) for items in shown) == 5
