"""Which columns an attack is about: as given, as in the policy, or suggested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from tablecloak.data.table import Role
from tablecloak.errors import DataError, IncompatibleChoice, require_columns
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import ColumnSpec
from tablecloak.profile.profile import inspect_frame

GUESSED = "quasi-identifiers were suggested, not given: {}"


def meant_quasi(
    before: pl.DataFrame | None, after: pl.DataFrame, policy: Policy | None, names: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """The quasi-identifiers, and a remark where they were suggested."""
    wanted = list(dict.fromkeys(names)) or (policy.columns_with(Role.QUASI) if policy else [])
    for name in wanted:
        require_columns([name], after.columns, "the release")
        if before is not None:
            require_columns([name], before.columns, "the original")
    if wanted:
        return wanted, ()
    suggested = [n for n in inspect_frame(after if before is None else before).quasi if n in after.columns]
    if not suggested:
        raise DataError("no quasi-identifier was found in the tables", hint="name them: --quasi age,sex,zip")
    return suggested, (GUESSED.format(", ".join(suggested)),)


def meant_sensitive(
    before: pl.DataFrame | None, after: pl.DataFrame, side: pl.DataFrame | None, policy: Policy | None,
    names: Sequence[str], quasi: Sequence[str],
) -> list[str]:  # fmt: skip
    """The sensitive columns that the release shows."""
    shown = [*after.columns, *(side.columns if side is not None else [])]
    wanted = list(dict.fromkeys(names)) or (policy.columns_with(Role.SENSITIVE) if policy else [])
    for name in wanted:
        if name in quasi:
            raise IncompatibleChoice(f"column '{name}' cannot be both quasi-identifier and sensitive")
        if names:
            require_columns([name], shown, "the release")
        if before is not None:
            require_columns([name], before.columns, "the original")
    return [name for name in wanted if name in shown]


def only_columns(
    policy: Policy | None, quasi: Sequence[str], sensitive: Sequence[str] = (), *, keeps_algorithm: bool = False
) -> Policy:
    """The hierarchies of the policy for these columns, and nothing else that could fail."""
    specs: Mapping[str, ColumnSpec] = policy.columns if policy else {}
    roles = dict.fromkeys(quasi, Role.QUASI) | dict.fromkeys(sensitive, Role.SENSITIVE)
    columns = {n: specs[n] if n in specs and specs[n].role is r else ColumnSpec(role=r) for n, r in roles.items()}
    plain = Policy(columns=columns, goals=(KAnonymity(k=2),))
    if policy is None:
        return plain
    changes = {"columns": columns, "others": "drop", "goals": plain.goals}
    return policy.model_copy(update=changes if keeps_algorithm else {**changes, "algorithm": plain.algorithm})
