"""Ready to hand over? The page before export: findings, their fixes, reasons why they may stay."""

from __future__ import annotations

import html
import re

import polars as pl
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def project(pages, tmp_path):
    """A project whose policy keeps a number of which everybody has another."""
    rows = [{"age": 20 + i % 40, "sex": "fm"[i % 2], "ill": "abc"[i % 3], "points": 1000 + 7 * i} for i in range(200)]
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    with (tmp_path / "people.csv").open("rb") as file:
        loaded = pages.send(pages.get("/"), "/open/upload", files={"file": ("people.csv", file, "text/csv")})
    here = "/projects/" + re.search(r"/projects/([0-9a-f]{16})/", str(loaded.url))[1]
    roles = {"age": "quasi", "sex": "quasi", "ill": "sensitive", "points": "keep"}
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{f"role:{name}": role for name, role in roles.items()})
    pages.send(pages.get(f"{here}/goals"), f"{here}/goals", action="add", model="l-diversity")
    return here


def run(pages, here):
    running = pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
    id_ = re.search(r'name="run" value="([0-9a-f]{16})"', running.text)[1]
    ended = pages.wait(id_)
    assert ended["status"] == "done", ended
    return ended


def text(page):
    return words(page.text)


def words(markup):
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", markup)))


def test_before_a_run_the_page_says_that_one_is_needed(pages, project):
    assert "a run must end well first" in text(pages.get(f"{project}/ready"))


def test_goals_tell_findings_before_anything_runs(pages, project):
    assert "points" in words(pages.light(project))
    assert "before anything runs" in words(pages.light(project))


def test_a_finding_is_listed_and_nothing_is_green(pages, project):
    ended = run(pages, project)
    assert ended["result"]["status"] == "findings"
    page = pages.get(f"{project}/ready")
    assert "standing alone: points" in text(page)
    assert "Ready to hand over</" not in page.text
    assert "verdict pass" not in page.text
    assert "verdict pass" not in pages.get(f"{project}/compare").text
    assert "not ready to hand over" in text(pages.get(f"{project}/export"))


def test_one_click_changes_the_policy_and_the_next_run_is_ready(pages, project):
    ended = run(pages, project)
    page = pages.get(f"{project}/ready")
    after = pages.send(page, f"{project}/ready", run=ended["id"], finding="0", action="fix")
    assert "The policy was changed since this run" in text(after)
    assert run(pages, project)["result"]["status"] == "ready"
    assert "verdict pass" in pages.get(f"{project}/ready").text


def test_an_accepted_finding_shows_its_reason(pages, project):
    ended = run(pages, project)
    page = pages.get(f"{project}/ready")
    because = "points were drawn by lot <b>&"
    pages.send(page, f"{project}/ready", run=ended["id"], finding="0", action="accept", because=because)
    again = run(pages, project)
    assert again["result"]["status"] == "accepted"
    assert again["result"]["findings"][0]["accepted"] == because
    page = pages.get(f"{project}/ready")
    assert "Ready, with 1 accepted finding" in text(page)
    assert html.escape(because) in page.text


def test_a_finding_is_not_accepted_without_a_reason(pages, project):
    ended = run(pages, project)
    page = pages.get(f"{project}/ready")
    refused = pages.send(page, f"{project}/ready", run=ended["id"], finding="0", action="accept", because="  ")
    assert refused.status_code == 422
    assert "accepted with a reason" in text(refused)


def test_a_finding_that_is_not_there_is_refused(pages, project):
    ended = run(pages, project)
    page = pages.get(f"{project}/ready")
    assert pages.send(page, f"{project}/ready", run=ended["id"], finding="7", action="fix").status_code == 422
