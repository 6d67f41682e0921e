"""A searched lattice for people: lines for a terminal, and a page with a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Any

from rich.text import Text

__all__ = ["legend", "lines", "measures", "page", "picture"]

Report = Mapping[str, Any]
Node = tuple[int, ...]
Link = Callable[[Node], str]
# A lattice of this many nodes is drawn whole; of a larger one, the neighbourhood of the best node.
DRAW_UP_TO = 160
MOST_LISTED = 40
LEAST_CELL = 3  # width of a node in a row
WIDTH, ROW_HEIGHT, RADIUS = 1100, 74, 9

STYLE = """
:root { --paper: #fff; --ink: #1b1f24; --faint: #6a737d; --line: #d5dae0;
        --safe: #0072b2; --unsafe: #d55e00; --unknown: #9aa3ad; --best: #009e73; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14181d; --ink: #e6e9ec; --faint: #9aa3ad; --line: #343b43;
          --safe: #56b4e9; --unsafe: #e69f00; --unknown: #6a737d; --best: #2fd6a3; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;
       max-width: 1140px; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: 0 0 .3rem; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
p { margin: .3rem 0; } .faint { color: var(--faint); }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 11px system-ui, sans-serif; }
svg .faint { fill: var(--faint); } .edge { stroke: var(--line); stroke-width: 1; }
.safe { fill: var(--safe); stroke: var(--safe); } .unsafe { fill: var(--unsafe); stroke: var(--unsafe); }
.unknown { fill: var(--unknown); stroke: var(--unknown); } .inferred, .skipped { fill-opacity: .18; }
.paper { fill: var(--paper); } .node { stroke-width: 2; } .ring { fill: none; stroke: var(--best); stroke-width: 3.5; }
g:hover > .node { stroke-width: 4; } .legend { display: flex; gap: 1.4rem; flex-wrap: wrap; align-items: center; }
.legend svg { width: 22px; display: inline; vertical-align: -5px; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem .2rem 0; text-align: right; }
td:first-child, th:first-child { text-align: left; } th { color: var(--faint); font-weight: 500; }
tr.best td { color: var(--best); font-weight: 600; }
"""


def lines(report: Report) -> Iterator[Text]:
    """What a search of the lattice found."""
    tags = {tag: sum(row[tag] for row in report["rows"]) for tag in ("safe", "unsafe", "unknown")}
    sizes = " × ".join(str(c["levels"]) for c in report["columns"])
    yield Text(f"lattice   {sizes} = {report['size']:,} nodes, {report['checks']:,} counted by {report['algorithm']}")
    rest = f"{len(report['minimal']):,} minimal" if report["complete"] else f"{tags['unknown']:,} not looked at"
    yield Text(f"tags      {tags['safe']:,} safe, {tags['unsafe']:,} unsafe, {rest}")
    best = _nodes(report)[tuple(report["best"])]
    yield Text(f"best      {_levels(report, best['levels'])}")
    yield Text(f"          {_measures(report, best)}")
    if report["bound"] is not None and report["bound"] < best["loss"]:
        yield Text(f"          no node loses less than {_number(report['bound'])}")


def page(report: Report) -> str:
    """A page that needs nothing else: the lattice with its safe and unsafe nodes."""
    best = _nodes(report)[tuple(report["best"])]
    whole = report["size"] <= DRAW_UP_TO and len(report["nodes"]) == report["size"]
    nodes = list(_nodes(report)) if whole else _neighbourhood(report)
    heading = "All nodes" if whole else "Around the best node"
    parts = [
        "<h1>Generalisation lattice</h1>",
        f"<p>{escape(_summary(report))}</p>",
        f"<p><b>Best:</b> {escape(_levels(report, best['levels']))}</p>",
        f"<p class=faint>{escape(_measures(report, best))}</p>",
        _legend(),
        "" if whole else "<h2>All rows</h2>" + _overview(report),
        f"<h2>{heading}</h2>" + _diagram(report, nodes),
        _table(report),
    ]
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Generalisation lattice</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def picture(report: Report, link: Link, chosen: Sequence[int] | None = None) -> tuple[str, str | None]:
    """The nodes as SVG, each a link, and an overview of all rows where only the surroundings of one are drawn.

    Args:
        link: where a click on a node leads.
        chosen: the node to mark; where the lattice is too large to be drawn, its surroundings are shown.
    """
    whole = report["size"] <= DRAW_UP_TO and len(report["nodes"]) == report["size"]
    around = tuple(chosen) if chosen is not None else tuple(report["best"])
    nodes = list(_nodes(report)) if whole else _neighbourhood({**report, "best": around})
    return _diagram(report, nodes, link, None if chosen is None else around), None if whole else _overview(report)


def legend() -> str:
    """What shapes and colors of nodes mean."""
    return _legend()


def measures(report: Report, levels: Sequence[int]) -> str:
    """What is known about a node, in words."""
    known = _nodes(report).get(tuple(levels))
    if known is None:
        return "not looked at"
    return f"{known['tag']}, {known['how']}; {_measures(report, known)}"


def _summary(report: Report) -> str:
    names = ", ".join(f"{c['name']} ({c['levels']})" for c in report["columns"])
    return (
        f"{report['size']:,} nodes, {report['checks']:,} of them counted by {report['algorithm']}. "
        f"Levels per column: {names}. Up to {report['suppression_budget']:,} of {report['records']:,} records may be "
        f"suppressed. Rows go from exact values at the bottom to everything hidden at the top."
    )


def _nodes(report: Report) -> dict[Node, Mapping[str, Any]]:
    return {tuple(n["levels"]): n for n in report["nodes"]}


def _neighbourhood(report: Report) -> list[Node]:
    """The best node, its direct neighbours, and what lies between the neighbours above."""
    best, top = tuple(report["best"]), [c["levels"] - 1 for c in report["columns"]]
    near = {best}
    for d, level in enumerate(best):
        near |= {(*best[:d], at, *best[d + 1 :]) for at in (level - 1, level + 1) if 0 <= at <= top[d]}
    return sorted(near)


def _levels(report: Report, levels: Sequence[int]) -> str:
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


def _diagram(
    report: Report, nodes: Sequence[Node], link: Link | None = None, chosen: Sequence[int] | None = None
) -> str:
    """Nodes in rows with the edges between them."""
    rows: dict[int, list[Node]] = {}
    for node in sorted(nodes):
        rows.setdefault(sum(node), []).append(node)
    lowest, highest = min(rows), max(rows)
    place = {
        node: ((i + 1) * (WIDTH - 40) / (len(row) + 1) + 40, (highest - at) * ROW_HEIGHT + 30)
        for at, row in rows.items()
        for i, node in enumerate(row)
    }
    edges = [(a, b) for a in nodes for b in rows.get(sum(a) + 1, []) if all(x <= y for x, y in zip(a, b, strict=True))]
    height = (highest - lowest) * ROW_HEIGHT + 60
    drawn = [
        *(f'<text class=faint x=4 y="{(highest - at) * ROW_HEIGHT + 34}">row {at}</text>' for at in rows),
        *(_edge(place[a], place[b]) for a, b in edges),
        *(_linked(report, node, place[node], max(map(len, rows.values())), link, chosen) for node in nodes),
    ]
    return f'<svg viewBox="0 0 {WIDTH} {height}" role=img aria-label="lattice">{"".join(drawn)}</svg>'


def _edge(a: tuple[float, float], b: tuple[float, float]) -> str:
    return f'<line class=edge x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>'


def _linked(
    report: Report, node: Node, at: tuple[float, float], widest: int, link: Link | None, chosen: Sequence[int] | None
) -> str:
    drawn = _drawn_node(report, node, at, widest)
    if link is None:
        return drawn
    mark = ' class="chosen" aria-current="true"' if chosen is not None and node == tuple(chosen) else ""
    return f'<a href="{escape(link(node))}" aria-label="{escape(_levels(report, node))}"{mark}>{drawn}</a>'


def _drawn_node(report: Report, node: Node, at: tuple[float, float], widest: int) -> str:
    known = _nodes(report).get(node, {"tag": "unknown", "how": "skipped", "loss": None, "loss_at_least": None})
    title = _hover(report, node, known)
    ring = (
        f'<circle class=ring cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{RADIUS + 5}"/>'
        if list(node) == report["best"]
        else ""
    )
    label = ""
    if widest * (6 * len(node) + 10) < WIDTH:
        label = f'<text x="{at[0]:.1f}" y="{at[1] + 26:.1f}" text-anchor=middle>{" ".join(map(str, node))}</text>'
    return f"<g><title>{escape(title)}</title>{_shape(known['tag'], known['how'], *at)}{ring}{label}</g>"


def _shape(tag: str, how: str, x: float, y: float) -> str:
    """Safe nodes are round, others square, so that colour is not all that tells them apart."""
    if tag == "safe":
        round_ = f'cx="{x:.1f}" cy="{y:.1f}" r="{RADIUS}"/>'
        return f'<circle class=paper {round_}<circle class="node {tag} {how}" {round_}'
    side, r = 2 * RADIUS - 2, RADIUS - 1
    square = f'x="{x - r:.1f}" y="{y - r:.1f}" width="{side}" height="{side}"/>'
    return f'<rect class=paper {square}<rect class="node {tag} {how}" {square}'


def _legend() -> str:
    items = [
        ("safe", "checked", "safe, counted"),
        ("safe", "inferred", "safe, follows from others"),
        ("unsafe", "checked", "unsafe, counted"),
        ("unsafe", "inferred", "unsafe, follows from others"),
        ("unknown", "skipped", "not looked at"),
    ]
    drawn = [f'<span><svg viewBox="0 0 22 22">{_shape(t, h, 11, 11)}</svg> {text}</span>' for t, h, text in items]
    ring = f'<span><svg viewBox="0 0 30 30"><circle class=ring cx=15 cy=15 r="{RADIUS + 3}"/></svg> best</span>'
    return f"<p class=legend>{''.join(drawn)}{ring}</p>"


def _overview(report: Report) -> str:
    """One bar per row: how many of its nodes are safe, unsafe, not looked at; made of its nodes if they fit."""
    rows, widest = report["rows"], max(report["row_sizes"])
    each = len(report["nodes"]) == report["size"] and widest <= (WIDTH - 240) / LEAST_CELL
    by_row: dict[int, list[Mapping[str, Any]]] = {}
    for node in report["nodes"]:
        by_row.setdefault(sum(node["levels"]), []).append(node)
    drawn: list[str] = []
    for at, row in enumerate(rows):
        x, y = 60.0, (len(rows) - 1 - at) * 18 + 4
        drawn.append(f'<text class=faint x=4 y="{y + 11}">row {at}</text>')
        for tag in ("safe", "unknown", "unsafe"):
            width = row[tag] / widest * (WIDTH - 240)
            title = f"<title>row {at}: {row[tag]:,} {tag} of {report['row_sizes'][at]:,}</title>"
            whole = f'<rect class={tag} x="{x:.1f}" y="{y}" width="{width:.1f}" height=13>{title}</rect>'
            drawn += _cells_of(report, by_row.get(at, []), tag, x, y, widest) if each else [whole]
            x += width
        mark = "  ◀ best" if at == sum(report["best"]) else ""
        drawn.append(f'<text x="{x + 6:.1f}" y="{y + 11}">{row["safe"]:,} safe of {sum(row.values()):,}{mark}</text>')
    return f'<svg viewBox="0 0 {WIDTH} {len(rows) * 18 + 8}" role=img aria-label="rows">{"".join(drawn)}</svg>'


def _cells_of(report: Report, nodes: Sequence[Mapping[str, Any]], tag: str, x: float, y: int, widest: int) -> list[str]:
    """The nodes of a row that carry one tag, side by side, those that lose least first."""
    width = (WIDTH - 240) / widest
    own = sorted(
        (n for n in nodes if n["tag"] == tag), key=lambda n: (n["loss"] or n["loss_at_least"] or 0, n["levels"])
    )
    return [
        f'<g><title>{escape(_hover(report, n["levels"], n))}</title><rect class="{tag} {n["how"]}" stroke-width=".5" '
        f'x="{x + i * width:.1f}" y="{y}" width="{max(1.0, width - 1):.1f}" height=13></rect></g>'
        for i, n in enumerate(own)
    ]


def _hover(report: Report, levels: Sequence[int], node: Mapping[str, Any]) -> str:
    return f"{_levels(report, levels)}\n{node['tag']}, {node['how']}\n{_measures(report, node)}"


def _table(report: Report) -> str:
    """Minimal nodes, or the best counted ones where minimal nodes are not known."""
    known = _nodes(report)
    counted = [n for n in known.values() if n["loss"] is not None and n["tag"] == "safe"]
    minimal = [known[tuple(n)] for n in report["minimal"] if tuple(n) in known]
    chosen = minimal if report["complete"] else counted
    chosen = sorted(
        chosen, key=lambda n: (n["loss"] if n["loss"] is not None else n["loss_at_least"] or 0, n["levels"])
    )
    heading = "Minimal nodes" if report["complete"] else "Best counted nodes"
    rows = []
    for node in chosen[:MOST_LISTED]:
        mark = ' class="best"' if node["levels"] == report["best"] else ""
        cells = [_levels(report, node["levels"]), *_cells(node)]
        rows.append(f"<tr{mark}>{''.join(f'<td>{escape(c)}</td>' for c in cells)}</tr>")
    more = f"<p class=faint>and {len(chosen) - MOST_LISTED:,} more</p>" if len(chosen) > MOST_LISTED else ""
    head = "".join(f"<th>{h}</th>" for h in ("levels", escape(report["loss"]), "suppressed", "classes"))
    return f"<h2>{heading}</h2><table><tr>{head}</tr>{''.join(rows)}</table>{more}"


def _cells(node: Mapping[str, Any]) -> list[str]:
    if node["loss"] is not None:
        return [_number(node["loss"]), f"{node['suppressed']:,}", f"{node['classes']:,}"]
    bound = node["loss_at_least"]
    return ["" if bound is None else f"≥ {_number(bound)}", "", ""]
