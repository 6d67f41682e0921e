"""Foreground knowledge: patterns mined from the release, used as background knowledge against it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks._possible_worlds import Arcs, balanced
from tablecloak.attacks._sensitive_values import histograms
from tablecloak.attacks.base import AttackSuccess, attack
from tablecloak.attacks.case import Case, Quasi
from tablecloak.attacks.definetti import ARCS_UP_TO, finding_of_guesses
from tablecloak.data.coverage import Coverage
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.classes import Histogram

CELLS_UP_TO = 20_000_000


@attack("foreground-knowledge", on_request=True)
def foreground_knowledge(case: Case) -> AttackSuccess:
    """The chance of a person's own value after mining the release for how one quasi-identifier goes with values.

    For one column at a time the share of every sensitive value among records that may have a quasi-identifier value is
    taken from the release, records being spread evenly over what their cells cover. The values of each class are shared
    out by these shares, each value as often as it occurs. The column that gains most counts. A victim's own value gets
    more than one half, and more than its share of the class.
    By guessing: the share of the own value in the whole table.
    Stopped by: t-closeness, beta-likeness; classes whose people are alike.
    Reference: Wong, Fu, Wang and others, Can the utility of anonymized data be used for privacy breaches?, ACM
    Transactions on Knowledge Discovery from Data 2011.
    """
    if case.row_of is None:
        raise DoesNotApplyError("needs the original, to know whose guess is right")
    guesses = []
    for column in case.sensitive:
        hist, truth = histograms(case).get(column.name), case.truth(column)
        if hist is None or truth is None or int(hist.distinct()[case.groups].sum()) > ARCS_UP_TO:
            continue
        arcs = Arcs(case.groups, hist)
        for quasi in case.quasi:
            weights = _weights(case, quasi, hist, arcs)
            if weights is not None:
                guess = finding_of_guesses(case, hist, arcs, balanced(arcs, weights * arcs.share), truth)
                guesses.append((guess, quasi.name))
    if not guesses:
        raise DoesNotApplyError("needs a sensitive column with few values, and cells that cover the original")
    best, name = max(guesses, key=lambda item: (item[0].average, item[0].n_victims))
    return replace(best, details={**best.details, "pattern_column": name})


def _weights(case: Case, quasi: Quasi, hist: Histogram, arcs: Arcs) -> FloatArray | None:
    codes = case.codes_of_rows(quasi)
    if codes is None or quasi.coverage is None or quasi.domain is None:
        return None
    if quasi.domain.n_codes * hist.domain.n_values > CELLS_UP_TO:
        return None
    mined = pattern(case, quasi.coverage, quasi.labels, hist, quasi.domain.n_codes)
    weights: FloatArray = mined[codes[arcs.person], arcs.value] / np.maximum(hist.total_shares()[arcs.value], 1e-300)
    return weights


def pattern(case: Case, coverage: Coverage, labels: IntArray, hist: Histogram, n_codes: int) -> FloatArray:
    """The share of every sensitive value among records that may have each code, (n_codes, n_values)."""
    n_values = hist.domain.n_values
    used, n_used = np.unique(case.groups * len(coverage.lo) + labels, return_counts=True)
    group, label = np.divmod(used, len(coverage.lo))
    expected = np.zeros((len(coverage.lo), n_values))  # records of each text with each value
    widths = hist.distinct()[group]
    entry = np.repeat(hist.indptr[group] - (np.cumsum(widths) - widths), widths) + np.arange(int(widths.sum()))
    amount = np.repeat(n_used, widths) * hist.shares()[entry]
    np.add.at(expected, (np.repeat(label, widths), hist.codes[entry]), amount)
    mass = _spread(coverage, expected, n_codes)
    total = mass.sum(axis=1, keepdims=True)
    shares: FloatArray = np.divide(mass, total, out=np.zeros_like(mass), where=total > 0)
    return shares


def _spread(coverage: Coverage, expected: FloatArray, n_codes: int) -> FloatArray:
    """Records of texts shared out evenly over the codes they cover."""
    sizes = np.maximum(coverage.sizes(), 1)
    steps = np.zeros((n_codes + 1, expected.shape[1]))
    is_plain = coverage.lo <= coverage.hi
    is_plain[list(coverage.sets)] = False
    plain = np.flatnonzero(is_plain)
    np.add.at(steps, coverage.lo[plain], expected[plain] / sizes[plain, None])
    np.add.at(steps, coverage.hi[plain] + 1, -expected[plain] / sizes[plain, None])
    mass = np.maximum(np.cumsum(steps, axis=0)[:-1], 0.0)
    for label, members in coverage.sets.items():
        mass[sorted(members)] += expected[label] / sizes[label]
    return mass
