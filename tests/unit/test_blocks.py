"""Blocks: every kind has its markup, and goes to JSON and back."""

import json
from io import StringIO

import pytest
from rich.console import Console

from tablecloak.report import blocks
from tablecloak.report.blocks import from_plain, to_plain
from tablecloak.report.render import html, terminal

CHARTS = (
    blocks.Bars("t", ("a",), (0.5,)),
    blocks.Scatter("t", (blocks.Dot(0.1, 0.2, "k=5", is_frontier=True, is_knee=True),), "loss", "risk", ("mondrian",)),
    blocks.LatticeDiagram((blocks.LatticeNode((0, 1), "safe", "checked", "hover", link="/x", is_chosen=True),)),
    blocks.LatticeRows((blocks.LatticeRow((("safe", 1), ("unsafe", 0)), 1),)),
    blocks.LatticeLegend(),
    blocks.Heatmap("t", ("a", "b"), ((0.5, 0.25),), 0.5),
    blocks.Treemap("t", (3, 2), 1),
    blocks.FallingLine("t", ((0.5, 0.2), (1.0, 0.1))),
    blocks.Sparkline("t", (0.5, 1.0)),
    blocks.Meter("t", 0.5, "loss"),
)
FINDINGS = blocks.Findings((blocks.FindingRow("lonely", "all differ", "leave it out", None),))
EXAMPLES = (
    blocks.Heading("heading"),
    blocks.Paragraph(("plain ", blocks.Words("strong", is_strong=True), blocks.Words("small", "small"))),
    blocks.Preformatted("pre"),
    blocks.Items(("one", blocks.Words("two", "best"))),
    blocks.table(("a", "b"), [["1", blocks.Words("2", "good")]], tones=("faint",), title="title"),
    blocks.Tree(blocks.Branch("root", (blocks.Branch("leaf"),))),
    blocks.Alerts((blocks.Alert("note", "title", "text"),)),
    FINDINGS,
    blocks.Verdicts((blocks.VerdictRow("k-anonymity", "k=5", True, "5", "5", "0", "5 records"),)),
    blocks.Labelled((blocks.Entry("label", ("text", blocks.Paragraph("more"))),)),
    *(blocks.Figure(chart, "how") for chart in CHARTS),
    blocks.Figure(None, "nothing to draw", title="title"),
    blocks.Charts((blocks.Figure(CHARTS[0]),)),
    blocks.SideBySide(((blocks.Heading("left"),), (blocks.Heading("right"),))),
    blocks.PageOnly((blocks.Paragraph("much"),)),
    blocks.Section("section", (blocks.Paragraph("text"),)),
    blocks.Banner("kicker", "title", ("lead",), blocks.Words("✓ yes", "good"), FINDINGS, (("5", "records"),)),
    blocks.Footer("footer"),
)


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: type(block).__name__)
def test_a_block_goes_to_json_and_back_and_looks_the_same(block):
    again = from_plain(json.loads(json.dumps(to_plain(block))))
    assert again == block
    assert html.markup(again) == html.markup(block) != ""


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: type(block).__name__)
def test_a_terminal_leaves_out_what_only_a_page_has_room_for(block):
    is_left_out = isinstance(block, blocks.Figure | blocks.Charts | blocks.PageOnly | blocks.Banner | blocks.Footer)
    assert bool(list(terminal.lines([block]))) is not is_left_out


def test_small_words_are_for_pages():
    text = (blocks.Words("gcp"), blocks.Words("how to read it", "small"))
    assert terminal.plain([blocks.Paragraph(text)]) == "gcp"
    assert "how to read it" in html.markup(blocks.Paragraph(text))


def test_what_is_for_a_terminal_is_not_on_a_page():
    block = blocks.TerminalOnly((blocks.Paragraph("said in the banner"),))
    assert from_plain(to_plain(block)) == block
    assert terminal.plain([block]) == "said in the banner"
    assert html.markup(block) == ""


def test_numbers_beside_marked_ones_stand_below_each_other():
    numbers = blocks.table(("", "A"), [["x", blocks.Words("5.0%", "best")], ["y", "0.0%"]], kind="numbers")
    console = Console(width=40, file=StringIO())
    console.print(*terminal.lines([numbers]))
    assert [line.rstrip() for line in console.file.getvalue().splitlines()] == ["        A", "x  ✓ 5.0%", "y    0.0%"]


def test_a_list_of_a_section_keeps_its_title_in_a_terminal():
    assert terminal.plain([blocks.Section("Not tried", (blocks.Items(("linkage",)),))]) == "Not tried\n  linkage"


def test_what_is_written_in_a_block_is_harmless():
    hostile = "<script>x</script>"
    assert "<script" not in html.markup(blocks.Paragraph((hostile, blocks.Words(hostile, "code"))))
    assert "<script" not in html.markup(blocks.table((hostile,), [[hostile]], title=hostile))
