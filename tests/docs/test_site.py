"""The site: every page is in it and in its navigation, links lead somewhere, and nothing is asked of other servers."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from pages import EVERY_PAGE, name_of, script
from ruamel.yaml import YAML

LOADED = {"img": "src", "link": "href", "script": "src"}


@pytest.fixture(scope="module")
def site():
    return script("site")


@pytest.fixture(scope="module")
def source(site, tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    site.lay_out(folder)
    return folder


@pytest.fixture(scope="module")
def built(source):
    """The folder of the built site; warnings, such as a link that leads nowhere, are errors."""
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("no zensical: pip install --group docs")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(source / "mkdocs.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "html"


def named(nav):
    for entry in nav:
        for target in entry.values():
            yield from named(target) if isinstance(target, list) else [target]


def test_the_navigation_names_every_page_once(site, source):
    settings = YAML(typ="safe").load(source / "mkdocs.yml")
    assert sorted(named(settings["nav"])) == sorted(site.places()[page].as_posix() for page in EVERY_PAGE)


def test_links_of_the_laid_out_pages_lead_to_files(site, source):
    places = site.places()
    for page in EVERY_PAGE:
        laid_out = source / "docs" / places[page]
        text = laid_out.read_text(encoding="utf-8")
        text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)\s#]+)", text):
            assert re.match(r"[a-z]+:", target) or (laid_out.parent / target).is_file(), f"{name_of(page)}: {target}"


class Page(HTMLParser):
    """What a page of the site names, links to and loads."""

    def __init__(self, text):
        super().__init__()
        self.names, self.links, self.loaded = set(), set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.names.add(attributes.get("id"))
        if tag == "a" and attributes.get("href"):
            self.links.add(attributes["href"])
        if attributes.get(LOADED.get(tag, "")):
            self.loaded.add(attributes[LOADED[tag]])


@pytest.fixture(scope="module")
def pages(built):
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(built.rglob("*.html"))}


@pytest.mark.slow
def test_every_page_is_built(built, site):
    for page in EVERY_PAGE:
        assert (built / site.places()[page].with_suffix(".html")).is_file()


@pytest.mark.slow
def test_links_and_anchors_of_the_built_pages_lead_somewhere(pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if path.name == "404.html" or parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target.is_file(), f"{path.name}: {link}"
            assert not parts.fragment or target.suffix != ".html" or unquote(parts.fragment) in pages[target].names, (
                link
            )


@pytest.mark.slow
def test_pages_load_nothing_from_other_servers(pages):
    for path, page in pages.items():
        assert not [name for name in page.loaded if urlsplit(name).netloc], path.name
