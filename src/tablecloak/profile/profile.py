"""Profile: what a table shows before anything is done to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import polars as pl

from tablecloak.attacks.population_uniques import PopulationUniqueness, estimate_all
from tablecloak.attacks.risk_by_columns import Risk, risk_of_sizes
from tablecloak.attacks.row_classes import class_sizes
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.choose import Choice, Demand, bytes_in_memory, choose_memory
from tablecloak.errors import DataError
from tablecloak.io.header import Repair
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.looks import ShowsItself
from tablecloak.profile.column import Codes, Column, column_of
from tablecloak.profile.dependencies import InformationGain, Structure, find_structure, telling_of
from tablecloak.profile.detector import percent
from tablecloak.profile.remedies import publication
from tablecloak.profile.roles import Advice, advise_all
from tablecloak.profile.uniqueness import ColumnSet, singling_sets

NO_STRUCTURE = Structure((), ())
DELIMITED = ("csv", "tsv")


@dataclass(frozen=True, slots=True)
class FileFacts:
    """How a file is written."""

    path: str
    format: str
    n_bytes: int
    encoding: str | None = None
    delimiter: str | None = None
    compression: str | None = None
    repairs: tuple[Repair, ...] = ()  # of the header, where they were asked for


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A column and its suggested role."""

    column: Column
    advice: Advice
    evidence: tuple[str, ...] = ()  # what else speaks for or against the role, in words that contain no value

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def role(self) -> Role:
        return self.advice.role

    def to_dict(self) -> dict[str, Any]:
        """Counts and words only; no value of the column."""
        column, advice = self.column, self.advice
        return {
            "name": column.name,
            "type": str(column.type),
            "distinct": column.n_distinct,
            "missing_share": column.missing_share,
            "looks_like": advice.looks_like,
            "detector": advice.detector,
            "role": str(advice.role),
            "reason": advice.reason,
            "publishes": publication(column, advice)[1],
            "evidence": list(self.evidence),
        }


