"""Sets of items in the web app, without a browser: types of datasets, hierarchies of items, goals, runs, exports."""

from __future__ import annotations

import re

import polars as pl
import pytest

import oracle_sets
from tablecloak import pipeline
from tablecloak.policy.load import load_policy
from tablecloak.sample import baskets, write_baskets

pytestmark = pytest.mark.slow
SETS = 3 * [["apple", "beer"], ["pear", "beer"], ["apple", "wine"], ["pear", "wine", "apple"], ["beer"],
            ["apple", "beer"]]  # fmt: skip
TREE = "apple;fruit;*\npear;fruit;*\nbeer;drink;*\nwine;drink;*\n"


def project_of(answer):
    assert answer.status_code == 200, answer.text
    return re.search(r"/projects/(\w+)/", str(answer.url))[1]


def upload(pages, name, text, kind="auto"):
    return pages.send(pages.get("/"), "/open/upload", files={"file": (name, text.encode())}, kind=kind)


def of_sets(pages, name="sets.txt", kind="auto"):
    return project_of(upload(pages, name, "".join("|".join(s) + "\n" for s in SETS), kind))


def policy_text(pages, project):
    return pages.get(f"/api/v1/projects/{project}/policy").text


def send(pages, project, step, to=None, **values):
    return pages.send(pages.get(f"/projects/{project}/{step}"), f"/projects/{project}/{to or step}", **values)


def done(pages, project):
    send(pages, project, "run", action="start")
    run = pages.get(f"/api/v1/projects/{project}/runs").json()[0]["id"]
    found = pages.wait(run)
    assert found["status"] == "done", found
    return run, found["result"]


@pytest.mark.parametrize("kind", ["auto", "sets"])
def test_a_file_of_sets_is_found_out_or_chosen(pages, kind):
    project = of_sets(pages, kind=kind)
    page = pages.get(f"/projects/{project}/load")
    assert re.search(r'value="sets" required checked', page.text)
    text = policy_text(pages, project)
    assert "format: sets" in text
    assert "role: items" in text
    assert "km-anonymity" in text
    assert "apple|beer" in pages.get(f"/projects/{project}/load?values=true").text


def test_from_sets_to_an_export_that_verifies(pages, api, tmp_path):
    project = of_sets(pages)
    page = pages.get(f"/projects/{project}/hierarchies")
    assert "4 values" in page.text
    given = {"file": ("h.csv", TREE.encode())}
    answer = pages.send(page, f"/projects/{project}/hierarchies", files=given, action="file", column="items")
    assert "fruit" in answer.text
    answer = send(pages, project, "goals", action="goal", at="0", k="4", m="2")
    assert "Whoever knows up to" in answer.text
    assert "{model: km-anonymity, k: 4" in policy_text(pages, project)
    assert api.post(f"/api/v1/projects/{project}/check").json()["ok"] is True
    run, result = done(pages, project)
    assert result["after"]["highest"] <= 1 / 4
    assert result["before"]["highest"] == 1 / oracle_sets.max_k(SETS, 2)
    page = pages.get(f"/projects/{project}/compare?values=true")
    assert "Ready to hand over" in page.text
    assert "pear|wine|apple" in page.text
    assert "What changed" in pages.get(f"/projects/{project}/compare?tab=lost").text
    release = pages.get(f"/projects/{project}/runs/{run}/release").text
    shown = [line.split("|") if line else [] for line in release.splitlines()]
    assert oracle_sets.is_km_anonymous(shown, 4, 2)
    (tmp_path / "r.csv").write_text(release, encoding="utf-8")
    (tmp_path / "c.json").write_text(pages.get(f"/projects/{project}/runs/{run}/certificate").text, encoding="utf-8")
    assert pipeline.verify_certificate(tmp_path / "r.csv", tmp_path / "c.json").holds
    export = pages.get(f"/projects/{project}/export").text
    assert "release.parquet" in export
    assert "release.tsv" not in export
    (tmp_path / "r.parquet").write_bytes(pages.get(f"/projects/{project}/runs/{run}/release.parquet").content)
    assert pl.read_parquet(tmp_path / "r.parquet")["items"].to_list() == release.splitlines()


