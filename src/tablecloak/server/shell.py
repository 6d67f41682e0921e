"""The shell of every page: templates, the rail of steps, the status beside it, errors in words, a cache of pages."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablecloak import __version__
from tablecloak.errors import CloakError
from tablecloak.policy.schema import Policy
from tablecloak.report.render.markup import Html
from tablecloak.server import charts
from tablecloak.server.forms import goal_words
from tablecloak.server.security import Sessions
from tablecloak.server.state import ServerState
from tablecloak.server.steps.goals import service as goals_service
from tablecloak.server.steps.goals.task import CheckAnswer
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.ready.service import is_ready
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Project, Run, Stale, Unknown
from tablecloak.server.tree_pictures import tree_picture
from tablecloak.server.treemaps import treemap
from tablecloak.values.amounts import show_size

TEMPLATES = Path(__file__).parent / "templates"
STEPS = {
    "load": "Load",
    "roles": "Roles",
    "hierarchies": "Hierarchies",
    "goals": "Goals",
    "run": "Run",
    "compare": "Compare",
    "ready": "Ready?",
    "export": "Export",
}


def state_of(request: Request) -> ServerState:
    """The state of the server."""
    state: ServerState = request.app.state.server
    return state


def sessions_of(request: Request) -> Sessions:
    """The sessions of the running app."""
    sessions: Sessions = request.app.state.sessions
    return sessions


def project_of(request: Request, project_id: str) -> Project:
    """The project of a page; Unknown becomes a page that says so."""
    return state_of(request).store.project(project_id)


@dataclass(frozen=True, slots=True)
class Sent:
    """A form that was sent by one of our pages."""

    form: FormData

    def text(self, name: str, default: str = "") -> str:
        value = self.form.get(name, default)
        return value if isinstance(value, str) else default

    def all(self, name: str) -> list[str]:
        return [v for v in self.form.getlist(name) if isinstance(v, str)]

    def number(self, name: str, default: int = 0) -> int:
        text = self.text(name)
        return int(text) if text.lstrip("-").isdecimal() else default

    @property
    def version(self) -> int:
        return self.number("version")

    @property
    def texts(self) -> dict[str, str]:
        return {name: value for name, value in self.form.items() if isinstance(value, str)}


async def sent_form(request: Request) -> Sent:
    """The form of a request; refused unless it carries the proof of its session."""
    form = await request.form()
    if not request.state.is_bearer:
        proof = form.get("csrf") or request.headers.get("x-csrf-token")
        if not sessions_of(request).proves(str(request.state.session), proof if isinstance(proof, str) else None):
            raise HTTPException(403, "the form is not from this session; reload the page and try again")
    return Sent(form)


SentForm = Depends(sent_form)
# One page at a time: threads that render at once only take the interpreter from each other and from the loop.
_rendering = threading.Lock()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["bytes"] = show_size
    environment.filters["percent"] = lambda share: "–" if share is None else f"{share:.1%}"
    environment.filters["number"] = lambda count: "–" if count is None else f"{count:,}"
    environment.filters["level"] = _level
    environment.filters["place"] = _place
    environment.filters["goals"] = lambda goals: ", ".join(map(goal_words, goals))
    environment.filters["typed"] = _typed
    environment.filters["markup"] = lambda html: Markup(str(html)) if isinstance(html, Html) else html
    environment.globals.update(
        charts=charts, treemap=treemap, tree_picture=tree_picture, product_version=__version__, steps=STEPS
    )
    return environment


def _typed(value: Any) -> str:
    """A parameter as somebody would type it."""
    if isinstance(value, list | tuple) and all(isinstance(v, str) and v.isascii() and '"' not in v for v in value):
        return "[" + ", ".join(value) + "]"
    return "" if value is None or value == {} else value if isinstance(value, str) else json.dumps(value, default=str)


def _place(path: Path) -> str:
    """A path as people write it: their home is ~."""
    home = Path.home()
    return str(Path("~") / path.relative_to(home)) if path.is_relative_to(home) else str(path)


def _level(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def render(
    request: Request, template: str, *, project: Project | None = None, step: str = "", status: int = 200, **values: Any
) -> Response:
    """A page."""
    session = str(request.state.session)
    common = {
        "csrf": sessions_of(request).proof(session),
        "project": project,
        "step": step,
        "path": request.url.path,
        "is_ephemeral": state_of(request).settings.is_ephemeral,
        "alert": values.pop("alert", None),
        "shell": None if project is None else shell(state_of(request), project, values.pop("run", None)),
    }
    with _rendering:
        html = _environment().get_template(template).render(**common, **values)
    return HTMLResponse(html, status_code=status)


@dataclass(frozen=True, slots=True)
class Shell:
    """What surrounds every step of a project."""

    dataset_name: str
    policy: Policy | None
    states: Mapping[str, str]  # done, attention, open or locked, by step
    light: CheckAnswer | None  # if it was checked already
    run: Run | None  # the newest run that ended well
    is_current: bool  # that run was made with the present policy
    busy: Run | None
    risk: Mapping[str, Any] | None
    n_rows: int | None


def shell(state: ServerState, project: Project, shown: Run | None = None) -> Shell:
    """Only what is known already: nothing here waits for a worker."""
    try:
        policy = policy_service.policy_of(state, project)
    except CloakError:
        policy = None
    light = state.stored(goals_service.check_memo(project))
    every = state.store.runs(project.id, "run")
    run = shown or next((r for r in every if r.status == "done"), None)
    busy = next((r for r in every if r.is_open), None)
    before = (run.result or {}).get("before") if run else None
    return Shell(
        dataset_name=state.store.dataset(project.dataset).name,
        policy=policy,
        states=_states(policy, light, every, run),
        light=light,
        run=run,
        is_current=run is not None and run.policy == project.policy,
        busy=busy,
        risk=before,
        n_rows=(light.document.get("rows") if light else None) or (before or {}).get("records"),
    )


def _states(policy: Policy | None, light: CheckAnswer | None, every: list[Run], done: Run | None) -> dict[str, str]:
    is_bad = light is not None and not light.ok
    newest = every[0].status if every else None
    run = "open" if newest is None else "done" if newest == "done" else "busy" if every[0].is_open else "attention"
    return {
        "load": "done",
        "roles": "done" if policy else "attention",
        "hierarchies": "done" if policy else "attention",
        "goals": "attention" if is_bad else "done",
        "run": run,
        "compare": "done" if done else "locked",
        "ready": "locked" if done is None else "done" if is_ready(done) else "attention",
        "export": "done" if done else "locked",
    }


def back_to(project: Project, step: str, query: str = "") -> Response:
    """Go to a step after a form was carried out."""
    return RedirectResponse(f"/projects/{project.id}/{step}{query}", status_code=303)


def failed(error: CloakError | Stale) -> dict[str, Any]:
    """An error as the alert of a page."""
    if isinstance(error, Stale):
        return {
            "kind": "stale",
            "title": "This project was changed in another tab",
            "message": "Your change was not applied. The page shows the project as it is now; try again from there.",
            "items": [],
        }
    document = error.to_dict()
    relaxations = [{"message": r["change"], "hint": None} for r in document.get("relaxations", [])]
    items = [*document.get("problems", []), *relaxations]
    hint = document.get("hint") or (getattr(error, "hint", None))
    return {"kind": "error", "title": document.get("message", str(error)), "message": f"Try: {hint}" if hint else "",
            "items": items if len(items) > 1 else []}  # fmt: skip


def chosen_run(state: ServerState, project: Project, wanted: str | None) -> Run | None:
    """The run that a page shows: the one asked for, or the newest that ended well."""
    every = [r for r in state.store.runs(project.id, "run") if r.status == "done"]
    return next((r for r in every if r.id == wanted), every[0] if every else None) if every else None


def latest_of(state: ServerState, project: Project, task: str) -> Run | None:
    """The last run of a task in a project, whatever became of it."""
    return run_service.latest(state, project, task, status=None)


def run_of(request: Request, project: Project, id_: str) -> Run | None:
    """A run of a project; None if it has none of that name."""
    try:
        run = state_of(request).store.run(id_)
    except Unknown:
        return None
    return run if run.project == project.id else None


Page = Callable[..., Response]


def changed(
    request: Request, project: Project, sent: Sent, edit: policy_service.Change, *, note: str, step: str, page: Page
) -> Response:
    """Carry out an edit of the policy and show the page again, with what went wrong if something did."""
    try:
        project = policy_service.change(state_of(request), project, edit, version=sent.version, note=note)
    except (CloakError, Stale) as error:
        status = 409 if isinstance(error, Stale) else 422
        return page(request, project.id, alert=failed(error), status=status)
    return back_to(project, step, f"?{request.url.query}" if request.url.query else "")


# Steps whose pages show what is stored and no cell; those that show what is told of a run change with every event.
PLAIN = ("load", "roles", "goals", "policy", "run", "ready", "export")
LIVE = ("run",)
LIVE_SECONDS = 0.5  # such a page may be so old: what is told since comes by events
MOST_PAGES = 500
_step = re.compile(rf"/projects/[0-9a-f]+/({'|'.join(PLAIN)})").fullmatch


class PageCache:
    """Answers a page again as long as nothing was written or told since; behind the guard, by session.

    Twenty tabs that wait for a run then cost little more than one.
    """

    def __init__(self, app: ASGIApp, state: ServerState) -> None:
        self._app = app
        self._state = state
        self._generation = -1
        self._pages: dict[tuple[str, str], tuple[tuple[int, int], float, list[Message]]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        step = _step(scope["path"]) if scope["type"] == "http" and scope["method"] == "GET" else None
        if step is None or scope["query_string"]:
            await self._app(scope, receive, send)
            return
        jobs = self._state.jobs
        moment = (jobs.n_events, jobs.n_stops) if step[1] in LIVE else (0, 0)
        key, generation = (scope["path"], str(_asker(scope))), self._refreshed()
        cached = self._pages.get(key)
        is_young = cached is not None and cached[0][1] == moment[1] and time.monotonic() < cached[1]
        if cached is not None and (cached[0] == moment or is_young):
            messages = cached[2]
        else:
            messages = await self._heard(scope, receive)
            if messages and messages[0].get("status") == 200 and generation == self._state.store.generation:
                self._pages[key] = (moment, time.monotonic() + LIVE_SECONDS, messages)
        for message in messages:
            await send(_copied(message))

    def _refreshed(self) -> int:
        """The generation of the store; pages of an earlier one are forgotten."""
        generation = self._state.store.generation
        if generation != self._generation or len(self._pages) > MOST_PAGES:
            self._pages.clear()
            self._generation = generation
        return generation

    async def _heard(self, scope: Scope, receive: Receive) -> list[Message]:
        messages: list[Message] = []

        async def hear(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, hear)
        return messages


def _asker(scope: Scope) -> Any:
    """Whose page it is: forms carry a proof of their session."""
    state = scope.get("state", {})
    return state.get("is_bearer"), state.get("session")


def _copied(message: Message) -> Message:
    """A message of its own: the guard adds headers."""
    return {**message, "headers": list(message["headers"])} if "headers" in message else message
