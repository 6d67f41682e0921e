"""Compiling kernels, once for a version: in a few processes at once, with a bar that says what is being compiled.

Processes fill the folder in which compiled kernels are kept, and end; what they leave is loaded here, and whatever is
missing then, because a process died or none could be started, is compiled here.
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tablecloak.garbage import seldom_collected
from tablecloak.kernels import dispatch, kept, loading
from tablecloak.kernels.loading import Step
from tablecloak.progress import Progress, tell_doing

CHILD = "from tablecloak.kernels.compiling import compile_as_told; compile_as_told()"
POLL_SECONDS = 0.1


def missing(steps: Sequence[Step]) -> list[Step]:
    """Kernels that were not compiled yet, in this version."""
    return [step for step in steps if not step.is_kept]


def compile_kernels(steps: Sequence[Step], progress: Progress) -> None:
    """Compile kernels and load them; `progress` counts them."""
    done = set(_in_processes(_parts(steps), progress))
    with seldom_collected():
        for step in steps:
            if step.name not in done:
                tell_doing(progress, step.name)
            step.use()
            done.add(step.name)
            progress.advance(len(done))


def _parts(steps: Sequence[Step]) -> list[list[Step]]:
    """What each process compiles: kernels that share code are compiled by one."""
    parts = [[step for step in steps if step.is_refining is refines] for refines in (True, False)]
    return [part for part in parts if part]


def _n_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _in_processes(parts: Sequence[Sequence[Step]], progress: Progress) -> list[str]:
    """Let processes compile kernels, one each part; the names of those that they compiled."""
    done: list[str] = []
    if len(parts) < 2 or _n_processors() < 2 or not _can_start():
        return done
    heard: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
    with _started(parts, heard) as running:
        n_running = len(running)
        while n_running:
            progress.advance(len(done))  # which may ask to stop
            with suppress(queue.Empty):
                what, name = heard.get(timeout=POLL_SECONDS)
                if what == "begins":
                    tell_doing(progress, name)
                elif what == "ends":
                    done.append(name)
                else:
                    n_running -= 1
    return done


def _can_start() -> bool:
    """Whether this is a Python that can be started again; in others, a command may mean anything."""
    return Path(sys.executable or "").name.startswith("python") and not getattr(sys, "frozen", False)


@contextmanager
def _started(
    parts: Sequence[Sequence[Step]], heard: queue.SimpleQueue[tuple[str, str]]
) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that compile, and put what they say into a queue; none is left behind."""
    running: list[subprocess.Popen[str]] = []
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        for part in parts:
            words = [sys.executable, "-P", "-c", CHILD, str(dispatch.folder()), *(step.name for step in part)]
            with suppress(OSError):
                running.append(
                    subprocess.Popen(
                        words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                        env={**os.environ, "PYTHONPATH": paths},
                    )
                )  # fmt: skip
        for process in running:
            threading.Thread(target=_hear, args=(process, heard), daemon=True).start()
        yield running
    finally:
        for process in running:
            process.kill()
            process.wait()


def _hear(process: subprocess.Popen[str], heard: queue.SimpleQueue[tuple[str, str]]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        what, _, name = line.strip().partition(" ")
        heard.put((what, name))
    heard.put(("over", ""))


def compile_as_told() -> None:
    """In a process of its own: compile the kernels that the command names, and say so."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started it ends it
    folder, *names = sys.argv[1:]
    kept.KernelLocator.folder = Path(folder)
    steps = {step.name: step for step in loading.STEPS}
    with seldom_collected():
        for name in names:
            _tell("begins", name)
            steps[name].use()
            _tell("ends", name)


def _tell(what: str, name: str) -> None:
    sys.stdout.write(f"{what} {name}\n")
    sys.stdout.flush()
