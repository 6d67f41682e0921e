"""Verification of a table that somebody brings."""

from __future__ import annotations

from typing import Any, BinaryIO

from tablecloak.errors import PolicyError
from tablecloak.policy.load import parse_policy
from tablecloak.server import drafts
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import new_id

__all__ = ["verify_upload"]


def verify_upload(workshop: Workshop, release: BinaryIO, name: str, policy: BinaryIO) -> dict[str, Any]:
    """Recount an uploaded table; it is deleted again."""
    try:
        text = policy.read(drafts.LONGEST_POLICY).decode()
    except UnicodeDecodeError:
        raise PolicyError("the policy is not UTF-8 text") from None
    id_ = new_id()
    settings = workshop.settings
    try:
        path = workshop.files.receive(release, id_, name, limit=settings.upload_limit_bytes)
        limits = {"limit_bytes": settings.expanded_limit_bytes, "most_cells": settings.most_cells}
        workshop.ask("check-file", {"path": str(path), **limits})
        drafts.refuse_outside(parse_policy(text, name="policy.yaml", base=path.parent), path.parent)
        found: dict[str, Any] = workshop.ask("verify", {"policy": text, "base": str(path.parent), "release": str(path)})
        return found
    finally:
        workshop.files.forget(workshop.files.dataset(id_))
