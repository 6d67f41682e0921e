"""Goals about a population: searches count whom classes cover, and say infeasible only where nothing helps."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import polars as pl
import pytest

import oracle_attacks
import tablecloak as tc
import tablecloak.data.register
from tablecloak.algorithms.topdown import _partition
from tablecloak.attacks import covering_classes
from tablecloak.data.domain import domain_of
from tablecloak.data.register import Boxes, Register, RegisterColumn
from tablecloak.data.table import ColumnType
from tablecloak.errors import GoalNotMet, Infeasible
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.c_confident_delta_presence import ConfidentDeltaPresence
from tablecloak.models.delta_presence import DeltaPresence
from tablecloak.models.k_map import KMap

TOWNS = {"*": {"north": ["a", "b", "c"], "south": ["d", "e"], "west": ["f"]}}
JOBS = {"*": {"hand": ["p", "q"], "head": ["r", "s", "t"]}}
QUASI = ["town", "job"]
COLUMNS = {
    "town": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": TOWNS}},
    "job": {"role": "quasi", "hierarchy": {"kind": "tree", "tree": JOBS}},
}
FULL_DOMAIN = ["flash", "optimal", "ola", "incognito"]
N_TABLES = 20


def paths_of(tree):
    """Every value with what stands for it, from itself up to the star."""
    return {leaf: [leaf, label, "*"] for label, leaves in tree["*"].items() for leaf in leaves}


PATHS = [paths_of(TOWNS), paths_of(JOBS)]


def a_table(seed):
    """A small table and a register of it and others, now and then without somebody of the table."""
    rng = np.random.default_rng(seed)

    def people(n, towns, jobs):
        return list(zip(rng.choice(list(towns), n).tolist(), rng.choice(list(jobs), n).tolist(), strict=True))

    rows = people(rng.integers(2, 7), "abde"[: rng.integers(1, 5)], "pqr")
    register = rows[int(rng.random() < 0.2) :] + people(rng.integers(1, 14), "abcdef", "pqrst")
    return rows, register


def covered(label, register):
    return sum(all(shown in path[value] for shown, path, value in zip(label, PATHS, x, strict=True)) for x in register)


def satisfies(goal, classes, register):
    """Whether classes, records by label, satisfy k-map (a number of people) or delta-presence (a chance)."""
    counts = [(n, covered(label, register)) for label, n in classes.items()]
    if isinstance(goal, KMap):
        return all(people >= goal.k for _, people in counts)
    if isinstance(goal, ConfidentDeltaPresence):
        others = goal.people - sum(classes.values())
        return all(confidence(goal, n, others, people / len(register)) >= goal.c for n, people in counts)
    return all(people and Fraction(n, people) <= Fraction(str(goal.delta_max)) for n, people in counts)


def confidence(goal, n, others, p):
    """How likely so many of the other people are in a class of n that its chance is not too large."""
    low = Fraction(str(goal.delta_max))
    return sum(comb(others, x) * p**x * (1 - p) ** (others - x) for x in range(others + 1) if Fraction(n, n + x) <= low)


def by_label(labels):
    classes = {}
    for label in labels:
        classes[label] = classes.get(label, 0) + 1
    return classes


def generalisations(rows):
    """The classes of every combination of levels, all stars among them."""
    for levels in product(range(3), repeat=2):
        yield by_label([tuple(p[v][level] for p, v, level in zip(PATHS, row, levels, strict=True)) for row in rows])


def partitions(rows):
    """The classes of every way to put records together, each class under the lowest labels that hold it."""
    for groups in set_partitions(rows):
        labels = [(label_of(group), len(group)) for group in groups]
        yield by_label([label for label, n in labels for _ in range(n)])


def set_partitions(rows):
    if not rows:
        yield []
        return
    for rest in set_partitions(rows[1:]):
        yield [[rows[0]], *rest]
        for i, group in enumerate(rest):
            yield [*rest[:i], [rows[0], *group], *rest[i + 1 :]]


def label_of(group):
    shared = [
        [label for label in path[group[0][d]] if all(label in path[x[d]] for x in group)]
        for d, path in enumerate(PATHS)
    ]
    return tuple(labels[0] for labels in shared)


def covers_nobody_twice(classes, register):
    return all(sum(covered(label, [x]) for label in classes) <= 1 for x in register)


def frame_of(people):
    return pl.DataFrame(people, schema=QUASI, orient="row")


def released(rows, register, goal, algorithm, folder):
    path = folder / "register.csv"
    frame_of(register).write_csv(path)
    policy = tc.Policy(columns=COLUMNS, goals=[goal], algorithm=algorithm, population={"path": str(path)})
    return tc.anonymize(frame_of(rows), policy)


def classes_of(release):
    return by_label([tuple(row[q] for q in QUASI) for row in release.frame.to_dicts()])


@pytest.mark.parametrize("goal", [KMap(k=8), DeltaPresence(delta_max=0.4)], ids=["k-map", "delta-presence"])
@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, "mondrian", "auto"])
def test_infeasible_is_said_only_where_no_release_satisfies_the_goal(goal, algorithm, tmp_path):
    n_infeasible = 0
    for seed in range(N_TABLES):
        rows, register = a_table(seed)
        can_be = any(satisfies(goal, classes, register) for classes in generalisations(rows))
        if algorithm not in FULL_DOMAIN and not can_be:
            can_be = any(
                satisfies(goal, classes, register) and covers_nobody_twice(classes, register)
                for classes in partitions(rows)
            )
        try:
            release = released(rows, register, goal, algorithm, tmp_path)
        except Infeasible:
            assert not can_be, (seed, rows, register)
            n_infeasible += 1
            continue
        assert can_be
        assert satisfies(goal, classes_of(release), register), seed
    assert 0 < n_infeasible < N_TABLES


def test_confident_presence_is_reached_wherever_a_generalisation_does(tmp_path):
    """It is not monotone: only the search that looks at every node may say that there is none."""
    goal, n_infeasible = ConfidentDeltaPresence(c=0.8, people=40, delta_max=0.12), 0
    for seed in range(2 * N_TABLES):
        rows, register = a_table(seed)
        can_be = any(satisfies(goal, classes, register) for classes in generalisations(rows))
        try:
            release = released(rows, register, goal, "optimal", tmp_path)
        except (Infeasible, GoalNotMet):
            assert not can_be, seed
            n_infeasible += 1
            continue
        assert satisfies(goal, classes_of(release), register), seed
    assert 0 < n_infeasible < 2 * N_TABLES


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "flash"])
def test_everybody_is_left_in_doubt_under_the_top_of_a_hierarchy(algorithm, tmp_path):
    """All records are of the north, where nobody else lives; those elsewhere must be covered, too."""
    rows = [("a", "p"), ("b", "q"), ("a", "p")]
    register = [*rows, ("d", "r"), ("f", "s"), ("e", "t")]
    release = released(rows, register, DeltaPresence(delta_min=0.3, delta_max=0.6), algorithm, tmp_path)
    assert classes_of(release) == {("*", "*"): 3}
    with pytest.raises(Infeasible):
        released(rows, register, DeltaPresence(delta_min=0.55, delta_max=0.6), algorithm, tmp_path)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("algorithm", [*FULL_DOMAIN, "mondrian", "auto", "datafly"])
def test_k_map_never_loses_more_than_k_anonymity(seed, algorithm, tmp_path):
    rng = np.random.default_rng(seed)
    ages, zips = rng.integers(20, 70, 300), rng.integers(100, 130, 300)
    everybody = pl.DataFrame({"age": ages, "zip": [str(z) for z in zips], "sex": rng.choice(["f", "m"], 300)})
    everybody.write_csv(tmp_path / "register.csv")
    columns = {"age": "quasi", "sex": "quasi", "zip": {"role": "quasi", "type": "text"}}
    losses = {}
    for name in ("k-anonymity", "k-map"):
        policy = tc.Policy(
            columns=columns, goals=[{"model": name, "k": 4}], algorithm=algorithm,
            population={"path": str(tmp_path / "register.csv")},
        )  # fmt: skip
        release = tc.anonymize(everybody[:80], policy)
        losses[name] = release.report.loss
    assert losses["k-map"] < losses["k-anonymity"]
    people, shown = everybody.to_dicts(), release.frame.to_dicts()
    assert oracle_attacks.k_map(people, shown, ["age", "zip", "sex"]) >= 4


def test_all_stars_are_found_where_nothing_else_hides_presence(tmp_path):
    """Six of 24 people live in one town of the north: only stars reach the 18 others."""
    rows = [("a", "p")] * 6
    register = rows + [("d", "r")] * 18
    for algorithm in ("mondrian", "auto", "flash", "optimal"):
        release = released(rows, register, DeltaPresence(delta_max=0.25), algorithm, tmp_path)
        assert classes_of(release) == {("*", "*"): 6}
        with pytest.raises(Infeasible, match=r"best: 0\.25,"):
            released(rows, register, DeltaPresence(delta_max=0.24), algorithm, tmp_path)


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "flash", "optimal"])
def test_two_regions_have_the_chances_of_the_survey(algorithm, tmp_path):
    """Zigomitros et al. 2020: 2 of 4 people of one region are in the table, 3 of 5 of another, so 1/2 to 3/5."""
    rows, register = [("a", "p")] * 2 + [("d", "p")] * 3, [("a", "p")] * 4 + [("d", "p")] * 5
    exact = released(rows, register, DeltaPresence(delta_min=0.5, delta_max=0.6), algorithm, tmp_path)
    assert classes_of(exact) == {("a", "p"): 2, ("d", "p"): 3}
    united = released(rows, register, DeltaPresence(delta_max=0.59), algorithm, tmp_path)
    assert {label[0] for label in classes_of(united)} == {"*"}  # 5 of 9


@pytest.mark.parametrize("algorithm", ["mondrian", "auto", "flash"])
@pytest.mark.parametrize("delta", [0.3, 0.5])
def test_delta_presence_holds_where_labels_overlap(algorithm, delta, tmp_path):
    """Intervals, sets and masks, as published, against an attacker who reads them."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = 240
        register = pl.DataFrame(
            {"age": rng.integers(20, 60, n), "job": rng.choice(list("stuvwxy"), n),
             "zip": [str(z) for z in rng.integers(100, 150, n)], "pay": rng.normal(size=n).round(3)}
        )  # fmt: skip
        register.write_csv(tmp_path / "register.csv")
        columns = {**dict.fromkeys(["age", "job", "pay"], "quasi"), "zip": {"role": "quasi", "type": "text"}}
        policy = tc.Policy(
            columns=columns, goals=[DeltaPresence(delta_max=delta)], algorithm=algorithm,
            population={"path": str(tmp_path / "register.csv")},
        )  # fmt: skip
        release = tc.anonymize(register[:60], policy)
        chances = oracle_attacks.membership(register.to_dicts(), release.frame.to_dicts(), list(columns))
        assert max(chances) <= Fraction(str(delta))


