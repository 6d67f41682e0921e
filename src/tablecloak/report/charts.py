"""Charts as SVG text: bars, paired bars, histogram and steps.

Every chart has a title and a description for screen readers, writes its numbers out, takes the color of text from the
page (`currentColor`) and colors of series from the classes `one` and `two`, which the page defines for light and dark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tablecloak.report.html import Html, Node, el, join

__all__ = ["bars", "histogram", "paired_bars", "steps"]

WIDTH = 420
ROW = 26
LABEL = 142  # room for the names of bars
VALUE = 48  # room for their numbers
MOST_CHARACTERS = 20
HEIGHT = 210
CHARACTER = 6.2  # width of one at the size of ticks

Show = Callable[[float], str]


def percent(value: float) -> str:
    """A share with one decimal, or none where it is 0."""
    return f"{value:.1%}".replace(".0%", "%")


def number(value: float) -> str:
    """A count with separators."""
    return f"{value:,.0f}"


def bars(
    title: str, labels: Sequence[str], values: Sequence[float], *, top: float | None = None, show: Show = percent
) -> Html:
    """One horizontal bar per label, on a common scale from 0 to `top`, whose end is shown where it is given."""
    rows = [
        el(
            "rect",
            class_="track",
            x=float(LABEL),
            y=i * ROW + 4.0,
            width=float(WIDTH - LABEL - VALUE),
            height=ROW - 8.0,
        )
        for i in range(len(labels) if top else 0)
    ]
    rows += [
        join(_name(label, i * ROW + ROW / 2), _bar("one", i * ROW + 4, ROW - 8, value, _top(values, top), show(value)))
        for i, (label, value) in enumerate(zip(labels, values, strict=True))
    ]
    return _svg(title, _listed(labels, values, show), len(labels) * ROW, rows)


def paired_bars(
    title: str,
    labels: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    *,
    show: Show = percent,
    names: tuple[str, str] = ("before", "after"),
) -> Html:
    """Two horizontal bars per label, one above the other: before and after, or as `names` says."""
    top = _top([*before, *after], None)
    height = ROW + 8
    rows = [
        join(
            _name(label, i * height + height / 2),
            _bar("one", i * height + 4, 12, b, top, show(b)),
            _bar("two", i * height + 17, 12, a, top, show(a)),
        )
        for i, (label, b, a) in enumerate(zip(labels, before, after, strict=True))
    ]
    return _svg(title, _compared(labels, before, after, show, names), len(labels) * height, rows)


def histogram(title: str, labels: Sequence[str], values: Sequence[float], *, axis: str, show: Show = number) -> Html:
    """Upright bars side by side, for amounts along an ordered axis."""
    top, step = _top(values, None), WIDTH / max(1, len(labels))
    base = HEIGHT - 44
    columns = []
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        height = (base - 20) * value / top
        middle = (i + 0.5) * step
        columns += [
            el("rect", class_="one", x=i * step + 2, y=base - height, width=step - 4, height=max(height, 0.5), rx=2),
            _text(show(value), middle, base - height - 5, "value"),
            _text(label, middle, base + 16, "tick"),
        ]
    columns += [_line(0, base, WIDTH, base), _text(axis, WIDTH / 2, HEIGHT - 6, "axis")]
    return _svg(title, _listed(labels, values, show), HEIGHT, columns)


def steps(
    title: str, edges: Sequence[str], before: Sequence[float], after: Sequence[float], *, show: Show = percent
) -> Html:
    """Two stepped lines over an ordered axis: before as an area, after as an outline; `edges` part the bins."""
    top, base, left = _top([*before, *after], None), HEIGHT - 30, 44.0
    step = (WIDTH - left - 4) / max(1, len(before))
    outlines = [_step_path(values, left, step, base, (base - 12) / top) for values in (before, after)]
    drawn = [
        [_level(show(top * share), left, base - (base - 12) * share) for share in (0, 0.5, 1)],
        el("path", class_="one area", d=f"M{left:.1f} {base}{outlines[0]}V{base}Z"),
        el("path", class_="two outline", d=f"M{left:.1f} {base}{outlines[1]}V{base}"),
        _ticks(edges, left, step, base),
    ]
    return _svg(title, _compared(["below " + edges[0], *edges], before, after, show), HEIGHT, drawn)


def _level(shown: str, left: float, y: float) -> Html:
    return join(_line(left, y, WIDTH, y), _text(shown, left - 6, y + 4, "end"))


def _ticks(edges: Sequence[str], left: float, step: float, base: float) -> list[Html]:
    """Names of the edges, leaving out what would overlap."""
    widest = max(map(len, edges), default=0) * CHARACTER + 8
    every = max(1, -(-int(widest) // max(1, int(step))))
    return [_text(e, left + (i + 1) * step, base + 18, "tick") for i, e in enumerate(edges) if i % every == 0]


def _step_path(values: Sequence[float], left: float, step: float, base: float, scale: float) -> str:
    return "".join(f"V{base - v * scale:.1f}H{left + (i + 1) * step:.1f}" for i, v in enumerate(values))


def _svg(title: str, description: str, height: float, parts: Sequence[Node]) -> Html:
    return el(
        "svg",
        el("title", title),
        el("desc", description),
        parts,
        class_="chart",
        viewBox=f"0 0 {WIDTH} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
    )


def _name(label: str, y: float) -> Html:
    short = label if len(label) <= MOST_CHARACTERS else label[: MOST_CHARACTERS - 1] + "…"
    return el("text", short, x=LABEL - 8, y=y + 4, class_="end")


def _bar(series: str, y: float, height: float, value: float, top: float, shown: str) -> Html:
    width = (WIDTH - LABEL - VALUE) * value / top
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
    labels: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    show: Show,
    names: tuple[str, str] = ("before", "after"),
) -> str:
    pairs = zip(labels, before, after, strict=True)
    return "; ".join(f"{label}: {show(b)} {names[0]}, {show(a)} {names[1]}" for label, b, a in pairs)
