"""The Spark engine: time as a ratio to Spark's own read, group-by and write, in the same session.

Part of `make bench-scale`, or `python -m benchmarks.scale_spark --help`. The cluster is one master and two workers that
are started on this machine. Memory and processor seconds are those of the whole process tree: this process, Java, the
cluster if there is one, and the Python workers. Bytes that reach the driver are those of all Arrow tables it fetches.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from benchmarks.measure import QUASI
from benchmarks.run import CASES, append, data_folder
from benchmarks.scale import table_file, write_policy

ROWS = (10_000_000,)
MASTER = "local[2]"
CLUSTER = "cluster"
CLUSTER_ROWS = (2_000_000,)
WARM = 50_000  # rows that compiled kernels are tried on
MEMORY = 3 << 30  # of the driver, which in local mode holds everything but the Python workers


def tree() -> list[int]:
    """This process and all it started, and what those started."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents.setdefault(int(_fields(stat)[1]), []).append(int(stat.parent.name))
    found = [os.getpid()]
    for pid in found:
        found.extend(parents.get(pid, ()))
    return found


def _fields(stat: Path) -> list[str]:
    """What the system says of a process, from its state on."""
    return stat.read_text().rpartition(")")[2].split()


DRIVER = "driver's Python"
JAVAS = {
    "SparkSubmit": "driver's Java",
    "CoarseGrainedExecutorBackend": "executors' Java",
}  # by class; or of the cluster


def kind_of(pid: int) -> str:
    """What a process is."""
    if pid == os.getpid():
        return DRIVER
    if Path(f"/proc/{pid}/comm").read_text().strip() != "java":
        return "Python workers"
    command = Path(f"/proc/{pid}/cmdline").read_text()
    return next((kind for name, kind in JAVAS.items() if name in command), "cluster's Java")


def tree_bytes() -> Counter[str]:
    """Memory that the processes hold now, by what they are; what Python workers share is divided among them."""
    found: Counter[str] = Counter()
    for pid in tree():
        with suppress(OSError, StopIteration):
            kind = kind_of(pid)
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            found[kind] += next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return found


def tree_cpu() -> dict[tuple[str, int], float]:
    """Processor seconds of each process so far."""
    found = {}
    for pid in tree():
        with suppress(OSError):
            found[kind_of(pid), pid] = sum(map(int, _fields(Path(f"/proc/{pid}/stat"))[11:13])) / os.sysconf(
                "SC_CLK_TCK"
            )
    return found


class Watch:
    """The largest memory of the process tree, and the processor seconds it took since the beginning."""

    def __init__(self) -> None:
        self._before = tree_cpu()
        self._last = dict(self._before)  # of processes that ended, as they were last seen
        self.peak_bytes = 0
        self.peaks: dict[str, int] = {}

    def look(self) -> None:
        held = tree_bytes()
        self.peak_bytes = max(self.peak_bytes, sum(held.values()))
        self.peaks = {kind: max(n, self.peaks.get(kind, 0)) for kind, n in held.items()}
        self._last.update(tree_cpu())

    @property
    def cpu_of(self) -> dict[str, float]:
        """Processor seconds by what processes are."""
        taken = dict.fromkeys((kind for kind, _ in self._last), 0.0)
        for process, seconds in self._last.items():
            taken[process[0]] += seconds - self._before.get(process, 0.0)
        return taken


@contextmanager
def watched(into: dict[str, Any]) -> Iterator[None]:
    """Measure seconds, processor seconds and memory, looking at the process tree all the time."""
    done, watch = threading.Event(), Watch()

    def look() -> None:
        while not done.wait(0.2):
            watch.look()

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    begin = time.perf_counter()
    yield
    into["seconds"] = time.perf_counter() - begin
    done.set()
    thread.join()
    watch.look()
    into |= {"cpu_seconds": sum(watch.cpu_of.values()), "cpu_of": watch.cpu_of}
    into |= {"peak_bytes": watch.peak_bytes, "peaks": watch.peaks}


