"""Marketer: linking everybody to a row, right on average."""

from __future__ import annotations

from dataclasses import replace

from tablecloak.attacks._links import links_of
from tablecloak.attacks.base import AttackSuccess, attack, success_of
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
    success = success_of(case, links.chances, people=links.people, notes=links.notes)
    return replace(success, highest=None, n_victims=round(float(links.chances.sum())))
