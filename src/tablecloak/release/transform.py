"""Columns as transforms make them: right after reading, so that everything behind sees what is published.

Where a goal must judge a column as it was, what is published of it lies beside it under a name of its own until the
release is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak.data.changed_columns import Change, Rows, plain_texts
from tablecloak.data.domain import ANYTHING
from tablecloak.data.table import Role
from tablecloak.engines.base import Engine, Table
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.policy.schema import Policy
from tablecloak.policy.sections import Suppressed
from tablecloak.release.attack_transforms import attacks_on_transforms
from tablecloak.release.plan import MadeColumn, Plan, changed_of
from tablecloak.release.recount import ROWS_NAMED, Failure
from tablecloak.transforms._keys import key_of
from tablecloak.transforms.base import Fitting, Stage, Transform, fitted

SHOWN = "\x1fpublished "  # before the name of a column: what is published of it; Arrow hands over no name with a null


@dataclass(frozen=True, slots=True)
class _AsItIs:
    """Another column."""

    def __call__(self, cells: pl.Series, rows: Rows) -> pl.Series:  # noqa: ARG002
        return cells


def transformed(engine: Engine, table: Table, plan: Plan, *, is_attacked: bool = False) -> tuple[Table, Plan]:
    """A table as it was read, with the columns that the transforms of a policy make of it, and a plan that tells them.

    Every transform sees the other columns as they were.

    Args:
        is_attacked: what the transforms make is attacked, as long as it lies beside what was there.

    Raises: IncompatibleChoice, DataError.
    """
    names, made_columns = list(table.types), []
    for name, chain in plan.changed.items():
        fittings = []
        for index, each in enumerate(chain):
            change, fitting = _change(engine, table, plan, name, index, each)
            table = engine.changed(table, [change])
            fittings.append(fitting)
        key = next((fitting.key.id for fitting in fittings if fitting.key), None)
        warnings = tuple(text for each, f in zip(chain, fittings, strict=True) for text in each.warnings(f))
        kinds = tuple(each.name for each in chain)
        made_columns.append(MadeColumn(name, kinds, plan.told_stage(name), plan.means(name), key, warnings))
    attacked = attacks_on_transforms(engine, table, plan, {n: SHOWN + n for n in plan.changed}) if is_attacked else ()
    plan = replace(plan, made=tuple(made_columns), attacked=attacked)
    early = [name for name in plan.changed if plan.stage_of(name) is Stage.BEFORE]
    table = engine.changed(table, [Change(n, table.types[SHOWN + n], _AsItIs(), SHOWN + n) for n in early])
    made = [name for name in early if name not in names]
    late = [SHOWN + name for name in plan.changed if name not in early]
    return engine.select(table, [*names, *made, *late]), plan


def published(engine: Engine, table: Table, columns: Sequence[str], plan: Plan) -> Table:
    """Some columns of a table as they are published."""
    late = [name for name in plan.judged_before if name in columns]
    if not late:
        return engine.select(table, columns)
    shown = engine.select(table, [SHOWN + name if name in late else name for name in columns])
    shown = engine.changed(shown, [Change(n, shown.types[SHOWN + n], _AsItIs(), SHOWN + n) for n in late])
    return engine.select(shown, columns)


def _change(
    engine: Engine, table: Table, plan: Plan, name: str, index: int, chosen: Transform
) -> tuple[Change, Fitting]:
    source = SHOWN + name if index else _source(table, name, chosen, plan.person)
    needs = chosen.needs(plan.person)
    absent = [need for need in needs if need not in table.types]
    if absent:
        raise DataError(
            f"{chosen.name} of '{name}' needs the column '{absent[0]}', which the table does not have",
            hint=f"columns.{name}.transform", location=table.name,
        )  # fmt: skip
    type_ = table.types[source]
    fitting = Fitting(
        column=name,
        type=type_,
        secret=plan.secret.child(f"transform {name} {index} {chosen.name}"),
        shared=plan.secret.child("transforms"),
        n_rows=table.n_rows,
        counts=lambda: value_counts(engine, table, source),
        rows=lambda columns: _whole(engine, table, [*columns], {source: name}),
        smallest=plan.goal.min_size,
        key=key_of(plan.policy, chosen, plan.secret),
        person=plan.person if plan.person in table.types else None,
        resolve=plan.policy.resolve,
    )
    return Change(SHOWN + name, chosen.result(type_), fitted(chosen, fitting), source, needs), fitting


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


def wrong_cells(engine: Engine, release: Table, policy: Policy) -> list[Failure]:
    """Published cells that the transforms of their columns cannot have made; of quasi-identifiers, labels are shown."""
    has_stars = bool(policy.output and policy.output.suppressed is Suppressed.STAR)
    chains = {n: chain for n, chain in changed_of(policy).items() if policy.columns[n].role is not Role.QUASI}
    failures = [_faults(engine, release, n, chain[-1], has_stars) for n, chain in chains.items() if n in release.types]
    return [failure for failure in failures if failure is not None]


def _faults(engine: Engine, release: Table, name: str, chosen: Transform, has_stars: bool) -> Failure | None:
    n_wrong, begin = 0, 0
    rows: list[int] = []
    for cells in _cells(engine, release, name):
        faults = chosen.faults(cells)
        if faults is None:
            return None
        is_wrong = faults.to_numpy()
        if has_stars:
            is_wrong = is_wrong & ~cells.cast(pl.String).eq_missing(ANYTHING).to_numpy()
        n_wrong += int(is_wrong.sum())
        rows += (np.flatnonzero(is_wrong)[: ROWS_NAMED - len(rows)] + 1 + begin).tolist()
        begin += len(cells)
    return Failure(f"a cell is not what {chosen.name} makes", name, n_wrong, tuple(rows)) if n_wrong else None


def _cells(engine: Engine, table: Table, name: str) -> Iterator[pl.Series]:
    """The cells of a column in their order; where rows stay with workers, its different cells."""
    if not engine.tells_rows_apart:
        yield engine.class_stats(table, [name], (), stars_are_suppressed=False).labels[name]
        return
    for batch in engine.batches(table, [name]):
        yield plain_texts(batch)[name]


def value_counts(engine: Engine, table: Table, column: str) -> pl.DataFrame:
    """The different values of a column, missing ones left out, sorted, and how many records have each."""
    counts: pl.DataFrame | None = None
    for batch in engine.batches(table, [column]):
        cells = batch[column]
        values = cells.cast(pl.String) if isinstance(cells.dtype, pl.Categorical | pl.Enum) else cells
        here = pl.DataFrame({"value": values}).drop_nulls().group_by("value").agg(pl.len().cast(pl.Int64).alias("n"))
        both = here if counts is None else pl.concat([counts, here])
        counts = both.group_by("value").agg(pl.col("n").sum())
    assert counts is not None
    return counts.sort("value")
