"""The API under requests that nobody would write by hand."""

from __future__ import annotations

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient
from without_browser import BASE, BEARER, Pages, settings_for

from effort import often
from tablecloak.server.api import routes
from tablecloak.server.app import make_app

pytestmark = pytest.mark.slow
HEADERS = {"authorization": f"Bearer {BEARER}"}
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


def described():
    app = FastAPI(title="tablecloak", version="0")
    app.include_router(routes.router)
    return schemathesis.openapi.from_dict(app.openapi())


OPERATIONS = {o.ok().label: o.ok() for o in described().get_all_operations()}


def sendable(value):
    """What takes the place of a file, as something that can be sent."""
    if isinstance(value, tuple):
        return (value[0], sendable(value[1]), *value[2:])
    return value if isinstance(value, bytes | str) or hasattr(value, "read") else str(value)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    """A server with a project and a finished run, whose names some of the requests use."""
    app = make_app(settings_for(tmp_path_factory.mktemp("fuzz")))
    with TestClient(app, base_url=BASE, headers=HEADERS, raise_server_exceptions=False) as client:
        project = client.post("/api/v1/projects", json={"dataset": "sample"}).json()
        run = client.post(f"/api/v1/projects/{project['id']}/runs").json()["id"]
        assert Pages(client).wait(run)["status"] == "done"
        yield client, {"project_id": project["id"], "dataset_id": project["dataset"], "run_id": run}


@pytest.mark.parametrize("label", OPERATIONS)
def test_no_request_breaks_the_server(label, fuzzed):
    client, known = fuzzed
    operation = OPERATIONS[label]
    turn = 0

    @settings(max_examples=often(10), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy())
    def send(case):
        nonlocal turn
        turn += 1
        if turn % 2 and operation.method.upper() != "DELETE":
            case.path_parameters.update({k: v for k, v in known.items() if k in case.path_parameters})
        if label.endswith("/runs") and operation.method.upper() == "POST" and turn > 3:
            return  # every one of them is a run
        request = case.as_transport_kwargs(base_url=BASE)
        request.pop("cookies", None)
        if request.get("files"):
            request["files"] = [(name, sendable(value)) for name, value in request["files"]]
        response = client.request(request.pop("method"), request.pop("url"), **request)
        response.request.read()
        case.validate_response(schemathesis.Response.from_any(response), checks=CHECKS)

    send()
