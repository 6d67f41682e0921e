"""A searched lattice: what was found, its picture, its best nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tablecloak.report import blocks
from tablecloak.report.about.quality import caption
from tablecloak.report.words import NONE

Report = Mapping[str, Any]
Levels = tuple[int, ...]
Link = Callable[[Levels], str]
TAGS = ("safe", "unknown", "unsafe")
SKIPPED = {"tag": "unknown", "how": "skipped", "loss": None, "loss_at_least": None}
# A lattice of this many nodes is drawn whole; of a larger one, the neighbourhood of the best node.
DRAW_UP_TO = 160
WIDEST_ROW = 286  # nodes of a row that can be drawn one by one
MOST_LISTED = 40


def searched(report: Report) -> blocks.Document:
    """What a search of the lattice found."""
    diagram, rows = pictures(report)
    whole = rows is None
    drawn: list[blocks.Block] = [blocks.Section("All rows", (rows,))] if rows is not None else []
    return blocks.Document("Generalisation lattice", (
        blocks.Banner("Generalisation lattice", f"{report['size']:,} nodes", (_summary(report),)),
        _outcome(report),
        blocks.Figure(blocks.LatticeLegend()),
        *drawn,
        blocks.Section("All nodes" if whole else "Around the best node", (diagram,)),
        _listed(report),
    ))  # fmt: skip


def pictures(
    report: Report, *, link: Link | None = None, chosen: Sequence[int] | None = None
) -> tuple[blocks.Figure, blocks.Figure | None]:
    """The nodes, and an overview of all rows where only the surroundings of one are drawn.

    Args:
        link: where a click on a node leads.
        chosen: the node to mark; where the lattice is too large to be drawn, its surroundings are shown.
    """
    whole = report["size"] <= DRAW_UP_TO and len(report["nodes"]) == report["size"]
    centre = tuple(report["best"] if chosen is None else chosen)
    nodes = _by_levels(report)
    drawn = list(nodes) if whole else _neighbourhood(report, centre)
    diagram = blocks.LatticeDiagram(
        tuple(
            _node(
                report, levels, nodes.get(levels, SKIPPED), link=link, is_chosen=chosen is not None and levels == centre
            )
            for levels in drawn
        )
    )
    return blocks.Figure(diagram), None if whole else blocks.Figure(_rows(report))


def measures(report: Report, levels: Sequence[int]) -> str:
    """What is known about a node, in words."""
    node = _by_levels(report).get(tuple(levels))
    return "not looked at" if node is None else f"{node['tag']}, {node['how']}; {_measures(report, node)}"


def _outcome(report: Report) -> blocks.Labelled:
    tags = {tag: sum(row[tag] for row in report["rows"]) for tag in TAGS}
    sizes = " × ".join(str(c["levels"]) for c in report["columns"])
    rest = f"{len(report['minimal']):,} minimal" if report["complete"] else f"{tags['unknown']:,} not looked at"
    best = _by_levels(report)[tuple(report["best"])]
    is_bounded = report["bound"] is not None and report["bound"] < best["loss"]
    bound = (f"no node loses less than {_number(report['bound'])}",) if is_bounded else ()
    counted = f"{sizes} = {report['size']:,} nodes, {report['checks']:,} counted by {report['algorithm']}"
    return blocks.Labelled((
        blocks.Entry("lattice", (counted,)),
        blocks.Entry("tags", (f"{tags['safe']:,} safe, {tags['unsafe']:,} unsafe, {rest}",)),
        blocks.Entry("best", (_named(report, best["levels"]), _measures(report, best), *bound)),
    ))  # fmt: skip


def _summary(report: Report) -> str:
    names = ", ".join(f"{c['name']} ({c['levels']})" for c in report["columns"])
    return (
        f"{report['size']:,} nodes, {report['checks']:,} of them counted by {report['algorithm']}. "
        f"Levels per column: {names}. Up to {report['suppression_budget']:,} of {report['records']:,} records may be "
        f"suppressed. Rows go from exact values at the bottom to everything hidden at the top."
    )


def _by_levels(report: Report) -> dict[Levels, Mapping[str, Any]]:
    return {tuple(n["levels"]): n for n in report["nodes"]}


def _neighbourhood(report: Report, centre: Levels) -> list[Levels]:
    """A node and its direct neighbours."""
    top = [c["levels"] - 1 for c in report["columns"]]
    near = {centre}
    for d, level in enumerate(centre):
        near |= {(*centre[:d], at, *centre[d + 1 :]) for at in (level - 1, level + 1) if 0 <= at <= top[d]}
    return sorted(near)


def _node(
    report: Report, levels: Levels, node: Mapping[str, Any], *, link: Link | None = None, is_chosen: bool = False
) -> blocks.LatticeNode:
    name = _named(report, levels)
    return blocks.LatticeNode(
        levels=levels,
        tag=node["tag"],
        how=node["how"],
        hover=f"{name}\n{node['tag']}, {node['how']}\n{_measures(report, node)}",
        is_best=list(levels) == list(report["best"]),
        is_chosen=is_chosen,
        link=None if link is None else link(levels),
        name=name,
    )


def _rows(report: Report) -> blocks.LatticeRows:
    """One bar per row, node by node where all are known and fit; those that lose least stand first."""
    each = len(report["nodes"]) == report["size"] and max(report["row_sizes"]) <= WIDEST_ROW
    by_row: dict[int, list[Mapping[str, Any]]] = {}
    for node in report["nodes"] if each else ():
        by_row.setdefault(sum(node["levels"]), []).append(node)
    rows = [
        blocks.LatticeRow(
            counts=tuple((tag, row[tag]) for tag in TAGS),
            size=report["row_sizes"][at],
            nodes=tuple(_node(report, tuple(n["levels"]), n) for n in sorted(by_row.get(at, ()), key=_by_loss)),
            is_best=at == sum(report["best"]),
        )
        for at, row in enumerate(report["rows"])
    ]
    return blocks.LatticeRows(tuple(rows))


def _by_loss(node: Mapping[str, Any]) -> tuple[float, list[int]]:
    return (node["loss"] if node["loss"] is not None else node["loss_at_least"] or 0, node["levels"])


def _named(report: Report, levels: Sequence[int]) -> str:
    return ", ".join(f"{c['name']} {level}" for c, level in zip(report["columns"], levels, strict=True))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4f}"


def _measures(report: Report, node: Mapping[str, Any]) -> str:
    if node["loss"] is None:
        bound = node["loss_at_least"]
        return str(node["how"]) + ("" if bound is None else f", {report['loss']} at least {_number(bound)}")
    return (
        f"{report['loss']} {_number(node['loss'])}, {node['suppressed']:,} records suppressed, "
        f"{node['classes']:,} classes"
    )


def _listed(report: Report) -> blocks.PageOnly:
    """Minimal nodes, or the best counted ones where minimal nodes are not known."""
    nodes = _by_levels(report)
    if report["complete"]:
        title, chosen = "Minimal nodes", [nodes[tuple(n)] for n in report["minimal"] if tuple(n) in nodes]
    else:
        title = "Best counted nodes"
        chosen = [n for n in nodes.values() if n["loss"] is not None and n["tag"] == "safe"]
    chosen = sorted(chosen, key=_by_loss)
    listed = chosen[:MOST_LISTED]
    rows = [[_named(report, node["levels"]), *_cells(node)] for node in listed]
    tones = tuple("good" if node["levels"] == report["best"] else "" for node in listed)
    heads = ("levels", report["loss"], "suppressed", "classes")
    more = (caption(f"and {len(chosen) - MOST_LISTED:,} more"),) if len(chosen) > MOST_LISTED else ()
    return blocks.PageOnly((blocks.Section(title, (blocks.table(heads, rows, kind="numbers", tones=tones), *more)),))


def _cells(node: Mapping[str, Any]) -> list[str]:
    if node["loss"] is not None:
        return [_number(node["loss"]), f"{node['suppressed']:,}", f"{node['classes']:,}"]
    bound = node["loss_at_least"]
    return [NONE if bound is None else f"≥ {_number(bound)}", NONE, NONE]
