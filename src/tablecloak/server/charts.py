"""Small charts of the pages as SVG: shapes of columns, meters, the frontier of runs, the line of a search."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tablecloak.report.render.markup import Html, el

SPARK_WIDTH, SPARK_HEIGHT = 96, 24
WIDTH, HEIGHT, LEFT, BASE = 560, 330, 66, 268
HEAT, HEAT_LEFT = 280, 22


def spark(shape: Sequence[float], title: str) -> Html:
    """Bars the height of a line of text."""
    step = SPARK_WIDTH / max(1, len(shape))
    bars = [
        el(
            "rect",
            class_="one",
            x=i * step + 0.5,
            y=SPARK_HEIGHT - max(1.0, share * SPARK_HEIGHT),
            width=max(1.0, step - 1.5),
            height=max(1.0, share * SPARK_HEIGHT),
            rx=1,
        )
        for i, share in enumerate(shape)
    ]
    return el("svg", el("title", title), bars, class_="spark", viewBox=f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}", role="img")


def meter(share: float, title: str, kind: str = "risk") -> Html:
    """A bar filled to a share."""
    width = 100 * min(1.0, max(0.0, share))
    return el(
        "svg",
        el("title", title),
        el("rect", class_="track", x=0, y=0, width=100, height=8),
        el("rect", class_=f"fill {kind}", x=0, y=0, width=max(width, 1.0 if share > 0 else 0.0), height=8),
        class_="meter",
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        role="img",
    )


def strip(sets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Sets of columns with the share of records they single out and a shade from 1 (few) to 5 (nearly all)."""
    return [
        {**entry, "shade": 1 + min(4, int(entry["unique_share"] * 5)), "bar": meter(entry["unique_share"], "unique")}
        for entry in sets
    ]


def frontier(points: Sequence[Mapping[str, Any]], chosen: str | None) -> Html:
    """Runs by risk and loss: low and left is better. Every point is a link; the best ones are joined."""
    shown = [p for p in points if p["risk"] is not None and p["loss"] is not None]
    top_x = _round_up(max((p["risk"] for p in shown), default=0.2))
    top_y = _round_up(max((p["loss"] for p in shown), default=0.5))
    place = {p["id"]: (_x(p["risk"], top_x), _y(p["loss"], top_y)) for p in shown}
    parts = [*_axes(top_x, top_y), _joined([place[p["id"]] for p in _best(shown)])]
    parts += [_point(p, place[p["id"]], is_chosen=p["id"] == chosen) for p in shown]
    summary = "; ".join(f"run {p['number']}: risk {p['risk']:.1%}, detail lost {p['loss']:.1%}" for p in shown)
    title = "All runs by risk and loss"
    return el("svg", el("title", title), parts, class_="chart frontier", viewBox=f"0 0 {WIDTH} {HEIGHT}",
              role="group", aria_label=f"{title}. {summary}")  # fmt: skip


def heat(shares: Sequence[Sequence[float]], when: str, pair: Mapping[str, Any]) -> Html:
    """Records by two columns: rows are groups of values of the first, from low at the bottom, columns of the second.

    Colors of before and after have one scale, so that they can be held against each other.
    """
    most = max(max(max(row) for row in pair[side]) for side in ("before", "after")) or 1.0
    high, wide = HEAT / len(shares), HEAT / max(1, len(shares[0]))
    cells = [
        el("rect", class_="heat", x=HEAT_LEFT + j * wide, y=HEAT - (i + 1) * high, width=wide - 1, height=high - 1,
           fill_opacity=f"{0.04 + 0.96 * share / most:.3f}")
        for i, row in enumerate(shares)
        for j, share in enumerate(row)
    ]  # fmt: skip
    names = [
        el("text", f"{pair['second']} →", x=HEAT_LEFT + HEAT / 2, y=HEAT + 18.0, class_="axis"),
        el("text", f"{pair['first']} →", x=-HEAT / 2, y=12.0, class_="axis", transform="rotate(-90)"),
    ]
    title = f"{pair['first']} and {pair['second']} {when}: share of records, at most {most:.1%}"
    size = f"0 0 {HEAT + HEAT_LEFT} {HEAT + 26}"
    return el("svg", el("title", title), cells, names, class_="chart heatmap", viewBox=size, role="img")


def falling(points: Sequence[tuple[float, float]]) -> Html:
    """The best loss so far as a line that only goes down; the scripts of the page draw it while a run works."""
    last = max([at for at, _ in points], default=0.0) or 0.1
    top = max([loss for _, loss in points], default=0.0) or 1.0
    places = [f"{10 + 540 * at / last:.1f} {130 - 110 * loss / top:.1f}" for at, loss in points]
    d = f"M{'L'.join(places)}" if places else ""
    title = "Best loss so far" + (f", at last {points[-1][1]:.2%}" if points else "")
    return el("svg", el("title", title), el("path", class_="two outline", d=d), class_="chart",
              viewBox="0 0 560 140", role="img")  # fmt: skip


def _x(value: float, top: float) -> float:
    return LEFT + (WIDTH - LEFT - 40) * value / top


def _y(value: float, top: float) -> float:
    return BASE - (BASE - 24) * value / top


def _round_up(value: float) -> float:
    """A round number a little above."""
    value = max(value * 1.15, 1e-4)
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10) if step * power >= value)


def _axes(top_x: float, top_y: float) -> list[Html]:
    lines = []
    for part in (0, 0.25, 0.5, 0.75, 1):
        x, y = _x(part * top_x, top_x), _y(part * top_y, top_y)
        lines += [
            el("line", x1=float(LEFT), y1=y, x2=float(WIDTH - 40), y2=y),
            el("text", f"{part * top_y:.1%}", x=LEFT - 8.0, y=y + 4, class_="end"),
            el("text", f"{part * top_x:.1%}", x=x, y=BASE + 22.0, class_="tick"),
        ]  # fmt: skip
    names = [
        el("text", "highest risk of a record →", x=(WIDTH + LEFT) / 2, y=float(HEIGHT - 10), class_="axis"),
        el("text", "detail lost ↑", x=float(LEFT), y=14.0, class_="start"),
    ]
    return [*lines, *names]


def _best(points: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Runs that no other beats in both."""
    best: list[Mapping[str, Any]] = []
    for point in sorted(points, key=lambda p: (p["risk"], p["loss"])):
        if not best or point["loss"] < best[-1]["loss"]:
            best.append(point)
    return best


def _joined(places: Sequence[tuple[float, float]]) -> Html | None:
    if len(places) < 2:
        return None
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    return el("path", class_="front", d=d)


def _point(point: Mapping[str, Any], at: tuple[float, float], *, is_chosen: bool) -> Html:
    summary = f"run {point['number']}: {point['what']}; risk {point['risk']:.1%}, detail lost {point['loss']:.1%}"
    return el(
        "a",
        el("title", summary),
        el("rect", class_="hit", x=at[0] - 14, y=at[1] - 26, width=44, height=40),  # easier to hit than the point
        el("circle", class_="dot chosen" if is_chosen else "dot", cx=at[0], cy=at[1], r=9 if is_chosen else 7),
        el("text", str(point["number"]), x=at[0] + 13, y=at[1] - 7, class_="start"),
        href=point["href"],
        aria_label=summary,
    )
