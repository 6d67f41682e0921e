"""The whole journey in a real browser, with screenshots of every screen.

Screenshots go to the folder named in TABLECLOAK_IMAGES, as `make images` does with docs/images.
"""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

import polars as pl
import pytest
from accessible import FOCUS, problems_of
from browsing import CHROMIUM, browsing, serving

from tablecloak.cli.main import main
from tablecloak.sample import patients

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or run as root: make test"),
]
ADULT = Path(os.environ.get("TABLECLOAK_DATA", Path(__file__).parents[3] / "shared/data")) / "adult"
IMAGES = os.environ.get("TABLECLOAK_IMAGES")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("browser")) as server:
        yield server


@pytest.fixture
def page(server):
    with browsing() as page:
        page.goto(server.link())
        page.wait_for_selector("h1")
        yield page
        assert page.complaints == []


def settle(page):
    page.wait_for_load_state("networkidle")
    page.wait_for_selector("html:not([data-busy])", state="attached")
    page.wait_for_selector(".lamp.asking", state="detached")


def picture(page, name, at="body"):
    settle(page)
    if IMAGES:
        page.evaluate("(s) => document.querySelector(s).scrollIntoView({ behavior: 'instant' })", at)
        page.screenshot(path=Path(IMAGES) / f"web-{name}.png")


def here(page):
    return re.match(r".*/projects/[0-9a-f]+", page.url)[0]


def reloaded(page):
    """Reload: nothing of what the page shows may depend on how one came here."""
    settle(page)
    before = page.inner_text("main")
    page.reload()
    settle(page)
    assert page.inner_text("main") == before


def drop(page, path):
    """Drop a file on the page, as a hand would."""
    settle(page)
    content = path.read_text(encoding="utf-8")
    data = page.evaluate_handle(
        "([name, content]) => { const d = new DataTransfer(); d.items.add(new File([content], name)); return d; }",
        [path.name, content],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})
    page.wait_for_url("**/load")


def set_role(page, column, role):
    settle(page)
    with page.expect_response("**/roles"):
        page.select_option(f'select[name="role:{column}"]', role)
    settle(page)


def run(page):
    page.goto(f"{here(page)}/run")
    settle(page)
    page.click("button.primary")
    page.wait_for_selector("h2:has-text('Done')")


def everything(page, folder):
    """Save all files of a run and unpack them."""
    with page.expect_download() as saved:
        page.click("text=Save all as zip")
    saved.value.save_as(folder / saved.value.suggested_filename)
    with zipfile.ZipFile(folder / "everything.zip") as archive:
        archive.extractall(folder / "all")
    return folder / "all"


