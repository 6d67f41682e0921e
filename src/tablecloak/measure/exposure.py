"""Exposure: how many records of a table as it stands look like no other, whoever made it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.attacks import risk_by_columns
from tablecloak.attacks.population_uniques import PopulationUniqueness, estimate_all
from tablecloak.engines.base import Engine, SensitiveColumn, Table
from tablecloak.engines.choose import Choice, Demand, bytes_in_memory, working_engine
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.errors import IncompatibleChoice
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, refuse_empty, wanted_columns
from tablecloak.profile.column import column_of
from tablecloak.profile.uniqueness import risk_of_frame
from tablecloak.release.handover import risk_of
from tablecloak.release.population import refuse_odd_weights
from tablecloak.stats.classes import Counted
from tablecloak.stats.individual_risk import (
    expected_population_uniques,
    expected_reidentifications,
    individual_risk,
)

MOST_SETS = 20


@dataclass(frozen=True, slots=True)
class Subsets:
    """The risk of every small set of columns, and the smallest sets on which single records are unique."""

    risks: list[risk_by_columns.SubsetRisk]
    uniques: risk_by_columns.Uniques

    def to_dict(self) -> dict[str, Any]:
        return {
            "subsets": [r.to_dict() for r in risk_by_columns.riskiest(self.risks, most=MOST_SETS)],
            "keys": [list(key) for key in risk_by_columns.keys(self.risks)],
            "dependencies": [d.to_dict() for d in risk_by_columns.dependencies(self.risks)],
            "minimal_uniques": self.uniques.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class ExposureReport:
    """How exposed the records of a table are to someone who knows some columns, and to someone who knows all."""

    quasi: tuple[str, ...]
    on_quasi: risk_by_columns.Risk
    published: risk_by_columns.Risk
    n_columns: int
    choice: Choice  # the engine that counted
    subsets: Subsets | None = None  # where they were asked for
    population: tuple[PopulationUniqueness, ...] = field(default=())

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak risk --json`."""
        return {
            "quasi": list(self.quasi),
            **self.on_quasi.to_dict(),
            "published": {"columns": self.n_columns, **self.published.to_dict()},
            **(self.subsets.to_dict() if self.subsets else {}),
            **({"population": [e.to_dict() for e in self.population]} if self.population else {}),
            **self.choice.to_dict(),
        }


def expose(
    source: Source,
    quasi: Sequence[str],
    *,
    subsets: int = 0,
    people: int | None = None,
    weight: str | None = None,
    demand: Demand | None = None,
) -> ExposureReport:
    """The exposure of a table as it stands.

    Args:
        subsets: also the risk of every set of up to so many columns.
        people: size of the population that the table is a sample of.
        weight: the column that says how many people of it a record stands for.
    """
    source = replace(source, expected=source.expected | set(quasi))
    layout = sniff(source)
    named = [*quasi, *([weight] if weight else [])]
    wanted = wanted_columns(layout, list(dict.fromkeys([*named, *layout.names])), source.location)
    with working_engine(demand or Demand(), bytes_in_memory(layout)) as (engine, choice):
        if subsets and engine.name != LocalEngine.name:
            raise IncompatibleChoice(
                f"`risk --subsets` looks at every row in memory, which the engine {engine.name} does not do",
                hint="--engine local; or no --subsets",
            )
        table = engine.read(source, columns=wanted, categorical=quasi)
        refuse_empty(table.n_rows, source.location)
        report = _exposure(engine, table, tuple(quasi), choice, subsets, people)
        if weight is None:
            return report
        on_quasi = replace(report.on_quasi, weighted=_weighted(engine, table, quasi, weight))
        return replace(report, on_quasi=on_quasi)


def risk(source: Source, quasi: Sequence[str], *, weight: str | None = None) -> risk_by_columns.Risk:
    """The risk to someone who knows some columns; with weights, also of being linked with the population."""
    named = list(dict.fromkeys([*quasi, *([weight] if weight else [])]))
    source = replace(source, expected=source.expected | set(named))
    frame = read_frame(source, columns=named)
    on_quasi = risk_of_frame(frame, quasi)
    if weight is None:
        return on_quasi
    with working_engine(Demand(LocalEngine.name), int(frame.estimated_size())) as (engine, _):
        table = engine.read(Source.in_memory(frame), columns=named, categorical=quasi)
        return replace(on_quasi, weighted=_weighted(engine, table, quasi, weight))


def _exposure(
    engine: Engine, table: Table, quasi: tuple[str, ...], choice: Choice, subsets: int, people: int | None
) -> ExposureReport:
    on_quasi, on_all = engine.alike(table, [quasi, list(table.types)])
    return ExposureReport(
        quasi,
        risk_of(on_quasi),
        risk_of(on_all),
        len(table.types),
        choice,
        _subsets(engine.frame(table, quasi), subsets) if subsets else None,
        _population(engine, table, quasi, people) if people else (),
    )


def _subsets(frame: pl.DataFrame, largest: int) -> Subsets:
    codes = {name: column_of(frame[name])[1] for name in frame.columns}
    return Subsets(
        risk_by_columns.subset_risks(codes, largest=largest), risk_by_columns.minimal_uniques(codes, largest=largest)
    )


def _weighted(engine: Engine, table: Table, quasi: Sequence[str], weight: str) -> risk_by_columns.WeightedRisk:
    if weight in quasi:
        raise IncompatibleChoice(f"column '{weight}' cannot be both quasi-identifier and weight")
    recount = engine.class_stats(
        table, quasi, [SensitiveColumn(weight, kind=Counted.WEIGHT)], stars_are_suppressed=False
    )
    counted = recount.parts[0].hist[weight]
    refuse_odd_weights(table, counted.domain, counted.totals)
    sizes = np.concatenate([part.size for part in recount.parts])
    people = np.concatenate([part.weighed for part in recount.parts if part.weighed is not None])
    return risk_by_columns.WeightedRisk(
        int(sizes.sum()), float(people.sum()), float(individual_risk(sizes, people).max(initial=0.0)),
        expected_reidentifications(sizes, people), expected_population_uniques(sizes, people),
    )  # fmt: skip


def _population(engine: Engine, table: Table, quasi: Sequence[str], people: int) -> tuple[PopulationUniqueness, ...]:
    recount = engine.class_stats(table, quasi, (), stars_are_suppressed=False)
    return tuple(estimate_all(np.concatenate([part.size for part in recount.parts]), people))
