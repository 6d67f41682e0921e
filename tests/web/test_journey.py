"""The whole way from a file to a release, over HTTP, with forms as they stand in the pages."""

from __future__ import annotations

import re

import polars as pl
import pytest

import tablecloak as tc
from tablecloak.cli.main import main

pytestmark = pytest.mark.slow


def project_in(answer):
    return re.search(r"/projects/([0-9a-f]{16})/", str(answer.url))[1]


def test_from_a_file_to_a_release_that_verifies(pages, tmp_path):
    rows = [{"name": f"P{i}", "age": 20 + i % 40, "sex": "fm"[i % 2], "ill": "abc"[i % 3]} for i in range(400)]
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    home = pages.get("/")
    with (tmp_path / "people.csv").open("rb") as file:
        loaded = pages.send(home, "/open/upload", files={"file": ("people.csv", file, "text/csv")})
    assert loaded.status_code == 200
    here = f"/projects/{project_in(loaded)}"

    roles = pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{
        "role:name": "identifier", "transform:name": "drop", "role:age": "quasi", "role:sex": "quasi",
        "role:ill": "sensitive"})  # fmt: skip
    assert "Counting who stands alone" in roles.text
    assert "unique on age, sex" in pages.get(f"{here}/exposure").text

    made = pages.send(pages.get(f"{here}/hierarchies?column=age"), f"{here}/hierarchies",
                      action="kind", column="age", kind="intervals", **{"intervals:width": "5"})  # fmt: skip
    assert "[20, 25)" in made.text
    again = pages.get(f"{here}/hierarchies?column=age").text  # the form knows what was chosen
    assert re.search(r'value="intervals" required checked', again)
    assert re.search(r'name="intervals:width"[^>]* value="5"', again)

    goals = pages.get(f"{here}/goals")
    changed = pages.send(goals, f"{here}/goals", action="goal", at="0", k="8")
    assert 'value="8"' in changed.text
    pages.send(changed, f"{here}/goals", action="add", model="l-diversity")
    assert "Can be reached" in pages.light(here)

    running = pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
    run = re.search(r'name="run" value="([0-9a-f]{16})"', running.text)[1]
    assert pages.wait(run)["status"] == "done"

    compare = pages.get(f"{here}/compare?values=true")
    assert "Ready to hand over" in compare.text
    assert "Records side by side" in compare.text
    export = pages.get(f"{here}/export")
    assert "certificate.json" in export.text

    for document, name in (("release", "people.csv"), ("policy", "policy.yaml"), ("certificate", "certificate.json")):
        (tmp_path / "got").mkdir(exist_ok=True)
        (tmp_path / "got" / name).write_bytes(pages.get(f"{here}/runs/{run}/{document}").content)
    release = pl.read_csv(tmp_path / "got/people.csv")
    assert release.height == 400
    assert release.group_by("age", "sex").len()["len"].min() >= 8
    assert main(["verify", str(tmp_path / "got/people.csv"), "--policy", str(tmp_path / "got/policy.yaml")]) == 0
    assert main(["verify", str(tmp_path / "got/people.csv"), "-c", str(tmp_path / "got/certificate.json")]) == 0


def test_every_step_of_the_sample_can_be_reloaded(pages):
    opened = pages.send(pages.get("/"), "/open/sample")
    here = f"/projects/{project_in(opened)}"
    for step in ("load", "roles", "hierarchies", "goals", "run", "compare", "ready", "export", "policy", "lattice"):
        first, second = pages.get(f"{here}/{step}"), pages.get(f"{here}/{step}")
        assert first.status_code == second.status_code == 200, step
        assert first.text == second.text
    for page in ("/", "/help", "/admin"):
        assert pages.get(page).status_code == 200


