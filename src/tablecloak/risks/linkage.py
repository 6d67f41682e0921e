"""Record linkage: finding the row of a person by what is known about them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tablecloak.data.pairs import consistency_of
from tablecloak.risks.base import LIKELY, DoesNotApplyError, Finding, attack, worst_people, worst_rows
from tablecloak.risks.candidates import Candidates, candidates_of, population_counts
from tablecloak.risks.case import Case, FloatArray, IntArray
from tablecloak.risks.worlds import posteriors
from tablecloak.stats.consistency import Consistency

__all__ = ["journalist", "link_chances", "linkage_knowing_everybody", "links_of", "marketer", "prosecutor"]

BoolArray = NDArray[np.bool_]
# Matching everybody at once is attempted up to this many rows.
MATCH_UP_TO = 40_000
# ... and matchings of parts of the table are counted in so many steps in all, none of a part with more pairs.
STEPS_UP_TO = 2_000_000
CELLS_UP_TO = 1_000_000
# Rows of other classes that cover a person are looked for among so many people, and so many pairs with classes: a
# report of a run must not take longer for it than for the rest.
COMPARE_UP_TO = 1_000_000
PAIRS_UP_TO = 500_000_000
CLASSES = "counted on classes of equal rows; rows of other classes that also cover a person would lower it"


@attack("prosecutor")
def prosecutor(case: Case) -> Finding:
    """The chance that someone who knows a person's quasi-identifiers, and that they are in the table, finds their row.

    1 / (number of published rows whose cells cover the person); without the original 1 / (size of the class).
    A victim is found for certain or with a chance of more than one half.
    By guessing: one of all published rows.
    Stopped by: k-anonymity and its relatives: every person hides among at least k rows.
    Reference: Dankar, El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """
    links = links_of(case)
    chances = links.chances
    worst, rows_of = worst_people(case, chances, links.people)
    n_unique = int(np.count_nonzero(case.sizes == 1))
    details = {
        "unique_rows": n_unique,
        "above_0.2": float(np.mean(chances > 0.2 + 1e-9)),
        "classes": case.stats.n_classes,
    }
    return Finding(
        highest=float(chances.max(initial=0.0)), average=_mean(chances), n_targets=case.n_rows,
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of,
        baseline=1 / max(1, case.n_rows), details=details, notes=links.notes,
    )  # fmt: skip


@attack("marketer")
def marketer(case: Case) -> Finding:
    """The share of all records that someone who links everybody they know to a row gets right, on average.

    The mean of 1 / (number of rows that cover the person); victims are the expected number of right links.
    By guessing: one of all published rows for everybody.
    Stopped by: larger classes: k-anonymity bounds it by 1/k, average-risk bounds it itself.
    Reference: Dankar, El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """
    links = links_of(case)
    chances = links.chances
    worst, rows_of = worst_people(case, chances, links.people)
    average = _mean(chances)
    return Finding(
        highest=None, average=average, n_targets=case.n_rows, n_victims=round(float(chances.sum())), worst=worst,
        rows_of=rows_of, baseline=1 / max(1, case.n_rows), notes=links.notes,
    )  # fmt: skip


@attack("journalist")
def journalist(case: Case) -> Finding:
    """The chance that someone who has a register of the population, not knowing who is in the table, links a row right.

    1 / (number of people of the population that the row covers), for every published row.
    By guessing: one of all people of the population.
    Stopped by: k-map: every row covers at least k people of the population; k-anonymity implies it.
    Reference: Sweeney, k-anonymity: a model for protecting privacy, International Journal on Uncertainty, Fuzziness
    and Knowledge-based Systems 2002.
    """
    if case.n_population is None:
        raise DoesNotApplyError("needs a table of the population (--population FILE)")
    counts = population_counts(case)
    if counts is None:
        raise DoesNotApplyError("rows, people and values are too many to compare each with each")
    of_class = np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
    chances = of_class[case.classes]
    worst, rows_of = worst_rows(case, chances)
    smallest = int(counts.min(initial=case.n_population)) if len(counts) else 0
    n_nobody = int(np.count_nonzero(counts[case.classes] == 0))
    notes = (f"{n_nobody:,} rows cover nobody of the population",) if n_nobody else ()
    return Finding(
        highest=float(chances.max(initial=0.0)), average=_mean(chances), n_targets=case.n_rows,
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of,
        baseline=1 / max(1, case.n_population), details={"k_map": smallest}, notes=notes,
    )  # fmt: skip


@attack("linkage-knowing-everybody", on_request=True)
def linkage_knowing_everybody(case: Case) -> Finding:
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
    chances = of_node[node]
    worst, rows_of = worst_rows(case, chances)
    n_bounded = int(np.count_nonzero(~is_counted[node]))
    notes = (f"of {n_bounded:,} people only the least possible chance is known: their part is too large to count",)
    return Finding(
        highest=float(chances.max(initial=0.0)), average=_mean(chances), n_targets=case.n_rows,
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of,
        baseline=1 / max(1, case.n_rows), details={"people_counted": case.n_rows - n_bounded},
        notes=notes if n_bounded else (),
    )  # fmt: skip


def link_chances(graph: Consistency) -> tuple[FloatArray, BoolArray]:
    """The greatest chance of one row for every original node, and whether it was counted; otherwise it is the least.

    All perfect matchings of originals with rows that cover them are equally likely. Parts between which no matching
    goes are independent; where all rows of a part cover all its originals, each has each with the same chance.
    """
    found = graph.components()
    assert found is not None
    of_original, of_published = found
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


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """The chance of finding the row of every target."""

    chances: FloatArray  # (n_targets,)
    people: IntArray | None  # (n_targets,) originals; None: targets are the published rows
    candidates: Candidates | None = None
    notes: tuple[str, ...] = ()


def links_of(case: Case) -> Links:
    """Chances of linking people with their rows, and how they were counted."""
    if "links" not in case.memo:
        case.memo["links"] = _links(case)
    found: Links = case.memo["links"]
    return found


def _links(case: Case) -> Links:
    people = case.people
    if people is None:
        return Links(1.0 / case.sizes, None)
    codes = [column.codes[people] for column in case.quasi if column.codes is not None]
    found = candidates_of(case, codes, pairs_up_to=PAIRS_UP_TO) if len(people) <= COMPARE_UP_TO else None
    if found is None:
        return Links(1.0 / case.sizes, None, notes=(CLASSES,))
    rows = found.per_target(case.stats.size.astype(np.float64))
    return Links(np.divide(1.0, rows, out=np.zeros(len(rows)), where=rows > 0), people, found)


def _mean(chances: FloatArray) -> float:
    return float(chances.mean()) if len(chances) else 0.0
