"""A line chart as SVG text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

__all__ = ["line_chart"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, LEGEND = 860, 420, 60, 46, 16, 220
COLOURS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#00798c", "#8d5a2b", "#444444")


def line_chart(series: Mapping[str, Sequence[tuple[float, float]]], *, x: str, y: str) -> str:
    """Lines over a logarithmic x axis that begins at the least x; y begins at 0."""
    points = [p for line in series.values() for p in line]
    xs = sorted({px for px, _ in points})
    top = max((py for _, py in points), default=1.0) * 1.05 or 1.0

    def place(px: float, py: float) -> tuple[float, float]:
        span = math.log(xs[-1] / xs[0]) or 1.0
        across = LEFT + (WIDTH - LEFT - LEGEND) * math.log(px / xs[0]) / span
        return across, TOP + (HEIGHT - TOP - BOTTOM) * (1 - py / top)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12">',
        f"<title>{escape(y)} against {escape(x)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for tick in range(5):
        value = top * tick / 4
        _, at = place(xs[0], value)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - LEGEND}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    for px in xs:
        at, _ = place(px, 0)
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{px:g}</text>')
    middle = (LEFT + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text transform="translate(14 {HEIGHT / 2}) rotate(-90)" text-anchor="middle">{escape(y)}</text>')
    for i, (name, line) in enumerate(series.items()):
        colour, dashes = COLOURS[i % len(COLOURS)], ("none", "6 3", "2 3")[i // len(COLOURS) % 3]
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*p) for p in sorted(line)))
        stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        at = TOP + 14 + 16 * i
        parts.append(
            f'<line x1="{WIDTH - LEGEND + 14}" x2="{WIDTH - LEGEND + 38}" y1="{at - 4}" y2="{at - 4}" {stroke}/>'
        )
        parts.append(f'<text x="{WIDTH - LEGEND + 44}" y="{at}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