@dataclass(frozen=True, slots=True, repr=False)
class Profile(ShowsItself):
    """Everything `tablecloak inspect` says about a table."""

    n_rows: int
    columns: tuple[ColumnProfile, ...]
    sets: tuple[ColumnSet, ...]  # small sets of quasi-identifiers that single out the most records
    risk: Risk | None  # on the suggested quasi-identifiers; None if there are none
    file: FileFacts | None = None
    structure: Structure = NO_STRUCTURE  # keys and dependencies among columns that are no identifiers
    telling: tuple[InformationGain, ...] = ()  # columns that say much about a sensitive one
    population: tuple[PopulationUniqueness, ...] = ()  # estimates, where the size of the population is known
    choice: Choice | None = None  # the engine that did the work; None: the table was in memory already

    def with_role(self, *roles: Role) -> list[str]:
        """The columns for which one of the roles is suggested."""
        return [column.name for column in self.columns if column.role in roles]

    @property
    def quasi(self) -> list[str]:
        """The suggested quasi-identifiers."""
        return self.with_role(Role.QUASI)

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak inspect --json`."""
        return {
            "file": asdict(self.file) if self.file else None,
            "rows": self.n_rows,
            "columns": [column.to_dict() for column in self.columns],
            "quasi": self.quasi,
            "sets": [part.to_dict() for part in self.sets],
            "risk": self.risk.to_dict() if self.risk else None,
            **self.structure.to_dict(),
            "telling": [part.to_dict() for part in self.telling],
            "population": [part.to_dict() for part in self.population],
            **(self.choice.to_dict() if self.choice else {}),
        }

    def __str__(self) -> str:
        lines = [f"{c.name}: {c.role} ({c.advice.looks_like}; {c.advice.reason})" for c in self.columns]
        return "\n".join([*lines, str(self.risk) if self.risk else "no quasi-identifier found"])


def inspect_file(
    path: Place,
    *,
    header: bool | None = None,
    repair: bool = False,
    population: int | None = None,
    demand: Demand | None = None,
) -> Profile:
    """The profile of a file.

    Args:
        header: whether the first row has the names of columns; None: find out, and ask where that is not clear.
        repair: a header that is missing or spoilt gets names.
        population: number of people that the file is a sample of.
    """
    return inspect_source(Source.of(path, header=header, repair=repair), population=population, demand=demand)


def inspect_source(
    source: Source, *, population: int | None = None, demand: Demand | None = None, verb: str = "inspect"
) -> Profile:
    """The profile of a file or a table of a database, read as the source says."""
    place = source.table or source.path
    layout = sniff(source)
    choice = choose_memory(demand or Demand(), bytes_in_memory(layout), verb=verb)
    text = [column.name for column in layout.columns if column.type is ColumnType.TEXT]
    frame = require_rows(read_frame(source, categorical=text), place)
    return replace(_profile(frame, population, layout), file=_facts(place, layout), choice=choice)


def inspect_frame(data: Any, *, population: int | None = None) -> Profile:
    """The profile of a polars, pandas or Arrow frame: types, distinct values, suggested roles, uniqueness, risk.

    Args:
        population: number of people that the frame is a sample of; None estimates nothing about them.
    """
    source = Source.of(data)
    assert source.frame is not None
    if not source.frame.height or not source.frame.width:
        raise DataError("the table has no rows", hint="pass a table with at least one row")
    frame = read_frame(source)
    return _profile(frame.with_columns(pl.col(pl.String).cast(pl.Categorical)), population, sniff(source))


def _profile(frame: pl.DataFrame, population: int | None, layout: Layout) -> Profile:
    described = []
    for series in frame:
        column, coded = column_of(series)
        how = layout.column(series.name)
        described.append((replace(column, notation=how.notation, question=how.question), coded))
    codes = {column.name: coded for column, coded in described}
    advice = advise_all({column.name: column for column, _ in described}, codes)
    columns = [ColumnProfile(column, advice[column.name]) for column, _ in described]
    return _with_structure(_with_uniqueness(frame.height, columns, codes, population), codes)


def _with_uniqueness(
    n_rows: int, columns: list[ColumnProfile], codes: Mapping[str, Codes], population: int | None
) -> Profile:
    quasi = {c.name: codes[c.name] for c in columns if c.role is Role.QUASI}
    if not quasi:
        return Profile(n_rows, tuple(columns), (), None)
    sets = singling_sets(quasi)
    sizes = class_sizes(list(quasi.values()))
    profiles = [_with_partners(column, sets[0]) if sets else column for column in columns]
    estimates = () if population is None else tuple(estimate_all(sizes, population))
    return Profile(n_rows, tuple(profiles), tuple(sets), risk_of_sizes(sizes), population=estimates)


def _with_structure(profile: Profile, codes: Mapping[str, Codes]) -> Profile:
    """The profile with keys, dependencies and what columns tell about sensitive ones."""
    apart = profile.with_role(Role.IDENTIFIER, Role.DROP)
    plain = {name: column for name, column in codes.items() if name not in apart}
    structure = find_structure(plain)
    # what is sensitive only because many have numbers of their own is nothing that others want to learn
    known = [c.name for c in profile.columns if c.role is Role.SENSITIVE and c.advice.detector not in (None, "amount")]
    telling = telling_of(plain, known)
    columns = tuple(_with_evidence(column, structure, telling) for column in profile.columns)
    return replace(profile, columns=columns, structure=structure, telling=tuple(telling))


def _with_evidence(profile: ColumnProfile, structure: Structure, telling: Sequence[InformationGain]) -> ColumnProfile:
    """What speaks for the role of a column; what it tells about a sensitive one also joins the reason."""
    column, advice = profile.column, profile.advice
    counted = (
        "every value differs" if column.is_unique else f"{column.n_distinct:,} values in {column.n_present:,} cells"
    )
    sentences = [t.sentence for t in telling if t.column == column.name]
    evidence = [
        f"looks like: {advice.looks_like}" + (f" (detector {advice.detector})" if advice.detector else ""),
        counted,
        *sentences,
        *(f"part of a key: {', '.join(key)}" for key in structure.keys if column.name in key),
        *(f"decided by {', '.join(d.columns)}" for d in structure.dependencies if d.decides == column.name),
    ]
    if sentences and advice.role is not Role.SENSITIVE:
        advice = replace(advice, reason=f"{advice.reason}; {sentences[0]}")
    return replace(profile, advice=advice, evidence=tuple(evidence))


def _with_partners(column: ColumnProfile, worst: ColumnSet) -> ColumnProfile:
    """Add to the reason of a column how many records it singles out together with others."""
    if column.name not in worst.columns:
        return column
    others = [name for name in worst.columns if name != column.name]
    share = f"{percent(worst.unique_share)} unique" + (f" with {', '.join(others)}" if others else "")
    return replace(column, advice=replace(column.advice, reason=f"{column.advice.reason}; {share}"))


def _facts(path: Place, layout: Layout) -> FileFacts:
    if layout.format not in DELIMITED:
        return FileFacts(str(path), layout.format, layout.n_bytes, repairs=layout.repairs)
    return FileFacts(
        str(path), layout.format, layout.n_bytes, layout.encoding, layout.delimiter, layout.compression, layout.repairs
    )  # fmt: skip
