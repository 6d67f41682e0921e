"""What an algorithm promises, as checks that raise AssertionError: recounted in plain Python from the solution."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms import secret_order
from tablecloak.algorithms.base import Algorithm, Problem, Publishes, Solution
from tablecloak.data.coded import CodedTable, code_table
from tablecloak.data.domain import fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType
from tablecloak.errors import CloakError, Infeasible
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.k_concealment import KConcealment
from tablecloak.models.l_diversity import LDiversity
from tablecloak.progress import silent
from tablecloak.registry import known
from tablecloak.report.explain import describe
from tablecloak.rng import Secret
from tablecloak.stats.classes import Evidence
from tablecloak.values.amounts import most_of

JOBS = {"care": ["nurse", "doctor"], "school": ["teacher"], "craft": ["cook", "baker"]}
GOALS = {
    "k": Goal((KAnonymity(k=3),)),
    "k and l": Goal((KAnonymity(k=2), LDiversity(l=2))),
    "l": Goal((LDiversity(l=2),)),
    "concealment": Goal((KConcealment(k=3),)),
}
# Parameters without which an algorithm cannot be made.
ASKED: dict[str, dict[str, Any]] = {"levels": {"levels": {"age": 1, "job": 1}}, "univariate": {}}
# Algorithms that exchange rows by sensitive numbers, and so need some.
OF_NUMBERS = ("t-msn",)
SECRET = Secret(b"what all checks know".ljust(32, b"."))


def made(name: str) -> Algorithm:
    """An algorithm with as few parameters as it lets."""
    algorithm: Algorithm = known("algorithms")[name](**ASKED.get(name, {}))
    return algorithm


def frame_of(seed: int, n: int) -> pl.DataFrame:
    """Random rows, some of them equal, in no order."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(20, 20 + int(rng.choice([4, 30])), n),
            "job": rng.choice([job for jobs in JOBS.values() for job in jobs], n),
            "ill": rng.choice(["flu", "gout", "cold", "acne"], n),
        }
    )


def coded(frame: pl.DataFrame, algorithm: Algorithm) -> CodedTable:
    """The table as the algorithm wants it."""
    tree = Hierarchy.from_tree({"*": JOBS})
    ages = Hierarchy.from_paths([[str(a), f"{a // 5 * 5}s", f"{a // 10 * 10}s", "*"] for a in range(20, 60)])
    needs = algorithm.needs_hierarchies
    is_micro = algorithm.publishes is Publishes.CENTERS
    quasi = [fit_domain(frame["age"], ColumnType.INTEGER, make_hierarchy=(lambda _: ages) if needs else None)]
    if not is_micro:
        quasi.append(fit_domain(frame["job"], ColumnType.TEXT, make_hierarchy=lambda _: tree))
    if algorithm.name in OF_NUMBERS:
        numbers = frame["ill"].rank("dense").cast(pl.Int64)
        return code_table(quasi, [fit_sensitive(numbers, ColumnType.INTEGER)], by_row=algorithm.needs_rows)
    ills = Hierarchy.from_tree({"*": {"lung": ["flu", "cold"], "other": ["gout", "acne"]}})
    sensitive = fit_sensitive(frame["ill"], ColumnType.TEXT, make_hierarchy=lambda _: ills)
    return code_table(quasi, [sensitive], by_row=algorithm.needs_rows)


def solved(
    algorithm: Algorithm, frame: pl.DataFrame, goal: Goal, *, seed: int = 0
) -> tuple[CodedTable, Solution] | None:
    """What it finds, with the secret that all checks share; None where it says that there is nothing."""
    table = coded(frame, algorithm)
    if algorithm.needs_rows:
        order = np.lexsort(table.keys[::-1])
        table = table.reordered(order)
    try:
        return table, secret_order.solve(algorithm, Problem(table, goal, 1, seed, None, SECRET), silent)
    except Infeasible:
        return None


def rows_of(table: CodedTable, solution: Solution) -> list[tuple[int, tuple[int, ...], int]]:
    """One entry per record: its class (-1: left out), its codes, its sensitive code."""
    codes = [table.quasi_codes(d).tolist() for d in range(table.space.n_dims)]
    ill = table.sensitive_codes(0).tolist()
    return [
        (c, tuple(column[i] for column in codes), ill[i])
        for i, (c, n) in enumerate(zip(solution.class_of_tuple.tolist(), table.weights.tolist(), strict=True))
        for _ in range(n)
    ] if len(table.weights) else [
        (c, tuple(column[i] for column in codes), ill[i]) for i, c in enumerate(solution.class_of_tuple.tolist())
    ]  # fmt: skip


def covers(table: CodedTable, solution: Solution, a_class: int, codes: tuple[int, ...]) -> bool:
    """Whether what a class publishes stands for a record, in every column."""
    for d, domain in enumerate(table.domains):
        if d in solution.sets:
            if codes[d] not in solution.sets[d].lists()[a_class]:
                return False
        elif solution.nodes is not None and domain.hierarchy is not None:
            node = int(solution.nodes[a_class, d])
            if not domain.hierarchy.first[node] <= codes[d] <= domain.hierarchy.last[node]:
                return False
        elif not solution.lo[a_class, d] <= codes[d] <= solution.hi[a_class, d]:
            return False
    return True


