"""The web side of `tablecloak demo`: the app on the sample's compare screen."""

from __future__ import annotations

import time

from tablecloak.cli.output import remark
from tablecloak.cli.settings import Settings
from tablecloak.errors import EngineError

SECONDS = 60


def show(settings: Settings, *, port: int, browser: bool) -> None:
    """Serve the sample from a folder that is deleted at the end, with one run done."""
    from tablecloak.server.app import LocalServer, free_port, open_browser
    from tablecloak.server.state import ServerSettings
    from tablecloak.server.steps.home import service as home_service
    from tablecloak.server.steps.run import service as run_service

    server = LocalServer(ServerSettings.ephemeral(port=port or free_port(), threads=settings.threads))
    state = server.app.state.server

    def ready() -> None:
        project = home_service.create_sample(state)
        run = run_service.begin(state, project)
        deadline = time.monotonic() + SECONDS
        while state.store.run(run.id).is_open and time.monotonic() < deadline:
            time.sleep(0.05)
        link = server.link(f"/projects/{project.id}/compare")
        remark(settings, f"\nIn the web app: {link}\nThe link works once. Ctrl-C ends it and deletes its copy.")
        if browser:
            open_browser(link)

    try:
        server.run(ready)
    except OSError as exc:
        raise EngineError(f"the web app could not start: {exc.strerror}", hint="tablecloak demo --cli") from exc
