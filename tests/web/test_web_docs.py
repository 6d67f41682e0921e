"""The examples of docs/reference/web.md run against a server, line by line."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
from browsing import serving

from tablecloak.sample import patients

PAGE = Path(__file__).parents[2] / "docs/reference/web.md"
TOKEN = "choose-something-long"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl")
def test_the_requests_of_the_page_work(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLECLOAK_TOKEN", TOKEN)
    start, requests = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert TOKEN in start
    patients(800).write_csv(tmp_path / "patients.csv")
    with serving(tmp_path, bearer=TOKEN) as server:
        script = requests.replace(":8642/", f":{server.settings.port}/")
        assert script != requests
        done = subprocess.run(
            ["bash", "-euc", script], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["done", "True"]
    assert pl.read_csv(tmp_path / "release.csv").height == 800
    assert "event: end" in (tmp_path / "events.txt").read_text()
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


def test_every_request_of_the_api_is_in_the_page():
    from fastapi import FastAPI

    from tablecloak.server.api import routes

    app = FastAPI()
    app.include_router(routes.router)
    text = re.sub(r"\{\w+\}", "{id}", PAGE.read_text(encoding="utf-8"))
    for path in app.openapi()["paths"]:
        short = re.sub(r"\{\w+\}", "{id}", path.removeprefix("/api/v1"))
        assert short in text or f"`/{short.rpartition('/')[2]}`" in text, short


def test_every_option_that_the_page_names_exists():
    from tablecloak.cli.serve import serve

    options = re.findall(r"`(--[a-z-]+)`", PAGE.read_text(encoding="utf-8"))
    known = str(serve.__annotations__)
    assert options
    assert all(option in known for option in options)
