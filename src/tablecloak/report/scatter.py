"""A scatter chart of risk against loss, as SVG text: shapes and colors tell series apart, a line joins the frontier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from tablecloak.report.html import Html, Node, el, join

__all__ = ["N_SHAPES", "Dot", "scatter", "shape"]

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 16, 52
N_SHAPES = 6


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of the chart."""

    x: float
    y: float
    label: str
    series: int = 0
    is_frontier: bool = False
    is_knee: bool = False


def scatter(title: str, dots: Sequence[Dot], *, x_axis: str, y_axis: str, x_percent: bool, y_percent: bool) -> Html:
    """Dots on common axes that begin at 0, the frontier joined, the knee ringed and named."""
    x_scale, y_scale = _scale([d.x for d in dots]), _scale([d.y for d in dots])
    x_top, y_top = x_scale[0], y_scale[0]

    def at(dot: Dot) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * dot.x / x_top
        return x, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * dot.y / y_top

    front = sorted((d for d in dots if d.is_frontier), key=lambda d: (d.x, -d.y))
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in map(at, front)) if front else ""
    drawn: list[Node] = [
        _ticks(*x_scale, is_percent=x_percent, is_upright=False),
        _ticks(*y_scale, is_percent=y_percent, is_upright=True),
        _names(x_axis, y_axis),
        el("path", class_="frontier", d=path) if len(front) > 1 else None,
        [_mark(dot, *at(dot)) for dot in sorted(dots, key=lambda d: d.is_frontier)],
        [_ring(dot, *at(dot)) for dot in dots if dot.is_knee],
    ]
    described = "; ".join(f"{d.label}: {x_axis} {d.x:.4g}, {y_axis} {d.y:.4g}" for d in front)
    return el(
        "svg", el("title", title), el("desc", described), drawn, class_="chart wide", viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img", aria_label=f"{title}. {described}",
    )  # fmt: skip


def _ticks(top: float, n: int, *, is_percent: bool, is_upright: bool) -> Html:
    """Numbers along an axis; the upright one also has lines across the chart."""
    base = HEIGHT - BOTTOM
    drawn: list[Node] = []
    for i in range(n + 1):
        shown = _shown(top * i / n, is_percent=is_percent)
        x, y = LEFT + (WIDTH - LEFT - RIGHT) * i / n, base - (base - TOP) * i / n
        if is_upright:
            drawn += [
                el("line", x1=float(LEFT), y1=y, x2=float(WIDTH - RIGHT), y2=y),
                el("text", shown, x=LEFT - 8.0, y=y + 4, class_="end"),
            ]
        else:
            drawn.append(el("text", shown, x=x, y=base + 18.0, class_="tick"))
    return join(drawn)


def _names(x_axis: str, y_axis: str) -> Html:
    middle = (TOP + HEIGHT - BOTTOM) / 2
    return join(
        el("text", x_axis, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 10.0, class_="axis"),
        el("text", y_axis, x=14.0, y=middle, class_="axis", transform=f"rotate(-90 14 {middle:.0f})"),
    )


def _mark(dot: Dot, x: float, y: float) -> Html:
    series = dot.series % N_SHAPES
    kind = f"mark-{series}" + ("" if dot.is_frontier else " beaten")
    return el("path", el("title", f"{dot.label}: {dot.x:.4g}, {dot.y:.4g}"), class_=kind, d=shape(series, x, y))


def shape(series: int, x: float, y: float, r: float = 5.0) -> str:
    """A circle, square, triangle, diamond, cross or inverted triangle around a place."""
    if series == 0:
        return f"M{x - r:.1f} {y:.1f}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 {-2 * r} 0Z"
    corners = {
        1: [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2: [(0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
        3: [(0, -1.3), (1.1, 0), (0, 1.3), (-1.1, 0)],
        4: [(-1.1, -0.4), (-0.4, -0.4), (-0.4, -1.1), (0.4, -1.1), (0.4, -0.4), (1.1, -0.4), (1.1, 0.4), (0.4, 0.4),
            (0.4, 1.1), (-0.4, 1.1), (-0.4, 0.4), (-1.1, 0.4)],
        5: [(-1.1, -0.8), (1.1, -0.8), (0, 1.2)],
    }[series]  # fmt: skip
    return "M" + "L".join(f"{x + r * a:.1f} {y + r * b:.1f}" for a, b in corners) + "Z"


def _ring(dot: Dot, x: float, y: float) -> Html:
    is_left = x > WIDTH * 0.7
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


def _shown(value: float, *, is_percent: bool) -> str:
    return f"{value * 100:.3g}%" if is_percent else f"{value:,.3g}"
