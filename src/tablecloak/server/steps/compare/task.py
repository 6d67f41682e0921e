"""A release beside its original: distances, attacks, and rows in step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import Order, Role
from tablecloak.errors import DataError
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress
from tablecloak.release.plan import source_of
from tablecloak.release.recoding.classes import read_recoding
from tablecloak.report.about.compare import heatmaps
from tablecloak.report.blocks import Heatmap
from tablecloak.server.steps.load.task import TextRows, text_rows
from tablecloak.server.tables import PolicyTable, frame_of, is_large, page_of, release_source

MOST_PAIRS = 45  # of columns whose tables are published, for a picture


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A release and the table it was made from."""

    table: PolicyTable
    release: Path


def _in_memory(request: ReleaseRequest) -> Policy:
    """The policy of a table that may be held in memory, beside its release."""
    policy = request.table.read_policy()
    if is_large(source_of(policy), request.table.means):
        raise DataError(
            "the table is too large to be held beside its release", hint="take a part of both and compare it"
        )
    return policy


@dataclass(frozen=True, slots=True)
class ComparisonAnswer:
    """A release beside its original."""

    document: Mapping[str, Any]  # as `tablecloak compare --json` prints it
    pairs: tuple[tuple[Heatmap, Heatmap], ...]  # records by two columns, before and after


def compare(request: ReleaseRequest, _progress: Progress) -> ComparisonAnswer:
    """A release beside its original: distances of every column, all metrics, records by two columns."""
    from tablecloak.measure import compare as comparing

    policy = _in_memory(request)
    original, release = frame_of(source_of(policy)), frame_of(release_source(policy, request.release))
    comparison = comparing.compare(original, release, policy=policy, with_pairs=True)
    return ComparisonAnswer(comparison.to_dict(), tuple(heatmaps(p.to_dict()) for p in comparison.pairs[:MOST_PAIRS]))


@dataclass(frozen=True, slots=True)
class AttackAnswer:
    """What every attack achieves on a release."""

    document: Mapping[str, Any]  # as `tablecloak attack --json` prints it


def attack(request: ReleaseRequest, _progress: Progress) -> AttackAnswer:
    """Every attack there is on a release, beside its original."""
    from tablecloak.measure import attack as attacking

    policy = _in_memory(request)
    assert policy.input_path is not None
    return AttackAnswer(attacking.attack(policy.input_path, request.release, policy=policy).to_dict())


@dataclass(frozen=True, slots=True)
class BesideRequest:
    """Which rows of a release and its original."""

    data: ReleaseRequest
    offset: int
    limit: int
    n_left_out: int  # records that are not in the release, where it is too large to count


@dataclass(frozen=True, slots=True)
class RowsBeside:
    """Rows of an original and of its release."""

    before: TextRows
    after: TextRows
    in_step: bool  # what became of each original stands beside it
    left_out: int


def rows_beside(request: BesideRequest, _progress: Progress) -> RowsBeside:
    """Records before and after: one page of originals, and what the release shows of each.

    A release is not in the order of its originals, so what became of one is told by the recoding. `in_step` is False
    where there is none; the release is then shown as it is.
    """
    policy, release = request.data.table.read_policy(), request.data.release
    offset, limit = request.offset, request.limit
    large = is_large(source_of(policy), request.data.table.means)
    if large:
        before = page_of(source_of(policy), offset, limit)
        after = page_of(release_source(policy, release), offset, limit)
    else:
        before, after = frame_of(source_of(policy)), frame_of(release_source(policy, release))
    left_out = request.n_left_out if large else before.height - after.height
    shown = [c for c in after.columns if c in policy.columns]
    became = _became(policy, before, after.columns, release.parent)
    keeps_order = policy.output is not None and policy.output.order is Order.KEEP and not left_out
    if became is not None:
        before, after = became
    pages = (before, after) if large else (before.slice(offset, limit), after.slice(offset, limit))
    return RowsBeside(
        text_rows(pages[0].select([c for c in before.columns if c in shown])),
        text_rows(pages[1]),
        in_step=became is not None or keeps_order,
        left_out=left_out,
    )


def _became(
    policy: Policy, before: pl.DataFrame, columns: list[str], folder: Path
) -> tuple[pl.DataFrame, pl.DataFrame] | None:
    """Originals that were published, and the cells of each; None where no recoding tells."""
    recoding = folder / "recoding.json"
    if not recoding.exists() or policy.columns_with(Role.ITEMS):
        return None
    stored = read_recoding(recoding)
    classes = stored.classes_of(before)
    published = np.flatnonzero(classes >= 0)
    before, labels = before[published], stored.labels()
    cells = [
        labels[name].publish(name, classes[published]) if name in labels
        else before[name] if name not in policy.columns_with(Role.IDENTIFIER)
        else pl.repeat(ANYTHING, len(published), eager=True).alias(name)
        for name in columns
        if name in before.columns
    ]  # fmt: skip
    return before, pl.DataFrame(cells)
