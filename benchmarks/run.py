"""How fast, how large and how lossy a run is, as ratios to the least that polars itself needs in the same session.

`make bench`, or `python -m benchmarks.run --help`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import adult
from benchmarks.measure import environment

__all__ = ["CASES", "CensusResult", "best_of", "census_result", "main", "measure"]

ROWS = (100_000, 1_000_000, 10_000_000)
BUSY = 1.5  # processes that want a processor, by processor; a measurement alone stays near 1
ADULT_K = (5, 10, 50)
ADULT_SPLITS = ("loss", "width")
CASES = {
    "k=10": [],
    "k=10 l=3 t=0.3": [
        "goals.1={model: l-diversity, l: 3, variant: distinct, sensitive: disease}",
        "goals.2={model: t-closeness, t: 0.3, distance: equal, sensitive: disease}",
    ],
}


KEPT = "order: keep"  # beside the first case, to tell what the order of a release costs


@dataclass(frozen=True, slots=True)
class CensusResult:
    """What one goal costs on a census of one size; seconds are the least of all repeats, bytes and load the most."""

    rows: int
    case: str
    floor_seconds: float
    floor_parts: dict[str, float]
    floor_peak_bytes: int
    run_seconds: float
    run_parts: dict[str, float]
    run_peak_bytes: int
    table_plain_bytes: int
    table_categorical_bytes: int
    tuples: int
    classes: int
    loss: float
    floor_cpu_seconds: float
    run_cpu_seconds: float
    load: float  # processes that wanted a processor while this was measured, these included
    kept_cpu_seconds: float | None = None  # of the same run whose rows stay in the order of the input
    before_cpu_seconds: float | None = None  # of an earlier version

    @property
    def solve_seconds(self) -> float:
        return self.run_parts["solve"]

    @property
    def run_ratio(self) -> float:
        """Seconds of the run as a multiple of the floor's."""
        return self.run_seconds / self.floor_seconds

    @property
    def solve_ratio(self) -> float:
        """Seconds of the search alone as a multiple of the floor's."""
        return self.solve_seconds / self.floor_seconds

    @property
    def cpu_ratio(self) -> float:
        """Processor time of the run as a multiple of the floor's; waiting for a busy machine does not count."""
        return self.run_cpu_seconds / self.floor_cpu_seconds

    @property
    def order_ratio(self) -> float | None:
        """Processor time for putting rows in order, and for what that makes slower, as a multiple of the floor's."""
        if self.kept_cpu_seconds is None:
            return None
        return (self.run_cpu_seconds - self.kept_cpu_seconds) / self.floor_cpu_seconds

    @property
    def findings_ratio(self) -> float:
        """Seconds for counting the published table and looking for findings as a multiple of the floor's."""
        return self.run_parts["findings"] / self.floor_seconds

    @property
    def before_ratio(self) -> float | None:
        """Processor time of an earlier version as a multiple of the floor's."""
        return None if self.before_cpu_seconds is None else self.before_cpu_seconds / self.floor_cpu_seconds

    @property
    def peak_ratio(self) -> float:
        """Peak memory as a multiple of the table read plainly."""
        return self.run_peak_bytes / self.table_plain_bytes


def measure(kind: str, *arguments: object, checkout: Path | None = None) -> dict[str, Any]:
    """One measurement in a fresh process; raises RuntimeError with what it said if it fails.

    Args:
        checkout: of an earlier version, which has a .venv of its own.
    """
    python = checkout / ".venv/bin/python" if checkout else sys.executable
    command = [str(python), "-m", "benchmarks.measure", kind, *map(str, arguments)]
    root = checkout or Path(__file__).parents[1]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root, env=environment())
    if found.returncode:
        raise RuntimeError(f"measuring {kind} failed:\n{found.stderr}")
    return {**json.loads(found.stdout), "load": os.getloadavg()[0]}


