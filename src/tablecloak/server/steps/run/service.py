"""Runs: from the policy of a project to a release; what was told meanwhile, and the files at the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tablecloak.errors import IncompatibleChoice
from tablecloak.report.blocks import FallingLine, Treemap
from tablecloak.server.forms import goal_words
from tablecloak.server.state import ServerState
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Project, Run, Unknown

DOCUMENTS = ("release", "side", "report", "certificate", "recoding")


def begin(state: ServerState, project: Project, task: str = "run") -> Run:
    """Put a run of the present policy in the queue."""
    # what is queued can be read and carried out
    refusal = policy_service.refusal(policy_service.policy_of(state, project))
    if refusal is not None:
        raise refusal
    run = state.store.add_run(project, task)
    state.jobs.submit(run)
    return run


def resume(state: ServerState, run: Run) -> Run:
    """Do a run again that did not end."""
    if not state.jobs.resume(run):
        raise IncompatibleChoice(f"a run that is {run.status} cannot be resumed", hint="start a new one")
    return state.store.run(run.id)


def rest(state: ServerState, id_: str, after: int) -> tuple[list[dict[str, Any]], str | None]:
    """What is stored of a run that nobody works on, from a number on, and how it ended; None: it has not begun."""
    try:
        run = state.store.run(id_)
    except Unknown:
        return [], "deleted"
    return ([], None) if run.is_open else (list(run.events or [])[after:], run.status)


def latest(state: ServerState, project: Project, task: str = "run", *, status: str | None = "done") -> Run | None:
    """The newest run with a status."""
    return next((r for r in state.store.runs(project.id, task) if status in (None, r.status)), None)


def file_of(state: ServerState, run: Run, document: str) -> Path:
    """A file of a finished run; Unknown if there is none."""
    keys = {"release": "output", "side": "side_output"}
    name = (run.result or {}).get(keys.get(document, document)) if run.status == "done" else None
    if document not in DOCUMENTS or not name:
        raise Unknown
    path = state.files.run(run.project, run.id) / Path(name).name
    if not path.is_file():
        raise Unknown
    return path


@dataclass(frozen=True, slots=True)
class RunPhase:
    """One phase of a run and how far it came."""

    name: str
    total: int | None
    began: float  # seconds since the run began
    done: int = 0
    note: str = ""
    ended: float | None = None

    @property
    def seconds(self) -> float | None:
        return None if self.ended is None else round(self.ended - self.began, 2)

    @property
    def share(self) -> float:
        return 1.0 if self.ended is not None else self.done / self.total if self.total else 0


def phases(state: ServerState, run: Run) -> list[RunPhase]:
    """Phases of a run so far."""
    done: list[RunPhase] = []
    for event in state.jobs.events(run):
        goes_on = bool(done) and done[-1].ended is None and done[-1].name == event.get("phase")
        if event["kind"] == "start" and not goes_on:
            done.append(RunPhase(event["phase"], event["total"], event["at"]))
        elif event["kind"] == "start":
            done[-1] = replace(done[-1], total=event["total"])
        elif event["kind"] == "advance" and done:
            done[-1] = replace(done[-1], done=event["done"])
        elif event["kind"] == "finish" and done:
            done[-1] = replace(done[-1], note=event["note"], ended=event["at"])
    return done


def falling(state: ServerState, run: Run | None) -> FallingLine:
    """The best loss found by each second of a run."""
    events = state.jobs.events(run) if run else []
    points = tuple((e["at"], e["loss"]) for e in events if e["kind"] == "best")
    return FallingLine("The detail lost by the best answer of each second", points)


def groups_of(run: Run | None) -> Treemap | None:
    """The groups of a finished run as areas; what is not listed is one more."""
    if run is None or run.status != "done" or not run.result["groups"]:
        return None
    sizes, n_groups = tuple(run.result["groups"]), run.result["classes"]
    rest = run.result["rows"] - sum(sizes)
    others = f"; the grey one holds the {n_groups - len(sizes):,} smaller groups" if rest > 0 else ""
    return Treemap(f"{n_groups:,} groups, the largest of {max(sizes):,} records{others}", sizes, rest)


def log(state: ServerState, run: Run) -> list[str]:
    """What was told about a run, line by line, with seconds since it began."""
    words: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "state": lambda e: str(e["status"]),
        "start": lambda e: f"{e['phase']} begins" + (f", {e['total']:,} to do" if e["total"] else ""),
        "finish": lambda e: f"ends: {e['note']}" if e["note"] else "ends",
        "best": lambda e: f"best loss so far {e['loss']:.4%}",
        "groups": lambda e: f"{e['groups']:,} groups so far",
        "nodes": lambda e: f"{sum(row[0] + row[1] for row in e['rows']):,} nodes known so far",
        "stopping": lambda _: "asked to publish the best so far",
        "resumed": lambda e: f"goes on after {e['phases']} finished phases",
    }
    events = [e for e in state.jobs.events(run) if e["kind"] in words]
    return [f"{event['at']:9.2f} s  {words[event['kind']](event)}" for event in events]


def is_stopping(state: ServerState, run: Run) -> bool:
    """Whether a run was asked to publish the best it has."""
    return run.is_open and any(e["kind"] == "stopping" for e in state.jobs.events(run))


@dataclass(frozen=True, slots=True)
class NumberedRun:
    """A run with its number in the project, counted from the first."""

    number: int
    run: Run

    @property
    def what(self) -> str:
        """Goals and algorithm in a few words."""
        result = self.run.result
        return f"{', '.join(map(goal_words, result['goals']))} by {result['algorithm']}" if result else ""

    @property
    def risk(self) -> Mapping[str, Any]:
        """The risk that is left, of who knows the quasi-identifiers; empty where it was not counted."""
        return self.run.result.get("after") or {}

    @property
    def address(self) -> str:
        return f"/projects/{self.run.project}/compare?run={self.run.id}"


def history(state: ServerState, project: Project) -> list[NumberedRun]:
    """All runs of a project, newest first."""
    every = state.store.runs(project.id, "run")
    return [NumberedRun(len(every) - i, run) for i, run in enumerate(every)]
