"""What `auto` loses on Adult where more than k is asked, and where categories are published as sets.

    python -m benchmarks.goals [--efforts fast,balanced] [--only diversity,sets] [--page FILE]

Eight of the nine columns are quasi-identifiers: all but occupation, which is sensitive, where more than k is asked; all
but the salary class for sets. Goals of diversity and closeness use the hierarchies of all columns, age too, so every
column is counted by leaves, whether classes are published as nodes of the hierarchies or as sets of values. The goals
of sets alone know no hierarchy: age is a number, and a set costs its size over that of the domain.
Nothing is suppressed. Beside our figures are those of the best release by another tool on the same table, with its
processor seconds on a similar machine.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.quality import data_folder, hierarchy_of, measured
from benchmarks.tables import replace_between
from tablecloak.algorithms.base import Problem
from tablecloak.algorithms.topdown.auto import Auto
from tablecloak.data.coded import CodedTable
from tablecloak.engines.base import QuasiColumn, SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.hierarchy.hierarchy_files import read_hierarchy
from tablecloak.models.base import Goal, PrivacyModel
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.models.l_diversity import LDiversity
from tablecloak.models.t_closeness import TCloseness
from tablecloak.progress import silent

SENSITIVE = "occupation"
TARGET = "salary-class"
FIVE = KAnonymity(k=5)
LABELS = {"hierarchy": "nodes", "set": "sets"}
# Rows of which more than 12,000 are different, so that kernels are compiled.
COMPILED = 20_000
auto: Any = Auto  # its fields are made by a decorator, which type checkers do not see


@dataclass(frozen=True, slots=True)
class Case:
    """One goal, and what another tool reaches."""

    name: str
    models: tuple[PrivacyModel, ...]
    other: str


CASES = {
    "diversity": (
        Case("k = 5, distinct 5-diversity", (FIVE, LDiversity(l=5)), "0.0590 / 1.8"),
        Case("k = 5, entropy 4-diversity", (FIVE, LDiversity(l=4, variant="entropy")),
             "0.1120, 750 suppressed / 8.3"),
        Case("k = 5, t = 0.2 (equal distance)", (FIVE, TCloseness(t=0.2)),
             "0.4471, 1,090 suppressed / 78.9"),
    ),
    "sets": (
        Case("k = 5, sets", (FIVE,), "0.034 / 57"),
        Case("k = 10, sets", (KAnonymity(k=10),), "0.057 / 30"),
        Case("k = 50, sets", (KAnonymity(k=50),), "0.146 / 7"),
    ),
}  # fmt: skip


def load(kind: str, sample: int | None = None) -> CodedTable:
    """Adult with the quasi-identifiers of a kind of goal."""
    folder = data_folder() / "adult"
    frame = pl.read_csv(folder / "adult.csv", separator=";").with_columns(pl.col(pl.String).cast(pl.Categorical))
    frame = frame if sample is None else frame.sample(sample, seed=0)
    counted = [SensitiveColumn(SENSITIVE)] if kind == "diversity" else []
    out = SENSITIVE if counted else TARGET
    quasi = [QuasiColumn(c, _hierarchy(folder, c) if counted else None) for c in frame.columns if c != out]
    return LocalEngine().contingency(table_of(frame), quasi, counted, by_row=False).table


def _hierarchy(folder: Path, column: str):  # type: ignore[no-untyped-def]
    return lambda _: read_hierarchy(hierarchy_of(folder, column))


def line(kind: str, case: Case, efforts: Sequence[str]) -> str:
    """One row: nodes and sets, each with every effort; hierarchies that nobody gave have no nodes."""
    table = load(kind)
    cells = [
        "" if labels == "hierarchy" and kind == "sets" else found(table, case, effort, labels)
        for labels in LABELS
        for effort in efforts
    ]
    return f"| {case.name} | {' | '.join(cells)} | {case.other} |"


def found(table: CodedTable, case: Case, effort: str, labels: str) -> str:
    begin = time.process_time()
    solution = auto(effort=effort, labels=labels).solve(Problem(table, Goal(case.models), 2), silent)
    result = measured(case.name, 5, table, solution, time.process_time() - begin)
    return f"{result.gcp:.4f} / {result.seconds:.1f}"


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--efforts", default="fast,balanced")
    parser.add_argument("--only", default="diversity,sets")
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    asked = parser.parse_args(given)
    efforts = asked.efforts.split(",")
    for kind in asked.only.split(","):  # compiles kernels outside the measurements
        for labels in LABELS:
            small = Problem(load(kind, COMPILED), Goal(CASES[kind][0].models), 2)
            auto(effort="fast", labels=labels).solve(small, silent)
    titles = [f"{LABELS[labels]}, `{effort}`" for labels in LABELS for effort in efforts]
    lines = [f"| goal | {' | '.join(titles)} | other tool |", f"|{'---|' * (len(titles) + 2)}"]
    for kind in asked.only.split(","):
        for case in CASES[kind]:
            lines.append(line(kind, case, efforts))
            print(lines[-1], flush=True)
    if asked.page:
        replace_between(asked.page, "goals", "GCP / CPU seconds:\n\n" + "\n".join(lines))


if __name__ == "__main__":
    main()
