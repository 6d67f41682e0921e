"""Personalised privacy: everybody says which kind of sensitive value must not be learned about them."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from tablecloak.arrays import FloatArray
from tablecloak.hierarchy.hierarchy import Hierarchy
from tablecloak.models.base import Monotone, PrivacyModel, Sense, model, one_held
from tablecloak.models.fields import OneSensitive, may_be_missed
from tablecloak.stats.classes import ClassStats, Counted, Evidence, SensitiveDomain
from tablecloak.stats.persons import Held


@model(
    "personalized-privacy",
    requires="limit",
    evidence=Evidence.SENSITIVE | Evidence.GUARDS,
    monotone=Monotone.NEITHER,
    sense=Sense.AT_MOST,
)
class PersonalizedPrivacy(PrivacyModel):
    """For everybody, at most a share `limit` of their class holds a sensitive value under the node that they guard.

    The column `guard` names for every person a value or a node of the sensitive column's hierarchy, or nothing for no
    protection; it is never published.
    Formula: (1 / |E|) * #{p in E : p holds a value under g} <= limit for every class E, its persons p, and every node g
    that someone of E guards. The sensitive column is published as it is: it is not generalised where this fails.

    Protects from: learning about a person what that person minds. Not from: record linkage; add k-anonymity. What
    people guard cannot be recounted from a release alone: without the original it does not hold.
    Reference: Xiao, Tao, Personalized privacy preservation, SIGMOD 2006.
    """

    guard: Annotated[str, Field(description="the column with the node that each person guards")]
    limit: Annotated[float, Field(gt=0, le=1, description="largest chance of a breach; 0.2 to 0.5 is usual")]
    sensitive: OneSensitive = None

    @property
    def note(self) -> str | None:
        return may_be_missed(self.name)

    @property
    def guard_columns(self) -> tuple[str, ...]:
        return (self.guard,)

    def levels(self, stats: ClassStats) -> FloatArray:
        held = one_held(stats, self.sensitive, self.name)
        guards = stats.hist_of(Counted.GUARD).get(self.guard)
        if guards is None:
            return np.ones(stats.n_classes)
        breaches = np.zeros(len(guards.codes))
        for code, label in enumerate(guards.domain.labels):
            entries = guards.codes == code
            if label and entries.any():
                breaches[entries] = _share_under(held, label)[guards.entry_class()[entries]]
        return guards.max_by_class(breaches)

    def n_unknown_guards(self, whole: ClassStats) -> int:
        """How many different cells of the column `guard` are neither a value nor a node of the sensitive column."""
        guards = whole.hist_of(Counted.GUARD).get(self.guard)
        domain = one_held(whole, self.sensitive, self.name).domain
        named = [label for label in guards.domain.labels if label] if guards is not None else []
        tree = domain.hierarchy
        return sum(label not in domain.labels and (tree is None or tree.find(label) is None) for label in named)


def _share_under(held: Held, label: str) -> FloatArray:
    """Share of every class that holds a value under a node, (n_classes,)."""
    domain = held.domain
    under = np.isin(np.arange(domain.n_values), list(_values_under(domain, label)))
    # two values: not under the node, under it
    hist = held.recoded(under.astype(np.int64), SensitiveDomain(domain.name, (None, None))).holders()
    return hist.sum_by_class(np.where(hist.codes == 1, hist.shares(), 0.0))


def _values_under(domain: SensitiveDomain, label: str) -> set[int]:
    tree: Hierarchy | None = domain.hierarchy
    node = tree.find(label) if tree is not None else None
    if tree is not None and node is not None:
        return set(tree.leaves_under(node))
    if label in domain.labels:
        return {domain.labels.index(label)}
    return set()  # a value that nobody has, or nobody any more: that all occur is seen to before a search
