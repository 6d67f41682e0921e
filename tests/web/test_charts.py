"""Charts of the pages: areas, places and what they say."""

from __future__ import annotations

import pytest

from tablecloak.server.treemaps import squarified, treemap


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
    drawn = str(treemap([40, 20, 10], 100, 9))
    assert drawn.count("<rect") == 4
    assert "9 groups, the largest of 40 records; the grey one holds the 6 smaller groups" in drawn
    whole = str(treemap([40, 20, 10], 70, 3))
    assert whole.count("<rect") == 3
    assert "3 groups, the largest of 40 records<" in whole
