"""Hiding columns, values, cells and records, and sibling generalisation, against trying everything by hand."""

import itertools
from collections import Counter

import numpy as np
import polars as pl
import pytest

from effort import often
from tablecloak import Policy, anonymize
from tablecloak.errors import Infeasible

QUASI = ["a", "b", "c"]


def draw(rng, n=14):
    return pl.DataFrame({name: rng.choice(list("uvwxyz")[: 2 + i], n).tolist() for i, name in enumerate(QUASI)})


def released(frame, k, **settings):
    policy = Policy(
        columns={name: {"role": "quasi", **settings.pop(f"column_{name}", {})} for name in frame.columns},
        goals=[{"model": "k-anonymity", "k": k}],
        algorithm=settings,
        output={"path": "out.csv", "order": "keep"},
    )
    return anonymize(frame, policy).frame.with_columns(pl.all().cast(pl.String))


def is_anonymous(rows, k):
    return all(n >= k for n in Counter(rows).values())


def test_attributes_hides_the_fewest_columns():
    rng = np.random.default_rng(1)
    for _ in range(often(20)):
        frame, k = draw(rng), int(rng.integers(2, 5))
        rows = released(frame, k, kind="suppression", unit="attributes").rows()
        hidden = {i for i in range(3) if all(row[i] == "*" for row in rows)}
        assert all(cell == "*" or i not in hidden for row in rows for i, cell in enumerate(row))
        fewest = min(
            len(s)
            for n in range(4)
            for s in itertools.combinations(range(3), n)
            if is_anonymous([tuple("*" if i in s else v for i, v in enumerate(row)) for row in frame.rows()], k)
        )
        assert len(hidden) == fewest


def test_values_are_hidden_everywhere_and_no_more_could_be_shown():
    rng = np.random.default_rng(2)
    for _ in range(often(20)):
        frame, k = draw(rng), int(rng.integers(2, 5))
        rows = released(frame, k, kind="suppression", unit="values").rows()
        assert is_anonymous(rows, k)
        published = [dict.fromkeys((o[i], r[i]) for o, r in zip(frame.rows(), rows, strict=True)) for i in range(3)]
        for i, pairs in enumerate(published):
            shown = dict(pairs)
            assert len(shown) == len(pairs)  # one label for a value, wherever it occurs
            for value in [v for v, label in shown.items() if label == "*"]:
                more = [
                    tuple(o[j] if j == i and o[j] == value else cell for j, cell in enumerate(r))
                    for o, r in zip(frame.rows(), rows, strict=True)
                ]
                assert not is_anonymous(more, k)


@pytest.mark.slow
def test_cells_hides_no_more_than_values_on_average():
    rng = np.random.default_rng(3)
    stars = Counter()
    for _ in range(often(20)):
        frame, k = draw(rng), int(rng.integers(2, 4))
        for unit in ("cells", "values", "attributes"):
            rows = released(frame, k, kind="suppression", unit=unit).rows()
            assert is_anonymous(rows, k)
            stars[unit] += sum(cell == "*" for row in rows for cell in row)
    assert stars["cells"] < stars["values"] < stars["attributes"]


def test_cells_of_one_odd_record_are_hidden_with_company():
    frame = pl.DataFrame({"a": list("uuuvvvw"), "b": list("xxxyyyx"), "c": list("uuuvvvu")})
    rows = released(frame, 3, kind="suppression").rows()
    assert rows.count(("v", "y", "v")) == 3
    assert rows.count(("*", "*", "*")) == 4  # the odd one is hidden, and the cheapest class with it


def test_records_are_left_out_up_to_the_limit():
    frame = pl.DataFrame({"a": list("uuuvvvw"), "b": list("xxxyyyx"), "c": list("uuuvvvu")})
    rows = released(frame, 3, kind="suppression", unit="records", suppression_limit=0.2).rows()
    assert Counter(rows) == {("u", "x", "u"): 3, ("v", "y", "v"): 3}
    with pytest.raises(Infeasible, match="1 of 7 records"):
        released(frame, 3, kind="suppression", unit="records", suppression_limit=0.1)


TREE = {"p": ["u", "v"], "q": ["w", "x", "y"]}
PARENT = {"u": "p", "v": "p", "w": "q", "x": "q", "y": "q", "p": "*", "q": "*"}


def test_sibling_generalisation_shows_children_one_by_one():
    rng = np.random.default_rng(4)
    gained = 0
    for _ in range(often(20)):
        frame, k = pl.DataFrame({"a": rng.choice(list("uvwxy"), 12).tolist()}), int(rng.integers(2, 5))
        tree = {"column_a": {"hierarchy": {"kind": "tree", "tree": TREE}}}
        cells = released(frame, k, kind="tds", scheme="sibling", **tree)["a"].to_list()
        assert is_anonymous(cells, k)
        label = dict(zip(frame["a"].to_list(), cells, strict=True))
        assert len(set(zip(frame["a"].to_list(), cells, strict=True))) == len(label)
        for value, shown in label.items():
            above = [value, PARENT[value], "*"]
            assert shown in above
            if shown == value:
                continue
            finer = above[above.index(shown) - 1]  # one more step down for all records that could take it
            more = [
                finer if cell == shown and finer in (v, PARENT[v]) else cell
                for v, cell in zip(frame["a"].to_list(), cells, strict=True)
            ]
            assert not is_anonymous(more, k)
        subtree = released(frame, k, kind="tds", **tree)["a"].to_list()
        gained += sum(c == v for c, v in zip(cells, frame["a"].to_list(), strict=True))
        gained -= sum(c == v for c, v in zip(subtree, frame["a"].to_list(), strict=True))
    assert gained > 0


def test_a_parent_stands_for_the_children_that_are_not_shown():
    """A parent stands for its children that are not shown: lawyers stay, the two rare ones do not."""
    jobs = ["lawyer"] * 3 + ["civil", "electrical"] + ["singer"] * 3
    tree = {"professional": ["civil", "electrical", "lawyer"], "artist": ["singer", "dancer"]}
    column = {"column_job": {"hierarchy": {"kind": "tree", "tree": tree}}}
    cells = released(pl.DataFrame({"job": jobs}), 2, kind="tds", scheme="sibling", **column)["job"].to_list()
    assert cells == ["lawyer"] * 3 + ["professional"] * 2 + ["singer"] * 3
    cells = released(pl.DataFrame({"job": jobs}), 2, kind="tds", **column)["job"].to_list()
    assert cells == ["professional"] * 5 + ["singer"] * 3
