"""The Adult census extract with its published hierarchies: the table most papers measure on."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["QUASI", "find_adult", "policy_text"]

QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]


def find_adult() -> Path | None:
    """The folder with adult.csv and its hierarchies, if it is on this machine."""
    root = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[2] / "shared" / "data"))
    folder = root / "adult"
    return folder if (folder / "adult.csv").exists() else None


def policy_text(folder: Path, target: Path, *, k: int, split: str) -> str:
    """A policy, as YAML: k-anonymity on eight quasi-identifiers, categories with their hierarchies, age as a number."""
    quasi = "\n".join(
        f"  {name}: {{role: quasi, hierarchy: '{folder.resolve()}/adult_hierarchy_{name}.csv'}}"
        if name != "age"
        else "  age: {role: quasi}"
        for name in QUASI
    )
    return f"""version: 1
input: '{folder.resolve()}/adult.csv'
columns:
{quasi}
  salary-class: {{role: sensitive}}
goals:
  - {{model: k-anonymity, k: {k}}}
algorithm: {{kind: mondrian, split: {split}}}
output: '{target}'
"""
