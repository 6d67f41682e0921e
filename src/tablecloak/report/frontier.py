"""The frontier of risk and utility: which variants no other one beats, where the knee is, and that in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

__all__ = ["Knee", "knee_of", "lines", "on_frontier", "plain_lines"]

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
    risk, utility = report["risk"], report["utility"]
    points = report["points"]
    names = list(points[0]["changes"]) if points else []
    table = Table(box=None, pad_edge=False, header_style="bold")
    metrics = list(dict.fromkeys(["gcp", utility]))
    heads = ["", *names, "highest", "average", "unique", "guess", *metrics, "suppressed", "classes", "seconds"]
    for number, head in enumerate(heads):
        is_axis = head in (risk, utility) and number > len(names)
        table.add_column(f"{head}*" if is_axis else head, justify="right" if number else "left", overflow="fold")
    for point in points:
        kind = kind_of(report, point["number"])
        style = "bold green" if kind == "knee" else "" if kind == "frontier" else "dim"
        table.add_row(MARKS[kind], *point["changes"].values(), *_numbers(point, metrics), style=style)
    yield table
    for point in points:
        if "reason" in point:
            yield Text(f"{_label(point)}: {point['reason']}", "dim")
    yield Text("• no other variant has both less risk and less loss   ◆ the knee of these   * the axes compared", "dim")
    yield Text(_conclusion(report))


def plain_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """One line per point of the frontier, and the conclusion."""
    for number in report["frontier"]:
        point = report["points"][number]
        risk, loss = point["risk"][report["risk"]], point["metrics"][report["utility"]]
        yield f"{_label(point)}: {report['risk']} risk {risk:.3f}, {report['utility']} {loss:.4g}"
    yield _conclusion(report)


def _conclusion(report: Mapping[str, Any]) -> str:
    if report["knee"]:
        return f"Knee: {report['knee']['label']}. {report['knee']['reason']}"
    if len(report["frontier"]) < 3:
        return "No knee: fewer than three variants are on the frontier. Vary over a wider range."
    return "No knee: from variant to variant, less risk costs about as much."


def _label(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point["changes"].items()) or "as it is"


def _numbers(point: Mapping[str, Any], metrics: Sequence[str]) -> list[str]:
    if "reason" in point:
        return ["–"] * (len(metrics) + 7)
    risks = [point["risk"][name] for name in ("highest", "average", "unique", "guess")]
    losses = [point["metrics"].get(name) for name in metrics]
    return [
        *("–" if value is None else f"{value:.1%}" for value in risks),
        *("–" if value is None else f"{value:,.4g}" for value in losses),
        f"{point['suppressed_share']:.1%}",
        f"{point['classes']:,}",
        f"{point['seconds']:.2f}",
    ]
