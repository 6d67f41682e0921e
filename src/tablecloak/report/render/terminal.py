"""Blocks as lines and tables of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import singledispatch

from rich import table as grid
from rich import tree as trees
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text as Line

from tablecloak.report import blocks

STYLES = {"good": "green", "warning": "yellow", "bad": "red", "faint": "dim"}


def lines(contents: Iterable[blocks.Block]) -> Iterator[RenderableType]:
    """Everything a terminal has room for; an empty line parts sections."""
    is_first = True
    for block in contents:
        if isinstance(block, blocks.Section):
            inner = list(lines(block.blocks))
            if isinstance(block.blocks[0], blocks.Items):  # a list says little without its title
                inner = [Line(block.title, "bold"), *inner]
            if inner and not is_first:
                yield Line()
            yield from inner
            is_first = is_first and not inner
        else:
            for line in _lines(block):
                yield line
                is_first = False


def plain(contents: Iterable[blocks.Block]) -> str:
    """The lines as a text, without tables."""
    return "\n".join(line.plain for line in lines(contents) if isinstance(line, Line))


@singledispatch
def _lines(_block: blocks.Block) -> Iterable[RenderableType]:
    """Lines of a block; none of what only a page has room for."""
    return ()


@_lines.register
def _heading(block: blocks.Heading) -> Iterator[RenderableType]:
    yield Line(block.text, "bold")


@_lines.register
def _paragraph(block: blocks.Paragraph) -> Iterator[RenderableType]:
    line = styled(block.text)
    yield Line(line.plain, "dim") if block.kind == "caption" else line


@_lines.register
def _preformatted(block: blocks.Preformatted) -> Iterator[RenderableType]:
    yield Line(block.text)


@_lines.register
def _items(block: blocks.Items) -> Iterator[RenderableType]:
    yield from (Line("  ") + styled(entry) for entry in block.entries)


@_lines.register
def _alerts(block: blocks.Alerts) -> Iterator[RenderableType]:
    yield from (Line(f"{alert.title}. {alert.text}".strip()) for alert in block.alerts)


@_lines.register
def _terminal_only(block: blocks.TerminalOnly) -> Iterator[RenderableType]:
    yield from lines(block.blocks)


@_lines.register
def _columns(block: blocks.SideBySide) -> Iterator[RenderableType]:
    for column in block.columns:
        yield from lines(column)


@_lines.register
def _tree(block: blocks.Tree) -> Iterator[RenderableType]:
    yield _grown(trees.Tree(styled(block.root.label)), block.root)


def _grown(shown: trees.Tree, branch: blocks.Branch) -> trees.Tree:
    for child in branch.branches:
        _grown(shown.add(styled(child.label)), child)
    return shown


def styled(text: blocks.Text) -> Line:
    """Words in their tones."""
    if isinstance(text, str):
        return Line(text)
    if isinstance(text, blocks.Words):
        if text.tone == "small":
            return Line()
        style = " ".join(["bold"] * text.is_strong + [STYLES.get(text.tone, "")]).strip()
        return Line("✓ " * (text.tone == "best") + text.text, style)  # in front: numbers stand below each other
    line = Line()
    for words in text:
        line += styled(words)
    return line


class _TableOfNumbers(grid.Table):
    """A table whose numbers stand on one line each; where there is no room for that, they are broken, never cut."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [column.min_width or 12 for column in self.columns]  # text is broken into lines of some width
        if sum(widths) + 2 * len(widths) > options.max_width:
            for column in self.columns:
                column.min_width = None
        yield from super().__rich_console__(console, options)


@_lines.register
def _table(block: blocks.TextTable) -> Iterator[RenderableType]:
    shown = _TableOfNumbers(
        title=block.title or None, title_justify="left", title_style="bold", box=None, pad_edge=False,
        header_style="bold",
    )  # fmt: skip
    is_numbers = block.kind == "numbers"
    for place, head in enumerate(block.heads):
        is_right = place in block.right or (is_numbers and place > 0)
        width = max((styled(row[place]).cell_len for row in block.rows), default=0) if is_numbers and place else None
        shown.add_column(head, justify="right" if is_right else "left", overflow="fold", min_width=width)
    tones = block.tones or [""] * len(block.rows)
    for row, tone in zip(block.rows, tones, strict=True):
        style = "bold green" if tone == "good" else STYLES.get(tone, "")
        shown.add_row(*map(styled, row), style=style)
    yield shown


@_lines.register
def _findings(block: blocks.Findings) -> Iterator[RenderableType]:
    for finding in block.findings:
        if finding.accepted is not None:
            yield Line.assemble(("· ", "green"), f"{finding.kind}: {finding.what}")
            yield Line(f"  accepted: {finding.accepted}", "dim")
            continue
        yield Line.assemble(("! ", "yellow"), f"{finding.kind}: {finding.what}")
        yield Line(f"  fix  {finding.fix}", "yellow")


@_lines.register
def _verdicts(block: blocks.Verdicts) -> Iterator[RenderableType]:
    yield from map(_verdict, block.verdicts)


def _verdict(verdict: blocks.VerdictRow) -> Line:
    if verdict.holds is None:
        return Line.assemble(("– ", "yellow"), f"{verdict.model:<14} could not be checked")
    text = f"{verdict.model:<14} {verdict.level} {verdict.achieved} (need {verdict.required})"
    return (
        Line.assemble(("✓ ", "green"), text) if verdict.holds else Line.assemble(("✗ ", "bold red"), f"{text}: not met")
    )


@_lines.register
def _labelled(block: blocks.Labelled) -> Iterator[RenderableType]:
    is_first = True
    for entry in block.entries:
        content = [
            line
            for part in entry.content
            for line in ([styled(part)] if isinstance(part, str | blocks.Words | tuple) else lines([part]))
        ]
        shown = [line for line in content if not isinstance(line, Line) or line.plain]
        if shown and block.kind == "entries" and not is_first:
            yield Line()
        is_first = is_first and not shown
        for place, line in enumerate(shown):
            if not isinstance(line, Line):
                yield line
            elif block.kind == "entries":
                yield Line(f"{entry.label}: ") + line if place == 0 else Line(f"  {line.plain}", "dim")
            elif block.kind == "ok":  # the first line says that all is well
                yield Line.assemble((f"{entry.label:<4}" if place == 0 else "    ", "green"), line)
            elif block.kind == "indented":
                yield Line("  ") + line
            else:
                yield Line.assemble((f" {entry.label if place == 0 else '':<9} ", "bold"), line)
