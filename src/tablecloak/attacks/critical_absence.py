"""Critical absence: records that left the table take away values that others were hidden among."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.attacks._sensitive_values import histograms
from tablecloak.attacks.base import AttackSuccess, attack, success_of
from tablecloak.attacks.case import Case
from tablecloak.errors import DoesNotApplyError
from tablecloak.stats.value_labels import Labels


@dataclass(frozen=True, slots=True, eq=False)
class Absence:
    """Who cannot be hidden among the same values again."""

    is_victim: BoolArray  # (n_people,)
    n_counterfeits: int  # made-up records that would be needed at least


@attack("critical-absence")
def critical_absence(case: Case) -> AttackSuccess:
    """How many people of a later release cannot be hidden among the values of their earlier class again.

    The values of a person's first class are their signature. People are pooled by signature; for those who stay, every
    value must be there as often, compared with the others, as before, and what has left must come from new records. A
    signature whose missing value is too rare among these shows by its change what its people have.
    By guessing: nobody: without two releases nothing changes.
    Stopped by: counterfeit records, as m-invariance adds them, or keeping the later release back.
    Reference: Xiao, Tao, m-invariance: towards privacy preserving re-publication of dynamic datasets, SIGMOD 2007.
    """
    if not case.others:
        raise DoesNotApplyError("needs a later release about the same people (--release2 FILE)")
    later = case.others[0]
    name = next((n for n in histograms(case) if n in later.group_stats.hist), None)
    column = next((s for s in case.sensitive if s.name == name), None)
    truth = None if column is None else case.truth(column)
    if name is None or truth is None or case.row_of is None or later.row_of is None:
        raise DoesNotApplyError("needs the original, to know who is still in the later release")
    stays = np.isin(case.row_of, later.row_of)
    hist = case.histogram(name)
    new = _new_values(later, name, hist.domain.labels, truth[stays])
    absence = find_absence(case.groups, _signatures(case, name), truth, stays, new)
    n = int(stays.sum())
    details = {"column": name, "counterfeits_needed": absence.n_counterfeits, "left_the_table": int((~stays).sum())}
    success = success_of(case, absence.is_victim.astype(np.float64), baseline=0.0, details=details)
    return replace(success, average=float(absence.is_victim.sum()) / max(1, n), n_targets=n)


def find_absence(
    groups: IntArray, signatures: list[tuple[int, ...]], values: IntArray, stays: BoolArray, new: IntArray
) -> Absence:
    """Who lacks what.

    Args:
        groups: first class of every person.
        signatures: values of every class.
        values: the person's own value.
        stays: whether the person is in the later table.
        new: newcomers of the later table with each value.
    """
    was, is_left = _pools(groups, signatures, values), _pools(groups[stays], signatures, values[stays])
    missing = {signature: _missing(was[signature], left) for signature, left in is_left.items()}
    n_needed = np.zeros(len(new), np.int64)
    for lacks in missing.values():
        for value, n in lacks.items():
            n_needed[value] += n
    short = np.maximum(n_needed - new, 0)
    broken = {s for s, lacks in missing.items() if any(n and short[v] for v, n in lacks.items())}
    is_victim = np.array([signatures[g] in broken for g in groups.tolist()], bool) & stays
    return Absence(is_victim, int(short.sum()))


def _pools(
    groups: IntArray, signatures: list[tuple[int, ...]], values: IntArray
) -> dict[tuple[int, ...], Counter[int]]:
    """People with each value, by the signature of their class."""
    pools: dict[tuple[int, ...], Counter[int]] = {}
    for group, value in zip(groups.tolist(), values.tolist(), strict=True):
        pools.setdefault(signatures[group], Counter())[value] += 1
    return pools


def _missing(was: Counter[int], left: Counter[int]) -> dict[int, int]:
    """Records of each value that a pool lacks to have its values in the proportions it had."""
    least_share = max(Fraction(left[value], n) for value, n in was.items())
    return {value: ceil(n * least_share) - left[value] for value, n in was.items()}


def _signatures(case: Case, name: str) -> list[tuple[int, ...]]:
    hist = case.histogram(name)
    ends = zip(hist.indptr[:-1].tolist(), hist.indptr[1:].tolist(), strict=True)
    return [tuple(hist.codes[a:b].tolist()) for a, b in ends]


def _new_values(later: Case, name: str, labels: Labels, stayed: IntArray) -> IntArray:
    """Newcomers of the later release with each value of the earlier domain."""
    hist = later.histogram(name)
    published = np.bincount(hist.codes, weights=hist.counts, minlength=hist.domain.n_values)
    counted = dict(zip(hist.domain.labels, published.astype(np.int64).tolist(), strict=True))
    there = np.array([counted.get(label, 0) for label in labels], np.int64)
    new: IntArray = np.maximum(there - np.bincount(stayed, minlength=len(labels)), 0)
    return new
