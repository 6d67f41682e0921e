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
from tablecloak.server.api import bodies
from tablecloak.server.shell import state_of
from tablecloak.server.state import ServerState
from tablecloak.server.steps.export import service as export_service
from tablecloak.server.steps.goals import service as goals_service
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Dataset, Project, Run, Unknown

router = APIRouter(prefix="/api/v1", responses=bodies.PROBLEMS)
POLL_SECONDS = 0.2


At = Annotated[ServerState, Depends(state_of)]


def _project(project_id: str, state: At) -> Project:
    return state.store.project(project_id)


def _run(run_id: str, state: At) -> Run:
    return state.store.run(run_id)


AProject = Annotated[Project, Depends(_project)]
ARun = Annotated[Run, Depends(_run)]


@router.get("/projects", tags=["projects"])
def list_projects(state: At) -> list[bodies.ProjectOut]:
    """All projects, the last touched first."""
    return [bodies.ProjectOut.model_validate(p) for p in state.store.projects()]


@router.post("/projects", status_code=201, tags=["projects"])
def create_project(body: bodies.NewProject, state: At) -> bodies.ProjectOut:
    """A project on a dataset, with a suggested policy; `sample` brings made-up patients, `sample-of-sets` baskets."""
    if body.dataset in ("sample", "sample-of-sets"):
        return bodies.ProjectOut.model_validate(home_service.create_sample(state, of_sets=body.dataset != "sample"))
    dataset = state.store.dataset(body.dataset)
    return bodies.ProjectOut.model_validate(
        home_service.create(state, dataset, body.kind, name=body.name, preset=body.preset)
    )


@router.get("/projects/{project_id}", tags=["projects"])
def get_project(project: AProject) -> bodies.ProjectOut:
    """A project with its policy."""
    return bodies.ProjectOut.model_validate(project)


@router.delete("/projects/{project_id}", status_code=204, tags=["projects"])
def delete_project(project: AProject, state: At) -> None:
    """Delete a project and all its files now."""
    state.forget_project(project)


@router.get("/projects/{project_id}/policy", tags=["projects"], response_class=PlainTextResponse)
def get_policy(project: AProject) -> Response:
    """The policy as YAML; the version is in the header ETag."""
    return PlainTextResponse(project.policy, headers={"etag": f'"{project.version}"'})


@router.put("/projects/{project_id}/policy", tags=["projects"])
def put_policy(project: AProject, body: bodies.NewPolicy, state: At) -> bodies.ProjectOut:
    """Replace the policy. 422 names every problem with its line and column; 409: the version is not the present one."""
    return bodies.ProjectOut.model_validate(policy_service.write(state, project, body.policy, version=body.version))


@router.post("/projects/{project_id}/check", tags=["projects"])
def check_project(project: AProject, state: At) -> bodies.CheckOut:
    """Whether the goals can be reached; runs nothing."""
    return bodies.CheckOut.model_validate(goals_service.check(state, project).to_dict())


@router.post("/projects/{project_id}/runs", status_code=202, tags=["runs"])
def create_run(project: AProject, state: At, response: Response, body: bodies.NewRun | None = None) -> bodies.RunOut:
    """Put a run of the present policy in the queue."""
    run = run_service.begin(state, project, body.task if body else "run")
    response.headers["location"] = f"/api/v1/runs/{run.id}"
    return bodies.RunOut.model_validate(run)


@router.get("/projects/{project_id}/runs", tags=["runs"])
def list_runs(project: AProject, state: At) -> list[bodies.RunOut]:
    """All runs of a project, newest first."""
    return [bodies.RunOut.model_validate(r) for r in state.store.runs(project.id)]


@router.post("/datasets", status_code=201, tags=["datasets"])
def upload_dataset(
    file: Annotated[UploadFile, File(description="CSV, Parquet, Excel, ..")], state: At
) -> bodies.DatasetOut:
    """Upload a table."""
    return bodies.DatasetOut.model_validate(home_service.receive(state, file.file, file.filename or "data.csv"))


@router.post("/datasets/open", status_code=201, tags=["datasets"])
def open_dataset(body: bodies.OpenSource, state: At) -> bodies.DatasetOut:
    """A copy of a file on this machine, of `sqlite:///FILE#TABLE`, or of a table of a PostgreSQL server.

    Passwords are named, never sent: `password=env:NAME` or `password=file:PATH`, as the server finds them.
    """
    return bodies.DatasetOut.model_validate(home_service.open_source(state, body.source))


@router.get("/records", tags=["datasets"])
def look_at_record(
    record: Annotated[str, Query(max_length=2000, description="address of a record, or its DOI")],
    state: At,
    token: Annotated[str | None, Query(max_length=1000, description="where a token is")] = None,
) -> bodies.RecordOut:
    """Files of a record on Zenodo or a Dataverse server, where the server was started with `--internet`."""
    return bodies.RecordOut.model_validate(home_service.look_at_record(state, record, token).to_dict())


@router.post("/datasets/fetch", status_code=201, tags=["datasets"])
def fetch_dataset(body: bodies.FetchFile, state: At) -> bodies.DatasetOut:
    """A copy of a file of a record."""
    return bodies.DatasetOut.model_validate(home_service.fetch_record(state, body.record, body.file, body.token))


