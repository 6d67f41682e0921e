"""Lay out the source of the site: the pages of docs and those beside the README, with links that fit each other.

`python docs/site.py FOLDER` writes FOLDER/docs and FOLDER/mkdocs.yml; `make docs-site` builds the site from them.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# Pages beside the README, by what they are called on the site.
FRONT = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.txt",
}
SUFFIXES = (".md", ".svg", ".png")
# Code, which stays as it is, or the end of a link with its file and its anchor.
_CODE_OR_LINK = re.compile(r"^```.*?^```$|`[^`\n]*`|\]\(([^)\s#]+)(#[^)\s]*)?\)", re.MULTILINE | re.DOTALL)


def places() -> dict[Path, Path]:
    """Every file of the site, with its place below the folder of the site's pages."""
    beside = {ROOT / name: Path(place) for name, place in FRONT.items()}
    return beside | {p: p.relative_to(DOCS) for p in sorted(DOCS.rglob("*")) if p.suffix in SUFFIXES}


def lay_out(folder: Path) -> None:
    """Write pages, pictures and the settings of the site into a folder; what was there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    moved = places()
    for source, place in moved.items():
        target = folder / "docs" / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix == ".md":
            target.write_text(with_links(source, moved), encoding="utf-8")
        else:
            shutil.copyfile(source, target)
    write_settings(folder / "mkdocs.yml")


def with_links(page: Path, moved: dict[Path, Path]) -> str:
    """The text of a page with its links as they are on the site; code stays as it is."""

    def on_site(match: re.Match[str]) -> str:
        there = moved.get((page.parent / match[1]).resolve()) if match[1] else None
        if there is None:
            return match[0]
        return f"]({os.path.relpath(there, moved[page].parent)}{match[2] or ''})"

    return _CODE_OR_LINK.sub(on_site, page.read_text(encoding="utf-8"))


def write_settings(path: Path) -> None:
    """The settings of the project, with a page for everything in the folders that its navigation names."""
    yaml = YAML(typ="safe", pure=True)
    settings = yaml.load(ROOT / "mkdocs.yml")
    settings["nav"] = [with_folders(entry) for entry in settings["nav"]]
    yaml.dump(settings, path)


def with_folders(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry of the navigation in which a folder stands for its pages, each called after its file."""
    ((title, target),) = entry.items()
    if isinstance(target, list):
        return {title: [with_folders(below) for below in target]}
    if not target.endswith("/"):
        return entry
    return {title: [{page.stem: f"{target}{page.name}"} for page in sorted((DOCS / target).glob("*.md"))]}


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
