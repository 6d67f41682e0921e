"""Distances between records, and the cost of publishing them together, for methods that cluster.

- `loss`: what the release loses, the normalised certainty penalty of the smallest box that holds the records.
- `height`: numbers by their difference over the range; categories by the height of their lowest common ancestor over
  the height of the tree. Reference: Byun, Kamra, Bertino, Li, DASFAA 2007.
- `weighted`: categories by the levels climbed, a step between level i and i - 1 weighing 1 / (i - 1)^beta, so that
  steps near the root weigh most. Reference: Li, Wong, Fu, Pei, DASFAA 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.data.domain import Domain, DomainKind
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.kernels.clustering import Lines

Distance = Annotated[
    Literal["loss", "height", "weighted"],
    Field(description="loss: what the release loses; height: of the common ancestor; weighted: by the levels climbed"),
]
Beta = Annotated[float, Field(ge=0, description="distance weighted: how much more steps near the root weigh; 0: alike")]
# Costs are counted in 1 / unit; sums of many costs, times the size of a cluster, stay far below 2**60.
LARGEST_UNIT = 1 << 36


def weighted_climb(levels: int, top: int, bottom: int | None = None, *, beta: float = 1.0) -> float:
    """Share of the weight of all steps of a tree that lies between level `bottom` (default: the leaves) and `top`.

    Levels are numbered from 1, the root, to `levels`, the leaves.
    """
    weights = [math.pow(i - 1, -beta) for i in range(2, levels + 1)]
    return sum(weights[top - 1 : (bottom or levels) - 1]) / sum(weights)


def lines_of(
    domains: Sequence[Domain], present: Sequence[IntArray], distance: str = "loss", beta: float = 1.0
) -> tuple[Lines, int]:
    """Costs of intervals of the codes that occur in a table, and how many units make a cost of 1."""
    priced = [_priced(d, distance, beta) for d in domains]
    weights = np.array([d.weight for d in domains], np.float64)
    weights = weights * len(weights) / max(weights.sum(), np.finfo(np.float64).tiny)
    unit = unit_of(priced, weights)
    depth = max((d.hierarchy.height + 1 for d in priced if d.hierarchy), default=1)
    parts = [
        _part(d, p, float(w) * unit, depth, as_published=distance == "loss")
        for d, p, w in zip(priced, present, weights, strict=True)
    ]
    n_codes = np.array([len(p) for p in present], np.int64)
    lines = Lines(
        is_tree=np.array([d.hierarchy is not None for d in priced], np.bool_),
        has_missing=np.array([d.has_missing and p[0] == 0 for d, p in zip(priced, present, strict=True)], np.bool_),
        n_codes=n_codes,
        start=np.cumsum(n_codes) - n_codes,
        step=np.array([_step(d) * w * unit for d, w in zip(priced, weights, strict=True)]).round().astype(np.int64),
        full=(weights * unit).round().astype(np.int64),
        line=np.concatenate([p[0] for p in parts]),
        lower=np.concatenate([p[1] for p in parts]),
        upper=np.concatenate([p[2] for p in parts]),
        begins=np.concatenate([p[3] for p in parts]),
        ends=np.concatenate([p[4] for p in parts]),
        costs=np.concatenate([p[5] for p in parts]),
    )
    return lines, unit


def _priced(domain: Domain, distance: str, beta: float) -> Domain:
    """The domain with the losses that a distance gives to the nodes of its hierarchy."""
    if distance == "loss" or domain.kind is DomainKind.ORDERED:
        return domain
    tree = domain.hierarchy or _flat(domain)
    height = max(1, tree.height)
    if distance == "height":
        losses = tree.heights / height
    else:
        by_height = np.array([weighted_climb(height + 1, height + 1 - up, beta=beta) for up in range(height + 1)])
        losses = by_height[tree.heights]
    return replace(domain, hierarchy=tree.with_losses(losses), kind=DomainKind.TREE)


def _flat(domain: Domain) -> Hierarchy:
    """All values below one root."""
    n = len(domain.values)
    tree = Hierarchy.from_nodes([*map(str, range(n)), "*"], [*[n] * n, -1])
    return tree.with_missing() if domain.has_missing else tree


def _step(domain: Domain) -> float:
    """What two neighbouring values of a set cost beyond their distance: a set counts both its ends."""
    return 1.0 / max(1, len(domain.values)) if domain.kind is DomainKind.SET else 0.0


def unit_of(domains: Sequence[Domain], weights: FloatArray) -> int:
    """The least unit in which every cost is a whole number, if it is small enough, or else the largest.

    With it, costs that are equal as fractions are equal exactly, and ties do not hang on rounding.
    """
    unit = 1
    for domain, weight in zip(domains, weights.tolist(), strict=True):
        for denominator in {_denominator(domain), Fraction(weight).limit_denominator(1000).denominator}:
            unit = math.lcm(unit, denominator or LARGEST_UNIT)
        if unit >= LARGEST_UNIT:
            return LARGEST_UNIT
    return unit


def _denominator(domain: Domain) -> int | None:
    """A common denominator of the losses of a domain, None where there is no small one."""
    if domain.hierarchy is not None:
        losses = np.unique(domain.hierarchy.losses)
        fractions = [Fraction(float(x)).limit_denominator(1 << 16) for x in losses[:200]]
        exact = len(losses) <= 200 and all(abs(f - x) < 1e-12 for f, x in zip(fractions, losses.tolist(), strict=True))
        return math.lcm(*(f.denominator for f in fractions)) if exact else None
    if domain.kind is DomainKind.SET:
        return max(1, len(domain.values))
    if len(domain.values) == 0:
        return 1
    numbers = domain.values.to_physical()
    if not numbers.dtype.is_integer():
        return None
    return max(1, int(numbers[-1]) - int(numbers[0]))


def _part(
    domain: Domain, present: IntArray, scale: float, depth: int, *, as_published: bool
) -> tuple[IntArray, IntArray, IntArray, NDArray[np.int32], NDArray[np.int32], IntArray]:
    """Of the codes of one dimension that occur: line, lower, upper, begins, ends and costs."""
    if domain.hierarchy is None:
        none = np.zeros((len(present), depth), np.int32)
        sides = _sides(domain, as_published=as_published)
        line, lower, upper = ((side[present] * scale).round().astype(np.int64) for side in sides)
        return line, lower, upper, none, none, none.astype(np.int64)
    ancestors = domain.hierarchy.ancestors_by_depth()[present]
    ancestors = np.concatenate([ancestors, np.repeat(ancestors[:, -1:], depth - ancestors.shape[1], axis=1)], axis=1)
    begins = np.searchsorted(present, domain.hierarchy.first[ancestors])
    ends = np.searchsorted(present, domain.hierarchy.last[ancestors], side="right") - 1
    costs = (domain.hierarchy.losses[ancestors] * scale).round().astype(np.int64)
    nowhere = np.zeros(len(present), np.int64)
    return nowhere, nowhere, nowhere, begins.astype(np.int32), ends.astype(np.int32), costs


def _sides(domain: Domain, *, as_published: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The place of every code, and where intervals that begin and end with it begin and end."""
    if domain.kind is DomainKind.ORDERED:
        places = domain.positions()
        return places, *(domain.reaches() if as_published else (places, places))
    places = np.arange(domain.n_codes) / max(1, len(domain.values))
    return places, places, places + _step(domain)
