"""Publishing new sets as an earlier run published its own."""

from __future__ import annotations

from dataclasses import replace

from tablecloak.engines.base import Engine, Table
from tablecloak.progress import Timed
from tablecloak.registry import find
from tablecloak.release.plan import Plan
from tablecloak.release.prepare import Prepared
from tablecloak.release.recoding.items import ItemRecoding
from tablecloak.release.search import Solved
from tablecloak.release.shapes.base import Applied, shape_of
from tablecloak.release.shapes.sets.plan import SetPlan
from tablecloak.release.shapes.sets.shape import make_release


def apply_to_sets(
    engine: Engine, table: Table, plan: Plan, stored: ItemRecoding, *, suppression_limit: float | None, timed: Timed
) -> Applied:
    """New sets by a stored recoding of items."""
    assert isinstance(plan, SetPlan)
    if suppression_limit is not None:
        plan = replace(plan, algorithm=find("algorithms", "apriori")(suppression_limit=suppression_limit))
    shape = shape_of(plan.policy)
    with timed.phase("recode", table.n_rows):
        sets = shape.code(engine, table, plan, timed.inner)
        cut = stored.cut(sets.hierarchy)
        release = make_release(engine.frame(table), sets, cut, plan)
    solved = Solved(Prepared(shape, engine, plan, table, sets, None, 0, None), cut)
    return Applied(release, plan, table, shape.notes(solved), shape.measurements(solved))
