"""Whether a release is ready to hand over: the whole published table is counted, and looked at for findings.

The recount of `release/recount.py` asks the goals about quasi-identifiers and the sensitive columns they name. Here
every published column counts, for two attackers: one who knows the quasi-identifiers of a person, and one who knows
everything that is published about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from tablecloak.attacks.risk_by_columns import Risk
from tablecloak.data.table import ColumnType, Order
from tablecloak.engines.base import PERSON, Engine, Table
from tablecloak.engines.equal_rows import Alike
from tablecloak.engines.local.engine import LocalTable
from tablecloak.findings.base import Finding, Recounted, Shown, find_all, protected_columns, unmatched_acceptances
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import is_public, public_keys
from tablecloak.release.facts.collect import Exposure
from tablecloak.release.facts.public import step_of
from tablecloak.release.plan import Plan, make_plan
from tablecloak.release.transform import as_it_was, published, with_copy
from tablecloak.transforms.base import Family, is_pseudonym

# Detectors, and the search for keys that repeat, look at so many rows.
MOST_ROWS = 50_000
NO_EVIDENCE = Recounted()


@dataclass(frozen=True, slots=True)
class Attackers:
    """The risk of one table for two attackers."""

    quasi: Risk | None  # one who knows the quasi-identifiers of a person; None where there are none
    published: Risk  # one who knows everything that is published about a person
    exposure: Exposure | None = None  # of records by quasi-identifiers, where these are coded as transforms made them

    def to_dict(self) -> dict[str, Any]:
        return {"quasi": self.quasi.to_dict() if self.quasi else None, "published": self.published.to_dict()}


@dataclass(frozen=True, slots=True)
class Handover:
    """What looking at a whole published table found."""

    findings: tuple[Finding, ...]
    after: Attackers
    before: Attackers | None = None  # the same people in the original, where it is at hand
    notes: tuple[str, ...] = ()

    def risk(self) -> dict[str, Any]:
        """Risk for both attackers, before and after."""
        sides = {"before": self.before, "after": self.after}
        plain = {side: attackers.to_dict() if attackers else None for side, attackers in sides.items()}
        return {
            who: {side: risks[who] if risks else None for side, risks in plain.items()}
            for who in ("quasi", "published")
        }


def appraise(
    engine: Engine,
    release: Table,
    plan: Plan,
    *,
    before: Attackers | None = None,
    evidence: Recounted = NO_EVIDENCE,
    apart: Sequence[str] = (),
    whose: Table | None = None,
) -> Handover:
    """Count and look at a release, all of it.

    Args:
        whose: the same release with whose every record is, where somebody has several: persons are counted then.
        before: what attackers could do with the original.
        evidence: what the recount knows.
        apart: published columns whose cells are not linked to the rows of `release`.
    """
    shown = look_at(engine, release, _shown(plan, release, apart), stars=_stars(plan, release), whose=whose)
    # what findings will ask for, too, so that rows are read once
    quasi = shown.quasi
    everything = (*plan.itemised, *quasi, *shown.linked, *(name for name in shown.protected if name not in apart))
    on_all, *others = shown.count([everything, *([quasi, (*quasi, *shown.linked)] if quasi else [])])
    attacks = (*evidence.attacks, *plan.attacked)
    shown = replace(shown, n_records=on_all.n_records, evidence=replace(evidence, attacks=attacks))
    findings = find_all(shown)
    return Handover(
        findings,
        Attackers(risk_of(others[0]) if quasi else None, risk_of(on_all)),
        before,
        tuple(unmatched_acceptances(findings, plan.policy)),
    )


def appraise_finished(engine: Engine, release: Table, policy: Policy, evidence: Recounted = NO_EVIDENCE) -> Handover:
    """The same for a finished table, whoever made it; of a release in groups, its main one."""
    there = {name: spec for name, spec in policy.columns.items() if name in release.types}
    accepted = tuple(a for a in policy.accepted if a.column is None or a.column in release.types)
    plan = make_plan(policy.model_copy(update={"columns": there, "accepted": accepted}), list(release.types))
    apart = plan.sensitive if plan.algorithm.publishes.is_bucketing else ()
    whose = None
    if evidence.persons is not None and isinstance(release, LocalTable):
        named = release.frame.with_columns(pl.Series(PERSON, evidence.persons))
        whose = replace(release, frame=named, types={**release.types, PERSON: ColumnType.INTEGER})
    return appraise(engine, release, plan, apart=apart, evidence=evidence, whose=whose)


def findings_before(engine: Engine, table: Table, plan: Plan) -> tuple[Finding, ...]:
    """The findings that a release of a table would have whatever its classes are; nothing is written or changed."""
    names = [name for name in plan.publication.columns if name in table.types or name in plan.changed]
    as_shown = published(engine, table, names, plan)
    shown = replace(_shown(plan, as_shown, ()), is_released=False, n_records=table.n_rows)
    shown = replace(shown, evidence=Recounted(attacks=plan.attacked))
    whose = None
    if plan.person is not None and plan.person in table.types:
        whose = published(engine, with_copy(engine, table, plan.person, PERSON), [*names, PERSON], plan)
    return find_all(look_at(engine, as_shown, shown, whose=whose))


def look_at(
    engine: Engine,
    table: Table,
    shown: Shown,
    *,
    stars: Sequence[str] = (),
    whose: Table | None = None,
    person: str | None = PERSON,
) -> Shown:
    """What is published, with the counts and rows of a table; each set of columns is counted once.

    Args:
        whose: the same table with the column `person`, where persons are counted.
    """
    counted: dict[frozenset[str], Alike] = {}
    source, by = (table, None) if whose is None else (whose, person)

    def count(sets: Sequence[tuple[str, ...]]) -> list[Alike]:
        new_sets = {frozenset(chosen): tuple(chosen) for chosen in sets if frozenset(chosen) not in counted}
        if new_sets:
            counted.update(
                zip(new_sets, engine.alike(source, list(new_sets.values()), stars=stars, person=by), strict=True)
            )
        return [counted[frozenset(chosen)] for chosen in sets]

    def sample(columns: Sequence[str], together: str | None) -> pl.DataFrame:
        there = [name for name in columns if name in table.types]
        return engine.some_rows(table, there, most=MOST_ROWS, together=together)

    return replace(shown, count=count, sample=sample)


def risk_of(alike: Alike) -> Risk:
    """Groups of equal records as the risk of whoever knows what they are equal in."""
    if not alike.n_records:
        return Risk(0, 0, 0.0, 0.0, counted=alike.counted)
    average = alike.n_groups / (alike.n_appearances or alike.n_records)
    return Risk(alike.n_counted, alike.n_alone, 1 / alike.smallest, average, alike.n_groups, alike.counted)


def _shown(plan: Plan, table: Table, apart: Sequence[str]) -> Shown:
    publication = plan.publication
    columns = [
        name for name in publication.columns
        if name not in (*publication.starred, *plan.itemised) and (name in table.types or name in apart)
    ]  # fmt: skip
    protected = protected_columns(plan.goal, plan.sensitive)
    # nobody knows the pseudonym of a person, so it singles out no one by itself
    pseudonyms = {n: chain[-1].name for n, chain in plan.changed.items() if n in columns and is_pseudonym(chain)}
    columns = [name for name in columns if name not in pseudonyms]
    quasi = tuple(name for name in plan.quasi if name in table.types)
    return Shown(
        plan.policy,
        plan.goal,
        table.n_rows,
        is_released=True,
        quasi=quasi,
        outside=tuple(name for name in columns if name not in quasi and name not in protected),
        protected=tuple(name for name in protected if name not in pseudonyms),
        pseudonyms=pseudonyms,
        covered=tuple(n for n, chain in plan.changed.items() if chain[-1].family is Family.COVER),
        apart=tuple(apart),
        has_exact_groups=plan.algorithm.publishes.is_bucketing,
        keeps_order=publication.order is Order.KEEP,
        has_public_secret=is_public(plan.policy) or bool(public_keys(plan.policy)),
        step_of=step_of,
    )


def _stars(plan: Plan, release: Table) -> tuple[str, ...]:
    """Columns that are hidden in suppressed records, where these are published as rows of *."""
    if not plan.stars_are_suppressed:
        return ()
    return tuple(name for name in plan.publication.columns if name in release.types)


def risk_before(engine: Engine, original: Table, plan: Plan) -> Attackers:
    """What both attackers could do with the columns that a plan publishes, as they were."""
    publication = plan.publication
    person = plan.person if plan.person in original.types else None
    unknown = (*publication.starred, *plan.quasi, person)
    others = [as_it_was(original, n) for n in publication.columns if n not in unknown and n in original.types]
    quasi = [as_it_was(original, n) for n in plan.quasi]
    on_all, *on_quasi = engine.alike(original, [[*quasi, *others], *([quasi] if quasi else [])], person=person)
    exposed = exposure_before(engine, original, plan, on_quasi[0] if on_quasi and person is None else None)
    return Attackers(risk_of(on_quasi[0]) if on_quasi else None, risk_of(on_all), exposed)


def exposure_before(engine: Engine, original: Table, plan: Plan, alike: Alike | None = None) -> Exposure | None:
    """How exposed records are by quasi-identifiers as they were; None where these are coded like that.

    Args:
        alike: the same, where it was counted already.
    """
    quasi = [as_it_was(original, name) for name in plan.quasi]
    if quasi == plan.quasi:
        return None
    alike = alike or engine.alike(original, [quasi])[0]
    n = max(1, alike.n_records)
    return Exposure(alike.n_records, alike.n_alone, 1 / max(1, alike.smallest), alike.n_groups / n)
