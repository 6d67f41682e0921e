from __future__ import annotations

import re
import time

import pytest
from starlette.testclient import TestClient

from tablecloak.server.app import make_app
from tablecloak.server.settings import ServerSettings

PORT = 8642
BASE = f"http://127.0.0.1:{PORT}"
BEARER = "a-token-for-tests"


def settings_for(folder, **given):
    return ServerSettings(folder / "server", port=PORT, bearer=BEARER, roots=(folder,), starts_early=False, **given)


class Pages:
    """A browser without JavaScript: follows the link, keeps the cookie, sends forms as they stand."""

    def __init__(self, client):
        self.client = client

    def get(self, path, **more):
        return self.client.get(path, **more)

    def send(self, page, to, /, files=None, **values):
        """Send the form of a page, with its hidden inputs."""
        hidden = dict(re.findall(r'<input type="hidden" name="(csrf|version)" value="([^"]*)"', page.text))
        return self.client.post(to, data={**hidden, **values}, files=files)

    def wait(self, run, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.client.get(f"/api/v1/runs/{run}").json()
            if found["status"] not in ("queued", "running"):
                return found
            time.sleep(0.05)
        raise AssertionError("the run did not end")


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """One server for many tests, because its workers take a second to start; every test finds it empty."""
    folder = tmp_path_factory.mktemp("web")
    app = make_app(settings_for(folder))
    with TestClient(app, base_url=BASE):
        yield app, folder


@pytest.fixture
def app(shared):
    app, folder = shared
    yield app
    app.state.workshop.forget_everything()
    app.state.workshop.store.forget_sessions()
    for path in folder.iterdir():
        if path.name != "server":
            path.unlink()


@pytest.fixture
def folder(shared):
    return shared[1]


@pytest.fixture
def client(app):
    return TestClient(app, base_url=BASE)


@pytest.fixture
def pages(app):
    """Signed in by the link."""
    client = TestClient(app, base_url=BASE)
    client.get("/", params={"token": app.state.sessions.new_token()})
    return Pages(client)


@pytest.fixture
def api(app):
    """Signed in by the token that a script knows."""
    return TestClient(app, base_url=BASE, headers={"authorization": f"Bearer {BEARER}"})
