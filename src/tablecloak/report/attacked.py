"""Attacks on a recounted release, while its originals are still at hand; what a report shows of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tablecloak.data.coverage import Coverage
from tablecloak.data.domain import Codes, Domain
from tablecloak.engines.base import Recount
from tablecloak.risks.base import Exposure, run_attacks
from tablecloak.risks.case import Case, Quasi, Sensitive
from tablecloak.stats.classes import ClassStats, Counted

__all__ = ["TRIED", "attacks_on", "case_of"]

# Attacks that look at classes: they take a moment even on large tables. `tablecloak attack` tries all.
TRIED = (
    "prosecutor", "marketer", "known-sensitive", "attribute-linkage", "homogeneity", "skewness", "similarity",
    "proximity", "range-disclosure", "worst-case-knowledge", "outliers",
)  # fmt: skip


def attacks_on(
    recount: Recount,
    coverage: Mapping[str, Coverage],
    domains: Mapping[str, Domain],
    codes: Mapping[str, Codes],
    row_of: NDArray[np.int64] | None,
) -> tuple[Exposure, ...]:
    """What attackers reach who see the release and know a person's quasi-identifiers."""
    return tuple(run_attacks(case_of(recount, coverage, domains, codes, row_of), TRIED))


def case_of(
    recount: Recount,
    coverage: Mapping[str, Coverage],
    domains: Mapping[str, Domain],
    codes: Mapping[str, Codes],
    row_of: NDArray[np.int64] | None,
) -> Case:
    """A recounted release as attackers see it.

    Args:
        codes: of the originals, by quasi-identifier.
        row_of: the original of every published row, suppressed ones included.
    """
    assert recount.classes is not None
    if row_of is not None and recount.is_suppressed is not None:
        row_of = row_of[~recount.is_suppressed]
    quasi = tuple(
        Quasi(
            name, labels.index.astype(np.int64), tuple(labels.values.cast(pl.String).to_list()), domains[name],
            coverage[name], codes[name].astype(np.int64),
        )
        for name, labels in recount.labels.items()
    )  # fmt: skip
    counted = recount.stats.hist_of(Counted.SENSITIVE)
    sensitive = tuple(
        Sensitive(name, hist.domain, recount.codes[name].astype(np.int64) if name in recount.codes else None)
        for name, hist in counted.items()
    )
    classes = recount.classes.astype(np.int64)
    return Case(
        quasi=quasi,
        sensitive=sensitive,
        classes=classes,
        stats=ClassStats(recount.stats.size),
        groups=classes,
        group_stats=ClassStats(recount.stats.size, counted),
        n_originals=len(next(iter(codes.values()))) if codes else None,
        row_of=row_of,
        is_covering=True if row_of is not None else None,
    )
