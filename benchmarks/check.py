"""What a check costs beside the run it speaks of: processor seconds and clock, from the start of the command.

Both sides get the same table and policy in the same session, each in a process of its own: with kernels compiled, and
the first time ever, when a run waits for the compiler.

Modules are compiled to bytecode before, as in any installation. With kernels compiled, the least of several times
counts: others may use the machine.

    python -m benchmarks.check [--rows 50000] [--engine local] [--warm] [--repeat 3] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tablecloak.sample import census_policy, census_to_file

COMMANDS = {
    "check": ["check", "policy.yaml", "--json"],
    "check --exact": ["check", "policy.yaml", "--exact", "--json"],
    "run": ["run", "policy.yaml", "--force", "--json"],
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--engine", default="local")
    parser.add_argument("--warm", action="store_true", help="only with kernels compiled, those of this installation")
    parser.add_argument("--repeat", type=int, default=3, help="how often each command runs with kernels compiled")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        states = ("warm",) if given.warm else ("cold", "warm")
        measured = measure(Path(folder), given.rows, given.engine, states, given.repeat)
    show(measured, given.rows, given.engine)
    if given.json:
        given.json.write_text(json.dumps(measured, indent=2) + "\n")
    return 0


def measure(folder: Path, n_rows: int, engine: str, states: Sequence[str], repeat: int) -> list[dict[str, Any]]:
    """One row for every command and state of the kernels."""
    census_to_file(folder / "census.csv", n_rows)
    policy = census_policy().replace("algorithm: mondrian", "algorithm: auto")
    (folder / "policy.yaml").write_text(policy, encoding="utf-8")
    rows = []
    for kernels in states:
        for name, words in COMMANDS.items():
            cache = folder / f"cache-{name}" if kernels == "cold" else None
            # a first run of its own writes the bytecode, and what else a command keeps
            times = [_timed(folder, [*words, "--engine", engine], cache) for _ in range(1 if cache else 1 + repeat)]
            least = min(times[-repeat:], key=lambda time: float(time["cpu_seconds"]))
            rows.append({"command": name, "kernels": kernels, **least})
    return rows


def _timed(folder: Path, words: list[str], cache: Path | None) -> dict[str, Any]:
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    settings["PYTHONPYCACHEPREFIX"] = str(folder / "bytecode")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "tablecloak.cli.main", *words], cwd=folder, check=True, capture_output=True, text=True,
        env={**settings, **({"XDG_CACHE_HOME": str(cache)} if cache else {})},
    )  # fmt: skip
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    report = json.loads(done.stdout)
    return {"cpu_seconds": cpu, "seconds": seconds, "loss": report["loss"], "sampled_rows": report.get("sampled_rows")}


def show(rows: list[dict[str, Any]], n_rows: int, engine: str) -> None:
    table = Table(title=f"census, {n_rows:,} rows, k=10, auto, engine {engine}")
    for head in ("command", "kernels", "CPU s", "clock s", "share of run (CPU)", "loss"):
        table.add_column(head, justify="left" if head in ("command", "kernels") else "right")
    runs = {row["kernels"]: row["cpu_seconds"] for row in rows if row["command"] == "run"}
    for row in rows:
        loss = f"{row['loss']:.3f}" + (f" (from {row['sampled_rows']:,} rows)" if row["sampled_rows"] else "")
        share = f"{row['cpu_seconds'] / runs[row['kernels']]:.0%}"
        table.add_row(row["command"], row["kernels"], f"{row['cpu_seconds']:.1f}", f"{row['seconds']:.1f}", share, loss)
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
