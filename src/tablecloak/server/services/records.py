"""Records of repositories: looked up and fetched where the server was told that it may."""

from __future__ import annotations

from pathlib import Path

from tablecloak.errors import DataError
from tablecloak.io.remote import Remote
from tablecloak.io.repositories import Record, look_up, save_file
from tablecloak.server.files import safe_name
from tablecloak.server.services import datasets
from tablecloak.server.services.workshop import Workshop
from tablecloak.server.store import Dataset, new_id

__all__ = ["fetch", "look"]

OFF = "this server was started without the internet"


def look(workshop: Workshop, record: str, token: str | None = None) -> Record:
    """What a record holds."""
    return look_up(record, _remote(workshop), token=_token(workshop, token))


def fetch(workshop: Workshop, record: str, file: str, token: str | None = None) -> Dataset:
    """A dataset from a file of a record."""
    remote, named = _remote(workshop), _token(workshop, token)
    found = look_up(record, remote, token=named)
    if not found.file(file).is_table:
        raise DataError("this file is not a table that can be read", hint="choose a CSV, Parquet or Excel file")
    id_ = new_id()
    target = workshop.files.dataset(id_) / safe_name(file)
    target.parent.mkdir(mode=0o700)
    try:
        save_file(found, file, target, remote, token=named)
        return datasets.keep(workshop, id_, Path(file).name, target)
    except BaseException:
        workshop.files.forget(target.parent)
        raise


def _remote(workshop: Workshop) -> Remote:
    if not workshop.remote.hosts:
        raise DataError(OFF, hint="tablecloak serve --internet zenodo.org")
    return workshop.remote


def _token(workshop: Workshop, token: str | None) -> str | None:
    """Where a token is; a file must be one that may be opened."""
    kind, _, name = (token or "").partition(":")
    return f"file:{datasets.allowed(workshop, Path(name))}" if kind == "file" else token or None
