"""How a table comes in, by upload, path, database, record or as the sample, and becomes a project."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from tablecloak.errors import CloakError, DataError
from tablecloak.io.places import DatabaseTable, database_table, is_uri
from tablecloak.io.repositories import Record, Remote, look_up, save_file
from tablecloak.server.state import ServerState
from tablecloak.server.steps.home import task as home_task
from tablecloak.server.steps.load import service as load_service
from tablecloak.server.steps.policy import service as policy_service
from tablecloak.server.store import Dataset, Project, Unknown, inside, new_id, now, safe_name


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project in a list of all."""

    project: Project
    dataset: Dataset
    n_runs: int


def listed(state: ServerState, task: str | None = None) -> list[ListedProject]:
    """All projects, newest first, with their runs of a task, or of any."""
    store = state.store
    return [ListedProject(p, store.dataset(p.dataset), len(store.runs(p.id, task))) for p in store.projects()]


@contextlib.contextmanager
def _new_dataset(state: ServerState, *, makes_folder: bool = True) -> Iterator[tuple[str, Path]]:
    """The id and the folder of a dataset that is being made; where that fails, nothing is left of it."""
    id_ = new_id()
    folder = state.files.dataset(id_)
    try:
        if makes_folder:
            folder.mkdir(mode=0o700)
        yield id_, folder
    except BaseException:
        state.files.forget(folder)
        raise


def receive(state: ServerState, source: BinaryIO, name: str) -> Dataset:
    """Keep an uploaded file.

    Raises: TooLarge; DataError or Refused for what cannot be read.
    """
    limit = state.settings.upload_limit_bytes
    with _new_dataset(state, makes_folder=False) as (id_, _):
        if name.lower().endswith(".zip"):
            return _of_images(state, id_, name, state.files.receive_zip(source, id_, limit=limit))
        return keep(state, id_, name, state.files.receive(source, id_, name, limit=limit))


def open_source(state: ServerState, source: str) -> Dataset:
    """A copy of a file on this machine, of a table of an SQLite file on it, or of a table of a PostgreSQL server."""
    if source.startswith("sqlite://"):
        database, table = home_task.split_uri(source)
        return _from_database(state, table or database.stem, home_task.SqliteTable(allowed(state, database), table))
    if is_uri(source):
        remote = _on_server(state, _table(source))
        return _from_database(state, remote.table or "query", remote)
    path = allowed(state, Path(source), is_folder=True)
    if path.is_dir():
        with _new_dataset(state) as (id_, _):
            return _of_images(state, id_, path.name, path)
    with path.open("rb") as file:
        return receive(state, file, path.name)


def _of_images(state: ServerState, id_: str, name: str, source: Path) -> Dataset:
    """The metadata of the images in a zip, which is not needed then, or in a folder."""
    path = state.files.dataset(id_) / home_task.TABLE
    limit = state.settings.expanded_limit_bytes
    state.fetch(home_task.copy_images, home_task.ImagesToCopy(source, path, limit_bytes=limit))
    if source.is_file():
        source.unlink()
    return keep(state, id_, f"{Path(name).stem}: metadata of images", path)


def allowed(state: ServerState, path: Path, *, is_folder: bool = False) -> Path:
    """The file a path leads to, if it may be opened; whether others exist is not told.

    Args:
        is_folder: a folder may be opened, too.
    """
    roots, own = state.settings.roots, state.settings.directory
    try:
        written = path.expanduser()
        real = (written if written.is_absolute() else roots[-1] / written).resolve()
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


def _on_server(state: ServerState, table: DatabaseTable) -> DatabaseTable:
    """A table that a server can be asked for; the file of its password must be one that may be opened."""
    if table.scheme != "postgresql":
        raise DataError(f"tables of {table.scheme} cannot be opened here", hint="postgresql://, sqlite:// or a file")
    kind, _, name = (table.password or "").partition(":")
    password = f"file:{allowed(state, Path(name))}" if kind == "file" else table.password
    return replace(table, password=password)


def _from_database(state: ServerState, named: str, table: DatabaseTable | home_task.SqliteTable) -> Dataset:
    name = f"{named}.parquet"
    with _new_dataset(state) as (id_, folder):
        target = folder / safe_name(name)
        state.fetch(home_task.copy_table, home_task.TableToCopy(table, target, most_cells=state.settings.most_cells))
        return keep(state, id_, name, target)


def keep(state: ServerState, id_: str, name: str, path: Path) -> Dataset:
    """Remember a file that lies in the folder of its dataset, if it can be read."""
    check_file(state, path)
    return state.store.add_dataset(Dataset(id_, name[:200], path.name, path.stat().st_size, now()))


