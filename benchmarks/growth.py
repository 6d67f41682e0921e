"""How the time of `auto` grows with the table: seconds for more and more rows, against n log n.

    python -m benchmarks.growth [--rows 30000,100000] [--effort fast,balanced] [--k 10] [--columns 0] [--page FILE]

The table is the census of `tablecloak.sample`: eight quasi-identifiers, nearly every row is different. With --columns
it is one of so many made-up quasi-identifiers, whose values depend on eight kinds of people. Each size
has a process of its own. Seconds are processor seconds of all threads for the search alone, after one run that compiles
kernels. The last column is the growth of the seconds since the size before over that of n log n: at most 1 is no
faster than n log n.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from benchmarks.tables import replace_between

if TYPE_CHECKING:
    from tablecloak.data.coded import CodedTable

DEFAULT_ROWS = "30000,100000,1000000,10000000"
N_VALUES = (2, 3, 5, 8, 12, 20, 40)  # of the categories of a made-up table, in turn
KINDS = 8  # of people in it


@dataclass(frozen=True, slots=True)
class Growth:
    """One search on one size."""

    effort: str
    rows: int
    tuples: int
    gcp: float
    seconds: float

    def ratio(self, before: Growth | None) -> float | None:
        """Growth of the seconds over growth of n log n since a smaller size."""
        if before is None:
            return None
        expected = self.rows * math.log(self.rows) / (before.rows * math.log(before.rows))
        return self.seconds / before.seconds / expected


def people(n_rows: int, n_columns: int) -> pl.DataFrame:
    """Made-up people with many columns, every fourth a number, which depend on each other."""
    random = np.random.default_rng(0)
    kind = random.integers(0, KINDS, n_rows)
    columns: dict[str, pl.Series] = {}
    for c in range(n_columns):
        if c % 4 == 3:
            columns[f"number{c}"] = pl.Series(random.normal(5 * kind + c, 8).round().clip(0, 200).astype(np.int64))
            continue
        shares = random.dirichlet(np.full(N_VALUES[c % len(N_VALUES)], 0.5), KINDS).cumsum(axis=1)
        values = (shares[kind] < random.random(n_rows)[:, None]).sum(axis=1).clip(0, shares.shape[1] - 1)
        columns[f"category{c}"] = pl.Series([f"v{v:02}" for v in values.tolist()])
    return pl.DataFrame(columns).with_columns(pl.col(pl.String).cast(pl.Categorical))


def load(n_rows: int, k: int, n_columns: int) -> CodedTable:
    """The census, or a made-up table of so many columns."""
    from tablecloak.engines.base import QuasiColumn
    from tablecloak.engines.local.engine import LocalEngine, table_of
    from tablecloak.policy.load import parse_policy
    from tablecloak.release.plan import make_plan
    from tablecloak.sample.census import census, census_policy

    if n_columns:
        frame = people(n_rows, n_columns)
        quasi = [QuasiColumn(c, None, 1.0) for c in frame.columns]
        return LocalEngine().contingency(table_of(frame), quasi, [], by_row=False).table
    frame = census(n_rows)
    plan = make_plan(parse_policy(census_policy(k), name="census", base=Path()), frame.columns)
    source = table_of(frame)
    return LocalEngine().contingency(source, plan.quasi_columns(source), [], by_row=False).table


def search(effort: str, k: int, n_rows: int, n_columns: int = 0) -> Growth:
    from tablecloak.algorithms.base import Problem
    from tablecloak.algorithms.topdown.auto import Auto
    from tablecloak.models.base import Goal
    from tablecloak.models.k_anonymity import KAnonymity
    from tablecloak.progress import silent

    table = load(n_rows, k, n_columns)
    begin = time.process_time()
    algorithm: Any = Auto  # its fields are made by a decorator, which type checkers do not see
    solution = algorithm(effort=effort).solve(Problem(table, Goal((KAnonymity(k=k),)), 2), silent)
    seconds = time.process_time() - begin
    sizes = solution.sizes(table)
    lost = float((sizes * solution.losses(table.domains).mean(axis=1)).sum()) / n_rows
    return Growth(effort, n_rows, table.n_tuples, lost, seconds)


def measured(effort: str, k: int, n_rows: int, n_columns: int) -> Growth:
    """The same in a process of its own."""
    asked = json.dumps({"effort": effort, "k": k, "n_rows": n_rows, "n_columns": n_columns})
    command = [sys.executable, "-m", "benchmarks.growth", "--child", asked]
    return Growth(**json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout))


def _child(asked: dict[str, Any]) -> None:
    search(asked["effort"], asked["k"], 20_000)  # compiles kernels outside the measurements
    print(json.dumps(asdict(search(**asked))))


def table_of_growth(found: list[Growth]) -> str:
    head = "| effort | rows | different rows | GCP | CPU s | growth over n log n |\n|---|---|---|---|---|---|"
    lines = []
    for i, g in enumerate(found):
        ratio = g.ratio(found[i - 1] if i and found[i - 1].effort == g.effort else None)
        shown = "" if ratio is None else f"{ratio:.2f}"
        lines.append(f"| `{g.effort}` | {g.rows:,} | {g.tuples:,} | {g.gcp:.4f} | {g.seconds:.1f} | {shown} |")
    return "\n".join([head, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=DEFAULT_ROWS)
    parser.add_argument("--effort", default="fast")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--columns", type=int, default=0, help="of a made-up table in place of the census")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _child(json.loads(given.child))
        return
    found = []
    for effort in given.effort.split(","):
        for n in given.rows.split(","):
            found.append(measured(effort, given.k, int(n), given.columns))
            print(found[-1], flush=True)
    print(table_of_growth(found))
    if given.page:
        replace_between(given.page, "growth", table_of_growth(found))


if __name__ == "__main__":
    main()
