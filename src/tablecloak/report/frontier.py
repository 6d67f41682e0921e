"""The frontier of risk and utility: which variants no other one beats, where the knee is, and that in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

__all__ = [
    "Knee",
    "conclusion",
    "heads_of",
    "kind_of",
    "knee_of",
    "label_of",
    "lines",
    "numbers_of",
    "on_frontier",
    "plain_lines",
    "reasons_of",
]

Pair = tuple[float | None, float | None]  # risk, loss
MARKS = {"knee": "◆", "frontier": "•", "beaten": ""}


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
    known = [(risk, loss, i) for i, (risk, loss) in enumerate(values) if risk is not None and loss is not None]
    found: list[int] = []
    lowest = float("inf")
    for _, loss, i in sorted(known):  # by rising risk
        if loss < lowest:
            found.append(i)
            lowest = loss
    return found[::-1]


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


def kind_of(report: Mapping[str, Any], number: int) -> str:
    """Whether a point is the knee, on the frontier or beaten by another."""
    if report["knee"] and report["knee"]["number"] == number:
        return "knee"
    return "frontier" if number in report["frontier"] else "beaten"


def lines(report: Mapping[str, Any]) -> Iterator[RenderableType]:
    """An exploration as a table and a sentence."""
    points = report["points"]
    table = Table(box=None, pad_edge=False, header_style="bold")
    heads, metrics = heads_of(report)
    for number, head in enumerate(["", *heads]):
        table.add_column(head, justify="right" if number else "left", no_wrap=True)
    for point in points:
        kind = kind_of(report, point["number"])
        style = "bold green" if kind == "knee" else "" if kind == "frontier" else "dim"
        table.add_row(MARKS[kind], *point["changes"].values(), *numbers_of(point, metrics), style=style)
    yield table
    for reason, labels in reasons_of(points).items():
        yield Text(f"No release: {labels[0]}{f' and {len(labels) - 1} more' * (len(labels) > 1)}: {reason}", "dim")
    yield Text("• no other variant has both less risk and less loss   ◆ the knee of these   * the axes compared", "dim")
    yield Text(conclusion(report))


def heads_of(report: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Heads of the table of variants, a star at the two axes, and the metrics among them."""
    points = report["points"]
    names = list(points[0]["changes"]) if points else []
    metrics = list(dict.fromkeys(["gcp", report["utility"]]))
    counted = ["highest", "average", "unique", "guess", *metrics]
    starred = [f"{head}*" if head in (report["risk"], report["utility"]) else head for head in counted]
    return [*names, *starred, "left out", "seconds"], metrics


def reasons_of(points: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Why variants have no release, with the variants each reason holds for."""
    found: dict[str, list[str]] = {}
    for point in points:
        if "reason" in point:
            found.setdefault(point["reason"], []).append(label_of(point))
    return found


def plain_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """One line per point of the frontier, and the conclusion."""
    for number in report["frontier"]:
        point = report["points"][number]
        risk, loss = point["risk"][report["risk"]], point["metrics"][report["utility"]]
        yield f"{label_of(point)}: {report['risk']} risk {risk:.3f}, {report['utility']} {loss:.4g}"
    yield conclusion(report)


def conclusion(report: Mapping[str, Any]) -> str:
    """The knee and the reason for it, or why there is none."""
    if report["knee"]:
        return f"Knee: {report['knee']['label']}. {report['knee']['reason']}"
    if len(report["frontier"]) < 3:
        return "No knee: fewer than three variants are on the frontier. Vary over a wider range."
    return "No knee: from variant to variant, less risk costs about as much."


def label_of(point: Mapping[str, Any]) -> str:
    """What was changed, in short."""
    return ", ".join(f"{name}={value}" for name, value in point["changes"].items()) or "as it is"


def numbers_of(point: Mapping[str, Any], metrics: Sequence[str]) -> list[str]:
    """The cells of a variant under the heads of the table."""
    if "reason" in point:
        return ["–"] * (len(metrics) + 6)
    risks = [point["risk"][name] for name in ("highest", "average", "unique", "guess")]
    losses = [point["metrics"].get(name) for name in metrics]
    return [
        *("–" if value is None else f"{value:.1%}" for value in risks),
        *("–" if value is None else f"{value:,.4g}" for value in losses),
        f"{point['suppressed_share']:.1%}",
        f"{point['seconds']:.2f}",
    ]