def test_from_a_dropped_file_to_a_release_that_verifies(page, tmp_path):
    patients(1500).write_csv(tmp_path / "patients.csv")
    picture(page, "home")
    drop(page, tmp_path / "patients.csv")
    reloaded(page)
    page.click("text=Show values")
    page.wait_for_selector("td:has-text('female')")
    picture(page, "load")

    page.click("text=Next: what each column means")
    set_role(page, "admission", "drop")
    set_role(page, "insurance", "drop")
    assert "unique on birth_date, sex, zip" in page.inner_text("main")
    reloaded(page)
    picture(page, "roles")

    page.click("text=Next: how values become coarser")
    page.click(".tabs >> text=diagnosis")
    settle(page)
    page.check("input[value=order]")
    page.fill('[name="order:fanout"]', "13")
    with page.expect_response("**/hierarchies"):
        page.click("button:has-text('Generate')")
    page.wait_for_selector(".tree")
    group = page.locator(".tree .group .group").first.get_attribute("data-label")
    page.select_option("#tree-form select[name=action]", "rename")
    page.fill("#tree-form input[name=label]", group)
    page.fill("#tree-form input[name=new_label]", "First letters")
    with page.expect_response("**/hierarchies"):
        page.click("#tree-form button")
    page.wait_for_selector(".tree summary:has-text('First letters')")
    leaf = page.locator(".tree .group .group").nth(1).locator(".leaf").first
    label = leaf.get_attribute("data-label")
    with page.expect_response("**/hierarchies"):
        leaf.drag_to(page.locator(".tree .group[data-label='First letters'] > details > summary"))
    page.wait_for_selector(f".tree .group[data-label='First letters'] .leaf[data-label='{label}']")
    reloaded(page)
    picture(page, "hierarchies", ".levels")
    page.click("[aria-label=Undo]")
    page.wait_for_selector(f".tree .group[data-label='First letters'] .leaf[data-label='{label}']", state="detached")
    page.goto(f"{here(page)}/goals")
    settle(page)
    with page.expect_response("**/goals"):
        page.fill("input[name=k]", "6")
        page.keyboard.press("Tab")
    page.wait_for_selector(".lamp.good")
    reloaded(page)
    picture(page, "goals")

    page.click("text=Next: run it")
    page.click("button.primary")
    page.wait_for_selector("h2:has-text('Done')")
    reloaded(page)
    picture(page, "run")

    page.click("text=Next: compare before and after")
    page.click("text=Show values")
    page.wait_for_selector("td.changed")
    reloaded(page)
    page.click("text=Next: take it along")
    reloaded(page)
    picture(page, "export")
    got = everything(page, tmp_path / "got")
    assert pl.read_csv(got / "out/patients.csv").group_by("birth_date", "sex", "zip").len()["len"].min() >= 6
    assert main(["verify", str(got / "out/patients.csv"), "--policy", str(got / "policy.yaml")]) == 0
    assert main(["verify", str(got / "out/patients.csv"), "--certificate", str(got / "out/certificate.json")]) == 0
    assert main(["verify", str(tmp_path / "patients.csv"), "--policy", str(got / "policy.yaml")]) == 3


@pytest.mark.skipif(not (ADULT / "adult.csv").exists(), reason="Adult is not here; TABLECLOAK_DATA names its folder")
def test_adult_from_file_to_verified_release(page, tmp_path):
    page.set_input_files("#file", ADULT / "adult.csv")
    page.wait_for_url("**/load")
    assert "30,162 records, 9 columns" in page.inner_text(".lead")
    page.goto(f"{here(page)}/roles")
    for column in ("workclass", "occupation", "native-country"):
        set_role(page, column, "drop")
    set_role(page, "salary-class", "keep")
    page.goto(f"{here(page)}/hierarchies?column=age")
    settle(page)
    page.check("input[value=auto]")
    page.select_option('[name="auto:method"]', "range")
    with page.expect_response("**/hierarchies"):
        page.click("button:has-text('Generate')")
    page.wait_for_selector(".levels")
    page.goto(f"{here(page)}/hierarchies?column=education")
    settle(page)
    page.set_input_files("input[name=file]", ADULT / "adult_hierarchy_education.csv")
    with page.expect_response("**/hierarchies"):
        page.click("text=Load hierarchy")
    page.wait_for_selector(".tree")
    page.goto(f"{here(page)}/goals")
    settle(page)
    with page.expect_response("**/goals"):
        page.fill("input[name=k]", "10")
        page.keyboard.press("Tab")
    settle(page)
    run(page)
    page.goto(f"{here(page)}/compare")
    assert "Every goal holds" in page.inner_text("main")
    page.goto(f"{here(page)}/export")
    got = everything(page, tmp_path)
    assert main(["verify", str(got / "out/adult.csv"), "--policy", str(got / "policy.yaml"), "--original",
                 str(ADULT / "adult.csv")]) == 0  # fmt: skip


@pytest.fixture
def sample(page):
    """The sample with one run done."""
    page.click("text=Open the sample")
    page.wait_for_url("**/load")
    run(page)
    return page


