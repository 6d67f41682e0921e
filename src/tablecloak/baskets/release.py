"""Releases of sets: made from a cut, written under a temporary name, read back and recounted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.algorithms.itemsets.cut import Cut
from tablecloak.baskets.coding import Sets
from tablecloak.baskets.documents import write_set_documents
from tablecloak.baskets.plan import SetPlan, release_format
from tablecloak.baskets.recoding import ItemRecoding
from tablecloak.baskets.recount import recount
from tablecloak.data.baskets import join_items
from tablecloak.data.table import ColumnType
from tablecloak.documents import Documents
from tablecloak.engines.order import plain_text, published_order
from tablecloak.io.atomic import Outputs, writing
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, write_frame
from tablecloak.metrics.base import Measurement
from tablecloak.outcome import RunReport
from tablecloak.verification import Verification, require

__all__ = ["Made", "SetRelease", "make_release", "read_cells", "write_and_recount"]

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """A release before it was written, and the original of each of its rows; None: they are in the same order."""

    frame: pl.DataFrame
    row_of: IntArray | None = None


def make_release(frame: pl.DataFrame, sets: Sets, cut: Cut, plan: SetPlan) -> Made:
    """The published table: items as their nodes, in the order of the hierarchy; other columns as the policy says."""
    merged, group = sets.merged
    labels = [str(label).strip() for label in cut.hierarchy.labels]
    texts = join_items(cut.publish(merged, copies=plan.goal.multiset), labels, plan.published_separator)
    columns: dict[str, Any] = {plan.column: texts[group]}
    columns |= {name: pl.repeat("*", frame.height, eager=True) for name in plan.starred}
    made = frame.with_columns(**columns).select(plan.columns)
    made = made.with_columns(plain_text(made[name]) for name in made.columns)
    order = published_order(made, plan.order, plan.secret, first=[plan.column])
    return Made(made) if order is None else Made(made[order], order)


def read_cells(place: Place, plan: SetPlan, format_: str | None) -> pl.Series:
    """The published cells of a column of sets, as text."""
    delimiter = plan.published_separator if format_ == "sets" else None
    source = Source.of(place, format=format_, delimiter=delimiter, types={plan.column: ColumnType.TEXT})
    return read_frame(source, columns=[plan.column])[plan.column]


def write_and_recount(made: Made, sets: Sets, plan: SetPlan, target: Place, *, is_of_sets: bool) -> Verification:
    """Write a release, read it back and recount it; it must hold.

    Raises: GoalNotMet.
    """
    format_ = release_format(plan.policy, target, is_of_sets=is_of_sets) if isinstance(target, Path) else None
    output = plan.policy.output
    asked = output.delimiter if output else None
    delimiter = plan.published_separator if format_ == "sets" else asked
    rows = output.rows_per_file if output else None
    write_frame(made.frame, target, format=format_, delimiter=delimiter, rows_per_file=rows)
    return require(recount(read_cells(target, plan, format_), plan, sets, made.row_of))


@dataclass(frozen=True, slots=True, eq=False)
class SetRelease:
    """A release of sets that was recounted and found to satisfy its goal; only such a value can be written."""

    frame: pl.DataFrame
    report: RunReport
    recoding: ItemRecoding
    _plan: SetPlan = field(repr=False)
    _sets: Sets = field(repr=False)
    _made: Made = field(repr=False)
    side: None = None

    def measure(self, *names: str) -> list[Measurement]:
        """The named measurements of the release, or all there are."""
        return [m for m in self.report.measurements if not names or m.name in names]

    def write(
        self,
        path: str | Path,
        *,
        report: str | Path | None = None,
        certificate: str | Path | None = None,
        recoding: str | Path | None = None,
        force: bool = False,
    ) -> None:
        """Write the release and what else is asked for, all or nothing; the file is read back and recounted first."""
        with Outputs(reads=self._plan.policy.reads, force=force) as outputs:
            files = Documents.beside(outputs, path, report=report, certificate=certificate, recoding=recoding)
            found = write_and_recount(self._made, self._sets, self._plan, files.release, is_of_sets=False)
            found = replace(found, handover=self.report.verification.handover)
            if files.recoding:
                with writing(files.recoding):
                    self.recoding.write(files.recoding)
            if files.are_wanted:
                shown = {**(found.itemsets or {}), **(self.report.verification.itemsets or {})}
                said = replace(self.report, verification=replace(found, itemsets=shown), output=str(path))
                write_set_documents(files, said.to_dict(), self._plan)
