"""Tables that are large for the memory: a sample, a page, counts, and the whole way through the app."""

from __future__ import annotations

import re

import polars as pl
import pytest
from starlette.testclient import TestClient
from without_browser import BASE, Pages, settings_for

from tablecloak.io.sources import Source
from tablecloak.sample import patients
from tablecloak.server import tables
from tablecloak.server.app import make_app

FRAME = pl.DataFrame({"n": range(1000), "name": [f"x{i % 7}" for i in range(1000)], "odd": [None, 1.5] * 500})


@pytest.fixture(scope="module", params=["csv", "parquet", "jsonl"])
def source(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / f"table.{request.param}"
    write = {"csv": FRAME.write_csv, "parquet": FRAME.write_parquet, "jsonl": FRAME.write_ndjson}
    write[request.param](path)
    return Source(path)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(tables, "BATCH", 64)


def test_a_sample_is_spread_in_order_and_always_the_same(source):
    found, n_rows = tables.sample_of(source, most=100)
    assert n_rows == 1000
    assert found.height == 100
    rows = found["n"].to_list()
    assert rows == sorted(set(rows))
    # a hundred of a thousand, as good as by lot: every quarter has some
    assert {row // 250 for row in rows} == {0, 1, 2, 3}
    assert found.columns == FRAME.columns
    assert tables.sample_of(source, most=100)[0].equals(found)


def test_a_small_table_is_its_own_sample(source):
    found, n_rows = tables.sample_of(source, most=2000)
    assert (found.height, n_rows) == (1000, 1000)
    assert found["n"].to_list() == list(range(1000))


@pytest.mark.parametrize(("offset", "limit"), [(0, 10), (60, 10), (64, 64), (995, 10), (130, 200), (2000, 5)])
def test_pages_are_slices(source, offset, limit):
    found = tables.page_of(source, offset, limit)
    assert found["n"].to_list() == FRAME["n"].slice(offset, limit).to_list()


def test_values_are_counted_over_all_batches(source):
    found = dict(tables.counted_values(source, "name").with_columns(pl.col("name").cast(pl.String)).iter_rows())
    assert found == {f"x{i}": 143 if i < 6 else 142 for i in range(7)}
    assert tables.counted_values(source, "odd").rows() == [(1.5, 500)]


@pytest.mark.slow
def test_the_whole_way_without_holding_the_table(tmp_path):
    app = make_app(settings_for(tmp_path, engine="duckdb", memory=1_000_000_000))
    with TestClient(app, base_url=BASE) as client:
        client.get("/", params={"token": app.state.sessions.new_token()})
        pages = Pages(client)
        content = patients(3000).drop("name", "ssn").write_csv()
        page = pages.send(pages.get("/"), "/open/upload", files={"file": ("p.csv", content, "text/csv")})
        assert "3,000 records" in page.text
        assert "It is counted by duckdb" in page.text
        here = re.search(r"/projects/[0-9a-f]+", str(page.url))[0]
        assert "Showing 2,991 to 3,000" in pages.get(f"{here}/load", params={"values": "true", "page": 300}).text
        assert "records are unique on" in pages.get(f"{here}/exposure").text
        tree = pages.get(f"{here}/hierarchies", params={"column": "birth_date"})
        assert "level 0" in tree.text
        assert "Can be reached" in pages.light(here)
        pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
        run = app.state.server.store.runs(here.rpartition("/")[2])[0]
        done = pages.wait(run.id)
        assert done["status"] == "done", done["error"]
        compare = pages.get(f"{here}/compare", params={"values": "true", "page": 3})
        assert compare.text.count('class="changed"') > 0
        assert "Two columns together" not in compare.text
        refused = pages.send(pages.get(f"{here}/attacks"), f"{here}/attacks")
        assert "too large to be held beside its release" in refused.text


def test_a_table_is_read_once_until_its_file_is_written_again(tmp_path):
    path = tmp_path / "table.csv"
    FRAME.write_csv(path)
    first = tables.frame_of(Source(path))
    assert tables.frame_of(Source(path)) is first
    FRAME.head(10).write_csv(path)
    assert tables.frame_of(Source(path)).height == 10
