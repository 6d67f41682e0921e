"""A sensitive attribute that is known after all singles people out like any quasi-identifier."""

from __future__ import annotations

import numpy as np

from tablecloak.risks.base import LIKELY, DoesNotApplyError, Finding, attack, worst_rows
from tablecloak.risks.case import Case
from tablecloak.risks.grouping import classes_of

__all__ = ["known_sensitive"]


@attack("known-sensitive")
def known_sensitive(case: Case) -> Finding:
    """The chance of finding a person's row for someone who also knows one of their sensitive values.

    1 / (number of published rows that cover the person and show their value), one sensitive column at a time; the one
    that exposes most counts. Without the original, rows are those of the same class. A victim is found for certain or
    with a chance of more than one half.
    By guessing: one of all published rows.
    Stopped by: multi-attribute l-diversity, or giving the column the role quasi.
    Reference: Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, l-diversity: privacy beyond k-anonymity, ICDE 2006.
    """
    found = []
    without = float((1.0 / case.sizes).mean()) if case.n_rows else 0.0
    for column in case.sensitive:
        if column.codes is None or case.is_grouped:
            continue
        classes, n_classes = classes_of([case.classes, column.codes])
        chances = 1.0 / np.bincount(classes, minlength=n_classes)[classes]
        worst, rows_of = worst_rows(case, chances)
        found.append(
            Finding(
                highest=float(chances.max(initial=0.0)),
                average=float(chances.mean()) if len(chances) else 0.0,
                n_targets=case.n_rows,
                n_victims=int(np.count_nonzero(chances > LIKELY)),
                worst=worst,
                rows_of=rows_of,
                baseline=1 / max(1, case.n_rows),
                details={"column": column.name, "without_the_value": without},
            )
        )
    if not found:
        raise DoesNotApplyError("needs a sensitive column that stands beside the quasi-identifiers")
    return max(found, key=lambda f: f.severity)
