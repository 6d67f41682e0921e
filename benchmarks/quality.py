"""What each method loses on Adult: every registered algorithm x k, like for like, scored from the released files.

    python -m benchmarks.quality [--k 2,5,10] [--only auto,mondrian] [--limit 120] [--json FILE] [--svg FILE]

All nine columns are quasi-identifiers, each with its hierarchy, age too; `sets` are sets of the same values, counted by
the same leaves. Every release is made by the command line in a process of its own, after one that loads kernels;
seconds are processor seconds of that process. `benchmarks.score` reads the loss from the file, `benchmarks.bound` says
what no release with nodes goes below.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.adult import find_adult
from benchmarks.chart import line_chart
from benchmarks.losses import ARX, KS, Table, adult_table, algorithm_of, bound_of
from benchmarks.releases import NoReleaseError, measured_on, release
from benchmarks.tables import grid, replace_between
from tablecloak import registry

EFFORTS = ("fast", "balanced", "best")
SUPPRESSING = "{kind: optimal, suppression_limit: 0.5}"
# Methods that publish means: what these lose is not in labels.
AVERAGING = ("mdav", "univariate", "v-mdav")


@dataclass(frozen=True, slots=True)
class Result:
    """One method at one k."""

    method: str
    k: int
    gcp: float
    discernibility: int
    c_avg: float
    suppressed: int
    seconds: float


def methods(only: list[str]) -> dict[str, str]:
    """Every registered algorithm as policies name it: auto with each of its efforts and vocabularies, optimal with
    suppression too."""
    texts: dict[str, str] = {}
    for name in registry.known("algorithms"):
        if name == "auto":
            texts |= {f"auto {effort}": algorithm_of(effort, "nodes") for effort in EFFORTS}
            texts |= {f"auto {effort}, sets": algorithm_of(effort, "sets") for effort in EFFORTS}
        elif name not in AVERAGING:
            texts[name] = f"{{kind: {name}}}"
        if name == "optimal":
            texts["optimal, suppressing"] = SUPPRESSING
    return {name: text for name, text in texts.items() if not only or name.split()[0].rstrip(",") in only}


def goal_of(name: str, k: int) -> str:
    """k-anonymity, or the nearest thing for an algorithm that gives rows of a class different cells."""
    return f"[{{model: {'k-concealment' if name == 'ring' else 'k-anonymity'}, k: {k}}}]"


def measured(table: Table, folder: Path, name: str, text: str, k: int, limit: float) -> Result:
    """Raises: NoReleaseError."""
    policy, target = folder / "policy.yaml", folder / "release.csv"
    policy.write_text(table.policy("nodes", text, target, goal_of(name, k)), encoding="utf-8")
    done = release(policy, target, table.scored("nodes"), n_rows=table.n_rows, k=k, limit=limit)
    return Result(
        name, k, done.score.gcp, done.score.discernibility, done.score.c_avg, done.score.suppressed, done.cpu_seconds
    )


def results_of(table: Table, folder: Path, name: str, text: str, ks: list[int], limit: float) -> list[Result]:
    """Results of a method, after a first one that loads, or compiles, kernels; none where it refuses."""
    results: list[Result] = []
    for k in [ks[0], *ks]:
        try:
            results.append(measured(table, folder, name, text, k, limit))
        except NoReleaseError as reason:
            print(f"{name}, k = {k}: {reason}", flush=True)
            if not results:
                break
    return results[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--k", default=",".join(map(str, KS)))
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds by the clock for one release")
    parser.add_argument("--json", type=Path, help="write one JSON object per result")
    parser.add_argument("--svg", type=Path, help="draw loss against k")
    parser.add_argument("--page", type=Path, help="put tables between the marks of this page")
    given = parser.parse_args()
    source = find_adult()
    if source is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    ks = [int(k) for k in given.k.split(",")]
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table = adult_table(folder, source, 0)
        for name, text in methods(given.only.split(",") if given.only else []).items():
            own = results_of(table, folder, name, text, ks, given.limit)
            print(*(json.dumps(asdict(r)) for r in own), sep="\n", flush=True)
            results += own
        bounds = {k: bound_of(table, k) for k in ks}
    if given.json:
        given.json.write_text("".join(json.dumps(asdict(r)) + "\n" for r in results), encoding="utf-8")
    text = f"{measured_on()}\n\n{_tables(results, bounds, table.n_rows)}"
    print(text)
    if given.page:
        replace_between(given.page, "quality", text)
    if given.svg:
        given.svg.write_text(_chart(results), encoding="utf-8")


def _tables(results: list[Result], bounds: dict[int, float], n_rows: int) -> str:
    """Loss, how many times the bound that is, and seconds; then the measures of class sizes."""
    shown = [replace(r, method=f"`{r.method}`") for r in results]
    peers = [Result("ARX, local recoding", k, *_peer(n_rows, k)) for k in bounds if (n_rows, k) in ARX]
    least = [Result("bound of nodes", k, least, 0, 0.0, 0, 0.0) for k, least in bounds.items()]
    loss = grid([*shown, *peers, *least], lambda r: _loss(r, bounds[r.k]))
    sizes = grid(shown, lambda r: f"{r.discernibility:,} / {r.c_avg:.2f} / {r.suppressed:,}")
    return (
        f"GCP (as a multiple of the bound) / CPU seconds:\n\n{loss}\n\n"
        f"Discernibility / C_avg / records suppressed:\n\n{sizes}"
    )


def _peer(n_rows: int, k: int) -> tuple[float, int, float, int, float]:
    gcp, seconds = ARX[n_rows, k]
    return gcp, 0, 0.0, 0, seconds


def _loss(r: Result, least: float) -> str:
    return f"{r.gcp:.4f} ({r.gcp / least:.2f}) / {r.seconds:.1f}" if r.seconds else f"{r.gcp:.4f}"


def _chart(results: list[Result]) -> str:
    names = dict.fromkeys(r.method for r in results)
    series = {name: [(float(r.k), r.gcp) for r in results if r.method == name] for name in names}
    return line_chart(series, x="k", y="information loss (GCP)", bold="auto")


if __name__ == "__main__":
    main()
