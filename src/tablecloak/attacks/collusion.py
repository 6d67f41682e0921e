"""Collusion: two releases put together by the columns that both show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError


@attack("collusion")
def collusion(case: Case) -> AttackSuccess:
    """The chance of putting together the rows of two releases that show different columns, by the columns both show.

    1 / (rows of the other release with the same values in all shared columns). A victim has exactly one such row, and
    is the only one to have it.
    By guessing: one of all rows of the other release.
    Stopped by: publishing one release, or judging the join of all of them.
    Reference: Wang, Fung, Anonymizing sequential releases, KDD 2006.
    """
    if not case.others:
        raise DoesNotApplyError("needs another release about the same people (--release2 FILE)")
    other = case.others[0].frame
    assert case.frame is not None
    assert other is not None
    shared = [n for n in case.frame.columns if n in other.columns]
    if not shared or len(shared) == len(other.columns) or len(shared) == case.frame.width:
        raise DoesNotApplyError("the releases must share some columns, and each must show one that the other does not")
    partners, own = _partners(case.frame, other, shared)
    chances: FloatArray = np.divide(1.0, partners, out=np.zeros(len(partners)), where=partners > 0)
    details = {"shared_columns": shared, "joined_rows": int(partners.sum())}
    success = success_of(case, chances, baseline=1 / max(1, other.height), details=details)
    return replace(success, n_victims=int(np.count_nonzero((partners == 1) & (own == 1))))


def joined(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Rows of two releases put together wherever all shared columns agree."""
    shared = [n for n in first.columns if n in second.columns]
    return _as_text(first).join(_as_text(second), on=shared, how="inner", nulls_equal=True)


def _partners(first: pl.DataFrame, second: pl.DataFrame, shared: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Rows of the second table that agree with each row of the first, and rows of the first that do."""
    left, right = _as_text(first.select(shared)), _as_text(second.select(shared))
    counted = right.group_by(shared).len("partners")
    own = left.group_by(shared).len("own")
    counts = left.join(counted, on=shared, how="left", nulls_equal=True, maintain_order="left").join(
        own, on=shared, how="left", nulls_equal=True, maintain_order="left"
    )
    partners, own_rows = (counts[n].fill_null(0).to_numpy().astype(np.int64) for n in ("partners", "own"))
    return partners, own_rows


def _as_text(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.select(pl.all().cast(pl.String))
