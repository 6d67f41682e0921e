"""Engines: where tables live and how they are counted and recoded. This page names them and loads none."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisteredEngine:
    """An engine as it is listed and chosen; `engine.py` in its folder has `open_engine`."""

    folder: str
    summary: str
    spills: bool = True  # has a use for a folder beside memory
    has_clusters: bool = False


ENGINES = {
    "local": RegisteredEngine("local", "Works in the memory of this machine.", spills=False),
    "duckdb": RegisteredEngine(
        "disk", "Works out of core on this machine, under a memory limit; a run that was killed can be resumed."
    ),
    "spark": RegisteredEngine("spark", "Works on a cluster; no row reaches the driver.", has_clusters=True),
}
