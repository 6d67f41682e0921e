"""One measurement, in a process of its own so that neither memory nor caches of another one count.

`python -m benchmarks.measure KIND ARGUMENTS..` prints one JSON object; `run.py` starts it.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

__all__ = ["QUASI", "environment", "floor", "generate", "peak_memory_bytes", "release", "sizes", "tree_peak_bytes"]

QUASI = ["age", "zip", "education", "marital", "occupation", "race", "sex", "country"]
TEXT = [name for name in QUASI if name != "age"]


def environment() -> dict[str, str]:
    """Variables for a measured process: byte code is kept, as that of an installed package is, whatever is set here."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def generate(path: str, n_rows: str) -> dict[str, Any]:
    """Write a census of `n_rows` people, under its name only when it is complete."""
    from tablecloak.sample import census_to_file

    partial = Path(f"{path}.partial")
    census_to_file(partial, int(n_rows))
    partial.replace(path)
    return {"bytes": Path(path).stat().st_size}


def floor(source: str, target: str) -> dict[str, Any]:
    """The least any tool built on polars does: read all columns, group the quasi-identifiers as codes, write."""
    seconds = {}
    cpu = time.process_time()
    begin = time.perf_counter()
    frame = pl.read_csv(source, schema_overrides=dict.fromkeys(TEXT, pl.Categorical))
    seconds["read"] = time.perf_counter() - begin
    begin = time.perf_counter()
    groups = frame.select(pl.col(QUASI).to_physical()).group_by(QUASI).len()
    seconds["group"] = time.perf_counter() - begin
    begin = time.perf_counter()
    frame.write_csv(target)
    seconds["write"] = time.perf_counter() - begin
    return {
        "seconds": sum(seconds.values()),
        "cpu_seconds": time.process_time() - cpu,
        "parts": seconds,
        "rows": frame.height,
        "tuples": groups.height,
    }


def sizes(source: str) -> dict[str, Any]:
    """Bytes of the table in memory, with text as text and with the quasi-identifiers as categories."""
    plain = pl.read_csv(source, schema_overrides={"zip": pl.String})
    found = {"plain": plain.estimated_size()}
    found["categorical"] = plain.with_columns(pl.col(TEXT).cast(pl.Categorical)).estimated_size()
    return found


def release(policy: str, *changes: str) -> dict[str, Any]:
    """Carry out a policy: file in, verified file out."""
    from tablecloak import pipeline
    from tablecloak.policy.load import load_policy

    cpu, begin = time.process_time(), time.perf_counter()
    report = pipeline.run(load_policy(Path(policy), changes), force=True)
    total = time.perf_counter() - begin
    return {
        "seconds": total,
        "cpu_seconds": time.process_time() - cpu,
        "parts": dict(report.seconds),
        "loss": report.loss,
        "holds": report.verification.holds,
        "covers": report.verification.covers,
        "classes": report.verification.n_classes,
        "rows": report.verification.n_rows,
    }


def peak_memory_bytes() -> int:
    """The most memory this process has held.

    The kernel hands `ru_maxrss` down from the process that started this one, so it serves only where there is no /proc.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(text for text in status.read_text().splitlines() if text.startswith("VmHWM"))
        return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def tree_peak_bytes() -> int:
    """At least the most that this process and any one it started have held together: the sum of both peaks."""
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return peak_memory_bytes() + (largest_child if sys.platform == "darwin" else largest_child * 1024)


KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "floor": floor,
    "generate": generate,
    "release": release,
    "sizes": sizes,
}

if __name__ == "__main__":
    found = KINDS[sys.argv[1]](*sys.argv[2:])
    print(json.dumps({**found, "peak_bytes": peak_memory_bytes()}))
