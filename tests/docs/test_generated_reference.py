"""The reference pages say what the code says."""

import importlib.util
from pathlib import Path

import pytest

from tablecloak import registry

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages():
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_pages_are_up_to_date(pages):
    """If this fails: make docs."""
    folder = ROOT / "docs/reference"
    assert {p.name: p.read_text(encoding="utf-8") for p in folder.glob("*.md")} == pages


@pytest.mark.parametrize(
    ("kind", "prefix"), [("models", "model"), ("algorithms", "algorithm"), ("metrics", "metric"), ("attacks", "attack")]
)
def test_everything_has_a_page_with_its_first_line(pages, kind, prefix):
    for name, thing in registry.known(kind).items():
        if thing.__module__.startswith("tablecloak."):
            assert (thing.__doc__ or "").partition("\n")[0] in pages[f"{prefix}-{name}.md"]


def test_code_fences_are_closed(pages):
    assert all(text.count("```") % 2 == 0 for text in pages.values())


def test_links_lead_somewhere(pages):
    for name in pages:
        if name != "index.md":
            assert f"({name})" in pages["index.md"]


def test_parameters_are_listed_with_bounds_and_defaults(pages):
    assert (
        "| `k` | smallest class size; 3 to 20 is usual | whole number, ≥ 2 | must be given |"
        in pages["model-k-anonymity.md"]
    )
    assert "| strict or relaxed | `strict` |" in pages["algorithm-mondrian.md"]
