"""Which engine does the work, and why."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict

from tablecloak.engines import ENGINES
from tablecloak.engines.base import Engine
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.engines.run_folder import Opening, ResumableRun
from tablecloak.errors import IncompatibleChoice, PolicyError, did_you_mean
from tablecloak.io.sources import Layout
from tablecloak.values.amounts import parse_bytes, show_bytes

NAMES = ("auto", *ENGINES)
ASKED = "asked for"
# A run holds the table a few times over, so `auto` works in memory only below this share of it.
LOCAL_SHARE = 0.25
BYTES_PER_CELL = 16
# Text grows little when it is read; compressed text about this much.
COMPRESSION = 5


class EngineOptions(TypedDict, total=False):
    """What every verb may be told about the engine; what is left out is as in `Demand`."""

    engine: str  # auto, local, duckdb or spark; auto decides by the size of the input
    memory: str | int | None  # what may be taken, as in "8GB"
    spill: Path | None
    threads: int | None
    spark: str | None


@dataclass(frozen=True, slots=True)
class Demand:
    """What the user asked for."""

    engine: str = "auto"
    memory: int | None = None  # bytes; None: that of the machine
    spill: Path | None = None  # folder for what does not fit memory; None: beside the output
    threads: int | None = None
    resume: bool = False
    spark: str | None = None  # address of a cluster

    @classmethod
    def of(cls, engine: str = "auto", *, memory: str | int | None = None, **more: Any) -> Demand:
        """A demand with the memory as people write it, as in 8GB."""
        return cls(engine, None if memory is None else parse_bytes(memory), **more)


@dataclass(frozen=True, slots=True)
class Choice:
    """The engine that was chosen."""

    name: str
    why: str
    memory: int

    def to_dict(self) -> dict[str, str]:
        """The keys that say in a report which engine did the work."""
        return {"engine": self.name, "engine_reason": self.why}


@contextmanager
def working_engine(
    demand: Demand,
    n_bytes: int,
    *,
    output: Path | None = None,
    inputs: Iterable[Path] = (),
    identity: Mapping[str, str] | None = None,
) -> Iterator[tuple[Engine, Choice]]:
    """The engine for a table that takes so many bytes, and why it is this one; closed in the end.

    Args:
        output: the release to be made; a killed run that makes the same can be resumed.
        inputs: files that must not change meanwhile.
        identity: what else must be the same for a run to be resumed.
    """
    choice = choose(demand, n_bytes)
    same = {**(identity or {}), "--memory": str(choice.memory)}
    run = None if output is None else ResumableRun(output, tuple(inputs), same)
    with closing(_open(choice, demand, run)) as engine:
        yield engine, choice


def bytes_in_memory(layout: Layout) -> int:
    """About what a table takes once it is read."""
    if layout.format == "parquet" and layout.n_rows_hint:
        return max(layout.n_rows_hint * len(layout.columns) * BYTES_PER_CELL, layout.n_unfolded_bytes)
    return layout.n_bytes * (COMPRESSION if layout.compression else 1)


def choose(demand: Demand, n_bytes: int) -> Choice:
    """The engine for a table that takes so many bytes; `auto` decides by that and says why."""
    if demand.engine not in NAMES:
        hint = did_you_mean(demand.engine, NAMES) or f"known engines: {', '.join(NAMES)}"
        raise PolicyError(f"unknown engine '{demand.engine}'", hint=hint)
    _refuse_idle(demand)
    memory = demand.memory or machine_memory()
    if demand.engine != "auto":
        return Choice(demand.engine, ASKED, memory)
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


def _refuse_idle(demand: Demand) -> None:
    """Refuse what the engine that is asked for would do nothing with."""
    engine = ENGINES.get(demand.engine)
    if engine is None:
        return  # auto takes one that uses what is given
    if demand.spark is not None and not engine.has_clusters:
        raise IncompatibleChoice(
            f"--spark names a cluster, and the engine {demand.engine} uses none", hint="--engine spark"
        )
    if demand.spill is not None and not engine.spills:
        raise IncompatibleChoice(
            f"--spill is for what does not fit memory, and the engine {demand.engine} keeps everything there",
            hint="--engine duckdb",
        )


def choose_memory(demand: Demand, n_bytes: int, *, verb: str) -> Choice:
    """The local engine, for a verb that holds every row in memory; any other one that is asked for is refused by name.

    Raises: IncompatibleChoice, also where the table is too large for the memory that was named.
    """
    choice = choose(replace(demand, memory=demand.memory or sys.maxsize), n_bytes)
    if choice.name == LocalEngine.name:
        return replace(choice, memory=demand.memory or machine_memory())
    why = "" if choice.why == ASKED else f" ({choice.why})"
    raise IncompatibleChoice(
        f"`{verb}` holds all rows in memory, which the engine {choice.name} does not do{why}",
        hint="--engine local, with a machine that has the memory; or a sample of the rows",
    )


def machine_memory() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _open(choice: Choice, demand: Demand, run: ResumableRun | None) -> Engine:
    module = importlib.import_module(f"tablecloak.engines.{ENGINES[choice.name].folder}.engine")
    opening = Opening(choice.memory, demand.memory, demand.threads, demand.spill, demand.spark, run, demand.resume)
    engine: Engine = module.open_engine(opening)
    return engine
