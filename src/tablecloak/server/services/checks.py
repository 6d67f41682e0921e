"""Verification of a table that somebody brings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

from tablecloak.errors import PolicyError
from tablecloak.policy.load import parse_policy
from tablecloak.server import drafts
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import new_id

__all__ = ["verify_upload"]


def verify_upload(workshop: Workshop, tables: Sequence[tuple[BinaryIO, str]], policy: BinaryIO) -> dict[str, Any]:
    """Recount an uploaded table, beside its original if that follows; both are deleted again.

    Args:
        tables: files and their names.
    """
    try:
        text = policy.read(drafts.LONGEST_POLICY).decode()
    except UnicodeDecodeError:
        raise PolicyError("the policy is not UTF-8 text") from None
    ids = [new_id() for _ in tables]
    settings = workshop.settings
    limits = {"limit_bytes": settings.expanded_limit_bytes, "most_cells": settings.most_cells}
    paths = []
    try:
        for id_, (file, name) in zip(ids, tables, strict=True):
            paths.append(workshop.files.receive(file, id_, name, limit=settings.upload_limit_bytes))
            workshop.ask("check-file", {"path": str(paths[-1]), **limits})
        base = paths[0].parent
        drafts.refuse_outside(parse_policy(text, name="policy.yaml", base=base), base)
        named = dict(zip(("release", "original"), map(str, paths), strict=False))
        found: dict[str, Any] = workshop.ask("verify", {"policy": text, "base": str(base), **named})
        return found
    finally:
        for id_ in ids:
            workshop.files.forget(workshop.files.dataset(id_))
