"""An exploration as a page: the frontier as a chart, the reason for its knee, and every variant in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tablecloak.report import parts
from tablecloak.report.frontier import conclusion, heads_of, kind_of, label_of, numbers_of, reasons_of
from tablecloak.report.html import Html, el
from tablecloak.report.scatter import N_SHAPES, Dot, scatter, shape

__all__ = ["figure", "page"]

RISKS = {
    "highest": "highest risk",
    "average": "average risk",
    "unique": "unique records",
    "guess": "best guess of a sensitive value",
}
# Metrics that are shares of a whole.
SHARES = frozenset({
    "gcp", "query-error", "contingency-error", "association-error", "correlation-error", "propensity", "emd",
    "hellinger", "total", "classification",
})  # fmt: skip
HOW = (
    "Each mark is one variant of the policy; lower is safer and further left keeps more. Filled marks are those that "
    "no other variant beats in both, joined by the line; pale ones lose on both counts. The ring is the knee: before "
    "it, risk falls fast for little loss; after it, slowly for much."
)


def page(report: Mapping[str, Any], name: str) -> str:
    """The whole page."""
    original = report["original"]
    before = (
        f"The original itself: highest risk {original['highest']:.1%}, average {original['average']:.1%}, "
        f"{original['unique']:.1%} of its records unique."
    )
    return parts.document(
        f"{name}: risk and utility",
        el("header", el("p", "Risk and utility", class_="kicker"), el("h1", name),
           el("p", conclusion(report), class_="lead"), el("p", before, class_="lead")),
        parts.section("Frontier", figure(report)),
        parts.section("Variants", _table(report), _reasons(report), parts.caption(
            "Highest, average and unique: chances of singling a record out by its quasi-identifiers. Guess: the "
            "largest share that one sensitive value has in a class. ◆ marks the knee, • the rest of the frontier. A "
            "variant without numbers has no release.")),
    )  # fmt: skip


def figure(report: Mapping[str, Any]) -> Html:
    """The chart with its legend and how to read it."""
    algorithms = list(dict.fromkeys(p["algorithm"] for p in report["points"] if "reason" not in p))
    dots = [
        Dot(
            x=point["metrics"][report["utility"]],
            y=point["risk"][report["risk"]],
            label=label_of(point),
            series=algorithms.index(point["algorithm"]),
            is_frontier=kind_of(report, point["number"]) != "beaten",
            is_knee=kind_of(report, point["number"]) == "knee",
        )
        for point in report["points"]
        if "reason" not in point
        and point["metrics"][report["utility"]] is not None
        and point["risk"][report["risk"]] is not None
    ]
    if not dots:
        return el("p", "No variant has both numbers.", class_="nothing")
    chart = scatter(
        "Risk against loss", dots, x_axis=f"loss ({report['utility']})", y_axis=RISKS[report["risk"]],
        x_percent=report["utility"] in SHARES, y_percent=True,
    )  # fmt: skip
    keys = [el("span", _sample(i), f" {name}", class_="key") for i, name in enumerate(algorithms)]
    return el("figure", el("p", keys, class_="legend"), chart, el("figcaption", HOW))


def _sample(series: int) -> Html:
    drawn = el("path", class_=f"mark-{series % N_SHAPES}", d=shape(series % N_SHAPES, 7, 7))
    return el("svg", drawn, class_="sample", viewBox="0 0 14 14", width="14", height="14", aria_hidden="true")


def _table(report: Mapping[str, Any]) -> Html:
    heads, metrics = heads_of(report)
    marks = {"knee": "◆", "frontier": "•", "beaten": ""}
    rows = [
        [
            marks[kind_of(report, point["number"])],
            *point["changes"].values(),
            *numbers_of(point, metrics),
        ]
        for point in report["points"]
    ]
    return parts.table(["", *heads], rows, class_="dense")


def _reasons(report: Mapping[str, Any]) -> Html | None:
    found = reasons_of(report["points"])
    if not found:
        return None
    return el("ul", [el("li", f"No release for {'; '.join(labels)}: {why}") for why, labels in found.items()])
