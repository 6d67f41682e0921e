"""Prepare: the only opening of a run, and of everything that says what a run would do.

From a source to coded rows that a search can begin with, or the reason why there is none: the columns are read, rows
with missing cells left out, persons and population settled, rows coded, and the goal held against the table as one
class. `run`, `anonymize`, `check`, `explore` and `lattice` all start here, so what one refuses the others refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from threading import RLock
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from tablecloak.arrays import IntArray
from tablecloak.data.table import Order, Role
from tablecloak.engines.base import Engine, Table
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.errors import DataError, IncompatibleChoice
from tablecloak.io.sources import Layout, Source
from tablecloak.io.tabular import refuse_empty
from tablecloak.kernels.loading import preload
from tablecloak.policy.schema import Policy
from tablecloak.policy.secrets import secret_of
from tablecloak.policy.sections import Missing
from tablecloak.progress import Timed
from tablecloak.release.plan import Plan, as_policy_says
from tablecloak.release.shapes.base import Shape, shape_of
from tablecloak.release.transform import published, transformed, without_originals
from tablecloak.stats.classes import Evidence

S = TypeVar("S")
T = TypeVar("T")
# Looks at rows before they are only codes: their risk, or the findings they would have whatever becomes of them.
Look: TypeAlias = Callable[[Engine, Table, Plan], S]
# The parts of a policy that decide how its rows are read and coded, beside goal and algorithm.
OF_ROWS = {"columns", "others", "missing", "hierarchies", "population"}


class Memo:
    """What several plans on one source share: each of its parts is made once, whichever thread asks first."""

    def __init__(self) -> None:
        self._made: dict[Hashable, Any] = {}
        self._lock = RLock()

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            made: T = self._made[key]
            return made


class _AtOnce(Memo):
    """Keeps nothing: a run makes everything once."""

    def __call__(self, key: Hashable, make: Callable[[], T]) -> T:  # noqa: ARG002
        return make()


AT_ONCE = _AtOnce()


@dataclass(frozen=True, slots=True, eq=False)
class Prepared(Generic[S]):
    """A table that a search can begin with."""

    shape: Shape  # of what is published
    engine: Engine  # that goes on: a plan may want all rows in memory
    plan: Plan  # with persons settled
    table: Table  # what remains to be published; generalised quasi-identifiers live on as codes
    coding: Any  # as the shape codes it: `Coding` for classes and groups
    groups: IntArray | None  # (n_rows,) group of every row, where the policy names a column that says so
    n_missing_dropped: int
    look_result: S  # what a look at the rows said


def read(
    engine: Engine,
    source: Source,
    policy: Policy,
    timed: Timed,
    *,
    is_reported: bool | None = None,
    is_attacked: bool = False,
    keeps_originals: bool = False,
    memo: Memo = AT_ONCE,
) -> tuple[Plan, Table]:
    """The columns of a source that a policy asks for, and the plan for them.

    Args:
        is_reported: whether a report may be asked for; None: if the policy names one.
        is_attacked: what transforms publish is attacked, which findings ask for.
        keeps_originals: what columns were stays beside what transforms make of them before the search, to be counted.
    """
    shape = shape_of(policy)
    with timed.phase("read") as notes:
        secret = engine.remembered(secret_of(policy), is_new=policy.secret is None)
        read_as = as_policy_says(source, policy) if source.is_frame else shape.reading(source, policy)
        layout = memo(("layout", repr(read_as)), lambda: engine.layout(read_as))
        _refuse_questions(layout, policy, source)
        read_as = read_as.settled(layout)
        location = None if source.is_frame else source.location
        delimiter = layout.delimiter if layout.format == "sets" else None
        plan = shape.plan(
            policy, layout.names, delimiter=delimiter, location=location, is_reported=is_reported, secret=secret
        )
        preload(layout.n_rows_hint or 0, refines=plan.algorithm.refines(layout.n_rows_hint or 0))
        table_source = _letter_by_letter(read_as, layout, plan)
        # a release does not hold its originals
        plan = plan if source.is_frame else replace(plan, source=source.settled(layout))
        key = ("table", repr(table_source), plan.read_columns, plan.categorical)
        table = memo(key, lambda: engine.read(table_source, columns=plan.read_columns, categorical=plan.categorical))
        if plan.changed:
            chosen = policy.model_dump_json(include=OF_ROWS, by_alias=True)
            table, told = memo(
                ("changed", *key, chosen, plan.judged_before, is_attacked, keeps_originals),
                lambda: transformed(
                    engine, table, plan, is_attacked=is_attacked, types=layout.types if keeps_originals else None
                ),
            )
            plan = replace(plan, made=told.made, attacked=told.attacked, moments=told.moments)
        if not source.is_frame:  # of a frame without rows, the preparation says so
            refuse_empty(table.n_rows, source.location)
        notes.append(f"{table.n_rows:,} rows")
    return plan, table


def _refuse_questions(layout: Layout, policy: Policy, source: Source) -> None:
    """Refuse quasi-identifiers whose values cannot be read without an answer: as texts they would be told apart by
    letters that mean nothing."""
    for name in policy.columns_with(Role.QUASI):
        column, spec = (layout.column(name) if name in layout.names else None), policy.columns[name]
        if column is None or column.question is None or spec.type is not None or isinstance(spec.hierarchy, str):
            continue
        raise DataError(
            f"column '{name}' holds {column.question.text}", hint=column.question.hint(name), location=source.location
        )


def _letter_by_letter(source: Source, layout: Layout, plan: Plan) -> Source:
    """The source with columns that are only kept read as text, if they go from a text file to another.

    Other columns are typed; how they were written is found out when the release is written. Suppressed rows show an
    empty cell in place of a number, so there kept numbers stay numbers.
    """
    if layout.format not in ("csv", "tsv") or not plan.policy.writes_text or plan.publication.keeps_suppressed:
        return source
    used = {*plan.quasi, *plan.sensitive, *plan.publication.starred, *plan.changed, *plan.weights, plan.person,
            plan.target}  # fmt: skip
    text_columns = {name for name in plan.publication.columns if name not in used | {plan.algorithm.group_column}}
    return source.as_texts(text_columns)


def prepare(
    engine: Engine,
    table: Table,
    plan: Plan,
    *,
    timed: Timed,
    look: Look[S],
    tries_relaxations: bool = False,
    memo: Memo = AT_ONCE,
) -> Prepared[S]:
    """A table as a plan wants it coded.

    Args:
        look: is shown the rows that are coded, as they were.
        tries_relaxations: an infeasible goal says what weaker ones would lose.

    Raises: Infeasible, DataError, IncompatibleChoice.
    """
    shape = shape_of(plan.policy)
    rows_key = (plan.read_columns, plan.policy.model_dump_json(include=OF_ROWS, by_alias=True), str(plan.policy.base))
    if plan.needs_memory:
        engine, table = memo(("memory", rows_key), lambda: in_memory(engine, table))
    with timed.phase("code", table.n_rows) as notes:
        complete, n_dropped = memo(("complete", rows_key), lambda: without_missing(engine, table, plan))
        counts_persons = memo(("persons", rows_key), lambda: _have_several_rows(engine, complete, plan))
        plan = settled(plan, counts_persons=counts_persons)
        shape.refuse(plan)
        key = (rows_key, _coded_by(plan, engine))
        whole = _settled_rows(engine, complete, plan)
        rows = memo(("rows", key), lambda: _in_order(engine, without_originals(engine, whole), plan))
        coding = memo(("coding", key), lambda: shape.code(engine, rows, plan, timed.inner))
        groups = given_groups(engine, rows, plan)
        notes.append(f"{coding.n_tuples:,} distinct tuples{_in_shards(coding)}")
        # what columns were would decide the order of rows, and is only counted
        look_result = look(engine, rows if len(whole.types) == len(rows.types) else whole, plan)
        rest = [c for c in plan.publication.columns if c not in plan.coded and c not in plan.publication.starred]
        remaining = published(engine, rows, rest, plan)
        prepared = Prepared(shape, engine, plan, remaining, coding, groups, n_dropped, look_result)
    shape.require_feasible(prepared, tries_relaxations=tries_relaxations)
    return prepared


def _in_shards(coding: Any) -> str:
    shards = getattr(coding, "shards", ())
    return f" in {len(shards):,} shards" if len(shards) > 1 else ""


def _coded_by(plan: Plan, engine: Engine) -> Hashable:
    """What the codes of rows depend on beside the rows: plans that agree in it share a coding."""
    algorithm, goal = plan.algorithm, plan.goal
    keeps_order = algorithm.needs_rows and plan.publication.order is Order.KEEP
    cut_by = repr(goal) if algorithm.may_shard and engine.name != LocalEngine.name else ""
    beside = algorithm.publishes if Evidence.POPULATION in goal.evidence else None  # only boxes cover others, too
    wants = (algorithm.needs_rows, algorithm.needs_hierarchies, keeps_order, cut_by, beside)
    return (*wants, tuple(plan.counted), goal.evidence, goal.counts_persons, goal.guard_columns, plan.coded_by)


def in_memory(engine: Engine, table: Table) -> tuple[Engine, Table]:
    """The rows in memory; refused where they do not fit."""
    if engine.name == LocalEngine.name:
        return engine, table
    return LocalEngine(), table_of(engine.frame(table), table.name)


def without_missing(engine: Engine, table: Table, plan: Plan) -> tuple[Table, int]:
    """The table after rows with missing cells were left out where the policy says so, and how many were."""
    policy = plan.policy
    if table.n_rows == 0:
        raise DataError("there are no rows", hint="give a table with at least one row", location=table.name)
    summaries = engine.summarize(table, [*plan.quasi, *plan.sensitive])
    for name, summary in summaries.items():
        if summary.n_missing and policy.missing_of(name) is Missing.ERROR:
            raise DataError(
                f"column '{name}' has {summary.n_missing:,} empty cells and the policy says missing: error",
                hint="fill them, or use missing: value or missing: drop",
                location=table.name,
            )
    drops = [n for n, summary in summaries.items() if summary.n_missing and policy.missing_of(n) is Missing.DROP]
    if not drops:
        return table, 0
    rest = engine.select(table, list(table.types), without_missing=drops)
    if rest.n_rows == 0:
        raise DataError(
            "no rows are left: each has an empty cell where the policy says missing: drop",
            hint="use missing: value, or drop the column that is empty",
            location=table.name,
        )
    return rest, table.n_rows - rest.n_rows


def _have_several_rows(engine: Engine, table: Table, plan: Plan) -> bool:
    """Whether some person has several rows."""
    person = plan.person
    return person is not None and engine.summarize(table, [person], distinct=True)[person].n_distinct != table.n_rows


def settled(plan: Plan, *, counts_persons: bool) -> Plan:
    """The plan after it is known whether persons have several rows: where none has, rows are persons.

    Raises: IncompatibleChoice where persons have several, and the algorithm cannot enforce the goal for them.
    """
    if not counts_persons:
        return replace(plan, goal=replace(plan.goal, counts_persons=False)) if plan.goal.counts_persons else plan
    reason = plan.algorithm.refuses(plan.goal)
    if reason is not None:
        raise IncompatibleChoice(
            f"{plan.algorithm.name} cannot enforce this goal where persons have several rows: {reason}",
            hint="algorithm: auto or mondrian",
        )
    return plan


def settle_persons(engine: Engine, table: Table, plan: Plan) -> tuple[Table, Plan]:
    """Where no person has several rows, counting rows is counting persons: leave their key out."""
    plan = settled(plan, counts_persons=_have_several_rows(engine, table, plan))
    return _settled_rows(engine, table, plan), plan


def _settled_rows(engine: Engine, table: Table, plan: Plan) -> Table:
    if plan.person is None or plan.goal.counts_persons:
        return table
    return engine.select(table, [c for c in table.types if c != plan.person])


def _in_order(engine: Engine, table: Table, plan: Plan) -> Table:
    """A method that looks at rows one after the other may end otherwise where it meets them in another order."""
    if not plan.algorithm.needs_rows or plan.publication.order is Order.KEEP:
        return table
    return engine.sorted(table)


def given_groups(engine: Engine, table: Table, plan: Plan) -> IntArray | None:
    """The group of every row, where the policy names a column that says so; numbered in the order of its values."""
    column = plan.algorithm.group_column
    if column is None:
        return None
    if column not in table.types:
        raise IncompatibleChoice(
            f"the column '{column}' that names the groups is not read", hint=f"columns.{column}.role: keep"
        )
    return engine.frame(table, [column])[column].rank("dense").fill_null(0).to_numpy().astype(np.int64)


def nothing(engine: Engine, table: Table, plan: Plan) -> None:
    """A look that sees nothing."""