def check_file(state: ServerState, path: Path) -> None:
    """Refuse a file that unpacks to more than is allowed or cannot be read."""
    limits = home_task.UploadLimits(state.settings.expanded_limit_bytes, state.settings.most_cells)
    state.ask(home_task.check_file, home_task.FileToCheck(path, limits))


OFF = "this server was started without the internet"


def look_at_record(state: ServerState, record: str, token: str | None = None) -> Record:
    """What a record holds."""
    return look_up(record, _remote(state), token=_token(state, token))


def fetch_record(state: ServerState, record: str, file: str, token: str | None = None) -> Dataset:
    """A dataset from a file of a record."""
    remote, named = _remote(state), _token(state, token)
    files = look_up(record, remote, token=named)
    if not files.file(file).is_table:
        raise DataError("this file is not a table that can be read", hint="choose a CSV, Parquet or Excel file")
    with _new_dataset(state) as (id_, folder):
        target = folder / safe_name(file)
        save_file(files, file, target, remote, token=named)
        return keep(state, id_, Path(file).name, target)


def _remote(state: ServerState) -> Remote:
    if not state.remote.hosts:
        raise DataError(OFF, hint="tablecloak serve --internet zenodo.org")
    return state.remote


def _token(state: ServerState, token: str | None) -> str | None:
    """Where a token is; a file must be one that may be opened."""
    kind, _, name = (token or "").partition(":")
    return f"file:{allowed(state, Path(name))}" if kind == "file" else token or None


def create(
    state: ServerState, dataset: Dataset, kind: str = "auto", *, name: str | None = None, preset: str = "standard"
) -> Project:
    """A project on a dataset of a type; `auto` finds out whether its lines are sets, and takes it as a table if not.

    Raises: CloakError that says what the file is not.
    """
    if kind == "sets" or (kind == "auto" and load_service.looks_like_sets(state, dataset)):
        text = load_service.text_of_sets(state, dataset, {})
        return add(state, dataset, (name or dataset.name)[:200], text)
    options = load_service.reading_of(state, dataset)
    text = load_service.starting_text(state, dataset, options, preset)
    project = add(state, dataset, (name or dataset.name)[:200], text)
    try:
        if kind in ("auto", "table"):
            return project
        return load_service.set_kind(state, project, kind, {}, version=project.version)
    except CloakError:
        state.forget_project(project)
        raise


def add(state: ServerState, dataset: Dataset, name: str, policy: str, hierarchies: Path | None = None) -> Project:
    """Folder and entry of a project, both or none; Unknown if its dataset was deleted meanwhile.

    Args:
        hierarchies: a folder whose hierarchies come along.
    """
    id_ = new_id()
    try:
        folder = state.files.new_project(id_, dataset.id, dataset.file)
        if hierarchies is not None and (hierarchies / "hierarchies").is_dir():
            shutil.copytree(hierarchies / "hierarchies", folder / "hierarchies", dirs_exist_ok=True)
        return state.store.add_project(name, dataset.id, policy, id_)
    except BaseException as error:
        state.files.forget(state.files.project(id_))
        if isinstance(error, FileNotFoundError):
            raise Unknown from None
        raise


def create_like(state: ServerState, other: Project, dataset: Dataset) -> Project:
    """A project on a dataset with the policy and the hierarchies of another; DataError if its columns are not there."""
    policy = policy_service.policy_of(state, other)
    assert policy.input is not None
    options = policy.input.model_dump(exclude_defaults=True, exclude={"path"})
    profile = load_service.dataset_profile(state, dataset, options)
    missing = sorted(set(policy.columns) - {column.name for column in profile.columns})
    if missing:
        raise DataError(f"the table has no column {', '.join(missing)}", hint="open it as a new project")
    text = policy_service.edited(other.policy, policy_service.set_input(dataset.file, options))
    return add(state, dataset, dataset.name[:200], text, state.files.project(other.id))


def create_sample(state: ServerState, *, of_sets: bool = False) -> Project:
    """A project on the made-up patients, or shopping baskets, with the policy that comes with them."""
    file, name = ("patients.csv", "Sample: 5,000 made-up patients")
    if of_sets:
        file, name = ("baskets.txt", "Sample: 2,000 made-up shopping baskets")
    with _new_dataset(state) as (id_, folder):
        policy = state.ask(home_task.write_sample, home_task.SampleToWrite(folder, of_sets=of_sets))
        dataset = keep(state, id_, file, folder / file)
    return add(state, dataset, name, policy, folder)
