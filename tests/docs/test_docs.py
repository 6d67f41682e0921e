"""Every example of the documentation runs, and shows what really happens."""

from __future__ import annotations

import re
import runpy
import tomllib

import pytest
from pages import HOW_TO, PAGES, ROOT, TUTORIAL, blocks, name_of
from running import run_page

from tablecloak.policy.load import parse_policy

LANGUAGES = {"console", "python", "sh", "text", "yaml"}
every_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.mark.parametrize("page", [page for page in PAGES if page != TUTORIAL], ids=name_of)
@pytest.mark.slow
@pytest.mark.usefixtures("own_registry", "somewhere")
def test_examples_run_and_show_what_happens(page, capsys, monkeypatch):
    run_page(page, capsys, monkeypatch)


@every_page
def test_examples_are_in_languages_that_tests_know(page):
    assert {block.language for block in blocks(page)} <= LANGUAGES


@every_page
def test_policies_are_valid(page):
    for block in blocks(page):
        if block.language == "yaml" and "version:" in block.text:
            parse_policy(block.text, name=f"{name_of(page)}:{block.line}", base=ROOT)


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets


@pytest.mark.parametrize("page", [p for p in PAGES if p.parent == HOW_TO], ids=name_of)
def test_how_to_pages_have_something_to_paste(page):
    assert blocks(page)


def test_the_bundled_policy_is_the_one_in_the_tutorial():
    bundled = (ROOT / "src/tablecloak/sample/policies/patients.yaml").read_text(encoding="utf-8")
    shown = next(block.text for block in blocks(TUTORIAL) if block.language == "yaml")
    assert parse_policy(shown, name="tutorial", base=ROOT) == parse_policy(bundled, name="bundled", base=ROOT)


def test_the_architecture_shows_the_layers_that_are_checked():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    shown = [block.text.strip().splitlines() for block in blocks(ROOT / "docs/architecture.md")]
    assert layers in shown


@pytest.mark.slow
def test_the_picture_shows_what_is_published(tmp_path):
    drawn = runpy.run_path(str(ROOT / "docs/images/before_after.py"))
    committed = (ROOT / "docs/images/before_after.svg").read_text(encoding="utf-8")
    assert drawn["drawing"](*drawn["one_class"](tmp_path)) == committed, "run python docs/images/before_after.py"