def test_a_sheet_with_doubled_names_is_opened_and_its_names_are_repaired(pages, tmp_path):
    workbooks = pytest.importorskip("xlsxwriter")
    with workbooks.Workbook(str(tmp_path / "people.xlsx")) as workbook:
        sheet = workbook.add_worksheet()
        sheet.write_row(0, 0, ["age", "age", "its", "ill"])
        for i in range(60):
            sheet.write_row(i + 1, 0, [20 + i % 9, i % 5, "fm"[i % 2], "abc"[i % 3]])
    with (tmp_path / "people.xlsx").open("rb") as file:
        loaded = pages.send(pages.get("/"), "/open/upload", files={"file": ("people.xlsx", file, "application/zip")})
    here = f"/projects/{project_in(loaded)}"
    assert "61 records" in loaded.text  # names that are twice may be cells, until somebody says that they are names
    assert "no header" in loaded.text
    assert 'name="other_delimiter"' not in loaded.text
    named = pages.send(loaded, f"{here}/load", header="yes", names="repaired")
    assert "60 records" in named.text
    assert "the same name as column 1" in named.text
    assert '"age_2"' in named.text
    assert "header: true, repair: true" in pages.get(f"{here}/policy").text.replace("&#39;", "'")


def test_labels_for_analysts_are_a_choice_on_the_page_of_goals(pages):
    here = f"/projects/{project_in(pages.send(pages.get('/'), '/open/sample'))}"
    goals = pages.get(f"{here}/goals")
    assert re.search(r'name="style" value="detailed" checked', goals.text)
    assert "few labels that do not overlap" in goals.text

    def sent(**form):
        return pages.send(pages.get(f"{here}/goals"), f"{here}/goals", **form)

    sent(action="algorithm", kind="mondrian")
    chosen = sent(action="style", style="analyst")
    assert re.search(r'name="style" value="analyst" checked', chosen.text)
    text = pages.get(f"{here}/policy").text
    assert "style: analyst" in text
    assert "kind: bins" in text  # which finds few labels; mondrian does not
    assert "Can be reached" in pages.light(here)
    again = sent(action="algorithm", kind="mondrian")
    assert re.search(r'name="style" value="detailed" checked', again.text)
    assert "style: analyst" not in pages.get(f"{here}/policy").text
    assert sent(action="style", style="loud").status_code == 422


def test_the_page_of_roles_says_what_inspect_says_of_suggested_roles(pages, tmp_path):
    rows = [{"born": f"19{50 + i % 40}-0{1 + i % 9}-12", "sex": "fm"[i % 2], "ill": "abc"[i % 3]} for i in range(90)]
    pl.DataFrame(rows).write_csv(tmp_path / "people.csv")
    with (tmp_path / "people.csv").open("rb") as file:
        loaded = pages.send(pages.get("/"), "/open/upload", files={"file": ("people.csv", file, "text/csv")})
    text = pages.get(f"/projects/{project_in(loaded)}/roles").text
    for column in tc.inspect(tmp_path / "people.csv").to_dict()["columns"]:
        assert f"publishes {column['publishes']}<" in text


def test_the_page_of_roles_says_what_would_be_published_of_every_column(pages):
    here = f"/projects/{project_in(pages.send(pages.get('/'), '/open/sample'))}"

    def published():
        text = pages.get(f"{here}/roles").text
        names = re.findall(r'<select name="role:([^"]+)"', text)
        return dict(zip(names, re.findall(r'<small class="publishes">publishes ([^<]+)</small>', text), strict=True))

    before = published()
    assert before["ssn"] == "nothing"
    assert before["birth_date"].startswith("coarser values: by the hierarchy ")
    assert before["diagnosis"] == "its values; goals hide whose they are"
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{"role:diagnosis": "drop", "role:ssn": "identifier",
               "transform:ssn": "star", "role:sex": "keep", "role:name": "person"})  # fmt: skip
    after = published()
    assert (after["diagnosis"], after["sex"], after["ssn"]) == ("nothing", "its values", "* in every record")
    assert after["zip"] == before["zip"]
