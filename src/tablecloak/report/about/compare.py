"""A release beside its original, or two releases beside each other. Exact, so for the owner of the original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.about import quality
from tablecloak.report.about.sets import HOW_RISK as HOW_RISK_OF_SETS
from tablecloak.report.about.sets import judged_sets
from tablecloak.report.blocks import Block, Text, Words, shown, table
from tablecloak.report.words import NONE, listed, number

RISKS = {"highest risk": "highest", "average risk": "average", "unique records": "unique_share"}
HOW_RISK = (
    "The risk of a record is the chance of picking it from the records that look like it: 1 divided by their number. "
    "A record is unique if no other shares its quasi-identifiers."
)
HOW_COLUMNS = (
    "Distances of the distribution of each column from the original, without suppressed records: 0 is the same. L1 "
    "is at most 2, Hellinger and EMD (earth mover's distance) at most 1; KL is infinite where a value vanished. "
    "Cells are read exactly, or spread over what they cover."
)
HOW_MOMENTS = (
    "Original → release, of columns that are numbers or dates in both; suppressed records are not in the release. The "
    "closer both are, the better. Dates have a deviation in days and no total."
)
OWNERS = "Figures on this page are exact. It is for the owner of the original; the report of a run is for everybody."
AXES = {
    "risk": ("Risk", HOW_RISK),
    "attack": ("Attacks", "Average chance of success over all people; shorter bars are safer."),
    "utility": ("Utility", "Shares and errors between 0% and 100%; shorter bars keep more."),
    "learning": ("Learning", "Accuracy on held-out originals of models trained on each; longer bars keep more."),
}
# Metrics that are shares of a whole, and drawn.
SHARES = frozenset({
    "suppressed", "gcp", "query-error", "contingency-error", "association-error", "propensity", "hellinger",
})  # fmt: skip


def judged(report: Mapping[str, Any]) -> blocks.Document:
    """A release beside its original: risk, attacks, utility, columns, all metrics."""
    if "itemsets" in report:
        return judged_sets(report, OWNERS)
    before, after = report["before"], report["after"]
    summary = (
        f"{after['records']:,} of {before['records']:,} records are published. By {listed(report['quasi'])}, "
        f"{before['unique_share']:.1%} of the originals could be singled out; now {after['unique_share']:.1%} can. "
        f"The price is {report['loss']:.1%} of the detail in these columns."
    )
    chances = {a["attack"]: a["before"]["average"] for a in report["attacks"] if a.get("before")}
    lost = {c["name"]: c["loss"] for c in report["columns"] if c["loss"] is not None}
    drawn = blocks.Charts((quality.loss_figure(lost), *quality.distance_figures(report["metrics"])))
    contents: list[Block] = [
        blocks.Banner("Release beside its original", report["release"], (summary,)),
        blocks.Section("Risk", (_risk(report), blocks.PageOnly((quality.caption(HOW_RISK),)))),
        blocks.Section("Attacks", tuple(quality.attack_blocks(report["attacks"], chances))),
        blocks.Section(
            "Utility",
            (
                blocks.PageOnly(tuple(quality.utility_blocks(report["metrics"]))),
                *shown(quality.learning_block(report)),
                drawn,
            ),
        ),
        blocks.Section("Columns", (_columns(report["columns"]), quality.caption(HOW_COLUMNS))),
        *_moments(report.get("moments")),
        blocks.Section("All metrics", (metrics_table(report["metrics"]), *_learned(report))),
        *([blocks.Section("Notes", (blocks.Items(tuple(report["notes"])),))] if report["notes"] else []),
        blocks.Footer(OWNERS),
    ]
    return blocks.Document(f"{report['release']}: comparison", tuple(contents))


def _risk(report: Mapping[str, Any]) -> blocks.SideBySide:
    before, after = report["before"], report["after"]
    one, two = (tuple(side[key] for key in RISKS.values()) for side in (before, after))
    chart = blocks.PairedBars("Risk before and after", tuple(RISKS), one, two)
    rows = [
        ["records", f"{before['records']:,}", f"{after['records']:,}"],
        ["suppressed", NONE, f"{report['suppressed']:,}"],
        *([name, f"{before[key]:.1%}", f"{after[key]:.1%}"] for name, key in RISKS.items()),
        ["classes", f"{before['classes']:,}", f"{after['classes']:,}"],
    ]
    if published := report.get("published"):
        sides = [published[side] for side in ("before", "after")]
        rows += [
            [f"{name}, knowing everything published", *(f"{s[key]:.1%}" for s in sides)] for name, key in RISKS.items()
        ]
    rows.append(["detail lost (GCP)", NONE, f"{report['loss']:.1%}"])
    numbers = table(("risk", "original", "release"), rows, kind="numbers")
    return blocks.SideBySide(((blocks.Figure(chart, names=("original", "release")),), (numbers,)))


def _columns(columns: Sequence[Mapping[str, Any]]) -> blocks.TextTable:
    counted = ("values before", "values after", "detail lost", "L1", "Hellinger", "KL", "EMD")
    rows = []
    for column in columns:
        distances = column["distances"]
        numbers = [NONE] * 4
        if distances:
            numbers = ["∞" if distances[k] is None else f"{distances[k]:.3f}" for k in ("l1", "hellinger", "kl", "emd")]
        rows.append([
            column["name"], "quasi" if column["quasi"] else NONE, f"{column['distinct_before']:,}",
            f"{column['distinct_after']:,}", NONE if column["loss"] is None else f"{column['loss']:.1%}", *numbers,
            column["method"] or NONE,
        ])  # fmt: skip
    return table(("column", "role", *counted, "read as"), rows, kind="dense", right=tuple(range(2, 9)))


def _moments(moments: Mapping[str, Any] | None) -> Iterator[Block]:
    """Means, deviations, totals and correlations of columns that are numbers or dates on both sides, and changed."""
    if moments:
        correlation = quality.correlation_text(moments["largest_change"])
        rest = None if correlation is None else blocks.Paragraph(correlation)
        told = shown(quality.moments_table(moments), rest, quality.caption(HOW_MOMENTS))
        yield blocks.Section("Statistics of changed columns", tuple(told))


def metrics_table(metrics: Mapping[str, Mapping[str, Any]]) -> blocks.TextTable:
    """All metrics of the release; one that has no value says why."""
    rows: list[list[Text]] = [
        [name, _value(measured), Words(measured.get("reason") or _described(measured), "faint")]
        for name, measured in metrics.items()
    ]
    return table(("metric", "value", "how to read it"), rows, right=(1,))


def _described(measured: Mapping[str, Any]) -> str:
    note = measured.get("note")
    return f"{measured['description']}{f' ({note})' if note else ''}"


def _value(measured: Mapping[str, Any]) -> str:
    if measured["value"] is None:
        return NONE
    error = measured.get("error")
    return number(measured["value"]) + ("" if error is None else f" ± {error:.2g}")


def _learned(report: Mapping[str, Any]) -> Iterator[Block]:
    """In words what a chart shows of learning."""
    learned = report.get("learning")
    if learned:
        keeps = "" if learned["kept"] is None else f" The release keeps {learned['kept']:.0%} of what can be learned."
        yield blocks.Paragraph(
            f"Predicting {learned['target']} ({learned['learner']}, {learned['n_tested']:,} originals held out): "
            f"trained on the release {learned['release']:.1%}, on the original {learned['original']:.1%}, "
            f"most frequent value {learned['majority']:.1%} (± {learned['error']:.1%}).{keeps}"
        )


def heatmaps(pair: Mapping[str, Any]) -> tuple[blocks.Heatmap, blocks.Heatmap]:
    """Records by two columns, before and after, with one scale of colors for both."""
    names = (pair["first"], pair["second"])
    most = max(max(max(row) for row in pair[side]) for side in ("before", "after")) or 1.0

    def drawn(side: str) -> blocks.Heatmap:
        title = f"{names[0]} and {names[1]} {side}: share of records, at most {most:.1%}"
        return blocks.Heatmap(title, names, tuple(map(tuple, pair[side])), most)

    return drawn("before"), drawn("after")


def contrasted(report: Mapping[str, Any]) -> blocks.Document:
    """Two releases side by side; the better one of each row is marked."""
    a, b = report["a"]["release"], report["b"]["release"]
    axes = dict.fromkeys(row["axis"] for row in report["rows"])
    on = report["quasi"] or [report["a"]["itemsets"]["column"]]
    wins = {side: sum(row["better"] == side for row in report["rows"]) for side in "ab"}
    summary = (
        f"Both are held against the same original on {listed(on)}. Of {len(report['rows'])} rows below, "
        f"{wins['a']} speak for A and {wins['b']} for B (✓); which of them matter is for you to say."
    )
    notes = [f"Note on {side.upper()}: {note}" for side in "ab" for note in report[side]["notes"]]
    contents: list[Block] = [
        blocks.Banner("Two releases side by side", f"{a} and {b}", (summary,)),
        blocks.TerminalOnly((quality.caption(f"A  {a}   B  {b}   on {', '.join(on)}"),)),
        *(blocks.Section(AXES[axis][0], tuple(_axis(report, axis, (f"A: {a}", f"B: {b}")))) for axis in axes),
        quality.caption(("Attacks: average chance of success. Marked: ", Words("the better of the two", "best"))),
        *(blocks.Paragraph(note) for note in notes),
        blocks.Footer(OWNERS),
    ]
    return blocks.Document(f"{a} and {b}", tuple(contents))


def _axis(report: Mapping[str, Any], axis: str, names: tuple[str, str]) -> Iterator[Block]:
    rows = [row for row in report["rows"] if row["axis"] == axis]
    drawn = [
        r for r in rows if r["a"] is not None and r["b"] is not None and (axis != "utility" or r["name"] in SHARES)
    ]
    ordered = sorted(rows, key=lambda r: r["name"] not in quality.READ)
    heads = (axis, "A", "B") if axis == "utility" else (axis, "original", "A", "B")
    numbers = table(heads, [_contrasted(r) for r in ordered], kind="numbers")
    if not drawn:
        yield numbers
        return
    labels = tuple(_called(r["name"]) for r in drawn)
    one, two = (tuple(r[side] for r in drawn) for side in "ab")
    title = f"{axis.capitalize()} of both"
    chart = blocks.PairedBars(title, labels, one, two, names=("A", "B"))
    how = HOW_RISK_OF_SETS if axis == "risk" and "itemsets" in report["a"] else AXES[axis][1]
    figure = blocks.Figure(chart, how, names=names, title=title)
    if axis == "utility":
        yield blocks.SideBySide(((figure,),))
        yield numbers
    else:
        yield blocks.SideBySide(((figure,), (numbers,)))


def _contrasted(row: Mapping[str, Any]) -> list[Text]:
    cells: list[Text] = [Words(_shown(row, side), "best" if row["better"] == side else "") for side in "ab"]
    name = row["name"]
    if name in quality.READ:
        name = quality.explained(*quality.READ[name])
    return [name, *([] if row["axis"] == "utility" else [_shown(row, "original")]), *cells]


def _called(name: str) -> str:
    return quality.READ[name][0] if name in quality.READ else name


def _shown(row: Mapping[str, Any], side: str) -> str:
    """A number of a row for people."""
    value = row[side]
    if value is None:
        return NONE
    is_share = row["axis"] != "utility" or row["name"] == "suppressed"
    return f"{value:.1%}" if is_share else number(value)
