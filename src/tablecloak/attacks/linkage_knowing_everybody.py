"""Linkage knowing everybody: all people matched with all rows at once."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._possible_worlds import posteriors
from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.data.row_origins import consistency_of
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.consistency import Consistency

# Matching everybody at once is attempted up to this many rows.
MATCH_UP_TO = 40_000
# ... and matchings of parts of the table are counted in so many steps in all, none of a part with more pairs.
STEPS_UP_TO = 2_000_000
CELLS_UP_TO = 1_000_000


@attack("linkage-knowing-everybody", on_request=True)
def linkage_knowing_everybody(case: Case) -> AttackSuccess:
    """The chance that someone who knows the quasi-identifiers of everybody in the table finds a person's row.

    The share of all ways to match everybody with a row that covers them in which the person has the row that they have
    most often. Counted exactly, part by part of the table, where rows of a part are alike or few; elsewhere the chance
    is at least 1 / (rows that the person has in some way), which is taken instead and said.
    By guessing: one of all published rows.
    Stopped by: k-anonymity. k-concealment bounds the number of rows, not the chance of each.
    Reference: Tassa, Mazza, Gionis, k-concealment, Transactions on Data Privacy 2012.
    """
    if case.n_originals is None or not case.is_covering or case.row_of is None:
        raise DoesNotApplyError("needs the original, and cells that cover it")
    if case.n_rows > MATCH_UP_TO:
        raise DoesNotApplyError(f"matching everybody at once is tried up to {MATCH_UP_TO:,} rows")
    sides = []
    for column in case.quasi:
        assert column.coverage is not None
        assert column.codes is not None
        sides.append((column.coverage, column.labels, column.codes[case.row_of]))
    of_node, is_counted = link_chances(consistency_of(sides, is_in_order=True))
    node = _nodes([codes for _, _, codes in sides])
    n_bounded = int(np.count_nonzero(~is_counted[node]))
    notes = (f"of {n_bounded:,} people only the least possible chance is known: their part is too large to count",)
    details = {"people_counted": case.n_rows - n_bounded}
    return success_of(case, of_node[node], details=details, notes=notes if n_bounded else ())


def link_chances(graph: Consistency) -> tuple[FloatArray, BoolArray]:
    """The greatest chance of one row for every original node, and whether it was counted; otherwise it is the least.

    All perfect matchings of originals with rows that cover them are equally likely. Parts between which no matching
    goes are independent; where all rows of a part cover all its originals, each has each with the same chance.
    """
    components = graph.components()
    assert components is not None
    of_original, of_published = components
    n_parts = int(max(of_original.max(initial=-1), of_published.max(initial=-1))) + 1
    ok = of_original[graph.originals] == of_published[graph.published]
    n_rows = np.bincount(of_published, weights=graph.n_of_published, minlength=n_parts)
    n_pairs = np.bincount(of_original, minlength=n_parts) * np.bincount(of_published, minlength=n_parts)
    is_complete = np.bincount(of_original[graph.originals[ok]], minlength=n_parts) == n_pairs
    possible = graph.admissible_rows()
    assert possible is not None
    chances = np.divide(1.0, possible, out=np.zeros(len(possible)), where=possible > 0)
    chances = np.where(is_complete[of_original] & (possible > 0), 1.0 / np.maximum(n_rows[of_original], 1), chances)
    is_counted = is_complete[of_original].copy()
    order = np.argsort(of_original[graph.originals], kind="stable")
    order = order[ok[order] & ~is_complete[of_original[graph.originals[order]]]]
    begins = np.flatnonzero(np.diff(of_original[graph.originals[order]], prepend=-1))
    steps = STEPS_UP_TO
    for arcs in np.split(order, begins[1:]) if len(order) else ():
        counted = _part_chances(graph, arcs, steps)
        if counted is not None:
            nodes, best, n_steps = counted
            chances[nodes], is_counted[nodes] = best, True
            steps -= n_steps
    return chances, is_counted


def _part_chances(graph: Consistency, arcs: IntArray, steps: int) -> tuple[IntArray, FloatArray, int] | None:
    """Original nodes of a part, the greatest chance of one row for each, and the steps that counting took."""
    originals, of_arc = np.unique(graph.originals[arcs], return_inverse=True)
    published, at_arc = np.unique(graph.published[arcs], return_inverse=True)
    n_people = int(graph.n_of_original[originals].sum())
    if n_people * len(published) > CELLS_UP_TO:
        return None
    fits = np.zeros((len(originals), len(published)))
    fits[of_arc, at_arc] = 1.0
    order = _neighbours_together(fits)
    people = np.repeat(order, graph.n_of_original[originals[order]])
    rows = graph.n_of_published[published]
    counted = posteriors(fits[people], rows, steps_up_to=steps)
    if counted is None:
        return None
    best = np.zeros(len(originals))
    best[people] = (counted[0] / rows).max(axis=1)
    return originals, best, counted[1]


def _neighbours_together(fits: FloatArray) -> IntArray:
    """Originals in an order in which those who share rows are near each other: breadth first from one with few rows."""
    is_waiting = np.ones(len(fits), bool)
    queue = [int(fits.sum(axis=1).argmin())]
    is_waiting[queue[0]] = False
    for node in queue:
        near = np.flatnonzero(is_waiting & (fits[:, fits[node] > 0].sum(axis=1) > 0))
        near = near[np.argsort(-(fits[near] @ fits[node]), kind="stable")]
        queue.extend(near.tolist())
        is_waiting[near] = False
    return np.array(queue, np.int64)


def _nodes(columns: list[IntArray]) -> IntArray:
    """Which of the different rows each row is, numbered as `consistency_of` does."""
    _, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64)
