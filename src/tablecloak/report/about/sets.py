"""Sets of items: how exposed they are, and what a release left of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.about.check_run_verify import engine_blocks
from tablecloak.report.about.quality import attack_blocks, caption
from tablecloak.report.words import NONE, share

HOW_RISK = (
    "Someone knows up to so many items of a person, those that the fewest records hold. Left are the records that hold "
    "them, and the risk is the chance of picking the right one: 1 divided by their number. A record is unique if it "
    "alone holds some combination of so many items."
)
TOO_MANY = "The sets hold too many combinations of items to count."
HOW_ITEMS = (
    "Detail lost is the mean, over all items of all sets, of the share of the hierarchy below what an item is "
    "published as; 0% as it is, 100% left out. Distances are those of the shares of items, labels spread over the "
    "items below them: 0 is the same. L1 is at most 2, Hellinger and EMD at most 1; KL is infinite where an item "
    "vanished."
)
RISKS = {"highest risk": "highest", "average risk": "average", "unique records": "unique_share"}


def exposed_sets(report: Mapping[str, Any]) -> Iterator[blocks.Block]:
    """How exposed the sets of a table are, by the number of items that are known."""
    yield blocks.Paragraph(
        f"{report['records']:,} sets, {report['different']:,} different, of {report['items']:,} items; "
        f"{report['average_size']:.1f} in a set, {report['longest']:,} at most"
    )
    yield risk_table(report["risk"])
    yield caption(HOW_RISK)
    yield from engine_blocks(report)


def risk_table(risks: Sequence[Mapping[str, Any]], k: int | None = None) -> blocks.TextTable:
    """Who is found by how many items; with the records that fewer than k share, where there is a k."""
    below = [] if k is None else [f"under {k}"]
    heads = ("items known", "fewest left", "on average", "unique", *below, "highest", "average")
    rows = [
        [
            f"{risk['known_items']}", f"{risk['least_candidates']:,}", f"{risk['average_candidates']:,.1f}",
            share(risk["unique_share"]), *(share(risk["below_k_share"]) for _ in below), share(risk["highest"]),
            share(risk["average"]),
        ]
        for risk in risks
    ]  # fmt: skip
    return blocks.table(heads, rows, kind="numbers")


def judged_sets(report: Mapping[str, Any], footer: str) -> blocks.Document:
    """Published sets beside their originals: risk, attacks, items."""
    before, after = report["before"], report["after"]
    lost = "" if report["loss"] is None else f" The price is {report['loss']:.1%} of the detail of their items."
    found = ""
    if before["risk"] and after["risk"]:
        sides = [side["risk"][-1] for side in (before, after)]
        found = (
            f" By up to {sides[0]['known_items']} items, {sides[0]['unique_share']:.1%} of the originals could be "
            f"singled out; now {sides[1]['unique_share']:.1%} can."
        )
    summary = f"{after['records']:,} of {before['records']:,} sets are published.{found}{lost}"
    chances = {a["attack"]: a["before"]["average"] for a in report["attacks"] if a.get("before")}
    contents: list[blocks.Block] = [
        blocks.Banner("Release beside its original", report["release"], (summary,)),
        blocks.Section("Sets", (_sizes(report),)),
        blocks.Section("Risk", (*_risks(report), caption(HOW_RISK))),
        blocks.Section("Attacks", tuple(attack_blocks(report["attacks"], chances, has_more=False))),
        blocks.Section("Items", (_items(report), caption(HOW_ITEMS))),
        *([blocks.Section("Notes", (blocks.Items(tuple(report["notes"])),))] if report["notes"] else []),
        blocks.Footer(footer),
    ]
    return blocks.Document(f"{report['release']}: comparison", tuple(contents))


def _sizes(report: Mapping[str, Any]) -> blocks.TextTable:
    before, after = report["before"], report["after"]
    names = {
        "sets": "records", "different": "different", "empty": "empty", "different items": "items",
        "items in sets": "occurrences", "longest": "longest",
    }  # fmt: skip
    rows = [[name, f"{before[key]:,}", f"{after[key]:,}"] for name, key in names.items()]
    rows.append(["items in a set, on average", f"{before['average_size']:.2f}", f"{after['average_size']:.2f}"])
    return blocks.table(("sizes", "original", "release"), rows, kind="numbers")


def _risks(report: Mapping[str, Any]) -> Iterator[blocks.Block]:
    before, after, k = report["before"]["risk"], report["after"]["risk"], report["itemsets"]["k"]
    if before and after:
        one, two = (tuple(side[-1][key] for key in RISKS.values()) for side in (before, after))
        chart = blocks.PairedBars("Risk before and after", tuple(RISKS), one, two)
        yield blocks.PageOnly((blocks.SideBySide(((blocks.Figure(chart, names=("original", "release")),),)),))
    for name, risks in (("original", before), ("release", after)):
        yield blocks.Paragraph(
            f"The {name}, by the number of items that are known:" if risks else f"{name}: {TOO_MANY}"
        )
        if risks:
            yield risk_table(risks, k)


def _items(report: Mapping[str, Any]) -> blocks.TextTable:
    rows = [["detail lost (GCP)", share(report["loss"])]]
    became, n_all = report["occurrences"], max(1, report["before"]["occurrences"])
    for name, key in (("as they are", "as_they_are"), ("generalised", "generalised"), ("left out", "left_out")):
        rows.append([f"items {name}", NONE if became is None else f"{became[key]:,} ({became[key] / n_all:.1%})"])
    distances = report["distances"] or {}
    for name, key in (("L1", "l1"), ("Hellinger", "hellinger"), ("KL", "kl"), ("EMD", "emd")):
        value = distances.get(key)
        rows.append(
            [f"{name} of the shares of items", NONE if not distances else "∞" if value is None else f"{value:.3f}"]
        )
    return blocks.table(("items", "release"), rows, kind="numbers")
