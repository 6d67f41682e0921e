"""A sensitive attribute that is known after all singles people out like any quasi-identifier."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks._links import CLASSES, LinkChances, links_of
from tablecloak.attacks.base import AttackSuccess, attack, mean_chance, success_of
from tablecloak.attacks.case import Case, Sensitive
from tablecloak.attacks.covering_classes import ARCS_UP_TO
from tablecloak.attacks.given_facts import share_of
from tablecloak.attacks.row_classes import classes_of
from tablecloak.errors import DoesNotApplyError


@attack("known-sensitive")
def known_sensitive(case: Case) -> AttackSuccess:
    """The chance of finding a person's row for someone who also knows one of their sensitive values.

    1 / (number of published rows that cover the person and show their value), one sensitive column at a time; the one
    that exposes most counts. Without the original, rows are those of the same class. A victim is found for certain or
    with a chance of more than one half.
    By guessing: one of all published rows.
    Stopped by: multi-attribute l-diversity, or giving the column the role quasi.
    Reference: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    links = links_of(case)
    successes = []
    for column in case.sensitive:
        if column.codes is None or case.is_grouped:
            continue
        counted = _rows_that_show(case, column, links)
        people = None if counted is None else links.people
        rows = _rows_of_class(case, column.codes) if counted is None else counted
        chances = np.divide(1.0, rows, out=np.zeros(len(rows)), where=rows > 0)
        details = {"column": column.name, "without_the_value": mean_chance(links.chances)}
        notes = (CLASSES,) if counted is None and case.people is not None else ()
        successes.append(success_of(case, chances, people=people, details=details, notes=notes))
    if not successes:
        raise DoesNotApplyError("needs a sensitive column that stands beside the quasi-identifiers")
    return max(successes, key=lambda f: f.severity)


def _rows_of_class(case: Case, codes: IntArray) -> FloatArray:
    """Rows of the own class with the same value, (n_rows,)."""
    classes, n_classes = classes_of([case.classes, codes])
    return np.bincount(classes, minlength=n_classes)[classes].astype(np.float64)


def _rows_that_show(case: Case, column: Sensitive, links: LinkChances) -> FloatArray | None:
    """Rows that cover each person and show their own value, (n_people,); None where that is not known."""
    candidates = links.candidates
    if candidates is None or links.people is None or column.originals is None:
        return None
    values = column.originals[links.people]
    keys, of_person = np.unique(candidates.tuple_of_target * column.domain.n_values + values, return_inverse=True)
    of_tuple, value = np.divmod(keys, column.domain.n_values)
    begin = np.searchsorted(candidates.tuples, of_tuple)
    width = np.searchsorted(candidates.tuples, of_tuple, side="right") - begin
    if int(width.sum()) > ARCS_UP_TO:
        return None
    pair = np.repeat(np.arange(len(keys)), width)
    arc = np.repeat(begin - (np.cumsum(width) - width), width) + np.arange(len(pair))
    hist = case.histogram(column.name)
    shown = share_of(hist, hist.counts.astype(np.float64), candidates.classes[arc], value[pair])
    rows = np.bincount(pair, weights=shown, minlength=len(keys))
    of_people: FloatArray = rows[of_person.reshape(-1)]
    return of_people
