"""Marketer: linking everybody to a row, right on average."""

from __future__ import annotations

from tablecloak.attacks._links import links_of
from tablecloak.attacks.base import AttackSuccess, attack, mean_chance, worst_people
from tablecloak.attacks.case import Case


@attack("marketer")
def marketer(case: Case) -> AttackSuccess:
    """The share of all records that someone who links everybody they know to a row gets right, on average.

    The mean of 1 / (number of rows that cover the person); victims are the expected number of right links.
    By guessing: one of all published rows for everybody.
    Stopped by: larger classes: k-anonymity bounds it by 1/k, average-risk bounds it itself.
    Reference: Dankar, El Emam, A method for evaluating marketer re-identification risk, PAIS 2010.
    """
    links = links_of(case)
    chances = links.chances
    worst, rows_of = worst_people(case, chances, links.people)
    average = mean_chance(chances)
    return AttackSuccess(
        highest=None, average=average, n_targets=case.n_rows, n_victims=round(float(chances.sum())), worst=worst,
        rows_of=rows_of, baseline=1 / max(1, case.n_rows), notes=links.notes,
    )  # fmt: skip
