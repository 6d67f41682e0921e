"""The reference pages say what the code says."""

import re

import pytest
from pages import DOCS, script
from pydantic import TypeAdapter

from tablecloak import registry
from tablecloak.cli.list import ListedKind, things_of


@pytest.fixture(scope="module")
def pages():
    return script("build").pages()


def test_pages_are_up_to_date(pages):
    """If this fails: make docs."""
    folder = DOCS / "reference"
    made = {p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8") for p in folder.rglob("*.md")}
    assert {name: text for name, text in made.items() if text.startswith("<!-- Made by")} == pages


@pytest.mark.parametrize("kind", ["models", "algorithms", "metrics", "attacks", "findings"])
def test_everything_has_a_page_with_its_first_line(pages, kind):
    for name, thing in registry.known(kind).items():
        if thing.__module__.startswith("tablecloak."):
            assert (thing.__doc__ or "").partition("\n")[0] in pages[f"{kind}/{name}.md"]


@pytest.mark.parametrize("kind", list(ListedKind))
def test_the_catalogue_lists_everything_there_is(pages, kind):
    for name in things_of(kind):
        assert re.search(rf"^\| \[?`{re.escape(name)}`", pages["index.md"], re.MULTILINE), name


def test_every_registered_kind_is_listed():
    assert set(registry.KINDS) <= set(ListedKind)


def test_code_fences_are_closed(pages):
    assert all(text.count("```") % 2 == 0 for text in pages.values())


def test_links_lead_somewhere(pages):
    for name in pages:
        if name != "index.md":
            assert f"({name})" in pages["index.md"]


def test_parameters_are_listed_with_bounds_and_defaults(pages):
    assert (
        "| `k` | smallest class size; 3 to 20 is usual | whole number, ≥ 2 | must be given |"
        in pages["models/k-anonymity.md"]
    )
    assert "| strict or relaxed | `strict` |" in pages["algorithms/mondrian.md"]


@pytest.mark.parametrize("kind", ["models", "algorithms"])
def test_what_must_be_given_is_what_a_policy_requires(pages, kind):
    for name, thing in registry.known(kind).items():
        if not thing.__module__.startswith("tablecloak."):
            continue
        rows = re.findall(r"^\| `(\w+)` \|.*\| must be given \|$", pages[f"{kind}/{name}.md"], re.MULTILINE)
        assert rows == TypeAdapter(thing).json_schema().get("required", []), name
