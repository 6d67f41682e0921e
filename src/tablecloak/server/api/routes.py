"""The REST API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, File, Header, Query, Request, UploadFile
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from tablecloak.policy.load import json_schema
from tablecloak.server.api.bodies import (
    PROBLEMS,
    Check,
    DatasetOut,
    FetchFile,
    NewPolicy,
    NewProject,
    NewRun,
    OpenSource,
    ProjectOut,
    RecordOut,
    RunOut,
    Verified,
)
from tablecloak.server.services import checks, datasets, exports, kinds, projects, records, runs
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Dataset, Project, Run, Unknown

__all__ = ["router"]

router = APIRouter(prefix="/api/v1", responses=PROBLEMS)
POLL_SECONDS = 0.2


def _workshop(request: Request) -> Workshop:
    found: Workshop = request.app.state.workshop
    return found


At = Annotated[Workshop, Depends(_workshop)]


def _project(project_id: str, workshop: At) -> Project:
    return workshop.store.project(project_id)


def _run(run_id: str, workshop: At) -> Run:
    return workshop.store.run(run_id)


AProject = Annotated[Project, Depends(_project)]
ARun = Annotated[Run, Depends(_run)]


@router.get("/projects", tags=["projects"])
def list_projects(workshop: At) -> list[ProjectOut]:
    """All projects, the last touched first."""
    return [ProjectOut.of(p) for p in workshop.store.projects()]


@router.post("/projects", status_code=201, tags=["projects"])
def create_project(body: NewProject, workshop: At) -> ProjectOut:
    """A project on a dataset, with a suggested policy; `sample` brings made-up patients, `sample-of-sets` baskets."""
    if body.dataset in ("sample", "sample-of-sets"):
        return ProjectOut.of(projects.create_sample(workshop, of_sets=body.dataset != "sample"))
    dataset = workshop.store.dataset(body.dataset)
    return ProjectOut.of(kinds.create(workshop, dataset, body.kind, name=body.name, preset=body.preset))


@router.get("/projects/{project_id}", tags=["projects"])
def get_project(project: AProject) -> ProjectOut:
    """A project with its policy."""
    return ProjectOut.of(project)


@router.delete("/projects/{project_id}", status_code=204, tags=["projects"])
def delete_project(project: AProject, workshop: At) -> None:
    """Delete a project and all its files now."""
    workshop.forget_project(project)


@router.get("/projects/{project_id}/policy", tags=["projects"], response_class=PlainTextResponse)
def get_policy(project: AProject) -> Response:
    """The policy as YAML; the version is in the header ETag."""
    return PlainTextResponse(project.policy, headers={"etag": f'"{project.version}"'})


@router.put("/projects/{project_id}/policy", tags=["projects"])
def put_policy(project: AProject, body: NewPolicy, workshop: At) -> ProjectOut:
    """Replace the policy. 422 names every problem with its line and column; 409: the version is not the present one."""
    return ProjectOut.of(projects.write(workshop, project, body.policy, version=body.version))


@router.post("/projects/{project_id}/check", tags=["projects"])
def check_project(project: AProject, workshop: At) -> Check:
    """Whether the goals can be reached; runs nothing."""
    return Check.model_validate(projects.check(workshop, project))


@router.post("/projects/{project_id}/runs", status_code=202, tags=["runs"])
def create_run(project: AProject, workshop: At, response: Response, body: NewRun | None = None) -> RunOut:
    """Put a run of the present policy in the queue."""
    run = runs.begin(workshop, project, body.task if body else "run")
    response.headers["location"] = f"/api/v1/runs/{run.id}"
    return RunOut.of(run)


@router.get("/projects/{project_id}/runs", tags=["runs"])
def list_runs(project: AProject, workshop: At) -> list[RunOut]:
    """All runs of a project, newest first."""
    return [RunOut.of(r) for r in workshop.store.runs(project.id)]


@router.post("/datasets", status_code=201, tags=["datasets"])
def upload_dataset(
    file: Annotated[UploadFile, File(description="CSV, Parquet, Excel, ..")], workshop: At
) -> DatasetOut:
    """Upload a table."""
    return DatasetOut.of(datasets.receive(workshop, file.file, file.filename or "data.csv"))


@router.post("/datasets/open", status_code=201, tags=["datasets"])
def open_dataset(body: OpenSource, workshop: At) -> DatasetOut:
    """A copy of a file on this machine, of `sqlite:///FILE#TABLE`, or of a table of a PostgreSQL server.

    Passwords are named, never sent: `password=env:NAME` or `password=file:PATH`, as the server finds them.
    """
    return DatasetOut.of(datasets.open_source(workshop, body.source))


@router.get("/records", tags=["datasets"])
def look_at_record(
    record: Annotated[str, Query(max_length=2000, description="address of a record, or its DOI")],
    workshop: At,
    token: Annotated[str | None, Query(max_length=1000, description="where a token is")] = None,
) -> RecordOut:
    """Files of a record on Zenodo or a Dataverse server, where the server was started with `--internet`."""
    return RecordOut.model_validate(records.look(workshop, record, token).to_dict())


@router.post("/datasets/fetch", status_code=201, tags=["datasets"])
def fetch_dataset(body: FetchFile, workshop: At) -> DatasetOut:
    """A copy of a file of a record."""
    return DatasetOut.of(records.fetch(workshop, body.record, body.file, body.token))


@router.get("/datasets", tags=["datasets"])
def list_datasets(workshop: At) -> list[DatasetOut]:
    """All datasets."""
    return [DatasetOut.of(d) for d in workshop.store.datasets()]


def _dataset(dataset_id: str, workshop: At) -> Dataset:
    return workshop.store.dataset(dataset_id)


@router.get("/datasets/{dataset_id}/profile", tags=["datasets"])
def profile(dataset: Annotated[Dataset, Depends(_dataset)], workshop: At) -> dict[str, Any]:
    """Columns, types, suggested roles with reasons, risk; no cell."""
    return datasets.profile_of(workshop, dataset)


@router.get("/runs/{run_id}", tags=["runs"])
def get_run(run: ARun) -> RunOut:
    """A run and what became of it."""
    return RunOut.of(run)


@router.delete("/runs/{run_id}", status_code=202, tags=["runs"])
def cancel_run(run: ARun, workshop: At) -> RunOut:
    """Cancel a run that waits or works; one that has ended stays as it is."""
    workshop.jobs.cancel(run.id)
    return RunOut.of(workshop.store.run(run.id))


@router.post("/runs/{run_id}/resume", status_code=202, tags=["runs"])
def resume_run(run: ARun, workshop: At) -> RunOut:
    """Do a run again that was interrupted, cancelled or failed."""
    return RunOut.of(runs.resume(workshop, run))


@router.post("/runs/{run_id}/stop", status_code=202, tags=["runs"])
def stop_run(run: ARun, workshop: At) -> RunOut:
    """Ask a run to publish the best it has found so far."""
    workshop.jobs.stop(run.id)
    return RunOut.of(workshop.store.run(run.id))


@router.get("/runs/{run_id}/events", tags=["runs"], response_class=EventSourceResponse)
async def events(
    run: ARun,
    workshop: At,
    request: Request,
    after: Annotated[int, Query(ge=0, description="number of the first event wanted")] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> AsyncIterator[ServerSentEvent]:
    """What the run does, as it happens; ends when the run ends."""
    seen = int(last_event_id) + 1 if last_event_id and last_event_id.isdecimal() else after
    while not await request.is_disconnected():
        told = workshop.jobs.told(run.id, seen)
        rest, status = await asyncio.to_thread(runs.rest, workshop, run.id, seen) if told is None else (told, None)
        for event in rest:
            seen = event["seq"] + 1
            yield ServerSentEvent(data=event, event="progress", id=str(event["seq"]))
        if status is not None:
            yield ServerSentEvent(data={"status": status}, event="end", id=str(seen))
            return
        await asyncio.sleep(POLL_SECONDS)


def _file(path: Path) -> Response:
    return FileResponse(path, filename=path.name, headers={"content-security-policy": "default-src 'none'; sandbox"})


@router.get("/runs/{run_id}/report", tags=["runs"], response_class=FileResponse)
def report(run: ARun, workshop: At) -> Response:
    """The report, one HTML page."""
    return _file(runs.file_of(workshop, run, "report"))


@router.get("/runs/{run_id}/release", tags=["runs"], response_class=FileResponse)
def release(
    run: ARun,
    workshop: At,
    format: Annotated[str | None, Query(description="csv, tsv, parquet, jsonl, arrow or xlsx")] = None,  # noqa: A002
) -> Response:
    """The release, as it was written or in another format."""
    own = runs.file_of(workshop, run, "release")
    is_other = format is not None and own.suffix != f".{format}"
    return _file(exports.path_of(workshop, run, f"release.{format}") if is_other else own)


@router.get("/runs/{run_id}/recoding", tags=["runs"], response_class=FileResponse)
def recoding(run: ARun, workshop: At) -> Response:
    """The recoding, which publishes new rows in the same way."""
    return _file(runs.file_of(workshop, run, "recoding"))


@router.get("/runs/{run_id}/certificate", tags=["runs"], response_class=FileResponse)
def certificate(run: ARun, workshop: At) -> Response:
    """The certificate: what holds, for exactly which bytes."""
    return _file(runs.file_of(workshop, run, "certificate"))


@router.get("/runs/{run_id}/lattice", tags=["runs"])
def lattice(run: ARun) -> dict[str, Any]:
    """The searched lattice of a finished run of the task `lattice`."""
    if run.task != "lattice" or run.status != "done":
        raise Unknown
    found: dict[str, Any] = run.result
    return found


@router.post("/verify", tags=["verify"])
def verify(
    release: Annotated[UploadFile, File(description="a finished table, whoever made it")],
    policy: Annotated[UploadFile, File(description="the policy whose goals must hold")],
    workshop: At,
    original: Annotated[UploadFile | None, File(description="the table it was made from, to compare cells")] = None,
) -> Verified:
    """Recount a finished table against a policy, and hold its cells against the original; nothing is kept."""
    tables = [(t.file, t.filename or "") for t in (release, original) if t is not None]
    return Verified.model_validate(checks.verify_upload(workshop, tables, policy.file))


@router.get("/schema/policy", tags=["policy"])
def schema() -> JSONResponse:
    """JSON Schema of policies, with everything that is installed."""
    return JSONResponse(json_schema())
