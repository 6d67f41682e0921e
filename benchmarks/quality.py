"""What each method loses on Adult: every registered algorithm x k, measured in one run.

    python -m benchmarks.quality [--k 2,5,10] [--only auto,mondrian] [--without auto] [--json FILE] [--svg FILE]

Adult and its hierarchies are looked for in $TABLECLOAK_DATA, else in ../shared/data. Age is a number unless a method
needs a hierarchy for every column. Every method has a process of its own; one that takes longer than --limit seconds is
ended, and measured for the k that are left on a sample of the rows, which the table says. Seconds are processor seconds
of all threads, after one run that compiles kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.chart import line_chart
from benchmarks.tables import grid, replace_between
from tablecloak import registry
from tablecloak.algorithms.base import Algorithm, Problem, Solution
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import MakeHierarchy
from tablecloak.engines.base import QuasiColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import CloakError
from tablecloak.hierarchy.hierarchy_files import read_hierarchy
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
    rows: int


def data_folder() -> Path:
    given = os.environ.get("TABLECLOAK_DATA")
    return Path(given) if given else Path(__file__).parents[2] / "shared" / "data"


def _tree(folder: Path, column: str) -> MakeHierarchy:
    return lambda _: read_hierarchy(hierarchy_of(folder, column))


def load_adult(folder: Path, *, with_age: bool, by_row: bool, sample: int | None = None) -> CodedTable:
    """Adult, or some rows of it at random, with all nine columns as quasi-identifiers."""
    frame = pl.read_csv(folder / "adult.csv", separator=";").with_columns(pl.col(pl.String).cast(pl.Categorical))
    if sample is not None:
        frame = frame.sample(sample, seed=0)
    quasi = [QuasiColumn(c, None if c == "age" and not with_age else _tree(folder, c), 1.0) for c in frame.columns]
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
        rows=table.n_rows,
    )


def methods(only: list[str] | None) -> dict[str, Algorithm]:
    """Every registered algorithm as it is without parameters; auto with each of its efforts and
    vocabularies, optimal with suppression too."""
    known = {name: kind for name, kind in registry.known("algorithms").items() if not only or name in only}
    known.pop("univariate", None)  # one column only
    found: dict[str, Algorithm] = {}
    for name, kind in known.items():
        if name == "auto":
            found |= {f"auto {effort}": kind(effort=effort) for effort in ("fast", "balanced", "best")}
            found |= {f"auto {effort}, sets": kind(effort=effort, labels="set") for effort in ("fast", "balanced")}
            continue
        if name == "optimal":
            found["optimal, suppressing"] = kind(suppression_limit=0.5)
        try:
            found[name] = kind()
        except (CloakError, ValueError, TypeError):
            continue  # it needs parameters
    return found


def goal_of(algorithm: Algorithm, k: int) -> Goal:
    """k-anonymity, or the nearest thing for an algorithm that gives rows of a class different cells."""
    usual = Goal((KAnonymity(k=k),))
    return Goal((registry.find("models", "k-concealment")(k=k),)) if algorithm.name == "ring" else usual


def run(name: str, algorithm: Algorithm, k: int, sample: int | None = None) -> Result | str:
    """The result of one method, or why there is none."""
    goal = goal_of(algorithm, k)
    reason = algorithm.refuses(goal)
    if reason:
        return reason
    folder = data_folder() / "adult"
    table = load_adult(folder, with_age=algorithm.needs_hierarchies, by_row=algorithm.needs_rows, sample=sample)
    begin = time.process_time()
    try:
        solution = algorithm.solve(Problem(table, goal, 2), silent)
    except CloakError as problem:
        return str(problem)
    return measured(name, k, table, solution, time.process_time() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", default=",".join(map(str, DEFAULT_K)))
    parser.add_argument("--only", default="")
    parser.add_argument("--without", default="")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds that one method may take for all k")
    parser.add_argument("--sample", type=int, default=5_000, help="rows for methods that take longer")
    parser.add_argument("--json", type=Path, help="write one JSON object per result")
    parser.add_argument("--svg", type=Path, help="draw loss against k")
    parser.add_argument("--page", type=Path, help="put tables between the marks of this page")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    ks = [int(k) for k in given.k.split(",")]
    if given.child:
        _child(json.loads(given.child))
        return
    if not (data_folder() / "adult" / "adult.csv").is_file():
        sys.exit(f"Adult is not in {data_folder()}; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    chosen = methods(given.only.split(",") if given.only else None)
    names = [n for n, algorithm in chosen.items() if algorithm.name not in given.without.split(",")]
    results = measure_all(names, ks, given.limit, given.sample)
    if given.json:
        given.json.write_text("".join(json.dumps(asdict(r)) + "\n" for r in results), encoding="utf-8")
    if given.page:
        replace_between(given.page, "quality", _tables(results))
    if given.svg:
        given.svg.write_text(_chart(results), encoding="utf-8")


def measure_all(names: list[str], ks: list[int], limit: float, sample: int) -> list[Result]:
    """Every method at every k, one after the other."""
    head = f"{'method':<22} {'rows':>6} {'k':>4} {'GCP':>8} {'discernibility':>16} {'C_avg':>7} {'suppressed':>11}"
    print(f"{head} {'CPU s':>8}", flush=True)
    results: list[Result] = []
    for name in names:
        found, skipped = _in_own_process(name, ks, None, limit)
        left = [k for k in ks if k not in {r.k for r in found}]
        if left and not skipped:
            more, _ = _in_own_process(name, left, sample, limit)
            found += more
        if skipped:
            print(f"{name:<22} skipped: {skipped}", flush=True)
        results += found
    return results


def _in_own_process(name: str, ks: list[int], sample: int | None, limit: float) -> tuple[list[Result], str]:
    """Results of a method until the time is up, and why there are none where it refuses."""
    asked = json.dumps({"method": name, "k": ks, "sample": sample})
    command = [sys.executable, "-m", "benchmarks.quality", "--child", asked]
    found, skipped = [], ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        alarm = threading.Timer(limit, child.kill)
        alarm.start()
        for line in child.stdout:
            said = json.loads(line)
            if isinstance(said, str):
                skipped = said
                continue
            r = Result(**said)
            found.append(r)
            print(f"{r.method:<22} {r.rows:>6} {r.k:>4} {r.gcp:>8.4f} {r.discernibility:>16,} {r.c_avg:>7.2f} "
                  f"{r.suppressed:>11,} {r.seconds:>8.2f}", flush=True)  # fmt: skip
        alarm.cancel()
    return found, skipped


def _child(asked: dict[str, Any]) -> None:
    """Measure one method and print each result as a line of JSON, or why there is none as a text."""
    algorithm = methods(None)[asked["method"]]
    run(asked["method"], algorithm, 100, 2_000)  # compiles kernels outside the measurements
    run(asked["method"], algorithm, 100, 20_000)
    for k in asked["k"]:
        found = run(asked["method"], algorithm, k, asked["sample"])
        print(json.dumps(found if isinstance(found, str) else asdict(found)), flush=True)


def _tables(results: list[Result]) -> str:
    """Loss and seconds, then the measures of class sizes."""
    shown = [replace(r, method=f"`{r.method}`") for r in results]
    n_rows = max(r.rows for r in results)
    loss = grid(shown, lambda r: f"{r.gcp:.4f} / {r.seconds:.1f}{'' if r.rows == n_rows else f' ({r.rows:,} rows)'}")
    sizes = grid(shown, lambda r: f"{r.discernibility:,} / {r.c_avg:.2f} / {r.suppressed:,}")
    return f"GCP / CPU seconds:\n\n{loss}\n\nDiscernibility / C_avg / records suppressed:\n\n{sizes}"


def _chart(results: list[Result]) -> str:
    names = dict.fromkeys(r.method for r in results)
    series = {name: [(float(r.k), r.gcp) for r in results if r.method == name] for name in names}
    return line_chart(series, x="k", y="information loss (GCP)", bold="auto")


if __name__ == "__main__":
    np.seterr(all="raise", under="ignore")
    main()
