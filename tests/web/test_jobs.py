"""Runs: stopping, resuming, and what happens when several things are done to them at once."""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient
from without_browser import BASE, BEARER, Pages, settings_for

from tablecloak.progress import Cancelled
from tablecloak.server.app import make_app
from tablecloak.server.steps.export import service as export_service
from tablecloak.server.steps.home import service as home_service
from tablecloak.server.steps.home.task import SampleToWrite, write_sample
from tablecloak.server.steps.run import service as run_service
from tablecloak.server.store import Unknown
from tablecloak.server.workers import Worker

pytestmark = pytest.mark.slow
LIMIT_SECONDS = 600


def people(n=300):
    return pl.DataFrame([{"age": 20 + i % 30, "sex": "fm"[i % 2], "ill": "abc"[i % 3]} for i in range(n)])


def project_on(api, frame=None, policy=None):
    content = io.BytesIO((people() if frame is None else frame).write_csv().encode())
    dataset = api.post("/api/v1/datasets", files={"file": ("people.csv", content)}).json()["id"]
    project = api.post("/api/v1/projects", json={"dataset": dataset}).json()
    if policy is None:
        return project
    answer = api.put(f"/api/v1/projects/{project['id']}/policy", json={"policy": policy, "version": 1})
    assert answer.status_code == 200, answer.text
    return answer.json()


def until(condition):
    deadline = time.monotonic() + LIMIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def told(api, run):
    with api.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        lines = "".join(stream.iter_text()).splitlines()
    return [json.loads(line[6:]) for line in lines if line.startswith("data: ")]


def test_stop_publishes_the_best_so_far(app, api, pages):
    """auto would look for long; stopped after its first answer, it publishes one that holds and is as good."""
    random = np.random.default_rng(7)
    frame = pl.DataFrame({name: random.integers(0, 100, 6000) for name in "abcd"})
    text = (
        "version: 1\ninput: people.csv\ncolumns: {a: quasi, b: quasi, c: quasi, d: quasi}\n"
        "goals: [{model: k-anonymity, k: 3}]\nalgorithm: {kind: auto, effort: best}\n"
    )
    project = project_on(api, frame, text)
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    jobs = app.state.server.jobs
    until(lambda: any(e["kind"] == "best" for e in jobs.live_events(run) or []))
    here = f"/projects/{project['id']}"
    page = pages.get(f"{here}/run")
    assert "Stop and keep best" in page.text
    assert "Stopping …" in pages.send(page, f"{here}/run", action="stop", run=run).text
    found = Pages(api).wait(run, LIMIT_SECONDS)
    assert found["status"] == "done", found
    assert found["result"]["holds"] is True
    events = told(api, run)
    assert "stopping" in [e.get("kind") for e in events]
    losses = [e["loss"] for e in events if e.get("kind") == "best"]
    assert losses == sorted(losses, reverse=True)
    assert found["result"]["loss"] <= losses[-1] + 1e-9
    assert "How the search came to it" in pages.get(f"{here}/run").text


KILLED = """
import os, pickle, signal, sys
from tablecloak.engines import run_folder
from tablecloak.progress import silent
from tablecloak.server.steps.run.task import carry_out

finish = run_folder.RunFolder.finish
def finishing(self, phase, **facts):
    finish(self, phase, **facts)
    if phase == "code":
        os.kill(os.getpid(), signal.SIGKILL)
run_folder.RunFolder.finish = finishing
carry_out(pickle.loads(bytes.fromhex(sys.argv[1])), silent)
"""


