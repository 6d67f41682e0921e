"""Tables that nobody here wrote, in a real browser: census records, firms, baskets, patients of a study."""

from __future__ import annotations

import json
import os
import re
import threading
from itertools import product
from pathlib import Path

import pytest
import sklearn
from accessible import problems_of
from browsing import (
    IN_BROWSER,
    everything,
    finished_sample,
    here,
    run,
    sending,
    serving,
    set_role,
    settle,
    visit,
)
from ruamel.yaml import YAML

from tablecloak.cli.main import main
from tablecloak.server.state import OpenQuestion

DATA = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data"))
ADULT, FIRMS, BASKETS = DATA / "adult", DATA / "microaggregation/EIA.csv", DATA / "groceries"
pytestmark = [
    *IN_BROWSER,
    pytest.mark.skipif(not DATA.exists(), reason="the tables are not here; TABLECLOAK_DATA names their folder"),
]
# Of a screen on a desk, and in a hand.
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("real")) as server:
        yield server


def load(page, path):
    page.set_input_files("#file", path)
    page.wait_for_url("**/load")
    settle(page)


def ticks(page):
    return page.locator(".rail .done > span:nth-child(2)").all_inner_texts()


def test_roles_are_set_in_bulk_and_nobody_waits_for_a_count(server, page, monkeypatch):
    load(page, ADULT / "adult.csv")
    counting = threading.Event()
    state = server.app.state.server
    asked = state.ask_if_wanted
    monkeypatch.setattr(state, "ask_if_wanted", lambda *request: counting.wait() and asked(*request))
    visit(page, f"{here(page)}/roles")
    for column in ("race", "education", "workclass"):
        page.check(f"input[form=bulk][value={column}]")
    assert "3 marked" in page.inner_text("#bulk")
    page.select_option("#bulk select", "drop")
    with sending(page, "roles"):
        page.click("#bulk button")
    assert page.locator("tr.role-drop").count() == 3
    set_role(page, "occupation", "keep")
    assert page.locator(".tools [value=undo]").get_attribute("title") == "Undo: occupation is keep"
    assert "Counting" in page.inner_text("#exposure")
    counting.set()
    page.wait_for_selector("#exposure:has-text('unique on sex, age, marital-status, native-country')")
    page.click("input[form=bulk][value=sex]")
    page.click("input[form=bulk][value=race]", modifiers=["Shift"])
    assert "3 marked" in page.inner_text("#bulk")
    assert problems_of(page) == []


def test_every_column_gets_the_hierarchy_that_is_offered_first(page):
    load(page, ADULT / "adult.csv")
    base = here(page)
    visit(page, f"{base}/hierarchies")
    columns = page.eval_on_selector_all("[data-suggested]", "all => all.map((e) => e.name.replace('kind:', ''))")
    assert len(columns) == 9
    for column in columns:
        visit(page, f"{base}/hierarchies?column={column}")
        with sending(page, "hierarchies"):
            page.click("button:has-text('Generate')")
        assert page.locator(".alert.error").count() == 0, column
        page.wait_for_selector(".levels")


def test_hierarchies_of_all_columns_come_at_once(page):
    load(page, ADULT / "adult.csv")
    visit(page, f"{here(page)}/hierarchies")
    page.click("text=Choose what fits where there is none")
    with sending(page, "all"):
        page.click("text=Use these for all columns")
    assert page.locator(".tabs small:text-is('none')").count() == 0
    page.set_input_files("#all input[type=file]", sorted(ADULT.glob("adult_hierarchy_*.csv")))
    with sending(page, "all"):
        page.click("text=Load all files")
    assert page.locator(".alert").count() == 0
    kinds = page.eval_on_selector_all("[data-suggested]", "all => all.map((e) => e.value)")
    assert kinds == ["file"] * 9
    with sending(page, "step"):
        page.click("[aria-label='Undo: hierarchies of 9 columns']")
    assert "file" not in page.eval_on_selector_all("[data-suggested]", "all => all.map((e) => e.value)")


def test_a_step_is_ticked_when_somebody_looked_at_it_and_it_is_valid(page):
    load(page, ADULT / "adult.csv")
    assert ticks(page) == []
    base = here(page)
    visit(page, f"{base}/roles")
    assert ticks(page) == ["Load"]
    visit(page, f"{base}/run")
    assert ticks(page) == ["Load", "Roles"]
    visit(page, f"{base}/load")
    with sending(page, "load"):
        page.click("form[action$='/load'] button")
    assert ticks(page) == ["Load"]  # roles were suggested afresh


