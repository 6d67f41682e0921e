"""The experiments of Dimakopoulos (NTUA, 2022) on a register like his: disk-based clustering, `auto` and Flash.

`make bench-scale`, or `python -m benchmarks.thesis --help`. Every run is Parquet in, verified Parquet out, by the
DuckDB engine, in a process of its own that is given up after `--limit` processor seconds, or four times as many on the
clock; afterwards the directions that he reports are held against what was measured. With `--output FILE`, runs that
the file has already are not done again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console

from benchmarks.claims import directions, tables
from benchmarks.deaths import HIERARCHIES, deaths_to_file
from benchmarks.measure import peak_memory_bytes
from benchmarks.run import append, data_folder
from benchmarks.tables import replace_between

Result = dict[str, Any]
DATE = "date_of_death"
COMBINATIONS = {
    "date": [DATE],
    "age, date": ["age", DATE],
    "age, salary, date": ["age", "salary", DATE],
    "age, salary, date, icd": ["age", "salary", DATE, "icd"],
    "age": ["age"],
    "salary": ["salary"],
    "salary as a range": ["salary"],  # no hierarchy: numbers by their difference
    "icd": ["icd"],
    "age, icd": ["age", "icd"],
}
DISK = "disk-clustering"
METHODS = {
    DISK: DISK,
    "auto": "auto",
    "flash": "flash",
    "classic": f"{{kind: {DISK}, mode: classic}}",
    "optimized": f"{{kind: {DISK}, mode: optimized}}",
    "source": f"{{kind: {DISK}, mode: source}}",
}
KS = (4, 10, 100)
MORE_KS = (2, 5, 20, 50)  # of the disk-based algorithm, on the combinations of one to four attributes
WARM = 20_000  # rows that compiled kernels are tried on
POLICY = """version: 1
input: {source}
columns: {{{columns}}}
others: keep
goals: [{{model: k-anonymity, k: {k}}}]
algorithm: {algorithm}
output: {target}
"""


@dataclass(frozen=True)
class Cell:
    """One run of the grid."""

    rows: int
    quasi: str
    k: int
    method: str

    def policy(self, folder: Path) -> Path:
        is_range = self.quasi.endswith("as a range")
        columns = ", ".join(
            f"{c}: {{role: quasi{'' if is_range else f', hierarchy: {HIERARCHIES[c]}'}}}"
            for c in COMBINATIONS[self.quasi]
        )
        path = folder / "thesis.yaml"
        text = POLICY.format(
            source=f"deaths-{self.rows}.parquet", columns=columns, k=self.k, algorithm=METHODS[self.method],
            target="thesis-release.parquet",
        )  # fmt: skip
        path.write_text(text, encoding="utf-8")
        return path


def cells_of(rows: int, chosen: argparse.Namespace) -> Iterator[Cell]:
    """What is asked for; first what all methods are compared on."""
    sets = chosen.only or list(COMBINATIONS)
    for method in chosen.methods:
        for name in sets:
            if name.endswith("as a range") and method in ("auto", "flash"):
                continue
            yield from (Cell(rows, name, k, method) for k in chosen.k)
    if DISK in chosen.methods:
        few = [name for name in sets if name in list(COMBINATIONS)[:4]]
        yield from (Cell(rows, name, k, DISK) for name in few for k in chosen.more_k)


# One run --------------------------------------------------------------------------------------------------------------


def release(policy: str, memory: str, spill: str, limit: str) -> Result:
    """Carry out a policy in this process, which the system ends after so many processor seconds."""
    from tablecloak import pipeline
    from tablecloak.algorithms.one_pass.disk_clustering import DiskClustering
    from tablecloak.engines.disk.engine import DuckEngine
    from tablecloak.metrics.base import measure
    from tablecloak.policy.load import load_policy
    from tablecloak.release import outcome
    from tablecloak.release.shapes import classes

    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
    found: Result = {"mode": None}
    counts_of, solve, is_optimized = outcome.counts_of, DuckEngine.solve, DiskClustering._is_optimized

    def counted(*given: Any) -> Any:
        """Measure what a run does not, while its files are there."""
        counts = counts_of(*given)
        total = measure(counts, ["total"])[0].value
        found["total"] = None if math.isnan(total) else total
        return counts

    def solved(*given: Any) -> Any:
        begin = time.process_time()
        answer = solve(*given)
        found["solve_cpu"] = time.process_time() - begin
        return answer

    def decided(*given: Any) -> bool:
        answer = is_optimized(*given)
        found["mode"] = "optimized" if answer else "classic"
        return answer

    cpu, begin = time.process_time(), time.perf_counter()
    with (
        patch.object(classes, "counts_of", counted),
        patch.object(DuckEngine, "solve", solved),
        patch.object(DiskClustering, "_is_optimized", decided),
    ):
        report = pipeline.run(load_policy(Path(policy)), force=True, engine="duckdb", memory=memory, spill=Path(spill))
    return {
        **found,
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "solve": report.seconds["solve"],
        "ncp": report.loss,
        "classes": report.verification.n_classes,
        "holds": report.verification.holds and report.verification.covers,
        "peak_bytes": peak_memory_bytes(),
    }


def measured(cell: Cell, folder: Path, memory: str, limit: int) -> Result:
    """What one run says, or why there is nothing to say."""
    if not (folder / f"deaths-{cell.rows}.parquet").exists():
        deaths_to_file(folder, cell.rows)
    with tempfile.TemporaryDirectory(prefix="spill-", dir=folder) as spill:
        asked = [str(cell.policy(folder)), memory, spill, str(limit)]
        command = [sys.executable, "-m", "benchmarks.thesis", "--measure", *asked]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=4 * limit, cwd=Path(__file__).parents[1]
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"not within {4 * limit} s"}
    if found.returncode == -signal.SIGXCPU:
        return {"failed": f"not within {limit} CPU s"}
    if found.returncode:
        return {"failed": (found.stderr.strip() or f"exit code {found.returncode}").splitlines()[-1][:200]}
    result: Result = {**json.loads(found.stdout.splitlines()[-1]), "load": os.getloadavg()[0]}
    if not result["holds"]:
        raise ValueError("a release was not verified")
    return result


# The grid -------------------------------------------------------------------------------------------------------------


def known(path: Path | None) -> dict[Cell, Result]:
    """Runs that a file has already, the last of each."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {Cell(r["rows"], r["quasi"], r["k"], r["method"]): r for r in lines if r.get("bench") == "thesis"}


