"""Rows in classes: cells are generalised, so that the records of a class look alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tablecloak.algorithms import among_people
from tablecloak.algorithms.base import Problem, Publishes
from tablecloak.algorithms.feasibility import TRY_LOSS_UP_TO, require_feasible
from tablecloak.algorithms.topdown._sampled_cuts import SampledLoss, sampled_loss, united
from tablecloak.arrays import IntArray
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.data.table import ColumnType, Order, Role
from tablecloak.engines.base import Coding, Engine, Table
from tablecloak.engines.choose import Demand
from tablecloak.engines.local.engine import LocalEngine
from tablecloak.engines.spelling import Spelling, spelling_of
from tablecloak.io.places import Place
from tablecloak.io.sources import Source
from tablecloak.kernels.compiling import missing
from tablecloak.kernels.dispatch import compiled_from
from tablecloak.metrics.base import Measurement, ReleaseCounts, measure
from tablecloak.models.base import Goal, parameters
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed, silent
from tablecloak.release.documents import Documents, settings_of
from tablecloak.release.facts.collect import Before, Exposure, Facts, exposure
from tablecloak.release.facts.subject import Method, Subject
from tablecloak.release.outcome import WEIGHED, Weights, counts_of, loss_of, summed, weights_in
from tablecloak.release.plan import Plan, detailed_algorithm, make_plan, source_of, texts_made
from tablecloak.release.population import asks_for_everybody, refuse_odd_weights, register_of, with_population
from tablecloak.release.prepare import Prepared
from tablecloak.release.recoding.classes import Recoding
from tablecloak.release.recount import Originals, Verification, verify, verify_with_facts
from tablecloak.release.search import Solved, compile_for, search_classes
from tablecloak.release.shapes.base import Explored, RecountResult, Release
from tablecloak.rng import Secret
from tablecloak.stats.classes import Counted

# So many different rows are searched in seconds.
INSTANT_TUPLES = 6_000
SAMPLED_SHARDS = 4


class Classes:
    """Rows in classes."""

    name = "classes"
    engines: Sequence[str] | None = None
    risks: Sequence[str] | None = None
    metrics: Sequence[str] | None = None
    refused: Mapping[str, tuple[str, str]] = {}
    measured_by: str | None = None

    def speaks_of(self, policy: Policy) -> bool:
        return True

    def frame_of(self, data: Any, policy: Policy) -> Any:
        return data

    def algorithm_name(self, policy: Policy) -> str:
        return str(policy.algorithm.name)

    def plan(
        self, policy: Policy, columns: Sequence[str], *, delimiter: str | None,
        location: str | None, is_reported: bool | None, secret: Secret,
    ) -> Plan:  # fmt: skip
        return make_plan(policy, columns, location=location, is_reported=is_reported, secret=secret)

    def reading(self, source: Source, policy: Policy) -> Source:
        return source

    def refuse(self, plan: Plan) -> None:
        pass

    def code(self, engine: Engine, table: Table, plan: Plan, progress: Progress) -> Coding:
        return code(engine, table, plan, progress)

    def require_feasible(self, prepared: Prepared[Any], *, tries_relaxations: bool) -> None:
        is_tried = tries_relaxations and self.is_quick(prepared.coding)
        loss_for = (lambda goal: _loss_for(prepared, goal)) if is_tried else None
        require_feasible(prepared.coding.whole(), prepared.plan.goal, loss_for)

    def is_quick(self, coding: Coding) -> bool:
        return coding.n_tuples <= TRY_LOSS_UP_TO

    def is_instant(self, prepared: Prepared[Any]) -> bool:
        n_tuples = prepared.coding.n_tuples
        if n_tuples > INSTANT_TUPLES:
            return False
        with compiled_from(0):
            return not missing(prepared.plan.algorithm.kernels(n_tuples, prepared.plan.goal))

    def not_shown(self, prepared: Prepared[Any]) -> str | None:
        algorithm, goal = prepared.plan.algorithm, prepared.plan.goal
        failing = [verdict.model for verdict in goal.verdicts(prepared.coding.whole()) if not verdict.holds]
        if failing:
            return f"all records together do not satisfy {', '.join(failing)}, parts of them may"
        if asks_for_everybody(goal):
            return "all records together satisfy the goal, but not everybody in the population may be covered"
        if not algorithm.reaches_whole or prepared.groups is not None:
            return f"all records together satisfy the goal, but {algorithm.name} may find no release that does"
        return None

    def sampled_loss(self, prepared: Prepared[Any]) -> SampledLoss | None:
        plan, shards = prepared.plan, prepared.coding.shards
        if not plan.algorithm.may_shard or asks_for_everybody(plan.goal):
            return None
        seen = shards[:: -(-len(shards) // SAMPLED_SHARDS)]
        return united([_sampled(shard, plan) for shard in seen])

    def search(self, prepared: Prepared[Any], timed: Timed, threads: int | None) -> Solved:
        solved = search_classes(prepared, timed, threads)
        return solved if detailed_algorithm(prepared.plan) is None else _beside_detailed(solved, timed)

    def publish(self, solved: Solved, timed: Timed) -> Release:
        engine, plan, table = solved.engine, solved.plan, solved.prepared.table
        with timed.phase("recode", table.n_rows):
            labels = _labels(solved)
            release, rows = engine.recode(table, solved.coding, solved.answer, labels, plan.publication)
        release, rows = arranged(engine, release, rows, plan, timed)
        return Release(release, originals_of(solved, rows), labels=labels)

    def written_as(self, files: Documents, plan: Plan) -> tuple[str | None, str | None]:
        return files.kind, files.delimiter

    def spelling(self, engine: Engine, plan: Plan) -> Spelling:
        """How the input writes what the release publishes, if both are text files."""
        if not plan.policy.writes_text:
            return Spelling()
        source = plan.source or source_of(plan.policy)
        as_read = [name for name in plan.publication.columns if name not in plan.changed]
        columns = [name for name in as_read if name in (*plan.quasi, *plan.sensitive, *plan.weights)]
        is_local = engine.name == LocalEngine.name
        return spelling_of(source, engine.layout(source), columns, plan.quasi, in_memory=is_local)

    def read_back(self, engine: Engine, files: Documents, plan: Plan, written: Release, spelling: Spelling) -> Release:
        # what was meant to be written; any other text in the file is found and counted all the same
        labels = written.labels or {}
        shown = {n: spelling.texts(n, c.texts) for n, c in labels.items() if not c.are_numbers}
        return Release(read_release(engine, files.release, plan, shown or None, kind=files.kind), written.originals)

    def recount(self, engine: Engine, release: Release, plan: Plan, *, with_facts: bool) -> RecountResult:
        if not with_facts:
            return RecountResult(verify(engine, release.main, plan, release.originals))
        return RecountResult(*verify_with_facts(engine, release.main, plan, release.originals))

    def whose(self, engine: Engine, release: Release) -> Table | None:
        originals: Originals = release.originals
        return engine.with_persons(release.main, originals.coding, originals.row_of)

    def counts(self, solved: Solved) -> ReleaseCounts | None:
        return counts_of(solved.coding, solved.answer, solved.plan, _weights(solved))

    def measurements(self, solved: Solved) -> list[Measurement]:
        if (sums := solved.answer.sums) is not None and _weights(solved) is None:
            return measure(summed(solved.coding, sums, solved.plan))
        counts = counts_of(solved.coding, solved.answer, solved.plan, _weights(solved))
        return [*measure(counts), *(measure(counts, WEIGHED) if counts.weigh else ())]

    def exposure(self, prepared: Prepared[Any], plans: Sequence[Plan]) -> Exposure | None:
        return Before.of(prepared.coding).exposure

    def explored(self, solved: Solved, plans: Sequence[Plan], utility: str) -> Explored:
        counts = counts_of(solved.coding, solved.answer, solved.plan, _weights(solved))
        # groups of exact values hide no one among others
        is_exact = solved.solution.bucketing is not None
        exposed = Before.of(solved.coding).exposure if is_exact else exposure(counts.sizes)
        hists = [hist for target in (counts.details.targets or {}).values() for hist in target.parts]
        tops = [hist.max_by_class(hist.shares()).max(initial=0.0) for hist in hists]
        names = list(dict.fromkeys(["gcp", utility]))
        return Explored(
            {
                "highest": exposed.highest,
                "average": exposed.average,
                "unique": exposed.unique_share,
                "guess": float(max(tops)) if tops else None,
            },
            {m.name: float(m.value) if np.isfinite(m.value) else None for m in measure(counts, names)},
            n_classes=len(counts.sizes),
            smallest=int(counts.sizes.min(initial=solved.coding.n_rows)),
            suppressed_share=counts.n_suppressed / max(1, counts.n_rows),
        )

    def about_risk(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        return ()

    def notes(self, solved: Solved) -> tuple[str, ...]:
        codes = _codes_noted(solved.coding.domains, solved.plan.algorithm.publishes)
        return (*solved.plan.notes, *codes, *_empty_noted(solved))

    def remarks(self, prepared: Prepared[Any]) -> tuple[str, ...]:
        whole = prepared.coding.whole()
        return tuple(dict.fromkeys(remark for m in prepared.plan.goal.models for remark in m.remarks(whole)))

    def recoding(self, solved: Solved) -> Recoding | None:
        coding, plan = solved.coding, solved.plan
        table = coding.table if len(coding.shards) == 1 else None
        return Recoding.of(solved.solution, coding.domains, plan.policy, table, key=plan.secret.certificate_key)

    def refuse_recoding(self, plan: Plan) -> None:
        pass

    def subject(
        self, name: str, run: Mapping[str, Any], plan: Plan, certificate: Mapping[str, Any], facts: Facts | None,
        blocks: Sequence[Sequence[str]],
    ) -> Subject:  # fmt: skip
        shown, starred = plan.publication.columns, plan.publication.starred
        judged = {*plan.quasi, *plan.sensitive, *starred}
        return Subject(
            name=name,
            run=run,
            facts=facts,
            certificate=certificate,
            models=[Method(m.name, type(m), parameters(m), m.sense.value) for m in plan.goal.models],
            algorithm=Method(plan.algorithm.name, type(plan.algorithm), settings_of(plan.algorithm)),
            kept=[c for c in shown if c not in judged and c not in plan.changed],
            starred=starred,
            changed={name: ", ".join(each.name for each in chain) for name, chain in plan.changed.items()},
            left_out=[c for c in plan.policy.columns if c not in shown],
            blocks=blocks,
        )

    def verify(
        self, release: Any, policy: Policy, *, original: Any, side: Any, progress: Progress, demand: Demand
    ) -> Verification:
        from tablecloak.release.verify import verify_release

        return verify_release(release, policy, original=original, side=side, progress=progress, demand=demand)


SHAPE = Classes()


def _sampled(table: CodedTable, plan: Plan) -> tuple[SampledLoss, int]:
    return sampled_loss(Problem(table, plan.goal, 1, plan.policy.seed, None, plan.secret)), table.n_rows


def code(engine: Engine, table: Table, plan: Plan, progress: Progress = silent) -> Coding:
    """The distinct tuples of a table, with what the goal counts in them."""
    table, counted, others = with_population(engine, table, plan)
    coding = engine.contingency(
        table, plan.quasi_columns(table), counted, by_row=plan.algorithm.needs_rows, progress=progress,
        stands_alone=plan.goal.admits if plan.algorithm.may_shard else None,
        bytes_per_tuple=partial(plan.algorithm.bytes_per_tuple, plan.goal),
    )  # fmt: skip
    if others is not None and plan.algorithm.publishes is Publishes.GENERALIZED:
        coding = coding.beside(register_of(others, coding.domains, plan))
    for domain in coding.sensitive:
        if domain.kind is Counted.WEIGHT:
            refuse_odd_weights(table, domain, coding.totals[domain.name])
    return coding


def _loss_for(prepared: Prepared[Any], goal: Goal) -> float:
    """What a release loses that satisfies another goal."""
    plan, coding = prepared.plan, prepared.coding
    problem = Problem(coding.table, goal, 1, plan.policy.seed, prepared.groups, plan.secret)
    return loss_of(coding, plan, among_people.solve(plan.algorithm, problem, silent))


def _beside_detailed(solved: Solved, timed: Timed) -> Solved:
    """An answer of few labels, beside what detailed ones would lose; of a table too large to search again, without."""
    coding, plan = solved.coding, solved.plan
    usual = detailed_algorithm(plan)
    if usual is None or len(coding.shards) > 1 or coding.n_tuples > TRY_LOSS_UP_TO or usual.needs_rows:
        note = "what detailed labels would lose was not counted: the table is too large to search a second time"
        return replace(solved, remarks=(*solved.remarks, note))
    compile_for(plan, usual, coding.n_tuples, timed)
    with timed.phase("styles", coding.n_tuples) as notes:
        problem = Problem(coding.table, plan.goal, 1, plan.policy.seed, solved.prepared.groups, plan.secret)
        loss = loss_of(coding, plan, among_people.solve(usual, problem, silent))
        notes.append(f"detailed labels lose {loss:.4f}")
    return replace(solved, detailed_loss=loss)


def _codes_noted(domains: Sequence[Domain], publishes: Publishes) -> tuple[str, ...]:
    """Which whole numbers were taken for codes, and how to say that they are none."""
    names = [d.name for d in domains if d.kind is DomainKind.SET and d.type.is_ordered]
    if not names:
        return ()
    if publishes is Publishes.CENTERS:
        how = "published as the most frequent one; type: integer gives means"
    else:
        how = "published as sets; type: integer gives intervals"
    return (f"{', '.join(names)}: whole numbers taken for codes, {how}",)


def _empty_noted(solved: Solved) -> tuple[str, ...]:
    """Which quasi-identifiers lost everything: readers learn nothing from them, and other columns pay for them."""
    if solved.plan.algorithm.publishes is Publishes.CENTERS:  # priced as boxes, but a mean still tells something
        return ()
    domains = solved.coding.domains
    sums = solved.answer.sums
    least = solved.solution.losses(domains).min(axis=0, initial=1.0) if sums is None else sums.least
    names = [d.name for d, lost in zip(domains, least, strict=True) if d.n_codes > 1 and lost >= 1]
    if not names or not solved.answer.n_classes:
        return ()
    return (f"{', '.join(names)}: any value in every record; others may keep more detail with role: drop",)


def _labels(solved: Solved) -> dict[str, ClassLabels]:
    """What each class publishes; means of numbers are numbers."""
    domains = solved.coding.domains
    labels: dict[str, ClassLabels] = solved.answer.published(domains)
    if solved.plan.algorithm.publishes is not Publishes.CENTERS:
        return labels
    numbers = (ColumnType.INTEGER, ColumnType.FLOAT)
    numeric = [d.name for d in domains if d.kind is DomainKind.ORDERED and d.type in numbers]
    return {n: replace(of_class, are_numbers=n in numeric) for n, of_class in labels.items()}


def _weights(solved: Solved) -> Weights | None:
    """The weight of every original as it is published, where one of the columns is that of a survey."""
    engine, table = solved.engine, solved.prepared.table
    names = [n for n in solved.plan.policy.columns_with(Role.WEIGHT) if n in table.types]
    if len(names) != 1 or solved.solution.bucketing is not None:
        return None
    return lambda: weights_in(engine.frame(table, names), names[0])


def originals_of(solved: Solved, rows: IntArray | None) -> Originals:
    """The coded originals of a release, and which of them each of its rows comes from."""
    coding: Coding = solved.coding
    is_here = bool(coding.codes)
    row_of = np.arange(coding.n_rows) if rows is None and is_here else rows
    return Originals(coding, row_of, unpublished=coding.table.unpublished() if is_here else ())


def arranged(
    engine: Engine, release: Table, rows: IntArray | None, plan: Plan, timed: Timed
) -> tuple[Table, IntArray | None]:
    """A release in the order in which it is published, and the original of each of its rows where that is here.

    Args:
        rows: the original of each row as it was made; None: the same row, or the engine finds it by itself.
    """
    if plan.publication.order is Order.KEEP:
        return release, rows
    with timed.phase("order", release.n_rows):
        release, order = engine.arrange(release, plan.publication, plan.secret, progress=timed.inner)
    return release, order if rows is None or order is None else rows[order]


def read_release(
    engine: Engine,
    place: Place,
    plan: Plan,
    labels: Mapping[str, Sequence[str]] | None = None,
    *,
    kind: str | None = None,
) -> Table:
    """Everything that says something, quasi-identifiers as text whatever they look like."""
    columns = [name for name in plan.publication.columns if name not in plan.publication.starred]
    counted = [n for n in (*plan.sensitive, *plan.weights) if n not in plan.changed]
    asked = {n: c.type for n, c in plan.policy.columns.items() if n in counted}
    types = {name: type_ for name, type_ in asked.items() if type_ is not None} | texts_made(plan)
    original = plan.source  # dates and numbers of text files are written as their original was
    noted = {n: notation for n, notation in (original.notations if original else {}).items() if n in asked}
    types |= {name: original.types[name] for name in noted if original and name in original.types}
    types |= dict.fromkeys(plan.quasi, ColumnType.TEXT)
    source = Source.of(place, format=kind, types=types, notations=noted)
    return engine.read(source, columns=columns, categorical=columns, labels=labels)