@pytest.mark.parametrize("goal", [KMap(k=4), DeltaPresence(delta_max=0.4)], ids=["k-map", "delta-presence"])
def test_jobs_on_threads_find_what_waves_find(goal, tmp_path, monkeypatch):
    rng = np.random.default_rng(7)
    register = pl.DataFrame({"age": rng.integers(20, 70, 900), "job": rng.integers(100, 130, 900)})
    register.write_csv(tmp_path / "register.csv")
    policy = tc.Policy(
        columns=tc.roles(quasi=["age", "job"]), goals=[goal], algorithm="mondrian",
        population={"path": str(tmp_path / "register.csv")},
    )  # fmt: skip
    frames = []
    for size in (1 << 17, 20):
        monkeypatch.setattr(_partition, "JOB_TUPLES", size)
        frames.append(tc.anonymize(register[:300], policy).frame)
    assert frames[0].equals(frames[1])
    assert frames[0].n_unique() > 10


def test_a_large_register_is_recounted_by_boxes(tmp_path, monkeypatch):
    """What is compared pair by pair is compared by boxes where that would take too long; both say the same."""
    rows, register = a_table(3)
    goal = KMap(k=4)
    usual = released(rows, register, goal, "mondrian", tmp_path).report.verification.verdicts[0]
    monkeypatch.setattr(covering_classes, "_by_label", lambda *_: None)
    monkeypatch.setattr(covering_classes, "PAIRS_UP_TO", 0)
    by_boxes = released(rows, register, goal, "mondrian", tmp_path).report.verification.verdicts[0]
    assert usual.achieved == by_boxes.achieved >= 4


