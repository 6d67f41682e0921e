"""The Spark engine: time as a ratio to Spark's own read, group-by and write, in the same session.

Part of `make bench-scale`, or `python -m benchmarks.scale_spark --help`. Memory is that of the whole process tree: this
process, Java and the Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import QUASI
from benchmarks.run import CASES, append, data_folder
from benchmarks.scale import table_file, write_policy

ROWS = (10_000_000,)
MASTER = "local[2]"
MEMORY = 3 << 30  # of the driver, which in local mode holds everything but the Python workers


def tree_bytes() -> int:
    """Memory that this process and all it started hold now."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, waiting = 0, [os.getpid()]
    for pid in waiting:
        waiting.extend(parents.get(pid, ()))
        try:
            found += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except OSError:
            continue
    return found * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def watched(into: dict[str, Any]) -> Iterator[None]:
    """Measure seconds and the largest memory of the process tree."""
    done, peak = threading.Event(), [0]

    def watch() -> None:
        while not done.wait(0.2):
            peak[0] = max(peak[0], tree_bytes())

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    begin = time.perf_counter()
    yield
    into["seconds"] = time.perf_counter() - begin
    done.set()
    thread.join()
    into["peak_bytes"] = max(peak[0], tree_bytes())


def session_results(policy: Path, source: Path, master: str) -> list[dict[str, Any]]:
    """Floor and releases in one session of Spark."""
    from tablecloak import pipeline
    from tablecloak.engines.spark import SparkEngine
    from tablecloak.policy.load import load_policy

    engine = SparkEngine(master, memory=MEMORY)
    engine.session.range(10).count()
    bottom: dict[str, Any] = {}
    target = source.with_name("floor")
    with watched(bottom):
        rows = engine.session.read.parquet(str(source))
        bottom["tuples"] = rows.groupBy(*QUASI).count().count()
        rows.write.mode("overwrite").parquet(str(target))
    shutil.rmtree(target)
    results = []
    for case, changes in CASES.items():
        run: dict[str, Any] = {}
        with watched(run):
            report = pipeline.run(load_policy(policy, changes), force=True, engine=engine)
        run |= {"parts": dict(report.seconds), "loss": report.loss, "classes": report.verification.n_classes}
        run["holds"] = report.verification.holds and report.verification.covers
        results.append({"case": case, "floor": bottom, "run": run})
    engine.close()
    return results


def results_of(folder: Path, n_rows: int, master: str) -> list[dict[str, Any]]:
    """Every case on a census of one size, in a process of its own."""
    source = table_file(folder, "census", n_rows)
    policy = write_policy(folder, source)
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale_spark",
        "--session",
        str(policy),
        str(source),
        "--master",
        master,
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1])
    if found.returncode:
        raise RuntimeError(f"measuring failed:\n{found.stderr[-4000:]}")
    results = json.loads(found.stdout.splitlines()[-1])
    for result in results:
        if not result["run"]["holds"]:
            raise ValueError(f"the release of {result['case']} on {n_rows} rows was not verified")
    return [{"table": "census", "rows": n_rows, "master": master, **result} for result in results]


def shown(results: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="Spark: Parquet in, verified Parquet out", title_justify="left")
    for name in ("rows", "goal", "master", "floor", "run", "run/floor", "peak of the tree", "loss", "classes"):
        table.add_column(name, justify="left" if name in ("goal", "master") else "right", no_wrap=True)
    for r in results:
        bottom, run = r["floor"], r["run"]
        table.add_row(
            f"{r['rows']:,}", r["case"], r["master"], f"{bottom['seconds']:.1f} s", f"{run['seconds']:.1f} s",
            f"{run['seconds'] / bottom['seconds']:.2f}", f"{run['peak_bytes'] / 1e9:.2f} GB", f"{run['loss']:.4f}",
            f"{run['classes']:,}",
        )  # fmt: skip
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_spark", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="sizes of the census")
    parser.add_argument("--master", default=MASTER, help="master of Spark")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    parser.add_argument("--session", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table, and keep the figures if asked."""
    chosen = arguments(given)
    if chosen.session:
        print(json.dumps(session_results(*chosen.session, chosen.master)))
        return 0
    console = Console(width=max(Console().width, 140))
    results: list[dict[str, Any]] = []
    with data_folder() as folder:
        for n_rows in chosen.rows:
            for result in results_of(folder, n_rows, chosen.master):
                results.append(result)
                parts = ", ".join(f"{name} {s:.1f}" for name, s in result["run"]["parts"].items())
                console.print(f"{n_rows:,} {result['case']}: {parts}", soft_wrap=True)
    console.print(shown(results))
    if chosen.output:
        append(chosen.output, [{"bench": "scale-spark", **r} for r in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
