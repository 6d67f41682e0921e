"""Parts that every page shares: the document, sections, captions and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from tablecloak.report.html import Html, Node, el

__all__ = [
    "caption",
    "chart_figure",
    "document",
    "legend",
    "listed",
    "number",
    "owners_note",
    "section",
    "style",
    "table",
]

POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def document(title: str, *content: Node) -> str:
    """A whole page that needs nothing else: no scripts, no fonts, no network."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", title),
        el("style", style()),
    )
    return f"<!doctype html>\n{el('html', head, el('body', el('main', content)), lang='en')}\n"


def style() -> Html:
    """The style sheet of a report."""
    return Html(files("tablecloak.report").joinpath("report.css").read_text(encoding="utf-8"))


def section(title: str, *content: Node) -> Html:
    """A titled part of a page."""
    return el("section", el("h2", title), *content)


def owners_note() -> Html:
    """What a page says that compares with the original in exact figures."""
    text = "Figures on this page are exact. It is for the owner of the original; the report of a run is for everybody."
    return el("footer", el("p", text))


def caption(text: str) -> Html:
    """How to read what stands above."""
    return el("p", text, class_="caption")


def table(heads: Sequence[str], rows: Iterable[Sequence[Node]], **attributes: str) -> Html:
    """A table whose cells carry the name of their column, so that a narrow screen can stack them."""
    body = [el("tr", [_cell(head, cell) for head, cell in zip(heads, row, strict=True)]) for row in rows]
    head = el("thead", el("tr", [el("th", h, scope="col") for h in heads]))
    return el("table", head, el("tbody", body), **attributes)


def _cell(head: str, cell: Node) -> Html:
    return el("td", cell, data_head=head, class_="none" if cell == "–" else None)


def chart_figure(
    chart: Html, how: str | None, *, names: tuple[str, str] | None = None, title: str | None = None
) -> Html:
    """A chart with its title, its legend where it has two series, and how to read it."""
    heading = title or Html(chart.partition("<title>")[2].partition("</title>")[0])
    key = legend(*names) if names else None
    return el("figure", el("h3", heading), key, chart, el("figcaption", how) if how else None)


def legend(one: str = "before", two: str = "after") -> Html:
    """Which color is which."""
    return el("p", el("span", class_="swatch one"), f"{one} ", el("span", class_="swatch two"), two, class_="legend")


def listed(names: Sequence[str]) -> str:
    """Names as people write them: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def number(value: float | None) -> str:
    """A number with separators, in four digits where it is small; none where there is none."""
    if value is None:
        return "none"
    return f"{value:,.4g}" if isinstance(value, float) and abs(value) < 1e4 else f"{value:,.0f}"