@pytest.mark.parametrize("seed", range(20))
def test_a_register_counts_whom_boxes_cover(seed, monkeypatch):
    """Against loops over people and boxes: lines, trees with values that others lack, and sets."""
    monkeypatch.setattr(tablecloak.data.register, "PAIRS", [1, 50, 1 << 22][seed % 3])
    monkeypatch.setattr(tablecloak.data.register, "BLOCK", [16, 1 << 16][seed % 2])
    rng = np.random.default_rng(seed)
    path = Hierarchy.from_tree(TOWNS)
    table = {
        "n": sorted(set(rng.integers(0, 30, 8).tolist())),
        "town": list("abde"),
        "job": sorted(rng.choice(list("pqrst"), 3, replace=False)),
    }
    people = [
        (int(rng.integers(0, 40)), str(rng.choice(list("abcdef"))), str(rng.choice(list("pqrst")))) for _ in range(50)
    ]
    n_people = rng.integers(1, 4, len(people))
    columns, codes, domains = [], [], []
    for dim, (name, kind) in enumerate(
        [("n", ColumnType.INTEGER), ("town", ColumnType.TEXT), ("job", ColumnType.TEXT)]
    ):
        make = (lambda _: path) if name == "town" else None
        values = [x[dim] for x in people]
        ours = domain_of(pl.Series(name, table[name]), kind, make_hierarchy=make)
        theirs = domain_of(pl.Series(name, sorted(set(values))), kind, make_hierarchy=make)
        columns.append(RegisterColumn(ours, theirs))
        domains.append(ours)
        codes.append(np.array([theirs.code_of(pl.Series([v]))[0] for v in values]))
    register = Register(tuple(columns), tuple(codes), n_people)
    n = int(rng.integers(1, 12))
    ends = [np.sort(rng.integers(0, d.n_codes, (n, 2)), axis=1) for d in domains]
    boxes = Boxes(np.stack([e[:, 0] for e in ends], axis=1), np.stack([e[:, 1] for e in ends], axis=1))
    labels = [d.labels(e[:, 0], e[:, 1]) for d, e in zip(domains, ends, strict=True)]
    is_in = [[holds(labels, c, x) for c in range(n)] for x in people]
    expected = [sum(int(w) for row, w in zip(is_in, n_people, strict=True) if row[c]) for c in range(n)]
    assert register.covered(boxes).tolist() == expected
    assert register.first_class(boxes).tolist() == [row.index(True) if any(row) else -1 for row in is_in]


def holds(labels, c, person):
    """Whether a class covers somebody, read from its labels: [a, b] or a number, a node, {a, b} or a value."""
    number, town, job = (column[c] for column in labels)
    low, high = number.strip("[]").split(", ") if "," in number else (number, number)
    members = list("pqrst") if job == "*" else job.strip("{}").split(", ")
    return int(low) <= person[0] <= int(high) and town in PATHS[0][person[1]] and person[2] in members
