"""Transforms of columns in the web app, with forms as they stand in the pages."""

from __future__ import annotations

import re

import polars as pl
import pytest
from test_journey import project_in

pytestmark = pytest.mark.slow


@pytest.fixture
def here(pages, tmp_path):
    rows = [{"name": f"P{i}", "age": 20 + i % 40, "sex": "fm"[i % 2], "pay": 1000 + i, "ill": "abc"[i % 3]}
            for i in range(400)]  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    with (tmp_path / "people.csv").open("rb") as file:
        loaded = pages.send(pages.get("/"), "/open/upload", files={"file": ("people.csv", file, "text/csv")})
    here = f"/projects/{project_in(loaded)}"
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{
        "role:name": "identifier", "transform:name": "star", "role:age": "quasi", "role:sex": "quasi",
        "role:pay": "keep", "role:ill": "sensitive"})  # fmt: skip
    return here


def choose(pages, here, column, kind, **settings):
    page = pages.get(f"{here}/transforms?column={column}")
    values = {f"{kind}:{name}": value for name, value in settings.items()}
    return pages.send(page, f"{here}/transforms", action="kind", column=column, kind=kind, **values)


def test_a_column_is_given_a_transform_and_published_so(pages, here):
    roles = pages.get(f"{here}/roles").text
    assert re.search(r'value="star" selected', roles)
    made = choose(pages, here, "pay", "round", base="100")
    assert re.search(r'value="round" required checked', made.text)
    assert re.search(r'name="round:base"[^>]* value="100', made.text)
    choose(pages, here, "name", "hmac")
    roles = pages.get(f"{here}/roles").text
    assert "changed by round" in roles
    assert "changed by hmac" in roles
    running = pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
    run = re.search(r'name="run" value="([0-9a-f]{16})"', running.text)[1]
    assert pages.wait(run)["status"] == "done"
    release = pl.read_csv(pages.get(f"{here}/runs/{run}/release").content)
    assert set(release["pay"] % 100) == {0}
    assert release["name"].str.contains("^[0-9a-f]{32}$").all()
    assert "pseudonymised, not anonymous" in pages.get(f"{here}/ready").text


def test_a_transform_is_taken_back(pages, here):
    choose(pages, here, "pay", "round", base="100")
    page = pages.get(f"{here}/transforms?column=pay")
    pages.send(page, f"{here}/transforms", action="remove", column="pay")
    assert "changed by" not in pages.get(f"{here}/roles").text


def test_saving_roles_leaves_transforms_alone(pages, here):
    choose(pages, here, "name", "hmac")
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{"role:name": "identifier", "role:sex": "keep"})
    assert "changed by hmac" in pages.get(f"{here}/roles").text


def test_what_does_not_fit_is_said_and_not_written(pages, here):
    refused = choose(pages, here, "pay", "round", base="-1")
    assert "base" in refused.text
    assert "changed by round" not in pages.get(f"{here}/roles").text
    assert pages.get(f"{here}/transforms?column=nobody").status_code == 404


def test_only_what_fits_role_and_type_is_offered(pages, here):
    quasi = pages.get(f"{here}/transforms?column=sex").text
    assert 'value="hmac"' not in quasi
    assert 'value="round"' not in quasi
    assert 'value="star"' not in quasi
    assert 'value="hmac"' in pages.get(f"{here}/transforms?column=name").text
