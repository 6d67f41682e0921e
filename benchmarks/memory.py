"""Whether a memory limit is one: the peak of every algorithm with several goals, each in a process of its own.

    python -m benchmarks.memory [--rows 1000000] [--memory 1GB] [--engine duckdb] [--algorithms auto,mondrian]
                                [--goals NAME ..] [--cap 120] [--output FILE]

A case ends in one of five ways. `kept`: the peak is at most the limit and 0.3 GB. `refused`: an error said before the
search began why it cannot be done. `cut off`: the search took longer than the cap and was ended, with a peak so far
within the limit. `PASSED`: the peak is above the limit. `FAILED`: anything else. Seconds are processor seconds.
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
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.measure import environment, tree_peak_bytes
from benchmarks.run import append, data_folder
from benchmarks.scale import spill_folder
from benchmarks.tables import replace_between

ROWS, MEMORY, CAP = 1_000_000, "1GB", 120.0
ALLOWED = 300_000_000  # bytes above the limit
ENDED_ABOVE = 4  # times the limit: a case is ended there, before it takes the machine
POLL_SECONDS = 0.2
MODELS = (
    "{{model: l-diversity, l: 3, variant: distinct, sensitive: {name}}}",
    "{{model: t-closeness, t: 0.3, distance: {distance}, sensitive: {name}}}",
)
SENSITIVE = {"disease": "equal", "salary": "ordered", "clinic": "equal", "days": "ordered"}
GOALS: dict[str, tuple[str, ...]] = {
    "k": (),
    "k l t, category": ("disease",),
    "k l t, unique number": ("salary",),
    "k l t, four columns": tuple(SENSITIVE),
}


@dataclass(frozen=True, slots=True)
class Case:
    """How one run ended."""

    algorithm: str
    goal: str
    ending: str
    cpu_seconds: float
    peak_bytes: int
    loss: float | None = None
    said: str = ""


def table_file(folder: Path, n_rows: int) -> Path:
    """A census with four sensitive columns: few values, nearly unique numbers, many values, whole numbers."""
    path = folder / f"memory-{n_rows}.parquet"
    if not path.exists():
        from tablecloak.rng import child
        from tablecloak.sample import census

        random, people = child(n_rows, "memory"), census(n_rows)
        clinic = pl.Series("clinic", np.char.add("clinic ", random.integers(0, 4000, n_rows).astype(str)))
        days = pl.Series("days", random.geometric(0.02, n_rows))
        partial = path.with_suffix(".partial")
        people.with_columns(clinic, days).write_parquet(partial)
        partial.replace(path)
    return path


def write_policy(folder: Path, source: Path, algorithm: str, goal: str) -> Path:
    """The policy of one case."""
    from tablecloak.sample import census_policy

    names = GOALS[goal]
    goals = ["{model: k-anonymity, k: 10}"]
    goals += [m.format(name=name, distance=SENSITIVE[name]) for name in names for m in MODELS]
    base = census_policy(10, source=str(source.resolve()), target="release.parquet")
    begin, end = base.index("  disease:"), base.index("algorithm:")
    roles = "".join(f"  {n}: {{role: {'sensitive' if n in names else 'keep'}}}\n" for n in SENSITIVE)
    target = base[end:].replace("algorithm: mondrian", f"algorithm: {algorithm}")
    text = f"{base[:begin]}{roles}goals: [{', '.join(goals)}]\n{target}"
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def run_case(policy: str, engine: str, memory: str, spill: str) -> dict[str, Any]:
    """Carry out a policy; a refusal is an answer."""
    from tablecloak import pipeline
    from tablecloak.errors import CloakError, IncompatibleChoice, PolicyError
    from tablecloak.policy.load import load_policy

    begin = time.process_time()
    folder = None if engine == "local" else Path(spill)
    try:
        report = pipeline.run(load_policy(Path(policy)), force=True, engine=engine, memory=memory, spill=folder)
    except CloakError as error:
        ending = "refused" if isinstance(error, IncompatibleChoice | PolicyError) else "no answer"
        return {"ending": ending, "cpu_seconds": time.process_time() - begin, "said": str(error).splitlines()[0]}
    holds = report.verification.holds and report.verification.covers
    cpu = time.process_time() - begin
    return {"ending": "kept" if holds else "FAILED", "cpu_seconds": cpu, "loss": report.loss}


def measured(
    algorithm: str, goal: str, policy: Path, *, engine: str, memory: str, cap: float, folder: Path
) -> Case:  # fmt: skip
    """One case in a process of its own, ended at the cap or where it takes far more than the limit."""
    from tablecloak.values.amounts import parse_bytes

    limit = parse_bytes(memory)
    with spill_folder(folder) as spill, tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        command = [sys.executable, "-m", "benchmarks.memory", "--measure", str(policy), engine, memory, str(spill)]
        process = subprocess.Popen(command, stdout=out, stderr=err, env=environment())
        peak, cpu = 0, 0.0
        while process.poll() is None:
            peak, cpu = _seen(process.pid, peak, cpu)
            if cpu > cap or peak > ENDED_ABOVE * limit:
                process.kill()
                process.wait()
                ending = "cut off" if peak <= limit + ALLOWED else "PASSED"
                return Case(algorithm, goal, ending, cpu, peak)
            time.sleep(POLL_SECONDS)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            return Case(algorithm, goal, "FAILED", cpu, peak, said=err.read().strip().splitlines()[-1:][0])
        case = Case(algorithm, goal, **json.loads(out.read().splitlines()[-1]))
        return case if case.peak_bytes <= limit + ALLOWED else Case(**{**asdict(case), "ending": "PASSED"})


def _seen(pid: int, peak: int, cpu: float) -> tuple[int, float]:
    """Peak memory and processor seconds of a process, or what was seen of it before."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
    except OSError:
        return peak, cpu
    lines = [text for text in status.splitlines() if text.startswith("VmHWM")]
    now = int(lines[0].split()[1]) * 1024 if lines else 0
    return max(peak, now), max(cpu, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))


