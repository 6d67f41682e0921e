"""Impossible pairs: combinations that cannot be true undo swapping and permutation."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import BoolArray, FloatArray, IntArray
from tablecloak.attacks._possible_worlds import posteriors
from tablecloak.attacks._sensitive_values import histograms
from tablecloak.attacks.base import LIKELY, AttackSuccess, attack, mean_chance, success_of, worst_rows
from tablecloak.attacks.case import Case, Sensitive
from tablecloak.attacks.given_facts import rows_with
from tablecloak.errors import DoesNotApplyError
from tablecloak.rng import child
from tablecloak.stats.classes import Histogram

# A pair that is in no record although this many would be expected by chance is taken for impossible.
EXPECTED_FROM = 20.0
MOST_GROUPS = 2_000
STEPS_UP_TO = 100_000  # of counting the worlds of one group
CELLS_UP_TO = 200_000_000


@attack("impossible-pairs")
def impossible_pairs(case: Case) -> AttackSuccess:
    """What pairs that cannot be true give away about rows whose sensitive values were exchanged.

    Pairs of a quasi-identifier value and a sensitive value are impossible by given facts of weight 0, or else if no
    record of the original has them although 20 would be expected by chance. In groups, values are shared out in all
    ways without an impossible pair, exactly where groups are small; a victim's own value gets more than one half, and
    more than its share. Rows that show an impossible pair as they stand were certainly changed.
    By guessing: the share of the own value in the whole table; of rows as they stand, none is known to be changed.
    Stopped by: swapping and permuting only between rows for which every value is possible.
    Reference: Zigomitros, Casino, Solanas, Patsakis, A survey on privacy properties for data publishing of relational
    data, IEEE Access 2020.
    """
    if any(case.n_rows * s.domain.n_values > CELLS_UP_TO for s in case.sensitive):
        raise DoesNotApplyError("rows and sensitive values are too many to list all pairs")
    forbidden = {s.name: forbidden_values(case, s) for s in case.sensitive}
    if not any(f.any() for f in forbidden.values()):
        raise DoesNotApplyError("no pair is known to be impossible (--facts FILE with weight 0)")
    if case.is_grouped:
        successes = [_in_groups(case, s, forbidden[s.name]) for s in case.sensitive if case.truth(s) is not None]
        if not successes:
            raise DoesNotApplyError("needs the original, to know whose guess is right")
        return max(successes, key=lambda f: f.severity)
    return _in_rows(case, forbidden)


def forbidden_values(case: Case, column: Sensitive) -> BoolArray:
    """Which sensitive values every published row cannot have, (n_rows, n_values)."""
    n_values = column.domain.n_values
    facts = [f for f in case.facts if f.sensitive == column.name and f.weight == 0 and f.value in column.domain.labels]
    forbidden = np.zeros((case.n_rows, n_values), bool)
    for fact in facts:
        forbidden[rows_with(case, fact), column.domain.labels.index(fact.value)] = True
    if facts or column.originals is None or case.row_of is None:
        return forbidden
    prior = np.bincount(column.originals, minlength=n_values) / len(column.originals)
    for quasi in case.quasi:
        if quasi.codes is None or quasi.domain is None or quasi.domain.n_codes * n_values > 1_000_000:
            continue
        key = quasi.codes * n_values + column.originals
        counts = np.bincount(key, minlength=quasi.domain.n_codes * n_values).reshape(-1, n_values)
        never = (counts == 0) & (counts.sum(axis=1, keepdims=True) * prior >= EXPECTED_FROM)
        forbidden |= never[quasi.codes[case.row_of]]
    return forbidden


def _in_rows(case: Case, forbidden: dict[str, BoolArray]) -> AttackSuccess:
    """Rows that show what cannot be: their sensitive value is someone else's."""
    shows = np.zeros(case.n_rows, bool)
    for column in case.sensitive:
        if column.codes is not None:
            shows |= forbidden[column.name][np.arange(case.n_rows), column.codes]
    n_forbidden = int(np.any([f.any(axis=1) for f in forbidden.values()], axis=0).sum())
    details = {"rows_with_a_forbidden_value": n_forbidden}
    return success_of(case, shows.astype(np.float64), baseline=0.0, details=details)


def _in_groups(case: Case, column: Sensitive, forbidden: BoolArray) -> AttackSuccess:
    hist, truth = histograms(case)[column.name], case.truth(column)
    assert truth is not None
    order = np.argsort(case.groups, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(case.groups, minlength=hist.n_classes))[:-1])
    touched = np.unique(case.groups[forbidden.any(axis=1)])
    rng = child(case.attacker.seed, "impossible-pairs")
    chosen = touched if len(touched) <= MOST_GROUPS else np.sort(rng.choice(touched, MOST_GROUPS, replace=False))
    rows, own, share, n_skipped = [], [], [], 0
    for group in chosen.tolist():
        posterior = _group(hist, group, members[group], forbidden)
        if posterior is None:
            n_skipped += 1
            continue
        codes, chances = posterior
        place = np.searchsorted(codes, truth[members[group]])
        rows.append(members[group])
        own.append(chances[np.arange(len(members[group])), place])
        share.append(hist.shares()[hist.indptr[group] : hist.indptr[group + 1]][place])
    targets = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
    belief, plain = (np.concatenate([*p, np.zeros(0)]) for p in (own, share))
    worst, rows_of = worst_rows(case, np.where(belief > plain + 1e-9, belief, 0.0), targets)
    return AttackSuccess(
        highest=float(belief.max(initial=0.0)), average=mean_chance(belief),
        n_targets=len(targets), n_victims=int(np.count_nonzero((belief > LIKELY) & (belief > plain + 1e-9))),
        worst=worst, rows_of=rows_of,
        baseline=mean_chance(hist.total_shares()[truth[targets]]),
        n_sampled=len(targets) if len(chosen) < len(touched) else None,
        details={
            "column": column.name, "groups_tried": len(chosen) - n_skipped, "groups_too_large": n_skipped,
            "by_share_of_the_group": mean_chance(plain),
        },
    )  # fmt: skip


def _group(hist: Histogram, group: int, members: IntArray, forbidden: BoolArray) -> tuple[IntArray, FloatArray] | None:
    """The values of a group and the chance of each for its people; None where worlds are too many or none is left."""
    entries = slice(int(hist.indptr[group]), int(hist.indptr[group + 1]))
    codes, counts = hist.codes[entries], hist.counts[entries]
    if int(counts.sum()) != len(members):
        return None
    allowed = (~forbidden[np.ix_(members, codes)]).astype(np.float64)
    posterior = posteriors(allowed, counts, steps_up_to=STEPS_UP_TO)
    return (codes, posterior[0]) if posterior is not None and posterior[0].sum() > 0 else None