def test_leaves_of_a_tree_are_marked_with_the_keyboard(page):
    load(page, ADULT / "adult.csv")
    visit(page, f"{here(page)}/hierarchies?column=workclass")
    page.set_input_files(".pair input[name=file]", ADULT / "adult_hierarchy_workclass.csv")
    with sending(page, "hierarchies"):
        page.click("text=Load hierarchy")
    page.locator(".tree .leaf > .tag").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert page.inner_text("[data-marked]") == "2 marked"
    assert page.locator(".tree [aria-pressed=true]").count() == 2
    page.fill("#group-form input[name=label]", "a new group")
    with sending(page, "hierarchies"):
        page.keyboard.press("Enter")
    assert page.locator(".group[data-label='a new group'] .leaf").count() == 2


def test_the_zip_verifies_with_the_printed_command_wherever_it_is_unpacked(page, tmp_path, monkeypatch):
    load(page, ADULT / "adult.csv")
    base = here(page)
    visit(page, f"{base}/roles")
    for column in ("workclass", "occupation", "native-country"):
        page.check(f"input[form=bulk][value={column}]")
    page.select_option("#bulk select", "drop")
    with sending(page, "roles"):
        page.click("#bulk button")
    visit(page, f"{base}/hierarchies")
    page.set_input_files("#all input[type=file]", [ADULT / f"adult_hierarchy_{c}.csv" for c in ("age", "education")])
    with sending(page, "all"):
        page.click("text=Load all files")
    run(page)
    visit(page, f"{base}/export")
    command = page.inner_text("#verify").split()
    got = everything(page, tmp_path)
    assert command[:3] == ["tablecloak", "verify", "adult-release.csv"]
    certificate = (got / "certificate.json").read_text(encoding="utf-8")
    assert "server/projects" not in certificate
    assert len(list((got / "hierarchies").iterdir())) == 2
    policy = YAML(typ="safe").load(json.loads(certificate)["policy"])
    assert policy["input"]["path"] == "adult.csv"
    assert all((got / policy["columns"][name]["hierarchy"]).is_file() for name in ("age", "education"))
    monkeypatch.chdir(got)
    assert main(command[1:]) == 0
    assert main(["verify", "adult-release.csv", "--policy", "policy.yaml", "--original", str(ADULT / "adult.csv")]) == 0


def test_tabs_of_compare_fit_the_window_and_break_no_number(server, page):
    visit(page, f"{finished_sample(server)}/compare")
    tabs = page.eval_on_selector_all(".tabs a", "all => all.map((a) => a.href)")
    assert len(tabs) == 7
    for tab, width in product(tabs, WIDTHS):
        page.set_viewport_size({"width": width, "height": 900})
        visit(page, tab)
        assert problems_of(page) == [], width
        assert page.locator(".tabs [aria-current]").count() == 1
        assert page.evaluate(BROKEN) == [], width
        for chart in page.locator("main svg.chart:not(.treemap)").all():
            assert chart.locator("line").count() >= 1 or chart.locator(".axis").count() == 2


# Cells of tables whose numbers, or words, are parted in the middle: a piece of text that stands on two lines although
# it has no place to break.
BROKEN = r"""() => [...document.querySelectorAll("main td, main th")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
  while (walker.nextNode()) {
    for (const piece of walker.currentNode.textContent.matchAll(/[^\s-]+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, piece.index);
      range.setEnd(walker.currentNode, piece.index + piece[0].length);
      const tops = new Set([...range.getClientRects()].filter((r) => r.width > 1).map((r) => Math.round(r.top)));
      if (tops.size > 1) broken.push(piece[0]);
    }
  }
  return broken;
})"""


ROWS = [f"{20 + i % 40},{'fm'[i % 2]},{i % 7},{'abc'[i % 3]}" for i in range(300)]
MARK = b"\xef\xbb\xbf"
SPOILT = {
    "a quote": ('age,"s""ex",it\'s,ill', {}, ["age", 's"ex', "it's", "ill"]),
    "no name": (",sex,n,ill", {}, ["column_1", "sex", "n", "ill"]),
    "a long name": ("age,sex," + "how often " * 20 + ",ill", {}, ["age", "sex", "how often " * 20, "ill"]),
    "a name twice": ("age,sex,age,ill", {}, ["column_1", "column_2", "column_3", "column_4"]),
    "signs": ('age,"[sex]","a: b","#ill"', {}, ["age", "[sex]", "a: b", "#ill"]),
    "a mark and another encoding": ("größe,sex,n,ill", {"mark": MARK, "encoding": "cp1252"}, None),
}


