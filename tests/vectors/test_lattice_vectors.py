"""Full-domain and single-dimensional algorithms on the worked examples of the literature."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lattice_tables import coded
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.fulldomain._lattice import Lattice
from tablecloak.algorithms.fulldomain._searched_lattice import SAFE, UNKNOWN, UNSAFE, SearchedLattice
from tablecloak.algorithms.fulldomain.datafly import Datafly, nodes_on_the_way
from tablecloak.algorithms.fulldomain.flash import Flash, _Order, check_path, find_path
from tablecloak.algorithms.fulldomain.incognito import Incognito
from tablecloak.algorithms.fulldomain.lattice_view import minimal_nodes
from tablecloak.algorithms.topdown.single_dimensional import SingleDimensional
from tablecloak.algorithms.topdown.tds import igpl, information_gain
from tablecloak.models import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.progress import silent

# V-PEOPLE-1, the input of V-LATTICE-1, V-INCOGNITO-D1, V-DATAFLY-1 and V-FLASH-1: age, gender, post code
PEOPLE = [
    (44, "Male", "12278"), (57, "Male", "23448"), (53, "Female", "31284"), (45, "Male", "45026"),
    (49, "Female", "45354"), (42, "Male", "12456"), (59, "Male", "23781"), (54, "Female", "31695"),
]  # fmt: skip
PEOPLE_ROWS = [{"age": a, "gender": g, "post_code": p} for a, g, p in PEOPLE]
POST_CODE = [[p, f"{p[:2]}***", "*****"] for _, _, p in PEOPLE]
GENDER = [["Male", "*"], ["Female", "*"]]
AGE = [[str(a), f"[{a // 5 * 5}-{a // 5 * 5 + 5})", f"[{a // 10 * 10}-{a // 10 * 10 + 10})", "*"] for a, _, _ in PEOPLE]


def is_generalization(general, special):
    """Every level of the first is at least that of the second (direct, implied or equal)."""
    return all(a >= b for a, b in zip(general, special, strict=True))


def test_v_lattice_1_relations():
    assert (0, 1, 1) in Lattice((2, 1, 3)).successors((0, 1, 0))
    assert (0, 1, 1) not in Lattice((2, 1, 3)).successors((0, 0, 0))
    assert is_generalization((0, 1, 1), (0, 0, 0))
    assert not is_generalization((0, 1, 1), (1, 0, 0))


def test_v_incognito_d1():
    table = coded(PEOPLE_ROWS, {"post_code": POST_CODE, "gender": GENDER, "age": AGE})
    known = Incognito().explore(Problem(table, Goal((KAnonymity(k=2),))), silent)
    assert known.lattice.size == 24
    assert np.count_nonzero(known.tags == SAFE) == 7
    assert minimal_nodes(known.tags) == [(1, 1, 1), (2, 0, 3)]
    smallest = {n: int(known.judge.rollups.at(n).stats.size.min()) for n in [(1, 1, 1), (2, 0, 3)]}
    assert smallest == {(1, 1, 1): 2, (2, 0, 3): 3}


def test_v_datafly_1():
    table = coded(PEOPLE_ROWS, {"age": AGE, "post_code": POST_CODE})
    problem = Problem(table, Goal((KAnonymity(k=2),)))
    judge = Datafly(suppression_limit=0).judge(problem)
    way = [v.node for v in nodes_on_the_way(judge, silent)]
    assert way == [(0, 0), (0, 1), (1, 1)]  # the tie of 8 ages and 8 post codes goes to the post code
    assert [[judge.rollups.distinct(d, n[d]) for d in (0, 1)] for n in way] == [[8, 8], [8, 4], [4, 4]]
    solution = Datafly().solve(problem, silent)
    labels = solution.published(table.domains)
    published = [[str(c) for c in labels[n].publish(n, solution.class_of_row(table))] for n in ("age", "post_code")]
    sizes = {pair: sum(p == pair for p in zip(*published, strict=True)) for pair in zip(*published, strict=True)}
    assert sizes == {
        ("[40-45)", "12***"): 2, ("[55-60)", "23***"): 2, ("[50-55)", "31***"): 2, ("[45-50)", "45***"): 2,
    }  # fmt: skip


def flash_1():
    """A table whose lattice has the shape and the tags that the source describes: only decades hide people."""
    places = [[p, c, "*"] for p, c in [("Oslo", "Europe"), ("Rome", "Europe"), ("Lima", "America"), ("Pune", "Asia")]]
    years = [[str(y), f"{y // 10 * 10}s", "*"] for y in range(1980, 2000)]
    zips = [[z, z[:2] + "*", z[0] + "**", "***"] for z in ("111", "112", "121", "211", "221")]
    rows = [
        {"birth_place": places[i % 4][0], "birth_year": str(1980 + i), "zip_code": zips[i % 5][0]} for i in range(20)
    ]
    table = coded(rows, {"birth_place": places, "birth_year": years, "zip_code": zips})
    return SearchedLattice(Flash().judge(Problem(table, Goal((KAnonymity(k=2),)))), silent)


def test_v_flash_1_first_path():
    known = flash_1()
    assert known.lattice.heights == (2, 2, 3)
    assert known.lattice.size == 36
    assert known.lattice.row_sizes() == [1, 3, 6, 8, 8, 6, 3, 1]
    assert [len(list(known.lattice.row(i))) for i in range(8)] == known.lattice.row_sizes()
    order = _Order(known)
    path = find_path(known, (0, 0, 0), order)
    assert len(path) == 8
    assert path[-4:] == [(1, 0, 3), (2, 0, 3), (2, 1, 3), (2, 2, 3)]
    check_path(known, path, [], order)
    assert [(n, v.is_safe) for n, v in known.verdicts.items()] == [
        ((1, 0, 3), False), ((2, 1, 3), True), ((2, 0, 3), False),
    ]  # fmt: skip
    assert np.count_nonzero(known.tags == UNSAFE) == 12
    assert [tuple(n) for n in np.argwhere(known.tags == SAFE).tolist()] == [(2, 1, 3), (2, 2, 3)]
    assert np.count_nonzero(known.tags == UNKNOWN) == 22
    assert known.untagged(list(known.lattice.row(1))) == [(0, 1, 0)]


def test_v_flash_1_example_node_on_its_table():
    """[1, 0, 1]: continents, exact year, last digit of the zip code removed."""
    ladders = flash_1().judge.ladders
    shown = [
        {ladder.domain.hierarchy.labels[node] for node in ladder.rungs[level].node}
        for ladder, level in zip(ladders, (1, 0, 1), strict=True)
    ]
    assert shown[0] == {"Europe", "America", "Asia"}
    assert shown[1] == {str(year) for year in range(1980, 2000)}
    assert shown[2] == {"11*", "12*", "21*", "22*"}


def test_v_flash_1_whole_search_on_its_table():
    """Every tag is that of counting the node; what the first path left open is found safe or not by later ones."""
    known = flash_1()
    Flash().visit(known)
    sizes = {node: int(known.judge.rollups.at(node).stats.size.min()) for node in known.lattice.nodes()}
    assert {tuple(n) for n in np.argwhere(known.tags == SAFE).tolist()} == {n for n, size in sizes.items() if size >= 2}
    assert not (known.tags == UNKNOWN).any()
    assert {(2, 1, 3), (2, 2, 3)} <= {n for n, size in sizes.items() if size >= 2}
    assert len(known.verdicts) < 36 / 2


def test_igpl_vb02():
    assert information_gain(np.array([[3.0, 0.0], [0.0, 3.0]])) == 1.0
    assert igpl(1.0, 6 - 3) == 0.25
    assert igpl(0.5, 0) == 0.5


# B1: age, salary, profession, disease
SIX = [
    (24, 1800, "Police officer", "A"), (35, 2450, "Teacher", "B"), (30, 1900, "Firefighter", "B"),
    (57, 3100, "Nurse", "A"), (50, 2750, "Teacher", "A"), (62, 3350, "Doctor", "B"),
]  # fmt: skip
PROFESSIONS = {
    "Public safety": ["Police officer", "Firefighter"],
    "Health service": ["Nurse", "Doctor"],
    "Education": ["Teacher"],
}
TAXONOMY = [[leaf, group, "Root"] for group, leaves in PROFESSIONS.items() for leaf in leaves]
K2 = {
    "classes": {
        (1, 3): ["[24, 30]", "[1800, 1900]", "Public safety"],
        (2, 5): ["[35, 50]", "[2450, 2750]", "Teacher"],
        (4, 6): ["[57, 62]", "[3100, 3350]", "Health service"],
    },
    "DM": 12, "C_avg": 1.0, "GCP": 0.211507,
    "steps": json.loads(
        '["profession:split", "age:split", "profession:closed", "profession:closed", "salary:split", "age:split",'
        ' "age:closed", "salary:split", "age:closed", "salary:closed", "age:closed", "salary:closed", "salary:closed",'
        ' "profession:split", "profession:closed"]'
    ),
}  # fmt: skip
K3 = {
    "classes": {
        (1, 2, 3): ["[24, 35]", "[1800, 2450]", "Root"],
        (4, 5, 6): ["[50, 62]", "[2750, 3350]", "Root"],
    },
    "DM": 18, "C_avg": 1.0, "GCP": 0.568619,
    "steps": ["profession:closed", "age:split", "salary:split", "age:closed", "salary:closed", "age:closed",
              "salary:closed"],
}  # fmt: skip
K4 = {
    "classes": {(1, 2, 3, 4, 5, 6): ["[24, 62]", "[1800, 3350]", "Root"]},
    "DM": 36, "C_avg": 1.5, "GCP": 1.0,
    "steps": ["profession:closed", "age:closed", "salary:closed"],
}  # fmt: skip
QUASI = ("age", "salary", "profession")


def six(k, l):  # noqa: E741
    rows = [dict(zip((*QUASI, "disease"), row, strict=True)) for row in SIX]
    table = coded(rows, {"age": None, "salary": None, "profession": TAXONOMY}, ["disease"] if l else [])
    goal = Goal((KAnonymity(k=k), *([LDiversity(l=l)] if l else [])))
    return Problem(table, goal)


@pytest.mark.parametrize(("k", "l", "expected"), [(2, 0, K2), (2, 2, K2), (3, 0, K3), (3, 2, K3), (4, 0, K4)])
def test_single_dimensional_b8(k, l, expected):  # noqa: E741
    problem = six(k, l)
    run = SingleDimensional(width="maximum").run(problem, silent)
    assert run.steps == expected["steps"]
    table, solution = problem.table, run.grid.solution(run.closed)
    labels = solution.published(table.domains)
    classes = solution.class_of_row(table)
    found = {
        tuple(int(i) + 1 for i in np.flatnonzero(classes == c)): [
            labels[q].names[int(labels[q].of_class[c])] for q in QUASI
        ]
        for c in range(solution.n_classes)
    }
    assert found == expected["classes"]
    sizes = np.array([len(members) for members in found])
    assert (sizes**2).sum() == expected["DM"]
    assert 6 / len(found) / k == expected["C_avg"]
    size = solution.stats(table).size
    assert size @ solution.losses(table.domains).mean(axis=1) / 6 == pytest.approx(expected["GCP"], abs=1e-6)


def test_single_dimensional_widths_b8():
    run = SingleDimensional(width="maximum").run(six(6, 0), silent)
    widths = {p.dim: round(run.width(p), 6) for p in run.closed}
    assert widths == {0: 0.612903, 1: 0.462687, 2: 0.8}


def test_left_side_rule_b7():
    """Of 0, 0, 0, 0, 5, each twice, the median 0 leaves nothing on the left if only numbers below it go there."""
    rows = [{"x": v} for v in (0, 0, 0, 0, 5) * 2]
    problem = Problem(coded(rows, {"x": None}), Goal((KAnonymity(k=2),)))
    at_most = SingleDimensional(split="at-most", candidates="median").solve(problem, silent)
    below = SingleDimensional(split="below", candidates="median").solve(problem, silent)
    assert [at_most.n_classes, below.n_classes] == [2, 1]
    assert sorted(at_most.stats(problem.table).size) == [2, 8]


RECURSIVE = [("flu", 4), ("cold", 2), ("gout", 2), ("mumps", 1)]


@pytest.mark.parametrize("rule", ["at-most", "below"])
def test_best_cut_by_recursive_degree_is_that_of_trying_all(rule):
    """The cut whose worst class has the largest l with r_1 < c (r_l + ...), the median before the quartiles."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        numbers = np.sort(rng.integers(0, 9, 24))
        diseases = rng.choice([d for d, n in RECURSIVE for _ in range(n)], 24).tolist()
        rows = [{"x": int(x), "disease": d} for x, d in zip(numbers, diseases, strict=True)]
        goal = Goal((KAnonymity(k=2), LDiversity(variant="recursive", c=2.0, l=2)))
        problem = Problem(coded(rows, {"x": None}, ["disease"]), goal)
        if not goal.admits(problem.table.whole()).all():
            continue
        run = SingleDimensional(split=rule).run(problem, silent)
        sides = best_sides(numbers, diseases, 2.0, rule)
        if sides is None:
            assert run.steps == ["x:closed"]
            continue
        assert run.steps[0] == "x:split"
        number = problem.table.domains[0].values.to_list()
        bounds = sorted({number[p.lo] for p in run.closed})
        assert min(x for x in numbers if x > max(sides)) in bounds  # later splits only add bounds


def degree(diseases, c):
    counts = sorted((diseases.count(d) for d in set(diseases)), reverse=True)
    return max((n for n in range(1, len(counts) + 1) if counts[0] < c * sum(counts[n - 1 :])), default=0)


def best_sides(numbers, diseases, c, rule):
    """The numbers on the left of the best valid cut, or None."""
    best, left_of_best = -1, None
    for share in (0.5, 0.25, 0.75):
        at = np.quantile(numbers, share)
        is_left = numbers <= at if rule == "at-most" else numbers < at
        sides = [[d for d, here in zip(diseases, is_left == side, strict=True) if here] for side in (True, False)]
        if min(len(s) for s in sides) < 2:
            continue
        worst = min(degree(s, c) for s in sides)
        if worst >= 2 and worst > best:
            best, left_of_best = worst, numbers[is_left].tolist()
    return left_of_best
