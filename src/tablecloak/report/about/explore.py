"""An exploration: the frontier as a chart, the reason for its knee, and every variant in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.about.quality import caption
from tablecloak.report.words import NONE, share

MARKS = {"knee": "◆", "frontier": "•", "beaten": ""}
TONES: dict[str, blocks.Tone] = {"knee": "good", "frontier": "", "beaten": "faint"}
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
HOW_CHART = (
    "Each mark is one variant of the policy; lower is safer and further left keeps more. Filled marks are those that "
    "no other variant beats in both, joined by the line; pale ones lose on both counts. The ring is the knee: before "
    "it, risk falls fast for little loss; after it, slowly for much."
)
HOW_TABLE = (
    "Highest, average and unique: chances of singling a record out by its quasi-identifiers. Guess: the "
    "largest share that one sensitive value has in a class. A variant without numbers has no release."
)
HOW_MARKS = "• no other variant has both less risk and less loss   ◆ the knee of these   * the axes compared"


def explored(report: Mapping[str, Any], name: str) -> blocks.Document:
    """Every variant with its risk and loss, and the conclusion."""
    said = [conclusion(report)]
    if original := report["original"]:
        said.append(
            f"The original itself: highest risk {original['highest']:.1%}, average {original['average']:.1%}, "
            f"{original['unique']:.1%} of its records unique."
        )
    reasons = _reasons(report["points"])
    without = [f"No release for {'; '.join(labels)}: {reason}" for reason, labels in reasons.items()]
    variants: list[blocks.Block] = [_variants(report)]
    if without:
        variants.append(blocks.Items(tuple(without)))
    variants += [caption(HOW_MARKS), blocks.PageOnly((caption(HOW_TABLE),))]
    variants += [caption(f"Note: {note}") for note in report.get("notes", ())]
    variants.append(blocks.TerminalOnly((blocks.Paragraph(conclusion(report)),)))
    return blocks.Document(f"{name}: risk and utility", (
        blocks.Banner("Risk and utility", name, tuple(said)),
        blocks.Section("Frontier", (frontier_figure(report),)),
        blocks.Section("Variants", tuple(variants)),
    ))  # fmt: skip


def frontier_figure(report: Mapping[str, Any]) -> blocks.Block:
    """The chart with its legend and how to read it."""
    risk, utility = report["risk"], report["utility"]
    released = [p for p in report["points"] if "reason" not in p]
    algorithms = list(dict.fromkeys(p["algorithm"] for p in released))
    dots = tuple(
        blocks.Dot(
            x=point["metrics"][utility],
            y=point["risk"][risk],
            label=label_of(point),
            series=algorithms.index(point["algorithm"]),
            is_frontier=_kind(report, point) != "beaten",
            is_knee=_kind(report, point) == "knee",
        )
        for point in released
        if point["metrics"][utility] is not None and point["risk"][risk] is not None
    )
    if not dots:
        return blocks.PageOnly((blocks.Paragraph("No variant has both numbers.", "nothing"),))
    chart = blocks.Scatter(
        "Risk against loss", dots, f"loss ({utility})", RISKS[risk], tuple(algorithms), utility in SHARES
    )
    return blocks.Figure(chart, HOW_CHART)


def frontier_lines(report: Mapping[str, Any]) -> list[blocks.Block]:
    """One line per point of the frontier, and the conclusion."""
    lines = []
    for number in report["frontier"]:
        point = report["points"][number]
        risk, loss = point["risk"][report["risk"]], point["metrics"][report["utility"]]
        lines.append(f"{label_of(point)}: {report['risk']} risk {risk:.3f}, {report['utility']} {loss:.4g}")
    return [blocks.Paragraph(text) for text in (*lines, conclusion(report))]


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


def _kind(report: Mapping[str, Any], point: Mapping[str, Any]) -> str:
    """Whether a point is the knee, on the frontier or beaten by another."""
    if report["knee"] and report["knee"]["number"] == point["number"]:
        return "knee"
    return "frontier" if point["number"] in report["frontier"] else "beaten"


def _variants(report: Mapping[str, Any]) -> blocks.TextTable:
    points = report["points"]
    names = list(points[0]["changes"]) if points else []
    metrics = list(dict.fromkeys(["gcp", report["utility"]]))
    counted = ["highest", "average", "unique", "guess", *metrics]
    starred = [f"{head}*" if head in (report["risk"], report["utility"]) else head for head in counted]
    kinds = [_kind(report, point) for point in points]
    rows = [
        [MARKS[kind], *point["changes"].values(), *_numbers(point, metrics)]
        for kind, point in zip(kinds, points, strict=True)
    ]
    heads = ["", *names, *starred, "left out", "seconds"]
    return blocks.table(heads, rows, kind="numbers", tones=tuple(TONES[kind] for kind in kinds))


def _numbers(point: Mapping[str, Any], metrics: Sequence[str]) -> list[str]:
    """The cells of a variant under the heads of the table."""
    if "reason" in point:
        return [NONE] * (len(metrics) + 6)
    losses = [point["metrics"].get(name) for name in metrics]
    return [
        *(share(point["risk"][name]) for name in ("highest", "average", "unique", "guess")),
        *(NONE if value is None else f"{value:,.4g}" for value in losses),
        f"{point['suppressed_share']:.1%}",
        f"{point['seconds']:.2f}",
    ]


def _reasons(points: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Why variants have no release, with the variants each reason holds for."""
    variants: dict[str, list[str]] = {}
    for point in points:
        if "reason" in point:
            variants.setdefault(point["reason"], []).append(label_of(point))
    return variants
