"""A line chart as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["line_chart"]

WIDTH, LEAST_HEIGHT, LEFT, BOTTOM, TOP, LEGEND, LINE = 980, 420, 60, 46, 16, 330, 18
COLOURS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#00798c", "#8d5a2b", "#444444")
DASHES = ("none", "7 3", "2 3", "10 3 2 3")
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
Series = Mapping[str, Sequence[tuple[float, float]]]


def line_chart(series: Series, *, x: str, y: str) -> str:
    """Lines over a logarithmic x axis that begins at the least x; y begins at 0.

    Lines with the same points are drawn as one. The legend lists them from the highest end to the lowest.
    """
    lines = sorted(_merged(series), key=lambda line: -line[1][-1][1])
    points = [p for _, line in lines for p in line]
    xs = sorted({px for px, _ in points})
    highest = max((py for _, py in points), default=1.0) or 1.0
    step = next((s for s in STEPS if highest / s <= 6), highest)
    top = step * math.ceil(highest / step)
    height = max(LEAST_HEIGHT, TOP + BOTTOM + LINE * len(lines))

    def place(px: float, py: float) -> tuple[float, float]:
        span = math.log(xs[-1] / xs[0]) or 1.0
        across = LEFT + (WIDTH - LEFT - LEGEND) * math.log(px / xs[0]) / span
        return across, TOP + (height - TOP - BOTTOM) * (1 - py / top)

    font = 'font-size="12" font-family="system-ui, sans-serif"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {font}>',
        f"<title>{escape(y)} against {escape(x)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for tick in range(round(top / step) + 1):
        _, at = place(xs[0], step * tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - LEGEND}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{step * tick:.2f}</text>')
    for px in xs:
        at, _ = place(px, 0)
        parts.append(f'<text x="{at:.1f}" y="{height - BOTTOM + 18}" text-anchor="middle">{px:g}</text>')
    middle = (LEFT + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{height - 8}" text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text transform="translate(14 {height / 2}) rotate(-90)" text-anchor="middle">{escape(y)}</text>')
    for i, (name, line) in enumerate(lines):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*p) for p in line))
        dashes = DASHES[i // len(COLOURS) % len(DASHES)]
        stroke = f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}><title>{escape(name)}</title></polyline>')
        at = TOP + 14 + LINE * i
        begin = WIDTH - LEGEND + 14
        parts.append(f'<line x1="{begin}" x2="{begin + 30}" y1="{at - 4}" y2="{at - 4}" {stroke}/>')
        parts.append(f'<text x="{begin + 36}" y="{at}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _merged(series: Series) -> list[tuple[str, list[tuple[float, float]]]]:
    """Lines in the order of x, those with the same points under all their names."""
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for name, line in series.items():
        if line:
            names.setdefault(tuple(sorted(line)), []).append(name)
    return [(", ".join(same), list(line)) for line, same in names.items()]
