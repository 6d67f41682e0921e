"""Every example of the documentation runs, and shows what really happens."""

from __future__ import annotations

import os
import re
import runpy
import shlex
import sys
import tomllib
from types import ModuleType

import pytest
from pages import PAGES, ROOT, blocks, commands, is_shown

from tablecloak import registry
from tablecloak.cli.main import main
from tablecloak.policy.load import parse_policy

LANGUAGES = {"console", "python", "sh", "text", "yaml"}
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


@pytest.fixture
def own_registry(monkeypatch):
    """What examples register is forgotten afterwards."""
    for kind in registry.KINDS:
        registry.known(kind)
    monkeypatch.setattr(registry, "_known", {kind: dict(things) for kind, things in registry._known.items()})


@pytest.fixture
def somewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


@every_page
@pytest.mark.slow
@pytest.mark.usefixtures("own_registry", "somewhere")
def test_examples_run_and_show_what_happens(page, capsys, monkeypatch):
    module = ModuleType(f"example_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # dataclasses look up where they were defined
    for block in blocks(page):
        if block.language == "python":
            source = "\n" * (block.line - 1) + block.text
            exec(compile(source, str(page), "exec", dont_inherit=True), vars(module))
        elif block.language == "console":
            for command in commands(block):
                run_command(command, f"{page.name}:{block.line}", capsys)


def run_command(command, place, capsys):
    name, *words = shlex.split(command.text)
    if name == "cd":
        os.chdir(words[0])
        return
    assert name == "tablecloak", f"{place}: {command.text} cannot be tested"
    capsys.readouterr()
    code = main(words)
    output = "\n".join(capsys.readouterr())
    assert code == command.code, f"{place}: {command.text} ended with {code}\n{output}"
    assert is_shown(command.shown, output), f"{place}: {command.text} printed\n{output}"


@every_page
def test_examples_are_in_languages_that_tests_know(page):
    assert {block.language for block in blocks(page)} <= LANGUAGES


@every_page
def test_policies_are_valid(page):
    for block in blocks(page):
        if block.language == "yaml" and "version:" in block.text:
            parse_policy(block.text, name=f"{page.name}:{block.line}", base=ROOT)


@every_page
def test_make_targets_exist(page):
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= targets


@every_page
def test_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path, _, anchor = target.partition("#")
        if path.startswith("http"):
            continue
        linked = page.parent / path if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {title.lower().replace(" ", "-") for title in titles}, f"{page.name} links to {target}"


def test_the_bundled_policy_is_the_one_in_the_readme():
    bundled = (ROOT / "src/tablecloak/sample/policies/patients.yaml").read_text(encoding="utf-8")
    shown = next(block.text for block in blocks(ROOT / "README.md") if block.language == "yaml")
    assert parse_policy(shown, name="README", base=ROOT) == parse_policy(bundled, name="bundled", base=ROOT)


def test_the_readme_lists_everything_registered():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for kind in registry.KINDS:
        for name in registry.known(kind):
            assert f"| {kind.removesuffix('s')} | `{name}` |" in text


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
