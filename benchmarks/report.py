"""What the full default report costs: a run that writes one, as a ratio to the same run without.

`python -m benchmarks.report [--rows 1000000] [--repeat 2]`. Both run in processes of their own, one after the other.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.run import CASES, best_of, census_file, data_folder, measure, warm_up, write_policy

__all__ = ["LIMIT", "main", "results"]

LIMIT = 2.0  # a run with its report may take this many times as long as one without
WITH_REPORT = ["output.report=report.html", "output.certificate=certificate.json"]


def results(folder: Path, n_rows: int, repeat: int) -> list[dict[str, Any]]:
    """For every goal: seconds with and without a report, and their ratio."""
    policy = write_policy(folder, census_file(folder, n_rows))
    found = []
    for case, changes in CASES.items():
        plain = best_of([measure("release", policy, *changes) for _ in range(repeat)])
        full = best_of([measure("release", policy, *changes, *WITH_REPORT) for _ in range(repeat)])
        added = {phase: full["parts"][phase] - plain["parts"].get(phase, 0.0) for phase in full["parts"]}
        found.append(
            {
                "rows": n_rows,
                "case": case,
                "run_seconds": plain["seconds"],
                "report_seconds": full["seconds"],
                "ratio": full["seconds"] / plain["seconds"],
                "cpu_ratio": full["cpu_seconds"] / plain["cpu_seconds"],
                "added": {phase: seconds for phase, seconds in added.items() if seconds > 0.05},
            }
        )
    return found


def table_of(found: Sequence[dict[str, Any]]) -> Table:
    """The ratios as a table."""
    table = Table("rows", "goal", "run", "with report", "ratio", "ratio of CPU", "where the time goes")
    for r in found:
        parts = ", ".join(f"{phase} +{seconds:.1f} s" for phase, seconds in r["added"].items())
        seconds = (f"{r['run_seconds']:.1f} s", f"{r['report_seconds']:.1f} s")
        table.add_row(f"{r['rows']:,}", r["case"], *seconds, f"{r['ratio']:.2f}", f"{r['cpu_ratio']:.2f}", parts)
    return table


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print, and say by the exit code whether every ratio is below the limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=2)
    asked = parser.parse_args(given)
    with data_folder() as folder:
        warm_up(folder)
        found = results(folder, asked.rows, asked.repeat)
    Console().print(table_of(found))
    return int(any(r["ratio"] > LIMIT for r in found))


if __name__ == "__main__":
    raise SystemExit(main())
