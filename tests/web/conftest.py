from __future__ import annotations

import pytest
from browsing import a_browser, a_page
from starlette.testclient import TestClient
from without_browser import BASE, BEARER, Pages, settings_for

from tablecloak.server.app import make_app


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
    app.state.server.forget_everything()
    app.state.server.store.forget_sessions()
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


@pytest.fixture(scope="module")
def browser():
    # of this module only: as long as it is open, its process cannot run another loop of asyncio
    with a_browser() as browser:
        yield browser


@pytest.fixture
def page(server, browser):
    with a_page(browser, server) as page:
        yield page
        assert page.complaints == []
