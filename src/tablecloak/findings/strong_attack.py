"""Attacks that succeed far more often with the release than without it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tablecloak.attacks.base import AttackResult
from tablecloak.findings.base import Change, Finding, Fix, Shown, finding

# Half of what guessing leaves open: an attacker who is wrong nine times of ten without the release is wrong less than
# every other time with it.
FAR = 0.5
# Attackers who know a person's quasi-identifiers and no sensitive value; others assume what goals say is not known.
TRIED = ("attribute-linkage", "homogeneity")


@finding("strong-attack")
def strong_attack(shown: Shown) -> Iterator[Finding]:
    """An attacker who knows quasi-identifiers learns more than half of what guessing without the release leaves open.

    With the chance of success a of an attack over all records, and b of the best guess of someone who has not seen the
    release, the share given away is (a - b) / (1 - b). Looked at are attribute-linkage and homogeneity, which need
    nothing but the class of a person. Goals bound the worst class; this is about all of them together.
    """
    strongest: dict[Any, AttackResult] = {}
    for exposure in shown.evidence.attacks:
        if exposure.attack in TRIED and _excess(exposure) > FAR:
            column = exposure.finding.details.get("column") if exposure.finding else None
            strongest[column] = max(exposure, strongest.get(column, exposure), key=_excess)
    for column, exposure in strongest.items():
        success = exposure.finding
        assert success is not None
        at = len(shown.policy.goals)
        goal = {"model": "t-closeness", "t": 0.3, **({"sensitive": column} if column else {})}
        yield Finding(
            "strong-attack",
            f"the attack {exposure.attack} succeeds with a chance of {success.average:.0%} over all records, and of "
            f"{success.baseline:.0%} without the release",
            Fix(
                "ask that classes are about as mixed as the table, such as t-closeness", (Change(f"goals.{at}", goal),)
            ),
            column=str(column) if column else None,
            count=success.n_victims,
            share=success.n_victims / max(1, success.n_targets),
        )


def _excess(exposure: AttackResult) -> float:
    return exposure.finding.excess if exposure.finding else 0.0
