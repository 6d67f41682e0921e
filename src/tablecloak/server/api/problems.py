"""Errors as problem+json (RFC 9457), carrying what CloakError.to_dict() says."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tablecloak.errors import CloakError
from tablecloak.server.files import TooLarge
from tablecloak.server.store import Stale, Unknown

__all__ = ["place_of", "problem_of"]


def problem_of(error: Exception) -> dict[str, Any]:
    """The problem document of any error."""
    for kind, tell in _TOLD:
        if isinstance(error, kind):
            return tell(error)
    return _problem(500, "error", f"unexpected {type(error).__name__}", hint="this is a bug in tablecloak")


def _of_cloak(error: Any) -> dict[str, Any]:
    said = error.to_dict()
    more = {key: value for key, value in said.items() if key not in ("error", "message")}
    return _problem(422, said.get("error", "error"), said.get("message", ""), **more)


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
