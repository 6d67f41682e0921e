"""The shell of every page: templates, the rail of steps, the status beside it, errors in words."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import FormData

from tablecloak import __version__
from tablecloak.errors import CloakError
from tablecloak.policy.schema import Policy
from tablecloak.report.html import Html
from tablecloak.report.terminal import show_bytes
from tablecloak.server import charts
from tablecloak.server.services import projects, runs
from tablecloak.server.services.results import is_ready
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.sessions import Sessions
from tablecloak.server.store import Project, Run, Stale
from tablecloak.server.tree_pictures import tree_picture
from tablecloak.server.treemaps import treemap
from tablecloak.server.words import goal_words

__all__ = ["STEPS", "Sent", "back_to", "failed", "project_of", "render", "sent_form", "workshop_of"]

TEMPLATES = Path(__file__).parent.parent / "templates"
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


def workshop_of(request: Request) -> Workshop:
    """The workshop of the server."""
    found: Workshop = request.app.state.workshop
    return found


def sessions_of(request: Request) -> Sessions:
    found: Sessions = request.app.state.sessions
    return found


def project_of(request: Request, project_id: str) -> Project:
    """The project of a page; Unknown becomes a page that says so."""
    return workshop_of(request).store.project(project_id)


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
        given = form.get("csrf") or request.headers.get("x-csrf-token")
        if not sessions_of(request).proves(str(request.state.session), given if isinstance(given, str) else None):
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
    environment.filters["bytes"] = show_bytes
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
        "is_ephemeral": workshop_of(request).settings.is_ephemeral,
        "alert": values.pop("alert", None),
        "shell": None if project is None else shell(workshop_of(request), project, values.pop("run", None)),
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
    light: Mapping[str, Any] | None  # the answer of a check, if it was asked
    run: Run | None  # the newest run that ended well
    is_current: bool  # that run was made with the present policy
    busy: Run | None
    risk: Mapping[str, Any] | None
    n_rows: int | None


def shell(workshop: Workshop, project: Project, shown: Run | None = None) -> Shell:
    """Only what is known already: nothing here waits for a worker."""
    try:
        policy = projects.policy_of(workshop, project)
    except CloakError:
        policy = None
    light = workshop.store.answer(project.id, key_of("check", project.policy))
    every = workshop.store.runs(project.id, "run")
    run = shown or next((r for r in every if r.status == "done"), None)
    busy = next((r for r in every if r.is_open), None)
    before = (run.result or {}).get("before") if run else None
    return Shell(
        dataset_name=workshop.store.dataset(project.dataset).name,
        policy=policy,
        states=_states(policy, light, every, run),
        light=light,
        run=run,
        is_current=run is not None and run.policy == project.policy,
        busy=busy,
        risk=before,
        n_rows=(light or {}).get("rows") or (before or {}).get("records"),
    )


def _states(
    policy: Policy | None, light: Mapping[str, Any] | None, every: list[Run], done: Run | None
) -> dict[str, str]:
    is_bad = light is not None and not light["ok"]
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
    said = error.to_dict()
    items = [*said.get("problems", []), *({"message": r["change"], "hint": None} for r in said.get("relaxations", []))]
    hint = said.get("hint") or (getattr(error, "hint", None))
    return {"kind": "error", "title": said.get("message", str(error)), "message": f"Try: {hint}" if hint else "",
            "items": items if len(items) > 1 else []}  # fmt: skip


def chosen_run(workshop: Workshop, project: Project, wanted: str | None) -> Run | None:
    """The run that a page shows: the one asked for, or the newest that ended well."""
    every = [r for r in workshop.store.runs(project.id, "run") if r.status == "done"]
    return next((r for r in every if r.id == wanted), every[0] if every else None) if every else None


def latest_of(workshop: Workshop, project: Project, task: str) -> Run | None:
    return runs.latest(workshop, project, task, status=None)
