"""Linking rows of a survey to people of its population, as far as weights tell."""

from __future__ import annotations

import numpy as np

from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.individual_risk import (
    expected_population_uniques,
    expected_reidentifications,
    individual_risk,
)


@attack("population-linkage")
def population_linkage(case: Case) -> AttackSuccess:
    """The chance that someone who has a register, not knowing who was asked, links a row of a survey right, by weights.

    E[1 / F] for every published row: F are the people of the population who would show what the row shows, negative
    binomial with mean the sum of the weights of its class (individual risk). Details are the expected number of right
    links and of rows that nobody else of the population looks like.
    By guessing: one of all people that the weights add up to.
    Stopped by: population-risk: no row has a greater individual risk; k-anonymity holds it below 1/k.
    Reference: Franconi, Polettini, Individual risk estimation in mu-Argus: a review, Privacy in Statistical Databases
    2004.
    """
    if case.weights is None:
        raise DoesNotApplyError("needs the weights of a survey (a policy that gives a published column role: weight)")
    sizes = case.stats.size
    people = np.bincount(case.classes, weights=case.weights, minlength=len(sizes)).astype(np.float64)
    total = float(np.maximum(people, sizes).sum())
    details = {
        "expected_links": expected_reidentifications(sizes, people),
        "expected_population_uniques": expected_population_uniques(sizes, people),
        "people": total,
    }
    chances = individual_risk(sizes, people)[case.classes]
    return success_of(case, chances, baseline=1 / max(1.0, total), details=details)
