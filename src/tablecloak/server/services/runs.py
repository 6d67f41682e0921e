"""Runs: from the policy of a project to a release, and what is shown of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak.errors import IncompatibleChoice
from tablecloak.report.html import Html
from tablecloak.report.page import sections
from tablecloak.server.services import projects
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.store import Project, Run, Unknown

__all__ = ["attacked", "begin", "beside", "comparison", "file_of", "latest", "parts_of_report", "rest", "resume"]

DOCUMENTS = ("release", "side", "report", "certificate", "recoding")


def begin(workshop: Workshop, project: Project, task: str = "run") -> Run:
    """Put a run of the present policy in the queue."""
    refusal = projects.refusal(projects.policy_of(workshop, project))  # what is queued can be read and carried out
    if refusal is not None:
        raise refusal
    run = workshop.store.add_run(project, task)
    workshop.jobs.submit(run)
    return run


def resume(workshop: Workshop, run: Run) -> Run:
    """Do a run again that did not end."""
    if not workshop.jobs.resume(run):
        raise IncompatibleChoice(f"a run that is {run.status} cannot be resumed", hint="start a new one")
    return workshop.store.run(run.id)


def rest(workshop: Workshop, id_: str, after: int) -> tuple[list[dict[str, Any]], str | None]:
    """What is stored of a run that nobody works on, from a number on, and how it ended; None: it has not begun."""
    try:
        run = workshop.store.run(id_)
    except Unknown:
        return [], "deleted"
    return ([], None) if run.is_open else (list(run.events or [])[after:], run.status)


def latest(workshop: Workshop, project: Project, task: str = "run", *, status: str | None = "done") -> Run | None:
    """The newest run with a status."""
    return next((r for r in workshop.store.runs(project.id, task) if status in (None, r.status)), None)


def file_of(workshop: Workshop, run: Run, document: str) -> Path:
    """A file of a finished run; Unknown if there is none."""
    keys = {"release": "output", "side": "side_output"}
    name = (run.result or {}).get(keys.get(document, document)) if run.status == "done" else None
    if document not in DOCUMENTS or not name:
        raise Unknown
    path = workshop.files.run(run.project, run.id) / Path(name).name
    if not path.is_file():
        raise Unknown
    return path


def parts_of_report(workshop: Workshop, run: Run) -> dict[str, Html]:
    """The sections of the report by title; empty where there is no report."""
    try:
        path = file_of(workshop, run, "report")
    except Unknown:
        return {}
    return sections(path.read_text(encoding="utf-8"))


def _about(workshop: Workshop, run: Run) -> dict[str, Any]:
    base = str(workshop.files.project(run.project))
    release = str(file_of(workshop, run, "release"))
    return {"policy": run.policy, "base": base, "release": release, **workshop.means}


def beside(workshop: Workshop, run: Run, offset: int, limit: int) -> dict[str, Any]:
    """One page of original and release in step."""
    where = {"offset": offset, "limit": limit, "left_out": run.result["suppressed"]}
    found: dict[str, Any] = workshop.ask("beside", {**_about(workshop, run), **where})
    return found


def comparison(workshop: Workshop, run: Run) -> dict[str, Any]:
    """All metrics and distances of a release."""
    found: dict[str, Any] = workshop.asked(run.project, key_of("compare", run.id), "compare", _about(workshop, run))
    return found


def attacked(workshop: Workshop, run: Run, *, is_wanted: bool = False) -> dict[str, Any] | None:
    """What every attack achieves on a release; None if nobody wanted that yet. It may take a while."""
    key = key_of("attack", run.id)
    found: dict[str, Any] | None = workshop.store.answer(run.project, key)
    if found is None and is_wanted:
        found = workshop.fetch("attack", _about(workshop, run))
        assert found is not None
        workshop.store.keep_answer(run.project, key, found)
    return found


def converted(workshop: Workshop, run: Run, extension: str) -> Path:
    """The release in another format, made and recounted when first asked for."""
    release = file_of(workshop, run, "release")
    if release.suffix == f".{extension}":
        return release
    target = release.with_suffix(f".{extension}")
    if not target.exists():
        workshop.ask("convert", {**_about(workshop, run), "target": str(target)})
    return target
