"""Treemaps: the groups of a release as rectangles."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tablecloak.report.render.markup import Html, el

WIDTH, HEIGHT = 800.0, 260.0


def treemap(sizes: Sequence[int], n_records: int, n_groups: int) -> Html:
    """Groups of records as rectangles, area by their number, the largest first; what is not listed is one more."""
    rest = n_records - sum(sizes)
    areas = [*sizes, *([rest] if rest > 0 else [])]
    placed = squarified(areas, WIDTH, HEIGHT)
    most = max(sizes)
    parts = [
        el("rect", class_=f"group shade{_shade(size, most)}", x=x, y=y, width=max(0.0, w - 1), height=max(0.0, h - 1))
        for size, (x, y, w, h) in zip(sizes, placed, strict=False)
    ]
    if rest > 0:
        x, y, w, h = placed[-1]
        parts.append(el("rect", class_="group rest", x=x, y=y, width=max(0.0, w - 1), height=max(0.0, h - 1)))
    others = f"; the grey one holds the {n_groups - len(sizes):,} smaller groups" if rest > 0 else ""
    title = f"{n_groups:,} groups, the largest of {most:,} records{others}"
    svg = el("svg", el("title", title), parts, class_="chart treemap", role="img", viewBox=f"0 0 {WIDTH} {HEIGHT}")
    return el("figure", svg, el("figcaption", title), class_="tree-figure")


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
    worst, total = math.inf, 0.0
    for n, area in enumerate(areas):
        total += area
        ratio = max(side**2 * areas[0] / total**2, total**2 / (side**2 * area))
        if ratio > worst:
            return n
        worst = ratio
    return len(areas)


def _shade(size: int, most: int) -> int:
    """From 1 (as large as the largest) to 5 (the smallest), by powers of two."""
    return 1 + min(4, int(math.log2(most / size)))
