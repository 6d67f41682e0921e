"""The REST API: what it promises, and what it does when two write at once or workers die."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import time

import polars as pl
import pytest
from starlette.testclient import TestClient
from without_browser import BASE, BEARER, Pages, settings_for

from tablecloak.server.app import make_app
from tablecloak.server.store import Run

pytestmark = pytest.mark.slow


def people(n=300):
    rows = [{"age": 20 + i % 30, "sex": "fm"[i % 2], "ill": "abc"[i % 3]} for i in range(n)]
    return pl.DataFrame(rows)


def project_on(api, frame=None):
    content = io.BytesIO((people() if frame is None else frame).write_csv().encode())
    dataset = api.post("/api/v1/datasets", files={"file": ("people.csv", content)}).json()["id"]
    return api.post("/api/v1/projects", json={"dataset": dataset}).json()


def ended(api, run):
    return Pages(api).wait(run)


def test_a_run_by_the_api_gives_what_the_command_line_gives(api, tmp_path):
    project = project_on(api)
    assert api.post(f"/api/v1/projects/{project['id']}/check").json()["feasible"] is True
    answer = api.post(f"/api/v1/projects/{project['id']}/runs")
    assert answer.status_code == 202
    run = answer.json()["id"]
    assert answer.headers["location"] == f"/api/v1/runs/{run}"
    assert ended(api, run)["status"] == "done"
    release = api.get(f"/api/v1/runs/{run}/release")
    assert release.headers["content-disposition"].startswith("attachment")
    assert pl.read_csv(release.content).group_by("age", "sex").len()["len"].min() >= 5
    as_parquet = pl.read_parquet(api.get(f"/api/v1/runs/{run}/release?format=parquet").content)
    assert as_parquet.height == 300
    certificate = api.get(f"/api/v1/runs/{run}/certificate").json()
    assert certificate["holds"] is True
    assert b"<!doctype html>" in api.get(f"/api/v1/runs/{run}/report").content
    assert api.get(f"/api/v1/runs/{run}/recoding").json()

    verified = api.post("/api/v1/verify", files={"release": ("r.csv", release.content), "policy": project["policy"]})
    assert verified.json()["holds"] is True
    original = people().write_csv()
    refused = api.post("/api/v1/verify", files={"release": ("r.csv", original), "policy": project["policy"]})
    # 300 records over 30 ages, of which each has one sex: ten records look alike
    assert refused.json()["verdicts"][0]["achieved"] == 10
    files = {"release": ("r.csv", release.content), "policy": project["policy"], "original": ("o.csv", original)}
    beside = api.post("/api/v1/verify", files=files).json()
    assert (beside["holds"], beside["covers"]) == (True, True)
    changed = people().with_columns(age=99).write_csv()
    beside = api.post("/api/v1/verify", files=files | {"original": ("o.csv", changed)}).json()
    assert (beside["holds"], beside["covers"]) == (False, False)


def test_events_tell_the_phases_and_the_end(api):
    project = project_on(api)
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    with api.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        text = "".join(stream.iter_text())
    told = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
    phases = [e["phase"] for e in told if e.get("kind") == "start"]
    assert [p for p in phases if p in ("read", "solve", "verify", "report")][:1] == ["read"]
    assert {"read", "code", "solve", "recode", "write", "verify", "report"} <= set(phases)
    assert told[-1] == {"status": "done"}
    numbers = [e["seq"] for e in told[:-1]]
    assert numbers == list(range(len(numbers)))
    with api.stream("GET", f"/api/v1/runs/{run}/events", headers={"last-event-id": str(numbers[-2])}) as stream:
        again = "".join(stream.iter_text())
    assert again.count("event: progress") == 1


def test_a_policy_written_from_an_old_version_is_refused_with_the_new_one(api):
    project = project_on(api)
    where = f"/api/v1/projects/{project['id']}/policy"
    stricter = project["policy"].replace("k: 5", "k: 7")
    assert api.put(where, json={"policy": stricter, "version": 1}).json()["version"] == 2
    answer = api.put(where, json={"policy": project["policy"].replace("k: 5", "k: 9"), "version": 1})
    assert answer.status_code == 409
    assert answer.json()["version"] == 2
    assert answer.json()["policy"] == stricter
    assert api.get(where).text == stricter
    assert api.get(where).headers["etag"] == '"2"'


def test_a_wrong_policy_is_refused_with_places(api):
    project = project_on(api)
    answer = api.put(
        f"/api/v1/projects/{project['id']}/policy",
        json={"policy": project["policy"].replace("k: 5", "k: 1"), "version": 1},
    )
    assert answer.status_code == 422
    problem = answer.json()["problems"][0]
    assert problem["path"] == "goals[0].k"
    line = next(i for i, text in enumerate(project["policy"].splitlines(), 1) if "k: 5" in text)
    assert problem["location"].startswith(f"policy.yaml:{line}:")


def test_two_tabs_do_not_overwrite_each_other(pages, api):
    here = f"/projects/{project_on(api)['id']}"
    first, second = pages.get(f"{here}/goals"), pages.get(f"{here}/goals")
    assert pages.send(first, f"{here}/goals", action="goal", at="0", k="8").status_code == 200
    answer = pages.send(second, f"{here}/goals", action="goal", at="0", k="9")
    assert answer.status_code == 409
    assert "changed in another tab" in answer.text
    assert 'value="8"' in answer.text
    stale = pages.send(second, f"{here}/policy", text="version: 1")
    assert stale.status_code in (409, 422)


def test_undo_and_redo_walk_through_policies(pages, api):
    project = project_on(api)
    here, where = f"/projects/{project['id']}", f"/api/v1/projects/{project['id']}/policy"
    for k in ("8", "9"):
        pages.send(pages.get(f"{here}/goals"), f"{here}/goals", action="goal", at="0", k=k)
    ks = []
    for action in ("undo", "undo", "undo", "redo", "redo", "redo"):
        pages.send(pages.get(f"{here}/goals"), f"{here}/step", action=action, step="goals")
        ks.append(next(k for k in ("5", "8", "9") if f"k-anonymity, k: {k}" in api.get(where).text))
    assert ks == ["8", "5", "5", "8", "9", "9"]


def test_comments_of_a_policy_survive_edits_in_the_pages(pages, api):
    project = project_on(api)
    here, where = f"/projects/{project['id']}", f"/api/v1/projects/{project['id']}/policy"
    comments = [line.partition("#")[2] for line in project["policy"].splitlines() if "#" in line]
    pages.send(pages.get(f"{here}/goals"), f"{here}/goals", action="goal", at="0", k="8")
    pages.send(pages.get(f"{here}/roles"), f"{here}/roles", **{"role:ill": "keep"})
    after = api.get(where).text
    kept = [c for c in comments if c in after]
    assert len(kept) >= len(comments) - 2  # goals that were rewritten or forgotten take theirs along


@pytest.fixture
def slow_project(api, tmp_path):
    """A project whose run takes many seconds."""
    frame = pl.DataFrame(
        {"a": range(4000), "b": [i * 7919 % 4001 for i in range(4000)], "s": [str(i % 9) for i in range(4000)]}
    )
    project = project_on(api, frame)
    text = (
        "version: 1\ninput: people.csv\ncolumns: {a: quasi, b: quasi, s: sensitive}\n"
        "goals: [{model: k-anonymity, k: 3}]\nalgorithm: {kind: k-member}\n"
    )
    answer = api.put(f"/api/v1/projects/{project['id']}/policy", json={"policy": text, "version": 1})
    assert answer.status_code == 200, answer.text
    return answer.json()


def until(condition, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_cancel_frees_the_worker(api, slow_project):
    run = api.post(f"/api/v1/projects/{slow_project['id']}/runs").json()["id"]
    waiting = api.post(f"/api/v1/projects/{slow_project['id']}/runs").json()["id"]
    until(lambda: api.get(f"/api/v1/runs/{run}").json()["status"] == "running")
    assert api.delete(f"/api/v1/runs/{waiting}").json()["status"] == "cancelled"
    api.delete(f"/api/v1/runs/{run}")
    assert ended(api, run)["status"] == "cancelled"
    quick = project_on(api)
    after = api.post(f"/api/v1/projects/{quick['id']}/runs").json()["id"]
    assert ended(api, after)["status"] == "done"


def test_a_worker_that_dies_takes_nothing_along(app, api, slow_project):
    run = api.post(f"/api/v1/projects/{slow_project['id']}/runs").json()["id"]
    until(lambda: api.get(f"/api/v1/runs/{run}").json()["status"] == "running")
    os.kill(app.state.server.jobs.workers[0].pid, signal.SIGKILL)
    found = ended(api, run)
    assert found["status"] == "interrupted"
    assert "ended in the middle" in found["error"]["message"]
    quick = project_on(api)
    after = api.post(f"/api/v1/projects/{quick['id']}/runs").json()["id"]
    assert ended(api, after)["status"] == "done"


def test_runs_of_a_server_that_ended_are_marked_and_can_be_resumed(tmp_path):
    script = {"authorization": f"Bearer {BEARER}"}
    first = make_app(settings_for(tmp_path))
    with TestClient(first, base_url=BASE, headers=script) as client:
        project = project_on(client)
        store = first.state.server.store
        run: Run = store.add_run(store.project(project["id"]), "run")  # queued, and the server ends before it begins
    second = make_app(settings_for(tmp_path))
    with TestClient(second, base_url=BASE, headers=script) as client:
        assert client.get(f"/api/v1/runs/{run.id}").json()["status"] == "interrupted"
        assert client.post(f"/api/v1/runs/{run.id}/resume").status_code == 202
        assert ended(client, run.id)["status"] == "done"
        again = client.post(f"/api/v1/runs/{run.id}/resume")
        assert again.status_code == 422


def test_an_infeasible_run_says_what_was_tried(api):
    project = project_on(api)
    text = project["policy"].replace("k: 5", "k: 5000")
    api.put(f"/api/v1/projects/{project['id']}/policy", json={"policy": text, "version": 1})
    check = api.post(f"/api/v1/projects/{project['id']}/check").json()
    assert check["ok"] is False
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    found = ended(api, run)
    assert found["status"] == "failed"
    assert found["error"]["exit_code"] == 4
    assert found["error"]["best"]


def test_the_policy_schema_is_the_one_of_the_command_line(api):
    from tablecloak.policy.load import json_schema

    assert api.get("/api/v1/schema/policy").json() == json.loads(json.dumps(json_schema()))


def test_a_node_of_the_lattice_can_be_applied(pages, api):
    opened = pages.send(pages.get("/"), "/open/sample")
    here = str(opened.url).rsplit("/", 1)[0].removeprefix(BASE)
    project = here.rsplit("/", 1)[1]
    search = api.post(f"/api/v1/projects/{project}/runs", json={"task": "lattice"}).json()["id"]
    assert ended(api, search)["status"] == "done"
    found = api.get(f"/api/v1/runs/{search}/lattice").json()
    node = next(
        n for n in found["nodes"] if n["tag"] == "safe" and n["loss"] is not None and n["levels"] != found["best"]
    )
    page = pages.get(f"{here}/lattice?node={','.join(map(str, node['levels']))}")
    assert "Apply this node" in page.text
    pages.send(page, f"{here}/lattice", action="apply", node=",".join(map(str, node["levels"])))
    run = api.get(f"/api/v1/projects/{project}/runs").json()[0]
    result = ended(api, run["id"])
    assert result["status"] == "done", result
    assert result["result"]["algorithm"] == "levels"
    assert result["result"]["classes"] == node["classes"]
    assert result["result"]["loss"] == pytest.approx(node["loss"])


def test_a_search_tells_ever_lower_losses(api):
    project = project_on(api)
    text = re.sub(r"\{kind: \w+\}", "{kind: optimal}", project["policy"])
    assert api.put(f"/api/v1/projects/{project['id']}/policy", json={"policy": text, "version": 1}).status_code == 200
    run = api.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
    found = ended(api, run)
    with api.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        told = [json.loads(line[6:]) for line in "".join(stream.iter_text()).splitlines() if line.startswith("data: ")]
    losses = [e["loss"] for e in told if e.get("kind") == "best"]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == pytest.approx(found["result"]["loss"])
