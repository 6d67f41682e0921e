"""What the API takes and gives, errors as problem+json (RFC 9457) included."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from tablecloak.errors import CloakError
from tablecloak.server.store import Stale, TooLarge, Unknown


class ProblemOut(BaseModel):
    """An error (RFC 9457) with what tablecloak says about it."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    error: str
    message: str


_CONTENT = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemOut"}}}
_WHY = {
    400: "the request cannot be read",
    401: "no session and no token",
    403: "not from our pages",
    404: "there is nothing of that name",
    409: "the project was changed since",
    413: "too large",
    421: "another host",
    422: "what was sent cannot be used; `problems` says where",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    code: {"description": why, "model": ProblemOut, "content": _CONTENT} for code, why in _WHY.items()
}


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _StoredOut(BaseModel):
    """What the API says of something in the store, by its attributes."""

    model_config = ConfigDict(from_attributes=True)


class NewProject(_Body):
    """A project to be made."""

    dataset: Annotated[str, Field(description="id of a dataset, `sample` or `sample-of-sets`")]
    kind: Annotated[
        Literal["auto", "table", "sets", "table-with-sets", "disk"], Field(description="how it is read; auto finds out")
    ] = "auto"
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    preset: Annotated[str, Field(description="see `tablecloak list presets`")] = "standard"


class FetchFile(_Body):
    """A file of a record to be fetched."""

    record: Annotated[str, Field(max_length=2000, description="address of a record, or its DOI")]
    file: Annotated[str, Field(max_length=1000, description="its name in the record")]
    token: Annotated[
        str | None, Field(max_length=1000, description="where a token is: `env:NAME` or `file:PATH`; never the token")
    ] = None


class RecordOut(BaseModel):
    """What a repository has under one address."""

    kind: str
    host: str
    title: str
    files: list[dict[str, Any]]


class OpenSource(_Body):
    """A file or a database on this machine."""

    source: Annotated[
        str,
        Field(
            min_length=1,
            max_length=4096,
            description="path, sqlite:///FILE#TABLE, or postgresql://USER@HOST/NAME?table=TABLE&password=env:NAME",
        ),
    ]


class NewPolicy(_Body):
    """A policy and the version of the project that it was made from."""

    policy: Annotated[str, Field(max_length=1_000_000, description="YAML")]
    version: Annotated[int, Field(ge=1, description="of the project, as last read")]


class NewRun(_Body):
    """What to do with the policy."""

    task: Literal["run", "lattice"] = "run"


class DatasetOut(_StoredOut):
    """A dataset."""

    id: str
    name: str
    n_bytes: int
    created: str


class ProjectOut(_StoredOut):
    """A project."""

    id: str
    name: str
    dataset: str
    version: int
    policy: str
    created: str
    touched: str


class RunOut(_StoredOut):
    """A run; `result` has the keys of `tablecloak run --json`, `error` those of an error."""

    id: str
    project: str
    task: str
    status: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    version: int
    created: str
    ended: str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


class CheckOut(BaseModel):
    """The keys of `tablecloak check --json`; where the goals cannot be reached, those of the error."""

    model_config = ConfigDict(extra="allow")

    ok: bool


class Verified(BaseModel):
    """The keys of `tablecloak verify --json`."""

    model_config = ConfigDict(extra="allow")

    holds: bool
    classes: int
    rows: int


def problem_of(error: Exception) -> dict[str, Any]:
    """The problem document of any error."""
    for kind, tell in _TOLD:
        if isinstance(error, kind):
            return tell(error)
    return _problem(500, "error", f"unexpected {type(error).__name__}", hint="this is a bug in tablecloak")


def _of_cloak(error: Any) -> dict[str, Any]:
    document = error.to_dict()
    more = {key: value for key, value in document.items() if key not in ("error", "message")}
    return _problem(422, document.get("error", "error"), document.get("message", ""), **more)


def _of_stale(error: Any) -> dict[str, Any]:
    message = "the project was changed since; read it, apply your change to its policy, and send that"
    return _problem(409, "stale", message, version=error.project.version, policy=error.project.policy)


def _of_request(error: Any) -> dict[str, Any]:
    problems = [{"path": ".".join(map(str, e["loc"])), "message": e["msg"]} for e in error.errors()]
    return _problem(422, "request", "the request is not as described", problems=problems)


_TOLD: tuple[tuple[type[Exception], Callable[[Any], dict[str, Any]]], ...] = (
    (CloakError, _of_cloak),
    (Stale, _of_stale),
    (Unknown, lambda _: _problem(404, "unknown", "there is nothing of that name")),
    (TooLarge, lambda _: _problem(413, "too-large", "the file is larger than is allowed")),
    (RequestValidationError, _of_request),
    (HTTPException, lambda error: _problem(error.status_code, "http", str(error.detail))),
)


def _problem(status: int, kind: str, message: str, **more: Any) -> dict[str, Any]:
    return {"type": "about:blank", "title": kind, "status": status, "detail": message, "error": kind,
            "message": message, **more}  # fmt: skip


def place_of(error: BaseException) -> str:
    """Type and place of an error, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
