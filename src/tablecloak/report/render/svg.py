"""Charts as SVG text.

Every chart has a title and a description for screen readers, writes its numbers out, takes the color of text from the
page (`currentColor`) and colors of series from the classes `one` and `two`, which the page defines for light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch
from math import ceil, floor, inf, log2, log10

from tablecloak.report import blocks
from tablecloak.report.render.markup import Html, Node, el, join
from tablecloak.report.words import percent

WIDTH = 420
ROW = 26
AXIS = 36  # room for the numbers and the name of the axis below bars
LABEL = 142  # room for the names of bars
VALUE = 48  # room for their numbers
BAR = WIDTH - LABEL - VALUE  # room for the bars themselves
MOST_CHARACTERS = 20
HEIGHT = 210
CHARACTER = 6.2  # width of one at the size of ticks

Show = Callable[[float], str]


def count(value: float) -> str:
    """A count with separators."""
    return f"{value:,.0f}"


SHOW: dict[blocks.Unit, Show] = {"share": percent, "count": count, "decimal": lambda value: f"{value:.3f}"}


@singledispatch
def draw(chart: blocks.Chart) -> Html:
    """A chart as SVG."""
    raise NotImplementedError(type(chart).__name__)


@draw.register
def _bars(chart: blocks.Bars) -> Html:
    show, top = SHOW[chart.unit], _top(chart.values, chart.top)
    tracks = [
        el("rect", class_="track", x=float(LABEL), y=i * ROW + 4.0, width=float(BAR), height=ROW - 8.0)
        for i in range(len(chart.labels) if chart.top else 0)
    ]
    rows = [
        join(_name(label, i * ROW + ROW / 2), _bar("one", i * ROW + 4, ROW - 8, value, top, show(value)))
        for i, (label, value) in enumerate(zip(chart.labels, chart.values, strict=True))
    ]
    description = _listed(chart.labels, chart.values, show)
    base = len(chart.labels) * ROW
    scale = _bar_scale(chart.axis, top, base, show)
    return picture(chart.title, [tracks, rows, scale], (WIDTH, base + AXIS), description=description)


@draw.register
def _paired_bars(chart: blocks.PairedBars) -> Html:
    """Two horizontal bars per label, one above the other."""
    top = _top([*chart.one, *chart.two], None)
    height = ROW + 8
    rows = [
        join(
            _name(label, i * height + height / 2),
            _bar("one", i * height + 4, 12, b, top, percent(b)),
            _bar("two", i * height + 17, 12, a, top, percent(a)),
        )
        for i, (label, b, a) in enumerate(zip(chart.labels, chart.one, chart.two, strict=True))
    ]
    description = _compared(chart.labels, chart.one, chart.two, chart.names)
    base = len(chart.labels) * height
    scale = _bar_scale(chart.axis, top, base, percent)
    return picture(chart.title, [rows, scale], (WIDTH, base + AXIS), description=description)


def _bar_scale(name: str, top: float, base: float, show: Show) -> Html:
    """The two axes of bars that lie: a line where they begin, numbers below them, and what the numbers are."""
    ticks = [_text(show(top * share), LABEL + BAR * share, base + 15, "tick") for share in (0, 0.5, 1)]
    lines = [_line(float(LABEL), 0, float(LABEL), base), _line(float(LABEL), base, float(LABEL + BAR), base)]
    return join(lines, ticks, _text(name, LABEL + BAR / 2, base + 31, "axis") if name else None)


@draw.register
def _histogram(chart: blocks.UprightBars) -> Html:
    top, step = _top(chart.values, None), WIDTH / max(1, len(chart.labels))
    base = HEIGHT - 44
    columns = []
    for i, (label, value) in enumerate(zip(chart.labels, chart.values, strict=True)):
        height = (base - 20) * value / top
        middle = (i + 0.5) * step
        columns += [
            el("rect", class_="one", x=i * step + 2, y=base - height, width=step - 4, height=max(height, 0.5), rx=2),
            _text(count(value), middle, base - height - 5, "value"),
            _text(label, middle, base + 16, "tick"),
        ]
    columns += [_line(0, base, WIDTH, base), _text(chart.axis, WIDTH / 2, HEIGHT - 6, "axis")]
    description = _listed(chart.labels, chart.values, count)
    return picture(chart.title, columns, (WIDTH, HEIGHT), description=description)


@draw.register
def _steps(chart: blocks.SteppedLines) -> Html:
    """Before as an area, after as an outline."""
    top, base, left = _top([*chart.before, *chart.after], None), HEIGHT - 30, 58.0
    step = (WIDTH - left - 4) / max(1, len(chart.before))
    outlines = [_step_path(values, left, step, base, (base - 12) / top) for values in (chart.before, chart.after)]
    drawn = [
        [_level(percent(top * share), left, base - (base - 12) * share) for share in (0, 0.5, 1)],
        el("path", class_="one area", d=f"M{left:.1f} {base}{outlines[0]}V{base}Z"),
        el("path", class_="two outline", d=f"M{left:.1f} {base}{outlines[1]}V{base}"),
        _step_ticks(chart.edges, left, step, base),
        _line(left, 12, left, base),
        el("text", chart.axis, x=12.0, y=base / 2, class_="axis", transform=f"rotate(-90 12 {base / 2:.0f})"),
    ]
    description = _compared(["below " + chart.edges[0], *chart.edges], chart.before, chart.after)
    return picture(chart.title, drawn, (WIDTH, HEIGHT), description=description)


def _level(shown: str, left: float, y: float) -> Html:
    return join(_line(left, y, WIDTH, y), _text(shown, left - 6, y + 4, "end"))


def _step_ticks(edges: Sequence[str], left: float, step: float, base: float) -> list[Html]:
    """Names of the edges, leaving out what would overlap."""
    widest = max(map(len, edges), default=0) * CHARACTER + 8
    every = max(1, -(-int(widest) // max(1, int(step))))
    return [_text(e, left + (i + 1) * step, base + 18, "tick") for i, e in enumerate(edges) if i % every == 0]


def _step_path(values: Sequence[float], left: float, step: float, base: float, scale: float) -> str:
    return "".join(f"V{base - v * scale:.1f}H{left + (i + 1) * step:.1f}" for i, v in enumerate(values))


def picture(
    title: str,
    drawn: Node,
    size: tuple[float, float],
    *,
    description: str | None = None,
    kind: str = "chart",
    role: str = "img",
    **look: str | float,
) -> Html:
    """A drawing with its title, and a description where the title does not say everything."""
    told = None if description is None else f"{title}. {description}"
    return el(
        "svg", el("title", title), None if description is None else el("desc", description), drawn, class_=kind,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}", role=role, aria_label=told, **look,
    )  # fmt: skip


def _name(label: str, y: float) -> Html:
    short = label if len(label) <= MOST_CHARACTERS else label[: MOST_CHARACTERS - 1] + "…"
    return el("text", short, x=LABEL - 8, y=y + 4, class_="end")


def _bar(series: str, y: float, height: float, value: float, top: float, shown: str) -> Html:
    width = BAR * value / top
    bar = el("rect", class_=series, x=float(LABEL), y=y, width=max(width, 0.5), height=height, rx=2)
    return join(bar, el("text", shown, x=LABEL + width + 6, y=y + height / 2 + 4, class_="start"))


def _text(text: str, x: float, y: float, kind: str) -> Html:
    return el("text", text, x=x, y=y, class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float) -> Html:
    return el("line", x1=x1, y1=y1, x2=x2, y2=y2)


def _top(values: Sequence[float], top: float | None) -> float:
    return top or max(values, default=0) or 1.0


def _listed(labels: Sequence[str], values: Sequence[float], show: Show) -> str:
    return "; ".join(f"{label}: {show(value)}" for label, value in zip(labels, values, strict=True))


def _compared(
    labels: Sequence[str], one: Sequence[float], two: Sequence[float], names: tuple[str, str] = ("before", "after")
) -> str:
    pairs = zip(labels, one, two, strict=True)
    return "; ".join(f"{label}: {percent(b)} {names[0]}, {percent(a)} {names[1]}" for label, b, a in pairs)


# --- risk against loss: shapes and colors tell series apart, a line joins the frontier ------------------------------

WIDE, HIGH = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 16, 52
CORNERS = {
    1: [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    2: [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
    3: [(0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)],
    4: [(-1.1, -0.4), (-0.4, -0.4), (-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4),
        (0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4)],
    5: [(-1.1, -0.8), (1.1, -0.8), (0, 1.2)],
}  # fmt: skip
N_SHAPES = len(CORNERS) + 1


@draw.register
def _scatter(chart: blocks.Scatter) -> Html:
    dots = chart.dots
    x_scale, y_scale = _scale([d.x for d in dots]), _scale([d.y for d in dots])
    x_top, y_top = x_scale[0], y_scale[0]

    def at(dot: blocks.Dot) -> tuple[float, float]:
        x = LEFT + (WIDE - LEFT - RIGHT) * dot.x / x_top
        return x, HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * dot.y / y_top

    front = sorted((d for d in dots if d.is_frontier), key=lambda d: (d.x, -d.y))
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(at, front)) if front else ""
    drawn: list[Node] = [
        _scatter_ticks(*x_scale, is_percent=chart.x_percent, is_upright=False),
        _scatter_ticks(*y_scale, is_percent=True, is_upright=True),
        _axis_names(chart.x_axis, chart.y_axis),
        el("path", class_="frontier", d=path) if len(front) > 1 else None,
        [_mark(chart, dot, *at(dot)) for dot in sorted(dots, key=lambda d: d.is_frontier)],
        [_ring(dot, *at(dot)) for dot in dots if dot.is_knee],
    ]
    described = "; ".join(f"{d.label}: {chart.x_axis} {d.x:.4g}, {chart.y_axis} {d.y:.4g}" for d in front)
    role = "group" if any(dot.link for dot in dots) else "img"
    return picture(chart.title, drawn, (WIDE, HIGH), description=described, kind="chart wide", role=role)


def series_legend(names: Sequence[str]) -> Html:
    """The marks of a scatter chart with the names of their series."""
    keys = [el("span", _sample(i), f" {name}", class_="key") for i, name in enumerate(names)]
    return el("p", keys, class_="legend")


def _sample(series: int) -> Html:
    drawn = el("path", class_=f"mark-{series % N_SHAPES}", d=_shape_path(series % N_SHAPES, 7, 7))
    return el("svg", drawn, class_="sample", viewBox="0 0 14 14", width="14", height="14", aria_hidden="true")


def _scatter_ticks(top: float, n: int, *, is_percent: bool, is_upright: bool) -> Html:
    """Numbers along an axis; the upright one also has lines across the chart."""
    base = HIGH - BOTTOM
    drawn: list[Node] = []
    for i in range(n + 1):
        value = top * i / n
        shown = f"{value * 100:.3g}%" if is_percent else f"{value:,.3g}"
        x, y = LEFT + (WIDE - LEFT - RIGHT) * i / n, base - (base - TOP) * i / n
        if is_upright:
            drawn += [_line(float(LEFT), y, float(WIDE - RIGHT), y), _text(shown, LEFT - 8.0, y + 4, "end")]
        else:
            drawn.append(_text(shown, x, base + 18.0, "tick"))
    return join(drawn)


def _axis_names(x_axis: str, y_axis: str) -> Html:
    middle = (TOP + HIGH - BOTTOM) / 2
    return join(
        _text(x_axis, (LEFT + WIDE - RIGHT) / 2, HIGH - 10.0, "axis"),
        el("text", y_axis, x=14.0, y=middle, class_="axis", transform=f"rotate(-90 14 {middle:.0f})"),
    )


def _mark(chart: blocks.Scatter, dot: blocks.Dot, x: float, y: float) -> Html:
    series = dot.series % N_SHAPES
    look = {"class_": f"mark-{series}" + ("" if dot.is_frontier else " beaten"), "d": _shape_path(series, x, y)}
    if dot.link is None:
        return el("path", el("title", f"{dot.label}: {dot.x:.4g}, {dot.y:.4g}"), **look)
    said = f"{dot.label}; {chart.x_axis} {dot.x:.1%}, {chart.y_axis} {dot.y:.1%}"
    hit = el("rect", class_="hit", x=x - 14, y=y - 26, width=44, height=40)  # easier to hit than the point
    name = _text(dot.name, x + 12, y - 9, "start")
    current = {"class_": "chosen", "aria_current": "true"} if dot.is_chosen else {}
    return el("a", el("title", said), hit, el("path", **look), name, href=dot.link, aria_label=said, **current)


def _shape_path(series: int, x: float, y: float, r: float = 5.0) -> str:
    """A circle, square, triangle, diamond, cross or inverted triangle around a place."""
    if series == 0:
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    return "M" + "L".join(f"{x + r * a:.1f} {y + r * b:.1f}" for a, b in CORNERS[series]) + "Z"


def _ring(dot: blocks.Dot, x: float, y: float) -> Html:
    is_left = x > WIDE * 0.7
    place = {"x": x - 16 if is_left else x + 16, "y": y - 12, "class_": "knee-name end" if is_left else "knee-name"}
    return join(el("circle", cx=x, cy=y, r=11.0, class_="knee"), el("text", f"knee: {dot.label}", **place))


def _scale(values: Sequence[float]) -> tuple[float, int]:
    """A round number not below the largest, and into how many round steps it is divided."""
    largest = max(values, default=0.0)
    if largest <= 0:
        return 1.0, 5
    unit = 10.0 ** floor(log10(largest))
    step = next(unit * part for part in (0.2, 0.25, 0.5, 1.0, 2.0) if unit * part * 6 >= largest)
    n_steps = max(1, ceil(largest / step - 1e-9))
    return step * n_steps, n_steps


# --- records by two columns, groups as areas, a search as it goes down, and charts of one line ----------------------

HEAT, HEAT_LEFT = 280, 22
MAP_WIDTH, MAP_HEIGHT = 800.0, 260.0
SPARK_WIDTH, SPARK_HEIGHT = 96, 24


@draw.register
def _heatmap(chart: blocks.Heatmap) -> Html:
    first, second = chart.names
    high, wide = HEAT / len(chart.shares), HEAT / max(1, len(chart.shares[0]))
    cells = [
        el("rect", class_="heat", x=HEAT_LEFT + j * wide, y=HEAT - (i + 1) * high, width=wide - 1, height=high - 1,
           fill_opacity=f"{0.04 + 0.96 * share / chart.most:.3f}")
        for i, row in enumerate(chart.shares)
        for j, share in enumerate(row)
    ]  # fmt: skip
    names = [
        _text(f"{second} →", HEAT_LEFT + HEAT / 2, HEAT + 18.0, "axis"),
        el("text", f"{first} →", x=-HEAT / 2, y=12.0, class_="axis", transform="rotate(-90)"),
        el("text", "low", x=HEAT_LEFT, y=HEAT + 18.0, class_="start"),
        el("text", "high", x=HEAT_LEFT + HEAT, y=HEAT + 18.0, class_="end"),
        el("text", "low", x=-float(HEAT), y=12.0, class_="start", transform="rotate(-90)"),
        el("text", "high", x=0.0, y=12.0, class_="end", transform="rotate(-90)"),
    ]
    return picture(chart.title, [cells, names], (HEAT + HEAT_LEFT, HEAT + 26), kind="chart heatmap")


@draw.register
def _treemap(chart: blocks.Treemap) -> Html:
    kinds = [f"group shade{_shade(size, max(chart.sizes))}" for size in chart.sizes]
    areas, rest = list(chart.sizes), [chart.rest] if chart.rest > 0 else []
    places = squarified([*areas, *rest], MAP_WIDTH, MAP_HEIGHT)
    drawn = [
        el("rect", class_=kind, x=x, y=y, width=max(0.0, w - 1), height=max(0.0, h - 1))
        for kind, (x, y, w, h) in zip([*kinds, *(["group rest"] if rest else [])], places, strict=True)
    ]
    return picture(chart.title, drawn, (MAP_WIDTH, MAP_HEIGHT), kind="chart treemap")


def squarified(areas: Sequence[float], width: float, height: float) -> list[tuple[float, float, float, float]]:
    """Rectangles (x, y, width, height) of given areas that fill a box, falling areas in rows of near-squares.

    Reference: Bruls, Huizing and van Wijk, Squarified treemaps, VisSym 2000.
    """
    scale = width * height / sum(areas)
    left, placed = [area * scale for area in areas], []
    x = y = 0.0
    while left:
        side = min(width - x, height - y)
        n = _row_length(left, side)
        row, left = left[:n], left[n:]
        thick, at = sum(row) / side, 0.0
        for area in row:
            long = area / thick
            placed.append((x, y + at, thick, long) if width - x >= height - y else (x + at, y, long, thick))
            at += long
        x, y = (x + thick, y) if width - x >= height - y else (x, y + thick)
    return placed


def _row_length(areas: Sequence[float], side: float) -> int:
    """How many areas stand in one row: as long as the worst of them comes nearer to a square."""
    worst, total = inf, 0.0
    for n, area in enumerate(areas):
        total += area
        ratio = max(side**2 * areas[0] / total**2, total**2 / (side**2 * area))
        if ratio > worst:
            return n
        worst = ratio
    return len(areas)


def _shade(size: int, most: int) -> int:
    """From 1 (as large as the largest) to 5 (the smallest), by powers of two."""
    return 1 + min(4, int(log2(most / size)))


@draw.register
def _falling_line(chart: blocks.FallingLine) -> Html:
    """The scripts of the web app draw the same line while a run works."""
    last = max([at for at, _ in chart.points], default=0.0) or 0.1
    top = _top([value for _, value in chart.points], None)
    places = [f"{10 + 540 * at / last:.1f} {130 - 110 * value / top:.1f}" for at, value in chart.points]
    line = el("path", class_="two outline", d=f"M{'L'.join(places)}" if places else "")
    axes = [_line(10, 12, 10, 130), _line(10, 130, 550, 130)]
    names = [
        el("text", "detail lost", x=16.0, y=16.0, class_="start"),
        el("text", "seconds", x=550.0, y=146.0, class_="end"),
    ]
    return picture(chart.title, [axes, names, line], (560, 150))


@draw.register
def _sparkline(chart: blocks.Sparkline) -> Html:
    step = SPARK_WIDTH / max(1, len(chart.heights))
    heights = [max(1.0, share * SPARK_HEIGHT) for share in chart.heights]
    bars = [
        el("rect", class_="one", x=i * step + 0.5, y=SPARK_HEIGHT - h, width=max(1.0, step - 1.5), height=h, rx=1)
        for i, h in enumerate(heights)
    ]
    return picture(chart.title, bars, (SPARK_WIDTH, SPARK_HEIGHT), kind="spark")


@draw.register
def _meter(chart: blocks.Meter) -> Html:
    width = 100 * min(1.0, max(0.0, chart.share))
    bars = [
        el("rect", class_="track", x=0, y=0, width=100, height=8),
        el("rect", class_=f"fill {chart.kind}", x=0, y=0, width=max(width, 1.0 if chart.share > 0 else 0.0), height=8),
    ]
    return picture(chart.title, bars, (100, 8), kind="meter", preserveAspectRatio="none")


# --- lattices -------------------------------------------------------------------------------------------------------

LATTICE_WIDTH, ROW_HEIGHT, RADIUS = 1100, 74, 9
BAR_HEIGHT, BAR_ROW = 13, 18
LEAST_CELL = 3  # width of a node in a row
Levels = tuple[int, ...]
Place = tuple[float, float]


@draw.register
def _lattice_diagram(chart: blocks.LatticeDiagram) -> Html:
    rows: dict[int, list[blocks.LatticeNode]] = {}
    for node in sorted(chart.nodes, key=lambda n: n.levels):
        rows.setdefault(sum(node.levels), []).append(node)
    lowest, highest = min(rows), max(rows)
    place: dict[Levels, Place] = {
        node.levels: ((i + 1) * (LATTICE_WIDTH - 40) / (len(row) + 1) + 40, (highest - at) * ROW_HEIGHT + 30)
        for at, row in rows.items()
        for i, node in enumerate(row)
    }
    edges = [
        (place[a.levels], place[b.levels])
        for a in chart.nodes
        for b in rows.get(sum(a.levels) + 1, [])
        if all(x <= y for x, y in zip(a.levels, b.levels, strict=True))
    ]
    widest = max(map(len, rows.values()))
    drawn: list[Node] = [
        [el("text", f"row {at}", class_="faint", x=4, y=(highest - at) * ROW_HEIGHT + 34) for at in rows],
        [el("line", class_="edge", x1=a[0], y1=a[1], x2=b[0], y2=b[1]) for a, b in edges],
        [_linked_node(node, place[node.levels], widest) for node in chart.nodes],
    ]
    return _lattice_svg("lattice", (highest - lowest) * ROW_HEIGHT + 60, drawn)


def _lattice_svg(name: str, height: int, drawn: Sequence[Node]) -> Html:
    size = f"0 0 {LATTICE_WIDTH} {height}"
    return el("svg", drawn, class_="diagram", viewBox=size, role="img", aria_label=name)


def _linked_node(node: blocks.LatticeNode, at: Place, widest: int) -> Html:
    drawn = _drawn_node(node, at, widest)
    if node.link is None:
        return drawn
    is_chosen = node.is_chosen or None
    mark = {"class_": is_chosen and "chosen", "aria_current": is_chosen and "true"}
    return el("a", drawn, href=node.link, aria_label=node.name, **mark)


def _drawn_node(node: blocks.LatticeNode, at: Place, widest: int) -> Html:
    x, y = at
    ring = el("circle", class_="ring", cx=x, cy=y, r=RADIUS + 5) if node.is_best else None
    label = None
    if widest * (6 * len(node.levels) + 10) < LATTICE_WIDTH:
        label = el("text", " ".join(map(str, node.levels)), x=x, y=y + 26, text_anchor="middle")
    return el("g", el("title", node.hover), _node_shape(node.tag, node.how, x, y), ring, label)


def _node_shape(tag: str, how: str, x: float, y: float) -> Html:
    """Safe nodes are round, others square, so that colour is not all that tells them apart."""
    if tag == "safe":
        circle = {"cx": x, "cy": y, "r": RADIUS}
        return join(el("circle", class_="paper", **circle), el("circle", class_=f"node {tag} {how}", **circle))
    side, r = 2 * RADIUS - 2, RADIUS - 1
    square = {"x": x - r, "y": y - r, "width": side, "height": side}
    return join(el("rect", class_="paper", **square), el("rect", class_=f"node {tag} {how}", **square))


@draw.register
def _lattice_legend(_: blocks.LatticeLegend) -> Html:
    entries = [
        ("safe", "checked", "safe, counted"),
        ("safe", "inferred", "safe, follows from others"),
        ("unsafe", "checked", "unsafe, counted"),
        ("unsafe", "inferred", "unsafe, follows from others"),
        ("unknown", "skipped", "not looked at"),
    ]
    drawn = [
        el("span", el("svg", _node_shape(tag, how, 11, 11), viewBox="0 0 22 22"), f" {text}")
        for tag, how, text in entries
    ]
    ring = el("circle", class_="ring", cx=15, cy=15, r=RADIUS + 3)
    return el("p", drawn, el("span", el("svg", ring, viewBox="0 0 30 30"), " best"), class_="legend node-legend")


@draw.register
def _lattice_rows(chart: blocks.LatticeRows) -> Html:
    """How many nodes of each row are safe, unsafe, not looked at; made of its nodes if they fit."""
    widest = max(row.size for row in chart.rows)
    per_node = (LATTICE_WIDTH - 240) / widest
    drawn: list[Node] = []
    for at, row in enumerate(chart.rows):
        y = (len(chart.rows) - 1 - at) * BAR_ROW + 4
        drawn.append(el("text", f"row {at}", class_="faint", x=4, y=y + 11))
        drawn += _row_bars(row, at, y, per_node)
        end = 60 + sum(n for _, n in row.counts) * per_node
        n_safe, mark = dict(row.counts)["safe"], "  ◀ best" if row.is_best else ""
        drawn.append(el("text", f"{n_safe:,} safe of {sum(n for _, n in row.counts):,}{mark}", x=end + 6, y=y + 11))
    return _lattice_svg("rows", len(chart.rows) * BAR_ROW + 8, drawn)


def _row_bars(row: blocks.LatticeRow, at: int, y: int, per_node: float) -> list[Html]:
    """The bar of a row, from safe to unsafe: whole stretches, or node by node."""
    bars, x = [], 60.0
    for tag, n in row.counts:
        if not n:
            continue
        own = [node for node in row.nodes if node.tag == tag]
        bars += [
            el("g", el("title", node.hover), el(
                "rect", class_=f"{tag} {node.how}", stroke_width=".5", x=x + i * per_node, y=y,
                width=max(1.0, per_node - 1), height=BAR_HEIGHT))
            for i, node in enumerate(own)
        ] or [
            el("rect", el("title", f"row {at}: {n:,} {tag} of {row.size:,}"), class_=tag, x=x, y=y,
               width=n * per_node, height=BAR_HEIGHT)
        ]  # fmt: skip
        x += n * per_node
    return bars
