"""Charts of the pages: areas, places and what they say."""

from __future__ import annotations

import re

import pytest

from tablecloak.report.about.compare import heatmaps
from tablecloak.report.render.svg import draw, squarified
from tablecloak.server.steps.compare.service import frontier
from tablecloak.server.steps.run.service import NumberedRun, groups_of
from tablecloak.server.store import Run


@pytest.mark.parametrize("areas", [[6, 6, 4, 3, 2, 2, 1], [5], [1] * 37, [1000, 1, 1], [9, 9, 9, 8, 5, 5]])
def test_a_treemap_fills_its_box_with_the_areas_asked_for(areas):
    width, height = 6.0, 4.0
    placed = squarified(areas, width, height)
    assert [w * h for _, _, w, h in placed] == pytest.approx([a * width * height / sum(areas) for a in areas])
    for x, y, w, h in placed:
        assert -1e-9 <= x <= x + w <= width + 1e-9
        assert -1e-9 <= y <= y + h <= height + 1e-9
    for i, (x, y, w, h) in enumerate(placed):
        for x2, y2, w2, h2 in placed[i + 1 :]:
            assert min(x + w, x2 + w2) - max(x, x2) < 1e-9 or min(y + h, y2 + h2) - max(y, y2) < 1e-9


def test_the_example_of_the_paper_begins_with_two_halves_of_the_left_side():
    # areas 6, 6, 4, 3, 2, 2, 1 in a box of 6 by 4: the first two stand on top of each other, 3 wide and 2 high
    assert squarified([6, 6, 4, 3, 2, 2, 1], 6.0, 4.0)[:2] == [(0.0, 0.0, 3.0, 2.0), (0.0, 2.0, 3.0, 2.0)]


def test_a_treemap_says_what_it_leaves_out():
    chart = groups_of(done(groups=[40, 20, 10], rows=100, classes=9))
    assert chart.title == "9 groups, the largest of 40 records; the grey one holds the 6 smaller groups"
    assert draw(chart).count("<rect") == 4
    whole = groups_of(done(groups=[40, 20, 10], rows=70, classes=3))
    assert whole.title == "3 groups, the largest of 40 records"
    assert draw(whole).count("<rect") == 3


def done(**result):
    return Run("r", "p", "run", "done", "", 1, "", result=result)


def test_a_heat_map_has_one_scale_for_both_sides():
    pair = {"first": "a", "second": "b", "before": [[0.5, 0.0], [0.25, 0.25]], "after": [[0.25] * 2] * 2}
    before, after = (re.findall(r'fill-opacity="([0-9.]+)"', draw(chart)) for chart in heatmaps(pair))
    assert before == ["1.000", "0.040", "0.520", "0.520"]
    assert set(after) == {"0.520"}


def test_runs_that_no_other_beats_are_joined_and_each_leads_to_its_page():
    values = [(0.2, 0.1), (0.1, 0.3), (0.3, 0.2), (None, None)]  # the third is beaten, of the last nothing is known
    results = [{"goals": [], "algorithm": "auto", "after": {"highest": r}, "loss": loss} for r, loss in values]
    runs = [NumberedRun(n, Run(f"r{n}", "p", "run", "done", "", 1, "", result=r)) for n, r in enumerate(results, 1)]
    chart = frontier(runs, runs[1].run)
    assert [dot.is_frontier for dot in chart.dots] == [True, True, False]
    drawn = draw(chart)
    links = sorted(re.findall(r'href="([^"]+)"', drawn))
    assert links == [f"/projects/p/compare?run=r{n}" for n in (1, 2, 3)]
    assert drawn.count('aria-current="true"') == 1
    assert 'role="group"' in drawn
