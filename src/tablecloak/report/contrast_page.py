"""Judged releases as pages: one beside its original, or two on the same axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablecloak.report import charts
from tablecloak.report.contrast_lines import shown
from tablecloak.report.html import Html, Node, el
from tablecloak.report.judged import (
    READ,
    attack_parts,
    distance_charts,
    join_named,
    learning_part,
    utility_parts,
)
from tablecloak.report.parts import caption, chart_figure, document, listed, number, owners_note, section, table

__all__ = ["contrast_page", "judged_page"]

RISKS = {"highest risk": "highest", "average risk": "average", "unique records": "unique_share"}
HOW_RISK = (
    "The risk of a record is the chance of picking it from the records that look like it: 1 divided by their number. "
    "A record is unique if no other shares its quasi-identifiers."
)


def judged_page(report: Mapping[str, Any]) -> str:
    """A release beside its original."""
    before, after = report["before"], report["after"]
    summary = (
        f"{after['records']:,} of {before['records']:,} records are published. By {listed(report['quasi'])}, "
        f"{before['unique_share']:.1%} of the originals could be singled out; now {after['unique_share']:.1%} can. "
        f"The price is {report['loss']:.1%} of the detail in these columns."
    )
    chances = {a["attack"]: a["before"]["average"] for a in report["attacks"] if a.get("before")}
    return document(
        f"{report['release']}: comparison",
        _header("Release beside its original", report["release"], summary),
        section("Risk", _risk(before, after, report.get("published")), caption(HOW_RISK)),
        section("Attacks", *attack_parts(report["attacks"], chances)),
        section("Utility", *utility_parts(report["metrics"]), learning_part(report),
                el("div", _loss(report), *distance_charts(report["metrics"]), class_="charts")),
        section("Columns", _columns(report["columns"])),
        section("All metrics", _metrics(report["metrics"])),
        *([section("Notes", el("ul", [el("li", note) for note in report["notes"]]))] if report["notes"] else []),
        owners_note(),
    )  # fmt: skip


def contrast_page(report: Mapping[str, Any]) -> str:
    """Two releases side by side."""
    a, b = report["a"], report["b"]
    names = (f"A: {a['release']}", f"B: {b['release']}")
    axes = dict.fromkeys(row["axis"] for row in report["rows"])
    wins = {side: sum(row["better"] == side for row in report["rows"]) for side in "ab"}
    summary = (
        f"Both are held against the same original on {listed(report['quasi'])}. Of {len(report['rows'])} rows below, "
        f"{wins['a']} speak for A and {wins['b']} for B (✓); which of them matter is for you to say."
    )
    titles = {"risk": "Risk", "attack": "Attacks", "utility": "Utility", "learning": "Learning"}
    return document(
        f"{a['release']} and {b['release']}",
        _header("Two releases side by side", f"{a['release']} and {b['release']}", summary),
        *(section(titles[axis], *_axis(report, axis, names)) for axis in axes),
        owners_note(),
    )


def _header(kicker: str, title: str, text: str) -> Html:
    return el("header", el("p", kicker, class_="kicker"), el("h1", title), el("p", text, class_="lead"))


def _axis(report: Mapping[str, Any], axis: str, names: tuple[str, str]) -> list[Html]:
    rows = [row for row in report["rows"] if row["axis"] == axis]
    drawn = [r for r in rows if r["a"] is not None and r["b"] is not None and _is_share(r)]
    chart = charts.paired_bars(
        f"{axis.capitalize()} of both", [_called(r["name"]) for r in drawn], [r["a"] for r in drawn],
        [r["b"] for r in drawn], names=("A", "B"),
    )  # fmt: skip
    how = {
        "risk": HOW_RISK,
        "attack": "Average chance of success over all people; shorter bars are safer.",
        "utility": "Shares and errors between 0% and 100%; shorter bars keep more.",
        "learning": "Accuracy on held-out originals of models trained on each; longer bars keep more.",
    }[axis]
    figure = chart_figure(chart, how, names=names, title=f"{axis.capitalize()} of both") if drawn else None
    heads = ("", "original", "A", "B") if axis != "utility" else ("", "A", "B")
    ordered = sorted(rows, key=lambda r: r["name"] not in READ)
    numbers = table(heads, [_row(r, axis) for r in ordered], class_="numbers")
    if axis == "utility" or figure is None:
        return [*([el("div", figure, class_="pair")] if figure else []), numbers]
    return [el("div", figure, el("div", numbers), class_="pair")]


def _row(row: Mapping[str, Any], axis: str) -> list[Node]:
    cells: list[Node] = [
        el("span", f"✓ {shown(row, side)}", class_="better") if row["better"] == side else shown(row, side) or "–"
        for side in "ab"
    ]
    name = join_named(_called(row["name"]), READ[row["name"]][1]) if row["name"] in READ else row["name"]
    return [name, *([] if axis == "utility" else [shown(row, "original") or "–"]), *cells]


def _called(name: str) -> str:
    return READ[name][0] if name in READ else name


def _is_share(row: Mapping[str, Any]) -> bool:
    shares = {"suppressed", "gcp", "query-error", "contingency-error", "association-error", "propensity", "hellinger"}
    return row["axis"] != "utility" or row["name"] in shares


def _risk(
    before: Mapping[str, Any], after: Mapping[str, Any], published: Mapping[str, Mapping[str, Any]] | None
) -> Html:
    values = [[side[key] for key in RISKS.values()] for side in (before, after)]
    chart = charts.paired_bars("Risk before and after", list(RISKS), *values)
    rows = [[name, f"{before[key]:.1%}", f"{after[key]:.1%}"] for name, key in RISKS.items()]
    rows.append(["classes", f"{before['classes']:,}", f"{after['classes']:,}"])
    if published:
        sides = [published[side] for side in ("before", "after")]
        rows += [
            [f"{name}, knowing everything published", *(f"{s[key]:.1%}" for s in sides)] for name, key in RISKS.items()
        ]
    return el("div", chart_figure(chart, None, names=("original", "release")),
              el("div", table(("risk", "original", "release"), rows)), class_="pair")  # fmt: skip


def _loss(report: Mapping[str, Any]) -> Html:
    lost = {c["name"]: c["loss"] for c in report["columns"] if c["loss"] is not None}
    chart = charts.bars("Detail lost by column", list(lost), list(lost.values()), top=1.0)
    return chart_figure(chart, "0% means every value is published exactly, 100% that nothing is said about the column.")


def _columns(columns: Sequence[Mapping[str, Any]]) -> Html:
    heads = ("column", "role", "values before", "values after", "L1", "Hellinger", "KL", "EMD", "read as")
    rows: list[list[Node]] = []
    for column in columns:
        found = column["distances"]
        numbers = ["–"] * 4
        if found:
            numbers = ["∞" if found[k] is None else f"{found[k]:.3f}" for k in ("l1", "hellinger", "kl", "emd")]
        role = "quasi" if column["quasi"] else "–"
        counted = (f"{column['distinct_before']:,}", f"{column['distinct_after']:,}")
        rows.append([column["name"], role, *counted, *numbers, column["method"] or "–"])
    how = (
        "Distances of the distribution of each column from the original, without suppressed records: 0 is the same. L1 "
        "is at most 2, Hellinger and EMD (earth mover's distance) at most 1; KL is infinite where a value vanished. "
        "Cells are read exactly, or spread over what they cover."
    )
    return Html(table(heads, rows, class_="dense") + caption(how))


def _metrics(metrics: Mapping[str, Mapping[str, Any]]) -> Html:
    rows = [
        [
            join_named(name, found["description"]),
            "–" if found["value"] is None else number(found["value"]),
            found.get("reason") or found.get("note") or "",
        ]
        for name, found in metrics.items()
    ]
    return table(("metric", "value", "remark"), rows)