def test_runs_are_compared_and_a_node_of_the_lattice_is_applied(sample):
    page = sample
    page.goto(f"{here(page)}/lattice")
    page.click("text=Search the lattice")
    page.wait_for_selector("#node")
    picture(page, "lattice")
    page.click("tr:not(.chosen):has-text('✓ safe') a")
    page.wait_for_url("**node=**")
    page.click("text=Apply this node and run")
    page.wait_for_selector("h2:has-text('Done')")
    page.goto(f"{here(page)}/compare")
    assert page.locator(".frontier a").count() == 2
    page.locator(".frontier a").nth(1).click()
    page.wait_for_url("**run=**")
    assert "mondrian" in page.inner_text(".lead")
    picture(page, "compare")


def test_the_policy_can_be_edited_beside_every_step(sample):
    page = sample
    page.goto(f"{here(page)}/goals")
    settle(page)
    page.click("text=policy.yaml")
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
    page.keyboard.press("Escape")
    assert page.input_value("input[name=k]") == "7"


def walk(page, wanted, most=80):
    """Press Tab until the wanted element has the focus, which must be seen on the way."""
    for _ in range(most):
        page.keyboard.press("Tab")
        focus = page.evaluate(FOCUS)
        if focus is None:
            continue
        assert focus["isSeen"], focus
        if page.evaluate("(s) => document.activeElement.matches(s)", wanted):
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def test_the_whole_journey_with_the_keyboard(page):
    walk(page, "form[action='/open/sample'] button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/load")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the first stop is the way past the header
    assert page.evaluate("document.activeElement.id") == "main"
    settle(page)
    page.keyboard.press("Alt+2")
    page.wait_for_url("**/roles")
    walk(page, "select[name='role:cost']")
    with page.expect_response("**/roles"):
        page.keyboard.press("ArrowDown")
    settle(page)
    assert page.evaluate("document.activeElement.name") == "role:cost"
    settle(page)
    page.keyboard.press("Alt+4")
    page.wait_for_url("**/goals")
    walk(page, "input[name=k]")
    with page.expect_response("**/goals"):
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Tab")
    settle(page)
    assert page.input_value("input[name=k]") == "6"
    settle(page)
    page.keyboard.press("Alt+5")
    page.wait_for_url("**/run")
    page.keyboard.press("Enter")  # the button has the focus already
    page.wait_for_selector("h2:has-text('Done')")
    walk(page, "a[href$=compare].button")
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare")
    walk(page, "a[role=switch]")
    page.keyboard.press("Enter")
    page.wait_for_selector("td.changed")
    settle(page)
    page.keyboard.press("Alt+7")
    page.wait_for_url("**/export")
    walk(page, "a[href$=release]")
    with page.expect_download() as saved:
        page.keyboard.press("Enter")
    assert saved.value.suggested_filename == "patients.csv"


STEPS = (
    "load?values=true",
    "roles",
    "hierarchies?column=diagnosis",
    "goals",
    "run",
    "compare?values=true",
    "export",
    "policy",
    "lattice",
)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")])
def test_every_screen_is_accessible(server, width, scheme):
    with browsing(color_scheme=scheme) as page:
        page.set_viewport_size({"width": width, "height": 844})
        page.goto(server.link())
        page.click("text=Open the sample")
        page.wait_for_url("**/load")
        run(page)
        base = here(page)
        site = base.rpartition("/projects")[0]
        for address in (*(f"{base}/{step}" for step in STEPS), f"{site}/", f"{site}/help", f"{site}/admin"):
            page.goto(address)
            settle(page)
            assert problems_of(page) == [], address
            if width == 390 and scheme == "light" and address.endswith("/roles"):
                picture(page, "phone")
            if width == 1280 and scheme == "dark" and "/compare" in address:
                picture(page, "dark")
            if width == 1280 and scheme == "light" and address.endswith("/admin"):
                picture(page, "admin")
        assert page.complaints == []


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