def test_a_run_that_was_killed_goes_on_where_the_engine_can(tmp_path):
    settings = settings_for(tmp_path, engine="duckdb", memory=1_000_000_000)
    script = {"authorization": f"Bearer {BEARER}"}
    app = make_app(settings)
    with TestClient(app, base_url=BASE, headers=script) as client:
        state = app.state.server
        project = project_on(client)
        whole = Pages(client).wait(client.post(f"/api/v1/projects/{project['id']}/runs").json()["id"], LIMIT_SECONDS)
        assert whole["status"] == "done", whole
        run = state.store.add_run(state.store.project(project["id"]), "run")
        request = state.request_of(run)
        assert request.phases == ()
        killed = subprocess.run([sys.executable, "-c", KILLED, pickle.dumps(request).hex()], check=False)
        assert killed.returncode == -signal.SIGKILL
    app = make_app(settings)
    with TestClient(app, base_url=BASE, headers=script) as client:
        assert client.get(f"/api/v1/runs/{run.id}").json()["status"] == "interrupted"
        page = client.get(f"/projects/{project['id']}/run").text
        assert "Resume goes on after the" in page
        assert client.post(f"/api/v1/runs/{run.id}/resume").status_code == 202
        done = Pages(client).wait(run.id, LIMIT_SECONDS)
        assert done["status"] == "done", done
        assert "resumed" in [e.get("kind") for e in told(client, run.id)]
        first, second = (client.get(f"/api/v1/runs/{r}/release").content for r in (whole["id"], run.id))
        assert first == second


def test_a_run_in_memory_begins_again_and_says_so(app, api, pages):
    project = project_on(api)
    store = app.state.server.store
    run = store.add_run(store.project(project["id"]), "run")
    store.set_status(run.id, "interrupted")
    assert "Resume begins from the start" in pages.get(f"/projects/{project['id']}/run").text


def test_cancel_before_the_work_begins_and_after_it_ended_touches_nothing_else(tmp_path):
    worker = Worker()
    try:
        with pytest.raises(Cancelled):
            worker.ask(write_sample, SampleToWrite(tmp_path), name="a", is_wanted=lambda: False)
        assert not worker.cancel("a")
        assert not worker.stop("a")
    finally:
        worker.close()


def test_a_cancelled_run_that_waits_ends_its_stream(app, api):
    project = project_on(api)
    store = app.state.server.store
    run = store.add_run(store.project(project["id"]), "run")  # as between being stored and being queued
    assert app.state.server.jobs.cancel(run.id)
    assert told(api, run.id) == [{"status": "cancelled"}]


def test_a_stream_of_a_deleted_run_ends(app, api):
    project = project_on(api)
    store = app.state.server.store
    run = store.add_run(store.project(project["id"]), "run")
    heard = []
    stream = threading.Thread(target=lambda: heard.extend(told(api, run.id)))
    stream.start()
    app.state.server.forget_project(store.project(project["id"]))
    stream.join(LIMIT_SECONDS)
    assert not stream.is_alive()
    assert heard in ([{"status": "deleted"}], [{"status": "cancelled"}], [])  # it may be asked for at any moment


def test_nothing_begins_on_what_was_deleted_meanwhile(app, api, folder):
    """Requests that have read a project or dataset, and another that deletes it before they write."""
    state = app.state.server
    opened = project_on(api)
    project = state.store.project(opened["id"])
    dataset = state.store.dataset(project.dataset)
    state.forget_project(project)
    with pytest.raises(Unknown):
        run_service.begin(state, project)
    with pytest.raises(Unknown):
        state.store.add_run(project, "run")
    state.store.keep_answer(project.id, "key", {"a": 1})
    assert state.store.answer(project.id, "key") is None
    with pytest.raises(Unknown):
        state.store.add_project("again", dataset.id, project.policy)
    assert not any((folder / "server/projects").iterdir())
    assert not any((folder / "server/datasets").iterdir())


def test_a_project_whose_dataset_was_deleted_meanwhile_leaves_no_folder(app, api, folder):
    state = app.state.server
    project = state.store.project(project_on(api)["id"])
    dataset = state.store.dataset(project.dataset)
    state.files.forget(state.files.dataset(dataset.id))
    with pytest.raises(Unknown):
        home_service.create(state, dataset)
    assert [path.name for path in (folder / "server/projects").iterdir()] == [project.id]


