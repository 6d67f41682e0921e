"""What people are shown, as values: a list of blocks is lines of a terminal, a page, a part of the web app and JSON.

Modules in `about/` say things in blocks, modules in `render/` turn blocks into text. A terminal has less room than a
page: it leaves out figures, `PageOnly` and small words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, TypeAlias

Tone: TypeAlias = Literal["", "good", "warning", "bad", "best", "faint", "small", "code"]
Unit: TypeAlias = Literal["share", "count", "decimal"]


@dataclass(frozen=True, slots=True)
class Words:
    """A stretch of text in one tone."""

    text: str
    tone: Tone = ""
    is_strong: bool = False


Text: TypeAlias = "str | Words | tuple[str | Words, ...]"
Cells: TypeAlias = "tuple[Text, ...]"


@dataclass(frozen=True, slots=True)
class Heading:
    """What the next blocks of a section are about."""

    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Text; a caption says how to read what stands above it."""

    text: Text
    kind: Literal["", "caption", "lead", "nothing", "reference"] = ""


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Text whose lines stay as they are."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    entries: tuple[Text, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Cells under heads. Columns of numbers stand to the right and do not wrap."""

    heads: tuple[str, ...]
    rows: tuple[Cells, ...]
    kind: Literal["", "numbers", "dense", "measures", "hashes"] = ""
    right: tuple[int, ...] = ()  # columns that a terminal sets to the right
    tones: tuple[Tone, ...] = ()  # of the rows, if they differ
    title: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node of a tree with what is below it."""

    label: Text
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree, the root first."""

    root: Branch


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to look at."""

    level: Literal["warning", "note"]
    title: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Alerts:
    """What to look at first."""

    alerts: tuple[Alert, ...]


@dataclass(frozen=True, slots=True)
class FindingRow:
    """Something besides the goals that singles people out, with what ends it or the reason why it stays."""

    kind: str
    what: str
    fix: str
    accepted: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What besides the goals singles people out."""

    findings: tuple[FindingRow, ...]


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A goal: what was required and what was counted; `holds` is None where it could not be checked."""

    model: str
    parameters: str
    holds: bool | None
    required: str
    achieved: str
    margin: str
    worst: str  # size of the worst class
    sense: str = ""  # how levels compare with what is required
    level: str = ""  # what the level of the model is called


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Every goal."""

    verdicts: tuple[VerdictRow, ...]
    worst: str = "worst class"  # what the last column is called


@dataclass(frozen=True, slots=True)
class Entry:
    """What is said under a label."""

    label: str
    content: tuple[Text | Block, ...]


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labels with what is said about each: beside it in a column, or as entries of a glossary."""

    entries: tuple[Entry, ...]
    kind: Literal["labels", "ok", "indented", "method", "entries"] = "labels"


@dataclass(frozen=True, slots=True)
class Bars:
    """One bar per label, on a common scale from 0 to `top`, whose end is shown where it is given."""

    title: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    top: float | None = None
    unit: Unit = "share"
    axis: str = ""  # what the length of a bar is


@dataclass(frozen=True, slots=True)
class PairedBars:
    """Two bars per label."""

    title: str
    labels: tuple[str, ...]
    one: tuple[float, ...]
    two: tuple[float, ...]
    names: tuple[str, str] = ("before", "after")
    axis: str = ""  # what the length of a bar is


@dataclass(frozen=True, slots=True)
class UprightBars:
    """Upright bars side by side, for amounts along an ordered axis."""

    title: str
    labels: tuple[str, ...]
    values: tuple[float, ...]
    axis: str


@dataclass(frozen=True, slots=True)
class SteppedLines:
    """Two stepped lines over an ordered axis; `edges` part the bins."""

    title: str
    edges: tuple[str, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    axis: str = ""  # what the height of a line is


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a scatter chart."""

    x: float
    y: float
    label: str
    series: int = 0
    is_frontier: bool = False
    is_knee: bool = False
    name: str = ""  # beside the dot
    link: str | None = None
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """Dots on common axes that begin at 0, the frontier joined, the knee ringed and named."""

    title: str
    dots: tuple[Dot, ...]
    x_axis: str
    y_axis: str
    series: tuple[str, ...]
    x_percent: bool = True


@dataclass(frozen=True, slots=True)
class LatticeNode:
    """A node of a lattice; the word under it is shown where there is room."""

    levels: tuple[int, ...]
    tag: Literal["safe", "unsafe", "unknown"]
    how: Literal["checked", "inferred", "skipped"]
    hover: str
    is_best: bool = False
    is_chosen: bool = False
    link: str | None = None
    name: str = ""  # of the link, for those who cannot see it


