"""Composition: several releases about the same people, each safe alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tablecloak.arrays import BoolArray, IntArray
from tablecloak.attacks.base import AttackSuccess, attack, mean_chance, success_of
from tablecloak.attacks.case import Case
from tablecloak.attacks.covering_classes import candidates_of
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import child

# A table of people by values stays below this many cells; beyond that, people are drawn.
CELLS_UP_TO = 100_000_000


@attack("composition")
def composition(case: Case) -> AttackSuccess:
    """What remains possible for a person who is in several releases: values that their classes have in every one.

    For every release the values of all rows that cover the person are listed (of their own class where rows are too
    many to compare); what all lists share remains. The chance is 1 / (values that remain); one value is a disclosure,
    and where the original is known a victim's value must be that one.
    By guessing: one of all values that the releases show.
    Stopped by: m-invariance, or one release only; the ledger of earlier releases warns.
    Reference: Ganta, Kasiviswanathan, Smith, Composition attacks and auxiliary information in data privacy, KDD 2008.
    """
    if not case.others:
        raise DoesNotApplyError("needs another release about the same people (--release2 FILE)")
    if case.row_of is None or case.n_originals is None:
        raise DoesNotApplyError("needs the original, to know whose classes are compared")
    shared = [n for n in case.group_stats.hist if all(n in other.group_stats.hist for other in case.others)]
    if not shared:
        raise DoesNotApplyError("needs a sensitive column that all releases publish")
    successes = [_intersected(case, name) for name in shared]
    return max(successes, key=lambda f: f.severity)


def _intersected(case: Case, name: str) -> AttackSuccess:
    assert case.row_of is not None
    hists = [c.histogram(name) for c in (case, *case.others)]
    values = list(dict.fromkeys(label for h in hists for label in h.domain.labels))
    if max(h.n_classes for h in hists) * len(values) > CELLS_UP_TO:
        raise DoesNotApplyError("classes and sensitive values are too many to list what each has")
    rows = _targets(case, len(values))
    people = case.row_of[rows]
    first = _possible(case, people, name, values, rows)
    remaining, n_seen = first.copy(), np.ones(len(rows), np.int64)
    for other in case.others:
        possible = _possible(other, people, name, values, None)
        is_in = possible.any(axis=1)
        remaining[is_in] &= possible[is_in]
        n_seen += is_in
    left = remaining.sum(axis=1)
    chances = np.divide(1.0, left, out=np.zeros(len(left)), where=(left > 0) & (n_seen > 1))
    victims = (left == 1) & (n_seen > 1)
    truth = next((case.truth(s) for s in case.sensitive if s.name == name), None)
    if truth is not None:
        place = {label: i for i, label in enumerate(values)}
        own = np.array([place[label] for label in case.histogram(name).domain.labels])[truth[rows]]
        victims &= remaining[np.arange(len(rows)), own]
    by_one = 1.0 / np.maximum(first.sum(axis=1), 1)
    is_target = n_seen > 1
    details = {
        "column": name,
        "releases": 1 + len(case.others),
        "by_the_first_release_alone": mean_chance(by_one[is_target]),
        "contradictions": int(np.count_nonzero((left == 0) & (n_seen > 1))),
    }
    success = success_of(
        case, np.where(victims, 1.0, 0.0), baseline=1 / max(1, len(values)), rows=rows, details=details
    )
    return replace(
        success, highest=float(chances.max(initial=0.0)), average=mean_chance(chances[is_target]),
        n_targets=int(np.count_nonzero(is_target)), n_sampled=len(rows) if len(rows) < case.n_rows else None,
    )  # fmt: skip


def _targets(case: Case, n_values: int) -> IntArray:
    most = max(1, CELLS_UP_TO // max(1, n_values))
    if case.n_rows <= most:
        return np.arange(case.n_rows)
    return np.sort(child(case.attacker.seed, "composition").choice(case.n_rows, most, replace=False))


def _possible(
    case: Case, people: IntArray, name: str, values: Sequence[str | None], rows: IntArray | None
) -> BoolArray:
    """Which values each person may have by one release, (n_people, n_values); none where no row covers them.

    Args:
        rows: the published rows of the people, where known.
    """
    hist = case.histogram(name)
    place = {label: i for i, label in enumerate(values)}
    columns = np.array([place[label] for label in hist.domain.labels], np.int64)
    in_group = np.zeros((hist.n_classes, len(values)), bool)
    in_group[hist.entry_class(), columns[hist.codes]] = True
    codes = [q.codes[people] for q in case.quasi if q.codes is not None]
    candidates = candidates_of(case, codes) if len(codes) == len(case.quasi) and case.is_covering is not False else None
    if candidates is not None:
        in_class = _of_classes(case, in_group)
        of_tuple = np.zeros((len(candidates.n_of_tuple), len(values)), bool)
        np.logical_or.at(of_tuple, candidates.tuples, in_class[candidates.classes])
        return of_tuple[candidates.tuple_of_target]
    own = rows if rows is not None else _rows_of_people(case, people)
    possible: BoolArray = in_group[case.groups[np.maximum(own, 0)]] & (own >= 0)[:, None]
    return possible


def _of_classes(case: Case, in_group: BoolArray) -> BoolArray:
    """Values that the rows of a class may have: those of all groups its rows are in."""
    if not case.is_grouped:
        return in_group
    in_class = np.zeros((case.stats.n_classes, in_group.shape[1]), bool)
    np.logical_or.at(in_class, case.classes, in_group[case.groups])
    return in_class


def _rows_of_people(case: Case, people: IntArray) -> IntArray:
    """The published row of every person, -1 where there is none or it is not known."""
    if case.row_of is None or case.n_originals is None:
        return np.full(len(people), -1, np.int64)
    row = np.full(case.n_originals, -1, np.int64)
    published = np.flatnonzero(case.row_of >= 0)
    row[case.row_of[published]] = published
    return row[people]
