"""The application: guard, pages, API, errors in words; a server on 127.0.0.1 and its link."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tablecloak import __version__
from tablecloak.errors import CloakError, PolicyError
from tablecloak.server.api import bodies, routes
from tablecloak.server.security import Guard, Sessions
from tablecloak.server.shell import PageCache, Visit, render
from tablecloak.server.state import ServerSettings, ServerState
from tablecloak.server.steps.compare import page as compare_page
from tablecloak.server.steps.export import page as export_page
from tablecloak.server.steps.goals import page as goals_page
from tablecloak.server.steps.hierarchies import page as hierarchies_page
from tablecloak.server.steps.home import page as home_page
from tablecloak.server.steps.load import page as load_page
from tablecloak.server.steps.policy import page as policy_page
from tablecloak.server.steps.ready import page as ready_page
from tablecloak.server.steps.roles import page as roles_page
from tablecloak.server.steps.run import page as run_page
from tablecloak.server.store import Stale, TooLarge, Unknown

SCREENS = (
    home_page, policy_page, load_page, roles_page, hierarchies_page, goals_page, run_page, compare_page, ready_page,
    export_page,
)  # fmt: skip
STATIC = Path(__file__).parent / "static"
HOUR = 3600
log = logging.getLogger("tablecloak.server")


def make_app(settings: ServerSettings) -> FastAPI:
    """A server's application; its state lives as long as it does."""
    state = ServerState(settings)
    sessions = Sessions(state.store, bearer=settings.bearer, port=settings.port)

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(state))
        yield
        tidying.cancel()
        await asyncio.to_thread(state.close)

    app = FastAPI(
        title="tablecloak",
        version=__version__,
        summary="Share tables about people without exposing anyone.",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.server, app.state.sessions = state, sessions
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(routes.router)
    for screen in SCREENS:
        app.include_router(screen.router)
    _add_errors(app)
    app.add_middleware(PageCache, state=state)
    app.add_middleware(Guard, settings=settings, sessions=sessions)
    return app


async def _tidy(state: ServerState) -> None:
    """Delete what is older than the retention time, now and every hour."""
    while True:
        await asyncio.to_thread(state.forget_old)
        await asyncio.sleep(HOUR)


def _add_errors(app: FastAPI) -> None:
    for kind in (CloakError, Stale, Unknown, TooLarge, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _explain)


def _explain(request: Request, error: Exception) -> Response:
    """An error for whoever asked: problem+json for programs, a page for people."""
    problem = bodies.problem_of(error)
    if problem["status"] >= 500:  # the text of a bug might hold a cell: only its type and place are logged
        log.error("%s %s failed: %s", request.method, _route(request), bodies.place_of(error))
    if request.url.path.startswith("/api/"):
        return JSONResponse(problem, problem["status"], media_type="application/problem+json")
    headline = {404: "There is nothing here", 403: "Not this way"}.get(problem["status"], "That did not work")
    return render(Visit(request=request, status=problem["status"]), "error.html", headline=headline, problem=problem)


def _route(request: Request) -> str:
    """The route as it is declared: paths hold names that people chose."""
    route = request.scope.get("route")
    return str(getattr(route, "path", "?"))


START_SECONDS = 30


class LocalServer:
    """A server on 127.0.0.1."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self._socket = _listen(settings.port)
        try:
            self.app: FastAPI = make_app(settings)
        except BaseException:
            self._socket.close()
            raise
        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, server_header=False, timeout_graceful_shutdown=2,
            timeout_keep_alive=30,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    def link(self, path: str = "/") -> str:
        """An address that opens the app; it works once."""
        token = self.app.state.sessions.new_token()
        return f"http://127.0.0.1:{self.settings.port}{path}?token={token}"

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until interrupted; `ready` is called once requests are answered."""
        logging.getLogger("tablecloak.server").addHandler(logging.StreamHandler())
        # it logs exceptions with their texts, which might hold a cell; our own log says type and place
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        threading.Thread(target=self._when_started, args=(ready,), daemon=True).start()
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        self._server.should_exit = True

    def _when_started(self, ready: Callable[[], None]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.02)
        if self._server.started:
            try:
                ready()
            except Exception:
                if not self._server.should_exit:  # ended while it was getting ready
                    raise


def open_browser(link: str) -> bool:
    """Open the link in a browser, if there is one."""
    try:
        return webbrowser.open(link)
    except webbrowser.Error:
        return False


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise PolicyError(f"port {port} is in use", hint="another tablecloak? choose a port with --port") from None
    return listener
