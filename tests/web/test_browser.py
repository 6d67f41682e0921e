"""The whole journey in a real browser, with screenshots of every screen.

Screenshots go to the folder named in TABLECLOAK_IMAGES, as `make images` does with docs/images.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars as pl
import pytest
from accessible import problems_of
from browsing import (
    IN_BROWSER,
    done,
    drop,
    everything,
    finished_sample,
    here,
    picture,
    press,
    reloaded,
    run,
    sending,
    serving,
    set_role,
    settle,
    visit,
    walk,
)

import tablecloak as tc
from tablecloak.cli.main import main
from tablecloak.kernels import kept
from tablecloak.progress import Silent
from tablecloak.sample import patients

pytestmark = IN_BROWSER
ADULT = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "adult"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patch, serving(folder, at=".local/share/tablecloak") as server:
        patch.setenv("XDG_CACHE_HOME", str(kept.home().parent))  # kernels that are compiled stay so
        patch.setenv("HOME", str(folder))  # pictures show places as they are on other machines
        yield server


@pytest.fixture
def sample(server, page):
    """The sample with one run done."""
    visit(page, f"{finished_sample(server)}/compare")
    return page


def test_from_a_dropped_file_to_a_release_that_verifies(page, tmp_path):
    patients(1500).write_csv(tmp_path / "patients.csv")
    picture(page, "home")
    drop(page, tmp_path / "patients.csv")
    reloaded(page)
    page.click("text=Show values")
    page.wait_for_selector("td:has-text('female')")
    picture(page, "load")

    press(page, "text=Next: what each column means", "**/roles")
    set_role(page, "admission", "drop")
    set_role(page, "insurance", "drop")
    page.wait_for_selector("#exposure:has-text('unique on birth_date, sex, zip')")
    reloaded(page)
    picture(page, "roles")

    press(page, "text=Next: how values become coarser", "**/hierarchies**")
    press(page, ".tabs >> text=diagnosis", "**column=diagnosis")
    page.check("input[value=order]")
    page.fill('[name="order:fanout"]', "13")
    with sending(page, "hierarchies"):
        page.click("button:has-text('Generate')")
    group = page.locator(".tree .group .group").first.get_attribute("data-label")
    page.select_option("#tree-form select[name=action]", "rename")
    page.fill("#tree-form input[name=label]", group)
    page.fill("#tree-form input[name=new_label]", "First letters")
    with sending(page, "hierarchies"):
        page.click("#tree-form button")
    page.wait_for_selector(".tree summary:has-text('First letters')")
    leaf = page.locator(".tree .group .group").nth(1).locator(".leaf").first
    label = leaf.get_attribute("data-label")
    with sending(page, "hierarchies"):
        leaf.drag_to(page.locator(".tree .group[data-label='First letters'] > details > summary"))
    page.wait_for_selector(f".tree .group[data-label='First letters'] .leaf[data-label='{label}']")
    reloaded(page)
    picture(page, "hierarchies", ".levels")
    with sending(page, "step"):
        page.click("[aria-label^=Undo]")
    page.wait_for_selector(f".tree .group[data-label='First letters'] .leaf[data-label='{label}']", state="detached")
    visit(page, f"{here(page)}/goals")
    with sending(page, "goals"):
        page.fill("input[name=k]", "6")
        page.keyboard.press("Tab")
    page.wait_for_selector(".lamp.good")
    reloaded(page)
    picture(page, "goals")

    press(page, "text=Next: run it", "**/run")
    page.click("button.primary")
    done(page)
    reloaded(page)
    picture(page, "run")

    press(page, "text=Next: compare before and after", "**/compare")
    press(page, ".tabs >> text=Records", "**tab=records")
    page.click("text=Show values")
    page.wait_for_selector("td.changed")
    reloaded(page)
    press(page, "text=Next: is it ready to hand over?", "**/ready")
    reloaded(page)
    picture(page, "ready")
    press(page, "text=Next: take it along", "**/export")
    reloaded(page)
    picture(page, "export")
    got = everything(page, tmp_path / "got")
    assert pl.read_csv(got / "patients-release.csv").group_by("birth_date", "sex", "zip").len()["len"].min() >= 6
    assert main(["verify", str(got / "patients-release.csv"), "--policy", str(got / "policy.yaml")]) == 0
    assert main(["verify", str(got / "patients-release.csv"), "--certificate", str(got / "certificate.json")]) == 0
    assert main(["verify", str(tmp_path / "patients.csv"), "--policy", str(got / "policy.yaml")]) == 3


@pytest.mark.skipif(not (ADULT / "adult.csv").exists(), reason="Adult is not here; TABLECLOAK_DATA names its folder")
def test_adult_from_file_to_verified_release(page, tmp_path):
    page.set_input_files("#file", ADULT / "adult.csv")
    page.wait_for_url("**/load")
    assert "30,162 records, 9 columns" in page.inner_text(".lead")
    visit(page, f"{here(page)}/roles")
    for column in ("workclass", "occupation", "native-country"):
        set_role(page, column, "drop")
    set_role(page, "salary-class", "keep")
    visit(page, f"{here(page)}/hierarchies?column=age")
    page.check("input[value=auto]")
    page.select_option('[name="auto:method"]', "range")
    with sending(page, "hierarchies"):
        page.click("button:has-text('Generate')")
    page.wait_for_selector(".levels")
    visit(page, f"{here(page)}/hierarchies?column=education")
    page.set_input_files("[aria-label='Hierarchy file']", ADULT / "adult_hierarchy_education.csv")
    with sending(page, "hierarchies"):
        page.click("text=Load hierarchy")
    page.wait_for_selector(".tree")
    visit(page, f"{here(page)}/goals")
    with sending(page, "goals"):
        page.fill("input[name=k]", "10")
        page.keyboard.press("Tab")
    run(page)
    visit(page, f"{here(page)}/compare")
    assert "Ready to hand over" in page.inner_text("main")
    visit(page, f"{here(page)}/export")
    got = everything(page, tmp_path)
    assert main(["verify", str(got / "adult-release.csv"), "--policy", str(got / "policy.yaml"), "--original",
                 str(ADULT / "adult.csv")]) == 0  # fmt: skip


def test_runs_are_compared_and_a_node_of_the_lattice_is_applied(sample):
    page = sample
    visit(page, f"{here(page)}/lattice")
    page.click("text=Search the lattice")
    page.wait_for_selector("#node")
    picture(page, "lattice")
    press(page, "tr:not(.chosen):has-text('✓ safe') a", "**node=**")
    page.click("text=Apply this node and run")
    done(page)
    visit(page, f"{here(page)}/compare")
    assert page.locator(".chart.wide a").count() == 2
    page.locator(".chart.wide a").nth(1).click()
    page.wait_for_url("**run=**")
    assert "auto" in page.inner_text(".lead")
    picture(page, "compare")
    assert page.locator(".beside-runs thead th").count() == 3
    assert page.locator(".beside-runs td.best").count() > 0
    picture(page, "runs", "#runs")
    press(page, "#runs button", "**beside=**")
    assert page.locator(".report:has(h2:text-is('Attacks')) .pair > div > h3").all_inner_texts() == ["run 1", "run 2"]
    assert problems_of(page) == []


def test_groups_and_lattice_grow_while_a_run_works(server, sample):
    page, state = sample, server.app.state.server
    project = state.store.project(here(page).rpartition("/")[2])
    run = state.store.add_run(project, "run")  # it waits for ever: what it tells is told by the test
    told = {"kind": "groups", "groups": 9, "sizes": [40, 30, 20], "rest": 10, "seq": 0, "at": 0.1}
    say(page, told)
    visit(page, f"{here(page)}/run")
    page.wait_for_selector("#growing .rest", state="attached")
    assert page.locator("#growing rect").count() == 4
    assert page.inner_text("#growing figcaption") == "9 groups so far, the largest of 40 records"
    areas = page.eval_on_selector_all(
        "#growing rect", "all => all.map((r) => (r.width.baseVal.value + 1) * (r.height.baseVal.value + 1))"
    )
    assert [round(100 * area / sum(areas)) for area in areas] == [40, 30, 20, 10]
    assert problems_of(page) == []
    page.unroute_all()
    state.store.set_status(run.id, "running")
    sizes = groups_on_the_way()
    say(
        page,
        {"kind": "groups", "groups": len(sizes), "sizes": sizes[:80], "rest": sum(sizes[80:]), "seq": 0, "at": 0.1},
    )
    visit(page, f"{here(page)}/run")
    page.wait_for_selector("#growing .rest", state="attached")
    assert page.locator("#growing rect").count() == 81
    picture(page, "growing")
    page.unroute_all()
    say(page, {"kind": "nodes", "rows": [[0, 1, 0], [1, 1, 1], [1, 0, 0]], "seq": 0, "at": 0.1})
    visit(page, f"{here(page)}/run")
    page.wait_for_selector("#growing .unsafe", state="attached")
    assert page.inner_text("#growing figcaption") == "Lattice so far: 2 nodes safe, 2 unsafe, 1 not known"
    page.unroute_all()
    state.store.set_status(run.id, "cancelled")


def groups_on_the_way():
    """Sizes of the groups in the middle of a search on the sample, the largest first; the search is then given up."""

    class SeenError(Exception):
        """Enough of the search was seen."""

    class Watching(Silent):
        def groups(self, sizes):
            if len(found := sizes()) > 100:
                raise SeenError(sorted(found.tolist(), reverse=True))

    columns = {name: {"role": "quasi"} for name in ("birth_date", "sex", "zip")} | {"diagnosis": {"role": "sensitive"}}
    goals = [{"model": "k-anonymity", "k": 5}, {"model": "l-diversity", "l": 3, "sensitive": "diagnosis"}]
    policy = tc.Policy.model_validate({"version": 1, "columns": columns, "others": "drop", "goals": goals})
    with pytest.raises(SeenError) as seen:
        tc.anonymize(patients(5000), policy, progress=Watching())
    return seen.value.args[0]


def say(page, event):
    """Let the server tell one event of a run, and nothing else."""
    body = f"event: progress\nid: 0\ndata: {json.dumps(event)}\n\n"
    page.route("**/events", lambda route: route.fulfill(content_type="text/event-stream", body=body))


def test_the_policy_can_be_edited_beside_every_step(sample):
    page = sample
    visit(page, f"{here(page)}/goals")
    page.click("text=policy.yaml")
    page.wait_for_selector("dialog textarea")
    text = page.input_value("dialog textarea")
    picture(page, "policy")
    page.fill("dialog textarea", text.replace("k: 5", "k: 1"))
    page.click("dialog >> text=Save")
    page.wait_for_selector("dialog .alert")
    assert "must be >= 2" in page.inner_text("dialog .alert")
    page.complaints.clear()  # the browser reports the refusal, too
    page.fill("dialog textarea", text.replace("k: 5", "k: 7"))
    page.click("dialog >> text=Save")
    page.wait_for_selector("input[name=k][value='7']", state="attached")
    settle(page)
    page.keyboard.press("Escape")
    assert page.input_value("input[name=k]") == "7"


def test_the_whole_journey_with_the_keyboard(page):
    walk(page, "form[action='/open/sample'] button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/load")
    settle(page)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first stop is the way past the header
    page.wait_for_function("document.activeElement.id === 'main'")
    page.keyboard.press("Alt+2")
    page.wait_for_url("**/roles")
    settle(page)
    walk(page, "select[name='role:cost']")
    with sending(page, "roles"):
        page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.name") == "role:cost"
    page.keyboard.press("Alt+4")
    page.wait_for_url("**/goals")
    settle(page)
    walk(page, "input[name=k]")
    with sending(page, "goals"):
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")
    assert page.input_value("input[name=k]") == "6"
    page.keyboard.press("Alt+5")
    page.wait_for_url("**/run")
    settle(page)
    page.wait_for_function("document.activeElement.matches('button.primary')")
    page.keyboard.press("Enter")  # the button has the focus already
    done(page)
    walk(page, "a[href$=compare].button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare")
    settle(page)
    walk(page, ".tabs a[href*='tab=records']")
    page.keyboard.press("Enter")
    page.wait_for_url("**tab=records")
    settle(page)
    walk(page, "a[role=switch]")
    page.keyboard.press("Enter")
    page.wait_for_selector("td.changed")
    settle(page)
    page.keyboard.press("Alt+8")
    page.wait_for_url("**/export")
    settle(page)
    walk(page, "a[href$=release]")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "patients-release.csv"


STEPS = (
    "load?values=true",
    "roles",
    "hierarchies?column=diagnosis",
    "goals",
    "run",
    "compare?values=true",
    "attacks",
    "export",
    "policy",
    "lattice",
)
LOOKS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]
PICTURES = {
    ("roles", 390, "light"): "phone",
    ("compare?values=true", 1280, "dark"): "dark",
    ("admin", 1280, "light"): "admin",
}


def test_every_screen_is_accessible_wide_and_narrow_light_and_dark(sample):
    page, base = sample, here(sample)
    site = base.rpartition("/projects")[0]
    addresses = {step: f"{base}/{step}" for step in STEPS} | {n: f"{site}/{n}" for n in ("", "help", "admin")}
    for name, address in addresses.items():
        visit(page, address)
        page.wait_for_selector(".lamp.asking", state="detached")
        for width, scheme in LOOKS:
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            assert problems_of(page) == [], (address, width, scheme)
            if (name, width, scheme) in PICTURES:
                picture(page, PICTURES[name, width, scheme])


def test_the_check_finds_what_is_wrong(page):
    page.evaluate("""() => {
        const main = document.querySelector("main");
        main.innerHTML += "<input id=file><button></button><img src=/static/mark.svg>";
        const faint = document.createElement("p");
        faint.className = "brand";
        faint.textContent = "faint";
        faint.style.color = "#ddd";
        main.append(faint);
    }""")
    found = " ".join(problems_of(page))
    assert all(word in found for word in ("no label", "no name", "no alt", "id twice", "contrast"))
