"""Minimality: knowing how the algorithm decides says why a class was not made smaller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import factorial, prod

import numpy as np
from numpy.typing import NDArray

from tablecloak.data.domain import DomainKind
from tablecloak.risks.attributes import histograms
from tablecloak.risks.base import DoesNotApplyError, Finding, attack, worst_rows
from tablecloak.risks.case import Case, FloatArray, IntArray, Quasi
from tablecloak.risks.statistics import mean_interval
from tablecloak.risks.worlds import all_worlds
from tablecloak.rng import child

__all__ = ["Credibility", "credibility", "minimality"]

BoolArray = NDArray[np.bool_]
# Worlds of a class are listed up to this many, and drawn beyond.
LIST_UP_TO = 5_000
DRAWN = 1_000
MOST_CLASSES = 400
# A class with more records is left out: drawing worlds of it says next to nothing new.
LARGEST_CLASS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Credibility:
    """What an attacker who knows the algorithm believes about the people of one class."""

    chances: FloatArray  # (n_people, n_values)
    n_worlds: int
    n_consistent: int  # worlds in which the algorithm would have published this class
    is_exact: bool


def credibility(
    values: IntArray,
    cuts: Sequence[IntArray],
    *,
    m: int,
    k: int = 1,
    protected: BoolArray | None = None,
    rng: np.random.Generator | None = None,
) -> Credibility | None:
    """The chance of every value for every person, over the worlds in which none of the cuts was allowed.

    Args:
        values: the sensitive codes of the people of a class, 0 ... n_values - 1, in any order.
        cuts: ways to divide the class, each as the part of every person. A cut is allowed if all its parts have at
            least k people and no protected value makes up more than 1/m of a part.
        protected: which values are; all unless given.

    Returns: None where no cut says anything, because every one has a part that is too small whatever its values.
    """
    telling = [cut for cut in cuts if len(np.unique(cut)) > 1 and np.bincount(cut)[np.unique(cut)].min() >= k]
    if not telling:
        return None
    n_values = int(values.max()) + 1
    n_worlds = factorial(len(values)) // prod(factorial(int(c)) for c in np.bincount(values))
    is_exact = n_worlds <= LIST_UP_TO and len(values) <= 9
    if is_exact:
        worlds = all_worlds(values)
    else:
        generator = rng or np.random.default_rng(0)
        worlds = generator.permuted(np.tile(values, (DRAWN, 1)), axis=1)
    shown = np.stack([worlds == v for v in range(n_values)], axis=2)  # (n_worlds, n_people, n_values)
    consistent = np.ones(len(worlds), bool)
    for cut in telling:
        consistent &= _is_refused(shown, cut, m, protected)
    kept = shown[consistent]
    chances = kept.mean(axis=0) if len(kept) else np.zeros(shown.shape[1:])
    return Credibility(chances, len(worlds), len(kept), is_exact)


def _is_refused(shown: NDArray[np.bool_], cut: IntArray, m: int, protected: BoolArray | None) -> BoolArray:
    """Worlds in which some part of a cut has too much of a protected value."""
    refused = np.zeros(len(shown), bool)
    for part in np.unique(cut).tolist():
        counts = shown[:, cut == part, :].sum(axis=1)
        if protected is not None:
            counts = counts[:, protected]
        refused |= counts.max(axis=1, initial=0) * m > int(np.count_nonzero(cut == part))
    return refused


@attack("minimality", on_request=True)
def minimality(case: Case) -> Finding:
    """The chance of a person's own value for someone who knows that the algorithm never generalises without need.

    Such an algorithm would have cut a class further if no value then made up more than 1/m of a part; that it did not
    rules out worlds. Cuts are between the values of one column, or between the children of a hierarchy node, with at
    least k people on every side; all people of a class are equally likely to have its values beforehand. A victim's own
    value is believed with more than 1/m. Up to 400 classes are tried, drawn where there are more; the interval then
    tells how far the average may be off.
    By guessing: the share of the own value in the whole table.
    Stopped by: m-confidentiality, and algorithms that look at quasi-identifiers only.
    Reference: Wong, Fu, Wang, Pei, Minimality attack in privacy preserving data publishing, VLDB 2007.
    """
    if case.is_grouped or not case.is_covering or case.row_of is None:
        raise DoesNotApplyError("needs the original, and cells that cover it")
    hists = histograms(case)
    name = max(hists, key=lambda n: float(hists[n].shares().max(initial=0.0)))
    truth = case.truth(next(s for s in case.sensitive if s.name == name))
    assert truth is not None
    rng = child(case.attacker.seed, "minimality")
    chosen = _classes(case, rng)
    order = np.argsort(case.classes, kind="stable")
    begin = np.concatenate([[0], np.cumsum(case.stats.size)])
    members = [order[begin[number] : begin[number + 1]] for number in chosen.tolist()]
    tried = [_tried(case, rows, truth[rows], rng) for rows in members]
    return _finding(case, name, members, tried)


@dataclass(frozen=True, slots=True, eq=False)
class _Tried:
    """Beliefs about the people of one class, with and without knowing the algorithm."""

    own: FloatArray  # (n_people,) belief in the own value
    prior: FloatArray  # (n_people,)
    highest: float
    found: Credibility | None
    is_refuted: bool = False  # the class cannot come from a minimal algorithm, so nothing is learned


def _tried(case: Case, members: IntArray, values: IntArray, rng: np.random.Generator) -> _Tried:
    local = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    prior = np.bincount(local) / len(members)
    cuts = list(_cuts(case, members))
    found = credibility(local, cuts, m=case.attacker.m, k=case.attacker.k, rng=rng)
    is_refuted = found is not None and not _is_possible(local, cuts, case)
    if found is None or is_refuted:
        return _Tried(prior[local], prior[local], float(prior.max()), found, is_refuted)
    own = found.chances[np.arange(len(members)), local]
    return _Tried(own, prior[local], float(found.chances.max(initial=0.0)), found)


def _finding(case: Case, name: str, members: Sequence[IntArray], tried: Sequence[_Tried]) -> Finding:
    empty = [np.zeros(0)]
    own, prior = np.concatenate([t.own for t in tried] or empty), np.concatenate([t.prior for t in tried] or empty)
    rows = np.concatenate([*members, np.zeros(0, np.int64)]).astype(np.int64)
    is_gain = own > prior + 1e-9
    worst, rows_of = worst_rows(case, np.where(is_gain, own, 0.0), rows)
    is_sampled = len(tried) < case.stats.n_classes
    told = [t.found for t in tried if t.found is not None]
    return Finding(
        highest=max((t.highest for t in tried), default=0.0),
        average=float(own.mean()) if len(own) else 0.0,
        n_targets=len(own),
        n_victims=int(np.count_nonzero((own > 1 / case.attacker.m + 1e-9) & is_gain)),
        worst=worst,
        rows_of=rows_of,
        baseline=float(prior.mean()) if len(prior) else 0.0,
        interval=mean_interval(own) if is_sampled else None,
        n_sampled=len(own) if is_sampled else None,
        details={
            "column": name,
            "m": case.attacker.m,
            "k": case.attacker.k,
            "classes_tried": len(tried),
            "classes_with_a_cut": len(told),
            "classes_by_drawn_worlds": sum(not found.is_exact for found in told),
            "classes_another_algorithm_made": sum(t.is_refuted for t in tried),
        },
    )


def _is_possible(values: IntArray, cuts: Sequence[IntArray], case: Case) -> bool:
    """Whether a minimal algorithm could have left the class as it is: every cut is refused in the real world."""
    n_values = int(values.max()) + 1
    shown = np.stack([values[None, :] == v for v in range(n_values)], axis=2)
    k, m = case.attacker.k, case.attacker.m
    telling = [c for c in cuts if len(np.unique(c)) > 1 and np.bincount(c)[np.unique(c)].min() >= k]
    return all(bool(_is_refused(shown, cut, m, None)[0]) for cut in telling)


def _classes(case: Case, rng: np.random.Generator) -> IntArray:
    fit = np.flatnonzero((case.stats.size >= 2 * max(1, case.attacker.k)) & (case.stats.size <= LARGEST_CLASS))
    return fit if len(fit) <= MOST_CLASSES else np.sort(rng.choice(fit, MOST_CLASSES, replace=False))


def _cuts(case: Case, members: IntArray) -> Iterator[IntArray]:
    """Ways to divide some rows: between the values of a column, or between the children of a node."""
    assert case.row_of is not None
    for column in case.quasi:
        assert column.codes is not None
        codes = column.codes[case.row_of[members]]
        present = np.unique(codes)
        if len(present) < 2:
            continue
        if column.domain is not None and column.domain.kind is DomainKind.TREE:
            yield _children(column, codes)
        else:
            for last in present[:-1].tolist():
                yield (codes > last).astype(np.int64)


def _children(column: Quasi, codes: IntArray) -> IntArray:
    """The child of the lowest common node that each code is under."""
    assert column.domain is not None
    tree = column.domain.hierarchy
    assert tree is not None
    node = tree.lca_range(int(codes.min()), int(codes.max()))
    starts = np.array([int(tree.first[child_]) for child_ in tree.children(node)], np.int64)
    starts.sort()
    return np.searchsorted(starts, codes, side="right").astype(np.int64) - 1
