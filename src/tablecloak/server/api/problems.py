"""Errors as problem+json (RFC 9457), carrying what CloakError.to_dict() says."""

from __future__ import annotations

import traceback
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from tablecloak.errors import CloakError, DataError, EngineError, GoalNotMet, Infeasible
from tablecloak.server.files import TooLarge
from tablecloak.server.services.workshop import Refused
from tablecloak.server.store import Stale, Unknown

__all__ = ["place_of", "problem_of"]

_STATUS: tuple[tuple[type[CloakError], int], ...] = (
    (DataError, 422), (GoalNotMet, 422), (Infeasible, 422), (EngineError, 422), (CloakError, 422),
)  # fmt: skip


def problem_of(error: Exception) -> dict[str, Any]:
    """The problem document of any error."""
    if isinstance(error, Refused | CloakError):
        said = error.to_dict()
        status = next(code for kind, code in _STATUS if isinstance(error, kind))
        return _problem(status, said.get("error", "error"), said.get("message", ""), **said)
    if isinstance(error, Stale):
        return _problem(
            409, "stale", "the project was changed since; read it, apply your change to its policy, and send that",
            version=error.project.version, policy=error.project.policy,
        )  # fmt: skip
    if isinstance(error, Unknown):
        return _problem(404, "unknown", "there is nothing of that name")
    if isinstance(error, TooLarge):
        return _problem(413, "too-large", "the file is larger than is allowed")
    if isinstance(error, RequestValidationError):
        problems = [{"path": ".".join(map(str, e["loc"])), "message": e["msg"]} for e in error.errors()]
        return _problem(422, "request", "the request is not as described", problems=problems)
    if isinstance(error, HTTPException):
        return _problem(error.status_code, "http", str(error.detail))
    return _problem(500, "error", f"unexpected {type(error).__name__}", hint="this is a bug in tablecloak")


def _problem(status: int, kind: str, message: str, **more: Any) -> dict[str, Any]:
    return {"type": "about:blank", "title": kind, "status": status, "detail": message, "error": kind,
            "message": message, **more}  # fmt: skip


def place_of(error: BaseException) -> str:
    """Type and place of an error, without its text."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"
