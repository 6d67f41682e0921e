"""Sessions of Spark, and their errors in our words."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tablecloak.engines.java import provide_java
from tablecloak.errors import CloakError, DataError, EngineError
from tablecloak.io.extras import require_package

__all__ = ["explained", "open_session"]


def open_session(master: str, memory: int | None) -> Any:
    """A session of Spark, classic or Connect."""
    sql = require_package("pyspark.sql", extra="spark", purpose="the Spark engine")
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
    shuffles = {"spark.sql.shuffle.partitions": "8"} if master.startswith("local") else {}
    limits = {"spark.driver.memory": f"{max(512, memory >> 20)}m"} if memory else {}
    return {**quiet, **shuffles, **limits, "spark.driver.maxResultSize": "0"}


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
