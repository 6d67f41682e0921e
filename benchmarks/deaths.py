"""A register of deaths like the one of Dimakopoulos (NTUA, 2022): age, gender, salary, date of death, ICD code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from tablecloak.rng import child
from tablecloak.sample.draw import zipf

__all__ = ["HIERARCHIES", "deaths_to_file", "icd_codes"]

N_DAYS = 17_197  # as from the first to the last date of the eight rows that were printed
SALARIES = (895, 7785)
N_ICD9, N_ICD10 = 5_000, 15_000
# Ranges and periods as people draw them; codes by chapter and classification.
HIERARCHIES = {
    "age": "{kind: intervals, width: 5, factors: [2, 2, 5]}",
    "salary": "{kind: intervals, width: 50, factors: [2, 5, 2, 2, 2]}",
    "date_of_death": "{kind: dates, levels: [month, quarter, year, decade]}",
    "icd": "icd.csv",
}


def icd_codes() -> list[str]:
    """Codes of both classifications, the frequent ones spread over all chapters."""
    nine = [f"ICD9:{category:03d}{sub}" for category in range(1, N_ICD9 // 10 + 1) for sub in range(10)]
    letters = "ABCDEFGHIJKLMNOPQRST"
    per_letter = N_ICD10 // len(letters)
    ten = [f"ICD10:{letter}{i // 10:02d}{i % 10}" for letter in letters for i in range(per_letter)]
    codes = np.array([*nine, *ten])
    return [str(code) for code in child(0, "icd").permutation(codes)]


def _path(code: str) -> list[str]:
    """A code, its category, its chapter, its classification, everything."""
    kind, value = code.split(":")
    chapter = f"{kind}:{value[0]}"
    return [code, f"{kind}:{value[:3]}", f"{chapter}--", kind, "*"]


def deaths_to_file(folder: Path, n: int) -> Path:
    """Write the register and the hierarchy of its codes."""
    random, codes = child(n, "deaths"), icd_codes()
    low, high = SALARIES
    born = random.beta(2.2, 2.2, n)
    frame = pl.DataFrame(
        {
            "age": np.minimum(99, (random.beta(4, 1.8, n) * 100).astype(np.int64)),
            "gender": pl.Series(random.integers(0, 2, n)).replace_strict({0: "male", 1: "female"}),
            "salary": low + (born * (high - low)).astype(np.int64),
            "date_of_death": pl.Series(random.integers(0, N_DAYS, n) - 4_618, dtype=pl.Int32).cast(pl.Date),
            "icd": pl.Series(codes)[random.choice(len(codes), n, p=zipf(len(codes), 0.6)).tolist()],
        }
    )
    frame.write_parquet(folder / f"deaths-{n}.parquet")
    paths = pl.DataFrame([_path(code) for code in sorted(codes)], orient="row")
    paths.write_csv(folder / "icd.csv", include_header=False, separator=";")
    return folder / f"deaths-{n}.parquet"