def test_the_sample_of_baskets_runs(pages, tmp_path):
    project = project_of(pages.send(pages.get("/"), "/open/sets"))
    _, result = done(pages, project)
    assert result["itemsets"]["items"] == 50
    report = pipeline.run(load_policy(write_baskets(tmp_path)))
    assert result["loss"] == report.loss
    assert result["before"]["highest"] == 1 / oracle_sets.max_k(baskets(), 2)
    for step in ("load", "roles", "hierarchies", "goals", "run", "compare", "export"):
        assert pages.get(f"/projects/{project}/{step}").status_code == 200
    attacked = pages.send(pages.get(f"/projects/{project}/attacks"), f"/projects/{project}/attacks")
    assert "itemset-linkage" in attacked.text


TABLE = "name,bought,year\n" + "".join(f"n{i},{';'.join(s)},{2000 + i % 2}\n" for i, s in enumerate(SETS))


def test_a_table_with_a_column_of_sets_is_chosen(pages):
    project = project_of(upload(pages, "table.csv", TABLE))
    assert "km-anonymity" not in policy_text(pages, project)
    send(pages, project, "load", "kind", kind="table-with-sets")
    text = policy_text(pages, project)
    assert re.search(r"bought: \{role: items, separator: '?;'?\}", text)
    assert re.search(r'value="table-with-sets" required checked', pages.get(f"/projects/{project}/load").text)
    run, result = done(pages, project)
    assert result["holds"]
    release = pages.get(f"/projects/{project}/runs/{run}/release").text
    assert release.splitlines()[0].split(",").count("bought") == 1
    send(pages, project, "load", "kind", kind="table")
    assert "km-anonymity" not in policy_text(pages, project)


def test_a_table_without_sets_says_so(pages):
    project = project_of(upload(pages, "people.csv", "age,sex\n" + "1,a\n2,b\n" * 5))
    answer = send(pages, project, "load", "kind", kind="table-with-sets")
    assert answer.status_code == 422
    assert "no column looks as if its cells held sets" in answer.text
    assert "km-anonymity" not in policy_text(pages, project)


def test_a_disk_based_table_is_clustered_on_disk(pages):
    project = project_of(upload(pages, "people.csv", "age,sex\n" + "1,a\n2,b\n" * 5, kind="disk"))
    assert "disk-clustering" in policy_text(pages, project)
    assert re.search(r'value="disk" required checked', pages.get(f"/projects/{project}/load").text)


def test_only_what_fits_sets_is_offered_for_them(pages):
    of_items, of_table = of_sets(pages), project_of(upload(pages, "people.csv", "age,sex\n" + "1,a\n2,b\n" * 5))
    page = pages.get(f"/projects/{of_items}/goals").text
    assert 'name="model" value="km-anonymity"' in page
    assert 'name="model" value="k-anonymity"' not in page
    assert re.search(r'<option value="mondrian"\s+disabled', page)
    page = pages.get(f"/projects/{of_table}/goals").text
    assert 'name="model" value="km-anonymity"' not in page
    assert re.search(r'<option value="apriori"\s+disabled', page)


def test_a_goal_out_of_reach_says_what_to_relax(pages, api):
    project = of_sets(pages)
    send(pages, project, "goals", action="goal", at="0", k="500", m="2")
    found = api.post(f"/api/v1/projects/{project}/check").json()
    assert found["ok"] is False
    assert "best: 18" in found["message"]
    assert found["relaxations"]


def test_kinds_by_the_api(api):
    text = "".join("|".join(s) + "\n" for s in SETS)
    dataset = api.post("/api/v1/datasets", files={"file": ("sets.txt", text.encode())}).json()["id"]
    found = api.post("/api/v1/projects", json={"dataset": dataset})
    assert "format: sets" in found.json()["policy"]
    found = api.post("/api/v1/projects", json={"dataset": dataset, "kind": "table"})
    assert found.status_code == 422
    found = api.post("/api/v1/projects", json={"dataset": "sample-of-sets"})
    assert "km-anonymity" in found.json()["policy"]


def test_an_unknown_kind_is_refused(pages):
    project = of_sets(pages)
    answer = send(pages, project, "load", "kind", kind="cubes")
    assert answer.status_code == 422


def test_a_file_that_is_nothing_at_all_is_still_refused(pages):
    answer = upload(pages, "a.txt", "\x00\x00")
    assert answer.status_code == 422
