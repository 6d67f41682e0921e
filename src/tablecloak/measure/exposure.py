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
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import refuse_empty, wanted_columns
from tablecloak.profile.column import column_of
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
class WeightedRisk:
    """The risk of being linked with the population, as the weights of a survey tell it."""

    n_records: int
    people: float  # that the weights add up to
    highest: float  # individual risk of the most exposed record
    expected_links: float  # records linked right, if each is linked once
    expected_population_uniques: float

    @property
    def share(self) -> float:
        """Global risk: the share of records linked right in expectation."""
        return self.expected_links / max(1, self.n_records)

    def to_dict(self) -> dict[str, Any]:
        return {
            "people": self.people,
            "highest": self.highest,
            "expected_links": self.expected_links,
            "share": self.share,
            "expected_population_uniques": self.expected_population_uniques,
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
    weighted: WeightedRisk | None = None  # where a column says how many people records stand for

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak risk --json`."""
        return {
            "quasi": list(self.quasi),
            **self.on_quasi.to_dict(),
            "published": {"columns": self.n_columns, **self.published.to_dict()},
            **(self.subsets.to_dict() if self.subsets else {}),
            **({"population": [e.to_dict() for e in self.population]} if self.population else {}),
            **({"weighted": self.weighted.to_dict()} if self.weighted else {}),
            **self.choice.to_dict(),
        }


def expose_file(
    place: Place,
    quasi: Sequence[str],
    *,
    format: str | None = None,  # noqa: A002
    subsets: int = 0,
    people: int | None = None,
    weight: str | None = None,
    demand: Demand | None = None,
) -> ExposureReport:
    """The exposure of a file or a table of a database.

    Args:
        subsets: also the risk of every set of up to so many columns.
        people: size of the population that the table is a sample of.
        weight: the column that says how many people of it a record stands for.
    """
    source = Source.of(place, format=format)
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
        refuse_empty(table.n_rows, str(place))
        report = _exposure(engine, table, tuple(quasi), choice, subsets, people)
        return report if weight is None else replace(report, weighted=_weighted(engine, table, quasi, weight))


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


def _weighted(engine: Engine, table: Table, quasi: Sequence[str], weight: str) -> WeightedRisk:
    if weight in quasi:
        raise IncompatibleChoice(f"column '{weight}' cannot be both quasi-identifier and weight")
    recount = engine.class_stats(
        table, quasi, [SensitiveColumn(weight, kind=Counted.WEIGHT)], stars_are_suppressed=False
    )
    counted = recount.parts[0].hist[weight]
    refuse_odd_weights(table, counted.domain, counted.totals)
    sizes = np.concatenate([part.size for part in recount.parts])
    people = np.concatenate([part.weighed for part in recount.parts if part.weighed is not None])
    return WeightedRisk(
        int(sizes.sum()), float(people.sum()), float(individual_risk(sizes, people).max(initial=0.0)),
        expected_reidentifications(sizes, people), expected_population_uniques(sizes, people),
    )  # fmt: skip


def _population(engine: Engine, table: Table, quasi: Sequence[str], people: int) -> tuple[PopulationUniqueness, ...]:
    recount = engine.class_stats(table, quasi, (), stars_are_suppressed=False)
    return tuple(estimate_all(np.concatenate([part.size for part in recount.parts]), people))
