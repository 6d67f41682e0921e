"""One release as people make it: the command line in a process of its own, its file scored by its labels."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import environment
from benchmarks.score import Line, Score, Tree, score

# The command line, and what its process used.
RUN = """
import json, sys, time
from benchmarks.measure import peak_memory_bytes
from tablecloak.cli.main import main
sys.argv = ["tablecloak", "run", *sys.argv[1:], "--force", "-q"]
try:
    main()
except SystemExit as end:
    if end.code:
        raise
print(json.dumps([time.process_time(), peak_memory_bytes()]))
"""


@dataclass(frozen=True)
class Released:
    """What a release loses, and what its process took from its start to the verified file."""

    score: Score
    cpu_seconds: float
    peak_mb: int


class NoReleaseError(Exception):
    """Why there is none: what the command said, or that it took too long."""


def release(
    policy: Path, target: Path, columns: Mapping[str, Tree | Line], *, n_rows: int, k: int,
    limit: float | None = None, options: Sequence[str] = (),
) -> Released:  # fmt: skip
    """Carry out a policy and score the file that it makes.

    Args:
        limit: seconds by the clock after which the run is ended.

    Raises: NoReleaseError.
    """
    target.unlink(missing_ok=True)
    command = [sys.executable, "-c", RUN, str(policy), *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment(), check=False)
    except subprocess.TimeoutExpired as end:
        raise NoReleaseError(f"not done after {limit:.0f} s") from end
    if done.returncode:
        raise NoReleaseError(" ".join((done.stderr or done.stdout).split()[:40]))
    if not target.is_file():
        raise NoReleaseError("it publishes something else than one table")
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return Released(score(target, columns, n_rows, k), seconds, peak // 1_000_000)


def measured_on() -> str:
    """When and on what something was measured, for people who read its figures."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("tablecloak", "polars", "numba"))
    python = ".".join(platform.python_version_tuple()[:2])
    return (
        f"Measured on {datetime.now(UTC).date()}: {os.cpu_count()} processors ({platform.machine()}), "
        f"{platform.system()}, Python {python}, {packages}; the machine's load was {os.getloadavg()[0]:.1f} at the end."
    )
