"""What a goal needs beyond the table itself: a population to compare with, and what people guard.

Where the goal asks about presence, classes must leave everybody of the population in doubt about who is in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak.algorithms.among_people import as_one_class
from tablecloak.arrays import IntArray
from tablecloak.attacks.case import Case, Quasi
from tablecloak.attacks.covering_classes import candidates_in_population
from tablecloak.attacks.row_classes import classes_of
from tablecloak.data.coverage import coverage_of
from tablecloak.data.domain import Distinct, Domain, domain_of, fit_domain
from tablecloak.data.register import Register, RegisterColumn
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Answer, Coding, Engine, Recount, SensitiveColumn, Table
from tablecloak.engines.local.engine import table_of
from tablecloak.errors import DataError, Infeasible, did_you_mean
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.models.base import Condition, Goal, PrivacyModel
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.policy.schema import Policy
from tablecloak.release.plan import POPULATION, Plan
from tablecloak.stats.classes import ClassStats, Counted, Evidence, Histogram, SensitiveDomain


def read_population(policy: Policy, quasi: Sequence[str], known_types: Mapping[str, ColumnType]) -> pl.DataFrame:
    """The quasi-identifiers of the population, under the names they have in the table.

    Args:
        known_types: of columns of the table, which those of the population have, too.
    """
    register = policy.population
    assert register is not None
    path = policy.resolve(register.path)
    names = {ours: register.columns.get(ours, ours) for ours in quasi}
    columns = sniff(Source(path, delimiter=register.delimiter, expected=frozenset(names.values()))).names
    for name in names.values():
        if name not in columns:
            raise DataError(f"there is no column '{name}'", hint=did_you_mean(name, columns) or "", location=str(path))
    specs = policy.columns
    types = {theirs: specs[ours].type for ours, theirs in names.items() if specs[ours].type is not None}
    types |= {theirs: known_types[ours] for ours, theirs in names.items() if ours in known_types}
    source = Source(path, delimiter=register.delimiter, types={n: t for n, t in types.items() if t is not None})
    frame = require_rows(read_frame(source, columns=list(names.values())), path)
    return frame.select(pl.col(theirs).alias(ours) for ours, theirs in names.items())


@dataclass(frozen=True, slots=True, eq=False)
class Others:
    """The different people of a population, those whom no record equals, and how many they are."""

    types: Mapping[str, ColumnType]
    values: Mapping[str, pl.Series]  # different values of everybody, by quasi-identifier
    frame: pl.DataFrame  # of those whom no record equals
    n_people: IntArray  # (n_rows,) who have each combination


def with_population(engine: Engine, table: Table, plan: Plan) -> tuple[Table, list[SensitiveColumn], Others | None]:
    """The table with one more column, where the goal asks for it, everything in it that is counted, and who else there
    is in the population.

    The column says how many people of the population have exactly the quasi-identifiers of a record. Only the first
    record with a combination carries the number, so that sums over a class count nobody twice.
    """
    for name in plan.goal.guard_columns:
        if name not in table.types:
            raise DataError(f"there is no column '{name}'", hint="it says what people guard", location=table.name)
    if Evidence.POPULATION not in plan.goal.evidence or plan.policy.population is None:
        return table, plan.sensitive_columns(table), None
    frame = engine.frame(table)
    as_texts = [pl.col(name).cast(pl.String) for name in plan.quasi]
    everybody = table_of(read_population(plan.policy, plan.quasi, table.types))
    different = everybody.frame.group_by(plan.quasi, maintain_order=True).len(POPULATION)
    rows = frame.select(as_texts).with_columns(pl.int_range(pl.len()).over(plan.quasi).alias("\0place"))
    texts = different.with_columns(as_texts)
    people = texts.group_by(plan.quasi).sum()
    joined = rows.join(people, on=plan.quasi, how="left", nulls_equal=True, maintain_order="left")
    weights = joined.select(
        pl.when(pl.col("\0place") == 0).then(pl.col(POPULATION).fill_null(0)).otherwise(0).cast(pl.Int64)
    ).to_series()
    widened = table_of(frame.with_columns(weights.alias(POPULATION)), table.name)
    counted = [
        replace(c, n_people=everybody.n_rows) if c.name == POPULATION else c for c in plan.sensitive_columns(widened)
    ]
    rest = texts.with_row_index("\0row").join(rows, on=plan.quasi, how="anti", nulls_equal=True)["\0row"].sort()
    values = {name: different[name].unique().sort() for name in plan.quasi}
    unlike = different[rest]
    others = Others(everybody.types, values, unlike.select(plan.quasi), unlike[POPULATION].to_numpy().astype(np.int64))
    return widened, counted, others


def register_of(others: Others, domains: Sequence[Domain], plan: Plan) -> Register:
    """People of the population in codes of their own, beside the domains of a table."""
    frame = table_of(others.frame)
    ways = {way.name: way for way in plan.quasi_columns(replace(frame, types=dict(others.types)))}
    columns, codes = [], []
    for domain in domains:
        name = domain.name
        values = others.values[name]
        people = domain_of(values, others.types[name], make_hierarchy=ways[name].make_hierarchy)
        columns.append(RegisterColumn(domain, people))
        cells = others.frame[name].replace_strict(values, people.code_of(values), return_dtype=pl.Int64)
        codes.append(cells.to_numpy())
    order = np.lexsort(codes)  # whatever order the file has
    return Register(tuple(columns), tuple(c[order] for c in codes), others.n_people[order])


def refuse_odd_weights(table: Table, domain: SensitiveDomain, totals: IntArray) -> None:
    """Raise DataError where weights of a survey are no numbers of people.

    Args:
        domain: the column of weights, as it was coded.
        totals: (n_values,) records with each weight.
    """
    column = domain.name
    if table.types[column] not in (ColumnType.INTEGER, ColumnType.FLOAT) or domain.numbers is None:
        raise DataError(
            f"column '{column}' is the weight of records and does not hold numbers",
            hint="the weight of a record is the number of people it stands for; role: keep for other columns",
            location=table.name,
        )
    n_odd = int(totals[~(domain.numbers >= 0)].sum())  # an empty cell is no number
    if n_odd:
        raise DataError(
            f"{n_odd:,} cells of the column '{column}', the weight of records, are empty or negative",
            hint="give every record the number of people it stands for; 0 for none",
            location=table.name,
        )


def odd_weights(series: pl.Series) -> int:
    """How many cells say no number of people."""
    numbers = series.cast(pl.Float64, strict=False)
    is_good = (numbers.is_finite() & (numbers >= 0)).fill_null(value=False)
    return len(series) - int(is_good.sum())


def with_people(recount: Recount, plan: Plan) -> Recount:
    """The recount of a release with the people of the population that every class covers."""
    if Evidence.POPULATION not in plan.goal.evidence or plan.policy.population is None:
        return recount
    case = case_with_people(recount, plan)
    candidates = candidates_in_population(case)
    if candidates is None:
        raise DataError("classes and people are too many to compare each with each", hint="use a smaller population")
    counts = candidates.per_class(recount.stats.n_classes).astype(np.float64)
    hist = _one_number_per_class(counts, recount, case.n_population or 0, candidates.n_without())
    stats = replace(recount.stats, hist={**recount.stats.hist, POPULATION: hist})
    return replace(recount, parts=(stats,))


def case_with_people(recount: Recount, plan: Plan) -> Case:
    """A recounted release beside the population of the policy, as attackers see it who have such a register."""
    people = table_of(read_population(plan.policy, plan.quasi, {}))
    ways = {way.name: way for way in plan.quasi_columns(people)}
    columns = []
    for name, labels in recount.cells.items():
        domain, codes = fit_domain(people.frame[name], people.types[name], make_hierarchy=ways[name].make_hierarchy)
        coverage = coverage_of(labels.values, domain)
        columns.append(Quasi(name, labels.index.astype(np.int64), (), domain, coverage, people=codes.astype(np.int64)))
    assert recount.classes is not None
    classes = recount.classes.astype(np.int64)
    return Case(tuple(columns), (), classes, recount.stats, classes, recount.stats, n_population=people.n_rows)


def _one_number_per_class(numbers: np.ndarray, recount: Recount, n_people: int, n_outside: int) -> Histogram:
    n = len(numbers)
    domain = SensitiveDomain(
        POPULATION, (None,) * n, numbers=numbers, kind=Counted.POPULATION, n_people=n_people, n_outside=n_outside
    )
    totals = np.zeros(n, np.int64)
    totals[:1] = recount.n_rows
    return Histogram(domain, np.arange(n + 1), np.arange(n), np.ones(n, np.int64), totals)


# Presence -------------------------------------------------------------------------------------------------------------


def asks_for_everybody(goal: Goal) -> bool:
    """Whether somebody whom no class covers breaks the goal."""
    return any(m.asks_for_everybody for m in goal.models)


def solve_for_everybody(coding: Coding, plan: Plan, solve: Callable[[Goal], Answer]) -> Answer:
    """Search for larger and larger classes until everybody's chance of being in the table is large enough.

    Raises: Infeasible, with the chance that one class of all records gives, or with the people whom even that one does
        not cover.
    """
    models, size = [m for m in plan.goal.models if m.asks_for_everybody], max(2, plan.goal.min_size)
    while True:
        answer = solve(replace(plan.goal, models=(*plan.goal.models, KAnonymity(k=size))))
        reached = _reached(coding, answer, plan)
        if not _broken(models, reached):
            return answer
        if size >= coding.n_rows or answer.solution.n_classes <= 1:
            break
        size = min(2 * size, coding.n_rows)
    if coding.register is not None:  # the top of a hierarchy covers more than what all records have in common
        whole = as_one_class(coding.table)
        answer = Answer(whole, whole.sizes(coding.table))
        reached = _reached(coding, answer, plan)
        if not _broken(models, reached):
            return answer
    raise _infeasible(_broken(models, reached)[-1], reached, coding.n_rows)


def _broken(models: Sequence[PrivacyModel], reached: _Reached) -> list[Condition]:
    return [c for m in models for c in m.conditions(reached.stats) if (c.margin() < 0).any()]


@dataclass(frozen=True, slots=True)
class _Reached:
    stats: ClassStats  # classes of equal labels, with the people that each covers
    n_people: int
    n_outside: int


def _reached(coding: Coding, answer: Answer, plan: Plan) -> _Reached:
    """The classes as a recount would find them: those with equal labels are one."""
    released = np.flatnonzero(answer.sizes > 0)
    cells = {}
    for name, labels in answer.solution.published(coding.domains).items():
        values = pl.Series(name, [*labels.names, None], dtype=pl.String)
        cells[name] = Distinct(values, np.arange(len(values)), labels.of_class[released].astype(np.int64))
    classes, n_classes = classes_of([cell.index.astype(np.int64) for cell in cells.values()], len(released))
    sizes = np.bincount(classes, weights=answer.sizes[released], minlength=n_classes).astype(np.int64)
    recount = Recount((ClassStats(sizes),), int(sizes.sum()), 0, {}, cells=cells, classes=classes)
    stats = with_people(recount, plan).stats
    assert stats.population is not None
    return _Reached(stats, stats.population.domain.n_people, stats.population.domain.n_outside)


def _infeasible(broken: Condition, reached: _Reached, n_rows: int) -> Infeasible:
    if reached.n_outside:
        reason = (
            f"{reached.n_outside:,} of {reached.n_people:,} people of the population are covered by no class, even "
            "with all records in one, so it is certain that they are not in the table"
        )
        change = f"give every quasi-identifier a hierarchy whose top stands for any value, or {broken.name}: 0"
    else:
        share = n_rows / max(1, reached.n_people)
        reason = (
            f"no release reaches {broken.name} {broken.required:g}: with all records in one class, {n_rows:,} of "
            f"{reached.n_people:,} people are in the table, a chance of {share:.4g}"
        )
        change = f"{broken.name}: {np.floor(share * 1000) / 1000:g}, or a smaller population"
    return Infeasible(f"infeasible  {reason}", best=[], relaxations=[{"change": change}])
