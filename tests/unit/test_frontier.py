"""Frontier and knee of points counted by hand, and the words and pictures made of them."""

from __future__ import annotations

import pytest

from tablecloak.measure.frontier import knee_of, on_frontier
from tablecloak.report.about.explore import explored
from tablecloak.report.render.html import page
from tablecloak.report.render.terminal import lines

#        risk  loss
POINTS = [(0.50, 0.0), (0.20, 0.1), (0.25, 0.1), (0.10, 0.2), (0.10, 0.3), (0.05, 0.9), (None, 0.1), (0.01, None)]


def brute_force(values):
    known = {i: v for i, v in enumerate(values) if None not in v}

    def is_beaten(i):
        r, loss = known[i]
        return any(a <= r and b <= loss and ((a, b) != (r, loss) or j < i) for j, (a, b) in known.items() if j != i)

    return sorted((i for i in known if not is_beaten(i)), key=lambda i: -known[i][0])


def test_the_frontier_has_the_points_that_none_beats():
    assert on_frontier(POINTS) == brute_force(POINTS) == [0, 1, 3, 5]


def test_random_frontiers():
    import random

    for seed in range(200):
        r = random.Random(seed)
        values = [(r.randint(0, 6) / 6, r.randint(0, 6) / 6) for _ in range(r.randint(0, 12))]
        assert on_frontier(values) == brute_force(values)


def test_the_knee_is_farthest_below_the_line_between_the_ends():
    frontier = on_frontier(POINTS)
    knee = knee_of(POINTS, frontier, [f"k={i}" for i in range(8)], "the highest risk", "gcp")
    # saved (0.5 - r) / 0.45 minus spent loss / 0.9: point 1: 2/3 - 1/9 = 5/9; point 3: 8/9 - 2/9 = 6/9
    assert knee.number == 3
    assert (knee.risk_saved, knee.loss_spent) == (pytest.approx(8 / 9), pytest.approx(2 / 9))
    assert "from 50.0% (at k=0) to 10.0%: 89%" in knee.reason


def test_a_straight_frontier_has_no_knee():
    line = [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)]
    assert knee_of(line, on_frontier(line), "abc", "risk", "gcp") is None


def test_two_points_have_no_knee():
    assert knee_of([(1.0, 0.0), (0.0, 1.0)], [0, 1], "ab", "risk", "gcp") is None


def report(knee=None):
    def point(number, k, risk, loss):
        risks = {"highest": risk, "average": risk / 2, "unique": 0.0, "guess": None}
        return {
            "number": number, "changes": {"k": str(k)}, "goals": [], "algorithm": "mondrian", "risk": risks,
            "metrics": {"gcp": loss}, "classes": 3, "smallest": k, "suppressed_share": 0.0, "seconds": 0.1,
        }  # fmt: skip

    failed = {"number": 2, "changes": {"k": "99"}, "goals": [], "algorithm": "flash", "reason": "k=99 is too much <b>"}
    original = {"highest": 1.0, "average": 0.9, "unique": 0.8}
    return {
        "risk": "highest", "utility": "gcp", "original": original, "frontier": [0, 1], "knee": knee, "seconds": {},
        "points": [point(0, 2, 0.5, 0.1), point(1, 5, 0.2, 0.2), failed],
    }  # fmt: skip


def test_lines_say_why_there_is_no_knee_and_why_a_variant_has_no_release():
    shown = " ".join(getattr(line, "plain", "") for line in lines(explored(report(), "p.yaml").blocks))
    assert "fewer than three variants" in shown
    assert "No release for k=99: k=99 is too much" in shown


def test_the_page_rings_the_knee_and_escapes_text():
    knee = {"number": 1, "label": "k=5", "reason": "because", "risk_saved": 1, "loss_spent": 1}
    text = page(explored(report(knee), "p.yaml"))
    assert "knee: k=5" in text
    assert "too much &lt;b&gt;" in text
    assert text.count('class="knee"') == 1
    assert text.count("because") == 1
