"""Attacks on counts of classes find what attacks on rows find; of large releases, classes are drawn by lot."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tablecloak.engines.base import SensitiveColumn
from tablecloak.engines.local.engine import LocalEngine, table_of
from tablecloak.release.facts import attacked
from tablecloak.release.facts.attacked import attacks_on
from tablecloak.stats.classes import ClassStats


def recount_of(n, n_classes, seed=0):
    """A release with two sensitive columns, in classes of very different sizes."""
    random = np.random.default_rng(seed)
    group = np.sort((random.random(n) ** 2 * n_classes).astype(int))
    frame = pl.DataFrame(
        {
            "place": [f"p{g}" for g in group],
            "illness": [f"i{(g + v) % 7}" for g, v in zip(group, random.geometric(0.5, n), strict=True)],
            "cost": random.integers(1, 9, n) * 100 + group % 3,
        }
    )
    columns = [SensitiveColumn("illness"), SensitiveColumn("cost")]
    return LocalEngine().class_stats(table_of(frame), ["place"], columns, stars_are_suppressed=False)


def figures(exposures):
    return {e.attack: e.reason if e.finding is None else replace(e.finding, worst=(), notes=()) for e in exposures}


def halves(stats):
    """The classes as two parts that share no class."""
    middle = stats.n_classes // 2
    return [attacked._chosen(stats, np.arange(*ends)) for ends in ((0, middle), (middle, stats.n_classes))]


def test_parts_say_what_the_whole_says():
    recount = recount_of(3000, 300)
    whole = figures(attacks_on(recount))
    assert figures(attacks_on(replace(recount, classes=None, codes={}))) == whole
    assert figures(attacks_on(replace(recount, parts=halves(recount.stats), classes=None))) == whole
    assert sum(not isinstance(finding, str) for finding in whole.values()) >= 6


def test_chosen_classes_keep_their_counts():
    stats = recount_of(800, 60).stats
    some = attacked._chosen(stats, np.array([5, 2, 40]))
    assert isinstance(some, ClassStats)
    for name, hist in some.hist.items():
        whole = stats.hist[name]
        for i, c in enumerate((5, 2, 40)):
            mine = slice(hist.indptr[i], hist.indptr[i + 1])
            theirs = slice(whole.indptr[c], whole.indptr[c + 1])
            assert hist.codes[mine].tolist() == whole.codes[theirs].tolist()
            assert hist.counts[mine].tolist() == whole.counts[theirs].tolist()
            assert hist.counts[mine].sum() == some.size[i] == stats.size[c]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_drawn_classes_estimate_within_their_limits(seed, monkeypatch):
    recount = recount_of(40_000, 4000, seed)
    exact = figures(attacks_on(recount))
    monkeypatch.setattr(attacked, "MOST_RECORDS", 10_000)
    drawn = figures(attacks_on(replace(recount, parts=halves(recount.stats), classes=None)))
    for name, finding in drawn.items():
        if isinstance(finding, str):
            assert finding == exact[name]
            continue
        low, high = finding.interval
        width = max(high - low, 1e-9)
        assert abs(finding.average - exact[name].average) <= 1.5 * width
        assert finding.highest is None or finding.highest <= exact[name].highest
        assert finding.baseline == pytest.approx(exact[name].baseline, rel=0.2)
        assert finding.n_targets == 40_000
        assert 7_000 < finding.n_sampled < 13_000
    share = drawn["homogeneity"].n_victims - exact["homogeneity"].n_victims
    assert abs(share) <= 0.3 * exact["homogeneity"].n_victims + 50
