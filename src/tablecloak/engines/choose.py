"""Which engine does the work, and why."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tablecloak.amounts import show_bytes
from tablecloak.engines.base import Engine
from tablecloak.engines.local import LocalEngine
from tablecloak.engines.rundir import RunFolder
from tablecloak.errors import IncompatibleChoice, MissingExtra, PolicyError, did_you_mean
from tablecloak.io.sources import Layout

__all__ = ["NAMES", "Choice", "Demand", "bytes_in_memory", "choose", "open_engine"]

NAMES = ("auto", "local", "duckdb", "spark")
# A run holds the table a few times over, so `auto` works in memory only below this share of it.
LOCAL_SHARE = 0.25
BYTES_PER_CELL = 16
# Text grows little when it is read; compressed text about this much.
COMPRESSION = 5


@dataclass(frozen=True, slots=True)
class Demand:
    """What the user asked for."""

    engine: str = "auto"
    memory: int | None = None  # bytes; None: that of the machine
    spill: Path | None = None  # folder for what does not fit memory; None: beside the output
    threads: int | None = None
    resume: bool = False
    spark: str | None = None  # address of a cluster


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that was chosen."""

    name: str
    why: str
    memory: int


def bytes_in_memory(layout: Layout) -> int:
    """About what a table takes once it is read."""
    if layout.format == "parquet" and layout.n_rows_hint:
        return layout.n_rows_hint * len(layout.columns) * BYTES_PER_CELL
    return layout.n_bytes * (COMPRESSION if layout.compression else 1)


def choose(demand: Demand, n_bytes: int) -> Choice:
    """The engine for a table that takes so many bytes; `auto` decides by that and says why."""
    if demand.engine not in NAMES:
        hint = did_you_mean(demand.engine, NAMES) or f"known engines: {', '.join(NAMES)}"
        raise PolicyError(f"unknown engine '{demand.engine}'", hint=hint)
    memory = demand.memory or machine_memory()
    if demand.engine != "auto":
        return Choice(demand.engine, "asked for", memory)
    if demand.spark is not None:
        return Choice("spark", "a cluster is named", memory)
    size = f"the table takes about {show_bytes(n_bytes)} in memory"
    if n_bytes <= LOCAL_SHARE * memory:
        return Choice("local", f"{size}, at most {LOCAL_SHARE:.0%} of {show_bytes(memory)}", memory)
    if importlib.util.find_spec("duckdb") is None:
        return Choice(
            "local", f"{size}, more than {LOCAL_SHARE:.0%} of {show_bytes(memory)}, but DuckDB is missing", memory
        )
    return Choice("duckdb", f"{size}, more than {LOCAL_SHARE:.0%} of {show_bytes(memory)}", memory)


def machine_memory() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def open_engine(
    choice: Choice,
    demand: Demand,
    *,
    output: Path | None = None,
    inputs: Iterable[Path] = (),
    identity: Mapping[str, str] | None = None,
) -> Engine:
    """The engine, ready to work.

    Args:
        output: the release to be made; a killed run that makes the same can be resumed.
        inputs: files that must not change meanwhile.
        identity: what else must be the same for a run to be resumed.
    """
    if choice.name == "local":
        return LocalEngine()
    same = {**(identity or {}), "--memory": str(choice.memory)}
    if choice.name == "spark":
        return _spark(demand, output, tuple(inputs), same)
    from tablecloak.engines.duck import DuckEngine

    if output is None:
        return DuckEngine(memory=choice.memory, threads=demand.threads, folder=RunFolder.temporary(demand.spill))
    folder = RunFolder.of_run(output, demand.spill, same, inputs, resume=demand.resume)
    return DuckEngine(memory=choice.memory, threads=demand.threads, folder=folder)


def _spark(demand: Demand, output: Path | None, inputs: tuple[Path, ...], identity: Mapping[str, str]) -> Engine:
    if importlib.util.find_spec("tablecloak.engines.spark") is None or importlib.util.find_spec("pyspark") is None:
        raise MissingExtra("the Spark engine needs the package pyspark", hint="pip install 'tablecloak[spark]'")
    folder = None
    if output is not None and inputs:
        folder = RunFolder.of_run(output, demand.spill, identity, inputs, resume=demand.resume)
    elif demand.resume:
        raise IncompatibleChoice(
            "a run from or to a table of Spark's catalog begins anew: nothing tells whether the table changed",
            hint="run without --resume; or read files and write files",
        )
    module = importlib.import_module("tablecloak.engines.spark")
    try:
        engine: Engine = module.SparkEngine(demand.spark, memory=demand.memory, folder=folder)
    except BaseException:
        if folder is not None and not demand.resume:
            folder.discard()
        raise
    return engine
