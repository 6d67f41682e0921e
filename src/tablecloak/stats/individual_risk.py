"""Individual risk: the chance of linking a record of a survey right, when weights say how many people look alike.

Of the F people of the population who share a combination of quasi-identifiers, f were sampled, each with the chance
p = f / F, where F is estimated by the sum of their weights. What F is, given f, then follows a negative binomial
distribution with mean f / p, and the risk of each of the f records is

    r = E[1 / F | f] = p^f / f * 2F1(f, f; f + 1; 1 - p) = p / f * 2F1(1, 1; f + 1; 1 - p)
      = integral over u from 0 to 1 of 1 / (f + (F - f) u^(1/f)).

The last form shows that r falls with f and with F, whichever grows: at every u the denominator grows with F, and with
f, whose derivative there is (1 - u^(1/f)) + (F - f) u^(1/f) ln(1/u) / f^2, which is at least 0 where F is at least f.

F is estimated without bias by the design of the survey, but for a class that is small because hardly anybody is like
its records it is too large, and the risk too small: somebody who is alone in a sample of one in a hundred is taken for
one of a hundred.

Reference: Benedetti, Franconi, Statistical and technological solutions for controlled data dissemination, NTTS 1998;
Franconi, Polettini, Individual risk estimation in mu-Argus: a review, Privacy in Statistical Databases 2004.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import FloatArray, IntArray

# From so many records on, and where at least every other person was sampled, 64 terms of the series are exact.
FEW = 32
TERMS = 64


def individual_risk(records: IntArray | FloatArray, people: FloatArray) -> FloatArray:
    """The risk of the records of every class, (n_classes,), exactly; people are at least the records."""
    f = np.maximum(np.asarray(records, np.float64), 1.0)
    p = f / np.maximum(np.asarray(people, np.float64), f)
    by_steps = (f < FEW) & (p < 0.5)
    risk = np.empty(len(f))
    risk[~by_steps] = _series(f[~by_steps], p[~by_steps])
    risk[by_steps] = _steps(f[by_steps], p[by_steps])
    return risk


def _series(f: FloatArray, p: FloatArray) -> FloatArray:
    """p / f * (1 + q / (f+1) + 2 q^2 / ((f+1)(f+2)) + ...), where terms become small soon."""
    q = 1 - p
    term, total = np.ones(len(f)), np.ones(len(f))
    for m in range(1, TERMS):
        term = term * (m * q / (f + m))
        total += term
    return p / f * total


def _steps(f: FloatArray, p: FloatArray) -> FloatArray:
    """From the risk of one record, p/q ln(1/p), upwards: q r(f+1) = p (1/f - r(f)); errors shrink as p < q."""
    q = 1 - p
    risk = p / q * -np.log(p)
    for n in range(1, int(f.max(initial=1))):
        risk = np.where(f > n, p / q * (1 / n - risk), risk)
    return risk


def expected_reidentifications(records: IntArray, people: FloatArray) -> float:
    """Records that are linked right in expectation, if someone tries to link each of them once."""
    return float(records @ individual_risk(records, people))


def expected_population_uniques(records: IntArray, people: FloatArray) -> float:
    """Records that are alone in the population, in expectation: P(F = 1 | f = 1) = p for each that is alone here."""
    is_alone = np.asarray(records) == 1
    return float((1 / np.maximum(np.asarray(people, np.float64)[is_alone], 1.0)).sum())