@contextmanager
def counted_bytes(into: dict[str, Any]) -> Iterator[None]:
    """Count the bytes of what workers send to the driver and of the tasks that it sends to them, as they are pickled.

    All that the engine fetches comes as Arrow tables. What Spark itself has tasks send (samples to cut ranges at, what
    a shuffle wrote where, tables to broadcast) is in the size of their results, which Spark counts.
    """
    from pyspark.serializers import CloudPickleSerializer
    from pyspark.sql import SparkSession
    from pyspark.sql.classic.dataframe import DataFrame
    from pyspark.sql.readwriter import DataFrameWriter

    into |= {"driver_bytes": 0, "task_bytes": 0, "fetched": Counter()}
    session: Any = SparkSession.getActiveSession()
    fetch: Any = DataFrame.toArrow
    pickled: Any = CloudPickleSerializer.dumps

    def fetching(self: Any) -> Any:
        table = fetch(self)
        into["driver_bytes"] += table.nbytes
        into["fetched"][_asking()] += table.nbytes
        return table

    def pickling(self: Any, task: Any) -> Any:
        packed = pickled(self, task)
        into["task_bytes"] += len(packed)
        return packed

    def described(action: Any) -> Any:
        def asked(*given: Any, **named: Any) -> Any:
            session.sparkContext.setJobDescription(_asking())
            return action(*given, **named)

        return asked

    with (
        patch.object(DataFrame, "toArrow", described(fetching)),
        patch.object(DataFrame, "count", described(DataFrame.count)),
        patch.object(DataFrameWriter, "parquet", described(DataFrameWriter.parquet)),
        patch.object(CloudPickleSerializer, "dumps", pickling),
    ):
        first = next_stage(session)
        yield
        into["stages"] = stages_since(session, first)


def next_stage(session: Any) -> int:
    """The number of the stage that Spark begins next."""
    return int(session.sparkContext._jsc.sc().dagScheduler().nextStageId())


def stages_since(session: Any, first: int) -> list[tuple[str, int, int]]:
    """What Spark did from a stage on: who asked, tasks, and bytes of their results."""
    time.sleep(1)  # until Spark has heard of its last task
    store = session.sparkContext._jsc.sc().statusStore()
    done: list[tuple[str, int, int]] = []
    for number in range(first, next_stage(session)):
        with suppress(Exception):  # of Java: stages that were skipped are not kept
            stage = store.lastStageAttempt(number)
            about = stage.description()
            done.append((about.get() if about.isDefined() else "", stage.numCompleteTasks(), stage.resultSize()))
    return done


def _asking() -> str:
    """The methods of the engine that ask for something."""
    frames = [frame for frame in traceback.extract_stack() if "engines/spark/" in frame.filename]
    names = [frame.name for frame in frames if frame.name not in ("collected", "frame", "facts", "find", "<lambda>")]
    return " ".join(dict.fromkeys([*names[:1], *names[-1:]])) or "others"


@contextmanager
def address_of(master: str) -> Iterator[str]:
    """The address of a master; `cluster` is started for the purpose."""
    if master != CLUSTER:
        yield master
        return
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    clusters = importlib.import_module("clusters")

    with clusters.running(2, memory="2g", java="") as cluster:
        yield cluster.address