@router.get("/datasets", tags=["datasets"])
def list_datasets(state: At) -> list[bodies.DatasetOut]:
    """All datasets."""
    return [bodies.DatasetOut.model_validate(d) for d in state.store.datasets()]


def _dataset(dataset_id: str, state: At) -> Dataset:
    return state.store.dataset(dataset_id)


@router.get("/datasets/{dataset_id}/profile", tags=["datasets"])
def profile(dataset: Annotated[Dataset, Depends(_dataset)], state: At) -> dict[str, Any]:
    """Columns, types, suggested roles with reasons, risk; no cell."""
    return load_service.dataset_profile(state, dataset).to_dict()


@router.get("/runs/{run_id}", tags=["runs"])
def get_run(run: ARun) -> bodies.RunOut:
    """A run and what became of it."""
    return bodies.RunOut.model_validate(run)


@router.delete("/runs/{run_id}", status_code=202, tags=["runs"])
def cancel_run(run: ARun, state: At) -> bodies.RunOut:
    """Cancel a run that waits or works; one that has ended stays as it is."""
    state.jobs.cancel(run.id)
    return bodies.RunOut.model_validate(state.store.run(run.id))


@router.post("/runs/{run_id}/resume", status_code=202, tags=["runs"])
def resume_run(run: ARun, state: At) -> bodies.RunOut:
    """Do a run again that was interrupted, cancelled or failed."""
    return bodies.RunOut.model_validate(run_service.resume(state, run))


@router.post("/runs/{run_id}/stop", status_code=202, tags=["runs"])
def stop_run(run: ARun, state: At) -> bodies.RunOut:
    """Ask a run to publish the best it has found so far."""
    state.jobs.stop(run.id)
    return bodies.RunOut.model_validate(state.store.run(run.id))


@router.get("/runs/{run_id}/events", tags=["runs"], response_class=EventSourceResponse)
async def events(
    run: ARun,
    state: At,
    request: Request,
    after: Annotated[int, Query(ge=0, description="number of the first event wanted")] = 0,
    last_event_id: Annotated[str | None, Header()] = None,
) -> AsyncIterator[ServerSentEvent]:
    """What the run does, as it happens; ends when the run ends."""
    first = int(last_event_id) + 1 if last_event_id and last_event_id.isdecimal() else after
    while not await request.is_disconnected():
        live = state.jobs.live_events(run.id, first)
        rest, status = await asyncio.to_thread(run_service.rest, state, run.id, first) if live is None else (live, None)
        for event in rest:
            first = event["seq"] + 1
            yield ServerSentEvent(data=event, event="progress", id=str(event["seq"]))
        if status is not None:
            yield ServerSentEvent(data={"status": status}, event="end", id=str(first))
            return
        await asyncio.sleep(POLL_SECONDS)


def _file(path: Path) -> Response:
    return FileResponse(path, filename=path.name, headers={"content-security-policy": "default-src 'none'; sandbox"})


@router.get("/runs/{run_id}/report", tags=["runs"], response_class=FileResponse)
def report(run: ARun, state: At) -> Response:
    """The report, one HTML page."""
    return _file(run_service.file_of(state, run, "report"))


@router.get("/runs/{run_id}/release", tags=["runs"], response_class=FileResponse)
def release(
    run: ARun,
    state: At,
    format: Annotated[str | None, Query(description="csv, tsv, parquet, jsonl, arrow or xlsx")] = None,  # noqa: A002
) -> Response:
    """The release, as it was written or in another format."""
    own = run_service.file_of(state, run, "release")
    is_other = format is not None and own.suffix != f".{format}"
    return _file(export_service.path_of(state, run, f"release.{format}") if is_other else own)


@router.get("/runs/{run_id}/recoding", tags=["runs"], response_class=FileResponse)
def recoding(run: ARun, state: At) -> Response:
    """The recoding, which publishes new rows in the same way."""
    return _file(run_service.file_of(state, run, "recoding"))


@router.get("/runs/{run_id}/certificate", tags=["runs"], response_class=FileResponse)
def certificate(run: ARun, state: At) -> Response:
    """The certificate: what holds, for exactly which bytes."""
    return _file(run_service.file_of(state, run, "certificate"))


@router.get("/runs/{run_id}/lattice", tags=["runs"])
def lattice(run: ARun) -> dict[str, Any]:
    """The searched lattice of a finished run of the task `lattice`."""
    if run.task != "lattice" or run.status != "done":
        raise Unknown
    view: dict[str, Any] = run.result
    return view


@router.post("/verify", tags=["verify"])
def verify(
    release: Annotated[UploadFile, File(description="a finished table, whoever made it")],
    policy: Annotated[UploadFile, File(description="the policy whose goals must hold")],
    state: At,
    original: Annotated[UploadFile | None, File(description="the table it was made from, to compare cells")] = None,
) -> bodies.Verified:
    """Recount a finished table against a policy, and hold its cells against the original; nothing is kept."""
    tables = [(t.file, t.filename or "") for t in (release, original) if t is not None]
    return bodies.Verified.model_validate(export_service.verify_upload(state, tables, policy.file).document)


@router.get("/schema/policy", tags=["policy"])
def schema() -> JSONResponse:
    """JSON Schema of policies, with everything that is installed."""
    return JSONResponse(json_schema())
