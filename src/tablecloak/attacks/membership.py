"""Membership (table linkage): learning whether a person is in the table at all."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray
from tablecloak.attacks.base import LIKELY, MOST_ROWS, AttackSuccess, attack
from tablecloak.attacks.case import Case
from tablecloak.attacks.covering_classes import Candidates, candidates_of
from tablecloak.errors import DoesNotApplyError


@attack("membership")
def membership(case: Case) -> AttackSuccess:
    """The chance that a person of the population is in the table: rows of their class over people it covers.

    A person whom no row covers is known not to be in it: chance 0. Where several classes cover a person, the largest
    chance counts. The average is over the people in the table; a victim is in it with a chance of more than one half.
    By guessing: rows of the table over people of the population.
    Stopped by: delta-presence, c-confident delta-presence, differential privacy. Exact values in groups make it worse.
    Reference: Nergiz, Atzori, Clifton, Hiding the presence of individuals from shared databases, SIGMOD 2007.
    """
    if case.n_population is None:
        raise DoesNotApplyError("needs a table of the population (--population FILE)")
    candidates = candidates_of(case, [c.people for c in case.quasi if c.people is not None])
    if candidates is None:
        raise DoesNotApplyError("rows, people and values are too many to compare each with each")
    chances, of_class = presence_of(candidates, case.stats.size.astype(np.float64))
    n_rows = max(1, case.n_rows)
    prior = n_rows / max(1, case.n_population)
    order = np.argsort(-chances, kind="stable")[:MOST_ROWS]
    return AttackSuccess(
        highest=float(chances.max(initial=0.0)),
        average=float((of_class * case.stats.size).sum()) / n_rows,
        n_targets=case.n_population,
        n_victims=int(np.count_nonzero((chances > LIKELY) & (chances > prior + 1e-9))),
        worst=tuple(int(i) + 1 for i in order if chances[i] > 0),
        rows_of="population",
        baseline=min(1.0, prior),
        details={
            "delta_min": float(chances.min(initial=1.0)),
            "delta_max": float(chances.max(initial=0.0)),
            "certainly_in": int(np.count_nonzero(chances >= 1)),
            "certainly_not_in": int(np.count_nonzero(chances == 0)),
        },
    )


def presence_of(candidates: Candidates, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chance that every person is in the table, (n_people,), and that of those a class covers, (n_classes,)."""
    people = candidates.per_class(len(sizes))
    of_class = np.minimum(1.0, sizes / np.maximum(people, 1))
    of_tuple = np.zeros(len(candidates.n_of_tuple))
    np.maximum.at(of_tuple, candidates.tuples, of_class[candidates.classes])
    return of_tuple[candidates.tuple_of_target], of_class
