"""Sets of items: one cut through their hierarchy for all records, so that small combinations of items are frequent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl

from tablecloak.algorithms.items.cut_search import LEFT_OUT, Cut, ItemProblem, NoCutError
from tablecloak.algorithms.topdown._sampled_cuts import SampledLoss
from tablecloak.arrays import IntArray
from tablecloak.data.coded_baskets import Baskets, join_items
from tablecloak.data.itemsets import MOST_ITEMSETS, ItemsetRisk, candidates_of, cost_of, count_itemsets, itemset_risks
from tablecloak.data.table import ColumnType, Role
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.choose import Demand, choose_memory
from tablecloak.engines.local.engine import table_of
from tablecloak.engines.row_order import plain_text, published_order
from tablecloak.engines.spelling import Spelling
from tablecloak.errors import DataError, Infeasible
from tablecloak.io.formats.sets import ITEMS
from tablecloak.io.sources import Source, is_place
from tablecloak.metrics.base import Measurement, ReleaseCounts
from tablecloak.models.base import parameters
from tablecloak.policy.schema import Policy
from tablecloak.progress import Progress, Timed
from tablecloak.release.documents import Documents, settings_of
from tablecloak.release.facts.collect import Exposure, Facts
from tablecloak.release.facts.subject import Method, Subject
from tablecloak.release.plan import Plan
from tablecloak.release.prepare import Prepared
from tablecloak.release.recoding.items import ItemRecoding
from tablecloak.release.recount import Verification
from tablecloak.release.search import Solved
from tablecloak.release.shapes.base import Explored, RecountResult, Release
from tablecloak.release.shapes.sets.coding import Sets, code_sets
from tablecloak.release.shapes.sets.plan import SetPlan, algorithm_of, has_sets, make_set_plan, release_format
from tablecloak.release.shapes.sets.recount import recount
from tablecloak.rng import Secret
from tablecloak.values.amounts import most_of

LOSS = "detail lost in the items of all sets: 0 all are published as they are, 1 none is"
MOST_SHOWN = 20
FLAT = "items have no hierarchy, so they can only become * or be left out"


@dataclass(frozen=True, slots=True, eq=False)
class SetOriginals:
    """The sets that a release was made from, and how."""

    sets: Sets
    cut: Cut
    row_of: IntArray | None  # the original of each row; None: they are in the same order


NO_LATTICE = (
    "sets of items have no lattice: one cut through the hierarchy of items is searched, and no levels of columns"
)
KNOWING = "risk is that of someone who knows up to {} items of a person, the most that a variant speaks of"


class SetsOfItems:
    """Sets of items."""

    name = "sets of items"
    engines: Sequence[str] | None = ("local",)
    risks: Sequence[str] | None = ("highest", "average", "unique")
    metrics: Sequence[str] | None = ("gcp",)
    refused: Mapping[str, tuple[str, str]] = {"lattice": (NO_LATTICE, "tablecloak explore POLICY --vary k=2..20")}
    measured_by: str | None = "tablecloak.measure.sets"

    def speaks_of(self, policy: Policy) -> bool:
        return has_sets(policy)

    def frame_of(self, data: Any, policy: Policy) -> Any:
        """A list of sets becomes the column `items`."""
        if not isinstance(data, Sequence) or isinstance(data, str):
            return data
        plan = make_set_plan(policy, [ITEMS])
        texts = [[str(item) for item in items] for items in data]
        if any(plan.separator in item for items in texts for item in items):
            hint = f"columns.{plan.column}.separator: a mark that no item has"
            raise DataError("an item holds the separator", hint=hint)
        return pl.DataFrame({ITEMS: [plan.separator.join(items) for items in texts]}, schema={ITEMS: pl.String})

    def algorithm_name(self, policy: Policy) -> str:
        return str(cast(Any, algorithm_of(policy)).name)

    def plan(
        self, policy: Policy, columns: Sequence[str], *, delimiter: str | None, location: str | None,
        is_reported: bool | None, secret: Secret,
    ) -> Plan:  # fmt: skip
        return make_set_plan(policy, columns, delimiter=delimiter, location=location, secret=secret)

    def reading(self, source: Source, policy: Policy) -> Source:
        """The type that a policy gives to a column of sets is that of its items."""
        texts = dict.fromkeys(policy.columns_with(Role.ITEMS), ColumnType.TEXT)
        return replace(source, types={**source.types, **texts})

    def refuse(self, plan: Plan) -> None:
        pass

    def code(self, engine: Engine, table: Table, plan: Plan, progress: Progress) -> Sets:
        planned = _planned(plan)
        return code_sets(engine.frame(table, [planned.column])[planned.column], planned)

    def require_feasible(self, prepared: Prepared[Any], *, tries_relaxations: bool) -> None:
        """Only a search shows it."""

    def is_quick(self, coding: Sets) -> bool:
        return True

    def is_instant(self, prepared: Prepared[Any]) -> bool:
        return True  # nothing else tells whether the goal can be reached

    def not_shown(self, prepared: Prepared[Any]) -> str | None:
        return "only a search tells"

    def sampled_loss(self, prepared: Prepared[Any]) -> SampledLoss | None:
        return None

    def search(self, prepared: Prepared[Any], timed: Timed, threads: int | None) -> Solved:
        plan, sets = _planned(prepared.plan), prepared.coding
        with timed.phase("solve", plan.km.m) as notes:
            cut = _cut(plan, sets, timed.inner)
            notes.append(f"{sets.n_items:,} items published as {_n_published(cut, sets):,}")
        return Solved(prepared, cut)

    def publish(self, solved: Solved, timed: Timed) -> Release:
        table = solved.prepared.table
        with timed.phase("recode", table.n_rows):
            return make_release(solved.engine.frame(table), solved.coding, solved.answer, _planned(solved.plan))

    def written_as(self, files: Documents, plan: Plan) -> tuple[str | None, str | None]:
        """Sets become sets again unless the policy or the name of the file says otherwise."""
        planned, place = _planned(plan), files.release
        is_of_sets = planned.is_of_sets
        kind = release_format(plan.policy, place, is_of_sets=is_of_sets) if isinstance(place, Path) else None
        return kind, planned.published_separator if kind == "sets" else files.delimiter

    def spelling(self, engine: Engine, plan: Plan) -> Spelling:
        return Spelling()

    def read_back(self, engine: Engine, files: Documents, plan: Plan, written: Release, spelling: Spelling) -> Release:
        kind, _ = self.written_as(files, plan)
        types = {**written.main.types, _planned(plan).column: ColumnType.TEXT}
        delimiter = _planned(plan).published_separator if kind == "sets" else None
        source = Source.of(files.release, format=kind, delimiter=delimiter, types=types)
        return replace(written, main=engine.read(source, columns=list(written.main.types), categorical=()))

    def recount(self, engine: Engine, release: Release, plan: Plan, *, with_facts: bool) -> RecountResult:
        planned, originals = _planned(plan), release.originals
        cells = engine.frame(release.main, [planned.column])[planned.column]
        verification = recount(cells, planned, originals.sets, originals.row_of)
        itemsets = {**(verification.itemsets or {}), **_described(planned, originals.sets, originals.cut)}
        return RecountResult(replace(verification, itemsets=itemsets))

    def whose(self, engine: Engine, release: Release) -> Table | None:
        return None

    def counts(self, solved: Solved) -> ReleaseCounts | None:
        return None

    def measurements(self, solved: Solved) -> list[Measurement]:
        loss = solved.answer.loss(solved.coding.occurrences)
        return [Measurement("gcp", loss, LOSS, {_planned(solved.plan).column: loss})]

    def exposure(self, prepared: Prepared[Any], plans: Sequence[Plan]) -> Exposure | None:
        risks = risks_of(prepared.coding.merged[0], _most_known(plans))
        if risks is None:
            return None
        return Exposure(risks[-1].n_records, risks[-1].n_unique, risks[-1].highest, risks[-1].average)

    def explored(self, solved: Solved, plans: Sequence[Plan], utility: str) -> Explored:
        goal, sets, cut = _planned(solved.plan).km, solved.coding, solved.answer
        published = cut.publish(sets.merged[0], copies=goal.multiset).distinct()[0]
        # whoever asks for a smaller m is not thereby safer: one attacker looks at all variants
        risks = risks_of(published, _most_known(plans))
        smallest = risks[goal.m - 1].least if risks else count_itemsets(published, goal.m).rarest
        return Explored(
            {
                "highest": risks[-1].highest if risks else None,
                "average": risks[-1].average if risks else None,
                "unique": risks[-1].unique_share if risks else None,
                "guess": None,
            },
            {"gcp": cut.loss(sets.occurrences)},
            n_classes=published.n_baskets,
            smallest=smallest or sets.n_rows,
            suppressed_share=cut.left_out(sets.occurrences) / max(1, int(sets.occurrences.sum())),
        )

    def about_risk(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        return (KNOWING.format(_most_known(plans)),) if plans else ()

    def notes(self, solved: Solved) -> tuple[str, ...]:
        return notes_of(_planned(solved.plan), solved.coding, solved.answer)

    def remarks(self, prepared: Prepared[Any]) -> tuple[str, ...]:
        return ()

    def recoding(self, solved: Solved) -> ItemRecoding:
        return ItemRecoding.of(solved.answer, solved.plan.policy, key=solved.plan.secret.certificate_key)

    def refuse_recoding(self, plan: Plan) -> None:
        pass

    def subject(
        self, name: str, run: Mapping[str, Any], plan: Plan, certificate: Mapping[str, Any],
        facts: Facts | None, blocks: Sequence[Sequence[str]],
    ) -> Subject:  # fmt: skip
        planned = _planned(plan)
        goal: Any = planned.km
        return Subject(
            name=name,
            run=run,
            certificate=certificate,
            models=[Method("km-anonymity", type(goal), parameters(goal), goal.sense.value)],
            algorithm=Method("apriori", type(plan.algorithm), settings_of(plan.algorithm)),
            facts=None,
            kept=planned.kept_columns,
            changed={name: ", ".join(each.name for each in chain) for name, chain in plan.changed.items()},
            starred=plan.publication.starred,
            left_out=planned.left_out,
        )

    def verify(
        self, release: Any, policy: Policy, *, original: Any, side: Any, progress: Progress, demand: Demand
    ) -> Verification:
        from tablecloak.release.shapes.sets.verify import verify_sets

        choice = choose_memory(demand, 0, verb="verify of a release of sets")
        verification = verify_sets(release, policy, original=original, progress=progress)
        return replace(verification, choice=choice) if is_place(release) else verification


SHAPE = SetsOfItems()


def _planned(plan: Plan) -> SetPlan:
    return cast(SetPlan, plan)


def _most_known(plans: Sequence[Plan]) -> int:
    """Items that an attacker knows of a person, for the goal that asks for most."""
    return max(_planned(plan).km.m for plan in plans)


def risks_of(baskets: Baskets, n_known: int, *, k: int = 2) -> tuple[ItemsetRisk, ...] | None:
    """The risk for someone who knows 1, 2, .. so many items; None where that is too much to count."""
    if cost_of(baskets, n_known) > MOST_ITEMSETS:
        return None
    return itemset_risks(candidates_of(baskets, n_known), k=k, weights=baskets.weights)


def make_release(frame: pl.DataFrame, sets: Sets, cut: Cut, plan: SetPlan) -> Release:
    """The published table: items as their nodes, in the order of the hierarchy; other columns as the policy says."""
    merged, group = sets.merged
    labels = [str(label).strip() for label in cut.hierarchy.labels]
    texts = join_items(cut.publish(merged, copies=plan.km.multiset), labels, plan.published_separator)
    stars = {name: pl.repeat("*", sets.n_rows, eager=True) for name in plan.publication.starred}
    columns: dict[str, Any] = {plan.column: texts[group], **stars}
    made = (frame.with_columns(**columns) if frame.width else pl.DataFrame(columns)).select(plan.publication.columns)
    made = made.with_columns(plain_text(made[name]) for name in made.columns)
    order = published_order(made, plan.publication.order, plan.secret, first=[plan.column])
    main = table_of(made if order is None else made[order], "the release")
    return Release(main, SetOriginals(sets, cut, order))


def _n_published(cut: Cut, sets: Sets) -> int:
    used = cut.node_of[sets.occurrences > 0]
    return len(np.unique(used[used != LEFT_OUT]))


def _cut(plan: SetPlan, sets: Sets, progress: Progress) -> Cut:
    limit = most_of(len(sets.baskets.items), plan.apriori.suppression_limit)
    try:
        return plan.apriori.find(ItemProblem(sets.merged[0], sets.hierarchy, plan.km, limit), progress)
    except NoCutError:
        raise _infeasible(plan, sets) from None


def _infeasible(plan: SetPlan, sets: Sets) -> Infeasible:
    """What all items as one would reach, and what could be relaxed."""
    goal = plan.km
    at = plan.policy.goals.index(goal)
    top = Cut.top(sets.hierarchy).publish(sets.merged[0], copies=goal.multiset)
    best = count_itemsets(top, goal.m, k=goal.k).rarest or 0
    relaxations = [f"goals.{at}.k: {best}  → feasible"] if best >= 2 else []
    if goal.multiset:
        relaxations.append(f"goals.{at}.multiset: false, which counts an item once for each set")
    lost = max(1, round(1000 * best / max(1, len(sets.baskets.items)) + 0.5)) / 1000
    relaxations.append(f"algorithm.suppression_limit: {min(1.0, lost):g} or more, which may leave items out")
    return Infeasible(
        f"infeasible  no release reaches km-anonymity {goal.k} (best: {best}, with all items as one)",
        best=[{"model": "km-anonymity", "achieved": best, "required": goal.k}],
        relaxations=[{"change": text} for text in relaxations],
    )


def _described(plan: SetPlan, sets: Sets, cut: Cut) -> dict[str, Any]:
    """How far up items went, and which published ones most records have."""
    used = np.flatnonzero(sets.occurrences > 0)
    nodes = cut.node_of[used]
    heights = np.where(nodes >= 0, sets.hierarchy.heights[nodes], LEFT_OUT)
    levels = [
        {
            "height": int(h),
            "items": int((heights == h).sum()),
            "occurrences": int(sets.occurrences[used[heights == h]].sum()),
        }
        for h in np.unique(heights)
    ]
    supports = cut.publish(sets.merged[0]).occurrences()
    most = np.argsort(-supports, kind="stable")[:MOST_SHOWN]
    frequent = [[str(sets.hierarchy.labels[n]).strip(), int(supports[n])] for n in most if supports[n] >= plan.km.k]
    return {"levels": levels, "frequent": frequent}


def notes_of(plan: SetPlan, sets: Sets, cut: Cut) -> tuple[str, ...]:
    """What a report says of a run on sets beyond the usual."""
    notes = []
    if plan.policy.hierarchy_of(plan.column) is None:
        notes.append(FLAT)
    if sets.n_repeated:
        notes.append(f"{sets.n_repeated:,} items stood twice in their set and count once; multiset: true keeps them")
    if n_empty := int((sets.baskets.lengths == 0).sum()):
        notes.append(f"{n_empty:,} sets are empty and stay so")
    if n_lost := cut.left_out(sets.occurrences):
        notes.append(f"{n_lost:,} of {int(sets.occurrences.sum()):,} items in sets are left out")
    if plan.kept_columns:
        notes.append(f"published as they are, and protected by no goal: {', '.join(plan.kept_columns)}")
    return tuple(notes)
