"""The tutorial from start to end, and what it leaves behind."""

import re

import pytest
from pages import TUTORIAL
from running import run_page


@pytest.mark.slow
@pytest.mark.usefixtures("own_registry")
def test_the_tutorial_works_and_leaves_the_files_it_names(somewhere, capsys, monkeypatch):
    printed = run_page(TUTORIAL, capsys, monkeypatch)
    assert int(re.search(r"smallest class: (\d+)", printed)[1]) >= 10
    demo = somewhere / "demo"
    assert not (demo / "never").exists() or not list((demo / "never").iterdir())
    assert (demo / "k20/report.html").exists()
    named = re.findall(r"^\| `([^`]+)` \|", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == 7
    assert all((demo / name).exists() for name in named)
