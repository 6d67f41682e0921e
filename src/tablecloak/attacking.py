"""Attacking: from files or frames, whoever made the release, to what attackers achieve on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Distinct, Domain, DomainKind, fit_domain, fit_sensitive
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.base import QuasiColumn, Recount, SensitiveColumn
from tablecloak.engines.local import LocalEngine, table_of
from tablecloak.errors import DataError, IncompatibleChoice, did_you_mean
from tablecloak.io.frames import column_type, from_frame
from tablecloak.io.places import Place
from tablecloak.io.sniff import sniff
from tablecloak.io.sources import Source
from tablecloak.io.tabular import read_frame, require_rows
from tablecloak.models.base import Goal
from tablecloak.models.k_anonymity import KAnonymity
from tablecloak.plan import Plan, make_plan, source_of
from tablecloak.policy.schema import ColumnSpec, Policy
from tablecloak.profile.profile import inspect_frame
from tablecloak.risks.base import Exposure, every, run_attacks
from tablecloak.risks.case import Attacker, Case, Fact, Quasi, Sensitive
from tablecloak.separation import COUNT, GROUP, side_path
from tablecloak.stats.classes import ClassStats, SensitiveDomain, count_classes

__all__ = ["AttackReport", "attack_files", "attack_frames", "build_case", "read_facts"]

IntArray = NDArray[np.int64]
# Rows are compared with originals in blocks of this many.
BLOCK = 1 << 14
GUESSED = "quasi-identifiers were suggested, not given: {}"
IN_ORDER = "cells do not cover the original, so rows are taken to be in its order"


@dataclass(frozen=True, slots=True)
class AttackReport:
    """What attackers achieve on a release and, where there is an original, would achieve on the original itself."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    after: tuple[Exposure, ...]
    before: tuple[Exposure, ...] | None
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak attack --json`."""
        attacks = [e.to_dict() for e in self.after]
        for found, earlier in zip(attacks, self.before or (), strict=False):
            found["before"] = _shortened(earlier.to_dict())
        return {
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "attacks": attacks,
            "notes": list(self.notes),
        }


def _shortened(exposure: Mapping[str, Any]) -> dict[str, Any] | None:
    if not exposure["applies"]:
        return None
    return {key: exposure[key] for key in ("highest", "average", "victims", "targets")}


def attack_files(
    original: Place | None,
    release: Place,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    population: Path | None = None,
    others: Sequence[Path] = (),
    facts: Path | None = None,
    control: Path | None = None,
    kinds: Iterable[str] | None = None,
    attacker: Attacker | None = None,
    with_before: bool = True,
) -> AttackReport:
    """Attack a release given as a file; see `attack_frames`."""
    before = None if original is None else _read_original(original, policy)
    labelled = list(quasi) or (policy.columns_with(Role.QUASI) if policy else [])
    side = side_path(release) if isinstance(release, Path) else None
    return attack_frames(
        before,
        _read_release(release, labelled, before),
        policy=policy,
        quasi=quasi,
        sensitive=sensitive,
        side=_read_release(side, [], None) if side is not None and side.exists() else None,
        population=None if population is None else _read_original(population, policy),
        others=[_read_release(path, labelled, before) for path in others],
        facts=() if facts is None else read_facts(read_frame(Source(facts))),
        control=None if control is None else _read_original(control, policy),
        kinds=kinds,
        attacker=attacker,
        with_before=with_before,
    )


def _read_original(path: Place, policy: Policy | None) -> pl.DataFrame:
    source = source_of(policy.with_files(source=path)) if policy else Source.of(path)
    known = sniff(source).names
    source = replace(source, types={name: t for name, t in (source.types or {}).items() if name in known})
    return require_rows(read_frame(source, categorical=known), path)


def _read_release(path: Place, quasi: Sequence[str], before: pl.DataFrame | None) -> pl.DataFrame:
    """Labels such as 1305* or [20, 29] are text; so is what stands beside them in the same column."""
    names = sniff(Source.of(path)).names
    wanted = set(quasi) if quasi else set(before.columns if before is not None else ())
    types = {name: ColumnType.TEXT for name in names if name in wanted and name != GROUP}
    frame = require_rows(read_frame(Source.of(path, types=types), categorical=names), path)
    if quasi or before is None:
        return frame
    return _with_types_of(frame, before)


def _with_types_of(frame: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Columns that hold plain numbers of the original's type get that type back."""
    shared = [n for n in frame.columns if n in before.columns and before[n].dtype.is_numeric()]
    cast = {n: frame[n].cast(pl.String).cast(before[n].dtype, strict=False) for n in shared}
    good = [series for n, series in cast.items() if series.null_count() == frame[n].null_count()]
    return frame.with_columns(good)


def attack_frames(
    original: Any,
    release: Any,
    *,
    policy: Policy | None = None,
    quasi: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    side: Any = None,
    population: Any = None,
    others: Sequence[Any] = (),
    facts: Sequence[Fact] = (),
    control: Any = None,
    kinds: Iterable[str] | None = None,
    attacker: Attacker | None = None,
    with_before: bool = True,
) -> AttackReport:
    """Attack a release given as a frame, beside its original or alone.

    Args:
        side: the sensitive columns, where the release has them in a table of their own.
        population: people among whom the original's are; a register that attackers may have.
        others: further releases about the same people.
        control: people like those of the original who are not in the release.
        kinds: names of attacks; None tries all.
        with_before: also attack the original itself.
    """
    after = from_frame(release)
    before = None if original is None else from_frame(original)
    names, notes = _quasi(before, after, policy, quasi)
    targets = _sensitive(before, after, side, policy, sensitive, names)
    wanted = every() if kinds is None else list(kinds)
    given = attacker or _attacker(policy)
    made = partial(build_case, original=before, policy=policy, attacker=given)
    beside = partial(
        made,
        quasi=names,
        sensitive=targets,
        population=None if population is None else from_frame(population),
        facts=tuple(facts),
        control=None if control is None else from_frame(control),
    )
    further = tuple(_further(made, from_frame(other), names, targets) for other in others)
    case = replace(beside(after, side=None if side is None else from_frame(side)), others=further)
    earlier = None
    if before is not None and with_before:
        earlier = tuple(run_attacks(beside(before, is_original=True), wanted))
    if case.is_covering is False and not case.is_grouped and case.row_of is not None:
        notes = (*notes, IN_ORDER)
    return AttackReport(tuple(names), tuple(targets), tuple(run_attacks(case, wanted)), earlier, notes)


def _further(made: Callable[..., Case], frame: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str]) -> Case:
    """Another release, with as many of the columns as it shows."""
    shown = [name for name in quasi if name in frame.columns]
    return made(frame, quasi=shown or frame.columns[:1], sensitive=[n for n in sensitive if n in frame.columns])


def _attacker(policy: Policy | None) -> Attacker:
    """An attacker who knows what the policy asked for."""
    if policy is None:
        return Attacker()
    k = Goal(tuple(policy.goals)).min_size
    asked = [int(getattr(goal, "l", getattr(goal, "m", 0)) or 0) for goal in policy.goals]
    return Attacker(k=k, m=max([2, *asked]), seed=policy.seed)


def read_facts(frame: pl.DataFrame) -> tuple[Fact, ...]:
    """Facts from a table with the columns sensitive and value, and weight, column, equals and row where they matter."""
    known = ("sensitive", "value", "weight", "column", "equals", "row")
    for name in ("sensitive", "value"):
        if name not in frame.columns:
            raise DataError(f"a table of facts needs a column '{name}'", hint=f"its columns are: {', '.join(known)}")
    rows = frame.select(n for n in known if n in frame.columns).to_dicts()
    return tuple(
        Fact(
            sensitive=str(row["sensitive"]),
            value=None if row["value"] is None else str(row["value"]),
            weight=float(row.get("weight") or 0.0),
            column=_text_of(row.get("column")),
            equals=_text_of(row.get("equals")),
            row=None if row.get("row") is None else int(row["row"]),
        )
        for row in rows
    )


def _text_of(value: Any) -> str | None:
    return None if value is None else str(value)


# Which columns are meant ----------------------------------------------------------------------------------------------


def _quasi(
    before: pl.DataFrame | None, after: pl.DataFrame, policy: Policy | None, given: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    wanted = list(dict.fromkeys(given)) or (policy.columns_with(Role.QUASI) if policy else [])
    for name in wanted:
        _require(name, after.columns, "the release")
        if before is not None:
            _require(name, before.columns, "the original")
    if wanted:
        return wanted, ()
    suggested = [n for n in inspect_frame(after if before is None else before).quasi if n in after.columns]
    if not suggested:
        raise DataError("no quasi-identifier was found in the tables", hint="name them: --quasi age,sex,zip")
    return suggested, (GUESSED.format(", ".join(suggested)),)


def _sensitive(
    before: pl.DataFrame | None, after: pl.DataFrame, side: Any, policy: Policy | None, given: Sequence[str],
    quasi: Sequence[str],
) -> list[str]:  # fmt: skip
    shown = [*after.columns, *(from_frame(side).columns if side is not None else [])]
    wanted = list(dict.fromkeys(given)) or (policy.columns_with(Role.SENSITIVE) if policy else [])
    for name in wanted:
        if name in quasi:
            raise IncompatibleChoice(f"column '{name}' cannot be both quasi-identifier and sensitive")
        if given:
            _require(name, shown, "the release")
        if before is not None:
            _require(name, before.columns, "the original")
    return [name for name in wanted if name in shown]


def _require(name: str, columns: Sequence[str], location: str) -> None:
    if name not in columns:
        hint = did_you_mean(name, columns) or f"it has: {', '.join(list(columns)[:20])}"
        raise DataError(f"there is no column '{name}'", hint=hint, location=location)


# One case -------------------------------------------------------------------------------------------------------------


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
) -> Case:
    """A release as attackers see it: coded, grouped, and held against the original where there is one."""
    is_grouped = not is_original and GROUP in release.columns and (original is None or GROUP not in original.columns)
    shown = [n for n in sensitive if n in release.columns]
    basis = original if original is not None else release
    plan = _plan(basis, quasi, [n for n in sensitive if n in basis.columns], policy)
    recount = LocalEngine().class_stats(
        table_of(release), quasi, [SensitiveColumn(n) for n in shown], stars_are_suppressed=not is_original
    )
    kept = None if recount.is_suppressed is None else np.flatnonzero(~recount.is_suppressed)
    rows = release if kept is None else release[kept]
    columns = tuple(_columns(plan, recount, original, population))
    attributes = [_attribute(name, plan, rows, original, side) for name in sensitive]
    assert recount.classes is not None
    classes = recount.classes.astype(np.int64)
    row_of = np.arange(len(rows)) if is_original else _row_of(columns, attributes, len(rows), original, is_grouped)
    groups, group_stats = _groups(classes, recount, attributes, rows, side, is_grouped=is_grouped)
    return Case(
        quasi=columns,
        sensitive=tuple(a.column for a in attributes),
        classes=classes,
        stats=ClassStats(recount.stats.size),
        groups=groups,
        group_stats=group_stats,
        n_originals=None if original is None else original.height,
        row_of=row_of,
        row_numbers=None if kept is None else kept.astype(np.int64),
        is_grouped=is_grouped,
        is_covering=None if row_of is None else _covers(columns, row_of),
        n_population=None if population is None else population.height,
        facts=tuple(facts),
        attacker=attacker or Attacker(),
        frame=rows,
        original=original,
        control=control,
        dictionary=population,
    )


def _plan(basis: pl.DataFrame, quasi: Sequence[str], sensitive: Sequence[str], policy: Policy | None) -> Plan:
    """The hierarchies of the policy for these columns, and nothing else that could fail."""
    known: Mapping[str, ColumnSpec] = policy.columns if policy else {}

    def spec(name: str, role: Role) -> ColumnSpec:
        return known[name] if name in known and known[name].role is role else ColumnSpec(role=role)

    columns = {n: spec(n, Role.QUASI) for n in quasi} | {n: spec(n, Role.SENSITIVE) for n in sensitive}
    plain = Policy(columns=columns, goals=(KAnonymity(k=2),))
    if policy is not None:
        changes = {"columns": columns, "others": "drop", "goals": plain.goals, "algorithm": plain.algorithm}
        plain = policy.model_copy(update=changes)
    return make_plan(plain, basis.columns, is_reported=True)


def _columns(
    plan: Plan, recount: Recount, original: pl.DataFrame | None, population: pl.DataFrame | None
) -> Iterable[Quasi]:
    known = original if original is not None else population
    ways: Mapping[str, QuasiColumn] = {}
    if known is not None:
        ways = {way.name: way for way in plan.quasi_columns(table_of(known))}
    for name, labels in recount.cells.items():
        published = labels.index.astype(np.int64)
        texts = tuple(labels.values.cast(pl.String).to_list())
        if known is None:
            yield Quasi(name, published, texts)
            continue
        parts = [frame[name] for frame in (original, population) if frame is not None and name in frame.columns]
        if population is not None and name not in population.columns:
            raise DataError(f"there is no column '{name}'", location="the population")
        both = _stacked(parts)
        domain, codes = fit_domain(both, column_type(name, both.dtype), make_hierarchy=ways[name].make_hierarchy)
        coded = codes.astype(np.int64)
        n = original.height if original is not None else 0
        yield Quasi(
            name, published, texts, domain, _coverage(labels, domain),
            coded[:n] if original is not None else None, coded[n:] if population is not None else None,
        )  # fmt: skip


def _stacked(parts: Sequence[pl.Series]) -> pl.Series:
    """Columns of the same name, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if all(p.dtype.is_numeric() for p in parts) or len({p.dtype for p in parts} - {pl.Categorical}) == 1 == len(
        {p.dtype for p in parts}
    ):
        wide = pl.Float64 if any(p.dtype.is_float() for p in parts) else parts[0].dtype
        return pl.concat([p.cast(wide) for p in parts])
    return pl.concat([p.cast(pl.String) for p in parts]).cast(pl.Categorical)


def _coverage(labels: Distinct, domain: Domain) -> Coverage:
    """What labels cover; values of a column without order or hierarchy are looked up before they are parsed."""
    if domain.kind is not DomainKind.SET:
        return coverage_of(labels.values, domain)
    offset = int(domain.has_missing)
    known = {text: code + offset for code, text in enumerate(domain.values.cast(pl.String).to_list())}
    texts = labels.values.cast(pl.String).to_list()
    codes = np.array([known.get(text, -1) for text in texts], np.int64)
    others = np.flatnonzero(codes < 0)
    read = coverage_of(labels.values.gather(others), domain)
    lo, hi = codes.copy(), codes.copy()
    lo[others], hi[others] = read.lo, read.hi
    return Coverage(lo, hi, {int(others[i]): members for i, members in read.sets.items()})


@dataclass(frozen=True, slots=True, eq=False)
class _Attribute:
    """A sensitive column and, where it stands in a table of its own, its codes there."""

    column: Sensitive
    beside: IntArray | None = None


def _attribute(
    name: str, plan: Plan, rows: pl.DataFrame, original: pl.DataFrame | None, side: pl.DataFrame | None
) -> _Attribute:
    holders = [f for f in (original, rows, side) if f is not None and name in f.columns]
    both = _stacked([f[name] for f in holders])
    basis = original if original is not None else rows
    way = next((s for s in plan.sensitive_columns(table_of(basis)) if s.name == name), None)
    domain, codes = _fit(both, way)
    parts: dict[int, IntArray] = {}
    begin = 0
    for frame in holders:
        parts[id(frame)] = codes[begin : begin + frame.height].astype(np.int64)
        begin += frame.height
    found = Sensitive(name, domain, parts.get(id(rows)), None if original is None else parts.get(id(original)))
    return _Attribute(found, None if side is None else parts.get(id(side)))


def _fit(series: pl.Series, way: SensitiveColumn | None) -> tuple[SensitiveDomain, NDArray[np.unsignedinteger[Any]]]:
    kind = column_type(series.name, series.dtype)
    if way is not None and way.make_hierarchy is not None:
        try:
            return fit_sensitive(series, kind, make_hierarchy=way.make_hierarchy)
        except DataError:  # a release may publish nodes of the hierarchy, or values that it does not know
            pass
    return fit_sensitive(series, kind)


def _groups(
    classes: IntArray,
    recount: Recount,
    attributes: Sequence[_Attribute],
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


# Which original each row is -------------------------------------------------------------------------------------------


def _row_of(
    columns: Sequence[Quasi], attributes: Sequence[_Attribute], n_rows: int, original: pl.DataFrame | None,
    is_grouped: bool,
) -> IntArray | None:  # fmt: skip
    """The original of every row where rows keep their order, all or some of them; None where that is not so."""
    if original is None or n_rows > original.height:
        return None
    exact = [] if is_grouped else [a.column for a in attributes if a.column.codes is not None]
    found = _subsequence(columns, exact, n_rows, original.height)
    if found is None and exact:  # sensitive values may have been changed
        found = _subsequence(columns, [], n_rows, original.height)
    if found is None and n_rows == original.height and _are_single_values(columns):
        return np.arange(n_rows)  # perturbed cells: nothing but the order says which is which
    return found


def _subsequence(
    columns: Sequence[Quasi], exact: Sequence[Sensitive], n_rows: int, n_originals: int
) -> IntArray | None:
    """Originals that the rows cover in the same order, by taking the first that fits; None where there are none."""
    row, original = 0, 0
    found = np.zeros(n_rows, np.int64)
    while row < n_rows:
        n = min(BLOCK, n_rows - row, n_originals - original)
        if n <= 0:
            return None
        fits = _fits(columns, exact, slice(row, row + n), slice(original, original + n))
        length = n if fits.all() else int(np.argmin(fits))
        found[row : row + length] = np.arange(original, original + length)
        row, original = row + length, original + length
        if length < n:
            original += 1  # this original was left out
            if n_originals - original < n_rows - row:
                return None
    return found


def _fits(columns: Sequence[Quasi], exact: Sequence[Sensitive], rows: slice, originals: slice) -> NDArray[np.bool_]:
    ok = np.ones(rows.stop - rows.start, bool)
    for column in columns:
        assert column.codes is not None
        ok &= _covered(column, column.labels[rows], column.codes[originals])
    for attribute in exact:
        if attribute.codes is not None and attribute.originals is not None:
            ok &= attribute.codes[rows] == attribute.originals[originals]
    return ok


def _covered(column: Quasi, labels: IntArray, codes: IntArray) -> NDArray[np.bool_]:
    coverage = column.coverage
    assert coverage is not None
    ok = (codes >= coverage.lo[labels]) & (codes <= coverage.hi[labels])
    if coverage.sets:
        listed = np.isin(labels, list(coverage.sets))
        for at in np.flatnonzero(ok & listed).tolist():
            ok[at] = int(codes[at]) in coverage.sets[int(labels[at])]
    return np.asarray(ok)


def _are_single_values(columns: Sequence[Quasi]) -> bool:
    """Whether no cell stands for several values, as in perturbed or averaged data."""
    return all(c.coverage is not None and bool((c.coverage.sizes() <= 1).all()) for c in columns)


def _covers(columns: Sequence[Quasi], row_of: IntArray) -> bool:
    return all(c.codes is not None and bool(_covered(c, c.labels, c.codes[row_of]).all()) for c in columns)