def shown(cases: Sequence[Case]) -> Table:
    table = Table(title_justify="left")
    for name in ("algorithm", "goal", "ending", "CPU s", "peak GB", "loss", "said"):
        table.add_column(name, justify="right" if name in ("CPU s", "peak GB", "loss") else "left")
    for c in cases:
        loss = "" if c.loss is None else f"{c.loss:.4f}"
        table.add_row(
            c.algorithm, c.goal, c.ending, f"{c.cpu_seconds:.1f}", f"{c.peak_bytes / 1e9:.2f}", loss, c.said[:90]
        )
    return table


def as_markdown(cases: Sequence[Case]) -> str:
    """Algorithms down, goals across; how each case ended, its peak in GB and its processor seconds."""
    by = {(c.algorithm, c.goal): c for c in cases}
    goals = [g for g in GOALS if any(c.goal == g for c in cases)]
    lines = [f"| algorithm | {' | '.join(goals)} |", "|---" * (len(goals) + 1) + "|"]
    for algorithm in dict.fromkeys(c.algorithm for c in cases):
        cells = [_cell(by.get((algorithm, goal))) for goal in goals]
        lines.append(f"| `{algorithm}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(case: Case | None) -> str:
    if case is None:
        return "–"
    if case.ending in ("refused", "no answer"):
        return case.ending
    mark = "" if case.ending == "kept" else f"{case.ending}, "
    return f"{mark}{case.peak_bytes / 1e9:.2f} / {case.cpu_seconds:.0f}"


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--memory", default=MEMORY, help="the limit")
    parser.add_argument("--engine", default="duckdb")
    parser.add_argument("--algorithms", help="all that form classes, if not given")
    parser.add_argument("--goals", nargs="+", choices=list(GOALS), default=list(GOALS))
    parser.add_argument("--cap", type=float, default=CAP, help="processor seconds after which a case is ended")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table, and keep the figures if asked; 1 if a limit was passed."""
    chosen = arguments(given)
    if chosen.measure:
        print(json.dumps({**run_case(*chosen.measure), "peak_bytes": tree_peak_bytes()}))
        return 0
    from tablecloak.registry import known

    every = [name for name, a in known("algorithms").items() if a.forms_classes]
    names = chosen.algorithms.split(",") if chosen.algorithms else every
    console, cases = Console(width=max(Console().width, 160)), list[Case]()
    with data_folder() as folder:
        source = table_file(folder, chosen.rows)
        for name in names:
            for goal in chosen.goals:
                with tempfile.TemporaryDirectory(dir=folder) as own:  # others may measure beside this one
                    policy = write_policy(Path(own), source, name, goal)
                    case = measured(
                        name, goal, policy, engine=chosen.engine, memory=chosen.memory, cap=chosen.cap, folder=folder
                    )
                cases.append(case)
                print(*_cell_of(case), sep=" | ", flush=True)
                if chosen.output:
                    append(chosen.output, [{"bench": "memory", "rows": chosen.rows, **asdict(case)}])
    console.print(shown(cases))
    if chosen.page:
        replace_between(chosen.page, "memory", as_markdown(cases))
    return int(any(c.ending in ("PASSED", "FAILED") for c in cases))


def _cell_of(case: Case) -> tuple[str, ...]:
    return case.algorithm, case.goal, _cell(case), case.said


if __name__ == "__main__":
    sys.exit(main())
