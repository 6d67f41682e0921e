"""Tables that do not fit memory: time as a ratio to the least that DuckDB itself needs, under the same limit.

`make bench-scale`, or `python -m benchmarks.scale --help`. The floor reads the table, groups it by the
quasi-identifiers and writes it, all by DuckDB with the same memory limit, in the same session. Peak memory is that of
the process and of what it started.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source
from rich.console import Console
from rich.table import Table

from benchmarks.measure import QUASI, environment, tree_peak_bytes
from benchmarks.run import CASES, append, data_folder
from tablecloak.progress import Silent

ROWS = (1_000_000, 10_000_000, 100_000_000)
MEMORY = "2GB"
COLUMNS = (
    "table", "rows", "goal", "limit", "floor", "run", "run/floor", "cpu/floor", "order/floor", "peak of the tree",
    "verify/floor", "peak of verify", "load", "loss", "coded",
)  # fmt: skip
BLOCK = 250_000
DATES_QUASI = ["born", "postcode", "sex", "occupation"]
DATES_POLICY = """version: 1
input: {source}
columns:
  born: {{role: quasi}}
  postcode: {{role: quasi, type: text, hierarchy: {{kind: mask, from: right}}}}
  sex: {{role: quasi}}
  occupation: {{role: quasi}}
  disease: {{role: sensitive}}
goals: [{{model: k-anonymity, k: 10}}]
algorithm: mondrian
output: {target}
"""


# What is measured, each in a process of its own -----------------------------------------------------------------------


def generate(path: str, n_rows: str) -> dict[str, Any]:
    """Write a census, or with `dates` in its name a table in which nearly every row is the only one of its kind."""
    from tablecloak.sample import census_to_file

    partial = Path(path).with_suffix(".partial.parquet")
    if "dates" in Path(path).name:
        _dates_to_file(partial, int(n_rows))
    else:
        census_to_file(partial, int(n_rows))
    partial.replace(path)
    return {"bytes": Path(path).stat().st_size}


def _dates_to_file(path: Path, n: int) -> None:
    postcodes = pl.Enum([f"{code:05d}" for code in range(100_000)])
    schema = _dated(1, 0, postcodes).schema

    def batches(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del predicate, n_rows, batch_size
        for begin in range(0, n, BLOCK):
            block = _dated(min(BLOCK, n - begin), begin, postcodes)
            yield block.select(with_columns) if with_columns else block

    register_io_source(batches, schema=schema).sink_parquet(path)


def _dated(n: int, begin: int, postcodes: pl.Enum) -> pl.DataFrame:
    from tablecloak.rng import child
    from tablecloak.sample import census

    people, random = census(n, seed=begin), child(begin, "dates")
    days = (70 - people["age"].to_numpy()) * 365 + random.integers(0, 365, n)
    codes = (random.random(n) ** 1.5 * 100_000).astype(np.uint32)
    born = pl.Series("born", days.astype(np.int32)).cast(pl.Date)
    return people.select(born, pl.Series("postcode", codes).cat.to(postcodes), "sex", "occupation", "disease")


def floor(source: str, target: str, memory: str, spill: str) -> dict[str, Any]:
    """Read, group and write by DuckDB alone."""
    import duckdb

    columns = DATES_QUASI if "dates" in Path(source).name else QUASI
    connection = duckdb.connect(str(Path(spill) / "floor.duckdb"))
    connection.execute(f"SET memory_limit = '{memory}'")
    connection.execute(f"SET temp_directory = '{spill}'")
    parts, cpu = {}, time.process_time()
    begin = time.perf_counter()
    names = ", ".join(columns)
    query = f"SELECT count(*) FROM (SELECT {names}, count(*) FROM read_parquet('{source}') GROUP BY {names})"
    tuples = connection.sql(query).fetchall()[0][0]
    parts["read and group"] = time.perf_counter() - begin
    begin = time.perf_counter()
    connection.execute(f"COPY (SELECT * FROM read_parquet('{source}')) TO '{target}' (FORMAT parquet)")
    parts["read and write"] = time.perf_counter() - begin
    cpu = time.process_time() - cpu
    connection.close()
    return {"seconds": sum(parts.values()), "cpu_seconds": cpu, "parts": parts, "tuples": tuples}


def release(policy: str, engine: str, memory: str, spill: str, *changes: str) -> dict[str, Any]:
    """Carry out a policy: file in, verified file out."""
    from tablecloak import pipeline
    from tablecloak.policy.load import load_policy

    seen = _Notes()
    cpu, begin = time.process_time(), time.perf_counter()
    report = pipeline.run(
        load_policy(Path(policy), changes), force=True, engine=engine, memory=memory, spill=Path(spill), progress=seen
    )
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "parts": dict(report.seconds),
        "loss": report.loss,
        "holds": report.verification.holds and report.verification.covers,
        "classes": report.verification.n_classes,
        "engine": report.engine,
        "coded": seen.notes.get("code", ""),
    }


def verify(policy: str, memory: str, spill: str, *changes: str) -> dict[str, Any]:
    """Recount a finished release from its file alone, as someone does who has only that."""
    from tablecloak import pipeline
    from tablecloak.engines.choose import Demand
    from tablecloak.policy.load import load_policy

    loaded = load_policy(Path(policy), changes)
    demand = Demand.of("duckdb", memory=memory, spill=Path(spill))
    cpu, begin = time.process_time(), time.perf_counter()
    verification = pipeline.verify(loaded.output_path, loaded, demand=demand)
    return {
        "seconds": time.perf_counter() - begin,
        "cpu_seconds": time.process_time() - cpu,
        "holds": verification.holds,
        "classes": verification.n_classes,
    }


class _Notes(Silent):
    """Keeps the closing note of every phase."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self._phase = ""

    def start(self, phase: str, total: int | None = None) -> None:
        del total
        self._phase = phase

    def finish(self, note: str = "") -> None:
        self.notes[self._phase] = note


KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "generate": generate,
    "floor": floor,
    "release": release,
    "verify": verify,
}


# The benchmark --------------------------------------------------------------------------------------------------------


def measure(kind: str, *arguments: object) -> dict[str, Any]:
    """One measurement in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.scale", "--measure", kind, *map(str, arguments)]
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1], env=environment()
    )
    if found.returncode:
        raise RuntimeError(f"measuring {kind} failed:\n{found.stderr}")
    return {**json.loads(found.stdout.splitlines()[-1]), "load": os.getloadavg()[0]}


def table_file(folder: Path, kind: str, n_rows: int) -> Path:
    path = folder / f"{kind}-{n_rows}.parquet"
    if not path.exists():
        measure("generate", path, n_rows)
    return path


def write_policy(folder: Path, source: Path) -> Path:
    from tablecloak.sample import census_policy

    target = f"{source.stem}-release.parquet"
    is_dates = source.name.startswith("dates")
    text = DATES_POLICY.format(source=source.name, target=target) if is_dates else census_policy(
        10, source=source.name, target=target
    )  # fmt: skip
    path = folder / f"{source.stem}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@contextmanager
def spill_folder(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="spill-", dir=folder) as spill:
        yield Path(spill)


def results_of(folder: Path, kind: str, n_rows: int, memory: str) -> Iterator[dict[str, Any]]:
    """Every case on a table of one size, each with the floor of the same session."""
    source = table_file(folder, kind, n_rows)
    policy, target = write_policy(folder, source), folder / f"{source.stem}-release.parquet"
    with spill_folder(folder) as spill:
        bottom = measure("floor", source, target, memory, spill)
    with spill_folder(folder) as spill:  # the first case without its order, to tell what that costs
        kept = measure("release", policy, "duckdb", memory, spill, f"output={{path: {target.name}, order: keep}}")
    cases = CASES if kind == "census" else {"k=10": []}
    for case, changes in cases.items():
        with spill_folder(folder) as spill:
            run = measure("release", policy, "duckdb", memory, spill, *changes)
        if not run["holds"]:
            raise ValueError(f"the release of {case} on {n_rows} rows was not verified")
        with spill_folder(folder) as spill:
            recount = measure("verify", policy, memory, spill, *changes)
        if not recount["holds"] or recount["classes"] != run["classes"]:
            raise ValueError(f"verify says another thing of {case} on {n_rows} rows than the run")
        order = None if changes else (run["cpu_seconds"] - kept["cpu_seconds"]) / bottom["cpu_seconds"]
        about = {"table": kind, "rows": n_rows, "case": case, "memory": memory, "floor": bottom, "run": run}
        yield {**about, "order_ratio": order, "verify": recount}
    target.unlink(missing_ok=True)


def warm_up(folder: Path, memory: str) -> None:
    """Fill the caches of compiled kernels and of byte code, so that no measurement pays for them."""
    policy = write_policy(folder, table_file(folder, "census", 50_000))
    for changes in CASES.values():
        with spill_folder(folder) as spill:
            measure("release", policy, "duckdb", memory, spill, *changes)


def sharding_cost(folder: Path, n_rows: int, memory: str, large: str) -> dict[str, Any]:
    """Loss of a run in shards as a ratio to the loss of the same run in one piece."""
    policy = write_policy(folder, table_file(folder, "census", n_rows))
    found = []
    for limit in (memory, large):
        with spill_folder(folder) as spill:
            found.append(measure("release", policy, "duckdb", limit, spill))
    return {"rows": n_rows, "sharded": found[0], "whole": found[1], "ratio": found[0]["loss"] / found[1]["loss"]}


def shown(results: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Parquet in, verified Parquet out", title_justify="left")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("table", "goal", "coded") else "right", no_wrap=True)
    for r in results:
        bottom, run = r["floor"], r["run"]
        table.add_row(
            r["table"], f"{r['rows']:,}", r["case"], r["memory"],
            f"{bottom['seconds']:.1f} s", f"{run['seconds']:.1f} s",
            f"{run['seconds'] / bottom['seconds']:.2f}", f"{run['cpu_seconds'] / bottom['cpu_seconds']:.2f}",
            "" if r["order_ratio"] is None else f"{r['order_ratio']:.2f}",
            f"{run['peak_bytes'] / 1e9:.2f} GB",
            f"{r['verify']['cpu_seconds'] / bottom['cpu_seconds']:.2f}", f"{r['verify']['peak_bytes'] / 1e9:.2f} GB",
            f"{run['load']:.1f}", f"{run['loss']:.4f}", run["coded"],
        )  # fmt: skip
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="sizes of the census")
    parser.add_argument("--dates", type=int, nargs="*", default=[10_000_000], help="sizes of the table of birth dates")
    parser.add_argument("--memory", default=MEMORY, help="limit of floor and run")
    parser.add_argument("--shards", type=int, default=2_000_000, help="rows on which the cost of sharding is measured")
    parser.add_argument("--quick", action="store_true", help="a million rows at most, some minutes")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    parser.add_argument("--measure", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args(given)
    if chosen.quick:
        chosen.rows, chosen.dates, chosen.shards = [ROWS[0]], [ROWS[0]], min(chosen.shards, ROWS[0])
    return chosen


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table, and keep the figures if asked."""
    chosen = arguments(given)
    if chosen.measure:
        kind, *rest = chosen.measure
        print(json.dumps({**KINDS[kind](*rest), "peak_bytes": tree_peak_bytes()}))
        return 0
    console = Console(width=max(Console().width, 160))
    results: list[dict[str, Any]] = []
    with data_folder() as folder:
        warm_up(folder, chosen.memory)
        sizes = [*(("census", n) for n in chosen.rows), *(("dates", n) for n in chosen.dates)]
        for kind, n_rows in sizes:
            for result in results_of(folder, kind, n_rows, chosen.memory):
                results.append(result)
                parts = ", ".join(f"{name} {s:.1f}" for name, s in result["run"]["parts"].items())
                console.print(f"{kind} {n_rows:,} {result['case']}: {parts}", soft_wrap=True)
        cost = sharding_cost(folder, chosen.shards, "600MB", "8GB") if chosen.shards else None
    console.print(shown(results))
    if cost:
        pieces = cost["sharded"]["coded"]
        losses = f"GCP {cost['sharded']['loss']:.6f} / {cost['whole']['loss']:.6f} in one piece"
        console.print(f"Sharding {cost['rows']:,} rows ({pieces}): {losses} = {cost['ratio']:.4f}")
    if chosen.output:
        append(
            chosen.output, [{"bench": "scale", **r} for r in results] + ([{"bench": "shards", **cost}] if cost else [])
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
