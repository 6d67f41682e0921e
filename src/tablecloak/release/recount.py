"""Verification: recount a finished table from its own cells, and hold every cell against its original."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tablecloak.algorithms.base import Publishes
from tablecloak.arrays import BoolArray, IntArray
from tablecloak.attacks.base import run_attacks
from tablecloak.data.coverage import Coverage, coverage_of
from tablecloak.data.domain import Codes, Domain
from tablecloak.data.row_origins import PAIRS_UP_TO, classes_in_order, consistency_of
from tablecloak.data.table import ColumnType
from tablecloak.engines.base import Coding, Engine, OnDemand, Recount, Table, looked_at
from tablecloak.engines.choose import Choice
from tablecloak.errors import GoalNotMet
from tablecloak.findings import strong_attack
from tablecloak.findings.base import Finding, RareBounds, Recounted, Status, status_of
from tablecloak.looks import ShowsItself
from tablecloak.models.base import Goal, Verdict
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, silent
from tablecloak.release.facts.attacked import WITH_REGISTER, Background, attacks_on
from tablecloak.release.facts.collect import Before, Facts, collect
from tablecloak.release.handover import NO_EVIDENCE, Handover
from tablecloak.release.plan import Plan
from tablecloak.release.population import case_with_people, with_people
from tablecloak.stats.classes import ClassStats, Counted, Evidence, Histogram, SensitiveDomain, histogram_of
from tablecloak.stats.consistency import Consistency
from tablecloak.stats.joint import combine
from tablecloak.stats.persons import HOLDING_NAME, in_table, is_by_person
from tablecloak.values.bounds import is_public

# What is counted but never published, such as persons, and the code of every original.
Unpublished = tuple[SensitiveDomain, IntArray]
# How many rows a failure names.
ROWS_NAMED = 10
# Columns in which a value is somebody's own; a whole number with few values is a category.
CONTINUOUS = (ColumnType.FLOAT, ColumnType.DATE, ColumnType.DATETIME)
MOST_WHOLE_NUMBERS = 100
CENTERS_NOTE = "cells are centers of their class, such as means: they cover no original, classes were recounted"


@dataclass(frozen=True, slots=True)
class Failure:
    """Something in a release that must not be there or is not as it must be: where it stands, never what it says."""

    what: str
    column: str | None = None
    count: int = 0  # how many rows it concerns; 0: the column as such
    rows: tuple[int, ...] = ()  # the first of them, counted from 1 without the header
    class_number: int | None = None  # of the first such class, counted from 1 in the order of rows
    model: str | None = None  # of the goal that fails there

    def to_dict(self) -> dict[str, Any]:
        """The keys of an entry of `failures` in `tablecloak verify --json`."""
        return {
            "what": self.what,
            "column": self.column,
            "count": self.count,
            "rows": list(self.rows),
            "class": self.class_number,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Verification(ShowsItself):
    """What the recount of a release says."""

    verdicts: list[Verdict]
    n_classes: int
    n_rows: int
    n_suppressed: int
    covers: bool | None  # None: there was no original to hold it against, or rows could not be told apart
    notes: tuple[str, ...] = ()
    is_grouped: bool = False  # exact values in groups: columns, not cells, are held against their originals
    itemsets: Mapping[str, Any] | None = None  # of sets of items: what was counted of them
    failures: tuple[Failure, ...] = ()  # where it fails
    unchecked: tuple[str, ...] = ()  # what was asked and could not be looked at, with the reason; it is not a yes
    evidence: Recounted = NO_EVIDENCE  # what the recount knows that findings look at
    handover: Handover | None = None  # what the whole published table says; None: nobody looked
    choice: Choice | None = None  # the engine that recounted a finished release

    @property
    def fails(self) -> bool:
        """Something is not as it must be."""
        return self.covers is False or bool(self.failures) or not all(v.holds or v.unchecked for v in self.verdicts)

    @property
    def holds(self) -> bool:
        """Everything that was asked was looked at, and is as it must be."""
        return not self.fails and not self.unchecked and not any(v.unchecked for v in self.verdicts)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What besides the goals singles people out."""
        return self.handover.findings if self.handover else ()

    @property
    def status(self) -> Status:
        """Whether the release can be handed over."""
        if self.fails:
            return Status.FAILS
        if not self.holds or self.handover is None:
            return Status.UNCHECKED
        return status_of(self.findings)

    def with_handover(self, handover: Handover) -> Verification:
        """The same with what was found in the whole published table."""
        return replace(self, handover=handover, notes=(*self.notes, *handover.notes))

    def to_dict(self) -> dict[str, Any]:
        """The keys of `tablecloak verify --json`."""
        return {
            "status": str(self.status),
            "holds": self.holds,
            "findings": [finding.to_dict() for finding in self.findings],
            **({"risk": self.handover.risk()} if self.handover else {}),
            "classes": self.n_classes,
            "rows": self.n_rows,
            "suppressed": self.n_suppressed,
            "verdicts": [v.to_dict() for v in self.verdicts],
            "covers": self.covers,
            **({"grouped": True} if self.is_grouped else {}),
            **({"itemsets": dict(self.itemsets)} if self.itemsets is not None else {}),
            **({"failures": [f.to_dict() for f in self.failures]} if self.failures else {}),
            **({"unchecked": list(self.unchecked)} if self.unchecked else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
            **(self.choice.to_dict() if self.choice else {}),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Originals:
    """The coded originals of a release.

    `row_of` says which original each published row (suppressed ones included) comes from; None: the same row, or the
    engine keeps rows to itself.
    """

    coding: Coding
    row_of: IntArray | None = None
    # persons who may have several originals, and what people guard, where rows are here
    unpublished: tuple[Unpublished, ...] = ()

    @property
    def domains(self) -> dict[str, Domain]:
        return {d.name: d for d in self.coding.domains}

    def of_records(self, recount: Recount) -> Callable[[str], Codes] | None:
        """From a quasi-identifier to the code of the original of every published record; None: they are not as many."""
        rows, codes = self.row_of, self.coding.codes
        if rows is not None and recount.is_suppressed is not None:
            rows = rows[~recount.is_suppressed]
        if recount.n_rows != (self.n_rows if rows is None else len(rows)):
            return None
        return lambda name: codes[name] if rows is None else codes[name][rows]

    def published(self, of_tuple: IntArray, recount: Recount) -> IntArray | None:
        """Codes of tuples, by the published record whose original they belong to; None: they are not as many."""
        tuples = self.coding.table.tuple_of_row
        of_row = of_tuple if tuples is None else of_tuple[tuples]
        of_row = of_row if self.row_of is None else of_row[self.row_of]
        if recount.is_suppressed is not None and len(of_row) == len(recount.is_suppressed):
            of_row = of_row[~recount.is_suppressed]
        return of_row if recount.classes is not None and len(of_row) == len(recount.classes) else None

    @property
    def n_rows(self) -> int:
        return self.coding.n_rows


def verify(
    engine: Engine, release: Table, plan: Plan, originals: Originals | None = None, progress: Progress = silent
) -> Verification:
    """Recount a release and, given its originals, check that every cell covers its own."""
    recount = _recount(engine, release, plan, originals, progress)
    return _verification(recount, plan, originals, {} if originals is None else _coverage(recount, originals))


def recount_beside(
    engine: Engine, release: Table, plan: Plan, coding: Coding
) -> tuple[Verification, Recount, Mapping[str, Coverage]]:
    """A recount with what only the original tells of a table, for a release whose rows nobody has matched yet."""
    recount = _recount(engine, release, plan, None, silent)
    originals = Originals(coding)
    coverage = _coverage(recount, originals)
    return _verification(recount, plan, originals, coverage), recount, coverage


def verify_with_facts(
    engine: Engine, release: Table, plan: Plan, originals: Originals, progress: Progress = silent
) -> tuple[Verification, Facts, Sequence[ClassStats]]:
    """The same, and from the same recount what a report shows and the statistics of the classes."""
    recount = _recount(engine, release, plan, originals, progress)
    coverage = _coverage(recount, originals)
    before = Before.of(originals.coding)
    verification = _verification(recount, plan, originals, coverage)
    background = Background(originals.coding, coverage if verification.covers else None, recount.labels)
    facts = collect(recount, coverage, before, models=plan.goal.models, types=release.types, background=background)
    if plan.policy.population is not None and recount.classes is not None:
        register = run_attacks(case_with_people(recount, plan), WITH_REGISTER)
        facts = replace(facts, attacks=(*facts.attacks, *register))
    return verification, facts, recount.parts


def _recount(engine: Engine, release: Table, plan: Plan, originals: Originals | None, progress: Progress) -> Recount:
    recount = engine.class_stats(
        release, plan.quasi, plan.sensitive_columns(release), stars_are_suppressed=plan.stars_are_suppressed,
        originals=originals.coding if originals else None, progress=progress,
    )  # fmt: skip
    recount = with_people(recount, plan)
    if originals is not None and plan.judged_before and recount.classes is not None:
        recount = _as_judged(recount, plan.judged_before, originals)
    return recount if originals is None or not originals.unpublished else _with_unpublished(recount, originals)


def _coverage(recount: Recount, originals: Originals) -> dict[str, Coverage]:
    return {name: coverage_of(labels, originals.domains[name]) for name, labels in recount.labels.items()}


def _verification(
    recount: Recount, plan: Plan, originals: Originals | None, coverage: Mapping[str, Coverage]
) -> Verification:
    covers: bool | None = None
    notes: tuple[str, ...] = ()
    if plan.algorithm.publishes is Publishes.CENTERS:
        notes = (CENTERS_NOTE,)
    elif not recount.cells:
        covers = recount.covers
    elif originals is not None:
        covers = covers_originals(recount, originals, coverage)
    judged = recount if originals is None else _beside_originals(recount, originals.coding)
    looks = looked_at(judged.parts, _PartLook(plan.goal))
    verdicts, remarks = _judged(plan.goal, judged, looks, originals if covers else None, coverage)
    n_left_out = max(0, originals.n_rows - recount.n_rows) if originals else recount.n_suppressed
    return Verification(
        verdicts=verdicts,
        n_classes=sum(look.n_classes for look in looks),
        n_rows=recount.n_rows,
        n_suppressed=n_left_out,
        covers=covers,
        notes=(*notes, *remarks),
        evidence=evidence_of(recount, plan.goal, originals.coding if originals else None),
        failures=tuple(_failing_classes(plan.goal, judged, verdicts)),
    )


def _failing_classes(goal: Goal, recount: Recount, verdicts: Sequence[Verdict]) -> Iterator[Failure]:
    """Where each goal that does not hold fails, if rows are here and the goal asks something of single classes."""
    if recount.classes is None:
        return
    for model, verdict in zip(goal.models, verdicts, strict=True):
        if verdict.holds or verdict.unchecked:
            continue
        fails = np.broadcast_to(model.margin(recount.stats) < 0, recount.n_classes)
        rows = np.flatnonzero(fails[recount.classes])
        if fails.all() or not len(rows):
            continue
        first = classes_in_order(recount.classes)[rows[0]]
        if recount.is_suppressed is not None:
            rows = np.flatnonzero(~recount.is_suppressed)[rows]
        what = f"{model.name} does not hold in {int(fails.sum()):,} of {len(fails):,} classes"
        yield Failure(what, None, len(rows), tuple((rows[:ROWS_NAMED] + 1).tolist()), int(first), model.name)


def evidence_of(recount: Recount, goal: Goal, originals: Coding | None = None) -> Recounted:
    """What a recount knows that findings look at."""
    background = Background(originals) if originals else None
    counted = recount.nothing
    has_values = bool(counted.hist_of(Counted.SENSITIVE))
    return Recounted(
        values=dict(counted.hist),
        attacks=attacks_on(recount, background, names=strong_attack.TRIED) if has_values else (),
        rare_bounds=_rare_bounds(recount, goal, originals) if originals else {},
    )


def _rare_bounds(recount: Recount, goal: Goal, originals: Coding) -> dict[str, RareBounds]:
    """Continuous quasi-identifiers whose published intervals end at values of fewer than k originals."""
    judged = [(i, d) for i, d in enumerate(originals.domains) if d.name in recount.labels and _is_continuous(d)]
    if goal.min_size < 2 or not judged:
        return {}
    n_originals = originals.originals()
    rare_bounds = {}
    for i, domain in judged:
        n_holding = n_originals[i][int(domain.has_missing) :]
        is_rare = (n_holding > 0) & (n_holding < goal.min_size)
        ends = _ends(recount.labels[domain.name], domain.values.dtype)
        rare = domain.values.filter(pl.Series(is_rare))
        tells = {end: _tells(ends[end], rare, domain.type, is_last=end == "hi") for end in ends.columns}
        is_told = np.logical_or.reduce(list(tells.values()))
        n_bounds = pl.concat([ends[end].filter(pl.Series(tells[end])) for end in ends.columns]).n_unique()
        if n_bounds:
            n_records = sum(looked_at(recount.parts, _RecordsShowing(domain.name, is_told)))
            rare_bounds[domain.name] = RareBounds(int(n_bounds), n_records, goal.min_size, _even_hierarchy(domain))
    return rare_bounds


@dataclass(frozen=True, slots=True, eq=False)
class _RecordsShowing:
    """How many records of a part show one of some labels in a column."""

    column: str
    is_meant: BoolArray  # (n_labels,)

    def __call__(self, part: ClassStats, number: int) -> int:  # noqa: ARG002
        return int(part.size[self.is_meant[(part.labels or {})[self.column]]].sum())


def _is_continuous(domain: Domain) -> bool:
    is_many = domain.type is ColumnType.INTEGER and domain.n_codes > MOST_WHOLE_NUMBERS
    return domain.hierarchy is None and (is_many or domain.type in CONTINUOUS)


def _tells(ends: pl.Series, rare: pl.Series, column: ColumnType, *, is_last: bool) -> BoolArray:
    """Whether an end of each interval is a value of few people, and not a place that follows from no data."""
    places = ends.to_physical().fill_null(0).to_numpy()
    begins = places + 1 if is_last and column in (ColumnType.DATE, ColumnType.INTEGER) else places
    is_rare: BoolArray = ends.is_in(rare.implode()).fill_null(value=False).to_numpy()
    return is_rare & ~is_public(begins, column.value)


def _ends(labels: pl.Series, dtype: pl.DataType) -> pl.DataFrame:
    """Both ends of every label as values of the column, (n_labels, 2); empty where it is no interval."""
    parts = (
        labels.cast(pl.String).str.extract_groups(r"^[\[\(\]](?<lo>[^,;]+)[,;](?<hi>[^,;]+)[\]\)\[]$").struct.unnest()
    )
    texts = parts.select(pl.all().str.strip_chars())
    return texts.select(_read(pl.col(name), dtype) for name in ("lo", "hi"))


def _read(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    if dtype == pl.Date:
        return text.str.to_date("%Y-%m-%d", strict=False)
    if isinstance(dtype, pl.Datetime):
        return text.str.to_datetime(time_unit=dtype.time_unit, time_zone=dtype.time_zone, strict=False)
    return text.cast(dtype, strict=False)


def _even_hierarchy(domain: Domain) -> dict[str, Any]:
    """A hierarchy whose bounds do not depend on who is in the table: calendar periods, or about 20 even intervals."""
    if domain.type in (ColumnType.DATE, ColumnType.DATETIME):
        return {"kind": "dates", "levels": ["month", "year", "decade"]}
    lowest, highest = float(domain.values.min()), float(domain.values.max())  # type: ignore[arg-type]
    fortieth = max(highest / 40 - lowest / 40, 1e-9)  # the range itself may be no float
    power = 10.0 ** math.floor(math.log10(fortieth))
    width = next(w for w in (power, 2 * power, 5 * power, 10 * power) if w >= fortieth)
    return {"kind": "intervals", "width": int(width) if 1 <= width < 2**53 else width}


@dataclass(frozen=True, slots=True)
class _PartVerdicts:
    """What the classes of one part say to a goal."""

    n_classes: int
    verdicts: list[Verdict | None]  # None: the model must see all classes
    lacks: list[Evidence]  # by model
    by_person: bool


@dataclass(frozen=True, slots=True)
class _PartLook:
    """Judges the classes of one part where they lie, so that only verdicts come back."""

    goal: Goal

    def __call__(self, part: ClassStats, number: int) -> _PartVerdicts:  # noqa: ARG002
        lacks = [model.lacks(part) for model in self.goal.models]
        return _PartVerdicts(part.n_classes, self.goal.verdicts_on(part), lacks, is_by_person(part))


def _judged(
    goal: Goal,
    recount: Recount,
    looks: Sequence[_PartVerdicts],
    originals: Originals | None,
    coverage: Mapping[str, Coverage],
) -> tuple[list[Verdict], list[str]]:
    """One verdict per model; class sizes only bound what pairs of original and release reach, so those are asked."""
    verdicts = goal.verdicts_from([look.verdicts for look in looks], recount.parts)
    by_person = any(look.by_person for look in looks)
    of_pairs = [i for i, m in enumerate(goal.models) if Evidence.PAIRS in m.evidence and not verdicts[i].holds]
    pairs = _pairs(recount, originals, coverage) if of_pairs and originals and not by_person else None
    for i in of_pairs:
        stats = recount.nothing if pairs is None else replace(recount.stats, pairs=pairs)
        if goal.models[i].lacks(stats):
            why = "the table is too large" if originals else "that needs the original, and rows that cover it"
            why = "persons have several records, and pairs count rows" if by_person else why
            verdicts[i] = replace(verdicts[i], unchecked=why)
        else:
            (verdicts[i],) = Goal((goal.models[i],)).verdicts(stats)
    for i, model in enumerate(goal.models):
        if model.guard_columns and any(Evidence.GUARDS in look.lacks[i] for look in looks):
            why = f"that needs the original, whose column '{model.guard_columns[0]}' says what people guard"
            verdicts[i] = replace(verdicts[i], holds=False, unchecked=why)
        if any(Evidence.WEIGHTS in look.lacks[i] for look in looks):
            why = "that needs the weights of the records, and they are not there as numbers"
            verdicts[i] = replace(verdicts[i], holds=False, unchecked=why)
    return verdicts, [f"{v.model} could not be checked: {v.unchecked}" for v in verdicts if v.unchecked]


def _pairs(recount: Recount, originals: Originals, coverage: Mapping[str, Coverage]) -> Consistency | None:
    """Which published rows could be which published originals; None for tables that are too large."""
    codes = originals.of_records(recount)
    if not recount.cells or codes is None or recount.n_rows > PAIRS_UP_TO:
        return None
    sides = [(coverage[name], column, codes(name)) for name, column in recount.cells.items()]
    is_in_order = all(c.holds_rows(column, own).all() for c, column, own in sides)
    return consistency_of([(c, column.index, own) for c, column, own in sides], is_in_order=is_in_order)


def _beside_originals(recount: Recount, coding: Coding) -> Recount:
    """The recount with the values of the original and how often each occurs there.

    A model that compares a class with the table means the table as it was: records that are left out belong to it, and
    a hierarchy that is built from values is built from all of them.
    """
    parts = recount.parts
    domains = {d.name: d for d in coding.sensitive if d.kind is Counted.SENSITIVE}
    if not domains or not len(parts):
        return recount
    code_of = {n: hist.domain.codes_in(domains[n]) for n, hist in recount.nothing.hist.items() if n in domains}
    code_of = {name: codes for name, codes in code_of.items() if (codes >= 0).all()}
    holdings = next((d for d in coding.sensitive if d.kind is Counted.HOLDING), None)
    change = _InOriginal(code_of, domains, coding.totals, holdings)
    if isinstance(parts, OnDemand):
        return replace(recount, parts=parts.changed(change))
    is_one = len(parts) == 1
    return replace(recount, parts=(change(parts[0]),) if is_one else OnDemand(len(parts), lambda i: change(parts[i])))


@dataclass(frozen=True, slots=True, eq=False)
class _InOriginal:
    """Changes the values of classes to those of the original."""

    code_of: Mapping[str, IntArray]  # by attribute: the code that every value of the release has there
    domains: Mapping[str, SensitiveDomain]
    totals: Mapping[str, IntArray]
    holdings: SensitiveDomain | None

    def __call__(self, part: ClassStats) -> ClassStats:
        hist, code_of, holdings = dict(part.hist), self.code_of, self.holdings
        for name, codes in code_of.items():
            hist[name] = replace(hist[name].recoded(codes, self.domains[name]), totals=self.totals[name])
        for name, joint in part.hist.items():  # combinations say which values they consist of
            if joint.domain.parts is not None:
                of_parts = {n: code_of[n][of] if n in code_of else of for n, of in joint.domain.parts.items()}
                hist[name] = replace(joint, domain=replace(joint.domain, parts=of_parts))
                if holdings is not None and joint.domain.kind is Counted.HOLDING:
                    hist[name] = in_table(hist[name], holdings, self.totals[holdings.name])
        return replace(part, hist=hist)


def _as_judged(recount: Recount, columns: Collection[str], originals: Originals) -> Recount:
    """The recount with the values as they were of columns that are published as something else."""
    assert recount.classes is not None
    table = originals.coding.table
    hists: dict[str, Histogram] = dict(recount.stats.hist)
    codes: dict[str, Codes] = dict(recount.codes)
    for i, domain in enumerate(table.sensitive):
        if domain.name not in columns and not set(columns) & set(domain.parts or ()):
            continue
        of_row = originals.published(table.sensitive_codes(i), recount)
        if domain.kind in (Counted.SENSITIVE, Counted.JOINT, Counted.WEIGHT) and of_row is not None:
            codes[domain.name] = of_row.astype(np.uint64)
            hists[domain.name] = histogram_of(recount.classes, of_row, None, recount.stats.n_classes, domain)
    return replace(recount, parts=(replace(recount.stats, hist=hists),), codes=codes)


def _with_unpublished(recount: Recount, originals: Originals) -> Recount:
    """The recount with what no release publishes, such as the persons of its classes, where rows can be told apart."""
    assert recount.classes is not None
    hists = dict(recount.stats.hist)
    for domain, codes in originals.unpublished:
        of_row = codes if originals.row_of is None else codes[originals.row_of]
        if recount.is_suppressed is not None and len(of_row) == len(recount.is_suppressed):
            of_row = of_row[~recount.is_suppressed]
        if len(of_row) == len(recount.classes):
            hists[domain.name] = histogram_of(recount.classes, of_row, None, recount.stats.n_classes, domain)
            if domain.kind is Counted.PERSON:
                hists |= _holdings(recount, domain, of_row)
    return replace(recount, parts=(replace(recount.stats, hist=hists),))


def _holdings(recount: Recount, persons: SensitiveDomain, of_row: IntArray) -> dict[str, Histogram]:
    """Which person holds which published values: persons are those of the originals, values those of the release."""
    assert recount.classes is not None
    shown = [(h.domain, recount.codes[name]) for name, h in recount.stats.hist_of(Counted.SENSITIVE).items()]
    if not shown:
        return {}
    domain, codes = combine([(persons, of_row), *shown], HOLDING_NAME, Counted.HOLDING)
    return {HOLDING_NAME: histogram_of(recount.classes, codes, None, recount.stats.n_classes, domain)}


def require(verification: Verification) -> Verification:
    """The verification itself, or GoalNotMet saying which goal failed and by how much."""
    if verification.holds:
        return verification
    failed = next((v for v in verification.verdicts if not v.holds), None)
    if failed is None and verification.covers is not False and verification.failures:
        message = verification.failures[0].what
    elif failed is None:
        grouped = "a column does not hold the values of its original"
        message = grouped if verification.is_grouped else "a published cell does not cover its original"
    elif failed.unchecked:
        message = f"{failed.model} could not be checked: {failed.unchecked}"
    else:
        plain = failed.to_dict()
        message = (
            f"{failed.model} reaches {plain['achieved']} where {plain['required']} is required "
            f"(worst class: {failed.worst_class_size:,} records)"
        )
    raise GoalNotMet(message, result=verification.to_dict(), hint="nothing was written")


def covers_originals(recount: Recount, originals: Originals, coverage: Mapping[str, Coverage]) -> bool:
    """Whether every published cell covers the cell of its original."""
    codes = originals.of_records(recount)
    if codes is None:
        return False
    return all(coverage[name].holds_rows(column, codes(name)).all() for name, column in recount.cells.items())


def require_ready(verification: Verification, policy: Policy) -> Verification:
    """The verification itself or, where the policy is strict, GoalNotMet for findings that it does not accept."""
    open_ = [finding for finding in verification.findings if finding.accepted is None]
    if not policy.strict or not open_:
        return verification
    first = open_[0]
    more = f" (and {len(open_) - 1} more)" if len(open_) > 1 else ""
    raise GoalNotMet(
        f"the release has findings, and strict allows none: {first.what}{more}",
        result=verification.to_dict(),
        hint=f"{first.fix.text}; or accept it with a reason; nothing was written",
    )
