"""What each method loses on Adult: every registered algorithm x k, measured in one run.

    python -m benchmarks.quality [--k 2,5,10] [--only auto,mondrian] [--json FILE] [--svg FILE]

Adult and its hierarchies are looked for in $TABLECLOAK_DATA, else in ../shared/data. Age is a number unless a method
needs a hierarchy for every column. Seconds are processor seconds of all threads, after one run that compiles kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.chart import line_chart
from tablecloak import registry
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import QuasiColumn
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import CloakError
from tablecloak.hierarchy.files import read_hierarchy
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.progress import silent

DEFAULT_K = (2, 5, 10, 25, 50, 100)


@dataclass(frozen=True, slots=True)
class Result:
    """One method at one k."""

    method: str
    k: int
    gcp: float
    discernibility: int
    c_avg: float
    suppressed: int
    seconds: float


def data_folder() -> Path:
    given = os.environ.get("TABLECLOAK_DATA")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data"


def load_adult(folder: Path, *, with_age: bool, by_row: bool) -> CodedTable:
    """Adult with all nine columns as quasi-identifiers."""
    frame = pl.read_csv(folder / "adult.csv", separator=";").with_columns(pl.col(pl.String).cast(pl.Categorical))
    quasi = [
        QuasiColumn(
            c, None if c == "age" and not with_age else lambda _, c=c: read_hierarchy(hierarchy_of(folder, c)), 1.0
        )
        for c in frame.columns
    ]
    return LocalEngine().contingency(table_of(frame), quasi, [], by_row=by_row).table


def hierarchy_of(folder: Path, column: str) -> Path:
    return folder / f"adult_hierarchy_{column}.csv"


def measured(name: str, k: int, table: CodedTable, solution: Solution, seconds: float) -> Result:
    sizes = solution.stats(table).size
    suppressed = table.n_rows - int(sizes.sum())
    lost = float((sizes * solution.losses(table.domains).mean(axis=1)).sum()) + suppressed
    filled = sizes[sizes > 0]
    return Result(
        method=name,
        k=k,
        gcp=lost / table.n_rows,
        discernibility=int((filled**2).sum()) + suppressed * table.n_rows,
        c_avg=float(filled.mean() / k),
        suppressed=suppressed,
        seconds=seconds,
    )


def methods(only: list[str] | None) -> dict[str, Algorithm]:
    """Every registered algorithm as it is without parameters; auto with each of its efforts and vocabularies."""
    known = {name: kind for name, kind in registry.known("algorithms").items() if not only or name in only}
    found: dict[str, Algorithm] = {}
    for name, kind in known.items():
        if name == "auto":
            found |= {f"auto {effort}": kind(effort=effort) for effort in ("fast", "balanced", "best")}
            found["auto balanced, sets"] = kind(labels="set")
            continue
        try:
            found[name] = kind()
        except (CloakError, ValueError, TypeError):
            print(f"{name:<22} skipped: it needs parameters")
    return found


def run(name: str, algorithm: Algorithm, k: int, tables: dict[tuple[bool, bool], CodedTable]) -> Result | str:
    """The result of one method, or why there is none."""
    goal = Goal((KAnonymity(k=k),))
    reason = algorithm.refuses(goal)
    if reason:
        return reason
    wanted = (algorithm.needs_hierarchies, algorithm.needs_rows)
    if wanted not in tables:
        tables[wanted] = load_adult(data_folder() / "adult", with_age=wanted[0], by_row=wanted[1])
    begin = time.process_time()
    try:
        solution = algorithm.solve(Problem(tables[wanted], goal, 2), silent)
    except CloakError as problem:
        return str(problem)
    return measured(name, k, tables[wanted], solution, time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--k", default=",".join(map(str, DEFAULT_K)))
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path, help="append one JSON object per result")
    parser.add_argument("--svg", type=Path, help="draw loss against k")
    given = parser.parse_args()
    if not (data_folder() / "adult" / "adult.csv").is_file():
        sys.exit(f"Adult is not in {data_folder()}; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    results = measure_all(methods(given.only.split(",") if given.only else None), [int(k) for k in given.k.split(",")])
    if given.json:
        with given.json.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(r)) + "\n" for r in results)
    if given.svg:
        given.svg.write_text(line_chart(_series(results), x="k", y="information loss (GCP)"), encoding="utf-8")


def measure_all(chosen: dict[str, Algorithm], ks: list[int]) -> list[Result]:
    tables: dict[tuple[bool, bool], CodedTable] = {}
    results = []
    if chosen:
        registry.find("algorithms", "auto")(effort="fast").solve(  # compiles kernels outside the measurements
            Problem(load_adult(data_folder() / "adult", with_age=False, by_row=False), Goal((KAnonymity(k=100),))),
            silent,
        )
    print(f"{'method':<22} {'k':>4} {'GCP':>8} {'discernibility':>16} {'C_avg':>7} {'suppressed':>11} {'CPU s':>8}")
    for name, algorithm in chosen.items():
        for k in ks:
            r = run(name, algorithm, k, tables)
            if isinstance(r, str):
                print(f"{name:<22} {k:>4} skipped: {r}", flush=True)
                continue
            results.append(r)
            print(
                f"{r.method:<22} {r.k:>4} {r.gcp:>8.4f} {r.discernibility:>16,} {r.c_avg:>7.2f} {r.suppressed:>11,} "
                f"{r.seconds:>8.2f}",
                flush=True,
            )
    return results


def _series(results: list[Result]) -> dict[str, list[tuple[float, float]]]:
    names = dict.fromkeys(r.method for r in results)
    return {name: [(float(r.k), r.gcp) for r in results if r.method == name] for name in names}


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