@pytest.mark.parametrize("spoilt", SPOILT)
def test_whatever_columns_are_called_the_journey_ends_well(server, page, tmp_path, spoilt):
    header, how, names = SPOILT[spoilt]
    content = "\n".join([header, *ROWS, ""]).encode(how.get("encoding", "utf-8"))
    (tmp_path / "table.csv").write_bytes(how.get("mark", b"") + content)
    load(page, tmp_path / "table.csv")
    base = here(page)
    for width in WIDTHS if spoilt == "a long name" else WIDTHS[:1]:
        page.set_viewport_size({"width": width, "height": 900})
        for step in ("load", "roles", "hierarchies", "goals"):
            visit(page, f"{base}/{step}")
            assert problems_of(page) == []
    visit(page, f"{base}/roles")
    boxes = page.locator("input[form=bulk][name=column]")
    assert names is None or [box.get_attribute("value") for box in boxes.all()] == names
    boxes.nth(2).check()
    page.select_option("#bulk select", "drop")
    with sending(page, "roles"):
        page.click("#bulk button")
    assert page.locator("tr.role-drop").count() == 1
    state = server.app.state.server
    policy = YAML(typ="safe").load(state.store.project(base.rpartition("/")[2]).policy)
    assert list(policy["columns"]) == [box.get_attribute("value") for box in boxes.all()]
    run(page)


def test_a_header_is_repaired_where_somebody_asks_for_it(page, tmp_path):
    (tmp_path / "table.csv").write_text("\n".join(["age,sex,it's,ill", *ROWS, ""]), encoding="utf-8")
    load(page, tmp_path / "table.csv")
    assert "quotes in the name" in page.inner_text(".repairs")
    page.select_option("select[name=names]", "repaired")
    with sending(page, "load"):
        page.click("form[action$='/load'] button")
    assert "its" in page.locator("thead th").all_inner_texts()
    with sending(page, "step"):
        page.click("[aria-label^='Undo: read the file in another way']")
    assert "it's" in page.locator("thead th").all_inner_texts()


def test_dates_and_decimals_are_shown_and_read_as_somebody_says(page, tmp_path):
    rows = [f"{20 + i % 40};{1 + i % 12}/{1 + i % 9}/20{i % 20:02d};{'fm'[i % 2]};{60 + i % 30},{i % 10}"
            for i in range(300)]  # fmt: skip
    (tmp_path / "visits.csv").write_text("\n".join(["age;visit;sex;weight", *rows, ""]), encoding="utf-8")
    load(page, tmp_path / "visits.csv")
    assert "decimals after ," in page.inner_text("tr:has(input[value=weight])")
    assert "day or month" in page.inner_text("tr:has(input[value=visit])")
    with sending(page, "columns"):
        page.select_option("[name='format:visit']", "dd.mm.yyyy")
    assert "Try:" in page.inner_text(".alert")  # no cell is written so
    page.complaints.clear()  # the browser reports the refusal, too
    with sending(page, "columns"):
        page.select_option("[name='format:visit']", "mm/dd/yyyy")
    assert page.locator(".alert").count() == 0
    assert page.is_checked("input[name=read][value=visit]")
    visit(page, f"{here(page)}/hierarchies?column=visit")
    assert "date" in page.inner_text("h2:has-text('visit')")
    visit(page, f"{here(page)}/hierarchies?column=weight")
    assert "float" in page.inner_text("h2:has-text('weight')")


def test_a_hierarchy_of_numbers_binds_however_they_are_written(page, tmp_path):
    rows = [f"{20 + (i % 30) / 10},{'fm'[i % 2]}" for i in range(300)]
    (tmp_path / "bmi.csv").write_text("\n".join(["bmi,sex", *rows, ""]), encoding="utf-8")
    lines = [f"{20 + i / 10:.2f};from {20 + i // 10};*" for i in range(30)]
    (tmp_path / "tree_bmi.csv").write_text("\n".join(lines), encoding="utf-8")
    load(page, tmp_path / "bmi.csv")
    visit(page, f"{here(page)}/roles")
    set_role(page, "bmi", "quasi")
    visit(page, f"{here(page)}/hierarchies")
    page.set_input_files("#all input[type=file]", tmp_path / "tree_bmi.csv")
    with sending(page, "all"):
        page.click("text=Load all files")
    visit(page, f"{here(page)}/hierarchies?column=bmi")
    assert page.locator(".alert").count() == 0
    assert "level 1: 3 values" in page.locator(".level[data-level='1']").text_content()
    run(page)


