"""The chance of finding the row of every person by their quasi-identifiers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import FloatArray, IntArray
from tablecloak.attacks.case import Case
from tablecloak.attacks.covering_classes import Candidates, candidates_of

# Rows of other classes that cover a person are looked for among so many people, and so many pairs with classes: a
# report of a run must not take longer for it than for the rest.
COMPARE_UP_TO = 1_000_000
PAIRS_UP_TO = 500_000_000
CLASSES = "counted on classes of equal rows; rows of other classes that also cover a person would lower it"


@dataclass(frozen=True, slots=True, eq=False)
class LinkChances:
    """The chance of finding the row of every target."""

    chances: FloatArray  # (n_targets,)
    people: IntArray | None  # (n_targets,) originals; None: targets are the published rows
    candidates: Candidates | None = None
    notes: tuple[str, ...] = ()


def links_of(case: Case) -> LinkChances:
    """Chances of linking people with their rows, and how they were counted."""
    if "links" not in case.memo:
        case.memo["links"] = _links(case)
    links: LinkChances = case.memo["links"]
    return links


def _links(case: Case) -> LinkChances:
    people = case.people
    if people is None:
        return LinkChances(1.0 / case.sizes, None)
    codes = [column.codes[people] for column in case.quasi if column.codes is not None]
    candidates = candidates_of(case, codes, pairs_up_to=PAIRS_UP_TO) if len(people) <= COMPARE_UP_TO else None
    if candidates is None:
        return LinkChances(1.0 / case.sizes, None, notes=(CLASSES,))
    rows = candidates.per_target(case.stats.size.astype(np.float64))
    return LinkChances(np.divide(1.0, rows, out=np.zeros(len(rows)), where=rows > 0), people, candidates)