def test_a_table_that_cannot_become_a_project_is_not_kept(app, pages, folder, monkeypatch):
    def broken(*_given, **_more):
        raise Unknown

    monkeypatch.setattr(home_service, "add", broken)
    file = {"file": ("people.csv", people().write_csv(), "text/csv")}
    assert pages.send(pages.get("/"), "/open/upload", files=file).status_code == 404
    assert app.state.server.store.datasets() == []
    assert not any((folder / "server/datasets").iterdir())


def test_several_tabs_may_save_the_same_files_at_once(app, api):
    state = app.state.server
    project = project_on(api)
    id_ = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    assert Pages(api).wait(id_, LIMIT_SECONDS)["status"] == "done"
    run = state.store.run(id_)
    got = []
    barrier = threading.Barrier(4)

    def save(document):
        barrier.wait(LIMIT_SECONDS)
        got.append(export_service.path_of(state, run, document).read_bytes())

    documents = ("bundle", "bundle", "release.parquet", "release.parquet")
    tabs = [threading.Thread(target=save, args=(document,)) for document in documents]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join(LIMIT_SECONDS)
    assert len(got) == 4
    assert {content[:4] for content in got} == {b"PK\x03\x04", b"PAR1"}
    assert pl.read_parquet(export_service.path_of(state, run, "release.parquet")).height == 300
    left = {path.name for path in state.files.run(run.project, run.id).iterdir()}
    assert not [name for name in left if "partial" in name]


def test_the_ledger_names_every_release_of_a_table(app, api, pages):
    project = project_on(api)
    here = f"/api/v1/projects/{project['id']}"
    ids = []
    for k in (5, 7):
        policy = project["policy"].replace("k: 5", f"k: {k}")
        version = api.get(here).json()["version"]
        assert api.put(f"{here}/policy", json={"policy": policy, "version": version}).status_code == 200
        ids.append(api.post(f"{here}/runs").json()["id"])
        assert Pages(api).wait(ids[-1], LIMIT_SECONDS)["status"] == "done"
    assert f"/runs/{ids[1]}/ledger" in pages.get(f"/projects/{project['id']}/export").text
    text = pages.get(f"/projects/{project['id']}/runs/{ids[0]}/ledger").text
    entries = [json.loads(line) for line in text.splitlines()]
    state = app.state.server
    releases = [export_service.path_of(state, state.store.run(id_), "release").read_bytes() for id_ in ids]
    hashes = [hashlib.sha256(release).hexdigest() for release in releases]
    assert sorted(entry["sha256"]["output"] for entry in entries) == sorted(hashes)
    assert [entry["rows"] for entry in entries] == [300, 300]


def test_pages_from_memory_are_those_of_now(app, api, pages):
    project = project_on(api)
    here, where = f"/projects/{project['id']}", f"/api/v1/projects/{project['id']}/policy"
    first = pages.get(f"{here}/goals").text
    assert pages.get(f"{here}/goals").text == first
    api.put(where, json={"policy": project["policy"].replace("k: 5", "k: 7"), "version": 1})
    assert 'value="7"' in pages.get(f"{here}/goals").text
    other = Pages(TestClient(app, base_url=BASE))
    other.get("/", params={"token": app.state.sessions.new_token()})
    theirs = other.get(f"{here}/goals").text
    assert theirs != pages.get(f"{here}/goals").text  # forms carry the proof of their own session
    app.state.server.store.forget_sessions()
    assert pages.get(f"{here}/goals").status_code == 401
    app.state.server.forget_project(app.state.server.store.project(project["id"]))
    assert api.get(f"{here}/goals").status_code == 404


def test_sets_of_items_beside_quasi_identifiers_are_refused_in_words(pages, api):
    project = project_on(api)
    here = f"/projects/{project['id']}"
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{"role:ill": "items"})
    started = pages.send(pages.get(f"{here}/run"), f"{here}/run", action="start")
    assert started.status_code == 422
    assert "sets of items and quasi-identifiers cannot be protected together" in started.text
    assert api.post(f"/api/v1/projects/{project['id']}/runs").status_code == 422
    assert api.get(f"/api/v1/projects/{project['id']}/runs").json() == []
