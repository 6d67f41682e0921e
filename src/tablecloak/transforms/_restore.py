"""Back from pseudonyms to what they stand for, where transforms are reversible and their key is at hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from tablecloak.data.changed_columns import CellRows, CellStep
from tablecloak.data.domain import ANYTHING
from tablecloak.errors import DataError, PolicyError, did_you_mean, require_columns
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.transforms._keys import key_of, read_key
from tablecloak.transforms._pseudonyms import Reversible
from tablecloak.transforms.base import Key
from tablecloak.transforms.random import Random


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """How a column of a release is restored: with a key, or by looking up what a vault holds."""

    column: str
    undo: CellStep
    knows_its_key: bool = True  # what does not fit is found out, instead of leading to other values
    key_id: str | None = None
    vault: Path | None = None

    def restored(self, cells: pl.Series) -> pl.Series:
        """Texts of what cells stand for; missing and suppressed ones stay as they are.

        Raises: DataError where the key or the vault is another, if that can be told.
        """
        texts = cells.cast(pl.String)
        is_hidden = (texts == ANYTHING).fill_null(value=False)
        rows = CellRows(np.arange(len(texts)), pl.DataFrame())
        try:
            made = self.undo(texts.set(is_hidden, None), rows)
        except DataError as error:
            raise DataError(f"column '{self.column}': {error.message}", hint=error.hint) from None
        return made.set(is_hidden, ANYTHING).alias(cells.name)


def returns(
    policy: Policy,
    present: Sequence[str],
    *,
    columns: Sequence[str] = (),
    place: str | None = None,
    vault: Path | None = None,
) -> list[Return]:
    """How columns of a release are restored: those that are named, or else all that can be.

    Args:
        present: the columns of the release.
        place: of a key to use instead of those that the policy names.
        vault: to use instead of those that the policy names; a policy may name none.

    Raises: PolicyError for a column that cannot be restored, and for a key or vault that is not there.
    """
    reversible = reversible_columns(policy, has_vault=vault is not None)
    for name in columns:
        if name not in reversible:
            raise PolicyError(_why_not(policy, name), hint=_restorable(name, reversible))
    wanted = list(columns) or [name for name in reversible if name in present]
    if not wanted:
        raise PolicyError("no column of the release can be restored", hint=_restorable("", reversible))
    require_columns(wanted, present, None)
    given = None if place is None else read_key(place, Path())
    return [_return(policy, name, reversible[name], given, vault) for name in wanted]


def reversible_columns(policy: Policy, *, has_vault: bool = False) -> dict[str, Reversible | Random]:
    """The columns whose only transform can be undone: with a key, or with the vault that it has or is given."""
    only = {name: column.transform[0] for name, column in policy.columns.items() if len(column.transform) == 1}
    return {
        name: each
        for name, each in only.items()
        if isinstance(each, Reversible) or (isinstance(each, Random) and (each.vault is not None or has_vault))
    }


def _return(
    policy: Policy, column: str, transform: Reversible | Random, key: Key | None, vault: Path | None
) -> Return:  # fmt: skip
    if isinstance(transform, Reversible):
        key = key or _key(policy, column, transform)
        return Return(column, transform.undo(column, key), transform.knows_its_key, key_id=key.id)
    path = (vault or policy.resolve(transform.vault or "")).expanduser()
    if not path.exists():
        raise PolicyError(f"the vault of column '{column}' is not there", hint="--vault FILE", location=str(path))
    return Return(column, transform.undo(path), vault=path)


def _key(policy: Policy, column: str, transform: Reversible) -> Key:
    if transform.key is None and policy.secret is None:
        raise PolicyError(
            f"the key of column '{column}' was drawn by the run and thrown away",
            hint=f"nothing leads back; another time, columns.{column}.transform.key: file:PATH",
        )
    key = key_of(policy, transform, secret_of(policy))
    assert key is not None
    return key


def _why_not(policy: Policy, name: str) -> str:
    column = policy.columns.get(name)
    if column is None:
        return f"the policy has no column '{name}'"
    kinds = ", ".join(each.name for each in column.transform)
    if not kinds:
        return f"column '{name}' has no transform to undo"
    if kinds == Random.name:
        return f"column '{name}' cannot be restored: random has no vault"
    return f"column '{name}' cannot be restored: {kinds} cannot be undone"


def _restorable(name: str, reversible: Collection[str]) -> str:
    only = "only aes-siv, ff1, and random with a vault can be undone"
    names = f"columns that can be: {', '.join(reversible)}" if reversible else only
    return did_you_mean(name, reversible) or names
