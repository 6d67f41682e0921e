"""is_minimal against trying every specialisation of every class, or every lower node, in plain Python."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import lattice_tables as slow
import tablecloak as tc
from tablecloak.errors import IncompatibleChoice, Infeasible
from tablecloak.measure.minimal import _read, specialisations

TREES = {"a": slow.A, "b": slow.B}
JOBS = {"A1": ["a1", "a2"], "A2": ["a3", "a4"]}
COLUMNS = {
    "a": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": JOBS}},
    "b": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": ["b1", "b2", "b3"]}},
    "n": {"role": "quasi"},
    "s": {"role": "sensitive"},
}
OUTPUT = {"path": "out.csv", "order": "keep"}


def table(seed, n):
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "a": draw.choice([p[0] for p in slow.A], n).tolist(),
            "b": draw.choice([p[0] for p in slow.B], n).tolist(),
            "n": draw.integers(1, 9, n).tolist(),
            "s": draw.choice(["x", "y", "z"], n).tolist(),
        }
    )


def policy(algorithm, *goals, columns=COLUMNS):
    return tc.Policy(columns=columns, goals=goals, algorithm=algorithm, output=OUTPUT)


def classes_of(labels):
    groups = defaultdict(list)
    for i, cells in enumerate(labels):
        groups[tuple(cells)].append(i)
    return groups


def finer(column, label, values):
    """All ways to say more than a label of some rows: a label for each of them."""
    if column in TREES:
        paths = {p[0]: p for p in TREES[column]}
        at = paths[values[0]].index(label)
        return [[paths[v][level] for v in values] for level in range(at)]
    numbers = sorted(set(map(int, values)))
    ways = []
    for last in numbers[:-1]:
        sides = [[v for v in numbers if v <= last], [v for v in numbers if v > last]]
        shown = [str(s[0]) if len(s) == 1 else f"[{s[0]}, {s[-1]}]" for s in sides]
        ways.append([shown[int(v) > last] for v in values])
    return ways


def all_specialisations(original, labels, names, passes):
    """Pairs of a class and a column that could say more."""
    for cells, rows in classes_of(labels).items():
        for d, name in enumerate(names):
            for shown in finer(name, cells[d], [original[i][name] for i in rows]):
                changed = [list(row) for row in labels]
                for i, text in zip(rows, shown, strict=True):
                    changed[i][d] = text
                groups = classes_of(changed).values()
                if all(passes([original[i] for i in group]) for group in groups):
                    yield cells, name


@pytest.mark.parametrize("algorithm", ["mondrian", "datafly", "flash", "k-member", "auto"])
@pytest.mark.parametrize("l", [1, 2])
def test_classes_that_could_say_more_are_those_of_trying_everything(algorithm, l):  # noqa: E741
    # numbers without a hierarchy would get an automatic one where columns are generalised to levels
    names, told = ["a", "b", "n"][: 2 if algorithm in ("flash", "datafly") else 3], 0
    goals = [tc.KAnonymity(k=2), *([tc.LDiversity(l=l)] if l > 1 else [])]
    for seed in range(6):
        frame = table(seed, 14).select(*names, "s")
        chosen = {"kind": algorithm, **({"suppression_limit": 0} if algorithm == "datafly" else {})}
        wanted = policy(chosen, *goals, columns={name: COLUMNS[name] for name in frame.columns})
        try:
            run = tc.anonymize(frame, wanted)
        except Infeasible:
            continue
        release = run.frame
        labels = release.select(names).cast(pl.String).rows()
        expected = set(all_specialisations(frame.to_dicts(), labels, names, slow.k_and_l(2, l)))
        assert tc.is_minimal(frame, run, wanted) == (not expected)
        answer = tc.is_minimal(frame, release, wanted)
        if answer is None:
            continue
        told += 1
        assert answer == (not expected)
        matched = _read(frame, release, wanted).matched()
        assert {(labels[s.rows[0]], s.column) for s in specialisations(matched)} == expected
    assert told


def test_a_release_of_a_coarser_goal_is_not_minimal_and_a_lone_class_may_be():
    frame = pl.DataFrame({"a": ["a1", "a1", "a3", "a3"], "s": ["x", "y", "x", "y"]})
    columns = {c: COLUMNS[c] for c in ("a", "s")}
    whole = frame.with_columns(a=pl.lit("*"))
    fine = policy("auto", tc.KAnonymity(k=2), columns=columns)
    assert tc.is_minimal(frame, whole, fine) is False
    assert tc.is_minimal(frame, frame, fine) is True
    assert tc.is_minimal(frame, whole, policy("auto", tc.KAnonymity(k=3), columns=columns)) is True


@pytest.mark.parametrize("l", [1, 2])
def test_lower_nodes_that_hold_are_those_of_counting_every_node(l):  # noqa: E741
    columns = {c: COLUMNS[c] for c in ("a", "b", "s")}
    answers = set()
    for seed, node in itertools.product(range(3), slow.nodes_of(TREES)):
        frame = table(seed, 12).drop("n")
        goals = [tc.KAnonymity(k=2), *([tc.LDiversity(l=l)] if l > 1 else [])]
        levels = {"kind": "levels", "levels": dict(zip(TREES, node, strict=True)), "suppression_limit": 0.3}
        wanted = policy(levels, *goals, columns=columns)
        rows, passes = frame.to_dicts(), slow.k_and_l(2, l)
        is_safe, n_out, _ = slow.judge(rows, TREES, node, passes, 3, "gcp")
        if not is_safe:
            continue
        release = tc.anonymize(frame, wanted).frame
        lower = [n for n in slow.nodes_of(TREES) if n != node and all(x <= y for x, y in zip(n, node, strict=True))]
        expected = not any(slow.judge(rows, TREES, n, passes, n_out, "gcp")[0] for n in lower)
        answers.add(expected)
        assert tc.is_minimal(frame, release, wanted, scope="full_domain") is expected
    assert answers == {True, False}


def test_average_goals_are_asked_of_the_whole_table():
    frame = pl.DataFrame({"a": ["a1", "a2", "a3", "a3", "a3", "a3", "a3", "a3"]})
    columns = {"a": COLUMNS["a"]}
    release = frame.with_columns(a=pl.Series(["A1", "A1", *["a3"] * 6]))
    average = {"model": "average-risk", "limit": 0.4}  # three classes of eight persons: 0.375
    assert tc.is_minimal(frame, release, policy("auto", average, columns=columns)) is False
    average = {"model": "average-risk", "limit": 0.3}
    assert tc.is_minimal(frame, release, policy("auto", average, columns=columns)) is True


@pytest.mark.parametrize("algorithm", ["mondrian", "k-member", "hilbert"])
def test_a_run_knows_whose_its_rows_are_in_any_order(algorithm):
    """Rows come in an order that says nothing, and labels may overlap; the answer is that of rows in order."""
    for seed in range(4):
        frame, goals = table(seed, 16), [tc.KAnonymity(k=3)]
        shuffled = tc.Policy(columns=COLUMNS, goals=goals, algorithm=algorithm)
        kept = policy(algorithm, *goals)
        run, as_it_was = tc.anonymize(frame, shuffled), tc.anonymize(frame, kept)
        names = ["a", "b", "n"]
        labels = as_it_was.frame.select(names).cast(pl.String).rows()
        expected = not any(all_specialisations(frame.to_dicts(), labels, names, slow.k_and_l(3, 1)))
        assert tc.is_minimal(frame, as_it_was, kept) is expected
        if sorted(run.frame.select(names).cast(pl.String).rows()) == sorted(labels):
            assert tc.is_minimal(frame, run, shuffled) is expected


def test_what_cannot_be_asked_is_refused():
    frame = table(1, 12)
    release = tc.anonymize(frame, policy("mondrian", tc.KAnonymity(k=2))).frame
    with pytest.raises(IncompatibleChoice, match="one level"):
        tc.is_minimal(frame, release, policy("mondrian", tc.KAnonymity(k=2)), scope="full_domain")
    with pytest.raises(IncompatibleChoice, match="scope"):
        tc.is_minimal(frame, release, policy("mondrian", tc.KAnonymity(k=2)), scope="cell")
    with pytest.raises(IncompatibleChoice, match="classes"):
        tc.is_minimal(frame, frame, policy("anatomy", tc.LDiversity(l=2)))


def test_files_are_read_where_they_are(tmp_path):
    frame = table(3, 14)
    wanted = policy("mondrian", tc.KAnonymity(k=2))
    release = tc.anonymize(frame, wanted).frame
    frame.write_csv(tmp_path / "in.csv")
    release.write_csv(tmp_path / "out.csv")
    answer = tc.is_minimal(frame, release, wanted)
    assert tc.is_minimal(tmp_path / "in.csv", tmp_path / "out.csv", wanted) is answer
