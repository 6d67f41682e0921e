"""A real server and a real browser for tests, and what hands and eyes do there.

Nothing here waits for a time: pages say by `data-ready` and `data-busy` when they can be used and when they work.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from accessible import FOCUS

from tablecloak.server.app import LocalServer, free_port
from tablecloak.server.state import ServerSettings
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.run import service as run_service

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# What every test in a browser is marked with.
IN_BROWSER = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt-get install chromium, or run as root: make test"),
]
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run",
         "--disable-dev-shm-usage", "--disable-gpu"]  # fmt: skip
# A limit for what will never happen, not a measure of speed.
LIMIT_SECONDS = 300
IMAGES = os.environ.get("TABLECLOAK_IMAGES")


@contextmanager
def serving(folder, *, at="server", **given):
    """A server in a thread of this process, which keeps its files at a place in the folder."""
    settings = {"port": free_port(), "roots": (folder,), "bearer": None, **given}
    server = LocalServer(ServerSettings(folder / at, **settings))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    assert ready.wait(LIMIT_SECONDS)
    try:
        yield server
    finally:
        server.stop()
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive()


@contextmanager
def a_browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=1000 * LIMIT_SECONDS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def a_page(browser, server):
    """A page of a fresh profile, signed in; whatever it complains about is collected in `page.complaints`."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page = context.new_page()
    page.set_default_timeout(1000 * LIMIT_SECONDS)
    page.complaints = []
    page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.complaints.append(str(e)))
    try:
        page.goto(server.link())
        page.wait_for_selector("h1")
        settle(page)
        yield page
    finally:
        context.close()


def finished_sample(server):
    """The sample with one run done, as a project of the server; returns its address."""
    state = server.app.state.server
    project = home_service.create_sample(state)
    done = until_ended(state, run_service.begin(state, project))
    assert done.status == "done", done.error
    return f"http://127.0.0.1:{server.settings.port}/projects/{project.id}"


def until_ended(state, run):
    deadline = time.monotonic() + LIMIT_SECONDS
    while (found := state.store.run(run.id)).is_open:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def settle(page):
    """Until the page can be used and works on nothing."""
    page.wait_for_selector("html[data-ready]:not([data-busy])", state="attached")


def visit(page, address):
    page.goto(address)
    settle(page)


def press(page, selector, to):
    """Click what leads to another page."""
    page.click(selector)
    page.wait_for_url(to)
    settle(page)


def picture(page, name, at="body"):
    settle(page)
    page.wait_for_selector(".lamp.asking", state="detached")
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
    content = path.read_text(encoding="utf-8")
    data = page.evaluate_handle(
        "([name, content]) => { const d = new DataTransfer(); d.items.add(new File([content], name)); return d; }",
        [path.name, content],
    )
    page.dispatch_event(".drop", "drop", {"dataTransfer": data})
    page.wait_for_url("**/load")
    settle(page)


@contextmanager
def sending(page, step):
    """What is done inside sends a form of the step; it ends when the page has taken over the answer."""
    with page.expect_response(lambda r: r.request.method == "POST" and r.url.partition("?")[0].endswith(f"/{step}")):
        yield
    settle(page)


def set_role(page, column, role):
    with sending(page, "roles"):
        page.select_option(f'select[name="role:{column}"]', role)


def run(page):
    visit(page, f"{here(page)}/run")
    page.click("button.primary")
    done(page)


def done(page):
    page.wait_for_selector("h2:has-text('Done')")
    settle(page)


def everything(page, folder):
    """Save all files of a run and unpack them."""
    with page.expect_download() as saved:
        page.click("text=Save all as zip")
    saved.value.save_as(folder / saved.value.suggested_filename)
    with zipfile.ZipFile(folder / "everything.zip") as archive:
        archive.extractall(folder / "all")
    return folder / "all"


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
