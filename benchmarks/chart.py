"""Charts as SVG text: lines, and panels of bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, LEAST_HEIGHT, LEFT, BOTTOM, TOP, LEGEND, LINE = 980, 420, 60, 46, 16, 330, 18
COLOURS = ("#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#6a4c93", "#00798c", "#8d5a2b", "#444444")
DASHES = ("none", "7 3", "2 3", "10 3 2 3")
TICKS = tuple(digit * 10.0**power for power in range(-6, 7) for digit in (1, 2, 5))
Series = Mapping[str, Sequence[tuple[float, float]]]


def line_chart(series: Series, *, x: str, y: str, bold: str) -> str:
    """Lines over logarithmic axes; what is 0 lies at the lower edge.

    Lines with the same points are drawn as one. The legend lists them from the highest end to the lowest.

    Args:
        bold: lines whose names begin like this are thick and not dashed.
    """
    lines = sorted(_merged(series), key=lambda line: -line[1][-1][1])
    points = [p for _, line in lines for p in line]
    xs = sorted({px for px, _ in points})
    ticks = _ticks([py for _, py in points if py > 0] or [1.0])
    height = max(LEAST_HEIGHT, TOP + BOTTOM + LINE * len(lines))

    def place(px: float, py: float) -> tuple[float, float]:
        span = math.log(xs[-1] / xs[0]) or 1.0
        across = LEFT + (WIDTH - LEFT - LEGEND) * math.log(px / xs[0]) / span
        down = math.log(ticks[-1] / max(py, ticks[0])) / math.log(ticks[-1] / ticks[0])
        return across, TOP + (height - TOP - BOTTOM) * down

    font = 'font-size="12" font-family="system-ui, sans-serif"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" {font}>',
        f"<title>{escape(y)} against {escape(x)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for tick in ticks:
        _, at = place(xs[0], tick)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - LEGEND}" y1="{at:.1f}" y2="{at:.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for px in xs:
        at, _ = place(px, ticks[0])
        parts.append(f'<text x="{at:.1f}" y="{height - BOTTOM + 18}" text-anchor="middle">{px:g}</text>')
    middle = (LEFT + WIDTH - LEGEND) / 2
    parts.append(f'<text x="{middle}" y="{height - 8}" text-anchor="middle">{escape(x)}</text>')
    parts.append(f'<text transform="translate(14 {height / 2}) rotate(-90)" text-anchor="middle">{escape(y)}</text>')
    for i, (name, line) in enumerate(lines):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (place(*p) for p in line))
        is_bold = name.startswith(bold)
        dashes = DASHES[0 if is_bold else i // len(COLOURS) % len(DASHES)]
        width = 3.5 if is_bold else 1.5
        stroke = f'stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="{width}" stroke-dasharray="{dashes}"'
        parts.append(f'<polyline points="{path}" fill="none" {stroke}><title>{escape(name)}</title></polyline>')
        at = TOP + 14 + LINE * i
        begin = WIDTH - LEGEND + 14
        parts.append(f'<line x1="{begin}" x2="{begin + 30}" y1="{at - 4}" y2="{at - 4}" {stroke}/>')
        parts.append(f'<text x="{begin + 36}" y="{at}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _ticks(values: Sequence[float]) -> list[float]:
    """1, 2 and 5 of every power of ten, from below all values to above them."""
    first = max(i for i, tick in enumerate(TICKS) if i == 0 or tick <= min(values))
    last = min(i for i, tick in enumerate(TICKS) if i == len(TICKS) - 1 or (tick >= max(values) and i > first))
    return list(TICKS[first : last + 1])


def _merged(series: Series) -> list[tuple[str, list[tuple[float, float]]]]:
    """Lines in the order of x, those with the same points under all their names."""
    names: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for name, line in series.items():
        if line:
            names.setdefault(tuple(sorted(line)), []).append(name)
    return [(", ".join(same), list(line)) for line, same in names.items()]


PANEL, PANEL_GAP, NAMES, BAR, GROUP_GAP, HEAD = 480, 20, 76, 13, 11, 34


@dataclass(frozen=True, slots=True)
class Panel:
    """Bars in groups, each with its figure."""

    title: str
    values: Mapping[tuple[str, str], float]  # group and side
    figure: str  # how a value is written


def bar_chart(panels: Sequence[Panel]) -> str:
    """Panels of bars from 0, two in a row; a side has the same colour in all of them."""
    sides = list(dict.fromkeys(side for panel in panels for _, side in panel.values))
    colours = dict(zip(sides, ("#b4b4b4", "#1b6ca8", "#2e933c", "#edae49"), strict=False))
    n_groups = max(len({group for group, _ in panel.values}) for panel in panels)
    high = HEAD + n_groups * (len(sides) * BAR + GROUP_GAP) + 26
    font = 'font-size="11" font-family="system-ui, sans-serif"'
    width, height = 2 * PANEL + PANEL_GAP, 30 + math.ceil(len(panels) / 2) * high
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>',
        f"<title>{escape('; '.join(panel.title for panel in panels))}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i, side in enumerate(sides):
        parts.append(f'<rect x="{NAMES + 130 * i}" y="9" width="12" height="12" fill="{colours[side]}"/>')
        parts.append(f'<text x="{NAMES + 130 * i + 17}" y="19">{escape(side)}</text>')
    for i, panel in enumerate(panels):
        move = f"translate({i % 2 * (PANEL + PANEL_GAP)} {30 + i // 2 * high})"
        parts += [f'<g transform="{move}">', *_bars(panel, colours, high), "</g>"]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _bars(panel: Panel, colours: Mapping[str, str], high: int) -> list[str]:
    """One panel: title, ticks, bars."""
    most = max(panel.values.values()) or 1.0
    step = next(tick for tick in TICKS if tick * 5 >= most)
    end = step * math.ceil(most / step)
    span = PANEL - NAMES - 40  # figures stand after the longest bar
    parts = [f'<text x="{NAMES}" y="20" font-weight="600">{escape(panel.title)}</text>']
    for i in range(round(end / step) + 1):
        at = NAMES + span * i * step / end
        parts.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{HEAD - 6}" y2="{high - 22}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{at:.1f}" y="{high - 8}" text-anchor="middle" fill="#555555">{i * step:g}</text>')
    down = HEAD
    for group in dict.fromkeys(group for group, _ in panel.values):
        own = {side: value for (name, side), value in panel.values.items() if name == group}
        middle = down + len(own) * BAR / 2 + 4
        parts.append(f'<text x="{NAMES - 8}" y="{middle:.1f}" text-anchor="end">{escape(group)}</text>')
        for side, value in own.items():
            length = span * value / end
            bar = f'x="{NAMES}" y="{down}" width="{length:.1f}" height="{BAR - 2}" fill="{colours[side]}"'
            figure = panel.figure.format(value)
            parts.append(f"<rect {bar}><title>{escape(f'{group}, {side}: {figure}')}</title></rect>")
            parts.append(f'<text x="{NAMES + length + 4:.1f}" y="{down + BAR - 3}" font-size="10">{figure}</text>')
            down += BAR
        down += GROUP_GAP
    return parts
