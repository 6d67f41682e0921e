"""What the first run from a clone waits for: processor seconds of compiling what `auto` needs, by kernel and in all.

    python -m benchmarks.compiling [--sets] [--trims]

First every kernel in one process, then all as a run compiles them, in processes at once: user and system seconds of
all of them, less those of the same with everything compiled. Each begins with an empty folder.
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
from collections.abc import Callable
from typing import Any

from benchmarks.measure import environment, tree_peak_bytes
from tablecloak.garbage import seldom_collected
from tablecloak.kernels import compiling, loading
from tablecloak.progress import silent

Steps = tuple[loading.Step, ...]


def by_kernel(steps: Steps) -> dict[str, float]:
    """Processor seconds of each, compiled in this process; the first loads the compiler, too."""
    seconds = {}
    with seldom_collected():
        for step in steps:
            begin = time.process_time()
            step.use()
            seconds[step.name] = time.process_time() - begin
    return seconds


def at_once(steps: Steps) -> dict[str, float]:
    """Compile as a run does, and say how much memory this process and the largest that it started held."""
    compiling.compile_kernels(steps, silent)
    return {"peak_bytes": tree_peak_bytes()}


def loaded(steps: Steps) -> dict[str, float]:
    loading.warm_up(steps)
    return {}


WAYS: dict[str, Callable[[Steps], dict[str, float]]] = {"kernels": by_kernel, "compile": at_once, "load": loaded}


def measured(way: str, folder: str, options: list[str]) -> tuple[dict[str, float], float, float]:
    """What a process of its own says, and processor seconds and clock of all that it started."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.compiling", "--way", way, *options]
    variables: dict[str, Any] = {**environment(), "NUMBA_CACHE_DIR": folder}
    said = subprocess.run(command, check=True, capture_output=True, text=True, env=variables).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(said), cpu, time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", action="store_true", help="and what columns published as sets need")
    parser.add_argument("--trims", action="store_true", help="and what only large tables need")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way:
        steps = loading.needed(refines=True, as_sets=asked.sets, trims=asked.trims)
        print(json.dumps(WAYS[asked.way](steps)))
        return
    options = [name for name, given in (("--sets", asked.sets), ("--trims", asked.trims)) if given]
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as folder:
        kernels, _, _ = measured("kernels", alone, options)
        for name, seconds in kernels.items():
            print(f"{name:<28}{seconds:>8.2f}")
        print(f"{'in one process':<28}{sum(kernels.values()):>8.2f}")
        peak, cold, clock = measured("compile", folder, options)
        _, warm, _ = measured("load", folder, options)
    load = os.getloadavg()[0]
    print(f"{'processes at once':<28}{cold:>8.2f}, {warm:.2f} of it without compiling: {cold - warm:.2f} for compiling")
    print(f"{clock:.1f} s by the clock, {peak['peak_bytes'] / 1e6:.0f} MB, load {load:.1f}")


if __name__ == "__main__":
    main()
