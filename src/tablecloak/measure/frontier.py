"""The frontier of risk and utility: which variants no other one beats, where the knee is and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

Pair = tuple[float | None, float | None]  # risk, loss


@dataclass(frozen=True, slots=True)
class Knee:
    """The point of the frontier where a lower risk begins to cost more than it brings."""

    number: int  # of the point
    label: str
    reason: str
    risk_saved: float  # share of what the frontier offers
    loss_spent: float  # share of what the frontier asks

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def on_frontier(values: Sequence[Pair]) -> list[int]:
    """Numbers of the points that no other one beats in risk and loss, by falling risk; of equal ones the first."""
    points = [(risk, loss, i) for i, (risk, loss) in enumerate(values) if risk is not None and loss is not None]
    frontier: list[int] = []
    lowest = float("inf")
    for _, loss, i in sorted(points):  # by rising risk
        if loss < lowest:
            frontier.append(i)
            lowest = loss
    return frontier[::-1]


def knee_of(
    values: Sequence[Pair], frontier: Sequence[int], labels: Sequence[str], risk: str, utility: str
) -> Knee | None:
    """The point of the frontier farthest below the line between its ends, both axes scaled to the same length.

    None where the frontier has no point below that line.
    Reference: Satopää, Albrecht, Irwin, Raghavan, Finding a "kneedle" in a haystack, ICDCS workshops 2011.
    """
    pairs = [(float(values[i][0] or 0.0), float(values[i][1] or 0.0)) for i in frontier]
    if len(pairs) < 3:
        return None
    (risk_most, loss_least), (risk_least, loss_most) = pairs[0], pairs[-1]
    saved = [(risk_most - r) / (risk_most - risk_least) for r, _ in pairs]
    spent = [(loss - loss_least) / (loss_most - loss_least) for _, loss in pairs]
    place = max(range(len(pairs)), key=lambda i: saved[i] - spent[i])
    if saved[place] - spent[place] <= 0:
        return None
    number = frontier[place]
    reason = _reason(pairs, place, [labels[i] for i in frontier], (saved[place], spent[place]), risk, utility)
    return Knee(number, labels[number], reason, saved[place], spent[place])


def _reason(
    pairs: Sequence[tuple[float, float]],
    place: int,
    labels: Sequence[str],
    shares: tuple[float, float],
    risk: str,
    utility: str,
) -> str:
    (first_risk, first_loss), (here_risk, here_loss) = pairs[0], pairs[place]
    text = (
        f"At {labels[place]}, {risk} has fallen from {first_risk:.1%} (at {labels[0]}) to {here_risk:.1%}: "
        f"{shares[0]:.0%} of all that these variants can take away, for {shares[1]:.0%} of the loss that the strictest "
        f"of them asks ({utility} {first_loss:.4g} → {here_loss:.4g})."
    )
    if place + 1 < len(pairs):
        text += (
            f" Going on to {labels[-1]} would take {risk} to {pairs[-1][0]:.1%} only, and {utility} to "
            f"{pairs[-1][1]:.4g}."
        )
    return text
