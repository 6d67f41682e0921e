"""The notebook of the docs runs in a real kernel, and its page shows what it showed."""

from __future__ import annotations

import pytest
from pages import script

pytestmark = pytest.mark.slow
pytest.importorskip("nbclient")


@pytest.fixture(scope="module")
def docs():
    return script("notebook")


@pytest.fixture(scope="module")
def notebook(docs):
    return docs.executed()


def data_of(cell):
    return [output.get("data", {}) for output in cell.outputs]


def test_every_result_shows_itself(notebook):
    shown = [data for cell in notebook.cells if cell.cell_type == "code" for data in data_of(cell)]
    ours = [data["text/html"] for data in shown if 'class="tablecloak"' in data.get("text/html", "")]
    assert len(ours) == 7  # profile, risk, release, comparison, attacks, exploration, the report of new rows
    assert sum("<svg" in markup for markup in ours) == 6
    lines = next(data["text/plain"] for data in shown if data.get("text/plain", "").startswith("[VerifiedRelease("))
    assert "RunReport(" in lines


def test_a_chart_has_its_colours_and_no_script(notebook):
    markup = str([data_of(cell) for cell in notebook.cells if cell.cell_type == "code"])
    assert "@scope (.tablecloak)" in markup
    assert "<script" not in markup


def test_the_page_is_that_of_the_notebook_that_is_kept(docs):
    """If this fails: python docs/notebook.py."""
    kept = docs.nbformat.read(docs.NOTEBOOK, as_version=4)
    assert docs.PAGE.read_text(encoding="utf-8") == docs.page_of(kept)


def test_the_notebook_that_is_kept_has_the_code_that_runs(docs, notebook):
    kept = docs.nbformat.read(docs.NOTEBOOK, as_version=4)
    assert [cell.source for cell in kept.cells] == [cell.source for cell in notebook.cells]
    assert all(cell.execution_count for cell in kept.cells if cell.cell_type == "code")
