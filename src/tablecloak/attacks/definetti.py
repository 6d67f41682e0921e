"""deFinetti: learning from a bucketised release itself which value suits which person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks._possible_worlds import Arcs, balanced
from tablecloak.attacks._sensitive_values import histograms
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack, mean_chance, success_of, worst_rows
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.classes import Histogram

ROUNDS = 10
SMOOTHING = 1.0
ARCS_UP_TO = 8_000_000


@attack("definetti", on_request=True)
def definetti(case: Case) -> AttackSuccess:
    """The chance of a person's own value after learning from all groups together how quasi-identifiers go with values.

    A naive Bayes model is learned from the groups as they stand, every person having each value of the group with its
    share; the values of each group are shared out anew by the model, each value as often as it is published, and the
    model is learned again, ten times. A victim's own value gets more than one half, and more than its share.
    By guessing: the share of the own value in the whole table.
    Stopped by: generalised quasi-identifiers (t-closeness on classes), or differential privacy; l-diverse groups do
    not.
    Reference: Kifer, Attacks on privacy and deFinetti's theorem, SIGMOD 2009.
    """
    if not case.is_grouped:
        raise DoesNotApplyError("is made for releases that keep exact values in groups, such as Anatomy")
    successes = []
    for column in case.sensitive:
        hist = histograms(case).get(column.name)
        truth = case.truth(column)
        if hist is None or truth is None:
            continue
        if int((hist.distinct()[case.groups]).sum()) > ARCS_UP_TO:
            raise DoesNotApplyError("groups and values are too many to learn from each pair")
        successes.append(_finding(case, hist, truth))
    if not successes:
        raise DoesNotApplyError("needs the original, to know whose guess is right")
    return max(successes, key=lambda f: f.severity)


def _finding(case: Case, hist: Histogram, truth: IntArray) -> AttackSuccess:
    arcs = Arcs(case.groups, hist)
    chances = definetti_chances([q.labels for q in case.quasi], arcs, hist.domain.n_values)
    return finding_of_guesses(case, hist, arcs, chances, truth)


def definetti_chances(columns: Sequence[IntArray], arcs: Arcs, n_values: int) -> FloatArray:
    """The chance of every pair of person and value of their group, (n_arcs,).

    Args:
        columns: codes of the quasi-identifiers of every person.
    """
    chances = arcs.share.copy()
    for _ in range(ROUNDS):
        score = np.zeros(len(chances))
        weight_of_value = np.bincount(arcs.value, weights=chances, minlength=n_values)
        for codes in columns:
            n_codes = int(codes.max(initial=0)) + 1
            pair = codes[arcs.person] * n_values + arcs.value
            weight_of_pair = np.bincount(pair, weights=chances, minlength=n_codes * n_values)
            score += np.log((weight_of_pair[pair] + SMOOTHING) / (weight_of_value[arcs.value] + SMOOTHING * n_codes))
        top = np.full(arcs.n_people, -np.inf)
        np.maximum.at(top, arcs.person, score)
        chances = balanced(arcs, np.exp(score - top[arcs.person]) * arcs.share)
    return chances


def finding_of_guesses(case: Case, hist: Histogram, arcs: Arcs, chances: FloatArray, truth: IntArray) -> AttackSuccess:
    """What beliefs about the people of groups are worth, held against the truth."""
    is_own = arcs.value == truth[arcs.person]
    own = arcs.by_person(np.where(is_own, chances, 0.0))
    share = arcs.by_person(np.where(is_own, arcs.share, 0.0))
    best = np.full(arcs.n_people, -1.0)
    np.maximum.at(best, arcs.person, chances)
    top = np.full(arcs.n_people, -1.0)
    np.maximum.at(top, arcs.person, arcs.share)
    worst, rows_of = worst_rows(case, np.where(own > share + 1e-9, own, 0.0))
    details = {
        "column": hist.domain.name,
        "by_share_of_the_group": mean_chance(share),
        "best_guess_right": mean_chance(np.isclose(own, best)),
        "best_guess_right_by_share": mean_chance(np.isclose(share, top) * share),
    }
    success = success_of(case, own, baseline=mean_chance(hist.total_shares()[truth]), details=details)
    n_victims = int(np.count_nonzero((own > LIKELY) & (own > share + 1e-9)))
    return replace(success, n_victims=n_victims, worst=worst, rows_of=rows_of)
