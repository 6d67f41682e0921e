"""Journalist: linking rows to people of a population."""

from __future__ import annotations

import numpy as np

from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.attacks.covering_classes import population_counts
from tablecloak.errors import DoesNotApplyError


@attack("journalist")
def journalist(case: Case) -> AttackSuccess:
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
    smallest = int(counts.min(initial=case.n_population)) if len(counts) else 0
    n_nobody = int(np.count_nonzero(counts[case.classes] == 0))
    notes = (f"{n_nobody:,} rows cover nobody of the population",) if n_nobody else ()
    baseline = 1 / max(1, case.n_population)
    return success_of(case, of_class[case.classes], baseline=baseline, details={"k_map": smallest}, notes=notes)
