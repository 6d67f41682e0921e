"""A real server and a real browser for tests."""

from __future__ import annotations

import shutil
import threading
from contextlib import contextmanager

from tablecloak.server.serve import LocalServer, free_port
from tablecloak.server.settings import ServerSettings

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--no-first-run"]


@contextmanager
def serving(folder, **given):
    """A server in a thread of this process."""
    settings = {"port": free_port(), "roots": (folder,), "bearer": None, **given}
    server = LocalServer(ServerSettings(folder / "server", **settings))
    ready = threading.Event()
    thread = threading.Thread(target=server.run, args=(ready.set,), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield server
    finally:
        server.stop()
        thread.join(20)
        assert not thread.is_alive()


@contextmanager
def browsing(**given):
    """A page of a fresh browser; whatever it complains about is collected in `page.complaints`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True, **given)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.complaints = []
        page.on("console", lambda m: page.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: page.complaints.append(str(e)))
        yield page
        browser.close()
