"""Shopping baskets in a real browser: from a dropped file of sets to an export that verifies."""

from __future__ import annotations

import pytest
from accessible import problems_of
from browsing import (
    IN_BROWSER,
    done,
    drop,
    everything,
    here,
    picture,
    press,
    reloaded,
    sending,
    serving,
    visit,
)

import oracle_sets
from tablecloak.cli.main import main
from tablecloak.sample import write_baskets

pytestmark = IN_BROWSER


@pytest.fixture
def server(tmp_path):
    with serving(tmp_path) as server:
        yield server


def test_from_dropped_baskets_to_an_export_that_verifies(page, tmp_path):
    shop = tmp_path / "shop"
    write_baskets(shop)
    drop(page, shop / "baskets.txt")
    assert page.is_checked("input[name=kind][value=sets]")
    assert "2,000 records" in page.inner_text(".lead")
    page.click("text=Show values")
    page.wait_for_selector("td:has-text('razors')")
    reloaded(page)
    assert problems_of(page) == []
    picture(page, "sets-load")

    visit(page, f"{here(page)}/hierarchies")
    page.set_input_files("input[name=file]", shop / "hierarchies/products.csv")
    with sending(page, "hierarchies"):
        page.click("text=Load hierarchy")
    page.wait_for_selector(".tree summary:has-text('drinks')")
    reloaded(page)
    press(page, "text=Next: what must hold", "**/goals")
    with sending(page, "goals"):
        page.fill("input[name=k]", "8")
        page.keyboard.press("Tab")
    assert "Whoever knows up to" in page.inner_text(".sentence")
    page.wait_for_selector(".lamp.good")
    assert problems_of(page) == []
    picture(page, "sets-goals")

    press(page, "text=Next: run it", "**/run")
    page.click("button.primary")
    done(page)
    press(page, "text=Next: compare before and after", "**/compare")
    press(page, ".tabs >> text=Records", "**tab=records")
    page.click("text=Show values")
    page.wait_for_selector("table.data")
    reloaded(page)
    assert "Ready to hand over" in page.inner_text("main")
    assert problems_of(page) == []
    picture(page, "sets-compare")
    press(page, "text=Next: is it ready to hand over?", "**/ready")
    assert problems_of(page) == []
    press(page, "text=Next: take it along", "**/export")
    got = everything(page, tmp_path / "got")
    shown = [line.split(";") if line else [] for line in (got / "baskets-release.csv").read_text().splitlines()]
    assert oracle_sets.is_km_anonymous(shown, 8, 2)
    release, original = str(got / "baskets-release.csv"), str(shop / "baskets.txt")
    assert main(["verify", release, "--certificate", str(got / "certificate.json")]) == 0
    assert main(["verify", release, "--policy", str(got / "policy.yaml"), "--original", original]) == 0
    assert main(["verify", original, "--policy", str(got / "policy.yaml")]) == 3
