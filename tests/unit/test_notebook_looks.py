"""Results in a notebook: markup that is closed, a chart where there is something to draw, no original cell."""

from __future__ import annotations

from html.parser import HTMLParser

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.sample import baskets

SECRET = "Qqzzyx"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Reader(HTMLParser):
    """Keeps the tags that are open."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def results():
    frame = tc.sample.patients(400).with_columns(
        name=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(SECRET)).otherwise("name"),
        diagnosis=pl.when(pl.int_range(pl.len()) == 7).then(pl.lit(SECRET)).otherwise("diagnosis"),
    )
    roles = tc.roles(quasi=["birth_date", "sex", "zip"], sensitive=["insurance"], identifier=["name", "ssn"])
    policy = tc.Policy(columns=roles, goals=[tc.KAnonymity(k=5)])
    release = tc.anonymize(frame, policy)
    return {
        "profile": tc.inspect(frame),
        "risk": tc.risk(frame, roles),
        "release": release,
        "report": release.report,
        "verification": tc.verify(release.frame, policy),
        "comparison": tc.compare(frame, release.frame, policy=policy),
        "attacks": tc.attack(frame, release.frame, policy=policy),
        "advice": tc.advise(frame),
        "exploration": tc.explore(frame, policy, k=[3, 5, 8]),
        "check": tc.check(policy),
    }


NAMES = ["profile", "risk", "release", "report", "verification", "comparison", "attacks", "advice", "exploration"]
DRAWN = ["profile", "risk", "release", "comparison", "attacks", "exploration"]


@pytest.mark.parametrize("name", [*NAMES, "check"])
def test_it_shows_itself(results, name):
    markup = results[name]._repr_html_()
    reader = Reader(markup)
    assert reader.open == []
    assert ("svg" in reader.seen) == (name in DRAWN)
    assert "@scope (.tablecloak)" in markup  # its colours stay with it
    assert not any(word in markup for word in (":root", "http-equiv", "<script"))
    assert SECRET not in markup


@pytest.mark.parametrize("name", [*NAMES, "check"])
def test_its_repr_is_one_short_line(results, name):
    text = repr(results[name])
    assert text.startswith(type(results[name]).__name__ + "(")
    assert len(text) < 120
    assert "\n" not in text
    assert SECRET not in text


def test_a_release_of_sets_and_its_comparison_show_themselves():
    data = baskets(300)
    policy = tc.Policy.model_validate(
        {"columns": {"items": {"role": "items"}}, "goals": [{"model": "km-anonymity", "k": 3, "m": 1}]}
    )
    release = tc.anonymize(data, policy)
    for result in (release, release.report, tc.compare(data, release.frame, policy=policy)):
        assert Reader(result._repr_html_()).open == []
        assert len(repr(result)) < 120
