"""Charts: well-formed, described, harmless."""

from xml.etree import ElementTree as ET

import pytest

from tablecloak.report.blocks import Bars, PairedBars, SteppedLines, UprightBars
from tablecloak.report.render.markup import Html, el, join
from tablecloak.report.render.svg import draw

HOSTILE = '<script>alert("x")</script>&\'"'
DRAWN = {
    "bars": lambda n: Bars("t " + n, (n, "b"), (0.25, 0.5), top=1.0),
    "paired": lambda n: PairedBars("t " + n, (n, "b"), (0.25, 0.5), (0.5, 0.25)),
    "histogram": lambda n: UprightBars("t " + n, (n, "b"), (3, 9), axis="size " + n),
    "steps": lambda n: SteppedLines("t " + n, (n,), (0.25, 0.75), (0.5, 0.5)),
}


@pytest.mark.parametrize("chart", DRAWN.values(), ids=DRAWN)
def test_any_name_is_harmless_and_the_chart_is_well_formed(chart):
    root = ET.fromstring(draw(chart(HOSTILE)))
    assert {e.tag for e in root.iter()} <= {"svg", "title", "desc", "rect", "text", "line", "path"}
    assert root.find("title").text == "t " + HOSTILE


@pytest.mark.parametrize("chart", DRAWN.values(), ids=DRAWN)
def test_every_chart_says_its_numbers_in_words(chart):
    root = ET.fromstring(draw(chart("a")))
    assert root.get("role") == "img"
    said = root.find("desc").text
    assert "25%" in said or "a: 3; b: 9" in said


def test_bars_are_in_proportion():
    root = ET.fromstring(draw(Bars("t", ("a", "b"), (0.2, 0.8))))
    widths = [float(r.get("width")) for r in root.iter("rect")]
    assert widths[1] == pytest.approx(4 * widths[0], abs=0.05)


def test_columns_of_a_histogram_are_in_proportion():
    root = ET.fromstring(draw(UprightBars("t", ("a", "b"), (5, 10), axis="x")))
    heights = [float(r.get("height")) for r in root.iter("rect")]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.05)


@pytest.mark.parametrize("kind", [Bars, lambda *a: UprightBars(*a, axis="x")])
def test_nothing_to_draw_is_drawn(kind):
    ET.fromstring(draw(kind("t", (), ())))
    ET.fromstring(draw(kind("t", ("a",), (0.0,))))


def test_text_is_escaped_once_and_markup_not_again():
    inner = el("b", "a < b")
    assert inner == "<b>a &lt; b</b>"
    assert join(inner, " & ", [Html("<i>"), None]) == "<b>a &lt; b</b> &amp; <i>"
    assert el("td", class_='x" onclick="y') == '<td class="x&quot; onclick=&quot;y"></td>'
