"""The shell of every page: templates, the rail of steps, the status beside it, errors in words, a cache of pages."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Self, TypeAlias

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData, UploadFile
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tablecloak import __version__
from tablecloak.errors import CloakError, DataError
from tablecloak.policy.schema import Policy
from tablecloak.report.blocks import Meter, Sparkline
from tablecloak.report.render.html import part
from tablecloak.report.render.svg import draw
from tablecloak.server.forms import goal_words
from tablecloak.server.security import Sessions
from tablecloak.server.state import ServerState
from tablecloak.server.steps.goals import service as goals_service
from tablecloak.server.steps.goals.task import CheckAnswer
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.ready.service import is_ready
from tablecloak.server.store import Project, Run, Stale, TooLarge, Unknown
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
OF_RUN = ("compare", "ready", "export")  # steps that show a finished run
# What a check does, by the names of its phases.
DOING = {
    "read": "reading the table",
    "code": "counting values",
    "compile": "getting ready to search",
    "solve": "searching",
    "refine": "searching for less loss",
    "search boxes": "searching for less loss",
    "findings": "looking for what singles people out",
    "recode": "making values coarser",
    "verify": "counting the result",
}


def state_of(request: Request) -> ServerState:
    """The state of the server."""
    state: ServerState = request.app.state.server
    return state


def sessions_of(request: Request) -> Sessions:
    """The sessions of the running app."""
    sessions: Sessions = request.app.state.sessions
    return sessions


@dataclass(frozen=True, slots=True)
class AlertItem:
    """One of several things that went wrong, or one way out."""

    message: str
    hint: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True)
class PageAlert:
    """What a page says first: why what somebody wanted was not done."""

    kind: str  # error or stale
    title: str
    message: str = ""
    items: tuple[AlertItem, ...] = ()


Refusal: TypeAlias = CloakError | Stale | TooLarge


@dataclass(frozen=True, kw_only=True)
class Visit:
    """Somebody at a page, and what went wrong with the form that led there."""

    request: Request
    alert: PageAlert | None = None
    status: int = 200

    @property
    def state(self) -> ServerState:
        return state_of(self.request)

    def warned(self, error: Refusal) -> Self:
        """The same page with an alert, unless it has one."""
        return self if self.alert else replace(self, alert=_alert_of(error))

    def refused(self, error: Refusal) -> Self:
        """The page as it is after a form was refused."""
        status = 409 if isinstance(error, Stale) else 413 if isinstance(error, TooLarge) else 422
        return replace(self, alert=_alert_of(error), status=status)


@dataclass(frozen=True, kw_only=True)
class ProjectVisit(Visit):
    """Somebody at a page of a project."""

    project: Project

    def refused(self, error: Refusal) -> Self:
        now = self.state.store.project(self.project.id)  # somebody else may have changed it meanwhile
        return replace(super().refused(error), project=now)

    def run(self, id_: str) -> Run | None:
        """A run of the project; None if it has none of that name."""
        try:
            run = self.state.store.run(id_)
        except Unknown:
            return None
        return run if run.project == self.project.id else None

    def chosen_run(self, wanted: str | None) -> Run | None:
        """The run that a page shows: the one asked for, or the newest that ended well."""
        done = [run for run in self.state.store.runs(self.project.id, "run") if run.status == "done"]
        return next((run for run in done if run.id == wanted), done[0] if done else None)


def _visit(request: Request) -> Visit:
    return Visit(request=request)


def _project_visit(request: Request, project_id: str) -> ProjectVisit:
    return ProjectVisit(request=request, project=state_of(request).store.project(project_id))


At = Annotated[Visit, Depends(_visit)]
AtProject = Annotated[ProjectVisit, Depends(_project_visit)]


def _alert_of(error: Refusal) -> PageAlert:
    """An error in words."""
    if isinstance(error, Stale):
        message = "Your change was not applied. The page shows the project as it is now; try again from there."
        return PageAlert("stale", "This project was changed in another tab", message)
    if isinstance(error, TooLarge):
        return PageAlert("error", f"the file is larger than {error.limit:,} bytes")
    document = error.to_dict()
    problems = [AlertItem(p["message"], p.get("hint"), p.get("location")) for p in document.get("problems", [])]
    items = (*problems, *(AlertItem(r["change"]) for r in document.get("relaxations", [])))
    hint = document.get("hint") or error.hint
    title = document.get("message", str(error))
    return PageAlert("error", title, f"Try: {hint}" if hint else "", items if len(items) > 1 else ())


@dataclass(frozen=True, slots=True)
class Sent:
    """A form that was sent by one of our pages."""

    form: FormData

    def text(self, name: str, default: str = "") -> str:
        value = self.form.get(name, default)
        return value if isinstance(value, str) else default

    def all(self, name: str) -> list[str]:
        return [v for v in self.form.getlist(name) if isinstance(v, str)]

    def file(self, hint: str) -> tuple[BinaryIO, str]:
        """The file that was sent and its name.

        Raises: DataError if none was chosen.
        """
        file = self.form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise DataError("no file was chosen", hint=hint)
        return file.file, file.filename

    def files(self, hint: str) -> list[tuple[BinaryIO, str]]:
        """All files that were sent, with their names.

        Raises: DataError if none was chosen.
        """
        files = [f for f in self.form.getlist("file") if isinstance(f, UploadFile) and f.filename]
        if not files:
            raise DataError("no file was chosen", hint=hint)
        return [(f.file, str(f.filename)) for f in files]

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


SentForm = Annotated[Sent, Depends(sent_form)]
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
    environment.filters["markup"] = Markup
    environment.filters["drawn"] = lambda chart: Markup(draw(chart))
    environment.filters["shown"] = lambda blocks: Markup(part(blocks))
    environment.globals.update(product_version=__version__, steps=STEPS, doing=DOING, Meter=Meter, Sparkline=Sparkline)
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


def render(at: Visit, template: str, *, step: str = "", run: Run | None = None, **values: Any) -> Response:
    """A page; `run` is the one that its status is about, unless it is the newest."""
    project = at.project if isinstance(at, ProjectVisit) else None
    shown = None if project is None else shell(at.state, project, run, step)
    common = {
        "csrf": sessions_of(at.request).proof(str(at.request.state.session)),
        "project": project,
        "step": step,
        "path": at.request.url.path,
        "query": at.request.url.query if at.request.method == "GET" else "",
        "is_ephemeral": at.state.settings.is_ephemeral,
        "alert": at.alert,
        "shell": shown,
    }
    with _rendering:
        html = _environment().get_template(template).render(**common, **values)
    return HTMLResponse(html, status_code=at.status)


Page = Callable[..., Response]


def tried(at: Visit, do: Callable[[], Project], page: Page, then: str, query: str = "", **shown: Any) -> Response:
    """Do what a form asks for and go on to a step of the project; where it is refused, a page says why.

    Args:
        page: shows where the form was sent from, with `shown` as its arguments.
        then: the step that comes next, with a query.
    """
    try:
        project = do()
    except (CloakError, Stale, TooLarge) as error:
        return page(at.refused(error), **shown)
    return back_to(project, then, query)


def tried_edit(
    at: ProjectVisit, sent: Sent, edit: Callable[[], tuple[policy_service.Change, str]], page: Page, then: str
) -> Response:
    """The same for an edit of the policy and what it is called in the history; the address keeps its query."""

    def do() -> Project:
        change, note = edit()
        return policy_service.change(at.state, at.project, change, version=sent.version, note=note)

    return tried(at, do, page, then, f"?{at.request.url.query}" if at.request.url.query else "")


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


def shell(state: ServerState, project: Project, shown: Run | None = None, step: str = "") -> Shell:
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
    if step in STEPS:
        state.store.look_at(project.id, _look(step, run))
    return Shell(
        dataset_name=state.store.dataset(project.dataset).name,
        policy=policy,
        states=_states(policy, light, every, run, state.store.looks(project.id)),
        light=light,
        run=run,
        is_current=run is not None and run.policy == project.policy,
        busy=busy,
        risk=before,
        n_rows=(light.document.get("rows") if light else None) or (before or {}).get("records"),
    )


def _look(step: str, run: Run | None) -> str:
    """What is remembered of somebody who looks at a step; those about a run count for that run."""
    return f"{step} {run.id}" if step in OF_RUN and run is not None else step


def _states(
    policy: Policy | None, light: CheckAnswer | None, every: list[Run], done: Run | None, looks: set[str]
) -> dict[str, str]:
    """The states of all steps; a tick means that somebody looked at the step, and that what it says is valid."""
    newest = every[0].status if every else None
    run = "open" if newest is None else "done" if newest == "done" else "busy" if every[0].is_open else "attention"
    goals = "open" if light is None else "done" if light.ok else "attention"
    states = {"load": "done", "roles": "done" if policy else "attention", "hierarchies": "done", "goals": goals}
    if done is None:
        states |= dict.fromkeys(OF_RUN, "locked")
    else:
        states |= {"compare": "done", "ready": "done" if is_ready(done) else "attention", "export": "done"}
    is_unseen = {step for step, state in states.items() if state == "done" and _look(step, done) not in looks}
    return {step: "open" if step in is_unseen else state for step, state in {**states, "run": run}.items()}


def back_to(project: Project, step: str, query: str = "") -> Response:
    """Go to a step after a form was carried out."""
    return RedirectResponse(f"/projects/{project.id}/{step}{query}", status_code=303)


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