def session_results(files: Sequence[Path], chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Floor and releases in one session of Spark, after a run of a small policy that nobody measures.

    Args:
        files: policy, source and small policy.
    """
    with address_of(chosen.master) as address:
        policy, source, small = files
        return _session_results(policy, source, small, address, chosen)


def _session_results(
    policy: Path, source: Path, small: Path, address: str, chosen: argparse.Namespace
) -> list[dict[str, Any]]:
    from tablecloak import pipeline
    from tablecloak.engines.run_folder import RunFolder
    from tablecloak.engines.spark.engine import SparkEngine
    from tablecloak.policy.load import load_policy

    opened = SparkEngine(address, memory=chosen.memory)
    of_k = [] if chosen.k is None else [f"goals.0.k={chosen.k}"]
    cases = {name: changes for name, changes in CASES.items() if name in chosen.cases}
    for changes in cases.values():
        pipeline.run(load_policy(small, changes), force=True, engine=opened)
    bottom: dict[str, Any] = {} if chosen.no_floor else floor_of(opened.session, source)
    results = []
    for case, changes in cases.items():
        run: dict[str, Any] = {}
        folder = RunFolder.temporary(source.parent)  # as a run from the command line keeps one
        engine = SparkEngine(session=opened.session, memory=chosen.memory, folder=folder)
        if chosen.most is not None:
            engine.most_tuples = engine.shard_tuples = chosen.most
        with counted_bytes(run), watched(run):
            report = pipeline.run(load_policy(policy, [*changes, *of_k]), force=True, engine=engine)
            engine.close()
        run |= {"parts": dict(report.seconds), "loss": report.loss, "classes": report.verification.n_classes}
        run["holds"] = report.verification.holds and report.verification.covers
        results.append({"case": case, "floor": bottom, "run": run, "load": os.getloadavg()[0]})
    opened.close()
    return results


def floor_of(session: Any, source: Path) -> dict[str, Any]:
    """Spark alone: read and group by the quasi-identifiers, read and write."""
    bottom: dict[str, Any] = {}
    target = source.with_name("floor")
    with watched(bottom):
        rows = session.read.parquet(str(source))
        bottom["tuples"] = rows.groupBy(*QUASI).count().count()
        rows.write.mode("overwrite").parquet(str(target))
    shutil.rmtree(target)
    return bottom


def results_of(folder: Path, n_rows: int, master: str, chosen: argparse.Namespace) -> list[dict[str, Any]]:
    """Every case on a census of one size, in a process of its own."""
    source = table_file(folder, "census", n_rows)
    policy, small = write_policy(folder, source), write_policy(folder, table_file(folder, "census", WARM))
    asked = [str(policy), str(source), str(small)]
    command = [sys.executable, "-m", "benchmarks.scale_spark", "--session", *asked, "--master", master]
    command += ["--memory", str(chosen.memory), "--cases", *chosen.cases, *(["--no-floor"] if chosen.no_floor else [])]
    for name in ("k", "most"):
        command += [] if getattr(chosen, name) is None else [f"--{name}", str(getattr(chosen, name))]
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
    for name in (
        "rows",
        "goal",
        "master",
        "floor",
        "run",
        "run/floor",
        "cpu/floor",
        "peak of the tree",
        "loss",
        "classes",
        "to the driver",
        "tasks",
    ):
        table.add_column(name, justify="left" if name in ("goal", "master") else "right", no_wrap=True)
    for r in results:
        bottom, run = r["floor"], r["run"]
        ratios = [f"{run[n] / bottom[n]:.2f}" for n in ("seconds", "cpu_seconds")] if bottom else ["", ""]
        table.add_row(
            f"{r['rows']:,}", r["case"], r["master"], f"{bottom['seconds']:.1f} s" if bottom else "",
            f"{run['seconds']:.1f} s", *ratios,
            f"{run['peak_bytes'] / 1e9:.2f} GB", f"{run['loss']:.4f}", f"{run['classes']:,}",
            f"{run['driver_bytes'] / 1e6:.1f} MB", f"{run['task_bytes'] / 1e6:.1f} MB",
        )  # fmt: skip
    return table


def amounts(run: dict[str, Any]) -> Table:
    """Bytes that reached the driver by who asked for them, then memory and processor seconds by process."""
    table = Table("of", "Arrow, bytes", "results, bytes", "tasks", "peak, MB", "CPU s")
    results, tasks = Counter[str](), Counter[str]()
    for name, n_tasks, n_bytes in run["stages"]:
        results[name] += n_bytes
        tasks[name] += n_tasks
    for name in {**run["fetched"], **results}:
        table.add_row(name, f"{run['fetched'].get(name, 0):,}", f"{results[name]:,}", f"{tasks[name]:,}")
    table.add_row("all", f"{run['driver_bytes']:,}", f"{results.total():,}", f"{tasks.total():,}")
    for name, n in run["peaks"].items():
        table.add_row(name, "", "", "", f"{n / 1e6:,.0f}", f"{run['cpu_of'].get(name, 0):.1f}")
    return table


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_spark", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="sizes of the census")
    parser.add_argument("--master", default=MASTER, help="where the sizes of --rows are run")
    parser.add_argument("--cluster-rows", type=int, nargs="*", default=list(CLUSTER_ROWS), help="sizes on a cluster")
    parser.add_argument("--memory", type=int, default=MEMORY, help="bytes for the driver")
    parser.add_argument("--k", type=int, help="another k; 2 gives the most classes")
    parser.add_argument("--most", type=int, help="tuples of the driver and of a shard, instead of what memory allows")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), help="which goals")
    parser.add_argument("--no-floor", action="store_true", help="do not measure Spark alone")
    parser.add_argument("--output", type=Path, help="JSON lines file to append the figures to")
    parser.add_argument("--session", nargs=3, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measure, print a table, and keep the figures if asked."""
    chosen = arguments(given)
    if chosen.session:
        print(json.dumps(session_results(chosen.session, chosen)))
        return 0
    console = Console(width=max(Console().width, 140))
    results: list[dict[str, Any]] = []
    with data_folder() as folder:
        asked = [*((n, chosen.master) for n in chosen.rows), *((n, CLUSTER) for n in chosen.cluster_rows)]
        for n_rows, master in asked:
            for result in results_of(folder, n_rows, master, chosen):
                results.append(result)
                parts = ", ".join(f"{name} {s:.1f}" for name, s in result["run"]["parts"].items())
                console.print(f"{n_rows:,} {master} {result['case']}: {parts}", soft_wrap=True)
                console.print(amounts(result["run"]))
    console.print(shown(results))
    if chosen.output:
        append(chosen.output, [{"bench": "scale-spark", **r} for r in results])
    return 0


if __name__ == "__main__":
    sys.exit(main())
