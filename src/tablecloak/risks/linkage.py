"""Record linkage: finding the row of a person by what is known about them."""

from __future__ import annotations

import numpy as np

from tablecloak.data.pairs import consistency_of
from tablecloak.risks.base import LIKELY, DoesNotApplyError, Finding, attack, worst_rows
from tablecloak.risks.candidates import candidates_of, population_counts
from tablecloak.risks.case import Case, FloatArray

__all__ = ["journalist", "linkage_knowing_everybody", "marketer", "prosecutor"]

# Matching everybody at once is attempted up to this many rows.
MATCH_UP_TO = 40_000
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
    chances, notes = _chances(case)
    worst, rows_of = worst_rows(case, chances)
    n_unique = int(np.count_nonzero(case.sizes == 1))
    details = {
        "unique_rows": n_unique,
        "above_0.2": float(np.mean(chances > 0.2 + 1e-9)),
        "classes": case.stats.n_classes,
    }
    return Finding(
        highest=float(chances.max(initial=0.0)), average=_mean(chances), n_targets=case.n_rows,
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of,
        baseline=1 / max(1, case.n_rows), details=details, notes=notes,
    )  # fmt: skip


@attack("marketer")
def marketer(case: Case) -> Finding:
    """The share of all records that someone who links everybody they know to a row gets right, on average.

    The mean of 1 / (number of rows that cover the person); victims are the expected number of right links.
    By guessing: one of all published rows for everybody.
    Stopped by: larger classes: k-anonymity bounds it by 1/k, average-risk bounds it itself.
    Reference: Dankar, El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """
    chances, notes = _chances(case)
    worst, rows_of = worst_rows(case, chances)
    average = _mean(chances)
    return Finding(
        highest=None, average=average, n_targets=case.n_rows, n_victims=round(float(chances.sum())), worst=worst,
        rows_of=rows_of, baseline=1 / max(1, case.n_rows), notes=notes,
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

    Rows count only if all other people can then still be matched with the other rows: 1 / (number of such rows).
    Where rows and people are few, the exact chance over all possible matchings is a detail.
    By guessing: one of all published rows.
    Stopped by: k-concealment; k-anonymity implies it.
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
    graph = consistency_of(sides, is_in_order=True)
    counts = graph.admissible_rows()
    assert counts is not None
    node = _nodes([codes for _, _, codes in sides])
    chances = 1.0 / np.maximum(counts[node], 1)
    worst, rows_of = worst_rows(case, chances)
    exact = graph.link_probabilities() if case.n_rows == len(graph.n_of_original) == len(graph.n_of_published) else None
    details = {} if exact is None else {"exact_highest": max(float(max(p.values())) for p in exact if p)}
    return Finding(
        highest=float(chances.max(initial=0.0)), average=_mean(chances), n_targets=case.n_rows,
        n_victims=int(np.count_nonzero(chances > LIKELY)), worst=worst, rows_of=rows_of,
        baseline=1 / max(1, case.n_rows), details=details,
    )  # fmt: skip


def _nodes(columns: list[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which of the different rows each row is, numbered as `consistency_of` does."""
    _, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
    return inverse.reshape(-1).astype(np.int64)


def _chances(case: Case) -> tuple[FloatArray, tuple[str, ...]]:
    """Chance of linking every published row with its person, (n_rows,), and how it was counted."""
    if "chances" not in case.memo:
        case.memo["chances"] = _counted_chances(case)
    found: tuple[FloatArray, tuple[str, ...]] = case.memo["chances"]
    return found


def _counted_chances(case: Case) -> tuple[FloatArray, tuple[str, ...]]:
    if case.row_of is not None and case.is_covering:
        codes = [column.codes[case.row_of] for column in case.quasi if column.codes is not None]
        found = candidates_of(case, codes)
        if found is not None:
            rows = found.per_target(case.stats.size.astype(np.float64))
            return np.divide(1.0, rows, out=np.zeros(len(rows)), where=rows > 0), ()
        return 1.0 / case.sizes, (CLASSES,)
    return 1.0 / case.sizes, ()


def _mean(chances: FloatArray) -> float:
    return float(chances.mean()) if len(chances) else 0.0
