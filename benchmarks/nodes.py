"""Loss of releases with hierarchy nodes, like for like: the same hierarchy for every column, scored from the files.

    python -m benchmarks.nodes [--first 3016,10000,0] [--k 5,10,50] [--methods mondrian,fast] [--page FILE]

Every release is made by the command line in a process of its own, after one that loads compiled kernels; seconds are
processor seconds of that whole process, from its start to the verified file, and memory its peak. `benchmarks.bound`
scores the file by its labels, and gives the bound. ARX is not part of this run: its figures are those of version 3.9.2,
local recoding, the same nine hierarchies and rows, its best of all settings tried, seconds of its whole process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.adult import find_adult
from benchmarks.bound import bound, gcp_of, read_rows, read_tuples
from benchmarks.tables import replace_between

METHODS = {
    "mondrian": "{kind: mondrian}",
    "fast": "{kind: auto, effort: fast}",
    "balanced": "{kind: auto, effort: balanced}",
    "best": "{kind: auto, effort: best}",
}
# The command line, and what its process used.
RUN = """
import json, sys, time
from benchmarks.measure import peak_memory_bytes
from tablecloak.cli.main import main
sys.argv = ["tablecloak", "run", sys.argv[1], "--force", "-q"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(json.dumps([time.process_time(), peak_memory_bytes()]))
"""
# GCP and CPU seconds by (rows, k).
ARX = {
    (30162, 5): (0.0646, 11.5), (30162, 10): (0.0892, 16.8), (30162, 50): (0.1641, 21.2),
    (3016, 5): (0.1469, 12.3), (3016, 10): (0.1983, 13.8), (3016, 50): (0.3360, 14.5),
}  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """One release."""

    rows: int
    k: int
    method: str
    gcp: float
    seconds: float
    peak_mb: int


def first_rows(folder: Path, first: int, target: Path) -> int:
    """Write the first rows of Adult (0: all); how many."""
    lines = (folder / "adult.csv").read_text(encoding="utf-8").splitlines()
    kept = lines[: first + 1] if first else lines
    target.write_text("\n".join(kept) + "\n", encoding="utf-8")
    return len(kept) - 1


def policy_text(table: Path, folder: Path, k: int, method: str, release: Path) -> str:
    columns, _ = read_rows(table, 0)
    roles = "\n".join(f"  {c}: {{role: quasi, hierarchy: '{folder}/adult_hierarchy_{c}.csv'}}" for c in columns)
    return f"""version: 1
input: '{table}'
columns:
{roles}
goals: [{{model: k-anonymity, k: {k}}}]
algorithm: {METHODS[method]}
output: '{release}'
"""


def measure(table: Path, folder: Path, rows: int, k: int, method: str) -> Measured:
    release, policy = table.with_name("release.csv"), table.with_name("policy.yaml")
    policy.write_text(policy_text(table, folder, k, method, release), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", RUN, str(policy)], stdout=subprocess.PIPE, text=True, check=True)
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return Measured(rows, k, method, gcp_of(release, table, folder), seconds, peak // 1_000_000)


def table_of(measured: list[Measured], bounds: dict[tuple[int, int], float], methods: list[str]) -> str:
    """The results as a table of Markdown."""
    lines = [
        f"| rows | k | bound | {' | '.join(f'`{m}`' for m in methods)} | ARX local |",
        "|" + "---|" * (len(methods) + 4),
    ]
    for (rows, k), least in bounds.items():
        own = {m.method: m for m in measured if (m.rows, m.k) == (rows, k)}
        cells = [f"{own[m].gcp:.4f} / {own[m].seconds:.1f} / {own[m].peak_mb}" for m in methods]
        peer = "{:.4f} / {:.1f}".format(*ARX[rows, k]) if (rows, k) in ARX else ""
        lines.append(f"| {rows:,} | {k} | {least:.4f} | {' | '.join(cells)} | {peer} |")
    return "GCP / CPU seconds / peak MB:\n\n" + "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", default="3016,10000,0")
    parser.add_argument("--k", default="2,5,10,25,50,100")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rounds", type=int, default=200, help="of the bound")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    given = parser.parse_args()
    folder = find_adult()
    if folder is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    methods = given.methods.split(",")
    measured: list[Measured] = []
    bounds: dict[tuple[int, int], float] = {}
    with tempfile.TemporaryDirectory() as temporary:
        table = Path(temporary) / "adult.csv"
        for first in map(int, given.first.split(",")):
            rows = first_rows(folder, first, table)
            tuples = read_tuples(table, folder.resolve(), None)
            for method in methods:
                measure(table, folder.resolve(), rows, 10, method)  # loads, or compiles, kernels
            for k in map(int, given.k.split(",")):
                bounds[rows, k] = bound(tuples, k, given.rounds)
                for method in methods:
                    measured.append(measure(table, folder.resolve(), rows, k, method))
                    print(measured[-1], f"bound {bounds[rows, k]:.4f}", flush=True)
    text = table_of(measured, bounds, methods)
    print(text)
    if given.page:
        replace_between(given.page, "nodes", text)


if __name__ == "__main__":
    main()
