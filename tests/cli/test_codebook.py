"""`tablecloak codebook`."""

import json

import polars as pl
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "release.csv"
    pl.DataFrame({"age": ["[20, 29]", "35"], "city": ["{Bern, Thun}", "<b>Basel</b>"]}).write_csv(path)
    return path


def test_a_codebook_is_printed_column_by_column(release):
    result = CliRunner().invoke(app, ["codebook", str(release)])
    assert result.exit_code == 0
    assert "age (integer)" in result.stdout
    assert "Bern; Thun" in result.stdout


def test_a_codebook_as_json_has_an_entry_for_every_value(release):
    entries = json.loads(CliRunner().invoke(app, ["codebook", str(release), "--json"]).stdout)
    assert [(e["column"], e["low"], e["high"], e["records"]) for e in entries[:2]] == [
        ("age", "20", "29", 1), ("age", "35", "35", 1),
    ]  # fmt: skip


def test_a_codebook_as_csv_is_read_back(release, tmp_path):
    assert CliRunner().invoke(app, ["codebook", str(release), "-o", str(tmp_path / "book.csv")]).exit_code == 0
    assert pl.read_csv(tmp_path / "book.csv")["column"].to_list() == ["age", "age", "city", "city"]


def test_a_codebook_as_a_page_shows_cells_as_text(release, tmp_path):
    assert CliRunner().invoke(app, ["codebook", str(release), "-o", str(tmp_path / "book.html")]).exit_code == 0
    page = (tmp_path / "book.html").read_text()
    assert "&lt;b&gt;Basel" in page
    assert "<b>Basel" not in page


def test_other_files_and_the_release_itself_are_refused(release, tmp_path):
    for output, more in ((tmp_path / "book.pdf", []), (release, ["--force"])):
        before = release.read_text()
        result = CliRunner().invoke(app, ["codebook", str(release), "-o", str(output), *more])
        assert result.exit_code != 0
        assert release.read_text() == before
