"""No cell of the data in any answer of the web app that is not made to show it: errors, logs and most pages.

Made to show cells of their own data to the owner, and so only their errors are looked at: `load` and `compare` where
somebody asks for values, `hierarchies` (trees over values), and `attacks` and `lattice` (labels).
"""

from __future__ import annotations

import io
import json
import logging

import pytest

from canaries import BROKEN, POLICY, WHOLE, leaks

pytestmark = pytest.mark.slow

# What is shown of a project beside what is made to show cells.
QUIET = ("load", "roles", "goals", "light", "run", "policy", "ready", "export", "compare")
SHOWING = ("load?values=true", "compare?values=true", "hierarchies", "attacks", "lattice")


@pytest.fixture
def said(caplog, capfd):
    """Everything that was logged or printed meanwhile."""
    caplog.set_level(logging.DEBUG, "tablecloak")
    return lambda: caplog.text + "".join(capfd.readouterr())


def answers_about(pages, api, data):
    """What the web app says of a file, each answer with its name."""
    yield from pages_about(pages, data)
    yield from api_about(pages, api, data)
    files = {"release": data, "policy": json.dumps(POLICY).encode(), "original": WHOLE.encode()}
    names = {"release": "data.csv", "policy": "policy.json", "original": "whole.csv"}
    yield "verify", api.post("/api/v1/verify", files={n: (names[n], io.BytesIO(files[n])) for n in files})
    for path in ("/", "/admin"):
        yield path, pages.get(path)


def pages_about(pages, data):
    page = pages.send(pages.get("/"), "/open/upload", files={"file": ("data.csv", io.BytesIO(data))})
    yield "upload page", page
    if "/projects/" in str(page.url):
        here = str(page.url).rsplit("/", 1)[0]
        yield from ((step, pages.get(f"{here}/{step}")) for step in QUIET)
        shown = ((step, pages.get(f"{here}/{step}")) for step in SHOWING)
        yield from ((step, page) for step, page in shown if page.is_error)


def api_about(pages, api, data):
    given = api.post("/api/v1/datasets", files={"file": ("data.csv", io.BytesIO(data))})
    yield "dataset", given
    if given.is_error:
        return
    yield "profile", api.get(f"/api/v1/datasets/{given.json()['id']}/profile")
    made = api.post("/api/v1/projects", json={"dataset": given.json()["id"]})
    yield "project", made
    if made.is_error:
        return
    here = f"/api/v1/projects/{made.json()['id']}"
    yield "policy", api.put(f"{here}/policy", json={"policy": json.dumps(POLICY), "version": made.json()["version"]})
    yield "check", api.post(f"{here}/check")
    started = api.post(f"{here}/runs")
    yield "start", started
    if not started.is_error:
        pages.wait(started.json()["id"])
        yield "run", api.get(f"/api/v1/runs/{started.json()['id']}")


@pytest.mark.parametrize("kind", BROKEN)
def test_no_answer_shows_a_cell_of_a_broken_file(pages, api, said, kind):
    data = BROKEN[kind]
    answers = list(answers_about(pages, api, data.encode() if isinstance(data, str) else data))
    assert answers
    assert [(name, answer.status_code) for name, answer in answers if leaks(answer.text)] == []
    assert [(name, answer.text[-300:]) for name, answer in answers if "unexpected" in answer.text] == []
    assert not leaks(said())


def test_the_sweep_would_notice(pages):
    data = BROKEN["text-among-numbers"].encode()
    page = pages.send(pages.get("/"), "/open/upload", files={"file": ("data.csv", io.BytesIO(data))})
    assert leaks(pages.get(f"{page.url}?values=true").text)
