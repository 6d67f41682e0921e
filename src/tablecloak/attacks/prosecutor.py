"""Prosecutor: finding the row of a person who is known to be in the table."""

from __future__ import annotations

import numpy as np

from tablecloak.attacks._links import links_of
from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case


@attack("prosecutor")
def prosecutor(case: Case) -> AttackSuccess:
    """The chance that someone who knows a person's quasi-identifiers, and that they are in the table, finds their row.

    1 / (number of published rows whose cells cover the person); without the original 1 / (size of the class).
    A victim is found for certain or with a chance of more than one half.
    By guessing: one of all published rows.
    Stopped by: k-anonymity and its relatives: every person hides among at least k rows.
    Reference: Dankar, El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """
    links = links_of(case)
    details = {
        "unique_rows": int(np.count_nonzero(case.sizes == 1)),
        "above_0.2": float(np.mean(links.chances > 0.2 + 1e-9)),
        "classes": case.stats.n_classes,
    }
    return success_of(case, links.chances, people=links.people, details=details, notes=links.notes)
