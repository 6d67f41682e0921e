"""Blocks as HTML: whole pages that need nothing else (no scripts, no fonts, no network), and parts of other pages."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from importlib.resources import files

from tablecloak.report import blocks
from tablecloak.report.render.markup import Html, Node, el, join
from tablecloak.report.render.svg import draw, series_legend
from tablecloak.report.words import NONE

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
CLASSES = {"good": "pass", "warning": "warn", "bad": "fail", "best": "better", "small": "small", "faint": "faint"}


def page(document: blocks.Document) -> str:
    """A whole page."""
    sheets = ["report.css", *(["lattice.css"] if any(map(_is_of_lattice, document.blocks)) else [])]
    style = "".join(files("tablecloak.report").joinpath(sheet).read_text(encoding="utf-8") for sheet in sheets)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("title", document.title),
        el("style", Html(style)),
    )
    return f"<!doctype html>\n{el('html', head, el('body', el('main', part(document.blocks))), lang='en')}\n"


def _is_of_lattice(block: blocks.Block) -> bool:
    return isinstance(block, blocks.Figure) and isinstance(block.chart, blocks.LatticeLegend)


def part(contents: Iterable[blocks.Block]) -> Html:
    """Blocks as a part of a page."""
    return join([markup(block) for block in contents])


@singledispatch
def markup(block: blocks.Block) -> Html:
    """A block as markup."""
    raise NotImplementedError(type(block).__name__)


def _inline(text: blocks.Text) -> Node:
    if isinstance(text, str):
        return text
    return _words(text) if isinstance(text, blocks.Words) else [_inline(words) for words in text]


def _words(words: blocks.Words) -> Html:
    if words.tone == "code":
        return el("code", words.text)
    if not words.tone:
        return el("strong" if words.is_strong else "span", words.text)
    mark = "✓ " if words.tone == "best" else ""
    return el("span", f"{mark}{words.text}", class_=CLASSES[words.tone])


@markup.register
def _heading(block: blocks.Heading) -> Html:
    return el("h3", block.text)


@markup.register
def _paragraph(block: blocks.Paragraph) -> Html:
    return el("p", _inline(block.text), class_=block.kind or None)


@markup.register
def _preformatted(block: blocks.Preformatted) -> Html:
    return el("pre", block.text)


@markup.register
def _items(block: blocks.Items) -> Html:
    return el("ul", [el("li", _inline(entry)) for entry in block.entries], class_=block.kind or None)


@markup.register
def _table(block: blocks.TextTable) -> Html:
    """A table whose cells carry the name of their column, so that a narrow screen can stack them."""
    tones = block.tones or [""] * len(block.rows)
    body = [
        el("tr", [_cell(head, cell) for head, cell in zip(block.heads, row, strict=True)],
           class_=CLASSES.get(tone))
        for row, tone in zip(block.rows, tones, strict=True)
    ]  # fmt: skip
    head = el("thead", el("tr", [el("th", h, scope="col") for h in block.heads]))
    title = el("caption", block.title) if block.title else None
    return el("table", title, head, el("tbody", body), class_=block.kind or None)


def _cell(head: str, cell: blocks.Text) -> Html:
    return el("td", _inline(cell), data_head=head, class_="none" if cell == NONE else None)


@markup.register
def _tree(block: blocks.Tree) -> Html:
    return el("ul", _branch(block.root))


def _branch(branch: blocks.Branch) -> Html:
    below = el("ul", [_branch(child) for child in branch.branches]) if branch.branches else None
    return el("li", _inline(branch.label), below)


@markup.register
def _alerts(block: blocks.Alerts) -> Html:
    return el("ul", [_alert(alert) for alert in block.alerts], class_="alerts")


def _alert(alert: blocks.Alert) -> Html:
    mark = "Check" if alert.level == "warning" else "Note"
    text = el("p", alert.text) if alert.text else None
    return el("li", el("span", mark, class_="mark"), el("div", el("strong", alert.title), text), class_=alert.level)


@markup.register
def _findings(block: blocks.Findings) -> Html:
    return el("ul", [_finding(finding) for finding in block.findings], class_="alerts findings")


def _finding(finding: blocks.FindingRow) -> Html:
    is_accepted = finding.accepted is not None
    after = f"Accepted: {finding.accepted}" if is_accepted else f"To end it: {finding.fix}."
    what = finding.what[:1].upper() + finding.what[1:] + "."
    mark = el("span", "Accepted" if is_accepted else "Finding", class_="mark")
    body = el("div", el("strong", finding.kind), el("p", what), el("p", after))
    return el("li", mark, body, class_="note" if is_accepted else "warning")


@markup.register
def _verdicts(block: blocks.Verdicts) -> Html:
    heads = ("goal", "holds", "required", "observed", "margin", block.worst)
    return _table(blocks.TextTable(heads, tuple(_verdict_row(verdict) for verdict in block.verdicts)))


def _verdict_row(verdict: blocks.VerdictRow) -> tuple[blocks.Text, ...]:
    return (
        f"{verdict.model} ({verdict.parameters})",
        blocks.Words("✓ yes", "good") if verdict.holds else blocks.Words("✗ no", "bad"),
        f"{verdict.sense} {verdict.required}".strip(),
        verdict.achieved,
        verdict.margin,
        verdict.worst,
    )


@markup.register
def _labelled(block: blocks.Labelled) -> Html:
    kind = None if block.kind == "entries" else block.kind
    return el("dl", [_entry(entry, block.kind) for entry in block.entries], class_=kind)


def _entry(entry: blocks.Entry, kind: str) -> Html:
    content = [_inline(c) if isinstance(c, str | blocks.Words | tuple) else markup(c) for c in entry.content]
    if kind in ("entries", "labels"):
        content = [el("div", c) for c in content]
    label = el("strong", entry.label) if kind == "entries" else entry.label
    return join(el("dt", label), el("dd", content))


@markup.register
def _figure(block: blocks.Figure) -> Html:
    chart = block.chart
    if chart is None:
        return el("figure", el("h3", block.title), el("p", block.how, class_="nothing"))
    if isinstance(chart, blocks.LatticeDiagram | blocks.LatticeRows | blocks.LatticeLegend):
        return draw(chart)
    if isinstance(chart, blocks.Scatter):
        return el("figure", series_legend(chart.series), draw(chart), el("figcaption", block.how))
    key = _legend(*block.names) if block.names else None
    how = el("figcaption", block.how) if block.how else None
    return el("figure", el("h3", block.title or chart.title), key, draw(chart), how)


def _legend(one: str, two: str) -> Html:
    """Which color is which."""
    return el("p", el("span", class_="swatch one"), f"{one} ", el("span", class_="swatch two"), two, class_="legend")


@markup.register
def _charts(block: blocks.Charts) -> Html:
    return el("div", part(block.blocks), class_="charts")


@markup.register
def _columns(block: blocks.SideBySide) -> Html:
    columns = [
        part(column) if len(column) == 1 and isinstance(column[0], blocks.Figure) else el("div", part(column))
        for column in block.columns
    ]
    return el("div", columns, class_="pair")


@markup.register
def _page_only(block: blocks.PageOnly) -> Html:
    return el("div", part(block.blocks))


@markup.register
def _terminal_only(_block: blocks.TerminalOnly) -> Html:
    return join()


@markup.register
def _section(block: blocks.Section) -> Html:
    return el("section", el("h2", block.title), part(block.blocks))


@markup.register
def _banner(block: blocks.Banner) -> Html:
    numbers = [el("div", el("dt", label), el("dd", value)) for value, label in block.numbers]
    return el(
        "header",
        el("p", block.kicker, class_="kicker"),
        el("h1", block.title),
        el("p", block.verdict.text, class_=f"verdict {CLASSES[block.verdict.tone]}") if block.verdict else None,
        markup(block.findings) if block.findings and block.findings.findings else None,
        [el("p", text, class_="lead") for text in block.lead],
        el("dl", numbers, class_="figures") if numbers else None,
    )


@markup.register
def _footer(block: blocks.Footer) -> Html:
    return el("footer", el("p", block.text))
