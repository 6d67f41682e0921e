"""The experiments of Dimakopoulos (NTUA, 2022) on a register like his: disk-based clustering, `auto` and Flash.

`make bench-scale`, or `python -m benchmarks.thesis --help`. Every run is Parquet in, verified Parquet out, by the
DuckDB engine; afterwards the directions that he reports are held against what was measured.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.deaths import HIERARCHIES, deaths_to_file
from benchmarks.measure import peak_memory_bytes
from benchmarks.run import append, data_folder

Results = Sequence[dict[str, Any]]
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
ALGORITHMS = ("disk-clustering", "auto", "flash")
POLICY = """version: 1
input: {source}
columns: {{{columns}}}
others: keep
goals: [{{model: k-anonymity, k: {k}}}]
algorithm: {algorithm}
output: {target}
"""


def policy_of(folder: Path, source: Path, name: str, k: int, algorithm: str) -> Path:
    is_range = name.endswith("as a range")
    columns = ", ".join(
        f"{c}: {{role: quasi{'' if is_range else f', hierarchy: {HIERARCHIES[c]}'}}}" for c in COMBINATIONS[name]
    )
    path = folder / "thesis.yaml"
    path.write_text(
        POLICY.format(source=source.name, columns=columns, k=k, algorithm=algorithm, target="thesis-release.parquet"),
        encoding="utf-8",
    )
    return path


def release(policy: str, memory: str, spill: str) -> dict[str, Any]:
    """Carry out a policy in this process."""
    from tablecloak import pipeline
    from tablecloak.metrics.base import measure
    from tablecloak.policy.load import load_policy

    totals: list[float] = []
    counts_of = pipeline.counts_of

    def counted(*given: Any) -> Any:
        """Measure what a run does not, while its files are there."""
        counts = counts_of(*given)
        totals.append(measure(counts, ["total"])[0].value)
        return counts

    pipeline.counts_of = counted  # type: ignore[attr-defined]
    cpu, begin = time.process_time(), time.perf_counter()
    report = pipeline.run(load_policy(Path(policy)), force=True, engine="duckdb", memory=memory, spill=Path(spill))
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "solve": report.seconds["solve"],
        "ncp": report.loss,
        "total": None if math.isnan(totals[-1]) else totals[-1],
        "classes": report.verification.n_classes,
        "holds": report.verification.holds and report.verification.covers,
        "peak_bytes": peak_memory_bytes(),
    }


def results_of(folder: Path, n_rows: int, chosen: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Every run of the grid, each in a process of its own."""
    source = folder / f"deaths-{n_rows}.parquet"
    if not source.exists():
        deaths_to_file(folder, n_rows)
    for name in chosen.only or COMBINATIONS:
        for k in chosen.k:
            for algorithm in chosen.algorithms:
                if name.endswith("as a range") and algorithm != ALGORITHMS[0]:
                    continue
                policy = policy_of(folder, source, name, k, algorithm)
                about = {"rows": n_rows, "quasi": name, "k": k, "algorithm": algorithm}
                yield {**about, **_measured(policy, folder, chosen.memory, chosen.limit)}


def _measured(policy: Path, folder: Path, memory: str, limit: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="spill-", dir=folder) as spill:
        command = [sys.executable, "-m", "benchmarks.thesis", "--measure", str(policy), memory, spill]
        try:
            found = subprocess.run(
                command, capture_output=True, text=True, check=False, timeout=limit, cwd=Path(__file__).parents[1]
            )
        except subprocess.TimeoutExpired:
            return {"failed": f"not within {limit:.0f} s"}
    if found.returncode:
        return {"failed": (found.stderr.strip() or f"exit code {found.returncode}").splitlines()[-1][:200]}
    result: dict[str, Any] = json.loads(found.stdout.splitlines()[-1])
    if not result["holds"]:
        raise ValueError("a release was not verified")
    return result


# What the thesis says -------------------------------------------------------------------------------------------------