@dataclass(frozen=True, slots=True)
class LatticeDiagram:
    """Nodes in rows, with the edges between them."""

    nodes: tuple[LatticeNode, ...]


@dataclass(frozen=True, slots=True)
class LatticeRow:
    """How many nodes of a row carry each tag, and the nodes themselves where they can be drawn one by one."""

    counts: tuple[tuple[str, int], ...]  # by tag, as they stand side by side
    size: int
    nodes: tuple[LatticeNode, ...] = ()
    is_best: bool = False


@dataclass(frozen=True, slots=True)
class LatticeRows:
    """One bar per row of a lattice."""

    rows: tuple[LatticeRow, ...]


@dataclass(frozen=True, slots=True)
class LatticeLegend:
    """What shapes and colors of nodes mean."""


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Shares of records by two columns: rows are groups of values of the first, from low at the bottom."""

    title: str
    names: tuple[str, str]  # of the columns
    shares: tuple[tuple[float, ...], ...]
    most: float  # share of the strongest color, the same where two maps are held against each other


@dataclass(frozen=True, slots=True)
class Treemap:
    """Sizes of groups as areas, the largest first; `rest` is what is not listed."""

    title: str
    sizes: tuple[int, ...]
    rest: int = 0


@dataclass(frozen=True, slots=True)
class FallingLine:
    """What only goes down, by the seconds at which it did."""

    title: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Bars the height of a line of text, between 0 and 1."""

    title: str
    heights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Meter:
    """A bar filled to a share."""

    title: str
    share: float
    kind: Literal["before", "after", "risk", "loss"] = "risk"


Chart: TypeAlias = (
    Bars | PairedBars | UprightBars | SteppedLines | Scatter | LatticeDiagram | LatticeRows | LatticeLegend | Heatmap
    | Treemap | FallingLine | Sparkline | Meter
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart with its title, its legend where it has two series, and how to read it, or why there is none."""

    chart: Chart | None
    how: str | None = None
    names: tuple[str, str] | None = None  # of the two series
    title: str | None = None


@dataclass(frozen=True, slots=True)
class Charts:
    """Figures side by side, as many as fit."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """Columns next to each other."""

    columns: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True)
class PageOnly:
    """What only a page has room for."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class TerminalOnly:
    """What a page says in its banner or its legends, which a terminal leaves out."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a page."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Banner:
    """What a page begins with: what it is about, the verdict, a paragraph in plain words and some numbers."""

    kicker: str
    title: str
    lead: tuple[str, ...]
    verdict: Words | None = None
    findings: Findings | None = None
    numbers: tuple[tuple[str, str], ...] = ()  # value and what it is


@dataclass(frozen=True, slots=True)
class Footer:
    """What a page ends with."""

    text: str


Block: TypeAlias = (
    Heading | Paragraph | Preformatted | Items | TextTable | Tree | Alerts | Findings | Verdicts | Labelled | Figure
    | Charts | SideBySide | PageOnly | TerminalOnly | Section | Banner | Footer
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Document:
    """A page with a title."""

    title: str
    blocks: tuple[Block, ...]

    @property
    def sections(self) -> dict[str, tuple[Block, ...]]:
        """The titled parts."""
        return {block.title: block.blocks for block in self.blocks if isinstance(block, Section)}


def shown(*blocks: Block | None) -> tuple[Block, ...]:
    """Blocks in order; None is nothing to show."""
    return tuple(block for block in blocks if block is not None)


def table(heads: Iterable[str], rows: Iterable[Iterable[Text]], **look: Any) -> TextTable:
    """A table from any rows."""
    return TextTable(tuple(heads), tuple(tuple(row) for row in rows), **look)


def to_plain(value: Any) -> Any:
    """Blocks as plain data for JSON."""
    if is_dataclass(value):
        return {"is": type(value).__name__, **{f.name: to_plain(getattr(value, f.name)) for f in fields(value)}}
    return [to_plain(part) for part in value] if isinstance(value, tuple) else value


def from_plain(data: Any) -> Any:
    """Blocks from what `to_plain` made of them."""
    if isinstance(data, dict):
        return _KINDS[data["is"]](**{name: from_plain(part) for name, part in data.items() if name != "is"})
    return tuple(from_plain(part) for part in data) if isinstance(data, list) else data


_KINDS = {name: kind for name, kind in globals().items() if isinstance(kind, type) and is_dataclass(kind)}