def check_solution(algorithm: Algorithm, goal: Goal, frame: pl.DataFrame) -> bool:
    """The solution satisfies the goal, its cells cover, and no more is left out than allowed; False: there is none."""
    answer = solved(algorithm, frame, goal)
    if answer is None:
        return False
    table, solution = answer
    rows = rows_of(table, solution)
    assert len(rows) == frame.height
    assert set(range(solution.n_classes)) >= {c for c, _, _ in rows} - {-1}
    kept = [row for row in rows if row[0] >= 0]
    limit = algorithm.suppression_limit
    most = min(goal.min_size, frame.height - 1) if limit is None else most_of(frame.height, limit)
    assert frame.height - len(kept) <= most, f"{algorithm.name} leaves out {frame.height - len(kept)} of {most}"
    if algorithm.publishes is Publishes.GENERALIZED:
        assert all(covers(table, solution, c, codes) for c, codes, _ in kept), (
            f"{algorithm.name}: a cell does not cover"
        )
    for block in solution.bucketing.blocks if solution.bucketing else ():
        assert sorted(block.source.tolist()) == list(range(len(rows)))
        assert all(rows[i][0] == rows[j][0] for i, j in enumerate(block.source.tolist()))
    _recount(algorithm, goal, table, solution, kept)
    return True


def _recount(algorithm: Algorithm, goal: Goal, table: CodedTable, solution: Solution, kept: list[Any]) -> None:
    sizes = Counter(c for c, _, _ in kept)
    for model in goal.models:
        if model.name == "k-anonymity":
            assert min(sizes.values()) >= model.min_size, f"{algorithm.name}: a class of {min(sizes.values())} records"
        elif model.name == "l-diversity":
            values = {c: {s for other, _, s in kept if other == c} for c in sizes}
            assert min(map(len, values.values())) >= model.min_size, f"{algorithm.name}: a class is not diverse"
        elif Evidence.PAIRS in model.evidence:  # at least so many published rows could be anybody's
            for _, codes, _ in kept:
                assert sum(covers(table, solution, c, codes) for c, _, _ in kept) >= model.min_size


def published(table: CodedTable, solution: Solution) -> Counter[Any]:
    """What a release shows beside each record, whatever classes are called; of groups, who is with whom."""
    rows = rows_of(table, solution)
    if solution.bucketing is not None:
        members: dict[int, list[Any]] = {}
        for c, codes, ill in rows:
            members.setdefault(c, []).append((codes, ill))
        return Counter(tuple(sorted(group)) for group in members.values())
    boxes = [solution.lo, solution.hi, *([] if solution.nodes is None else [solution.nodes])]
    sets = [of_dim.lists() for of_dim in solution.sets.values()]
    shown = [
        (*(int(x) for array in boxes for x in array[c]), *(tuple(lists[c]) for lists in sets))
        for c in range(solution.n_classes)
    ]
    return Counter((codes, ill, None if c < 0 else shown[c]) for c, codes, ill in rows)


def check_determinism(algorithm: Algorithm, goal: Goal) -> None:
    """The same secret and seed give the same classes, whatever the order of rows."""
    frame = frame_of(5, 40)
    one, again = (solved(algorithm, frame, goal, seed=3) for _ in range(2))
    if one is None or again is None:
        assert one is again
        return
    np.testing.assert_array_equal(one[1].class_of_tuple, again[1].class_of_tuple)
    other = solved(algorithm, frame.sample(fraction=1, shuffle=True, seed=7), goal, seed=3)
    assert other is not None
    assert published(*other) == published(*one), f"{algorithm.name}: the order of rows decides"


def check_whole(algorithm: Algorithm) -> None:
    """Where nothing but all records together satisfies the goal, it finds that."""
    for seed, n in ((1, 12), (2, 40), (3, 25)):
        frame = frame_of(seed, n)
        n_ills = frame["ill"].n_unique()
        for models in ([KAnonymity(k=n)], [KAnonymity(k=n // 2 + 1)], [LDiversity(l=n_ills)],
                       [KAnonymity(k=n - 1), LDiversity(l=2)]):  # fmt: skip
            goal = Goal(tuple(models))
            if algorithm.refuses(goal) is None:
                assert check_solution(algorithm, goal, frame), f"{algorithm.name} does not find the whole table"


def accepted(algorithm: Algorithm) -> list[str]:
    """The goals that it does not refuse."""
    return [name for name, goal in GOALS.items() if algorithm.refuses(goal) is None]


def check_algorithm(algorithm: Algorithm) -> None:
    """Everything, on every goal that it does not refuse; whatever it refuses it has a reason for."""
    about = describe("algorithm", algorithm.name, type(algorithm))
    assert about.definition.endswith(".")
    assert all(parameter.description for parameter in about.parameters)
    refusals = [algorithm.refuses(goal) for goal in GOALS.values()]
    assert all(reason is None or len(reason) > 10 for reason in refusals)
    if algorithm.reaches_whole:
        check_whole(algorithm)
    goals = accepted(algorithm)
    assert goals, f"{algorithm.name} refuses every goal"
    n_found = 0
    for name in goals:
        for seed, n in ((1, 12), (2, 40)):
            try:
                n_found += check_solution(algorithm, GOALS[name], frame_of(seed, n))
            except CloakError as error:  # what it cannot do with a table it says in words
                if not error.hint:
                    raise
        check_determinism(algorithm, GOALS[name])
    assert n_found, f"{algorithm.name} finds nothing on any table"