def directions(results: Results) -> list[tuple[str, str]]:
    """What the thesis reports, each with what was measured: so here, not so here, or not measured."""
    found = {(r["quasi"], r["k"], r["algorithm"]): r for r in results if "failed" not in r}

    def of(name: str, field: str, k: int = 100, algorithm: str = ALGORITHMS[0]) -> float:
        return float(found[name, k, algorithm][field])

    every = list(COMBINATIONS)[:4]
    checks: list[tuple[str, Callable[[], bool]]] = [
        ("date of death alone is slower than combinations (k = 100)",
         lambda: of("date", "solve") > max(of(n, "solve") for n in every[1:])),
        ("salary: a range hierarchy is faster than a distinct one (k = 100)",
         lambda: of("salary as a range", "solve") < of("salary", "solve")),
        ("age needs no clustering at any k", lambda: all(of("age", "ncp", k) == 0 for k in (4, 10, 100))),
        ("salary is nearly k-anonymous below k = 100", lambda: of("salary", "ncp", 10) < 0.001),
        ("age and salary are faster than date of death and ICD (k = 100)",
         lambda: max(of("age", "solve"), of("salary", "solve")) < min(of("date", "solve"), of("icd", "solve"))),
        ("time falls from 1 to 2 attributes (k = 100)", lambda: of(every[1], "solve") < of("date", "solve")),
        ("time rises from 2 to 3 attributes (k = 100)", lambda: of(every[2], "solve") > of(every[1], "solve")),
        ("time falls a little from 3 to 4 attributes (k = 100)",
         lambda: of(every[3], "solve") < of(every[2], "solve")),
        ("NCP rises with the number of attributes, date of death alone is lowest (k = 100)",
         lambda: all(of(a, "ncp") < of(b, "ncp") for a, b in pairwise(every))),
        ("Total: date of death alone is lowest (k = 100)",
         lambda: of("date", "total") < min(of(n, "total") for n in every[1:])),
        ("single attributes: salary has the lowest NCP (k = 100)",
         lambda: of("salary", "ncp") < min(of("date", "ncp"), of("icd", "ncp"))),
        ("date of death: Total is far above NCP (k = 100)", lambda: of("date", "total") > 5 * of("date", "ncp")),
        ("Flash is faster (age, salary, date, icd; k = 10)",
         lambda: of(every[3], "solve", 10, "flash") < of(every[3], "solve", 10)),
        ("Flash on age and ICD sends ICD to the root and leaves age: Total 0.5 (k = 100)",
         lambda: abs(of("age, icd", "total", 100, "flash") - 0.5) < 0.01),
    ]  # fmt: skip
    answers = []
    for said, check in checks:
        try:
            answers.append((said, "so here" if check() else "NOT so here"))
        except KeyError:
            answers.append((said, "not measured"))
    return answers


def shown(results: Results) -> Table:
    table = Table(title="Parquet in, verified Parquet out", title_justify="left")
    for name in ("rows", "quasi-identifiers", "k", "algorithm", "search", "whole run", "cpu", "NCP", "Total", "peak"):
        is_text = name in ("quasi-identifiers", "algorithm")
        table.add_column(name, justify="left" if is_text else "right", no_wrap=True)
    for r in results:
        about = [f"{r['rows']:,}", r["quasi"], str(r["k"]), r["algorithm"]]
        if "failed" in r:
            table.add_row(*about, r["failed"])
            continue
        total = "-" if r["total"] is None else f"{r['total']:.4f}"
        table.add_row(
            *about, *(f"{r[name]:.1f} s" for name in ("solve", "seconds", "cpu_seconds")),
            f"{r['ncp']:.5f}", total, f"{r['peak_bytes'] / 1e9:.2f} GB",
        )  # fmt: skip
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.thesis", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000], help="sizes of the register")
    parser.add_argument("--k", type=int, nargs="*", default=[4, 10, 100])
    parser.add_argument("--algorithms", nargs="*", default=list(ALGORITHMS), choices=ALGORITHMS)
    parser.add_argument("--only", nargs="*", choices=list(COMBINATIONS), help="sets of quasi-identifiers")
    parser.add_argument("--memory", default="2GB", help="limit of every run")
    parser.add_argument("--limit", type=float, default=1800, help="seconds after which a run is given up")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table and what the thesis reports, and keep the figures if asked."""
    chosen = arguments(given)
    if chosen.measure:
        print(json.dumps(release(*chosen.measure)))
        return 0
    console = Console(width=max(Console().width, 140))
    with data_folder() as folder:
        for n_rows in chosen.rows:
            results = []
            for result in results_of(folder, n_rows, chosen):
                results.append(result)
                console.print(json.dumps(result), soft_wrap=True)
                if chosen.output:
                    append(chosen.output, [{"bench": "thesis", **result}])
            console.print(shown(results))
            for said, answer in directions(results):
                console.print(f"{answer}: {said}", soft_wrap=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
