"""Columns as transforms make them: right after reading, so that everything behind sees what is published.

Where a goal must judge a column as it was, what is published of it lies beside it under a name of its own until the
release is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from tablecloak.data.changed_columns import CellRows, CellStep, ColumnChange, plain_texts
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Engine, Table
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.release.attack_transforms import attacks_on_transforms
from tablecloak.release.moments import moments_of
from tablecloak.release.plan import MadeColumn, Plan
from tablecloak.transforms._keys import key_of
from tablecloak.transforms.base import Fitting, Transform, fitted

ORIGINAL = "\x1foriginal "  # before the name of a column that is changed already: what it was
SHOWN = "\x1fpublished "  # before the name of a column: what is published of it; Arrow hands over no name with a null


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """Another column."""

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:  # noqa: ARG002
        return cells


def transformed(
    engine: Engine,
    table: Table,
    plan: Plan,
    *,
    is_attacked: bool = False,
    types: Mapping[str, ColumnType] | None = None,
) -> tuple[Table, Plan]:
    """A table as it was read, with the columns that the transforms of a policy make of it, and a plan that tells them.

    Every transform sees the other columns as they were, but those that compute a column from what is published of
    others: they come last.

    Args:
        is_attacked: what the transforms make is attacked, as long as it lies beside what was there.
        types: of the columns in the source, where a run is to tell what it does to them: what they were stays beside
            what is made of them before the search, and means, deviations and correlations are held against each other.

    Raises: IncompatibleChoice, DataError.
    """
    names, made_columns = list(table.types), []
    run: dict[str, Any] = {}
    for name in _order(plan):
        chain, fittings = plan.changed[name], []
        for index, each in enumerate(chain):
            change, fitting = _change(engine, table, plan, name, index, each, run)
            table = engine.changed(table, [change])
            fittings.append(fitting)
        key = next((fitting.key.id for fitting in fittings if fitting.key), None)
        warnings = tuple(text for each, f in zip(chain, fittings, strict=True) for text in _warnings(each, f))
        kinds = tuple(each.name for each in chain)
        afterwards = tuple(keep for fitting in fittings for keep in fitting.afterwards)
        made_columns.append(MadeColumn(name, kinds, plan.told_stage(name), plan.means(name), key, warnings, afterwards))
    table = engine.settled(table, [SHOWN + name for name in plan.changed])
    shown_as, early = {n: SHOWN + n for n in plan.changed}, plan.changed_early
    attacked = attacks_on_transforms(engine, table, plan, shown_as) if is_attacked else ()
    moments = None if types is None else moments_of(engine, table, plan, shown_as, types)
    plan = replace(plan, made=tuple(made_columns), attacked=attacked, moments=moments)
    beside = {} if types is None else {ORIGINAL + n: n for n in early if n in names and n in plan.publication.columns}
    copies = {**beside, **{name: SHOWN + name for name in early}}
    table = engine.changed(table, [ColumnChange(n, table.types[c], _AsItIs(), c) for n, c in copies.items()])
    made = [name for name in early if name not in names]
    late = [SHOWN + name for name in plan.changed if name not in early]
    return engine.select(table, [*names, *made, *late, *beside]), plan


def as_it_was(table: Table, column: str) -> str:
    """The column of a table that holds what another was before transforms changed it, if they did."""
    return ORIGINAL + column if ORIGINAL + column in table.types else column


def without_originals(engine: Engine, table: Table) -> Table:
    """A table without what its columns were before they were changed."""
    columns = [name for name in table.types if not name.startswith(ORIGINAL)]
    return table if len(columns) == len(table.types) else engine.select(table, columns)


def with_copy(engine: Engine, table: Table, column: str, name: str) -> Table:
    """A table with one of its columns a second time, under another name."""
    return engine.changed(table, [ColumnChange(name, table.types[column], _AsItIs(), column)])


def published(engine: Engine, table: Table, columns: Sequence[str], plan: Plan) -> Table:
    """Some columns of a table as they are published."""
    late = [name for name in plan.judged_before if name in columns]
    if not late:
        return engine.select(table, columns)
    shown = engine.select(table, [SHOWN + name if name in late else name for name in columns])
    shown = engine.changed(shown, [ColumnChange(n, shown.types[SHOWN + n], _AsItIs(), SHOWN + n) for n in late])
    return engine.select(shown, columns)


def _order(plan: Plan) -> list[str]:
    """Columns in the order in which they are changed: one that is computed from published ones comes after these.

    Raises: IncompatibleChoice where two are computed from each other.
    """
    waiting = {n: _read_published(plan, n) & plan.changed.keys() for n in plan.changed}
    order: list[str] = []
    while waiting:
        ready = [name for name, needs in waiting.items() if needs.isdisjoint(waiting)]
        if not ready:
            raise IncompatibleChoice(
                f"the columns {', '.join(waiting)} are computed from each other", hint="compute one of them otherwise"
            )
        order += ready
        waiting = {name: needs for name, needs in waiting.items() if name not in ready}
    return order


def _read_published(plan: Plan, name: str) -> set[str]:
    """Other columns that transforms of a column read as they are published."""
    needs = {need for each in plan.changed[name] if each.reads_published for need in each.needs(plan.person)}
    return needs - {name}


@dataclass(frozen=True, slots=True)
class _OfPublished:
    """A step that is given other columns as they are published, under their names."""

    step: CellStep

    def __call__(self, cells: pl.Series, rows: CellRows) -> pl.Series:
        names = {column: column.removeprefix(SHOWN) for column in rows.beside.columns}
        return self.step(cells, CellRows(rows.numbers, rows.beside.rename(names)))


def _change(
    engine: Engine, table: Table, plan: Plan, name: str, index: int, chosen: Transform, run: dict[str, Any]
) -> tuple[ColumnChange, Fitting]:
    source = SHOWN + name if index else _source(table, name, chosen, plan.person)
    needs = chosen.needs(plan.person)
    made = {other for other in plan.changed if SHOWN + other in table.types} if chosen.reads_published else set()
    absent = [need for need in needs if need not in table.types and need not in made]
    if absent:
        raise DataError(
            f"{chosen.name} of '{name}' needs the column '{absent[0]}', which the table does not have",
            hint=f"columns.{name}.transform", location=table.name,
        )  # fmt: skip
    fitting = replace(_fitting(engine, table, plan, name, index, chosen, source), run=run)
    step, type_ = fitted(chosen, fitting), chosen.result(table.types[source])
    if not chosen.reads_published:
        return ColumnChange(SHOWN + name, type_, step, source, needs), fitting
    _refuse_unpublished(plan, name, needs)
    shown = tuple(SHOWN + need if need in plan.changed else need for need in needs)
    return ColumnChange(SHOWN + name, type_, _OfPublished(step), source, shown), fitting


def _warnings(chosen: Transform, fitting: Fitting) -> list[str]:
    try:
        return chosen.warnings(fitting)
    except IncompatibleChoice:  # from `rows` of a fitting
        return [f"whether {chosen.name} may be a mistake here was not looked at: rows are not in one memory"]


def _refuse_unpublished(plan: Plan, name: str, needs: Sequence[str]) -> None:
    """Raise IncompatibleChoice where a published cell would tell more of another column than is published of it."""
    apart = plan.sensitive if plan.algorithm.publishes.is_bucketing else []
    reasons = {
        "is not published": [n for n in needs if n not in plan.publication.columns],
        "is published coarser than it is": [n for n in needs if n in plan.quasi],
        "is published apart from its row": [n for n in needs if n in apart],
    }
    for reason, columns in reasons.items():
        if columns:
            raise IncompatibleChoice(
                f"column '{name}' is computed from '{columns[0]}', which {reason}",
                hint=f"leave '{columns[0]}' out of it, or use another transform for '{name}'",
            )


def _fitting(
    engine: Engine, table: Table, plan: Plan, name: str, index: int, chosen: Transform, source: str
) -> Fitting:
    """What a transform may know of its column."""
    return Fitting(
        column=name,
        type=table.types[source],
        secret=plan.secret.child(f"transform {name} {index} {chosen.name}"),
        shared=plan.secret.child("transforms"),
        n_rows=table.n_rows,
        counts=lambda where=None: engine.value_counts(table, source, where),
        rows=lambda columns: _whole(engine, table, [*columns], {source: name}),
        smallest=plan.goal.min_size,
        key=key_of(plan.policy, chosen, plan.secret),
        is_key_kept=chosen.key_place is not None or plan.policy.secret is not None,
        person=plan.person if plan.person in table.types else None,
        resolve=plan.policy.resolve,
        changed=plan.changed,
    )


def _whole(engine: Engine, table: Table, columns: list[str], name_of: dict[str, str]) -> pl.DataFrame:
    """Whole columns in memory, under the names that a policy has for them."""
    source_of = {name: source for source, name in name_of.items()}
    frame = engine.frame(table, [source_of.get(name, name) for name in columns])
    return plain_texts(frame.rename({source: name for source, name in name_of.items() if source in frame.columns}))


def _source(table: Table, name: str, chosen: Transform, person: str | None) -> str:
    """The column whose cells a transform is given: that of its name or, where it makes one, the first that it needs."""
    if name in table.types:
        return name
    needs = chosen.needs(person)
    if chosen.makes_column and needs and needs[0] in table.types:
        return needs[0]
    raise IncompatibleChoice(f"there is no column '{name}' to change", hint=f"remove columns.{name}")