def best_of(repeats: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The repeat that took the least time, with the least processor time, the most memory and load of all of them."""
    fastest = min(repeats, key=lambda r: float(r["seconds"]))
    extremes = {name: max(r[name] for r in repeats) for name in ("peak_bytes", "load")}
    return {**fastest, **extremes, "cpu_seconds": min(r["cpu_seconds"] for r in repeats)}


def census_file(folder: Path, n_rows: int) -> Path:
    """The census of that size, made if it is not in the folder yet."""
    path = folder / f"census-{n_rows}.csv"
    if not path.exists():
        measure("generate", path, n_rows)
    return path


def write_policy(folder: Path, source: Path) -> Path:
    """The policy that every case starts from."""
    from tablecloak.sample import census_policy

    path = folder / f"{source.stem}.yaml"
    path.write_text(census_policy(10, source=source.name, target=f"{source.stem}-release.csv"), encoding="utf-8")
    return path


def warm_up(folder: Path, before: Path | None = None) -> None:
    """Compile the kernels once; later processes load them from the cache."""
    policy = write_policy(folder, census_file(folder, 50_000))
    for changes in CASES.values():
        for checkout in [None, before] if before else [None]:
            measure("release", policy, *changes, checkout=checkout)


def census_results(folder: Path, n_rows: int, repeat: int, before: Path | None = None) -> list[CensusResult]:
    """Every case on a census of one size; floor and runs take turns, so that a busy machine slows both."""
    source = census_file(folder, n_rows)
    policy = write_policy(folder, source)
    target = folder / f"{source.stem}-release.csv"
    floors: list[dict[str, Any]] = []
    cases = {**CASES, KEPT: [*next(iter(CASES.values())), f"output={{path: {target.name}, order: keep}}"]}
    runs: dict[str, list[dict[str, Any]]] = {case: [] for case in cases}
    earlier: dict[str, list[float]] = {case: [] for case in CASES}
    for _ in range(repeat):
        floors.append(measure("floor", source, target))
        for case, changes in cases.items():
            runs[case].append(measure("release", policy, *changes))
            if before and case in CASES:
                earlier[case].append(measure("release", policy, *changes, checkout=before)["cpu_seconds"])
    target.unlink()
    table = measure("sizes", source)
    results = [
        replace(
            census_result(n_rows, case, best_of(floors), best_of(runs[case]), table),
            before_cpu_seconds=min(earlier[case], default=None),
        )
        for case in CASES
    ]
    return [replace(results[0], kept_cpu_seconds=best_of(runs[KEPT])["cpu_seconds"]), *results[1:]]


def census_result(
    n_rows: int, case: str, floor: dict[str, Any], run: dict[str, Any], table: dict[str, Any]
) -> CensusResult:
    """The measurements of one case put side by side; raises ValueError if the release was not verified."""
    if not (run["holds"] and run["covers"]):
        raise ValueError(f"the release of {case} on {n_rows} rows was not verified")
    return CensusResult(
        rows=n_rows,
        case=case,
        floor_seconds=floor["seconds"],
        floor_parts=floor["parts"],
        floor_peak_bytes=floor["peak_bytes"],
        run_seconds=run["seconds"],
        run_parts=run["parts"],
        run_peak_bytes=run["peak_bytes"],
        table_plain_bytes=table["plain"],
        table_categorical_bytes=table["categorical"],
        tuples=floor["tuples"],
        classes=run["classes"],
        loss=run["loss"],
        floor_cpu_seconds=floor["cpu_seconds"],
        run_cpu_seconds=run["cpu_seconds"],
        load=max(floor["load"], run["load"]),
    )


def adult_results(source: Path, folder: Path, repeat: int) -> list[dict[str, Any]]:
    """Loss and seconds on Adult for every k and both ways to choose a cut."""
    results = []
    for k in ADULT_K:
        for split in ADULT_SPLITS:
            policy = folder / "adult.yaml"
            policy.write_text(adult.policy_text(source, folder / "adult-release.csv", k=k, split=split))
            best = best_of([measure("release", policy) for _ in range(repeat)])
            solve = best["parts"]["solve"]
            results.append(
                {"k": k, "split": split, "seconds": best["seconds"], "solve": solve, "classes": best["classes"]}
                | {"loss": best["loss"]}
            )
    return results


def ratio_table(results: Sequence[CensusResult]) -> Table:
    """The ratios people ask for."""
    table = Table(title="Census, 8 quasi-identifiers, CSV in, verified CSV out", title_justify="left")
    for name in (
        "rows",
        "goal",
        "floor",
        "run",
        "solve",
        "run/floor",
        "solve/floor",
        "cpu/floor",
        "before",
        "order/floor",
        "findings/floor",
        "peak/table",
        "load",
    ):
        table.add_column(name, justify="left" if name == "goal" else "right", no_wrap=True)
    for r in results:
        table.add_row(
            f"{r.rows:,}", r.case, f"{r.floor_seconds:.2f} s", f"{r.run_seconds:.2f} s", f"{r.solve_seconds:.2f} s",
            f"{r.run_ratio:.2f}", f"{r.solve_ratio:.2f}", f"{r.cpu_ratio:.2f}",
            _or_nothing(r.before_ratio), _or_nothing(r.order_ratio), f"{r.findings_ratio:.2f}", f"{r.peak_ratio:.2f}",
            f"{r.load:.1f}",
        )  # fmt: skip
    return table


def _or_nothing(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def detail_table(results: Sequence[CensusResult]) -> Table:
    """Where time and memory go."""
    table = Table(title="Parts (seconds) and memory", title_justify="left")
    for name in ("rows", "goal", "floor", "run", "floor peak", "run peak", "table", "as categories", "classes", "loss"):
        table.add_column(name, justify="left" if name in ("goal", "floor", "run") else "right")
    for r in results:
        table.add_row(
            f"{r.rows:,}", r.case, parts(r.floor_parts), parts(r.run_parts), megabytes(r.floor_peak_bytes),
            megabytes(r.run_peak_bytes), megabytes(r.table_plain_bytes), megabytes(r.table_categorical_bytes),
            f"{r.classes:,}", f"{r.loss:.4f}",
        )  # fmt: skip
    return table


def adult_table(results: Sequence[dict[str, Any]]) -> Table:
    """Loss on Adult."""
    table = Table(title="Adult, 8 quasi-identifiers with hierarchies", title_justify="left")
    for name in ("k", "split", "loss (GCP)", "classes", "solve", "run"):
        table.add_column(name, justify="left" if name == "split" else "right")
    for r in results:
        table.add_row(
            str(r["k"]), r["split"], f"{r['loss']:.4f}", f"{r['classes']:,}", f"{r['solve']:.2f} s",
            f"{r['seconds']:.2f} s",
        )  # fmt: skip
    return table


def is_busy(results: Sequence[CensusResult]) -> bool:
    """More processes wanted a processor than there are, so seconds measure the others too."""
    return any(r.load > BUSY * (os.cpu_count() or 1) for r in results)


def megabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.0f} MB"


def parts(seconds: dict[str, float]) -> str:
    return ", ".join(f"{name} {s:.2f}" for name, s in seconds.items())


def machine() -> dict[str, Any]:
    """What the figures depend on."""
    packages = {name: version(name) for name in ("tablecloak", "polars", "numba", "numpy")}
    return {"cpus": os.cpu_count(), "python": platform.python_version(), "system": platform.platform(), **packages}


def append(path: Path, records: Sequence[dict[str, Any]]) -> None:
    """Add records to a JSON lines file, each with the time and the machine."""
    about = {"at": datetime.now(UTC).isoformat(timespec="seconds"), "machine": machine()}
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps({**about, **record}) + "\n" for record in records)


@contextmanager
def data_folder() -> Iterator[Path]:
    """Where data is kept: TABLECLOAK_BENCH_DIR, or a folder that is removed afterwards."""
    kept = os.environ.get("TABLECLOAK_BENCH_DIR")
    if kept:
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory(prefix="tablecloak-bench-") as folder:
        yield Path(folder)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS), help="sizes of the census")
    parser.add_argument("--repeat", type=int, default=3, help="measure this often, the least time counts")
    parser.add_argument("--quick", action="store_true", help="100,000 rows, once")
    parser.add_argument("--before", type=Path, help="checkout of an earlier version, with its .venv")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    chosen = parser.parse_args(given)
    if chosen.quick:
        chosen.rows, chosen.repeat = [ROWS[0]], 1
    if chosen.repeat < 1 or min(chosen.rows) < 1:
        parser.error("--rows and --repeat must be at least 1")
    return chosen


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print tables, and keep the figures if asked."""
    chosen, console = arguments(given), Console(width=max(Console().width, 160))
    census: list[CensusResult] = []
    with data_folder() as folder:
        warm_up(folder, chosen.before)
        for n_rows in chosen.rows:
            census += census_results(folder, n_rows, chosen.repeat, chosen.before)
        source = adult.find_adult()
        on_adult = adult_results(source, folder, chosen.repeat) if source else []
    console.print(ratio_table(census), detail_table(census))
    if is_busy(census):
        console.print(
            "Others used this machine meanwhile: do not trust ratios of seconds, cpu/floor is nearer the truth."
        )
    console.print(adult_table(on_adult) if source else "Adult is not here; set TABLECLOAK_DATA to measure it.")
    if chosen.output:
        records = [{"bench": "census", **asdict(r)} for r in census]
        append(chosen.output, records + [{"bench": "adult", **r} for r in on_adult])
    return 0


if __name__ == "__main__":
    sys.exit(main())
