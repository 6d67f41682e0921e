"""Datasets: files that come in by upload, path, database or as the sample."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, BinaryIO

from tablecloak.errors import DataError
from tablecloak.server.databases import split_uri
from tablecloak.server.files import inside, safe_name
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.store import Dataset, new_id, now

__all__ = ["of_sample", "open_source", "profile_of", "receive"]


def receive(workshop: Workshop, source: BinaryIO, name: str) -> Dataset:
    """Keep an uploaded file.

    Raises: TooLarge; DataError or Refused for what cannot be read.
    """
    id_ = new_id()
    try:
        path = workshop.files.receive(source, id_, name, limit=workshop.settings.upload_limit_bytes)
        return _keep(workshop, id_, name, path)
    except BaseException:
        workshop.files.forget(workshop.files.dataset(id_))
        raise


def open_source(workshop: Workshop, source: str) -> Dataset:
    """A copy of a file on this machine, or of a table of a database on it."""
    if "://" in source:
        database, table = split_uri(source)
        return _from_database(workshop, _allowed(workshop, database), table)
    path = _allowed(workshop, Path(source))
    with path.open("rb") as file:
        return receive(workshop, file, path.name)


def _allowed(workshop: Workshop, path: Path) -> Path:
    """The file a path leads to, if it may be opened; whether others exist is not told."""
    roots, own = workshop.settings.roots, workshop.settings.directory
    try:
        known = path.expanduser()
        real = (known if known.is_absolute() else roots[-1] / known).resolve()
        is_fine = inside(real, roots) and not inside(real, [own]) and real.is_file() and os.access(real, os.R_OK)
    except (OSError, ValueError, RuntimeError):  # no path at all, an endless link, a home that is not there
        is_fine = False
    if not is_fine:
        named = ", ".join(str(root) for root in roots)
        raise DataError("there is no file to open at that path", hint=f"files can be opened from {named}")
    return real


def _from_database(workshop: Workshop, database: Path, table: str) -> Dataset:
    id_ = new_id()
    name = f"{table or database.stem}.parquet"
    target = workshop.files.dataset(id_) / safe_name(name)
    target.parent.mkdir(mode=0o700)
    try:
        arguments = {"database": str(database), "table": table, "path": str(target)}
        workshop.ask("database", {**arguments, "most_cells": workshop.settings.most_cells})
        return _keep(workshop, id_, name, target)
    except BaseException:
        workshop.files.forget(target.parent)
        raise


def of_sample(workshop: Workshop) -> tuple[Dataset, Path, str]:
    """The made-up patients, the folder with their hierarchies and their policy."""
    id_ = new_id()
    folder = workshop.files.dataset(id_)
    folder.mkdir(mode=0o700)
    try:
        policy = workshop.ask("sample", {"folder": str(folder)})["policy"]
        return _keep(workshop, id_, "patients.csv", folder / "patients.csv"), folder, policy
    except BaseException:
        workshop.files.forget(folder)
        raise


def _keep(workshop: Workshop, id_: str, name: str, path: Path) -> Dataset:
    settings = workshop.settings
    limits = {"limit_bytes": settings.expanded_limit_bytes, "most_cells": settings.most_cells}
    workshop.ask("check-file", {"path": str(path), **limits})
    return workshop.store.add_dataset(Dataset(id_, name[:200], path.name, path.stat().st_size, now()))


def profile_of(workshop: Workshop, dataset: Dataset, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a dataset looks like when it is read with these options, and a policy to start from."""
    path = workshop.files.dataset(dataset.id) / dataset.file
    given = options or {}
    key = key_of("profile", repr(sorted(given.items())))
    found: dict[str, Any] = workshop.asked(dataset.id, key, "profile", {"path": str(path), **given})
    return found


def copy_hierarchies(source: Path, target: Path) -> None:
    """Bring the hierarchies of a sample along."""
    if (source / "hierarchies").is_dir():
        shutil.copytree(source / "hierarchies", target / "hierarchies", dirs_exist_ok=True)