def test_what_a_column_of_sets_leaves_out_is_said(page, tmp_path):
    sets = ("a;b;c", "a;b", "b;c", "a;c")
    rows = [f'{20 + i % 40},{"fm"[i % 2]},"{sets[i % 4]}"' for i in range(200)]
    (tmp_path / "shop.csv").write_text("\n".join(["age,sex,bought", *rows, ""]), encoding="utf-8")
    load(page, tmp_path / "shop.csv")
    page.check("input[name=kind][value=table-with-sets]")
    with sending(page, "kind"):
        page.click("form[action$='/kind'] button")
    assert "2 columns are left out beside the sets: age, sex" in page.inner_text("#left-out")
    visit(page, f"{here(page)}/roles")
    assert "age, sex" in page.inner_text("#left-out")


STUDIES = Path(sklearn.__file__).parent / "datasets/data"  # one header is of another length, one table has no words
TABLES = {
    "firms": FIRMS,
    "baskets": BASKETS / "groceries.csv",
    "wine": STUDIES / "wine_data.csv",
    "diabetes": STUDIES / "diabetes_data_raw.csv.gz",
}


@pytest.mark.parametrize("table", TABLES)
def test_tables_of_others_go_from_file_to_release(page, table):
    load(page, TABLES[table])
    base = here(page)
    for step in ("load?values=true", "roles", "hierarchies", "goals"):
        visit(page, f"{base}/{step}")
        assert problems_of(page) == []
    assert page.locator("#methods .what").count() >= 35
    run(page)
    visit(page, f"{base}/compare")
    assert page.locator(".lead .verdict").count() == 1
    assert problems_of(page) == []


def test_undo_takes_back_one_thing_while_a_select_has_the_focus_and_comments_follow(server, page):
    load(page, ADULT / "adult.csv")
    base = here(page)
    store = server.app.state.server.store

    def policy():
        return store.project(base.rpartition("/")[2]).policy

    visit(page, f"{base}/goals")
    with sending(page, "goals"):
        page.fill("input[name=k]", "999999")
        page.keyboard.press("Tab")
    assert re.search(r"k: 999999} +# Each record looks like at least 999999 records", policy())
    visit(page, f"{base}/roles")
    set_role(page, "race", "keep")
    set_role(page, "sex", "drop")
    page.focus("[name='role:sex']")
    with sending(page, "step"):
        page.keyboard.press("Control+z")
    assert page.input_value("[name='role:sex']") == "quasi"
    assert page.input_value("[name='role:race']") == "keep"
    assert "k: 999999" in policy()
    assert page.locator(".tools [value=undo]").get_attribute("title") == "Undo: race is keep"
    assert page.locator(".tools [value=redo]").get_attribute("title") == "Redo: sex is drop"


def test_the_light_says_what_it_is_doing(server, page, monkeypatch):
    state = server.app.state.server
    question = OpenQuestion(1)
    question.hear({"kind": "start", "phase": "solve"})
    base = finished_sample(server)
    with monkeypatch.context() as patch:
        patch.setattr(state, "begin", lambda *_: question)
        visit(page, f"{base}/goals")
        page.wait_for_selector("#light:has-text('Checking: searching')")
        question.error = {"error": "stale", "message": "the project was changed since", "hint": None}
        question.ended.set()
        page.wait_for_selector(".lamp.asking", state="detached")
    visit(page, f"{base}/goals")
    page.wait_for_selector(".lamp.good")


def test_a_run_that_works_is_not_called_waiting(server, page):
    state = server.app.state.server
    base = finished_sample(server)
    made = state.store.add_run(state.store.project(base.rpartition("/")[2]), "run")  # nobody takes it: it stays queued
    body = 'event: progress\nid: 0\ndata: {"kind": "start", "phase": "read", "total": 5, "seq": 0, "at": 0.1}\n\n'
    page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=body))
    visit(page, f"{base}/run")
    page.wait_for_selector("#phases li")
    assert page.inner_text("[data-heading]") == "Working"
    page.unroute_all()
    state.store.set_status(made.id, "cancelled")
