"""What `auto` loses on Adult where a model asks less than the same of every class, against that.

    python -m benchmarks.alone [--page FILE]

Eight quasi-identifiers, categories with their hierarchies, age as a number; with thirty, 22 columns are added that are
made of these, one in five values drawn anew. Each goal stands alone. Loss and processor seconds of one run in memory,
kernels loaded before.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tablecloak as tc
from benchmarks.adult import QUASI, find_adult
from benchmarks.releases import measured_on
from benchmarks.tables import replace_between

Goal = Mapping[str, Any]
K20: Goal = {"model": "k-anonymity", "k": 20}
K5: Goal = {"model": "k-anonymity", "k": 5}
K2: Goal = {"model": "k-anonymity", "k": 2}


def lkc(n_known: int) -> Goal:
    return {"model": "lkc-privacy", "l": n_known, "k": 20, "c": 1.0}


# columns, the goal, and what is asked of every class instead
CASES: tuple[tuple[int, Goal, Goal], ...] = (
    (8, lkc(1), K20),
    (8, lkc(2), K20),
    (8, lkc(3), K20),
    (30, lkc(1), K20),
    (30, lkc(2), K20),
    (8, {"model": "average-risk", "limit": 0.05}, K20),
    (8, {"model": "average-risk", "limit": 0.2}, K5),
    (8, {"model": "sample-uniqueness", "limit": 0.01}, K2),
    (8, {"model": "sample-uniqueness", "limit": 0.05}, K2),
)


def wide(frame: pl.DataFrame) -> pl.DataFrame:
    """Thirty columns: those of Adult, and noisy groupings of them."""
    random = np.random.default_rng(1)
    made = []
    for i in range(30 - len(QUASI)):
        n_values = 3 + i % 5
        codes = (frame[QUASI[i % len(QUASI)]].rank("dense").to_numpy() * 7 + i) % n_values
        drawn = random.integers(0, n_values, len(codes))
        codes = np.where(random.random(len(codes)) < 0.2, drawn, codes)
        made.append(pl.Series(f"made {i}", [f"v{code}" for code in codes.tolist()]))
    return frame.with_columns(made)


def policy(folder: Path, frame: pl.DataFrame, n_columns: int, goal: Goal) -> tc.Policy:
    columns: dict[str, Any] = {name: {"role": "quasi"} for name in [*QUASI, *frame.columns[9:]][:n_columns]}
    for name in QUASI:
        if name != "age":
            columns[name]["hierarchy"] = str(folder / f"adult_hierarchy_{name}.csv")
    columns["salary-class"] = {"role": "sensitive"}
    return tc.Policy.model_validate({"columns": columns, "goals": [dict(goal)]})


def figures(folder: Path, frame: pl.DataFrame, n_columns: int, goal: Goal) -> str:
    """Loss and processor seconds of one release, which must hold."""
    begin = time.process_time()
    report = tc.anonymize(frame, policy(folder, frame, n_columns, goal)).report
    assert report.verification.holds
    return f"{report.loss:.4f} / {time.process_time() - begin:.1f}"


def described(goal: Goal) -> str:
    return f"{goal['model']}: " + ", ".join(f"{k} = {v:g}" for k, v in goal.items() if k != "model")


def lines(folder: Path, frame: pl.DataFrame) -> Iterator[str]:
    before: dict[tuple[int, str], str] = {}
    figures(folder, frame, 8, K20)  # loads, or compiles, kernels
    for n_columns, goal, stronger in CASES:
        key = n_columns, str(stronger)
        if key not in before:
            before[key] = figures(folder, frame, n_columns, stronger)
        own = figures(folder, frame, n_columns, goal)
        yield f"| {n_columns} | {described(goal)} | {described(stronger)} | {before[key]} | {own} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="put the table between the marks of this page")
    asked = parser.parse_args()
    folder = find_adult()
    if folder is None:
        sys.exit("Adult is not on this machine; set TABLECLOAK_DATA to the folder that holds adult/adult.csv")
    frame = wide(pl.read_csv(folder / "adult.csv", separator=";"))
    rows = [
        "| columns | goal | asked of every class | its loss / CPU s | loss / CPU s of the goal |",
        "|---|---|---|---|---|",
    ]
    for row in lines(folder, frame):
        rows.append(row)
        print(row, flush=True)
    if asked.page:
        replace_between(asked.page, "alone", f"{measured_on()}\n\n" + "\n".join(rows))


if __name__ == "__main__":
    main()
