"""Greedy k-member clustering on Adult, serial and parallel, with and without the class penalty.

    python -m benchmarks.kmember [--json FILE] [--quick]

The first 2,000 records with k = 5, 10, ..., 50; 400 to 2,000 records with k = 15; and all 30,162. Quasi-identifiers are
the eight columns beside the salary class, which is the target of the penalty. Seconds are the least of three runs in
one process, from coded records to classes, after one run that compiles kernels; the parallel forms have two threads.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.adult import QUASI, find_adult
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.algorithms.clustering.k_member import KMember
from tablecloak.algorithms.clustering.k_member_parallel import KMemberParallel
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import MakeHierarchy
from tablecloak.engines.base import QuasiColumn, SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.hierarchy.hierarchy_files import read_hierarchy
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import silent

TARGET = "salary-class"
# Their fields are made by a decorator, which type checkers do not see.
serial: Any = KMember
parallel: Any = KMemberParallel
FORMS: dict[str, Algorithm] = {
    "serial": serial(),
    "serial + cm": serial(target=TARGET),
    "parallel": parallel(),
    "parallel + cm": parallel(target=TARGET),
    "source": parallel(variant="source", groups=0),
    "source, groups": parallel(variant="source"),
    "source + cm": parallel(variant="source", groups=0, target=TARGET),
}


@dataclass(frozen=True, slots=True)
class Result:
    """One form of the algorithm on one table."""

    form: str
    rows: int
    k: int
    seconds: float
    total_il: float  # sum over clusters of records times the loss of their box, each column 0 to 1
    il: float  # the same per cell
    cm: float  # share of records that differ from the majority of their cluster in the target
    discernibility: int


def _tree(folder: Path, column: str) -> MakeHierarchy:
    return lambda _: read_hierarchy(folder / f"adult_hierarchy_{column}.csv")


def load(folder: Path, n_rows: int | None) -> CodedTable:
    """The first records of Adult, one by one."""
    frame = pl.read_csv(folder / "adult.csv", separator=";", n_rows=n_rows)
    frame = frame.with_columns(pl.col(pl.String).cast(pl.Categorical))
    quasi = [QuasiColumn(c, None if c == "age" else _tree(folder, c), 1.0) for c in QUASI]
    return LocalEngine().contingency(table_of(frame), quasi, [SensitiveColumn(TARGET, None)], by_row=True).table


def measured(form: str, table: CodedTable, k: int, *, repeat: int = 3) -> Result:
    """The least time of several runs, and what the clusters lose."""
    best, solution = min((_timed(FORMS[form], table, k) for _ in range(repeat)), key=lambda run: run[0])
    sizes = solution.stats(table).size
    total = float((sizes * solution.losses(table.domains).sum(axis=1)).sum())
    return Result(
        form, table.n_rows, k, best, total, total / table.n_rows / table.space.n_dims,
        _mixed(table, solution), int((sizes**2).sum()),
    )  # fmt: skip


def _timed(algorithm: Algorithm, table: CodedTable, k: int) -> tuple[float, Solution]:
    begin = time.perf_counter()
    solution = algorithm.solve(Problem(table, Goal((KAnonymity(k=k),)), 2), silent)
    return time.perf_counter() - begin, solution


def _mixed(table: CodedTable, solution: Solution) -> float:
    frame = pl.DataFrame({"class": solution.class_of_tuple, "target": table.sensitive_codes(0)})
    most = frame.group_by("class", "target").len().group_by("class").agg(pl.col("len").max())
    return 1 - int(most["len"].sum()) / table.n_rows


def settings(*, quick: bool) -> Iterator[tuple[int | None, int]]:
    """Rows (None: all) and k."""
    ks = (5, 50) if quick else range(5, 55, 5)
    yield from ((2_000, k) for k in ks)
    yield from ((n, 15) for n in ((400,) if quick else range(400, 2_001, 400)))
    yield from ((None, k) for k in (() if quick else (5, 15, 50)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, help="write one JSON object per result")
    parser.add_argument("--quick", action="store_true", help="few settings")
    parser.add_argument("--forms", nargs="*", default=list(FORMS), choices=list(FORMS), help="serial ones first")
    given = parser.parse_args()
    folder = find_adult()
    if folder is None:
        sys.exit("Adult is not here; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    for form in given.forms:  # compiles kernels outside the measurements
        measured(form, load(folder, 2_000), 50, repeat=1)
    print(f"{'form':<18} {'rows':>6} {'k':>3} {'seconds':>8} {'total IL':>9} {'IL/cell':>8} {'CM':>6} {'DM':>12} "
          f"{'seconds / serial':>17} {'IL / serial':>12}")  # fmt: skip
    results = []
    for n_rows, k in settings(quick=given.quick):
        table = load(folder, n_rows)
        found = [measured(form, table, k, repeat=3 if n_rows else 1) for form in given.forms]
        results += found
        for r in found:
            base = next((b for b in found if b.form == "serial" + " + cm" * r.form.endswith("cm")), found[0])
            print(f"{r.form:<18} {r.rows:>6} {r.k:>3} {r.seconds:>8.3f} {r.total_il:>9.1f} {r.il:>8.4f} {r.cm:>6.3f} "
                  f"{r.discernibility:>12,} {r.seconds / base.seconds:>17.2f} {r.total_il / base.total_il:>12.3f}",
                  flush=True)  # fmt: skip
    if given.json:
        given.json.write_text("".join(json.dumps(asdict(r)) + "\n" for r in results), encoding="utf-8")


if __name__ == "__main__":
    main()
