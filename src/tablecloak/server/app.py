"""The application: guard, pages, API, and errors in words."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from tablecloak import __version__
from tablecloak.errors import CloakError
from tablecloak.server.api import problems
from tablecloak.server.api import routes as api
from tablecloak.server.files import TooLarge
from tablecloak.server.pages import admin, attacks, hierarchies, home, kinds, lattices, runs, steps
from tablecloak.server.pages.shell import render
from tablecloak.server.remembered import Remembered
from tablecloak.server.security import Guard
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.sessions import Sessions
from tablecloak.server.settings import ServerSettings
from tablecloak.server.store import Stale, Unknown

__all__ = ["make_app"]

STATIC = Path(__file__).parent / "static"
HOUR = 3600
log = logging.getLogger("tablecloak.server")


def make_app(settings: ServerSettings) -> FastAPI:
    """A server's application; its workshop lives as long as it does."""
    workshop = Workshop(settings)
    sessions = Sessions(workshop.store, bearer=settings.bearer, port=settings.port)

    @contextlib.asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        tidying = asyncio.create_task(_tidy(workshop))
        yield
        tidying.cancel()
        await asyncio.to_thread(workshop.close)

    app = FastAPI(
        title="tablecloak",
        version=__version__,
        summary="Share tables about people without exposing anyone.",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.workshop, app.state.sessions = workshop, sessions
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.include_router(api.router)
    for pages in (home, admin, attacks, steps, kinds, hierarchies, lattices, runs):
        app.include_router(pages.router)
    _add_errors(app)
    app.add_middleware(Remembered, workshop=workshop)
    app.add_middleware(Guard, settings=settings, sessions=sessions)
    return app


async def _tidy(workshop: Workshop) -> None:
    """Delete what is older than the retention time, now and every hour."""
    while True:
        await asyncio.to_thread(workshop.forget_old)
        await asyncio.sleep(HOUR)


def _add_errors(app: FastAPI) -> None:
    for kind in (CloakError, Stale, Unknown, TooLarge, HTTPException, RequestValidationError, Exception):
        app.add_exception_handler(kind, _explain)


def _explain(request: Request, error: Exception) -> Response:
    """An error for whoever asked: problem+json for programs, a page for people."""
    problem = problems.problem_of(error)
    if problem["status"] >= 500:  # the text of a bug might hold a cell: only its type and place are logged
        log.error("%s %s failed: %s", request.method, _route(request), problems.place_of(error))
    if request.url.path.startswith("/api/"):
        return JSONResponse(problem, problem["status"], media_type="application/problem+json")
    headline = {404: "There is nothing here", 403: "Not this way"}.get(problem["status"], "That did not work")
    return render(request, "error.html", status=problem["status"], headline=headline, problem=problem)


def _route(request: Request) -> str:
    """The route as it is declared: paths hold names that people chose."""
    route = request.scope.get("route")
    return str(getattr(route, "path", "?"))
