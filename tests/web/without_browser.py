"""What tests of the web app share: settings, and a browser without JavaScript."""

from __future__ import annotations

import re
import time

from tablecloak.server.state import ServerSettings

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

    def light(self, here):
        """What the light says in the end; meanwhile it says what it is doing."""
        while "data-again" in (text := self.get(f"{here}/light").text):
            assert "Checking" in text
        return text

    def wait(self, run, seconds=300):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            found = self.client.get(f"/api/v1/runs/{run}").json()
            if found["status"] not in ("queued", "running"):
                return found
            time.sleep(0.05)
        raise AssertionError("the run did not end")
