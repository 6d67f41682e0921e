"""Short ways to say common things in Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tablecloak.data.table import Role
from tablecloak.errors import PolicyError
from tablecloak.io.frames import from_frame
from tablecloak.pipeline import verify_frame
from tablecloak.policy.schema import ColumnSpec, Policy
from tablecloak.profile.uniqueness import Risk, risk_of_frame

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


def risk(data: Any, columns: dict[str, ColumnSpec] | Policy) -> Risk:
    """The risk of a table as it stands, before or after anonymisation."""
    specs = columns.columns if isinstance(columns, Policy) else columns
    quasi = [name for name, spec in specs.items() if spec.role is Role.QUASI]
    return risk_of_frame(from_frame(data).select(quasi), quasi)


def is_valid_generalisation(original: Any, release: Any, policy: Policy) -> bool | None:
    """Whether every published cell covers its original; None if the rows cannot be told apart."""
    return verify_frame(release, policy, original=original).covers
