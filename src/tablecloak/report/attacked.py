"""Attacks on the classes of a recounted release: what a report says of attackers who see it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tablecloak.engines.base import Recount
from tablecloak.risks.base import Exposure, run_attacks
from tablecloak.risks.case import Case, Sensitive
from tablecloak.stats.classes import ClassStats, Counted

__all__ = ["TRIED", "WITH_REGISTER", "attacks_on", "case_of"]

# Attacks that look at classes only: they take a moment even on large tables. `tablecloak attack` tries all.
TRIED = (
    "prosecutor", "marketer", "known-sensitive", "attribute-linkage", "homogeneity", "skewness", "similarity",
    "proximity", "range-disclosure", "worst-case-knowledge",
)  # fmt: skip
# What someone can do who has a register of the people among whom those of the table are.
WITH_REGISTER = ("journalist", "membership")


def attacks_on(recount: Recount, names: Sequence[str] = TRIED) -> tuple[Exposure, ...]:
    """What attackers reach who see the release and know a person's quasi-identifiers."""
    return tuple(run_attacks(case_of(recount), names))


def case_of(recount: Recount) -> Case:
    """A recounted release as attackers see it who know the class of a person."""
    assert recount.classes is not None
    counted = recount.stats.hist_of(Counted.SENSITIVE)
    sensitive = tuple(
        Sensitive(name, hist.domain, recount.codes[name].astype(np.int64) if name in recount.codes else None)
        for name, hist in counted.items()
    )
    classes = recount.classes.astype(np.int64)
    sizes = ClassStats(recount.stats.size)
    with_values = ClassStats(recount.stats.size, counted)
    return Case((), sensitive, classes=classes, stats=sizes, groups=classes, group_stats=with_values)
