"""Files, folders and tables of databases appear complete or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from tablecloak.cleanup import unfinished
from tablecloak.errors import DataError, EngineError, PolicyError
from tablecloak.io.database import Transaction, open_session
from tablecloak.io.places import DatabaseTable, Place

__all__ = ["Outputs", "is_running", "replace_when_done", "writing"]


class Outputs:
    """Several outputs that appear together or not at all.

    Guarantee: no target is touched before `commit`; `discard` leaves the directory as it was.
    """

    def __init__(self, *, force: bool = False) -> None:
        self.force = force
        self._partial: dict[Path, Path] = {}  # target -> temporary file or folder
        self._sessions: list[Transaction] = []  # open transactions of databases
        unfinished.add(self)

    def add_place(self, place: Place, *, is_folder: bool = False) -> Place:
        """Reserve a target of any kind and return the temporary place to write to."""
        if isinstance(place, DatabaseTable):
            partial, session = open_session(place, force=self.force)
            self._sessions.append(session)
            return partial
        return self.add_folder(place) if is_folder else self.add(place)

    def add_folder(self, path: Path) -> Path:
        """Reserve a folder and return the temporary one, which exists and is empty."""
        if path.exists() and not self.force:
            raise PolicyError(
                "the output exists already", hint="use --force to replace it, or another name", location=str(path)
            )
        _make_parent(path)
        _remove_leftovers(path.parent, path.name, "")
        self._partial[path] = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(6)}.partial")
        with writing(path):
            self._partial[path].mkdir()
        return self._partial[path]

    def add(self, path: Path) -> Path:
        """Reserve a target and return the temporary name to write to; it keeps the suffixes of the target."""
        path = Path(path)
        if path.is_dir():
            raise PolicyError("the output is a directory", hint="name a file in it", location=str(path))
        if path.exists() and not self.force:
            raise PolicyError(
                "the output exists already", hint="use --force to replace it, or another name", location=str(path)
            )
        if path in self._partial:
            raise PolicyError(
                "two outputs have the same path", hint="give each output its own name", location=str(path)
            )
        _make_parent(path)
        stem, suffix = _split_suffixes(path.name)
        _remove_leftovers(path.parent, stem, suffix)
        self._partial[path] = path.with_name(f".{stem}.{os.getpid()}-{secrets.token_hex(6)}.partial{suffix}")
        return self._partial[path]

    def commit(self) -> None:
        """Flush every file to disk, then put them in place."""
        try:
            for target, partial in self._partial.items():
                with writing(target):
                    _sync(partial)
            for session in self._sessions:
                session.commit()
            for target, partial in self._partial.items():
                with writing(target):
                    _put(partial, target)
        except BaseException:
            self.discard()
            raise
        self._partial.clear()
        self._sessions.clear()

    def discard(self) -> None:
        """Remove whatever was written."""
        for session in self._sessions:
            session.discard()
        self._sessions.clear()
        for partial in self._partial.values():
            _remove(partial)
        self._partial.clear()

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def is_running(pid: int) -> bool:
    """Whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(path: Path) -> None:
    """Remove a file or a folder with all in it, as far as that can be done."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)


def _remove_leftovers(folder: Path, stem: str, suffix: str) -> None:
    """Remove what killed processes began to write under the same name, and the parts their workers wrote."""
    pattern = re.compile(
        re.escape(f".{stem}.") + r"(\d+)-[0-9a-f]{12}" + re.escape(f".partial{suffix}") + r"(\.parts)?"
    )
    for entry in folder.iterdir():
        match = pattern.fullmatch(entry.name)
        if match and not is_running(int(match[1])):
            _remove(entry)


@contextmanager
def replace_when_done(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a temporary name beside `path`; put it in place on success, remove it on any exception."""
    with Outputs(force=force) as outputs:
        yield outputs.add(path)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in plain words why a file cannot be written, for instance because the disk is full."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, pl.exceptions.ComputeError) as exc:
        reason = _reason(exc)
        if reason is None:
            raise
        hint = "free some space or choose another place; nothing was left behind"
        raise EngineError(f"the file could not be written: {reason}", hint=hint, location=str(path.parent)) from exc


def _reason(exc: BaseException) -> str | None:
    """What the operating system said; polars only quotes its number."""
    if isinstance(exc, OSError) and exc.strerror:
        return exc.strerror
    number = re.search(r"\(os error (\d+)\)", str(exc))
    if number:
        return os.strerror(int(number[1]))
    is_broken_off = isinstance(exc, OSError) or "transport error" in str(exc)  # polars, in the footer of Parquet
    return "the disk took only a part of it" if is_broken_off else None


def _split_suffixes(name: str) -> tuple[str, str]:
    """The name without and with its last suffix, or its last two if the last is a compression."""
    path = Path(name)
    suffixes = path.suffixes[-2:] if path.suffix in (".gz", ".zst") else path.suffixes[-1:]
    suffix = "".join(suffixes)
    return name.removesuffix(suffix), suffix


def _make_parent(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise DataError(
            "cannot create the output directory", hint="check the path and its permissions", location=str(path.parent)
        ) from exc


def _put(partial: Path, target: Path) -> None:
    """Give a file or folder its name; a folder that is replaced steps aside first, because it cannot be overwritten."""
    if not target.is_dir():
        partial.replace(target)
        return
    aside = target.with_name(f".{target.name}.{secrets.token_hex(6)}.old")
    target.replace(aside)
    partial.replace(target)
    shutil.rmtree(aside, ignore_errors=True)


def _sync(path: Path) -> None:
    """Flush a file, or all in a folder, to disk, so that a crash after the rename cannot leave it short."""
    if path.is_dir():
        for file in path.rglob("*"):
            if file.is_file():
                _sync(file)
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
