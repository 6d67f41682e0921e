"""The program that made a release, as somebody runs it who has policy and program but not the secret."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tablecloak.algorithms import among_people
from tablecloak.algorithms.base import Problem, Solution, TupleOrder
from tablecloak.algorithms.buckets.base import BY_VALUES
from tablecloak.arrays import IntArray
from tablecloak.attacks.case import Program, Rerun
from tablecloak.data.class_labels import ClassLabels
from tablecloak.data.coded import CodedTable, tuples_of
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import CloakError
from tablecloak.kernels.packed_codes import pack
from tablecloak.policy.schema import Policy
from tablecloak.progress import silent
from tablecloak.release.plan import Plan, make_plan
from tablecloak.release.prepare import given_groups, settle_persons, without_missing
from tablecloak.rng import Secret
from tablecloak.stats.classes import Counted, Evidence


def program_of(policy: Policy, original: pl.DataFrame) -> Program | None:
    """The program that a policy asks for, on these people; None where it cannot be run on them as they are."""
    engine = LocalEngine()
    try:
        plan = make_plan(policy, original.columns)
        table, n_dropped = without_missing(engine, table_of(original.select(plan.read_columns)), plan)
        table, plan = settle_persons(engine, table, plan)
        if n_dropped or plan.goal.counts_persons or Evidence.POPULATION in plan.goal.evidence:
            return None
        coded = engine.contingency(table, plan.quasi_columns(table), plan.sensitive_columns(table), by_row=True).table
        return _Program(plan, coded, given_groups(engine, table, plan))
    except CloakError:
        return None


@dataclass(frozen=True, slots=True, eq=False)
class _Program:
    plan: Plan
    rows: CodedTable  # every row a tuple of its own
    given: IntArray | None

    @property
    def is_drawn(self) -> bool:
        algorithm = self.plan.algorithm
        return algorithm.order is TupleOrder.SECRET or algorithm.publishes.is_bucketing

    @property
    def is_promised(self) -> bool:
        return self.plan.is_blind

    @property
    def linkage(self) -> float | None:
        return None if self.plan.algorithm.publishes.is_bucketing else 1 / self.plan.goal.min_size

    @property
    def value(self) -> float | None:
        return max((1 / m.hides_among for m in self.plan.goal.models if m.hides_among), default=None)

    def run(self, source: IntArray, secret: Secret) -> Rerun | None:
        plan, table = self.plan, self._with_values_of(source)
        problem = Problem(table, plan.goal, 1, plan.policy.seed, self.given, secret)
        try:
            solution = among_people.solve(plan.algorithm, problem, silent)
        except CloakError:
            return None
        classes = solution.class_of_row(table)
        if solution.bucketing is not None:
            return Rerun(classes, {}, _blocks(solution, plan.quasi), BY_VALUES in solution.notes)
        labels = {name: _texts(column) for name, column in solution.published(table.domains).items()}
        return Rerun(classes, labels)

    def _with_values_of(self, source: IntArray) -> CodedTable:
        """The table if everybody had the sensitive values of somebody else."""
        rows = self.rows
        codes = [rows.quasi_codes(dim) for dim in range(rows.space.n_dims)]
        for i, attribute in enumerate(rows.sensitive):
            column = rows.sensitive_codes(i)
            codes.append(column if attribute.kind in (Counted.PERSON, Counted.GUARD) else column[source])
        keys = pack([column.astype(np.uint64) for column in codes], rows.space.layout)
        by_row = self.plan.algorithm.needs_rows
        return tuples_of(keys, rows.space, rows.domains, rows.sensitive, rows.totals, by_row=by_row)


def _texts(labels: ClassLabels) -> list[str | None]:
    names = [*labels.names, None]
    return [names[place] for place in labels.of_class.tolist()]


def _blocks(solution: Solution, quasi: list[str]) -> tuple[tuple[str, ...], ...]:
    """Quasi-identifiers that still belong together: those of one block, and those of none."""
    assert solution.bucketing is not None
    moved = [tuple(name for name in block.columns if name in quasi) for block in solution.bucketing.blocks]
    rest = tuple(name for name in quasi if not any(name in block for block in moved))
    return tuple(block for block in (rest, *moved) if block)
