"""Every command and every block of Python in the tutorial runs, in order, and says what the page shows."""

import re
import shlex
from pathlib import Path

import pytest

from tablecloak.cli.main import main

ROOT = Path(__file__).parents[2]
TUTORIAL = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TUTORIAL, re.MULTILINE | re.DOTALL)


def run_console(block, capsys):
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        command, _, comment = command.partition("   # exit ")
        words = shlex.split(command)
        assert words[0] == "tablecloak"
        code = main(words[1:])
        said = capsys.readouterr()
        assert code == int(comment or 0), said.err
        for line in shown:
            assert line in said.out.splitlines(), f"{command}: {line!r} is not said"


@pytest.mark.slow
def test_the_tutorial_works_from_start_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    names = {}
    for kind, block in BLOCKS:
        if kind == "console":
            run_console(block, capsys)
        else:
            exec(compile(block, "tutorial.md", "exec"), names)
    printed = capsys.readouterr().out
    assert int(re.search(r"smallest class: (\d+)", printed)[1]) >= 10
    assert not (tmp_path / "never").exists() or not list((tmp_path / "never").iterdir())
    assert (tmp_path / "k20/report.html").exists()


def test_there_are_only_blocks_that_the_test_runs():
    assert {kind for kind, _ in BLOCKS} == {"console", "python"}
    assert len(BLOCKS) == TUTORIAL.count("```") // 2


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#]+)\)", TUTORIAL))))
def test_links_lead_somewhere(target):
    assert (ROOT / "docs" / target).exists()


@pytest.mark.slow
def test_files_named_in_the_table_exist_after_the_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--directory", "demo", "-q"]) == 0
    named = re.findall(r"^\| `([^`]+)` \|", TUTORIAL, re.MULTILINE)
    assert len(named) == 7
    assert all((tmp_path / "demo" / name).exists() for name in named)
