"""Every link inside the documentation leads to a file or a heading that is there, on disk and on the site."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pages import DOCS, EVERY_PAGE, PAGES, ROOT, name_of

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
every_page = pytest.mark.parametrize("page", EVERY_PAGE, ids=name_of)


def links(page):
    return _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))


def inside(page):
    """Links that do not leave the project, each with the file and the anchor it names."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target):
            yield target, (page.parent / path).resolve() if path else page, anchor


def anchors(page):
    """Headings as GitHub and the site both call them: a heading that occurs twice has two names, and no link."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = Counter(
        re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in _HEADING.findall(text)
    )
    return {name for name, count in names.items() if count == 1}


@every_page
def test_links_lead_to_files_of_the_project(page):
    for target, file, _ in inside(page):
        assert file.is_relative_to(ROOT), f"{name_of(page)} links to {target}"
        assert file.exists(), f"{name_of(page)} links to {target}"


@every_page
def test_anchors_are_headings(page):
    for target, file, anchor in inside(page):
        if anchor:
            assert anchor in anchors(file), f"{name_of(page)} links to {target}"


@every_page
def test_pictures_have_a_description(page):
    assert "![](" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("page", [p for p in PAGES if p.is_relative_to(DOCS)], ids=name_of)
def test_every_page_can_be_reached_from_the_front_page(page):
    assert page in {file for _, file, _ in inside(ROOT / "README.md")}


def test_pages_have_one_title():
    for page in EVERY_PAGE:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, name_of(page)
