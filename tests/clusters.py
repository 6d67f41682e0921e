"""A real Spark cluster for tests: one master and some workers, each a process of its own on this machine."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tablecloak.engines import ENGINES

WAIT = 600.0  # seconds until a process that says nothing is given up
# A Java that lives for a minute gains nothing from its second compiler.
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Settings of sessions for tables of a few hundred rows.
SMALL = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
ON_SPARK = [pytest.mark.slow]
# All that are registered but the local one, which the others are held against.
OTHER_ENGINES = [pytest.param(name, marks=ON_SPARK if name == "spark" else []) for name in ENGINES if name != "local"]


@dataclass
class Process:
    """A Java process that Spark started, with its log."""

    process: subprocess.Popen[bytes]
    log: Path

    def wait_for(self, pattern: str) -> str:
        """What a line of the log says, once it is there."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            found = re.search(pattern, self.log.read_text(errors="replace"))
            if found:
                return found[1] if found.groups() else found[0]
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        raise RuntimeError(f"{pattern} is not in the log:\n{self.log.read_text(errors='replace')[-2000:]}")

    def kill(self) -> None:
        """End it and all it started at once, as a machine that loses power."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@dataclass
class Cluster:
    """A running cluster."""

    address: str
    folder: Path
    workers: list[Process] = field(default_factory=list)


@contextmanager
def running(n_workers: int = 2, *, memory: str = "1g", java: str = LIGHT) -> Iterator[Cluster]:
    """A master and workers with one processor each.

    Args:
        java: options of Java.
    """
    folder = Path(tempfile.mkdtemp(prefix="tablecloak-spark-"))
    processes: list[Process] = []
    try:
        host = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        master = start("org.apache.spark.deploy.master.Master", *host, log=folder / "master.log", options=java)
        processes.append(master)
        cluster = Cluster(master.wait_for(r"(spark://127\.0\.0\.1:\d+)"), folder)
        for i in range(n_workers):
            limits = ("--cores", "1", "--memory", memory, "--work-dir", str(folder / f"work{i}"))
            worker = start("org.apache.spark.deploy.worker.Worker", *host, *limits, cluster.address,
                           log=folder / f"worker{i}.log", options=java)  # fmt: skip
            processes.append(worker)
            cluster.workers.append(worker)
        for worker in cluster.workers:
            worker.wait_for("Successfully registered with master")
        yield cluster
    finally:
        for process in processes:
            process.kill()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def connect_server() -> Iterator[str]:
    """The address of a Spark Connect server, which runs on the Java that comes with the extra."""
    from tablecloak.engines.spark.session import bundled_java

    folder = Path(tempfile.mkdtemp(prefix="tablecloak-connect-"))
    options = ("--master", "local[2]", "--driver-memory", "1g", "--conf", "spark.ui.enabled=false",
               "--conf", "spark.connect.grpc.binding.port=0",
               *(option for key, value in SMALL.items() for option in ("--conf", f"{key}={value}")),
               "--class", "org.apache.spark.sql.connect.service.SparkConnectServer")  # fmt: skip
    server = start(
        "org.apache.spark.deploy.SparkSubmit",
        *options,
        "spark-internal",
        log=folder / "log",
        cwd=folder,
        java=bundled_java(),
    )
    try:
        port = server.wait_for(r"Spark Connect server started at: .*?:(\d+)")
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


def start(
    main: str, *arguments: str, log: Path, cwd: Path | None = None, java: Path | None = None, options: str = LIGHT
) -> Process:
    """A class of Spark in a process group of its own."""
    import pyspark

    from tablecloak.engines.spark.session import provide_java

    provide_java()
    home = Path(pyspark.__file__).parent
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    environment |= {"JDK_JAVA_OPTIONS": options, **({"JAVA_HOME": str(java)} if java else {})}
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), main, *arguments], stdout=out, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, env=environment, start_new_session=True, cwd=cwd or log.parent,
        )  # fmt: skip
    return Process(process, log)
