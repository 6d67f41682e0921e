"""Cases: a release coded and grouped as attackers see it, beside what is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.case import Attacker, Case, Fact, Quasi, Sensitive
from tablecloak.attacks.row_owners import whose_rows
from tablecloak.data.table import Role
from tablecloak.engines.base import Recount, SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.measure.attack.columns import Attribute, attribute_of, quasi_of
from tablecloak.measure.attack.judged_columns import only_columns
from tablecloak.measure.attack.order import are_single_values, in_order, stays_in_place
from tablecloak.policy.schema import Policy
from tablecloak.release.outcome import weights_in
from tablecloak.release.plan import make_plan
from tablecloak.release.population import odd_weights
from tablecloak.release.shapes.groups import COUNT, GROUP
from tablecloak.stats.classes import ClassStats, count_classes


def build_case(
    release: pl.DataFrame,
    *,
    quasi: Sequence[str],
    sensitive: Sequence[str] = (),
    original: pl.DataFrame | None = None,
    side: pl.DataFrame | None = None,
    policy: Policy | None = None,
    population: pl.DataFrame | None = None,
    facts: Sequence[Fact] = (),
    control: pl.DataFrame | None = None,
    attacker: Attacker | None = None,
    is_original: bool = False,
    has_newcomers: bool = False,
) -> Case:
    """A release as attackers see it: coded, grouped, and held against the original where there is one.

    Args:
        is_original: the release is the original itself.
        has_newcomers: rows may be of people who are not in the original.
    """
    is_grouped = not is_original and GROUP in release.columns and (original is None or GROUP not in original.columns)
    shown = [n for n in sensitive if n in release.columns]
    basis = original if original is not None else release
    plain = only_columns(policy, quasi, [n for n in sensitive if n in basis.columns])
    plan = make_plan(plain, basis.columns, is_reported=True)
    recount = LocalEngine().class_stats(
        table_of(release), quasi, [SensitiveColumn(n) for n in shown], stars_are_suppressed=not is_original
    )
    row_numbers = None if recount.is_suppressed is None else np.flatnonzero(~recount.is_suppressed)
    rows = release if row_numbers is None else release[row_numbers]
    columns = tuple(quasi_of(plan, recount, original, population, is_original=is_original))
    attributes = [attribute_of(name, plan, rows, original, side) for name in sensitive]
    assert recount.classes is not None
    classes = recount.classes.astype(np.int64)
    groups, group_stats = _groups(classes, recount, attributes, rows, side, is_grouped=is_grouped)
    is_in_order = str(getattr(policy.output, "order", "")) == "keep" if policy else stays_in_place(rows, original)
    whose = None
    if is_original:
        whose = _Whose(np.arange(len(rows)), is_certain=True, is_covering=True)
    elif original is not None:
        whose = _whose(
            columns, [a.column for a in attributes], len(rows), original.height, is_in_order=is_in_order,
            groups=(groups, group_stats) if is_grouped else None, has_newcomers=has_newcomers,
        )  # fmt: skip
    return Case(
        quasi=columns,
        sensitive=tuple(a.column for a in attributes),
        classes=classes,
        stats=ClassStats(recount.stats.size),
        groups=groups,
        group_stats=group_stats,
        n_originals=None if original is None else original.height,
        row_of=whose.row_of if whose else None,
        is_certain=whose is None or whose.is_certain,
        is_in_order=is_in_order,
        row_numbers=None if row_numbers is None else row_numbers.astype(np.int64),
        is_grouped=is_grouped,
        is_covering=whose.is_covering if whose else None,
        n_population=None if population is None else population.height,
        weights=_weights(rows, policy),
        facts=tuple(facts),
        attacker=attacker or Attacker(),
        frame=rows,
        original=original,
        control=control,
        dictionary=population,
    )


def _weights(rows: pl.DataFrame, policy: Policy | None) -> FloatArray | None:
    """How many people each published row stands for, where a column of numbers says so."""
    names = [n for n in (policy.columns_with(Role.WEIGHT) if policy else ()) if n in rows.columns]
    if len(names) != 1 or odd_weights(rows[names[0]]):
        return None
    return weights_in(rows, names[0])


@dataclass(frozen=True, slots=True, eq=False)
class _Whose:
    row_of: IntArray
    is_certain: bool
    is_covering: bool | None  # None: rows of newcomers cover nobody of the original


def _whose(
    columns: Sequence[Quasi], sensitive: Sequence[Sensitive], n_rows: int, n_originals: int, *, is_in_order: bool,
    groups: tuple[IntArray, ClassStats] | None, has_newcomers: bool,
) -> _Whose | None:  # fmt: skip
    """An original for every row: by what is published or, where that leaves a choice and order was kept, by order.

    None where some row fits no original, or where there are too many to match.
    """
    exact = [] if groups is not None else [s for s in sensitive if s.codes is not None]
    cut = None if groups is None else (groups[0], groups[1].hist, sensitive)
    for shown in (exact, []) if exact and not has_newcomers else (exact,):  # sensitive values may have been changed
        matching = whose_rows(columns, shown, n_rows, n_originals, cut)
        is_whole = matching is not None and bool((matching.row_of >= 0).all())
        originals = in_order(columns, shown, n_rows, n_originals) if is_in_order else None
        if originals is not None and not (is_whole and matching is not None and matching.is_certain):
            return _Whose(originals, is_certain=False, is_covering=True)
        if matching is not None and (is_whole or has_newcomers):
            return _Whose(matching.row_of, matching.is_certain and is_whole, is_covering=is_whole or None)
    if is_in_order and n_rows == n_originals and are_single_values(columns):
        return _Whose(np.arange(n_rows), is_certain=False, is_covering=False)  # perturbed: nothing but the order says
    return None


def _groups(
    classes: IntArray,
    recount: Recount,
    attributes: Sequence[Attribute],
    rows: pl.DataFrame,
    side: pl.DataFrame | None,
    *,
    is_grouped: bool,
) -> tuple[IntArray, ClassStats]:
    """The group of every row, and the sensitive histograms of groups, compared with the whole original."""
    totals = {
        a.column.name: np.bincount(a.column.originals, minlength=a.column.domain.n_values)
        for a in attributes
        if a.column.originals is not None
    }
    if not is_grouped:
        coded = {a.column.name: (a.column.codes, a.column.domain) for a in attributes if a.column.codes is not None}
        return classes, count_classes(classes, recount.stats.n_classes, coded, totals=totals)
    both = pl.concat([f[GROUP].cast(pl.Int64) for f in (rows, side) if f is not None])
    number = both.rank("dense").to_numpy().astype(np.int64) - 1
    groups, beside, n_groups = number[: rows.height], number[rows.height :], int(number.max(initial=-1)) + 1
    weights = side[COUNT].to_numpy().astype(np.int64) if side is not None and COUNT in side.columns else None
    stats = count_classes(groups, n_groups, {})
    hist = {}
    for a in attributes:
        name, domain = a.column.name, a.column.domain
        if a.beside is not None:
            counted = count_classes(beside, n_groups, {name: (a.beside, domain)}, weights=weights, totals=totals)
        elif a.column.codes is not None:
            counted = count_classes(groups, n_groups, {name: (a.column.codes, domain)}, totals=totals)
        else:
            continue
        hist[name] = counted.hist[name]
    return groups, replace(stats, hist=hist)
