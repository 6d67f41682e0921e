"""The generalisation tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tablecloak.errors import DataError
from tablecloak.hierarchy import Hierarchy

PLACES = {"*": {"America": ["Brazil", "Mexico"], "Europe": ["Italy", "Spain", "Germany"]}}


@pytest.fixture
def places():
    return Hierarchy.from_tree(PLACES)


@st.composite
def trees(draw, max_leaves=12):
    """Random trees with chains, ragged depths and shuffled input."""
    n_leaves = draw(st.integers(1, max_leaves))
    nodes = [(f"v{i}",) for i in range(n_leaves)]
    paths = {leaf[0]: list(leaf) for leaf in nodes}
    open_ = [[leaf[0]] for leaf in nodes]
    n_groups = 0
    while len(open_) > 1:
        i = draw(st.integers(0, len(open_) - 1))
        j = draw(st.integers(i, min(len(open_), i + 3)))
        label = f"g{n_groups}"
        n_groups += 1
        merged = [leaf for part in open_[i : j + 1] for leaf in part]
        for leaf in merged:
            paths[leaf].append(label)
        open_[i : j + 1] = [merged]
        if n_groups > 30:
            break
    return Hierarchy.from_paths([[*path, "root"] for path in draw(st.permutations(list(paths.values())))])


def test_leaves_are_numbered_depth_first(places):
    assert places.leaf_labels == ("Brazil", "Mexico", "Italy", "Spain", "Germany")
    assert places.labels[places.n_leaves :] == ("America", "Europe", "*")
    assert places.parent.tolist() == [5, 5, 6, 6, 6, 7, 7, -1]
    assert [(int(a), int(b)) for a, b in zip(places.first, places.last, strict=True)][5:] == [(0, 1), (2, 4), (0, 4)]


def test_loss_is_share_of_leaves_and_zero_for_one_leaf():
    tree = Hierarchy.from_paths([["a", "A", "*"], ["b", "B", "*"], ["c", "B", "*"]])
    losses = dict(zip(tree.labels, tree.losses.tolist(), strict=True))
    assert losses == {"a": 0, "b": 0, "c": 0, "A": 0, "B": pytest.approx(2 / 3), "*": 1}


def test_children_appear_in_order_of_first_appearance():
    tree = Hierarchy.from_paths([["z", "Z", "*"], ["b", "A", "*"], ["y", "Z", "*"], ["a", "A", "*"]])
    assert tree.leaf_labels == ("z", "y", "b", "a")


def test_navigation(places):
    europe = places.find("Europe")
    assert [places.labels[c] for c in places.children(europe)] == ["Italy", "Spain", "Germany"]
    assert places.children(0) == []
    assert places.leaf_count(europe) == 3
    assert places.leaves_under(europe) == range(2, 5)
    assert places.node_height(europe) == places.level(europe) == 1
    assert places.height == 2
    assert places.leaves_of_label("America") == {"Brazil", "Mexico"}
    assert places.leaves_of_label("Asia") is None
    assert places.code("Italy") == 2
    assert places.code("Europe") is None
    assert places.codes(["Spain", "Atlantis", None]).tolist() == [3, -1, -1]
    assert [places.labels[n] for n in places.ancestors(0)] == ["Brazil", "America", "*"]


def test_lca_of_inner_nodes(places):
    europe = places.find("Europe")
    assert places.lca(2, europe) == europe
    assert places.lca(europe, europe) == europe
    assert places.lca(0, europe) == places.root


def test_distance_is_relative_height(places):
    assert places.distance(0, 0) == 0
    assert places.distance(0, 1) == 0.5
    assert places.distance(0, 4) == 1.0
    assert places.distance(2, places.find("Europe")) == 0.5


def test_chain_of_equal_labels():
    tree = Hierarchy.from_paths([["Other", "Other", "*"], ["a", "A", "*"]])
    assert tree.code("Other") == 0
    assert tree.find("Other") != 0
    assert tree.height == 2


def test_ragged_tree_repeats_leaf_in_ends():
    tree = Hierarchy.from_paths([["a", "*"], ["b", "B", "*"], ["c", "B", "*"]])
    assert tree.ends().tolist() == [[2, 0, 0], [2, 2, 1], [2, 2, 2]]
    assert tree.ends().dtype == np.int32
    assert tree.end_losses()[0].tolist() == [1, 0, 0]


def test_generalize_goes_as_high_as_the_level_allows():
    tree = Hierarchy.from_paths([["a", "*"], ["b", "B", "*"], ["c", "B", "*"]])
    assert [tree.labels[tree.generalize(c, 1)] for c in range(3)] == ["a", "B", "B"]
    assert tree.level_map(2).tolist() == [tree.root] * 3


def test_with_missing_adds_leaf_zero(places):
    more = places.with_missing()
    assert more.with_missing() is more
    assert more.labels[0] is None
    assert more.parent[0] == more.root
    assert more.n_leaves == 6
    assert more.code("Brazil") == 1
    assert more.code(None) == 0
    assert more.losses[more.find("Europe")] == places.losses[places.find("Europe")]
    assert more.leaves_under(more.root) == range(6)
    assert more.to_paths() == places.to_paths()
    assert more.to_tree() == places.to_tree()


def test_empty_column():
    tree = Hierarchy.from_paths([])
    assert (tree.n_leaves, tree.height, tree.ends().shape) == (0, 0, (0, 1))
    assert tree.with_missing().ends().tolist() == [[0, 0]]


def test_labels_of_a_tree_may_be_numbers():
    assert Hierarchy.from_tree({"old": [1990, True], "new": [2.5]}).leaf_labels == ("1990", "true", "2.5")


def test_mixed_children():
    tree = Hierarchy.from_tree(["x", {"G": ["a", "b"]}])
    assert tree.to_tree() == {"*": ["x", {"G": ["a", "b"]}]}


@pytest.mark.parametrize(
    ("paths", "message"),
    [
        ([["a", "*"], ["b", "all"]], "2 different roots: '*', 'all'"),
        ([["a"]], "a hierarchy path needs a value and a root"),
        ([["a", "X", "*"], ["a", "Y", "*"]], "'a' stands for unrelated groups"),
        ([["a", "X", "P", "*"], ["b", "X", "Q", "*"]], "'X' stands for unrelated groups"),
        ([["X", "*"], ["a", "X", "*"]], "'X' stands for unrelated groups"),
        ([["x", "G1", "x", "*"], ["x", "G2", "x", "*"]], "'x' stands for unrelated groups"),
    ],
)
def test_bad_paths_are_refused(paths, message):
    with pytest.raises(DataError) as caught:
        Hierarchy.from_paths(paths)
    assert caught.value.message == message
    assert caught.value.hint


def test_cycle_is_refused():
    with pytest.raises(DataError, match="contains itself"):
        Hierarchy.from_nodes(["r", "a", "b"], [-1, 2, 1])


@given(trees())
def test_every_node_covers_an_interval_and_parents_come_later(tree):
    for node in range(tree.n_nodes):
        children = tree.children(node)
        assert all(child < node for child in children)
        under = [leaf for child in children for leaf in tree.leaves_under(child)]
        assert not children or under == list(tree.leaves_under(node))
    assert tree.root == tree.n_nodes - 1


@given(trees(), st.data())
def test_lca_equals_brute_force(tree, data):
    u, v = (data.draw(st.integers(0, tree.n_nodes - 1)) for _ in range(2))
    common = set(tree.ancestors(u)) & set(tree.ancestors(v))
    assert tree.lca(u, v) == max(common, key=lambda node: tree.depths[node])


@given(trees(), st.data())
def test_lca_range_equals_brute_force(tree, data):
    lo = data.draw(st.integers(0, tree.n_leaves - 1))
    hi = data.draw(st.integers(lo, tree.n_leaves - 1))
    covering = [n for n in range(tree.n_nodes) if tree.first[n] <= lo and hi <= tree.last[n]]
    lowest = max(covering, key=lambda node: tree.depths[node])
    assert tree.lca_range(lo, hi) == lowest
    assert tree.lca_ranges(np.array([lo, lo]), np.array([hi, lo])).tolist() == [lowest, lo]


@given(trees())
def test_ends_equal_ancestors(tree):
    ends, losses = tree.ends(), tree.end_losses()
    for leaf in range(tree.n_leaves):
        path = tree.ancestors(leaf)[::-1]
        path += [leaf] * (tree.height + 1 - len(path))
        assert ends[leaf].tolist() == [tree.last[node] for node in path]
        assert losses[leaf].tolist() == [tree.losses[node] for node in path]


@given(trees(), st.integers(0, 8))
def test_levels_partition_the_leaves(tree, level):
    nodes = tree.level_map(level)
    assert nodes.tolist() == [tree.generalize(c, level) for c in range(tree.n_leaves)]
    for node in set(nodes.tolist()):
        assert nodes[tree.first[node] : tree.last[node] + 1].tolist() == [node] * tree.leaf_count(node)


@given(trees())
def test_paths_and_trees_read_back(tree):
    again = Hierarchy.from_paths(tree.to_paths())
    assert again.labels == tree.labels
    assert again.parent.tolist() == tree.parent.tolist()
    nested = Hierarchy.from_tree(tree.to_tree())
    assert nested.labels == tree.labels


@pytest.mark.slow
def test_hundred_thousand_paths_become_one_tree():
    values = [f"{i:05d}" for i in range(100_000)]
    paths = [[v, *(v[: 5 - i] + "*" * i for i in range(1, 6))] for v in values]
    tree = Hierarchy.from_paths(paths)
    assert tree.n_leaves == 100_000
    assert len(tree.labels) == 100_000 + 10_000 + 1_000 + 100 + 10 + 1
