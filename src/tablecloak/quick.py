"""Short ways to say common things in Python."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tablecloak.data.table import Role
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import PolicyError
from tablecloak.io.frames import from_frame
from tablecloak.pipeline import verify_frame
from tablecloak.policy.schema import ColumnSpec, Policy

__all__ = ["Risk", "is_valid_generalisation", "risk", "roles"]


def roles(
    *,
    quasi: Iterable[str] = (),
    sensitive: Iterable[str] = (),
    identifier: Iterable[str] = (),
    person: Iterable[str] = (),
    keep: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> dict[str, ColumnSpec]:
    """Columns by role, ready for `Policy(columns=...)`.

    Raises: PolicyError if a column is given two roles.
    """
    given = {
        Role.QUASI: quasi,
        Role.SENSITIVE: sensitive,
        Role.IDENTIFIER: identifier,
        Role.PERSON: person,
        Role.KEEP: keep,
        Role.DROP: drop,
    }
    columns: dict[str, ColumnSpec] = {}
    for role, names in given.items():
        for name in names:
            if name in columns:
                raise PolicyError(f"column '{name}' has two roles", hint=f"keep one of {columns[name].role} and {role}")
            columns[name] = ColumnSpec(role=role)
    return columns


@dataclass(frozen=True, slots=True)
class Risk:
    """How exposed the records of a table are to someone who knows all quasi-identifiers of a person."""

    n_records: int
    n_unique: int  # records that no other record shares its quasi-identifiers with
    highest: float  # chance of singling out the most exposed record
    average: float  # chance of singling out a record, on average

    def __str__(self) -> str:
        share = self.n_unique / max(1, self.n_records)
        return (
            f"{self.n_unique:,} of {self.n_records:,} records ({share:.1%}) are unique. "
            f"Chance to single out a record: highest {self.highest:.2f}, average {self.average:.2f}"
        )


def risk(data: Any, columns: dict[str, ColumnSpec] | Policy) -> Risk:
    """The risk of a table as it stands, before or after anonymisation."""
    specs = columns.columns if isinstance(columns, Policy) else columns
    quasi = [name for name, spec in specs.items() if spec.role is Role.QUASI]
    table = table_of(from_frame(data).select(quasi))
    size = LocalEngine().class_stats(table, quasi, [], stars_are_suppressed=False).stats.size
    n = int(size.sum())
    return Risk(n, int(np.sum(size == 1)), 1 / int(size.min()) if n else 0.0, len(size) / max(1, n))


def is_valid_generalisation(original: Any, release: Any, policy: Policy) -> bool | None:
    """Whether every published cell covers its original; None if the rows cannot be told apart."""
    return verify_frame(release, policy, original=original).covers