def warm_up(folder: Path, chosen: argparse.Namespace) -> None:
    """Fill the cache of compiled kernels, so that no measurement pays for it."""
    for method in chosen.methods:
        for name in ("age, salary, date, icd", "salary as a range"):
            measured(Cell(WARM, name, 10, method), folder, chosen.memory, chosen.limit)


def results_of(folder: Path, chosen: argparse.Namespace) -> Iterator[Result]:
    """Every run of the grid, those that were measured before included."""
    before, is_warm = known(chosen.output), False
    for rows in chosen.rows:
        for cell in cells_of(rows, chosen):
            if (same := same_as(cell, before)) is not None:
                yield {**same, **vars(cell)}
                continue
            if chosen.known:
                continue
            if not is_warm:
                warm_up(folder, chosen)
                is_warm = True
            before[cell] = {**vars(cell), **measured(cell, folder, chosen.memory, chosen.limit)}
            if chosen.output:
                append(chosen.output, [{"bench": "thesis", **before[cell]}])
            yield before[cell]


def same_as(cell: Cell, before: Mapping[Cell, Result]) -> Result | None:
    """A run that was measured: the same, or one that chose the mode which is asked for, or needed none."""
    if cell in before:
        return before[cell]
    by_itself = before.get(replace(cell, method=DISK))
    if cell.method not in ("classic", "optimized") or by_itself is None or "failed" in by_itself:
        return None
    return by_itself if by_itself["mode"] in (None, cell.method) else None


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thesis", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000], help="sizes of the register")
    parser.add_argument("--k", type=int, nargs="*", default=list(KS), help="of all methods")
    parser.add_argument("--more-k", type=int, nargs="*", default=list(MORE_KS), help="of the disk-based algorithm")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--only", nargs="*", choices=list(COMBINATIONS), help="sets of quasi-identifiers")
    parser.add_argument("--memory", default="2GB", help="limit of every run")
    parser.add_argument("--limit", type=int, default=1800, help="processor seconds of a run")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to, and to go on from")
    parser.add_argument("--known", action="store_true", help="measure nothing, show what the file has")
    parser.add_argument("--page", type=Path, help="put tables and directions between the marks of this page")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table and what the thesis reports, and keep the figures if asked."""
    chosen = arguments(given)
    if chosen.measure:
        print(json.dumps(release(*chosen.measure)))
        return 0
    console = Console(width=max(Console().width, 140))
    results: list[Result] = []
    with data_folder() as folder:
        for result in results_of(folder, chosen):
            results.append(result)
            console.print(json.dumps(result), soft_wrap=True)
    for rows in chosen.rows:
        of_size = [r for r in results if r["rows"] == rows]
        text = "\n\n".join([tables(of_size), directions(of_size)])
        console.print(text, soft_wrap=True, markup=False)
        if chosen.page:
            replace_between(chosen.page, f"thesis {rows}", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
