"""Every link inside the documentation leads to a file or a heading that is there, on disk and on the site."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from pages import DOCS, EVERY_PAGE, PAGES, ROOT, name_of

_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page):
    return _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8")))


def inside(page):
    """Links that do not leave the project, each with the file and the anchor it names."""
    for target in links(page):
        path, _, anchor = target.partition("#")
        if not re.match(r"[a-z]+:", target):
            yield target, (page.parent / path).resolve() if path else page, anchor


@cache
def anchors(page):
    """Headings as GitHub and the site both call them: a heading that occurs twice has two names, and no link."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names = Counter(
        re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in _HEADING.findall(text)
    )
    return {name for name, count in names.items() if count == 1}


def test_links_lead_to_files_of_the_project():
    found = [(name_of(page), target, file) for page in EVERY_PAGE for target, file, _ in inside(page)]
    assert len(found) > 500
    assert [place for *place, file in found if not (file.is_relative_to(ROOT) and file.exists())] == []


def test_anchors_are_headings():
    found = [(name_of(page), *link) for page in EVERY_PAGE for link in inside(page) if link[-1]]
    assert [(page, target) for page, target, file, anchor in found if anchor not in anchors(file)] == []


def test_pictures_have_a_description():
    assert [name_of(page) for page in EVERY_PAGE if "![](" in page.read_text(encoding="utf-8")] == []


def test_every_page_can_be_reached_from_the_front_page():
    linked = {file for _, file, _ in inside(ROOT / "README.md")}
    assert [name_of(page) for page in PAGES if page.is_relative_to(DOCS) and page not in linked] == []


def test_pages_have_one_title():
    for page in EVERY_PAGE:
        text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1, name_of(page)
