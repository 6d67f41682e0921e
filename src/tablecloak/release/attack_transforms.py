"""Attacks on what transforms publish, right after they were applied.

Only then original and published cells of a column are known side by side, on every engine: a release is sorted by
content. What attackers reach goes along in the plan, to the report, the findings and the run's JSON; the cells do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from tablecloak.attacks.base import AttackResult, run_attacks
from tablecloak.attacks.case import Case, Changed, How
from tablecloak.data.changed_columns import plain_texts
from tablecloak.engines.base import Engine, Table
from tablecloak.release.facts.attacked import placeless
from tablecloak.release.plan import Plan
from tablecloak.stats.classes import ClassStats
from tablecloak.transforms.base import LINE, Family, is_pseudonym

# Original and published cells of about so many rows are held against each other.
MOST_ROWS = 5_000
ON_MOVED = ("distance-linkage", "probabilistic-linkage", "rank-linkage", "noise-filtering")
# Covered cells that so many rows share in a sample are shared by so many more in the table that nothing is told.
SHARED_BY = 10
# Nobody has a list of the texts that people wrote, and most of each is published on purpose.
FREE_TEXT = ("redact",)
SAMPLED = "columns that transforms change were attacked among {n:,} of {n_rows:,} records: among all, {all}"
AMONG_ALL = {"pseudonym-reversal": "frequencies may tell more", "noise-filtering": "it is about the same"}


def attacks_on_transforms(
    engine: Engine, table: Table, plan: Plan, shown_as: Mapping[str, str]
) -> tuple[AttackResult, ...]:
    """What attackers reach on the columns that transforms perturb, replace or cover.

    Args:
        table: with the columns as they were and, under the names in `shown_as`, as they are published.
    """
    how_of = {name: how for name in shown_as if (how := _how(table, plan, name, shown_as[name])) is not None}
    if not how_of or table.n_rows == 0:
        return ()
    cells = _sample(engine, table, [*how_of, *(shown_as[name] for name in how_of)])
    columns = [Changed(name, how, cells[name], cells[shown_as[name]]) for name, how in how_of.items()]
    columns = [column for column in columns if column.after.n_unique() > 1]  # one cell for all tells nothing
    moved = [column for column in columns if column.how is How.PERTURBED]
    others = [_with_all_alike(engine, table, c, shown_as[c.name]) for c in columns if c.how is not How.PERTURBED]
    linked = run_attacks(case_of_columns(moved), ON_MOVED) if moved else []
    undone = [run_attacks(case_of_columns([column]), ["pseudonym-reversal"])[0] for column in others]
    results = [*linked, *([_worst(undone)] if undone else [])]
    return tuple(_told(result, cells.height, table.n_rows) for result in results)


def _how(table: Table, plan: Plan, name: str, shown: str) -> How | None:
    """What became of a column; None: nothing that is attacked here.

    Quasi-identifiers are published as labels of their classes, which goals speak of; what stands in a table of its own
    links no rows.
    """
    chain = plan.changed[name]
    families = {each.family for each in chain}
    is_apart = plan.algorithm.publishes.is_bucketing and name in plan.sensitive
    if name in plan.coded or name not in table.types or any(each.name in FREE_TEXT for each in chain):
        return None
    if is_pseudonym(chain):
        return How.STANDS_FOR
    if Family.PERTURB in families:
        is_line = table.types[name] in LINE and table.types[shown] in LINE
        return How.PERTURBED if is_line and not is_apart else None
    if Family.COVER in families:
        return How.STANDS_FOR if any(each.is_drawn for each in chain) else How.COVERED
    return None


def _sample(engine: Engine, table: Table, columns: Sequence[str], together: str | None = None) -> pl.DataFrame:
    """Some rows, in an order that is the same whichever engine has them."""
    rows = plain_texts(engine.some_rows(table, columns, most=MOST_ROWS, together=together))
    return rows.sort(rows.columns)


def _with_all_alike(engine: Engine, table: Table, column: Changed, shown: str) -> Changed:
    """A covered column with all rows that show the same as one of the sample, where few do: these hide each other."""
    is_shared = column.after.n_unique() * SHARED_BY < len(column.after)
    if column.how is not How.COVERED or is_shared or table.n_rows <= len(column.after):
        return column
    cells = _sample(engine, table, [column.name, shown], together=shown)
    return Changed(column.name, column.how, cells[column.name], cells[shown])


def case_of_columns(columns: Sequence[Changed]) -> Case:
    """Rows whose cells are known before and after, and nothing else."""
    n = len(columns[0].before)
    rows, sizes = np.arange(n), ClassStats(np.ones(n, np.int64))
    before, after = (pl.DataFrame({c.name: getattr(c, side) for c in columns}) for side in ("before", "after"))
    return Case(
        (), (), rows, sizes, rows, sizes, n_originals=n, row_of=rows, is_in_order=True, frame=after, original=before,
        changed=tuple(columns),
    )  # fmt: skip


def _worst(results: Sequence[AttackResult]) -> AttackResult:
    """The result of the column that is undone most, with what is reached on every one."""
    found = [(result, result.finding) for result in results if result.finding is not None]
    worst, success = max(found, key=lambda pair: pair[1].average - pair[1].baseline)
    by_column = {name: reached for _, f in found for name, reached in f.details["by_column"].items()}
    details = {**success.details, "columns_tried": sorted(by_column), "by_column": by_column}
    return replace(worst, finding=replace(success, details=details))


def _told(result: AttackResult, n: int, n_rows: int) -> AttackResult:
    """A result without places of rows, and saying where a sample was attacked."""
    success = result.finding
    if success is None or n >= n_rows:
        return placeless(result)
    details = {**success.details, "among": n}
    note = SAMPLED.format(n=n, n_rows=n_rows, all=AMONG_ALL.get(result.attack, "links are rarer"))
    sampled = replace(success, n_sampled=success.n_sampled or success.n_targets, details=details)
    return placeless(replace(result, finding=sampled), (note,))
