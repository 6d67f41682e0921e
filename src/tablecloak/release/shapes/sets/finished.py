"""Finished sets, whoever made them: a release and its original as their files or frames have them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.io.frames import from_frame
from tablecloak.io.places import Place, place_of
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source, is_place
from tablecloak.io.tabular import read_frame, refuse_empty
from tablecloak.policy.schema import Policy
from tablecloak.progress import Timed
from tablecloak.release.plan import source_of
from tablecloak.release.prepare import read
from tablecloak.release.shapes.sets.coding import Sets, code_sets
from tablecloak.release.shapes.sets.plan import SetPlan, make_set_plan, release_format
from tablecloak.release.shapes.sets.recount import PublishedSets, code_published


@dataclass(frozen=True, eq=False)
class FinishedSets:
    """A release of sets as it stands, beside its original where that is known."""

    policy: Policy
    plan: SetPlan
    release: pl.DataFrame
    original: pl.DataFrame | None = None

    @property
    def cells(self) -> pl.Series:
        """The published sets as text."""
        return self.release[self.plan.column]

    @cached_property
    def published(self) -> PublishedSets:
        return code_published(self.cells, self.plan)

    @cached_property
    def originals(self) -> Sets | None:
        """The sets of the original.

        Raises: DataError if the hierarchy does not know their items.
        """
        return None if self.original is None else code_sets(self.original[self.plan.column], self.plan)


def finished_sets(release: Any, policy: Policy, *, original: Any = None, timed: Timed | None = None) -> FinishedSets:
    """A release and its original, each a place or a frame."""
    with (timed or Timed()).phase("read"):
        if is_place(release):
            finished = _in_file(place_of(release), policy)
        else:
            frame = from_frame(release)
            finished = FinishedSets(policy, make_set_plan(_only_sets(policy), frame.columns), frame)
    if original is None:
        return finished
    if not is_place(original):
        return replace(finished, original=from_frame(original))
    there = policy.with_files(source=place_of(original))
    plan, table = read(LocalEngine(), source_of(there), there, timed or Timed())
    assert isinstance(plan, SetPlan)
    plan = replace(plan, published_separator=finished.plan.published_separator)
    return FinishedSets(policy, plan, finished.release, LocalEngine().frame(table))


def _in_file(release: Place, policy: Policy) -> FinishedSets:
    is_of_sets = bool(policy.input and policy.input.format == "sets")
    format_ = release_format(policy, release, is_of_sets=is_of_sets) if isinstance(release, Path) else None
    said = (policy.output.delimiter if policy.output else None) or (policy.input.delimiter if policy.input else None)
    source = Source.of(release, format=format_, delimiter=said if format_ == "sets" else None)
    layout = sniff(source)
    plan = make_set_plan(_only_sets(policy), layout.names, location=str(release))
    if format_ == "sets":
        plan = replace(plan, published_separator=layout.delimiter)
        source = replace(source, delimiter=layout.delimiter)
    types = {n: c.type for n, c in policy.columns.items() if c.type is not None and n in layout.names}
    frame = read_frame(replace(source, types={**types, plan.column: ColumnType.TEXT}))
    refuse_empty(frame.height, str(release))
    return FinishedSets(policy, plan, frame)


def _only_sets(policy: Policy) -> Policy:
    """The policy as it applies to a finished release: only the column of sets."""
    columns = {name: policy.columns[name] for name in policy.columns_with(Role.ITEMS)}
    return policy.model_copy(update={"columns": columns, "others": "drop"})
