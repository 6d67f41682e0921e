"""What transforms of single columns cost, as ratios to the least that polars needs to read, group and write the table.

`python -m benchmarks.transforms [--rows 1000000] [--memory 2GB]`. Each figure is taken in a process of its own: the
seconds of the processor for making a column, those for reading it left out. Then one run with all of them at once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.measure import QUASI, floor, peak_memory_bytes

# kind: column and parameters
COSTED: dict[str, tuple[str, dict[str, Any]]] = {
    "hmac": ("patient", {}),
    "aes-siv": ("patient", {}),
    "ff1": ("card", {}),
    "shift-dates": ("seen", {}),
    "round": ("pay", {"base": 100}),
    "noise": ("pay", {"scale": 100}),
}
CHUNK = 1_000_000


def generate(path: str, n_rows: str) -> dict[str, Any]:
    """The census of `make bench` with four columns more: a key of two rows each, a card number, a day, an income."""
    from tablecloak.sample import census_to_file

    n, target = int(n_rows), Path(path)
    census_to_file(target, n)
    draw = np.random.default_rng(0)
    pl.read_csv(target).with_columns(
        pl.Series("patient", np.arange(n) // 2 + 10**8),
        pl.Series("card", draw.integers(10**15, 10**16, n)),
        pl.Series("seen", draw.integers(15_000, 20_000, n)).cast(pl.Int32).cast(pl.Date),
        pl.Series("pay", draw.integers(10_000, 90_000, n)),
    ).write_csv(target)
    return {"bytes": target.stat().st_size}


def policy_text(source: str, target: str, kinds: Sequence[str]) -> dict[str, Any]:
    """A policy that changes columns by some kinds; each column by the first that is about it."""
    columns: dict[str, Any] = dict.fromkeys(QUASI, "quasi")
    for kind in kinds:
        column, params = COSTED[kind]
        role = "identifier" if column in ("patient", "card") else "keep"
        if kind == "shift-dates":
            params = {**params, "per": "patient"}
        columns.setdefault(column, {"role": role, "transform": {"kind": kind, **params}})
    goals = [{"model": "k-anonymity", "k": 10}]
    algorithm = {"kind": "mondrian"}
    return {"input": source, "output": target, "columns": columns, "goals": goals, "algorithm": algorithm}


def column(kind: str, source: str, engine: str, memory: str) -> dict[str, Any]:
    """Making one column, batch by batch, less reading what it is made of."""
    from tablecloak.engines.disk.engine import DuckEngine
    from tablecloak.engines.local.engine import LocalEngine
    from tablecloak.io.sources import Source
    from tablecloak.policy.schema import Policy
    from tablecloak.release.plan import make_plan
    from tablecloak.release.transform import transformed

    opened: Any = LocalEngine() if engine == "local" else DuckEngine(memory=int(memory))
    policy = Policy.model_validate(policy_text(source, "none.csv", [kind]))
    table = opened.read(Source.of(Path(source)), columns=None, categorical=())
    plan = make_plan(policy, list(table.types))
    name = COSTED[kind][0]

    def through(which: Any, names: Sequence[str]) -> float:
        begin = time.process_time()
        for batch in opened.batches(which, names):
            batch.select(names)
        return time.process_time() - begin

    read = through(table, [name])
    begin = time.process_time()
    changed, _ = transformed(opened, table, plan)
    fitting = time.process_time() - begin
    made = through(changed, [name])
    opened.close()
    return {"cpu_seconds": max(0.0, fitting + made - read), "peak_bytes": peak_memory_bytes()}


def run(source: str, target: str, memory: str) -> dict[str, Any]:
    """A whole run with all columns changed, out of core."""
    from tablecloak import pipeline
    from tablecloak.policy.schema import Policy

    cpu, begin = time.process_time(), time.perf_counter()
    policy = Policy.model_validate(policy_text(source, target, list(COSTED)))
    report = pipeline.run(policy, engine="duckdb", memory=memory)
    return {
        "cpu_seconds": time.process_time() - cpu, "seconds": time.perf_counter() - begin,
        "peak_bytes": peak_memory_bytes(), "holds": report.verification.holds,
    }  # fmt: skip


MEASURES: dict[str, Any] = {"generate": generate, "floor": floor, "column": column, "run": run}


def measure(kind: str, *arguments: object) -> dict[str, Any]:
    """One measurement in a process of its own."""
    words = [sys.executable, "-m", "benchmarks.transforms", "--measure", kind, *map(str, arguments)]
    answer = subprocess.run(words, check=True, capture_output=True, text=True, env=os.environ).stdout
    figures: dict[str, Any] = json.loads(answer.splitlines()[-1])
    return figures


def main(given: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--kinds", nargs="+", default=list(COSTED))
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args(given)
    if chosen.measure:
        kind, *arguments = chosen.measure
        print(json.dumps(MEASURES[kind](*arguments)))
        return 0
    console = Console(width=100)
    for n_rows in chosen.rows:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "people.csv"
            measure("generate", source, n_rows)
            least = min((measure("floor", source, Path(folder) / "x.csv") for _ in range(2)), key=cpu_of)
            table = Table("transform", "column", "local cpu/floor", "duckdb cpu/floor", title=f"{n_rows:,} rows")
            for kind in chosen.kinds:
                ratios = [
                    measure("column", kind, source, engine, 2 * 10**9)["cpu_seconds"] / least["cpu_seconds"]
                    for engine in ("local", "duckdb")
                ]
                table.add_row(kind, COSTED[kind][0], *(f"{ratio:.2f}" for ratio in ratios))
            console.print(table)
            whole = measure("run", source, Path(folder) / "release.csv", chosen.memory)
            console.print(
                f"all in one run, duckdb, {chosen.memory}: {whole['seconds']:.1f} s, "
                f"{whole['cpu_seconds'] / least['cpu_seconds']:.1f} x the floor's {least['cpu_seconds']:.2f} s of "
                f"processor, {whole['peak_bytes'] / 1e6:,.0f} MB"
            )
    return 0


def cpu_of(figures: dict[str, Any]) -> float:
    return float(figures["cpu_seconds"])


if __name__ == "__main__":
    sys.exit(main())
