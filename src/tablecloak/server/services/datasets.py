"""Datasets: files that come in by upload, path, database or as the sample."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from tablecloak.errors import DataError
from tablecloak.io.places import DatabaseTable, database_table, is_uri
from tablecloak.server import image_tasks
from tablecloak.server.databases import split_uri
from tablecloak.server.files import inside, safe_name
from tablecloak.server.services.workshop import Workshop, key_of
from tablecloak.server.store import Dataset, new_id, now

__all__ = ["allowed", "keep", "of_sample", "open_source", "profile_of", "receive"]


def receive(workshop: Workshop, source: BinaryIO, name: str) -> Dataset:
    """Keep an uploaded file.

    Raises: TooLarge; DataError or Refused for what cannot be read.
    """
    id_ = new_id()
    try:
        if name.lower().endswith(".zip"):
            given = workshop.files.receive_zip(source, id_, limit=workshop.settings.upload_limit_bytes)
            return _of_images(workshop, id_, name, given)
        path = workshop.files.receive(source, id_, name, limit=workshop.settings.upload_limit_bytes)
        return keep(workshop, id_, name, path)
    except BaseException:
        workshop.files.forget(workshop.files.dataset(id_))
        raise


def open_source(workshop: Workshop, source: str) -> Dataset:
    """A copy of a file on this machine, of a table of an SQLite file on it, or of a table of a PostgreSQL server."""
    if source.startswith("sqlite://"):
        database, table = split_uri(source)
        local = {"database": str(allowed(workshop, database)), "table": table}
        return _from_database(workshop, table or database.stem, local)
    if is_uri(source):
        found = _on_server(workshop, _table(source))
        given = {"uri": found.uri, "table": found.table, "query": found.query, "password": found.password}
        return _from_database(workshop, found.table or "query", given)
    path = allowed(workshop, Path(source), is_folder=True)
    if path.is_dir():
        return _of_folder(workshop, path)
    with path.open("rb") as file:
        return receive(workshop, file, path.name)


def _of_folder(workshop: Workshop, folder: Path) -> Dataset:
    """The metadata of the images in a folder."""
    id_ = new_id()
    workshop.files.dataset(id_).mkdir(mode=0o700)
    try:
        return _of_images(workshop, id_, folder.name, folder)
    except BaseException:
        workshop.files.forget(workshop.files.dataset(id_))
        raise


def _of_images(workshop: Workshop, id_: str, name: str, source: Path) -> Dataset:
    path = workshop.files.dataset(id_) / image_tasks.TABLE
    limit = workshop.settings.expanded_limit_bytes
    workshop.fetch("images", {"source": str(source), "path": str(path), "limit_bytes": limit})
    if source.is_file():
        source.unlink()
    return keep(workshop, id_, f"{Path(name).stem}: metadata of images", path)


def allowed(workshop: Workshop, path: Path, *, is_folder: bool = False) -> Path:
    """The file a path leads to, if it may be opened; whether others exist is not told.

    Args:
        is_folder: a folder may be opened, too.
    """
    roots, own = workshop.settings.roots, workshop.settings.directory
    try:
        known = path.expanduser()
        real = (known if known.is_absolute() else roots[-1] / known).resolve()
        is_there = real.is_file() or (is_folder and real.is_dir() and not inside(own, [real]))
        is_fine = inside(real, roots) and not inside(real, [own]) and is_there and os.access(real, os.R_OK)
    except (OSError, ValueError, RuntimeError):  # no path at all, an endless link, a home that is not there
        is_fine = False
    if not is_fine:
        named = ", ".join(str(root) for root in roots)
        raise DataError("there is no file to open at that path", hint=f"files can be opened from {named}")
    return real


def _table(uri: str) -> DatabaseTable:
    try:
        return database_table(uri)
    except ValueError:  # such as a bracket that is not closed
        raise DataError("the address of the database cannot be read", hint="postgresql://USER@HOST/NAME") from None


def _on_server(workshop: Workshop, table: DatabaseTable) -> DatabaseTable:
    """A table that a server can be asked for; the file of its password must be one that may be opened."""
    if table.scheme != "postgresql":
        raise DataError(f"tables of {table.scheme} cannot be opened here", hint="postgresql://, sqlite:// or a file")
    kind, _, name = (table.password or "").partition(":")
    password = f"file:{allowed(workshop, Path(name))}" if kind == "file" else table.password
    return replace(table, password=password)


def _from_database(workshop: Workshop, named: str, arguments: Mapping[str, Any]) -> Dataset:
    id_ = new_id()
    name = f"{named}.parquet"
    target = workshop.files.dataset(id_) / safe_name(name)
    target.parent.mkdir(mode=0o700)
    try:
        workshop.fetch("database", {**arguments, "path": str(target), "most_cells": workshop.settings.most_cells})
        return keep(workshop, id_, name, target)
    except BaseException:
        workshop.files.forget(target.parent)
        raise


def of_sample(workshop: Workshop, *, of_sets: bool = False) -> tuple[Dataset, Path, str]:
    """The made-up patients, or shopping baskets, the folder with their hierarchies and their policy."""
    id_ = new_id()
    folder = workshop.files.dataset(id_)
    folder.mkdir(mode=0o700)
    try:
        policy = workshop.ask("sample", {"folder": str(folder), "of_sets": of_sets})["policy"]
        name = "baskets.txt" if of_sets else "patients.csv"
        return keep(workshop, id_, name, folder / name), folder, policy
    except BaseException:
        workshop.files.forget(folder)
        raise


def keep(workshop: Workshop, id_: str, name: str, path: Path) -> Dataset:
    """Remember a file that lies in the folder of its dataset, if it can be read."""
    settings = workshop.settings
    limits = {"limit_bytes": settings.expanded_limit_bytes, "most_cells": settings.most_cells}
    workshop.ask("check-file", {"path": str(path), **limits})
    return workshop.store.add_dataset(Dataset(id_, name[:200], path.name, path.stat().st_size, now()))


def profile_of(workshop: Workshop, dataset: Dataset, options: dict[str, Any] | None = None) -> dict[str, Any]:
    """What a dataset looks like when it is read with these options, and a policy to start from."""
    path = workshop.files.dataset(dataset.id) / dataset.file
    given = options or {}
    key = key_of("profile", repr(sorted(given.items())))
    found: dict[str, Any] = workshop.asked(dataset.id, key, "profile", {"path": str(path), **workshop.means, **given})
    return found


def copy_hierarchies(source: Path, target: Path) -> None:
    """Bring the hierarchies of a sample along."""
    if (source / "hierarchies").is_dir():
        shutil.copytree(source / "hierarchies", target / "hierarchies", dirs_exist_ok=True)
